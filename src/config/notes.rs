//! The section `[notes]`: rule files that ergo follows.

use serde::{Deserialize, Serialize};

/// The maximum of `every_minutes`: a week.
const MAX_MINUTES: u32 = 7 * 24 * 60;

/// The `[notes]` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotesSettings {
    /// Whether the daemon watches the files that were added with `ergo notes add`, and reads them when they are saved.
    pub watch: bool,
    /// The interval in minutes at which the daemon also checks all files, in case it missed a change.
    pub every_minutes: u32,
    /// The minimum similarity, in percent, of two differently worded claims that may say the same.
    pub similarity: u8,
    /// The minimum similarity, in percent, if each of two claims is the nearest of the other; at most `similarity`.
    pub nearest_similarity: u8,
    /// The minimum probability, in percent and in each direction, that one claim follows from the other.
    pub entailment: u8,
    /// The maximum number of pairs of claims that the cross-encoder classifies after a scan.
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
        if !(1..=MAX_MINUTES).contains(&self.every_minutes) {
            return Some(("every_minutes", format!("invalid `every_minutes`: expected 1 to {MAX_MINUTES}")));
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
