//! Keeps a refused write on a card, so that it is not lost.

use serde::{Deserialize, Serialize};

use super::new_claim::NewClaim;
use crate::{
    api::{ApiError, Refused, WriteOutcome},
    domain::{
        CardId, ClaimId, EventKind, GuardReport,
        derive::local,
        guard_report::{Evidence, RuleId},
    },
    engine::{
        act_context::{ActContext, WriteScope},
        guard_result::GuardResult,
        question::HeldQuestion,
        wording,
    },
    store::{CardRow, EventDraft, Reader, Ref},
};

/// The most bytes of a report that is kept with a card.
const MAX_REPORT: usize = 16 * 1024;

/// What a refused write was to do besides storing its text; kept beside the report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::engine) struct WriteIntent {
    /// Claims that it was to replace.
    pub(in crate::engine) supersedes: Vec<ClaimId>,
    /// The premises that it would have had.
    pub(in crate::engine) depends_on: Vec<ClaimId>,
    /// The justification with which an agent, who may only propose, asked for an exception.
    pub(in crate::engine) exception: Option<String>,
}

impl ActContext<'_> {
    /// Answers a refusal, and keeps the new claim on a card, as it was said last: the open one it has, or a new one. If a
    /// person has dropped this very write before, the answer names that decision instead.
    pub(in crate::engine) fn refuse(
        &mut self,
        write_scope: &WriteScope,
        claim: &NewClaim,
        judged: GuardResult,
        dry_run: bool,
        proposed: bool,
    ) -> Result<WriteOutcome, ApiError> {
        let mut refused = Refused {
            ways_on: wording::ways_on(&judged.conflicts, proposed),
            conflicts: judged.conflicts.clone(),
            card_id: None,
            scope: write_scope.scope.clone(),
        };
        let known = self.reader().refused_card(&write_scope.scope, claim.draft.kind, &claim.draft.statement)?;
        let mut opposed = claim.replaced();
        opposed.extend(judged.blocking());
        // Beside these it is to stand, too, once a person settles the card.
        opposed.extend(claim.rules.iter().map(|row| row.id).filter(|id| !judged.blocking().contains(id)));
        if let Some(card) = known.as_ref().filter(|card| !card.open)
            && let Some(word) = self.dropped_before(card, &judged.blocking())?
        {
            refused.card_id = Some(card.id);
            refused.ways_on.insert(0, word);
            self.commit_answer(write_scope, claim, &judged)?;
            return Ok(WriteOutcome::Conflict(refused));
        }
        let open = known.filter(|card| card.open);
        refused.card_id = open.as_ref().map(|card| card.id);
        if dry_run {
            return Ok(WriteOutcome::Conflict(refused));
        }

        let wanted = WriteIntent {
            supersedes: claim.replaced(),
            depends_on: claim.premises.clone(),
            exception: proposed.then(|| claim.draft.exception.clone()).flatten(),
        };
        let new_claim = open.as_ref().and_then(|card| card.new_claim);
        let kept = new_claim.map(|id| self.reader().new_claim(&id)).transpose()?.flatten();
        let same = kept.is_some_and(|row| row.reason == claim.draft.reason && row.qualifiers == claim.draft.qualifiers);
        let known = match &open {
            Some(card) => {
                same && opposed.iter().all(|id| card.members.contains(id))
                    && write_intent(self.reader(), &card.id)? == wanted
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
            draft.body.data = Some(unstored_data(&judged.report, &wanted, None));
            let summary = wording::refused_summary(&claim.draft.statement, &judged.conflicts);
            let committed = self.commit(write_scope, vec![draft], "refused", summary)?;
            let id = new_claim.or(committed.events.first().copied());
            refused.card_id = id.map(|id| CardId::of_members(&[id]));
        }
        Ok(WriteOutcome::Conflict(refused))
    }

    /// Puts the answer to a question on the record, where the refusal that follows from it needs no event of its own.
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

    /// The event that settles the card on which this very write waits, now that it is stored.
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

    /// What to say if a person dropped this write before, and nothing stands against it now that did not then.
    fn dropped_before(&self, card: &CardRow, blocking: &[ClaimId]) -> Result<Option<String>, ApiError> {
        let Some(by) = &card.settled else { return Ok(None) };
        if !blocking.iter().all(|id| card.members.contains(id)) {
            return Ok(None);
        }
        let became = self.reader().event(&by.event)?.and_then(|event| event.successor);
        if became.is_some() {
            return Ok(None);
        }
        let why = by.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        Ok(Some(format!("Decided before: {} discarded the same write{why}.", by.who)))
    }
}

/// The event that settles a local card.
pub(in crate::engine) fn settled(card: &CardRow, act: &str, became: Option<Ref>, reason: Option<String>) -> EventDraft {
    let targets: Vec<Ref> = match card.new_claim {
        Some(new_claim) => vec![Ref::Id(new_claim)],
        None => card.members.iter().copied().map(Ref::Id).collect(),
    };
    let kind = if act == "discard" { local::DISCARD } else { local::SETTLED };
    let mut draft = EventDraft::new(EventKind::Local(kind.into()), targets);
    draft.successor = became;
    draft.body.reason = reason;
    draft.body.data = Some(serde_json::json!({ "card": card.id, "act": act }).to_string());
    draft
}

/// What the refused write on a card wanted besides its text: its last word counts.
pub(in crate::engine) fn write_intent(reader: &Reader, card: &CardId) -> Result<WriteIntent, ApiError> {
    let mut proposals = reader.events_of_card(card)?.into_iter().rev().filter_map(|event| {
        let data: RefusedData = serde_json::from_str(&event.body?.data?).ok()?;
        data.proposal
    });
    Ok(proposals.next().unwrap_or_default())
}

/// What is kept with a refused write besides its report.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RefusedData {
    proposal: Option<WriteIntent>,
}

/// The report, and beside it what else was wanted and what is in question, as JSON.
pub(in crate::engine) fn unstored_data(
    report: &GuardReport,
    wanted: &WriteIntent,
    question: Option<&HeldQuestion>,
) -> String {
    let Ok(wanted) = serde_json::to_value(wanted) else { return "{}".into() };
    let question = question.and_then(|question| serde_json::to_value(question).ok());
    let beside = [("proposal", wanted)].into_iter().chain(question.map(|question| ("question", question)));
    report_data_with(report, beside).unwrap_or_else(|| "{}".into())
}

/// [`report_data`] with entries beside the report's own; `None` if it cannot be written.
pub(in crate::engine) fn report_data_with(
    report: &GuardReport,
    beside: impl IntoIterator<Item = (&'static str, serde_json::Value)>,
) -> Option<String> {
    let mut data: serde_json::Map<_, _> = serde_json::from_str(&report_data(report)).ok()?;
    data.extend(beside.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Some(serde_json::Value::Object(data).to_string())
}

/// A report as JSON that fits an event: the strongest findings first, as many as there is room for.
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
            // One finding with overlong norms: its sentence and rule are what a person needs.
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
