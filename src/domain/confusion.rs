//! Kinds of unclear places in a story (reversals, ambiguities, stale claims), and the rules that find them.

use serde::{Deserialize, Serialize};

/// Why it is unclear which claim of a story holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confusion {
    /// A claim returns to an abandoned choice without saying so.
    Reversal,
    /// Two active claims contradict each other, and nothing settles it.
    Ambiguity,
    /// A newer claim suggests that an older one no longer holds, but the older one is still active.
    Stale,
}

impl Confusion {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Reversal, Self::Ambiguity, Self::Stale];

    /// Returns the word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reversal => "reversal",
            Self::Ambiguity => "ambiguity",
            Self::Stale => "stale",
        }
    }
}

/// The maximum number of a story's claims that are looked up by one word: the last ones before a claim.
pub const STORY_WINDOW: usize = 32;

/// The rule that found an unclear place. Each dismissal raises the strength that a mark of the same rule needs in that scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoryRule {
    /// The guard's rules find a contradiction.
    Contradiction,
    /// Both choose from one set of exclusive alternatives, or contradict each other only in their words.
    Choice,
    /// Both state a different amount of the same thing.
    Amount,
    /// Both assign one role to different things.
    Role,
    /// One states a higher version than the other.
    Version,
    /// One ends the use of something that the other depends on.
    Ended,
    /// A retracted claim is stated again.
    Restated,
    /// A claim is past its last day.
    Expired,
    /// A language model asks; such a question is a proposal, on this device only.
    Model,
}

impl StoryRule {
    /// Every rule, in the order of the numbers under which the store keeps them.
    pub const ALL: [Self; 9] = [
        Self::Contradiction,
        Self::Choice,
        Self::Amount,
        Self::Role,
        Self::Version,
        Self::Ended,
        Self::Restated,
        Self::Expired,
        Self::Model,
    ];
}

impl Confusion {
    /// Returns the number that stands for it in the store.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Returns the confusion with this number.
    pub fn numbered(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as i64 == number)
    }
}

impl StoryRule {
    /// Returns the number that stands for it in the store.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Returns the rule with this number.
    pub fn numbered(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as i64 == number)
    }
}

/// Counts of the answers that people gave to the marks of one confusion and rule in a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkAnswers {
    /// Answers saying that there was nothing to settle.
    pub dismissed: u32,
    /// Answers that settled something.
    pub confirmed: u32,
}

impl MarkAnswers {
    /// Returns the minimum strength of a mark that gets a card, 0 to 1. It is above 0 from two dismissals more than twice the number of
    /// confirmations.
    pub fn bar(self) -> f32 {
        match self.dismissed.saturating_sub(self.confirmed.saturating_mul(2)) {
            0 | 1 => 0.0,
            2 => 0.5,
            3 => 0.67,
            4 | 5 => 0.8,
            _ => 0.95,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dismissals_raise_the_bar_and_confirmations_lower_it() {
        let bars: Vec<f32> = (0..8).map(|dismissed| MarkAnswers { dismissed, confirmed: 0 }.bar()).collect();
        assert!(bars.is_sorted() && bars[1] <= 0.0 && bars[2] > 0.0, "{bars:?}");
        assert!(MarkAnswers { dismissed: 3, confirmed: 1 }.bar() <= 0.0);
    }

    #[test]
    fn numbers_round_trip() {
        for rule in StoryRule::ALL {
            assert_eq!(StoryRule::numbered(rule.number()), Some(rule));
        }
        for confusion in Confusion::ALL {
            assert_eq!(Confusion::numbered(confusion.number()), Some(confusion));
        }
    }
}
