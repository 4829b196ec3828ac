//! Clusters of insights: groups about one subject, among the projects of an organisation.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::domain::ClaimId;

/// The maximum number of insights that are compared, and so of clusters: the work grows with their square.
pub const MAX_CLUSTERED: usize = 3_000;

/// `GET /notes/clusters`: groups of insights about one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NoteClustersQuery {
    /// The organisation.
    pub org_id: String,
    /// The minimum similarity of neighbours, in percent; default 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<u8>,
    /// The maximum number of clusters, up to 3,000; default 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// The answer to `GET /notes/clusters`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoteClusters {
    /// The clusters, the largest first.
    pub items: Vec<NoteCluster>,
    /// The number of clusters, listed or not.
    pub total: usize,
    /// The number of insights that were compared: at most the 3,000 of the highest rank that have a vector.
    pub insights: usize,
}

/// Insights about one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoteCluster {
    /// The mean cosine of its insights with their centre, 0 to 1.
    pub coherence: f64,
    /// The number of projects that have at least one of the insights.
    pub projects: usize,
    /// The domain of the insight nearest to the centre.
    pub domain: String,
    /// Whether one of the insights is on an open card.
    pub contradicted: bool,
    /// The insights, the nearest to the centre first.
    pub members: Vec<ClusterMember>,
}

/// An insight of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClusterMember {
    /// The claim that represents it.
    pub claim: ClaimId,
    /// The statement of that claim.
    pub statement: String,
    /// The number of projects that have it.
    pub projects: usize,
}
