//! Advice to the writer of a claim about its wording.

use crate::{api::Warning, domain::text::sentences};

/// Returns the advice on a statement, if any.
pub(super) fn on_statement(statement: &str) -> Option<Warning> {
    several_claims(statement).or_else(|| question(statement))
}

/// Warns that a statement contains several claims, if it has several sentences.
fn several_claims(statement: &str) -> Option<Warning> {
    let sentences = sentences(statement).len();
    (sentences > 1).then(|| {
        let message = format!(
            "the statement has {sentences} sentences. Write each rule as a claim of its own, and put explanations \
                into `reason`: single-sentence claims are easier to find, compare and replace"
        );
        Warning::new(Warning::SEVERAL_CLAIMS, message)
    })
}

/// Warns that a statement is a question.
fn question(statement: &str) -> Option<Warning> {
    statement.trim_end().ends_with('?').then(|| {
        let message = "the statement is a question, and nothing can follow from it or contradict it: supersede it with \
            what was decided, or retract it";
        Warning::new(Warning::QUESTION, message)
    })
}
