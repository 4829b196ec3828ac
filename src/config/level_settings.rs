//! The section `[levels]`: promotion of rules to the level of the organisation.

use serde::{Deserialize, Serialize};

/// The `[levels]` section: what happens if several projects of an organisation have the same rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LevelSettings {
    /// The number of projects with the same rule from which its promotion to the organisation's level is proposed or
    /// performed; at least 2.
    pub promote_at: usize,
    /// Whether a promotion is proposed or performed.
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

/// What happens if enough projects have the same rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromoteSetting {
    /// A promotion is proposed.
    #[default]
    Ask,
    /// The rule becomes a claim of the organisation at once.
    Auto,
    /// Nothing happens.
    Never,
}
