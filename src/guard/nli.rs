//! The scores of models for a pair of statements. The engine asks the models before it takes any lock.

use crate::domain::numeric::{log_sum_exp, logistic_f32};

/// A cross-encoder's raw logits of entailment, neutral and contradiction for a pair, in both orders.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inference {
    /// With the existing statement first.
    pub forward: [f32; 3],
    /// With the new statement first.
    pub backward: [f32; 3],
    /// The probability that both statements are about the same decision, the mean of both orders; `None` if the
    /// cross-encoder has no such output.
    pub gate: Option<f32>,
}

/// The log-odds of a contradiction in the first order from which the second order is computed too. By `ergo-bench guard --only default,gate`,
/// refusals and warnings are the same as with both orders always; of 68 contradictions one fewer is mentioned, and of 1,000 rules four fewer
/// are asked about.
const SECOND_ORDER_FROM: f32 = -3.0;

/// Returns the log-odds of one class against the two others together.
fn margin(logits: [f32; 3], class: usize) -> f32 {
    let margin = logits[class] - log_sum_exp(&[logits[(class + 1) % 3], logits[(class + 2) % 3]]);
    if margin.is_nan() { 0.0 } else { margin.clamp(-20.0, 20.0) }
}

/// Returns the probability of a logit; 0 if it is NaN.
fn known_probability(logit: f32) -> f32 {
    if logit.is_nan() { 0.0 } else { logistic_f32(logit) }
}

impl Inference {
    /// Combines the results of both orders: the logits of the classes, and the gate's logit of each order.
    pub fn of(forward: [f32; 3], backward: [f32; 3], gate: [Option<f32>; 2]) -> Self {
        let gate = match gate.map(|logit| logit.map(known_probability)) {
            [Some(forward), Some(backward)] => Some(f32::midpoint(forward, backward)),
            _ => None,
        };
        Self { forward, backward, gate }
    }

    /// Returns whether the second order is needed, because the first one alone does not determine the result.
    pub fn needs_second_order(forward: [f32; 3]) -> bool {
        margin(forward, 2) >= SECOND_ORDER_FROM
    }

    /// Returns whether a contradiction is likelier than not, so that the statements should also be read without their common place.
    pub fn needs_second_reading(&self) -> bool {
        self.mean() > 0.0
    }

    /// Creates the result from one order, which is used for both.
    pub fn one_way(logits: [f32; 3], gate: Option<f32>) -> Self {
        Self::of(logits, logits, [gate; 2])
    }

    /// Returns the scores of the same pair with the two statements swapped.
    #[must_use]
    pub fn turned(self) -> Self {
        Self { forward: self.backward, backward: self.forward, ..self }
    }

    /// Returns the log-odds of a contradiction, for each order.
    pub fn contradiction(&self) -> [f32; 2] {
        [margin(self.forward, 2), margin(self.backward, 2)]
    }

    /// Returns the log-odds of an entailment, for each order.
    pub fn entailment(&self) -> [f32; 2] {
        [margin(self.forward, 0), margin(self.backward, 0)]
    }

    /// Returns the mean log-odds of a contradiction over both orders.
    pub fn mean(&self) -> f32 {
        let [forward, backward] = self.contradiction();
        f32::midpoint(forward, backward)
    }
}

/// The cross-encoder of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CrossEncoder {
    /// There is none, or it did not answer.
    #[default]
    Absent,
    /// The judge's weights were fitted for another one. Its scores may add a warning, but they neither refuse a write nor remove a
    /// warning of the rules.
    Unfitted,
    /// The weights were fitted for it. A pair without scores was not worth asking about.
    Fitted {
        /// A number added to the probability from which inference blocks. It depends on how people settled earlier findings in this scope.
        shift: f32,
    },
}

impl CrossEncoder {
    /// Returns the number added to the probability from which inference blocks; `None` if it never blocks.
    pub(super) fn block_shift(self) -> Option<f32> {
        match self {
            Self::Absent => Some(0.0),
            Self::Unfitted => None,
            Self::Fitted { shift } => Some(shift),
        }
    }
}

/// The models' scores of a pair; each is `None` if its model was not asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairScores {
    /// The cosine of the two statements' vectors.
    pub cosine: Option<f32>,
    /// The cross-encoder's result.
    pub inference: Option<Inference>,
    /// The cross-encoder's result for a pair that was selected for the gate alone; the judge ignores it.
    pub gate_inference: Option<Inference>,
    /// The language model's log-odds of a contradiction.
    pub deep: Option<f32>,
}

impl PairScores {
    /// Returns the probability that both statements are about the same decision, if a cross-encoder with such an
    /// output was asked.
    pub fn gate(&self) -> Option<f32> {
        self.any_inference()?.gate
    }

    /// Returns the output of the cross-encoder, for the judge or for the gate.
    pub fn any_inference(&self) -> Option<Inference> {
        self.inference.or(self.gate_inference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_log_odds_and_never_nan() {
        let even =
            Inference { forward: [0.0, 0.0, (2.0_f32).ln()], backward: [f32::NAN, f32::INFINITY, 1.0], gate: None };
        assert!(even.contradiction()[0].abs() < 1e-6);
        assert!(even.contradiction().iter().chain(&even.entailment()).all(|x| x.is_finite()));
        let sure = Inference { forward: [0.0, 0.0, 9.0], backward: [0.0, 0.0, 9.0], gate: None };
        assert!(sure.mean() > 8.0 && sure.entailment()[0] < -8.0);
    }

    #[test]
    fn the_gate_is_the_mean_probability_of_both_orders_and_absent_unless_both_have_it() {
        let gate = |forward, backward| Inference::of([0.0; 3], [1.0; 3], [forward, backward]).gate;
        assert_eq!(gate(Some(0.0), Some(0.0)), Some(0.5));
        let mixed = gate(Some(3.0_f32.ln()), Some(-30.0)).unwrap();
        assert!((mixed - 0.375).abs() < 1e-6, "{mixed}");
        assert!(gate(Some(f32::NAN), Some(f32::INFINITY)).is_some_and(f32::is_finite));
        assert_eq!((gate(None, Some(1.0)), gate(None, None)), (None, None));
        let inference = Inference::of([0.0; 3], [1.0; 3], [Some(1.0); 2]);
        let scores = PairScores { inference: Some(inference.turned()), ..PairScores::default() };
        assert_eq!((scores.gate(), inference.turned().forward), (inference.gate, [1.0; 3]));
        assert_eq!(PairScores::default().gate(), None);
    }
}
