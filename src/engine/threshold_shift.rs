//! The shifts of a scope's thresholds: how earlier contradictions found by inference were settled there moves the one for refusals a little, and
//! how earlier questions were answered moves the one for questions.

use std::sync::Arc;

use super::{Engine, guard_calls};
use crate::{
    api::{ApiError, AskThreshold, ScopeThreshold, Warning},
    domain::{DoubtBand, Finding, GuardReport, Scope, guard_report::RuleId, judgement},
    guard::{COUNTED_ANSWERS, DoubtfulPair, JudgeContext, ParsedClaim, ask_shift},
    infer::ModelRole,
    store::{CardRow, Reader},
};

/// The most agents whose thresholds for questions are listed.
const LISTED_AGENTS: usize = 20;

/// The newest settled cards of a scope among which those that count are looked for.
const LOOKED_AT: usize = 300;

/// The most that count.
const COUNTED_CARDS: usize = 30;

/// What one dismissal adds to the probability from which inference refuses, and one confirmation takes away.
const STEP: f32 = 0.01;

/// The most that a scope can move the threshold: five dismissals more than confirmations, or two fewer.
const MOST: (f32, f32) = (-0.02, 0.05);

/// With a cross-encoder for which the judge's weights were not fitted, inference warns and refuses nothing.
const UNFITTED: f32 = 1.0;

impl Engine {
    /// Returns what is added to the block threshold of inference in a scope.
    pub(super) fn threshold_shift(&self, reader: &Reader, scope: &Scope) -> Result<f32, ApiError> {
        if !self.nli_is_fitted() {
            return Ok(self.lowest_threshold_shift());
        }
        Ok(shift(&reader.cards_settled_by_persons(scope, LOOKED_AT, COUNTED_CARDS)?))
    }

    /// The lowest that [`Engine::threshold_shift`] can be in any scope.
    pub(super) fn lowest_threshold_shift(&self) -> f32 {
        match () {
            () if self.models.info().role(ModelRole::Nli).is_none() => 0.0,
            () if !self.nli_is_fitted() => UNFITTED,
            () => MOST.0,
        }
    }

    /// Judges a claim of a scope `under` the lowest threshold, and if inference finds something by that, under the scope's own: only then are the
    /// settled cards read.
    pub(super) fn judge_in(
        &self,
        (reader, scope): (&Reader, &Scope),
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: JudgeContext<'_>,
    ) -> Result<Result<GuardReport, Box<Warning>>, ApiError> {
        match guard_calls::judge(&self.guard, incoming, against, under) {
            Ok(report) if report.findings.iter().any(is_inferred) => {
                let threshold_shift = self.threshold_shift(reader, scope)?;
                Ok(guard_calls::judge(&self.guard, incoming, against, JudgeContext { threshold_shift, ..under }))
            }
            judged => Ok(judged),
        }
    }

    /// Whether there is a cross-encoder, and the weights were fitted for it.
    pub(super) fn nli_is_fitted(&self) -> bool {
        self.models.info().role(ModelRole::Nli).is_some_and(|nli| nli.sha256 == self.guard.weights().provenance.nli)
    }
}

impl Engine {
    /// The scopes whose threshold is another than that of the weights, with both.
    pub(super) fn thresholds(&self, reader: &Reader) -> Result<Vec<ScopeThreshold>, ApiError> {
        let usual = self.guard.weights().thresholds.block;
        let mut moved = Vec::new();
        for row in reader.scopes()? {
            let shift = self.threshold_shift(reader, &row.scope)?;
            if shift != 0.0 {
                moved.push(ScopeThreshold { scope: row.scope, block: usual + shift, usual });
            }
        }
        Ok(moved)
    }

    /// The scopes in which answers raised the threshold for questions, and for which agent.
    pub(super) fn ask_thresholds(&self, reader: &Reader) -> Result<Vec<AskThreshold>, ApiError> {
        let infers = self.nli_is_fitted();
        let usual = self.guard.ask_threshold(infers, 0.0);
        let mut raised = Vec::new();
        for given in reader.newest_answers_by_scope(LISTED_AGENTS, COUNTED_ANSWERS)? {
            let shift = ask_shift(&given.answers.verdicts, given.answers.writes);
            if shift > 0.0 && given.agent.as_deref().is_none_or(|agent| judgement::built_in(agent).is_none()) {
                let ask = self.guard.ask_threshold(infers, shift);
                raised.push(AskThreshold { scope: given.scope, agent: given.agent, ask, usual });
            }
        }
        Ok(raised)
    }
}

impl Engine {
    /// Returns the claims in doubt of a write whose writer answers questions. The answers of persons and of the writer itself in its scope say how
    /// likely a contradiction must be for a question: an agent that calls everything compatible silences no question to another one.
    pub(super) fn doubts_to_ask(
        &self,
        reader: &Reader,
        (scope, agent): (&Scope, Option<&str>),
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: JudgeContext<'_>,
    ) -> Result<Vec<DoubtfulPair>, ApiError> {
        let doubts = guard_calls::doubts(&self.guard, incoming, against, under);
        // Few writes are in such doubt that the answers matter.
        if doubts.iter().all(|pair| pair.band != DoubtBand::Ask) {
            return Ok(doubts);
        }
        let agent = agent.filter(|agent| judgement::built_in(agent).is_none());
        let answers = reader.newest_answers(scope, agent, COUNTED_ANSWERS)?;
        let ask_shift = ask_shift(&answers.verdicts, answers.writes);
        Ok(guard_calls::doubts(&self.guard, incoming, against, JudgeContext { ask_shift, ..under }))
    }
}

/// Whether a cross-encoder or a language model found it.
fn is_inferred(finding: &Finding) -> bool {
    matches!(finding.evidence.rule, RuleId::Inferred | RuleId::InferredDeeply)
}

/// The shift that cards make which persons settled: a dismissal says that inference was wrong, any other act that it was right. Agents, whose
/// writes were refused, do not count.
fn shift(cards: &[CardRow]) -> f32 {
    let mut sum = 0.0;
    for card in cards {
        let inferred = card.report.findings.iter().any(is_inferred);
        let settled = card.settled.as_ref().filter(|_| inferred);
        sum += match settled.map(|by| by.act.as_str()) {
            Some("dismiss") => STEP,
            Some("supersede" | "retract" | "narrow" | "discard") => -STEP,
            _ => 0.0,
        };
    }
    sum.clamp(MOST.0, MOST.1)
}
