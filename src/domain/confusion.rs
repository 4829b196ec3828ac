//! Why a newcomer who reads a story would not know what holds.

use serde::{Deserialize, Serialize};

/// A kind of confusion in a story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confusion {
    /// An abandoned choice comes back, and no claim says so.
    Reversal,
    /// Two active claims contradict each other, and nothing settles it.
    Ambiguity,
    /// A newer claim suggests that an older one no longer holds, and nobody retired it.
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
