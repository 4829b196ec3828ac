//! Shifts of a scope's thresholds. How persons settled contradictions found by inference moves the threshold for
//! refusals a little; how earlier questions were answered moves the threshold for questions.

use std::sync::Arc;

use super::{Engine, guard_calls, model_results::ModelResults};
use crate::{
    api::{ApiError, AskThreshold, ScopeThreshold, Warning},
    domain::{DoubtBand, Finding, GuardReport, Scope, guard_report::RuleId, judgement},
    guard::{COUNTED_ANSWERS, CrossEncoder, DoubtfulPair, JudgeContext, ParsedClaim, ask_shift},
    infer::ModelRole,
    store::{CardRow, Reader},
};

/// The greatest number of agents whose thresholds for questions are listed.
const LISTED_AGENTS: usize = 20;

/// The number of newest settled cards of a scope that are searched for cards that count.
const MAX_SEARCHED_CARDS: usize = 300;

/// The greatest number of cards that count.
const MAX_COUNTED_CARDS: usize = 30;

/// The change of the refusal threshold, a probability: a dismissal raises it by this, a confirmation lowers it.
const STEP: f32 = 0.01;

/// The limits of the shift: two more confirmations than dismissals, or five more dismissals.
const SHIFT_LIMITS: (f32, f32) = (-0.02, 0.05);

impl Engine {
    /// Returns the cross-encoder with the shift of a scope.
    pub(super) fn cross_encoder_in(&self, reader: &Reader, scope: &Scope) -> Result<CrossEncoder, ApiError> {
        Ok(match self.cross_encoder() {
            CrossEncoder::Fitted { .. } => {
                let settled = reader.cards_settled_by_persons(scope, MAX_SEARCHED_CARDS, MAX_COUNTED_CARDS)?;
                CrossEncoder::Fitted { shift: shift(&settled) }
            }
            other => other,
        })
    }

    /// Returns the cross-encoder with the lowest shift that a scope can have.
    pub(super) fn cross_encoder(&self) -> CrossEncoder {
        match self.models.info().role(ModelRole::Nli) {
            None => CrossEncoder::Absent,
            Some(nli) if nli.sha256 == self.guard.weights().provenance.nli => {
                CrossEncoder::Fitted { shift: SHIFT_LIMITS.0 }
            }
            Some(_) => CrossEncoder::Unfitted,
        }
    }

    /// [`Engine::cross_encoder`], or none if it did not answer.
    pub(super) fn cross_encoder_of(&self, results: &ModelResults) -> CrossEncoder {
        if results.infers() { self.cross_encoder() } else { CrossEncoder::Absent }
    }

    /// Judges a claim of a scope. `under` must have the lowest shift; only if inference finds something with it,
    /// the settled cards are read and the claim is judged again with the scope's own threshold.
    pub(super) fn judge_in(
        &self,
        (reader, scope): (&Reader, &Scope),
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: JudgeContext<'_>,
    ) -> Result<Result<GuardReport, Box<Warning>>, ApiError> {
        match guard_calls::judge(&self.guard, incoming, against, under) {
            Ok(report) if report.findings.iter().any(is_inferred) => {
                let cross_encoder = self.cross_encoder_in(reader, scope)?;
                Ok(guard_calls::judge(&self.guard, incoming, against, JudgeContext { cross_encoder, ..under }))
            }
            judged => Ok(judged),
        }
    }

    /// Whether there is a cross-encoder and the weights were fitted for it.
    pub(super) fn nli_is_fitted(&self) -> bool {
        matches!(self.cross_encoder(), CrossEncoder::Fitted { .. })
    }
}

impl Engine {
    /// Lists the scopes whose threshold differs from that of the weights, with both.
    pub(super) fn thresholds(&self, reader: &Reader) -> Result<Vec<ScopeThreshold>, ApiError> {
        let usual = self.guard.weights().thresholds.block;
        let mut moved = Vec::new();
        if !self.nli_is_fitted() {
            return Ok(moved);
        }
        for row in reader.scopes((self.config.clock)())? {
            if let CrossEncoder::Fitted { shift } = self.cross_encoder_in(reader, &row.scope)?
                && shift != 0.0
            {
                moved.push(ScopeThreshold { scope: row.scope, block: usual + shift, usual });
            }
        }
        Ok(moved)
    }

    /// Lists the scopes in which answers raised the threshold for questions, and the agents for which they did.
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
    /// Returns the claims in doubt of a write whose writer answers questions. Earlier answers in the scope, those of
    /// persons and of the same agent, determine how likely a contradiction must be for a question. Answers of one agent
    /// do not affect questions to another one.
    pub(super) fn doubts_to_ask(
        &self,
        reader: &Reader,
        (scope, agent): (&Scope, Option<&str>),
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: JudgeContext<'_>,
    ) -> Result<Vec<DoubtfulPair>, ApiError> {
        let doubts = guard_calls::doubts(&self.guard, incoming, against, under);
        // Most writes have no such doubt, so the earlier answers need not be read.
        if doubts.iter().all(|pair| pair.band != DoubtBand::Ask) {
            return Ok(doubts);
        }
        let agent = agent.filter(|agent| judgement::built_in(agent).is_none());
        let answers = reader.newest_answers(scope, agent, COUNTED_ANSWERS)?;
        let ask_shift = ask_shift(&answers.verdicts, answers.writes);
        Ok(guard_calls::doubts(&self.guard, incoming, against, JudgeContext { ask_shift, ..under }))
    }
}

/// Whether a cross-encoder or a language model made the finding.
fn is_inferred(finding: &Finding) -> bool {
    matches!(finding.evidence.rule, RuleId::Inferred | RuleId::InferredDeeply)
}

/// Returns the shift from cards that persons settled: a dismissal says that inference was wrong; that a side was
/// replaced, retracted, narrowed or discarded, that it was right; an exception says neither. Agents, whose own writes
/// were refused, do not count.
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
    sum.clamp(SHIFT_LIMITS.0, SHIFT_LIMITS.1)
}
