//! `reviewed`: confirms a claim whose premises changed or that has a notice.

use super::{
    on_claim::{self, ClaimActPlan},
    propose::needs_person,
};
use crate::{
    api::{ActRequest, ApiError, WriteOutcome},
    domain::{EventKind, ResolveAct, Status, derive::local},
    engine::{Engine, act_context::ActContext},
    store::{ClaimRow, EventDraft, Ref},
};

/// `POST /reviewed`.
pub(in crate::engine) fn reviewed(engine: &Engine, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
    on_claim::run(engine, request, "reviewed", "Confirmed after review:", |context, claim, reason| {
        let mut drafts = review_events(context, claim, &reason)?;
        // An agent must not hide from a person what it did.
        let by_agent = context.actor.agent.is_some();
        if by_agent && drafts.is_empty() && !context.reader().notices_of(&claim.id)?.is_empty() {
            let id = claim.id.short();
            let message = format!("claim {id} has a notice for a person, which agents cannot mark as seen");
            return Err(needs_person(message)
                .hint(format!("ask {} to run `ergo reviewed {id} --reason '…'`", context.actor.who)));
        }
        // A notice may be about a claim that is no longer active.
        let noted = drafts.iter().any(|draft| matches!(draft.kind, EventKind::Local(_)));
        if (claim.status == Status::Active || !noted)
            && let Some(stale) = context.stale(claim, request.expect_rev)?
        {
            return Ok(ClaimActPlan::Answer(Box::new(stale)));
        }
        if drafts.is_empty() {
            let message = format!(
                "claim {} does not need review: its premises are active, and it has no unread notice",
                claim.id.short()
            );
            return Ok(ClaimActPlan::Answer(Box::new(context.stale_because(claim, message)?)));
        }
        let (mut seen, mut statements) = (vec![claim.id], Vec::new());
        for target in &request.also {
            let other = context.find("also", target)?;
            if other.scope != claim.scope {
                let message =
                    format!("claim {} belongs to another scope, not to {}", other.id.short(), claim.id.short());
                return Err(
                    ApiError::field("also", message).hint("review claims of different scopes in separate requests")
                );
            }
            if !seen.contains(&other.id) {
                let more = review_events(context, &other, &reason)?;
                statements.extend((!more.is_empty()).then_some(other.statement));
                drafts.extend(more);
                seen.push(other.id);
            }
        }
        Ok(ClaimActPlan::CommitMany(drafts, statements))
    })
}

/// Returns the events that confirm a claim; none if it needs no review and has no unread notice. Only a person marks
/// notices as seen.
fn review_events(context: &ActContext<'_>, claim: &ClaimRow, reason: &str) -> Result<Vec<EventDraft>, ApiError> {
    let notices = match context.actor.agent {
        None => context.reader().notices_of(&claim.id)?,
        Some(_) => Vec::new(),
    };
    let mut drafts = Vec::new();
    if !claim.causes.is_empty() {
        let mut draft = EventDraft::new(EventKind::Resolve(ResolveAct::Reviewed), [Ref::Id(claim.id)]);
        draft.seen.clone_from(&claim.causes);
        draft.body.reason = Some(reason.to_owned());
        drafts.push(draft);
    }
    if !notices.is_empty() {
        let mut draft = EventDraft::new(EventKind::Local(local::SEEN.into()), notices.into_iter().map(Ref::Id));
        draft.body.reason = Some(reason.to_owned());
        drafts.push(draft);
    }
    Ok(drafts)
}
