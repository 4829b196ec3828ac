//! Below which match a claim is a stranger: then it is honest to say that nothing is known.
//!
//! What the scope itself knows calibrates it: the more of a question's words no claim of the scope has ever said, the nearer the best claim must
//! come in the others. Measured on the corpus in tests/data/recall: see docs/recall.md.

use super::rank::Score;

/// What a question of unknown words alone costs its best match.
const UNKNOWN: f64 = 0.5;

/// The floor for questions with a vector, and for those that are asked by words alone.
const WITH_MEANING: f64 = 0.40;
const BY_WORDS: f64 = 0.05;

/// A cosine from which on two texts say nearly the same, whatever their words: strangers stay below 0.5.
const SURE: f32 = 0.6;

/// Whether the best match answers the question. `unknown`: the share of the question, 0 to 1, whose words the scope does not know.
pub fn answers(best: &Score, cosine: Option<f32>, unknown: f64) -> bool {
    let floor = if cosine.is_some() { WITH_MEANING } else { BY_WORDS };
    cosine.is_some_and(|cosine| cosine >= SURE) || UNKNOWN.mul_add(-unknown, best.match_) >= floor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(match_: f64) -> Score {
        Score { match_, ..Score::default() }
    }

    #[test]
    fn unknown_words_raise_the_floor() {
        assert!(answers(&score(0.5), Some(0.3), 0.0));
        assert!(!answers(&score(0.5), Some(0.3), 0.5));
        assert!(answers(&score(0.2), None, 0.0) && !answers(&score(0.2), None, 0.4));
    }

    #[test]
    fn what_says_the_same_is_known_in_whatever_words() {
        assert!(answers(&score(0.7), Some(0.7), 1.0));
    }
}
