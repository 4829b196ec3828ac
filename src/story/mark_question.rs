//! Words the question of a mark.

use crate::domain::{Confusion, StoryRule, text};

/// The maximum length of a statement that a question quotes, in characters.
const QUOTE_LENGTH: usize = 90;

/// Returns a question about the statements of a mark, in order, that can be answered with yes or no without reading the claims.
pub fn question(confusion: Confusion, rule: StoryRule, statements: &[&str]) -> String {
    let last = statements.last().copied().map(short).unwrap_or_default();
    let first = statements.first().copied().map(short).unwrap_or_default();
    match (confusion, statements) {
        (_, [_]) => format!("Does “{last}” still hold, although its last day has passed?"),
        (Confusion::Reversal, [_, _]) if rule == StoryRule::Restated => {
            format!("Does “{last}” hold again, although it was retracted before?")
        }
        (Confusion::Reversal, [.., turn, _]) => {
            format!("Does “{last}” hold again, although “{}” was written in between?", short(turn))
        }
        (Confusion::Stale, _) => format!("Does “{first}” still hold, given the newer “{last}”?"),
        (Confusion::Ambiguity | Confusion::Reversal, _) => format!("Does “{last}” hold instead of “{first}”?"),
    }
}

/// Returns the statement without its period, shortened for a question.
fn short(statement: &str) -> String {
    text::cut(statement.trim().trim_end_matches('.'), QUOTE_LENGTH)
}
