//! The shift of a scope's block threshold: how earlier contradictions found by inference were settled there moves it
//! a little.

use super::Engine;
use crate::{
    api::{ApiError, ScopeThreshold},
    domain::{Scope, guard_report::RuleId},
    infer::ModelRole,
    store::{CardFilter, CardRow, CardState, Reader},
};

/// Settled cards of a scope that count, the newest.
const LOOKED_AT: usize = 30;

/// What one dismissal adds to the probability from which inference refuses, and one confirmation takes away.
const STEP: f32 = 0.01;

/// The most that a scope can move the threshold: five dismissals more than confirmations, or two fewer.
const MOST: (f32, f32) = (-0.02, 0.05);

/// With a cross-encoder for which the judge's weights were not fitted, inference warns and refuses nothing.
const UNFITTED: f32 = 1.0;

impl Engine {
    /// Returns what is added to the block threshold of inference in a scope.
    pub(super) fn threshold_shift(&self, reader: &Reader, scope: &Scope, now: u64) -> Result<f32, ApiError> {
        if self.models.info().role(ModelRole::Nli).is_none() {
            return Ok(0.0);
        }
        if !self.nli_is_fitted() {
            return Ok(UNFITTED);
        }
        let filter = CardFilter { scope: Some(scope.clone()), status: CardState::Settled, now, kinds: Vec::new() };
        Ok(shift(&reader.cards(&filter, LOOKED_AT, None)?.items))
    }

    /// Whether there is a cross-encoder, and the weights were fitted for it.
    pub(super) fn nli_is_fitted(&self) -> bool {
        self.models.info().role(ModelRole::Nli).is_some_and(|nli| nli.sha256 == self.guard.weights().provenance.nli)
    }
}

impl Engine {
    /// The scopes whose threshold is another than that of the weights, with both.
    pub(super) fn thresholds(&self, reader: &Reader) -> Result<Vec<ScopeThreshold>, ApiError> {
        let now = (self.config.clock)();
        let usual = self.guard.weights().thresholds.block;
        let mut moved = Vec::new();
        for row in reader.scopes()? {
            let shift = self.threshold_shift(reader, &row.scope, now)?;
            if shift != 0.0 {
                moved.push(ScopeThreshold { scope: row.scope, block: usual + shift, usual });
            }
        }
        Ok(moved)
    }
}

/// The shift that some settled cards make: a person's dismissal says that inference was wrong, any other act of a person that it was right. Agents,
/// whose writes were refused, do not count.
fn shift(cards: &[CardRow]) -> f32 {
    let mut sum = 0.0;
    for card in cards {
        let inferred = card
            .report
            .findings
            .iter()
            .any(|finding| matches!(finding.evidence.rule, RuleId::Inferred | RuleId::InferredDeeply));
        let settled = card.settled.as_ref().filter(|by| inferred && by.agent.is_none());
        sum += match settled.map(|by| by.act.as_str()) {
            Some("dismiss") => STEP,
            Some("supersede" | "retract" | "narrow" | "discard") => -STEP,
            _ => 0.0,
        };
    }
    sum.clamp(MOST.0, MOST.1)
}
