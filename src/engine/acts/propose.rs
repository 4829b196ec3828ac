//! `guard.agents_may = propose`: an act that an agent may not do by itself waits on a card until a person decides.

use super::{
    new_claim::NewClaim,
    on_claim::ClaimActPlan,
    refuse::{self, WriteIntent},
    retract,
};
use crate::{
    api::{ApiError, Caller, CardAct, ErrorCode, Proposed, WriteOutcome},
    domain::{
        CardId, EventKind, GuardReport,
        derive::{self, CardKind, local},
    },
    engine::{
        AgentPolicy, Engine,
        act_context::{ActContext, WriteScope},
        find,
        guard_result::GuardResult,
        wording,
    },
    store::{CardRow, ClaimRow, EventDraft, EventRow, Reader, Ref},
};

impl Engine {
    /// Refuses an act that agents may not even propose, if agents may only propose. `what` names the act.
    pub fn must_be_person(&self, caller: &Caller, what: &str) -> Result<(), ApiError> {
        let is_agent = caller.agent.as_deref().is_some_and(|agent| !agent.trim().is_empty());
        if is_agent && self.config.agents_may == AgentPolicy::Propose {
            return Err(needs_person(format!("agents may not {what} here"))
                .hint("a person has to do it (`guard.agents_may` is `propose`)"));
        }
        Ok(())
    }
}

