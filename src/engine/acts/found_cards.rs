//! Local cards for contradictions between stored claims that an audit or the deep stage found.

use super::refuse::report_data;
use crate::{
    api::{ApiError, CardKind, CardStatus, CardSummary},
    domain::{CardId, ClaimId, EventKind, Finding, GuardReport, Status, derive::local},
    engine::{act_context::ActContext, view, wording},
    store::{ClaimRow, EventDraft, Reader, Ref},
};

/// Two active claims that cannot both hold, the newer one first.
pub(in crate::engine) struct FoundPair {
    pub(in crate::engine) ours: ClaimRow,
    pub(in crate::engine) theirs: ClaimRow,
    pub(in crate::engine) finding: Finding,
}

/// Whether a person settled this pair, or a card shows it.
pub(in crate::engine) fn is_known_pair(reader: &Reader, one: ClaimId, other: ClaimId) -> Result<bool, ApiError> {
    // A card that the present comparison derives settles by itself; a local card that a person settled stays settled.
    Ok(reader.is_settled_pair(&one, &other)? || reader.share_a_card(&one, &other)?)
}

/// Returns the pairs whose claims are still active and that no card shows yet.
pub(in crate::engine) fn still_missing(
    context: &ActContext<'_>,
    pairs: Vec<FoundPair>,
) -> Result<Vec<FoundPair>, ApiError> {
    let reader = context.reader();
    let mut kept = Vec::new();
    for pair in pairs {
        let active =
            |id| -> Result<bool, ApiError> { Ok(reader.claim(&id)?.is_some_and(|row| row.status == Status::Active)) };
        if active(pair.ours.id)? && active(pair.theirs.id)? && !is_known_pair(reader, pair.ours.id, pair.theirs.id)? {
            kept.push(pair);
        }
    }
    Ok(kept)
}

impl FoundPair {
    fn members(&self) -> Vec<ClaimId> {
        vec![self.ours.id, self.theirs.id]
    }

    /// Returns the event that opens the card.
    pub(in crate::engine) fn draft(&self) -> EventDraft {
        let report = GuardReport {
            tier: self.finding.tier,
            findings: vec![self.finding.clone()],
            compared: 1,
            ..GuardReport::default()
        };
        let mut draft = EventDraft::new(EventKind::Local(local::FOUND.into()), self.members().into_iter().map(Ref::Id));
        draft.body.data = Some(report_data(&report));
        draft
    }

    /// Returns the summary of the card that would be opened.
    pub(in crate::engine) fn summary(&self, now: u64, who: &str) -> CardSummary {
        let (ours, theirs) = (view::claim(self.ours.clone(), ""), view::claim(self.theirs.clone(), ""));
        let evidence = std::slice::from_ref(&self.finding.evidence);
        let headline = wording::headline(&wording::CardContext {
            kind: CardKind::Found,
            status: CardStatus::Open,
            new_claim: None,
            claims: &[&ours, &theirs],
            replaced: None,
            evidence,
            proposed: None,
            proposal: None,
            question: None,
            apart: false,
            settled_by: None,
        });
        CardSummary {
            id: CardId::of_members(&self.members()),
            kind: CardKind::Found,
            status: CardStatus::Open,
            scope: self.ours.scope.clone(),
            headline,
            pair: wording::pair([&ours, &theirs]),
            story: None,
            op_id: None,
            accept: None,
            members: self.members(),
            at: now,
            who: who.to_owned(),
            agent: None,
            score: self.finding.score,
            rev: 0,
        }
    }
}
