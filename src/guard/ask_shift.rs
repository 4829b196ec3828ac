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

/// What a verdict `compatible` adds: the question was in vain. Fifteen of them reach [`MAX_SHIFT`].
const IN_VAIN: f32 = 0.1;

/// What any other verdict takes away: the threshold stays where it is if one question in six is worthwhile.
const WORTHWHILE: f32 = 0.5;

/// Returns what is added to the log-odds of the threshold after some answers, the oldest first. The sum is kept within its limits after each
/// of them, so that one worthwhile question lowers the threshold at once, however many were in vain before.
pub fn ask_shift(answers: impl IntoIterator<Item = PairVerdict>) -> f32 {
    answers.into_iter().fold(0.0, |shift: f32, verdict| {
        let step = if verdict == PairVerdict::Compatible { IN_VAIN } else { -WORTHWHILE };
        (shift + step).clamp(0.0, MAX_SHIFT)
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
        assert!(is(ask_shift([]), 0.0));
        assert!(is(ask_shift([Compatible; 3]), 0.3));
        assert!(is(ask_shift([Compatible; 15]), MAX_SHIFT));
        assert!(is(ask_shift([Compatible; COUNTED_ANSWERS]), MAX_SHIFT));
    }

    #[test]
    fn a_worthwhile_question_lowers_it_at_once() {
        for verdict in [Contradicts, Replaces, Same] {
            let answers = [Compatible; COUNTED_ANSWERS - 1].into_iter().chain([verdict]);
            assert!(is(ask_shift(answers), MAX_SHIFT - WORTHWHILE), "{verdict}");
            // It never falls below that of the weights.
            assert!(is(ask_shift([verdict, verdict, Compatible]), IN_VAIN), "{verdict}");
        }
        let one_in_six = [Compatible, Compatible, Compatible, Compatible, Compatible, Same];
        assert!(is(ask_shift([Compatible; 8].into_iter().chain(one_in_six)), 0.8));
    }
}
