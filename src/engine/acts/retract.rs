//! `retract`: wrong at birth. A reason, and no gate.

use super::on_claim::{self, Plan};
use crate::{
    api::{ActRequest, ApiError, ErrorCode, WriteOutcome},
    domain::EventKind,
    engine::{AgentsMay, Engine, session::Session},
    store::{ClaimRow, Draft, Ref},
};

/// `POST /retract`.
pub(in crate::engine) fn retract(engine: &Engine, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
    on_claim::run(engine, request, "retract", "Retracted", |session, claim, reason| {
        if let Some(stale) = session.stale(claim, request.expect_rev)? {
            return Ok(Plan::Answer(Box::new(stale)));
        }
        session.may_retract(claim)?;
        Ok(Plan::Commit(vec![event(claim, reason)]))
    })
}

/// The event.
pub(in crate::engine) fn event(claim: &ClaimRow, reason: String) -> Draft {
    let mut draft = Draft::new(EventKind::Retract, [Ref::Id(claim.id)]);
    draft.body.reason = Some(reason);
    draft
}

impl Session<'_> {
    /// Refuses an agent who may only propose the retract of a person's claim.
    pub(in crate::engine) fn may_retract(&self, claim: &ClaimRow) -> Result<(), ApiError> {
        let bound = self.engine.config.agents_may == AgentsMay::Propose;
        if !bound || self.actor.agent.is_none() || claim.agent.is_some() {
            return Ok(());
        }
        Err(ApiError::new(
            ErrorCode::Forbidden,
            format!("claim {} was written by a person, and agents may not retract it here", claim.id.short()),
        )
        .hint(format!("ask {} to run `ergo retract {}`", claim.who, claim.id.short())))
    }
}
