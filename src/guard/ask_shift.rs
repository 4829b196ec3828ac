//! Computes by how much the answers in a scope raise the threshold from which writers are asked there.

use crate::domain::PairVerdict;

/// The maximum number of answers that count: the newest.
pub const COUNTED_ANSWERS: usize = 30;

/// The maximum that answers add to the log-odds of the threshold.
///
/// Measured on 84 generated scopes of one subject each (`python -m ergo_nli.dense` in tools/nli; features of `ergo-bench guard --only dense
/// --examples`), with 1,745 harmless writes and 1,065 contradictions of families that no model was trained on. At a shift of 0, 0.5, 1, 1.5 and 2,
/// 34, 24, 15, 8 and 4 % of the harmless writes are asked about, and 61, 55, 48, 41 and 35 % of the contradictions refused or asked about. The
/// target is 8 % of the harmless writes.
const MAX_SHIFT: f32 = 1.5;

/// The step that a verdict `compatible` adds, because the question was unnecessary. Fifteen of them in a row reach [`MAX_SHIFT`].
const COMPATIBLE_STEP: f32 = 0.1;

/// The step that any other verdict subtracts.
const OTHER_VERDICT_STEP: f32 = 0.5;

/// The step that a write without an answer subtracts. With it, the threshold stays the same if 8 of 100 writes lead to an unnecessary
/// question, which is the target.
const UNASKED_STEP: f32 = COMPATIBLE_STEP * 8.0 / 92.0;

/// Returns the shift to add to the log-odds of the threshold after some answers, the oldest first, and `writes` by the same writer since the
/// oldest answer. The shift is limited after each answer, so that one useful question lowers the threshold at once, however many were
/// unnecessary before. The writes are distributed evenly among the answers, because their order is not recorded.
pub fn ask_shift(answers: &[PairVerdict], writes: usize) -> f32 {
    let unasked = writes.saturating_sub(answers.len()) as f32 / answers.len().max(1) as f32;
    answers.iter().fold(0.0, |shift: f32, verdict| {
        let step = if *verdict == PairVerdict::Compatible { COMPATIBLE_STEP } else { -OTHER_VERDICT_STEP };
        (shift + step - unasked * UNASKED_STEP).clamp(0.0, MAX_SHIFT)
    })
}

#[cfg(test)]
mod tests {
    use PairVerdict::{Compatible, Contradicts, Replaces, Same};

    use super::*;

    fn is(shift: f32, expected: f32) -> bool {
        (shift - expected).abs() < 1e-4
    }

    #[test]
    fn answers_in_vain_raise_the_threshold_up_to_a_limit() {
        assert!(is(ask_shift(&[], 100), 0.0));
        assert!(is(ask_shift(&[Compatible; 3], 3), 0.3));
        assert!(is(ask_shift(&[Compatible; 15], 15), MAX_SHIFT));
        // A question can be about several claims: more answers than writes.
        assert!(is(ask_shift(&[Compatible; COUNTED_ANSWERS], 10), MAX_SHIFT));
    }

    #[test]
    fn a_worthwhile_question_lowers_it_at_once() {
        for verdict in [Contradicts, Replaces, Same] {
            let mut answers = [Compatible; COUNTED_ANSWERS];
            answers[COUNTED_ANSWERS - 1] = verdict;
            assert!(is(ask_shift(&answers, COUNTED_ANSWERS), MAX_SHIFT - OTHER_VERDICT_STEP), "{verdict}");
            // The threshold never falls below that of the weights.
            assert!(is(ask_shift(&[verdict, verdict, Compatible], 3), COMPATIBLE_STEP), "{verdict}");
        }
    }

    #[test]
    fn rare_questions_may_be_in_vain() {
        let after = |writes| ask_shift(&[Compatible; 24], writes);
        assert!(is(after(300), 0.0), "8 of 100");
        assert!(is(after(1000), 0.0));
        assert!(after(150) > 1.0, "16 of 100");
        assert!(is(after(48), MAX_SHIFT), "50 of 100");
    }
}
