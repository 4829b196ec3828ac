//! The snapshot of a scope: its active claims on one page.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// `GET /snapshot`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SnapshotQuery {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// The approximate size of the page in tokens, 100 to 20,000; default 800.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// Wait for a new page to be generated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebuild: bool,
    /// Return the state at this time, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
}

/// The active claims of a scope on one page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Snapshot {
    /// Markdown: active claims by kind and subject, one per line with its id.
    pub snapshot: String,
    /// The number of active claims.
    pub claims: usize,
    /// The number of claims on the page.
    pub shown: usize,
    /// Estimated number of tokens of the page.
    pub tokens: usize,
    /// The number of subjects whose claims a language model ordered; in the others, the newest come first.
    #[serde(default)]
    pub led: usize,
    /// When it was generated, in milliseconds since the Unix epoch.
    pub at: u64,
    /// Whether claims have changed since; a new page is then being generated.
    pub stale: bool,
}
