//! Ranks claims that only deny something after affirmative ones: “We do not use RabbitMQ” seldom answers “Which
//! message broker do we use?”.

use super::FoundClaim;
use crate::{
    domain::{ClaimKind, Norm, Qualifiers, Status, norm::Modality, text},
    guard::Guard,
};

/// The greatest difference in score at which an affirmative claim is put before a negative one.
const MAX_SCORE_GAP: f64 = 0.15;

/// Words that begin a question about what is the case. A “why” or yes-or-no question may well be about what is not.
const QUESTION_WORDS: [&str; 7] = ["how", "what", "when", "where", "which", "who", "whose"];

/// Words that negate; “t” is the rest of “n't”.
const NEGATIONS: [&str; 7] = ["neither", "never", "no", "none", "not", "t", "without"];

/// Puts an affirmative claim first if the first one is negative, the question is about what is the case, and the
/// affirmative one scores nearly as high.
pub(super) fn positive_first(guard: &Guard, question: &str, found: &mut [FoundClaim]) {
    let Some(first) = found.first() else { return };
    if !is_negative(first) || !asks_what_is(guard, question) {
        return;
    }
    let (status, total) = (first.row.status, first.score.total);
    let near = |found: &FoundClaim| found.row.status == status && total - found.score.total <= MAX_SCORE_GAP;
    let place = found.iter().position(|found| status == Status::Active && near(found) && !is_negative(found));
    if let Some(place) = place {
        found[..=place].rotate_right(1);
    }
}

/// Whether a claim says only that something is not the case. A rule says what to do, however it is worded (“Nothing is
/// deployed unless CI is green”), and so does a limit (“never longer than 2 s”).
fn is_negative(found: &FoundClaim) -> bool {
    let row = &found.row;
    let rules = matches!(row.kind, ClaimKind::Constraint | ClaimKind::Convention);
    let bounds = row.statement.chars().any(|c| c.is_ascii_digit());
    row.kind == ClaimKind::Rejection || (!rules && !bounds && !row.norms.is_empty() && row.norms.iter().all(forbids))
}

fn forbids(norm: &Norm) -> bool {
    matches!(norm.modality, Modality::MustNot | Modality::ShouldNot)
}

fn asks_what_is(guard: &Guard, question: &str) -> bool {
    let begins = text::words(question).next().is_some_and(|word| QUESTION_WORDS.contains(&word.as_str()));
    let negates = text::words(question).any(|word| NEGATIONS.contains(&word.as_str()));
    let rejection = text::stems(ClaimKind::Rejection.as_str());
    let rejects = text::stems(question).iter().any(|stem| rejection.contains(stem));
    begins && !negates && !rejects && !guard.normalise(question, &Qualifiers::default()).norms.iter().any(forbids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_questions_for_what_is_ask_for_it() {
        let guard = Guard::default();
        let asks = |question| asks_what_is(&guard, question);
        assert!(asks("Which message broker do we use?") && asks("what listens on port 80"));
        assert!(!asks("Why do we not use RabbitMQ?") && !asks("Do we use RabbitMQ?") && !asks("RabbitMQ"));
        assert!(!asks("Which message broker did we reject?"));
        assert!(!asks("What must not be logged?") && !asks("What don't we log?"));
    }
}
