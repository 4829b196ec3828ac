//! Claims that move between a project and its organisation's level.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{ClaimView, request};

request! {
    /// `POST /promote`: one claim of the organisation's level, made of claims of its projects. Those stay, as sightings of it.
    #[derive(Default)]
    pub struct PromoteRequest {
        /// Who acts, and where.
        caller,
        /// The claims of projects of one organisation; at least one. Those that say the same in other projects are recorded with them.
        #[serde(default)]
        pub claims: Vec<String>,
        /// Why it holds in the whole organisation; by default the first claim's own reason.
        #[serde(default)]
        pub reason: Option<String>,
        /// What it says; by default what the first claim says.
        #[serde(default)]
        pub statement: Option<String>,
    }
}

/// `GET /promotions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
pub struct PromotionsQuery {
    /// The organisation.
    pub org_id: String,
}

/// The answer to `GET /promotions`: what enough projects agree on, and nobody has decided about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Promotions {
    /// The most projects first.
    pub items: Vec<Promotable>,
    /// From how many projects on a promotion is proposed.
    pub promote_at: usize,
}

/// Claims of different projects that say the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Promotable {
    /// How many projects say it.
    pub projects: usize,
    /// The claims, one of each project, the oldest first.
    pub claims: Vec<ClaimView>,
}
