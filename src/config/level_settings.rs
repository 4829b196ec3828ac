//! The section `[levels]`: rules of an organisation.

use serde::{Deserialize, Serialize};

/// The `[levels]` section: what follows if projects of an organisation say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LevelSettings {
    /// How many projects must say the same before a promotion to the organisation's level is proposed; at least 2.
    pub promote_at: usize,
    /// Whether it is proposed, done, or neither.
    pub promote: PromoteSetting,
}

impl Default for LevelSettings {
    fn default() -> Self {
        Self { promote_at: 3, promote: PromoteSetting::default() }
    }
}

impl LevelSettings {
    /// Returns the first invalid setting, and why it is invalid.
    pub(super) fn invalid(&self) -> Option<(&'static str, String)> {
        (self.promote_at < 2)
            .then(|| ("promote_at", format!("invalid `promote_at` {}: expected at least 2", self.promote_at)))
    }
}

/// What follows if enough projects say the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromoteSetting {
    /// A promotion is proposed.
    #[default]
    Ask,
    /// It becomes a claim of the organisation at once.
    Auto,
    /// Nothing.
    Never,
}
