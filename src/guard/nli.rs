//! What models say of a pair of statements, as the guard reads it. The models themselves are asked elsewhere, before any lock.

/// What a cross-encoder says of a pair, in both orders: raw logits of entailment, neutral, contradiction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inference {
    /// The stored statement first.
    pub forward: [f32; 3],
    /// The incoming statement first.
    pub backward: [f32; 3],
}

/// `ln(eᵃ + eᵇ)` without overflow.
fn log_sum(a: f32, b: f32) -> f32 {
    let high = a.max(b);
    if high.is_finite() { high + ((a - high).exp() + (b - high).exp()).ln() } else { high }
}

/// How far one class lies before the two others together; 0 is an even chance.
fn margin(logits: [f32; 3], class: usize) -> f32 {
    let margin = logits[class] - log_sum(logits[(class + 1) % 3], logits[(class + 2) % 3]);
    if margin.is_nan() { 0.0 } else { margin.clamp(-20.0, 20.0) }
}

impl Inference {
    /// The log-odds of a contradiction, for each order.
    pub fn contradiction(&self) -> [f32; 2] {
        [margin(self.forward, 2), margin(self.backward, 2)]
    }

    /// The log-odds of an entailment, for each order.
    pub fn entailment(&self) -> [f32; 2] {
        [margin(self.forward, 0), margin(self.backward, 0)]
    }

    /// The log-odds of a contradiction, both orders together.
    pub fn mean(&self) -> f32 {
        let [forward, backward] = self.contradiction();
        f32::midpoint(forward, backward)
    }
}

/// What is known of a pair besides its words; all of it may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairScores {
    /// How close the two statements lie as vectors, -1 to 1.
    pub cosine: Option<f32>,
    /// What the cross-encoder says.
    pub inference: Option<Inference>,
    /// The log-odds of a contradiction by the language model.
    pub deep: Option<f32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_log_odds_and_never_nan() {
        let even = Inference { forward: [0.0, 0.0, (2.0_f32).ln()], backward: [f32::NAN, f32::INFINITY, 1.0] };
        assert!(even.contradiction()[0].abs() < 1e-6);
        assert!(even.contradiction().iter().chain(&even.entailment()).all(|x| x.is_finite()));
        let sure = Inference { forward: [0.0, 0.0, 9.0], backward: [0.0, 0.0, 9.0] };
        assert!(sure.mean() > 8.0 && sure.entailment()[0] < -8.0);
    }
}
