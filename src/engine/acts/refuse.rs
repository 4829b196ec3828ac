//! Keeps a refused write on a card, so that it is not lost, and closes the card if its writer withdraws the write.

use serde::{Deserialize, Serialize};

use super::{
    new_claim::NewClaim,
    propose::{needs_person, statements},
};
use crate::{
    api::{ApiError, Caller, Refused, WriteOutcome},
    domain::{
        CardId, ClaimId, EventKind, GuardReport,
        derive::{CardKind, SettledBy, local},
        drift::without_line,
        guard_report::{Evidence, RuleId},
    },
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        guard_result::GuardResult,
        question::HeldQuestion,
        view, wording,
    },
    store::{CardRow, EventDraft, Reader, Ref},
};

/// The greatest size of a stored report, in bytes.
const MAX_REPORT: usize = 16 * 1024;

/// The act of a refused write's writer that withdraws it. Nobody has decided against the write then.
pub(in crate::engine) const WITHDRAW: &str = "withdraw";

/// The effects that a refused write should have had besides storing its text; stored beside the report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::engine) struct WriteIntent {
    /// Claims that the write was to replace.
    pub(in crate::engine) supersedes: Vec<ClaimId>,
    /// The premises of the new claim.
    pub(in crate::engine) depends_on: Vec<ClaimId>,
    /// The justification of an exception that an agent requested but may only propose.
    pub(in crate::engine) exception: Option<String>,
}

