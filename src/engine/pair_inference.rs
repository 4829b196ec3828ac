//! Asks the cross-encoder about pairs of claims, each in both orders unless the first one decides. A pair that seems to contradict is also
//! read without the place that both claims name.

use std::{sync::atomic::Ordering, time::Instant};

use super::Engine;
use crate::{
    guard::{Inference, without_shared_places},
    infer::{Call, Classification, InferError, Models},
};

impl Engine {
    /// Returns the cross-encoder's inferences for `pairs` (stored, incoming), and for `one_way` in that order only.
    pub(super) fn infer(
        &self,
        pairs: &[(&str, &str)],
        one_way: &[(&str, &str)],
        call: Call,
    ) -> Result<Vec<Inference>, InferError> {
        let inferences = infer_pairs(&*self.models, pairs, one_way, call)?;
        self.counters.inferred.fetch_add(inferences.len() as u64, Ordering::Relaxed);
        Ok(inferences)
    }

    /// Returns the cross-encoder's inferences for pairs, always in both orders, because it matters which of the claims
    /// entails the other.
    pub(super) fn infer_both_orders(&self, pairs: &[(&str, &str)], call: Call) -> Result<Vec<Inference>, InferError> {
        let both = pairs.iter().flat_map(|pair| [forward(pair), backward(pair)]).collect();
        let answers = classify(&*self.models, both, call)?;
        self.counters.inferred.fetch_add(pairs.len() as u64, Ordering::Relaxed);
        Ok(answers.chunks_exact(2).map(|pair| both_orders(&pair[0], &pair[1])).collect())
    }
}

/// Asks a cross-encoder about `pairs` (stored, incoming), and about `one_way` in that order only; returns one result
/// for each, in their order. The first batch has the first order of all, the second one the other order of those
/// `pairs` that the first leaves open, the third one those that seem to contradict, without the places that both claims
/// name. The reading without them counts if it makes a contradiction less likely.
///
/// # Errors
/// Fails if the model fails, or returns a wrong number of answers.
pub fn infer_pairs(
    models: &dyn Models,
    pairs: &[(&str, &str)],
    one_way: &[(&str, &str)],
    call: Call,
) -> Result<Vec<Inference>, InferError> {
    let until = Instant::now() + call.deadline;
    let first = classify(models, pairs.iter().chain(one_way).map(forward).collect(), call)?;
    let open: Vec<usize> = (0..pairs.len()).filter(|at| Inference::needs_second_order(first[*at].logits)).collect();
    // A begun comparison is completed, even if many calls are queued.
    let deadline = until.saturating_duration_since(Instant::now());
    let rest = Call { deadline, longest_queue: None, resumes: true, ..call };
    let second = classify(models, open.iter().map(|at| backward(&pairs[*at])).collect(), rest)?;
    let mut inferences: Vec<Inference> =
        first.iter().map(|answer| Inference::one_way(answer.logits, answer.gate)).collect();
    for (at, answer) in open.into_iter().zip(second) {
        inferences[at] = both_orders(&first[at], &answer);
    }
    let placed: Vec<(usize, (String, String))> = (0..pairs.len())
        .filter(|at| inferences[*at].needs_second_reading())
        .filter_map(|at| Some((at, without_shared_places(pairs[at].0, pairs[at].1)?)))
        .collect();
    let texts = placed.iter().flat_map(|(_, (a, b))| [forward(&(a, b)), backward(&(a, b))]).collect();
    let deadline = until.saturating_duration_since(Instant::now());
    let third = classify(models, texts, Call { deadline, ..rest })?;
    for ((at, _), answers) in placed.into_iter().zip(third.chunks_exact(2)) {
        let reading = both_orders(&answers[0], &answers[1]);
        if reading.mean() < inferences[at].mean() {
            inferences[at] = reading;
        }
    }
    Ok(inferences)
}

fn both_orders(forward: &Classification, backward: &Classification) -> Inference {
    Inference::of(forward.logits, backward.logits, [forward.gate, backward.gate])
}

/// Returns the texts of a pair (stored, incoming) in the first order.
fn forward((stored, incoming): &(&str, &str)) -> (String, String) {
    ((*stored).to_owned(), (*incoming).to_owned())
}

/// Returns the texts of a pair in the other order.
fn backward((stored, incoming): &(&str, &str)) -> (String, String) {
    ((*incoming).to_owned(), (*stored).to_owned())
}

fn classify(models: &dyn Models, texts: Vec<(String, String)>, call: Call) -> Result<Vec<Classification>, InferError> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let answers = models.classify(&texts, call)?;
    if answers.len() == texts.len() {
        Ok(answers)
    } else {
        Err(InferError::Refused(format!("the model gave {} answers for {} pairs", answers.len(), texts.len())))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::infer::FakeModels;

    #[test]
    fn a_contradiction_must_hold_without_the_common_place() {
        // A contradiction, unless the premise is "Tabs are wide.".
        let models = FakeModels::new().classifying(|premise, other| {
            Ok([0.0, if premise == "Tabs are wide." || other == "Tabs are wide." { 9.0 } else { 0.0 }, 4.0])
        });
        let call = Call::foreground(Duration::from_secs(1));
        let contradicts = |stored: &str, incoming: &str| -> (bool, usize) {
            let before = models.asked().len();
            let inferences = infer_pairs(&models, &[(stored, incoming)], &[], call).unwrap();
            (inferences[0].mean() > 0.0, models.asked().len() - before)
        };
        assert_eq!(contradicts("In tests, tabs are wide.", "Spaces are narrow in tests."), (false, 3));
        assert_eq!(contradicts("In tests, tabs are used.", "Spaces are narrow in tests."), (true, 3));
        assert_eq!(contradicts("In tests, tabs are wide.", "Spaces are narrow in code."), (true, 2));
    }

    #[test]
    fn the_second_order_is_asked_about_only_where_the_first_leaves_it_open() {
        // Sure of the first pair in its first order, in doubt about the second.
        let models = FakeModels::new().classifying(|premise, _| {
            Ok(match premise {
                "far" => [0.0, 9.0, 0.0],
                "near" => [0.0, 0.0, 1.0],
                _ => [0.0, 0.0, 9.0],
            })
        });
        let call = Call::foreground(Duration::from_secs(1));
        let all = infer_pairs(&models, &[("far", "new"), ("near", "new")], &[("near", "new")], call).unwrap();
        let margins: Vec<[bool; 2]> =
            all.iter().map(|inference| inference.contradiction().map(|margin| margin > 5.0)).collect();
        assert_eq!(margins, [[false, false], [false, true], [false, false]]);
        assert_eq!(models.asked().len(), 2, "one batch for the first order, one for the second");
        let far = infer_pairs(&models, &[("far", "new")], &[], call).unwrap();
        assert_eq!((far.len(), models.asked().len()), (1, 3));
        assert!(infer_pairs(&models, &[], &[], call).unwrap().is_empty());
    }
}