impl ActContext<'_> {
    /// Whether the caller is an agent that may only propose.
    pub(in crate::engine) fn may_only_propose(&self) -> bool {
        self.actor.agent.is_some() && self.engine.config.agents_may == AgentPolicy::Propose
    }

    /// Whether the caller may retract this claim at once.
    pub(in crate::engine) fn may_retract(&self, claim: &ClaimRow) -> bool {
        !self.may_only_propose() || claim.agent.is_some()
    }

    /// Returns a person's decision among some claims, if the caller may not replace it by itself.
    pub(in crate::engine) fn persons_decision<'a>(&self, claims: &'a [ClaimRow]) -> Option<&'a ClaimRow> {
        claims.iter().find(|claim| claim.kind.is_guarded() && !self.may_retract(claim))
    }

    /// Commits the proposal that [`plan_retract`] planned, and answers with its card.
    pub(in crate::engine) fn propose(&mut self, claim: &ClaimRow, draft: EventDraft) -> Result<WriteOutcome, ApiError> {
        let summary = wording::summary("Proposed to retract", &[&claim.statement]);
        let committed = self.commit(&WriteScope::at(&claim.scope), vec![draft], "proposed", summary)?;
        let event = committed.events.first().copied();
        let event = event.ok_or_else(|| ApiError::internal("the store created no event for a proposal"))?;
        self.proposed(claim, CardId::of_members(&[event]), false)
    }

    /// Returns the answer to a proposal to retract a claim. `known`: the proposal existed before this call.
    pub(in crate::engine) fn proposed(
        &self,
        claim: &ClaimRow,
        card_id: CardId,
        known: bool,
    ) -> Result<WriteOutcome, ApiError> {
        let verb = if known { "Already proposed: retract" } else { "Proposed: retract" };
        Ok(WriteOutcome::Proposed(Proposed {
            op_id: self.op,
            scope: claim.scope.clone(),
            summary: format!(
                "{}. The claim stays active until a person settles card {}",
                wording::summary(verb, &[&claim.statement]),
                card_id.short()
            ),
            card_id,
            claim: Box::new(self.view(&claim.id)?),
            known,
            accept: CardAct::Retract,
        }))
    }

    /// Keeps an agent's write that would replace a person's claim on a card, until a person decides.
    pub(super) fn propose_to_replace(
        &mut self,
        write_scope: &WriteScope,
        claim: &NewClaim,
        theirs: &ClaimRow,
        because: Option<&str>,
    ) -> Result<WriteOutcome, ApiError> {
        let mut judged = self.judge(&claim.incoming(write_scope, &claim.replaced()))?;
        let by = self.actor.agent.clone().unwrap_or_default();
        judged.propose_by_verdict(&claim.replaces, self.view(&theirs.id)?, &by, because);
        let outcome = self.refuse(write_scope, claim, judged, false)?;
        let (old, new) = (statements(&claim.replaces), &claim.draft.statement);
        let known = self.wrote_nothing()?;
        self.kept_proposal(outcome, (new, &old), theirs, CardAct::Supersede, known)
    }

    /// Keeps a write that an agent wants to store as an exception on a card, until a person decides. The card has the
    /// rules that the agent names also if the guard sees no contradiction with them.
    pub(super) fn propose_exception(
        &mut self,
        write_scope: &WriteScope,
        claim: &NewClaim,
        mut judged: GuardResult,
        dry_run: bool,
    ) -> Result<WriteOutcome, ApiError> {
        let by = self.actor.agent.clone().unwrap_or_default();
        for rule in &claim.rules {
            judged.except_by_writer(rule, self.view(&rule.id)?, &by);
        }
        let Some(rule) = judged.blocking().first().copied() else {
            return Err(ApiError::internal("an exception was proposed to no rule"));
        };
        let rule = find::row(self.reader(), &rule)?;
        if dry_run {
            return Err(needs_person(format!(
                "agents may only propose an exception here, and it needs one to claim {}",
                rule.id.short()
            ))
            .hint("without `dry_run`, the exception waits on a card until a person settles it"));
        }
        let outcome = self.refuse(write_scope, claim, judged, false)?;
        let texts = (claim.draft.statement.as_str(), &[rule.statement.as_str()][..]);
        let known = self.wrote_nothing()?;
        self.kept_proposal(outcome, texts, &rule, CardAct::Exception, known)
    }

    /// Returns whether this act has stored no event, because the same proposal waits on a card already.
    fn wrote_nothing(&self) -> Result<bool, ApiError> {
        Ok(self.reader().op(&self.op)?.is_empty())
    }

    /// Returns the answer to a proposed write that [`ActContext::refuse`] kept on a card: `accept` is the act by which
    /// a person stores it. If a person discarded the same write before, the answer is the refusal, which says so. `new`
    /// is the statement of the write, and `old` are those that it is to replace, or the rule of the exception. `known`:
    /// the proposal existed before this call.
    pub(super) fn kept_proposal(
        &self,
        outcome: WriteOutcome,
        (new, old): (&str, &[&str]),
        other: &ClaimRow,
        accept: CardAct,
        known: bool,
    ) -> Result<WriteOutcome, ApiError> {
        let WriteOutcome::Conflict(refused) = outcome else { return Ok(outcome) };
        let Some(card_id) = refused.card_id else {
            return Err(ApiError::internal("the card of a proposal is missing"));
        };
        if !find::card_row(self.reader(), &card_id)?.open {
            return Ok(WriteOutcome::Conflict(refused));
        }
        let stay = if old.len() > 1 { "old claims stay" } else { "old claim stays" };
        let (old, new, card) = (wording::quote_all(old), wording::quote(new), card_id.short());
        let verb = if known { "Already proposed" } else { "Proposed" };
        let summary = if accept == CardAct::Exception {
            format!(
                "{verb}: store {new} as an exception to {old}. It is not stored until a person accepts it on card {card}"
            )
        } else {
            format!("{verb}: replace {old} by {new}. The {stay} active until a person settles card {card}")
        };
        Ok(WriteOutcome::Proposed(Proposed {
            op_id: self.op,
            scope: refused.scope,
            summary,
            card_id,
            claim: Box::new(self.view(&other.id)?),
            known,
            accept,
        }))
    }
}

pub(super) fn statements(rows: &[ClaimRow]) -> Vec<&str> {
    rows.iter().map(|row| row.statement.as_str()).collect()
}

/// Plans an agent's request to retract a person's claim: a new proposal, or the answer that one is already open. A
/// proposal that a person dismissed is not repeated.
pub(super) fn plan_retract(
    context: &ActContext<'_>,
    claim: &ClaimRow,
    reason: String,
) -> Result<ClaimActPlan, ApiError> {
    let cards = context.reader().cards_of(&claim.id)?;
    // Open cards come first, then the latest ones.
    if let Some(card) = cards.iter().find(|card| card.kind == CardKind::Proposed) {
        if card.open {
            return context.proposed(claim, card.id, true).map(|answer| ClaimActPlan::Answer(Box::new(answer)));
        }
        if let Some(by) = card.settled.as_ref().filter(|by| by.act == CardAct::Dismiss.as_str()) {
            let why = by.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            return Err(needs_person(format!(
                "not proposed again: {} decided to keep claim {}{why}",
                by.who,
                claim.id.short()
            ))
            .hint(ask_writer_hint(claim)));
        }
    }
    let mut draft = EventDraft::new(EventKind::Local(local::PROPOSED.into()), [Ref::Id(claim.id)]);
    draft.body.reason = Some(reason);
    Ok(ClaimActPlan::Propose(Box::new(draft)))
}