impl ActContext<'_> {
    /// Answers a refusal, and keeps the new claim in its latest form on a card: the open one it has, or a new one. A
    /// decision against the same write stands if the write was only repeated (see [`ActContext::repeats`]), and if a
    /// person made it and an agent repeats the write: then there is no new card.
    pub(in crate::engine) fn refuse(
        &mut self,
        write_scope: &WriteScope,
        claim: &NewClaim,
        judged: GuardResult,
        dry_run: bool,
    ) -> Result<WriteOutcome, ApiError> {
        let may_only_propose = self.may_only_propose();
        let mut refused = Refused {
            ways_on: wording::ways_on(&judged.conflicts, may_only_propose),
            conflicts: judged.conflicts.clone(),
            card_id: None,
            settled: None,
            unsettled: false,
            scope: write_scope.scope.clone(),
            may_only_propose,
        };
        let known = self.reader().refused_card(&write_scope.scope, claim.draft.kind, &claim.draft.statement)?;
        let mut opposed = claim.replaced();
        opposed.extend(judged.blocking());
        // The new claim will also stand beside these once a person settles the card.
        opposed.extend(claim.rules.iter().map(|row| row.id).filter(|id| !judged.blocking().contains(id)));
        if let Some(card) = known.as_ref().filter(|card| !card.open)
            && let Some(by) = self.discarded_before(card, &judged.blocking())?
        {
            let why = by.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let stands = self.actor.agent.is_some() && by.agent.is_none();
            if self.repeats(card, claim)? || (stands && (!may_only_propose || self.answered.is_some())) {
                refused.card_id = Some(card.id);
                refused.settled = view::settlement(card).map(Box::new);
                refused.ways_on.insert(0, format!("Decided before: {} discarded the same write{why}.", by.who));
                self.commit_answer(write_scope, claim, &judged)?;
                return Ok(WriteOutcome::Conflict(refused));
            }
            if stands {
                let (who, card) = (&by.who, card.id.short());
                return Err(needs_person(format!("not proposed again: {who} discarded the same write{why}"))
                    .hint(format!("ask {who} to look at it: `ergo tui --conflict {card}`")));
            }
        }
        let open = known.filter(|card| card.open);
        refused.card_id = open.as_ref().map(|card| card.id);
        if dry_run {
            return Ok(WriteOutcome::Conflict(refused));
        }

        let intent = WriteIntent {
            supersedes: claim.replaced(),
            depends_on: claim.premises.clone(),
            exception: claim.draft.exception.clone().filter(|_| may_only_propose),
        };
        let new_claim = open.as_ref().and_then(|card| card.new_claim);
        let kept = new_claim.map(|id| self.reader().new_claim(&id)).transpose()?.flatten();
        let same = kept.is_some_and(|row| row.reason == claim.draft.reason && row.qualifiers == claim.draft.qualifiers);
        let known = match &open {
            Some(card) => {
                same && opposed.iter().all(|id| card.members.contains(id))
                    && write_intent(self.reader(), &card.id)? == intent
            }
            None => false,
        };
        if known {
            self.commit_answer(write_scope, claim, &judged)?;
        } else {
            let mut draft = EventDraft::new(EventKind::Local(local::REFUSED.into()), opposed.into_iter().map(Ref::Id));
            draft.seen = new_claim.into_iter().collect();
            draft.claim_kind = Some(claim.draft.kind);
            draft.body = claim.body();
            draft.body.data = Some(unstored_data(&judged.report, &intent, None));
            let proposes = judged.conflicts.iter().any(|conflict| conflict.evidence.proposes_replacement());
            let (act, summary) = if proposes {
                let (old, new) = (wording::quote_all(&statements(&claim.replaces)), &claim.draft.statement);
                ("proposed", format!("Proposed to replace {old} by {}", wording::quote(new)))
            } else {
                ("refused", wording::refused_summary(&claim.draft.statement, &judged.conflicts))
            };
            let committed = self.commit(write_scope, vec![draft], act, summary)?;
            let id = new_claim.or(committed.events.first().copied());
            refused.card_id = id.map(|id| CardId::of_members(&[id]));
        }
        Ok(WriteOutcome::Conflict(refused))
    }

    /// Records the answer to a question, if the refusal that follows from it has no event of its own.
    fn commit_answer(
        &mut self,
        write_scope: &WriteScope,
        claim: &NewClaim,
        judged: &GuardResult,
    ) -> Result<(), ApiError> {
        if self.answered.is_some() {
            let summary = wording::refused_summary(&claim.draft.statement, &judged.conflicts);
            self.commit(write_scope, Vec::new(), "refused", summary)?;
        }
        Ok(())
    }

    /// Returns the event that settles the open card of the same refused write, now that it is stored.
    pub(in crate::engine) fn settle_refused_card(
        &self,
        write_scope: &WriteScope,
        claim: &NewClaim,
        act: &str,
    ) -> Result<Option<EventDraft>, ApiError> {
        if !claim.draft.kind.is_guarded() {
            return Ok(None);
        }
        let card = self.reader().refused_card(&write_scope.scope, claim.draft.kind, &claim.draft.statement)?;
        Ok(card.filter(|card| card.open).map(|card| {
            let reason = claim.draft.exception.clone().or_else(|| claim.draft.reason.clone());
            settled(&card, if act == "remember" { "store" } else { act }, Some(Ref::Draft(0)), reason)
        }))
    }

    /// Returns the decision on the settled card of the same write, if the write was not stored, its writer did not
    /// withdraw it, and no other claim blocks it now.
    fn discarded_before<'a>(&self, card: &'a CardRow, blocking: &[ClaimId]) -> Result<Option<&'a SettledBy>, ApiError> {
        let Some(by) = card.settled.as_ref().filter(|by| by.act != WITHDRAW) else { return Ok(None) };
        if !blocking.iter().all(|id| card.members.contains(id)) {
            return Ok(None);
        }
        let became = self.reader().event(&by.event)?.and_then(|event| event.successor);
        Ok(Some(by).filter(|_| became.is_none()))
    }

    /// Whether a write comes from where the write on a card came from: the same file was read again, or the same claims
    /// are promoted again. Nobody insists on it then.
    fn repeats(&self, card: &CardRow, claim: &NewClaim) -> Result<bool, ApiError> {
        if !claim.promotes.is_empty() {
            return Ok(true);
        }
        let Some(source) = claim.draft.source.as_deref() else { return Ok(false) };
        let row = card.new_claim.map(|id| self.reader().new_claim(&id)).transpose()?.flatten();
        let before = row.and_then(|row| row.source);
        Ok(before.is_some_and(|before| without_line(&before) == without_line(source)))
    }
}

/// Closes the open card of a refused write that came from one of a project's rule files, and whose line is in none of
/// them any more. A later write from elsewhere keeps the card open.
pub(in crate::engine) fn withdraw(
    engine: &Engine,
    caller: &Caller,
    card: &CardId,
    files: &[String],
    reason: &str,
) -> Result<(), ApiError> {
    engine.act(caller, None, |context| {
        let card = context.reader().card(card)?;
        let Some(card) = card.filter(|card| card.open && card.kind == CardKind::Refused) else { return Ok(()) };
        let row = card.new_claim.map(|id| context.reader().new_claim(&id)).transpose()?.flatten();
        let is_of_file = |source: &str| {
            let of = without_line(source);
            of != source && files.iter().any(|file| file == of)
        };
        let Some(row) = row.filter(|row| row.source.as_deref().is_some_and(is_of_file)) else { return Ok(()) };
        if context.may_retract(&row) {
            let draft = settled(&card, WITHDRAW, None, Some(reason.to_owned()));
            let summary = wording::summary("Withdrew", &[&row.statement]);
            context.commit(&WriteScope::at(&card.scope), vec![draft], "resolve", summary)?;
        }
        Ok(())
    })
}

