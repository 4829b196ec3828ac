//! `reviewed`: a claim whose premises changed was looked at and still holds.

use super::on_claim::{self, Plan};
use crate::{
    api::{ActRequest, ApiError, WriteOutcome},
    domain::{EventKind, ResolveAct},
    engine::Engine,
    store::{Draft, Ref},
};

/// `POST /reviewed`.
pub(in crate::engine) fn reviewed(engine: &Engine, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
    on_claim::run(engine, request, "reviewed", "Reviewed, and still holds:", |session, claim, reason| {
        if let Some(stale) = session.stale(claim, request.expect_rev)? {
            return Ok(Plan::Answer(Box::new(stale)));
        }
        if claim.causes.is_empty() {
            let message = format!("claim {} does not need review: what it rests on is active", claim.id.short());
            return Ok(Plan::Answer(Box::new(session.stale_because(claim, message)?)));
        }
        let mut draft = Draft::new(EventKind::Resolve(ResolveAct::Reviewed), [Ref::Id(claim.id)]);
        draft.seen.clone_from(&claim.causes);
        draft.body.reason = Some(reason);
        Ok(Plan::Commit(vec![draft]))
    })
}
