//! The bridge from plain words to the words of a scope.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /calibrate`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CalibrateRequest {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// Who asks for it, by name; what others are told of it names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The agent through which they ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Only show the bridge: keep what is there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// The answer to `calibrate`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Calibrated {
    /// How many claims it was made of.
    pub claims: usize,
    /// The bridge: what is asked for, and what it finds too.
    pub bridges: Vec<BridgeView>,
    /// The unrelated baseline of the scope, and by how much it raises the floor. Absent if too few claims have a vector to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrelated_baseline: Option<UnrelatedBaselineView>,
    /// What did not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How similar unrelated claims of a scope are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct UnrelatedBaselineView {
    /// How many claims were left out in turn, to see how near the next one comes.
    pub sample: usize,
    /// The cosine that four of five of these exceed.
    pub cosine: f32,
    /// By how much that raises the floor of recall, beside a cosine of 1; below 0 it lowers it.
    pub raise: f32,
}

/// A plain word and a term of the scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BridgeView {
    /// The plain word.
    pub from: String,
    /// The term.
    pub to: String,
    /// In how many claims they came together.
    pub together: usize,
    /// How near they are in meaning, -1 to 1. Absent without an embedder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
    /// The scope only hints at it, and the local language model said that it is one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
}
