//! A refused write is not lost: it waits on a card.

use serde::{Deserialize, Serialize};

use super::new_claim::NewClaim;
use crate::{
    api::{ApiError, Refused, WriteOutcome},
    domain::{ClaimId, EventId, EventKind, Verdict},
    engine::{
        judged::Judged,
        session::{Place, Session},
        words,
    },
    store::{CardRow, Draft, Ref},
};

/// The most bytes of a verdict that is kept with a card.
const MAX_VERDICT: usize = 16 * 1024;

/// The kind of the local event that keeps what the refused write wanted besides its text.
pub(in crate::engine) const PROPOSAL: &str = "proposal";

/// What a refused write wanted besides its text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::engine) struct Proposal {
    /// Claims that it was to replace.
    pub(in crate::engine) supersedes: Vec<ClaimId>,
    /// Claims that it was to rest on.
    pub(in crate::engine) depends_on: Vec<ClaimId>,
    /// The justification with which an agent, who may only propose, asked for an exception.
    pub(in crate::engine) exception: Option<String>,
}

impl Session<'_> {
    /// Answers a refusal, and keeps the candidate on a card: the open one it has, or a new one. Where a person has
    /// dropped this very write before, the answer names that decision instead.
    pub(in crate::engine) fn hold(
        &mut self,
        place: &Place,
        claim: &NewClaim,
        judged: Judged,
        dry_run: bool,
        proposed: bool,
    ) -> Result<WriteOutcome, ApiError> {
        let mut refused = Refused {
            ways_on: words::ways_on(&judged.conflicts, proposed),
            conflicts: judged.conflicts.clone(),
            card_id: None,
            scope: place.scope.clone(),
        };
        let known = self.reader().refused_card(&place.scope, claim.draft.kind, &claim.draft.statement)?;
        let mut opposed = claim.replaced();
        opposed.extend(judged.blocking());
        if let Some(card) = known.as_ref().filter(|card| !card.open)
            && let Some(word) = self.dropped_before(card, &judged.blocking())?
        {
            refused.card_id = Some(card.id);
            refused.ways_on.insert(0, word);
            return Ok(WriteOutcome::Conflict(refused));
        }
        let open = known.filter(|card| card.open);
        refused.card_id = open.as_ref().map(|card| card.id);
        if dry_run {
            return Ok(WriteOutcome::Conflict(refused));
        }

        let candidate = open.as_ref().and_then(|card| card.candidate);
        let news = match &open {
            Some(card) => opposed.iter().copied().filter(|id| !card.members.contains(id)).collect(),
            None => opposed,
        };
        let mut drafts = Vec::new();
        if open.is_none() || !news.is_empty() {
            let mut draft = Draft::new(EventKind::Local("refused".into()), news.into_iter().map(Ref::Id));
            draft.seen = candidate.into_iter().collect();
            draft.claim_kind = Some(claim.draft.kind);
            draft.body = claim.body();
            draft.body.data = Some(verdict_data(&judged.verdict));
            drafts.push(draft);
        }
        let wanted = Proposal {
            supersedes: claim.replaced(),
            depends_on: claim.premises.clone(),
            exception: proposed.then(|| claim.draft.exception.clone()).flatten(),
        };
        let had = candidate.map(|id| self.proposal(&id)).transpose()?.unwrap_or_default();
        if wanted != had {
            let target = candidate.map_or(Ref::Draft(0), Ref::Id);
            let mut draft = Draft::new(EventKind::Local(PROPOSAL.into()), [target]);
            draft.body.data = serde_json::to_string(&wanted).ok();
            drafts.push(draft);
        }
        if !drafts.is_empty() {
            let summary = words::refused_summary(&claim.draft.statement, &judged.conflicts);
            let committed = self.commit(place, drafts, "refused", summary)?;
            if refused.card_id.is_none() {
                refused.card_id = match committed.events.first() {
                    Some(id) => self.reader().cards_of(id)?.first().map(|card| card.id),
                    None => None,
                };
            }
        }
        Ok(WriteOutcome::Conflict(refused))
    }

    /// What a refused candidate wanted besides its text.
    pub(in crate::engine) fn proposal(&self, candidate: &EventId) -> Result<Proposal, ApiError> {
        proposal(self.reader(), candidate)
    }

    /// The event that settles the card on which this very write waits, now that it is stored.
    pub(in crate::engine) fn settle_held(
        &self,
        place: &Place,
        claim: &NewClaim,
        act: &str,
    ) -> Result<Option<Draft>, ApiError> {
        if !claim.draft.kind.is_guarded() {
            return Ok(None);
        }
        let card = self.reader().refused_card(&place.scope, claim.draft.kind, &claim.draft.statement)?;
        Ok(card.filter(|card| card.open).map(|card| {
            let reason = claim.draft.exception.clone().or_else(|| claim.draft.reason.clone());
            settled(&card, if act == "remember" { "store" } else { act }, Some(Ref::Draft(0)), reason)
        }))
    }

    /// What to say where a person dropped this write before, and nothing stands against it now that did not then.
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
        Ok(Some(format!("Decided before: {} dropped this very write{why}.", by.who)))
    }
}

/// The event that settles a local card.
pub(in crate::engine) fn settled(card: &CardRow, act: &str, became: Option<Ref>, reason: Option<String>) -> Draft {
    let targets: Vec<Ref> = match card.candidate {
        Some(candidate) => vec![Ref::Id(candidate)],
        None => card.members.iter().copied().map(Ref::Id).collect(),
    };
    let kind = if act == "discard" { "discard" } else { "settled" };
    let mut draft = Draft::new(EventKind::Local(kind.into()), targets);
    draft.successor = became;
    draft.body.reason = reason;
    draft.body.data = Some(serde_json::json!({ "card": card.id, "act": act }).to_string());
    draft
}

/// What a refused candidate wanted besides its text: its last word counts.
pub(in crate::engine) fn proposal(reader: &crate::store::Reader, candidate: &EventId) -> Result<Proposal, ApiError> {
    let last = reader
        .events_of(candidate)?
        .into_iter()
        .rfind(|event| event.effective && event.kind == EventKind::Local(PROPOSAL.into()));
    Ok(last.and_then(|event| event.body?.data).and_then(|data| serde_json::from_str(&data).ok()).unwrap_or_default())
}

/// A verdict as JSON that fits an event: the strongest findings first, as many as there is room for.
pub(in crate::engine) fn verdict_data(verdict: &Verdict) -> String {
    let mut verdict = verdict.clone();
    loop {
        let text = serde_json::to_string(&verdict).unwrap_or_default();
        if text.len() <= MAX_VERDICT {
            return text;
        }
        if verdict.findings.len() > 1 {
            let half = verdict.findings.len() / 2;
            verdict.findings.truncate(half);
        } else if let Some(finding) = verdict.findings.first_mut().filter(|finding| !finding.evidence.rule.is_empty()) {
            // One finding with overlong norms: its sentence and rule are what a person needs.
            let sentence: String = finding.evidence.sentence.chars().take(400).collect();
            let mut kept = crate::domain::verdict::Evidence { sentence, ..Default::default() };
            kept.stage = finding.evidence.stage;
            kept.relation = finding.evidence.relation;
            kept.confidence = finding.evidence.confidence;
            finding.evidence = kept;
        } else {
            return "{}".into();
        }
    }
}
