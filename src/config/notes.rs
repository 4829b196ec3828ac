//! The section `[notes]`: files of rules that are followed.

use serde::{Deserialize, Serialize};

/// The longest time between two passes, in minutes: a week.
const MOST_MINUTES: u32 = 7 * 24 * 60;

/// The `[notes]` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotesSettings {
    /// Whether the daemon watches the files that `ergo notes add` named, and reads them when they are saved.
    pub watch: bool,
    /// How often all files are looked at besides, for what was missed, in minutes.
    pub every_minutes: u32,
    /// The least similarity of two claims in other words that may say the same, in percent.
    pub similarity: u8,
    /// The same for two claims each of which is the other's nearest, in percent; at most `similarity`.
    pub nearest_similarity: u8,
    /// The least probability, in each direction, that one follows from the other, in percent.
    pub entailment: u8,
    /// The most pairs of claims that the cross-encoder is asked about after a scan.
    pub pairs: usize,
}

impl Default for NotesSettings {
    fn default() -> Self {
        Self { watch: false, every_minutes: 60, similarity: 60, nearest_similarity: 50, entailment: 65, pairs: 400 }
    }
}

impl NotesSettings {
    /// Returns the first invalid setting, and why it is invalid.
    pub(super) fn invalid(&self) -> Option<(&'static str, String)> {
        if !(1..=MOST_MINUTES).contains(&self.every_minutes) {
            return Some(("every_minutes", format!("invalid `every_minutes`: expected 1 to {MOST_MINUTES}")));
        }
        for (name, value) in [
            ("similarity", self.similarity),
            ("nearest_similarity", self.nearest_similarity),
            ("entailment", self.entailment),
        ] {
            if !(1..=100).contains(&value) {
                return Some((name, format!("invalid `{name}` {value}: expected 1 to 100 percent")));
            }
        }
        None
    }
}
