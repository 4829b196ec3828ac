//! The snapshot of a scope: what is in force, on one page.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// `GET /snapshot`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotQuery {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// About how many tokens it may have, 100 to 20,000; default 800.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// Wait until it is made anew.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rebuild: bool,
    /// The state at this time, in milliseconds since the Unix epoch, by event clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
}

/// A scope on one page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Snapshot {
    /// Markdown: claims in force by kind and subject, each on a line with its id.
    pub snapshot: String,
    /// How many claims are in force.
    pub claims: usize,
    /// How many of them stand on the page.
    pub shown: usize,
    /// About how many tokens it has.
    pub tokens: usize,
    /// Of how many subjects a language model said which claims come first; of the others the newest do.
    #[serde(default)]
    pub led: usize,
    /// When it was made, in milliseconds since the Unix epoch.
    pub at: u64,
    /// Something changed since: a new one is being made.
    pub stale: bool,
}
