//! Why a newcomer who reads a story would not know what holds.

use serde::{Deserialize, Serialize};

/// A kind of confusion in a story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confusion {
    /// A choice comes back after it was given up, without a word about that.
    Reversal,
    /// Two claims in force exclude each other, and nothing settles it.
    Ambiguity,
    /// The subject moved on, and the claim was never retired.
    Stale,
}

impl Confusion {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reversal => "reversal",
            Self::Ambiguity => "ambiguity",
            Self::Stale => "stale",
        }
    }
}
