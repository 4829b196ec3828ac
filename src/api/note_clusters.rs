//! Clusters: what the projects of an organisation say about one subject.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::domain::ClaimId;

/// `GET /notes/clusters`: what the projects of an organisation say about one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NoteClustersQuery {
    /// The organisation.
    pub org_id: String,
    /// The least similarity of neighbours, in percent; by default 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<u8>,
    /// The most clusters in the answer; by default 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// The answer to `GET /notes/clusters`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoteClusters {
    /// The clusters, the largest first.
    pub items: Vec<NoteCluster>,
    /// How many clusters there are.
    pub total: usize,
    /// The insights that were compared: those with a vector, at most 3,000, the highest rank first.
    pub insights: usize,
}

/// Insights about one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoteCluster {
    /// How near they are to their centre: the mean cosine, 0 to 1.
    pub coherence: f64,
    /// How many projects say one of them.
    pub projects: usize,
    /// The domain of the one nearest to the centre.
    pub domain: String,
    /// One of them stands on an open card.
    pub contradicted: bool,
    /// The insights, the one nearest to the centre first.
    pub members: Vec<ClusterMember>,
}

/// An insight of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClusterMember {
    /// The claim whose words stand for it.
    pub claim: ClaimId,
    /// These words.
    pub statement: String,
    /// How many projects say it.
    pub projects: usize,
}