/// Returns the event that settles a local card.
pub(in crate::engine) fn settled(card: &CardRow, act: &str, became: Option<Ref>, reason: Option<String>) -> EventDraft {
    settled_with(card, act, became, reason, &serde_json::json!({ "card": card.id, "act": act }))
}

/// Returns the event that settles the card of a refused write in whose place these claims were kept.
pub(super) fn settled_keeping(card: &CardRow, kept: &[ClaimId], reason: Option<String>) -> EventDraft {
    let note = serde_json::json!({ "card": card.id, "act": "supersede", "kept": kept });
    settled_with(card, "supersede", None, reason, &note)
}

fn settled_with(
    card: &CardRow,
    act: &str,
    became: Option<Ref>,
    reason: Option<String>,
    note: &serde_json::Value,
) -> EventDraft {
    let targets: Vec<Ref> = match card.new_claim {
        Some(new_claim) => vec![Ref::Id(new_claim)],
        None => card.members.iter().copied().map(Ref::Id).collect(),
    };
    let kind = if act == "discard" { local::DISCARD } else { local::SETTLED };
    let mut draft = EventDraft::new(EventKind::Local(kind.into()), targets);
    draft.successor = became;
    draft.body.reason = reason;
    draft.body.data = Some(note.to_string());
    draft
}

/// Returns the intent of the refused write on a card. The latest one counts.
pub(in crate::engine) fn write_intent(reader: &Reader, card: &CardId) -> Result<WriteIntent, ApiError> {
    let events = reader.events_of_card(card)?;
    let mut proposals = events.into_iter().rev().filter_map(|event| intent_in(&event.body?.data?));
    Ok(proposals.next().unwrap_or_default())
}

/// Reads the intent in the data of a refused write.
pub(super) fn intent_in(data: &str) -> Option<WriteIntent> {
    serde_json::from_str::<RefusedData>(data).ok()?.proposal
}

/// The part of a refused write's stored data that is read here; the rest is its report.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RefusedData {
    proposal: Option<WriteIntent>,
}

/// Returns the report, with the intent and the question beside it, as JSON.
pub(in crate::engine) fn unstored_data(
    report: &GuardReport,
    intent: &WriteIntent,
    question: Option<&HeldQuestion>,
) -> String {
    let Ok(intent) = serde_json::to_value(intent) else { return "{}".into() };
    let question = question.and_then(|question| serde_json::to_value(question).ok());
    let beside = [("proposal", intent)].into_iter().chain(question.map(|question| ("question", question)));
    report_data_with(report, beside).unwrap_or_else(|| "{}".into())
}

/// [`report_data`] with further entries; `None` if the report is not a JSON object.
pub(in crate::engine) fn report_data_with(
    report: &GuardReport,
    beside: impl IntoIterator<Item = (&'static str, serde_json::Value)>,
) -> Option<String> {
    let mut data: serde_json::Map<_, _> = serde_json::from_str(&report_data(report)).ok()?;
    data.extend(beside.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Some(serde_json::Value::Object(data).to_string())
}

/// Returns a report as JSON of at most `MAX_REPORT` bytes: the strongest findings, as many as fit.
pub(in crate::engine) fn report_data(report: &GuardReport) -> String {
    let mut report = report.clone();
    loop {
        let text = serde_json::to_string(&report).unwrap_or_default();
        if text.len() <= MAX_REPORT {
            return text;
        }
        if report.findings.len() > 1 {
            let half = report.findings.len() / 2;
            report.findings.truncate(half);
        } else if let Some(finding) =
            report.findings.first_mut().filter(|finding| finding.evidence.rule != RuleId::None)
        {
            // One finding with very long norms: a person needs its sentence most.
            let sentence: String = finding.evidence.sentence.chars().take(400).collect();
            let mut kept = Evidence { sentence, ..Default::default() };
            kept.stage = finding.evidence.stage;
            kept.relation = finding.evidence.relation;
            kept.confidence = finding.evidence.confidence;
            finding.evidence = kept;
        } else {
            return "{}".into();
        }
    }
}
