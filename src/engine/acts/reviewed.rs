//! `reviewed`: a claim whose premises changed, or of which there is a notice, was looked at.

use super::on_claim::{self, Plan};
use crate::{
    api::{ActRequest, ApiError, WriteOutcome},
    domain::{EventKind, ResolveAct, Status, derive::local},
    engine::Engine,
    store::{Draft, Ref},
};

/// `POST /reviewed`.
pub(in crate::engine) fn reviewed(engine: &Engine, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
    on_claim::run(engine, request, "reviewed", "Reviewed, and still holds:", |session, claim, reason| {
        let notices = session.reader().notices_of(&claim.id)?;
        // A notice may be about a claim that is out already.
        if (claim.status == Status::Active || notices.is_empty())
            && let Some(stale) = session.stale(claim, request.expect_rev)?
        {
            return Ok(Plan::Answer(Box::new(stale)));
        }
        if claim.causes.is_empty() && notices.is_empty() {
            let message = format!(
                "claim {} does not need review: what it rests on is active, and no notice of it is unseen",
                claim.id.short()
            );
            return Ok(Plan::Answer(Box::new(session.stale_because(claim, message)?)));
        }
        let mut drafts = Vec::new();
        if !claim.causes.is_empty() {
            let mut draft = Draft::new(EventKind::Resolve(ResolveAct::Reviewed), [Ref::Id(claim.id)]);
            draft.seen.clone_from(&claim.causes);
            draft.body.reason = Some(reason.clone());
            drafts.push(draft);
        }
        if !notices.is_empty() {
            let mut draft = Draft::new(EventKind::Local(local::SEEN.into()), notices.into_iter().map(Ref::Id));
            draft.body.reason = Some(reason);
            drafts.push(draft);
        }
        Ok(Plan::Commit(drafts))
    })
}
