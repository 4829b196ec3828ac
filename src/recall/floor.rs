//! Below which match a claim is a stranger: then it is honest to say that nothing is known.
//!
//! What the scope itself knows calibrates it: the more of a question's words no claim of the scope has ever said, the nearer the best claim must
//! come in the others; the less the best stands out from the next one, the more likely is that both are only near; and the nearer the scope's own claims stand to
//! each other ([`super::strangers`]), the higher stands the floor. Measured on the corpus in tests/data/recall: see docs/recall.md.

use super::rank::Score;

/// What a question of unknown words alone costs its best match.
const UNKNOWN: f64 = 0.5;

/// What a lead over the next best counts beside a cosine of 1; the lead at which nothing changes, and the most that counts.
const LEAD: f64 = 0.5;
const USUAL_LEAD: f64 = 0.16;
const MOST_LEAD: f64 = 0.3;

/// The floor for questions with a vector, and for those that are asked by words alone.
const WITH_MEANING: f64 = 0.37;
const BY_WORDS: f64 = 0.05;

/// A cosine from which on two texts say nearly the same, whatever their words, in a scope that raises nothing: strangers stay below 0.5 there. Such a match stands this far above the floor,
/// at least.
const SURE: f64 = 0.6;
const SURELY: f64 = 0.5;

/// What speaks for a claim's being an answer.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// How well it matches.
    pub score: &'a Score,
    /// The cosine between its vector and the question's; `None` where it has none.
    pub cosine: Option<f32>,
    /// The question has a vector.
    pub by_meaning: bool,
    /// The share of the question, 0 to 1, whose words the scope does not know.
    pub unknown: f64,
    /// How far its score stands above that of the next best, 0 where it is not the best; `None` where that is not to count.
    pub lead: Option<f64>,
    /// By how much the scope's own strangers raise the floor; 0 where nothing was learned of them.
    pub raise: f64,
}

/// How far a match stands above the floor; below 0 it is a stranger.
pub fn above(evidence: &Evidence<'_>) -> f64 {
    let &Evidence { score, cosine, by_meaning, unknown, lead, raise } = evidence;
    let matched = UNKNOWN.mul_add(-unknown, score.match_);
    if !by_meaning {
        return matched - BY_WORDS;
    }
    let lead = lead.map_or(USUAL_LEAD, |lead| lead.clamp(0.0, MOST_LEAD));
    let above = LEAD.mul_add(lead - USUAL_LEAD, matched) - WITH_MEANING - raise;
    if cosine.is_some_and(|cosine| f64::from(cosine) - raise >= SURE) { above.max(SURELY) } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(match_: f64, cosine: Option<f32>, unknown: f64, lead: Option<f64>) -> bool {
        let score = Score { match_, ..Score::default() };
        above(&Evidence { score: &score, cosine, by_meaning: cosine.is_some(), unknown, lead, raise: 0.0 }) >= 0.0
    }

    #[test]
    fn unknown_words_raise_the_floor() {
        assert!(answers(0.5, Some(0.3), 0.0, None));
        assert!(!answers(0.5, Some(0.3), 0.5, None));
        assert!(answers(0.2, None, 0.0, None) && !answers(0.2, None, 0.4, None));
    }

    #[test]
    fn who_stands_out_answers_where_one_of_many_does_not() {
        assert!(answers(0.38, Some(0.3), 0.0, Some(0.25)) && !answers(0.38, Some(0.3), 0.0, Some(0.01)));
        assert!(answers(0.41, Some(0.3), 0.0, None) && !answers(0.41, Some(0.3), 0.0, Some(0.0)));
        assert!(!answers(0.28, Some(0.3), 0.0, Some(9.0)), "a lead is no answer");
    }

    #[test]
    fn what_says_the_same_is_known_in_whatever_words() {
        assert!(answers(0.7, Some(0.7), 1.0, Some(0.0)));
    }

    #[test]
    fn near_strangers_raise_it_for_meaning_and_not_for_words_alone() {
        let score = Score { match_: 0.45, ..Score::default() };
        let evidence =
            Evidence { score: &score, cosine: Some(0.62), by_meaning: true, unknown: 0.0, lead: None, raise: 0.0 };
        let raised = Evidence { raise: 0.1, ..evidence };
        assert!(above(&evidence) >= SURELY && above(&raised) < 0.0);
        let by_words = |raise| above(&Evidence { by_meaning: false, raise, ..evidence });
        assert!((by_words(0.1) - by_words(0.0)).abs() < f64::EPSILON);
    }

    #[test]
    fn a_claim_without_a_vector_is_held_to_the_same_floor() {
        let score = Score { match_: 0.3, ..Score::default() };
        let evidence =
            Evidence { score: &score, cosine: None, by_meaning: true, unknown: 0.0, lead: Some(0.0), raise: 0.0 };
        assert!(above(&evidence) < 0.0);
        assert!(above(&Evidence { by_meaning: false, ..evidence }) > 0.0);
    }
}