/// Returns the act that accepts the proposal on a card, if an agent made one. `intent` is that of the write on the card.
pub(in crate::engine) fn accepting_act(card: &CardRow, intent: &WriteIntent) -> Option<CardAct> {
    match card.kind {
        CardKind::Proposed => Some(CardAct::Retract),
        CardKind::Refused => act_accepting_write(intent, &card.report),
        _ => None,
    }
}

/// Returns the act that accepts a refused write, if an agent proposed it.
fn act_accepting_write(intent: &WriteIntent, report: &GuardReport) -> Option<CardAct> {
    let replaces = || report.findings.iter().any(|finding| finding.evidence.proposes_replacement());
    if !intent.supersedes.is_empty() && replaces() {
        return Some(CardAct::Supersede);
    }
    intent.exception.is_some().then_some(CardAct::Exception)
}

/// Returns the act that accepts the write which an event of the log refused, if an agent proposed that write.
pub(in crate::engine) fn act_accepting_refusal(
    reader: &Reader,
    refusal: &EventRow,
) -> Result<Option<CardAct>, ApiError> {
    if refusal.agent.is_none() || !derive::is_local_kind(&refusal.kind, local::REFUSED) {
        return Ok(None);
    }
    let is_its_evidence = |event: &EventRow| {
        derive::is_local_kind(&event.kind, local::EVIDENCE) && event.targets.first() == Some(&refusal.id)
    };
    let evidence = reader.op(&refusal.op)?.into_iter().find(is_its_evidence);
    let Some(data) = evidence.and_then(|event| event.body?.data) else { return Ok(None) };
    let Some(intent) = refuse::intent_in(&data) else { return Ok(None) };
    let report: GuardReport = serde_json::from_str(&data).unwrap_or_default();
    Ok(act_accepting_write(&intent, &report))
}

/// Returns the agent's reason on the card of a proposal.
pub(in crate::engine) fn proposed_reason(reader: &Reader, card: &CardId) -> Result<Option<String>, ApiError> {
    let events = reader.events_of_card(card)?;
    let proposal = events.into_iter().find(|event| event.kind == EventKind::Local(local::PROPOSED.into()));
    Ok(proposal.and_then(|event| event.body?.reason))
}

/// Settles the card of a proposal: `retract` does what was proposed, `dismiss` keeps the claim.
pub(super) fn settle(
    context: &ActContext<'_>,
    card: &CardRow,
    act: CardAct,
    reason: &str,
) -> Result<(Vec<EventDraft>, String), ApiError> {
    let id = card.members.first().ok_or_else(|| ApiError::internal("a proposal names no claim"))?;
    let claim = find::row(context.reader(), id)?;
    if !context.may_retract(&claim) {
        return Err(
            needs_person(format!("only a person may settle card {}", card.id.short())).hint(ask_writer_hint(&claim))
        );
    }
    let settled = refuse::settled(card, act.as_str(), None, Some(reason.to_owned()));
    match act {
        CardAct::Retract => {
            let summary = wording::summary("Retracted", &[&claim.statement]);
            Ok((vec![retract::event(&claim, reason.to_owned()), settled], summary))
        }
        CardAct::Dismiss => Ok((vec![settled], format!("Kept {}", wording::quote(&claim.statement)))),
        _ => Err(ApiError::internal("a proposal was settled by an act that it does not offer")),
    }
}

/// Returns the error for an act that needs a person here.
pub(in crate::engine) fn needs_person(message: String) -> ApiError {
    ApiError::new(ErrorCode::NeedsPerson, message)
}

pub(super) fn ask_writer_hint(claim: &ClaimRow) -> String {
    format!("ask {} to look at it: `ergo tui --claim {}`", claim.who, claim.id.short())
}
