//! How far the answers in a scope raise the threshold from which writers are asked there.

use crate::domain::PairVerdict;

/// The most answers that count, the newest.
pub const COUNTED_ANSWERS: usize = 30;

/// The most that answers add to the log-odds of the threshold.
///
/// Measured on 84 generated scopes of one subject each (`python -m ergo_nli.dense` in tools/nli; features of `ergo-bench guard --only dense
/// --examples`), with 1,745 harmless writes and 1,065 contradictions of families that no model was trained on. At a shift of 0, 0.5, 1, 1.5 and 2,
/// 34, 24, 15, 8 and 4 % of the harmless writes are asked about, and 61, 55, 48, 41 and 35 % of the contradictions refused or asked about. The
/// target is 8 % of the harmless writes.
const MAX_SHIFT: f32 = 1.5;

/// What a verdict `compatible` adds: the question was in vain. Fifteen of them in a row reach [`MAX_SHIFT`].
const IN_VAIN: f32 = 0.1;

/// What any other verdict takes away.
const WORTHWHILE: f32 = 0.5;

/// What a write without an answer takes away: the threshold stays where it is if 8 of 100 writes are answered in vain, the target for questions.
const UNASKED: f32 = IN_VAIN * 8.0 / 92.0;

/// Returns what is added to the log-odds of the threshold after some answers, the oldest first, and `writes` of the same writer since the oldest
/// of them. The sum is kept within its limits after each answer, so that one worthwhile question lowers the threshold at once, however many
/// were in vain before. Which writes lie between which answers is not counted: they are shared out evenly.
pub fn ask_shift(answers: &[PairVerdict], writes: usize) -> f32 {
    let unasked = writes.saturating_sub(answers.len()) as f32 / answers.len().max(1) as f32;
    answers.iter().fold(0.0, |shift: f32, verdict| {
        let step = if *verdict == PairVerdict::Compatible { IN_VAIN } else { -WORTHWHILE };
        (shift + step - unasked * UNASKED).clamp(0.0, MAX_SHIFT)
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
            assert!(is(ask_shift(&answers, COUNTED_ANSWERS), MAX_SHIFT - WORTHWHILE), "{verdict}");
            // It never falls below that of the weights.
            assert!(is(ask_shift(&[verdict, verdict, Compatible], 3), IN_VAIN), "{verdict}");
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
