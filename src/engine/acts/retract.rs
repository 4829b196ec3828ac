//! `retract`: never right. A reason, and no gate; an agent that may only propose leaves a person's claim to a person.

use super::{
    notice,
    on_claim::{self, Plan},
    propose,
};
use crate::{
    api::{ActRequest, ApiError, WriteOutcome},
    domain::EventKind,
    engine::Engine,
    store::{ClaimRow, Draft, Ref},
};

/// `POST /retract`.
pub(in crate::engine) fn retract(engine: &Engine, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
    on_claim::run(engine, request, "retract", "Retracted", |session, claim, reason| {
        if let Some(stale) = session.stale(claim, request.expect_rev)? {
            return Ok(Plan::Answer(Box::new(stale)));
        }
        if !session.may_retract(claim) {
            return propose::plan_retract(session, claim, reason);
        }
        let notice = notice::of_retract(session, claim);
        Ok(Plan::Commit(std::iter::once(event(claim, reason)).chain(notice).collect()))
    })
}

/// The event.
pub(in crate::engine) fn event(claim: &ClaimRow, reason: String) -> Draft {
    let mut draft = Draft::new(EventKind::Retract, [Ref::Id(claim.id)]);
    draft.body.reason = Some(reason);
    draft
}
