//! Promotion of projects' claims to the organisation's level.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{ClaimView, request};

request! {
    /// `POST /promote`: creates one claim of the organisation's level from claims of its projects. The projects' claims stay and count as
    /// sightings of it.
    #[derive(Default)]
    pub struct PromoteRequest {
        /// Who acts, and where.
        caller(who),
        /// Claims of projects of one organisation, at least one. Claims of other projects that say the same are added.
        pub claims: Vec<String>,
        /// Why it holds in the whole organisation; by default the reason of the first claim.
        #[serde(default)]
        pub reason: Option<String>,
        /// Its statement; by default that of the first claim.
        #[serde(default)]
        pub statement: Option<String>,
    }
}

/// `GET /promotions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PromotionsQuery {
    /// The organisation.
    pub org_id: String,
}

/// The answer to `GET /promotions`: claims on which enough projects agree and about which nobody has decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Promotions {
    /// The claims, those of most projects first.
    pub items: Vec<Promotable>,
    /// The number of projects from which a promotion is proposed.
    pub promote_at: usize,
}

/// Claims of different projects that say the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Promotable {
    /// The number of projects that have such a claim.
    pub projects: usize,
    /// The claims, one of each project, the oldest first.
    pub claims: Vec<ClaimView>,
}
