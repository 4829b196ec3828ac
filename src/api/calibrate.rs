//! Calibration of recall: finds pairs of a common word and a term of the scope.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /calibrate`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrateRequest {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// The person who makes the request; shown to others in the event stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The agent through which they make it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Dry run: report the word pairs, but do not change the stored ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// The answer to `calibrate`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Calibrated {
    /// The number of claims that were used.
    pub claims: usize,
    /// The word pairs: a search for the common word also finds the project's term.
    pub bridges: Vec<BridgeView>,
    /// The unrelated baseline of the scope, and by how much it raises the floor. Absent if too few claims have a vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrelated_baseline: Option<UnrelatedBaselineView>,
    /// Problems, in sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How similar unrelated claims of a scope are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct UnrelatedBaselineView {
    /// The number of claims that were left out in turn to measure the similarity of the nearest other claim.
    pub sample: usize,
    /// The 20th percentile of these cosines.
    pub cosine: f32,
    /// By how much this raises the floor, as a difference of cosines; negative if it lowers it.
    pub raise: f32,
}

/// A common word and a term of the scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BridgeView {
    /// The common word.
    pub from: String,
    /// The term.
    pub to: String,
    /// The number of claims that contain both.
    pub together: usize,
    /// The cosine similarity of their vectors, -1 to 1. Absent without an embedder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
    /// Whether the evidence was weak and the local language model confirmed the pair.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
}
