//! The floor: the score from which the language-model stage and references start. Whether a claim answers is decided by a probability, in
//! `src/engine/reads/recall/recall_verdict.rs`.
//!
//! The floor depends on the scope. It rises with the share of the question's words that no claim of the scope contains, and with the similarity
//! of the scope's unrelated claims ([`super::unrelated_baseline`]). A lead of the best claim over the next one lowers it. The constants were
//! measured on the corpus in tests/data/recall: see bench/recall-quality.md.

use super::rerank::Score;

/// The amount that is subtracted from a score if all words of the question are unknown.
const UNKNOWN_WORDS_PENALTY: f64 = 0.5;

/// The weight of a lead over the next best claim, relative to a cosine of 1; the lead that changes nothing; and the lead from which a larger
/// one adds nothing.
const LEAD_WEIGHT: f64 = 0.5;
const USUAL_LEAD: f64 = 0.16;
const MAX_LEAD: f64 = 0.3;

/// The floor for questions with a vector, and for those without.
const FLOOR_BY_MEANING: f64 = 0.37;
const FLOOR_BY_WORDS: f64 = 0.05;

/// The cosine from which two texts say nearly the same, in a scope with the usual baseline, in which unrelated texts stay below 0.5; and the
/// minimum margin of such a match.
const SURE_COSINE: f64 = 0.6;
const SURE_MARGIN: f64 = 0.5;

/// The evidence about a match.
#[derive(Clone, Copy, Debug)]
pub struct FloorEvidence<'a> {
    /// Its score.
    pub score: &'a Score,
    /// The cosine of its vector and the question's; `None` if it has none.
    pub cosine: Option<f32>,
    /// Whether the question has a vector.
    pub by_meaning: bool,
    /// The share of the question, 0 to 1, whose words no claim of the scope contains.
    pub unknown: f64,
    /// Its lead over the next best claim, 0 if it is not the best; `None` if leads do not count.
    pub lead: Option<f64>,
    /// By how much the scope's unrelated baseline raises the floor; 0 if it was not measured.
    pub raise: f64,
}

/// Returns the margin of a match above the floor; negative if it is below.
pub fn margin(evidence: &FloorEvidence<'_>) -> f64 {
    let &FloorEvidence { score, cosine, by_meaning, unknown, lead, raise } = evidence;
    let matched = UNKNOWN_WORDS_PENALTY.mul_add(-unknown, score.relevance);
    if !by_meaning {
        return matched - FLOOR_BY_WORDS;
    }
    let lead = lead.map_or(USUAL_LEAD, |lead| lead.clamp(0.0, MAX_LEAD));
    let above = LEAD_WEIGHT.mul_add(lead - USUAL_LEAD, matched) - FLOOR_BY_MEANING - raise;
    if cosine.is_some_and(|cosine| f64::from(cosine) - raise >= SURE_COSINE) { above.max(SURE_MARGIN) } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(relevance: f64, cosine: Option<f32>, unknown: f64, lead: Option<f64>) -> bool {
        let score = Score { relevance, ..Score::default() };
        margin(&FloorEvidence { score: &score, cosine, by_meaning: cosine.is_some(), unknown, lead, raise: 0.0 }) >= 0.0
    }

    #[test]
    fn unknown_words_raise_the_floor() {
        assert!(answers(0.5, Some(0.3), 0.0, None));
        assert!(!answers(0.5, Some(0.3), 0.5, None));
        assert!(answers(0.2, None, 0.0, None) && !answers(0.2, None, 0.4, None));
    }

    #[test]
    fn a_lead_over_the_next_claim_counts() {
        assert!(answers(0.38, Some(0.3), 0.0, Some(0.25)) && !answers(0.38, Some(0.3), 0.0, Some(0.01)));
        assert!(answers(0.41, Some(0.3), 0.0, None) && !answers(0.41, Some(0.3), 0.0, Some(0.0)));
        assert!(!answers(0.28, Some(0.3), 0.0, Some(9.0)), "a lead alone is not enough");
    }

    #[test]
    fn a_high_cosine_answers_without_common_words() {
        assert!(answers(0.7, Some(0.7), 1.0, Some(0.0)));
    }

    #[test]
    fn the_baseline_raises_the_floor_by_meaning_and_not_by_words() {
        let score = Score { relevance: 0.45, ..Score::default() };
        let evidence =
            FloorEvidence { score: &score, cosine: Some(0.62), by_meaning: true, unknown: 0.0, lead: None, raise: 0.0 };
        let raised = FloorEvidence { raise: 0.1, ..evidence };
        assert!(margin(&evidence) >= SURE_MARGIN && margin(&raised) < 0.0);
        let by_words = |raise| margin(&FloorEvidence { by_meaning: false, raise, ..evidence });
        assert!((by_words(0.1) - by_words(0.0)).abs() < f64::EPSILON);
    }

    #[test]
    fn a_claim_without_a_vector_has_the_same_floor() {
        let score = Score { relevance: 0.3, ..Score::default() };
        let evidence =
            FloorEvidence { score: &score, cosine: None, by_meaning: true, unknown: 0.0, lead: Some(0.0), raise: 0.0 };
        assert!(margin(&evidence) < 0.0);
        assert!(margin(&FloorEvidence { by_meaning: false, ..evidence }) > 0.0);
    }
}
