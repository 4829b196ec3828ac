//! Keeps copies of a claim's reason out of other events, because a redaction of the claim would not reach them.

use std::collections::BTreeSet;

use super::act_context::ActContext;
use crate::{
    api::ApiError,
    domain::{
        EventId, Scope,
        derive::{is_unstored, local_note},
    },
    store::{EventDraft, Ref},
};

impl ActContext<'_> {
    /// If the reason of an event is that of a claim of the same act, or of one that the act refers to, stores a
    /// reference to the claim in its place. Readers get the claim's reason, until it is redacted.
    pub(super) fn share_reasons(&self, scope: &Scope, drafts: &mut [EventDraft]) -> Result<(), ApiError> {
        if drafts.iter().all(|draft| has_text(draft) || draft.body.reason.is_none()) {
            return Ok(());
        }
        let reasons = self.reasons(scope, drafts)?;
        for (at, draft) in drafts.iter_mut().enumerate().filter(|(_, draft)| !has_text(draft)) {
            let is_its = |(claim, reason): &&(Ref, String)| {
                draft.body.reason.as_ref() == Some(reason) && !matches!(claim, Ref::Draft(other) if *other >= at)
            };
            let is_named = |claim: &Ref| draft.targets.contains(claim) || draft.successor == Some(*claim);
            // Other claims of the act may have the same reason.
            if let Some((claim, _)) = reasons.iter().filter(is_its).min_by_key(|(claim, _)| !is_named(claim)) {
                draft.reason_of = Some(*claim);
                draft.body.reason = None;
            }
        }
        Ok(())
    }

    /// Returns the reasons of the claims and refused writes that an act creates or refers to.
    fn reasons(&self, scope: &Scope, drafts: &[EventDraft]) -> Result<Vec<(Ref, String)>, ApiError> {
        let written = drafts.iter().enumerate().filter(|(_, draft)| has_text(draft));
        let mut reasons: Vec<(Ref, String)> =
            written.filter_map(|(at, draft)| Some((Ref::Draft(at), draft.body.reason.clone()?))).collect();
        let mut named: BTreeSet<EventId> = BTreeSet::new();
        for draft in drafts {
            named.extend(draft.targets.iter().chain(&draft.successor).filter_map(|other| match other {
                Ref::Id(id) => Some(*id),
                Ref::Draft(_) => None,
            }));
            named.extend(local_note(Some(&draft.body)).kept);
        }
        for id in named {
            let Some(event) = self.reader().event(&id)? else { continue };
            if (event.creates_claim() || is_unstored(&event.kind)) && scope.takes(&event.scope) {
                reasons.extend(event.body.and_then(|body| body.reason).map(|reason| (Ref::Id(id), reason)));
            }
        }
        Ok(reasons)
    }
}

/// Whether an event contains the text of a claim or of a write that was not stored.
fn has_text(draft: &EventDraft) -> bool {
    draft.creates_claim() || is_unstored(&draft.kind)
}
