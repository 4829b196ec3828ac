//! `retract`: withdraws a claim that was never right. The guard is not involved. An agent that may only propose
//! cannot retract a person's claim.

use super::{
    notice,
    on_claim::{self, ClaimActPlan},
    propose,
};
use crate::{
    api::{ActRequest, ApiError, WriteOutcome},
    domain::EventKind,
    engine::Engine,
    store::{ClaimRow, EventDraft, Ref},
};

/// `POST /retract`.
pub(in crate::engine) fn retract(engine: &Engine, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
    on_claim::run(engine, request, "retract", "Retracted", |context, claim, reason| {
        if let Some(stale) = context.stale(claim, request.expect_rev)? {
            return Ok(ClaimActPlan::Answer(Box::new(stale)));
        }
        if !context.may_retract(claim) {
            return propose::plan_retract(context, claim, reason);
        }
        let notice = notice::of_retract(context, claim);
        Ok(ClaimActPlan::Commit(std::iter::once(event(claim, reason)).chain(notice).collect()))
    })
}

pub(in crate::engine) fn event(claim: &ClaimRow, reason: String) -> EventDraft {
    let mut draft = EventDraft::new(EventKind::Retract, [Ref::Id(claim.id)]);
    draft.seen.clone_from(&claim.replacing_acts);
    draft.body.reason = Some(reason);
    draft
}
