//! `redact`: removes a text, such as a pasted secret, for good. The record stays. An agent that may only propose cannot
//! redact, because nothing brings the text back.

use std::collections::BTreeSet;

use super::propose::needs_person;
use crate::{
    api::{ActRequest, ApiError, ErrorCode, WriteOutcome},
    domain::{ClaimId, EventId, EventKind, Scope, derive::local},
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        find,
        request_hash::request_hash,
        validate,
    },
    store::{ClaimRow, EventDraft, Lookup, Reader, Ref},
};

/// `POST /redact`: redacts a claim, the new claim on a card, or any event, by its full id.
pub(in crate::engine) fn redact(engine: &Engine, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
    let target = validate::id("target", &request.target)?;
    let reason = validate::reason(request, "redact")?;
    validate::also(request, "redact")?;
    let outcome = engine.act(&request.caller, request_hash("redact", request), |context| {
        if let Some(answer) = super::replay::act(context)? {
            return Ok(answer);
        }
        let found = find(context, &target)?;
        if context.may_only_propose() {
            let id = found.event;
            return Err(needs_person(format!(
                "{} was not redacted: here, only a person may redact a text",
                id.short()
            ))
            .hint(format!("ask a person to run `ergo redact {id} --reason '…'`, which removes the text for good")));
        }
        let event = context.reader().event(&found.event)?;
        let gone = event.as_ref().is_some_and(|event| event.body.is_none());
        let is_local = event.is_some_and(|event| matches!(event.kind, EventKind::Local(_)));
        let changed = request.expect_rev.is_some_and(|rev| !found.revs.contains(&rev));
        if let Some(claim) = found.claim {
            let row = find::row(context.reader(), &claim)?;
            if row.flags.redacted {
                let message = format!("claim {} is already redacted; nothing was done", claim.short());
                return context.stale_because(&row, message);
            }
            if changed {
                let message = format!("claim {} changed since it was shown; nothing was done", claim.short());
                return context.stale_because(&row, message);
            }
        }
        let short = found.event.short();
        if gone {
            return Err(ApiError::new(ErrorCode::Stale, format!("{short} is already redacted; nothing was done")));
        }
        if changed && !found.revs.is_empty() {
            return Err(ApiError::new(
                ErrorCode::Stale,
                format!("{short} changed since it was shown; nothing was done"),
            ));
        }
        if changed {
            return Err(ApiError::field("expect_rev", format!("{short} is an event, which has no revision")));
        }
        let copies = match found.claim {
            Some(claim) => same_text_in_chain(context.reader(), find::row(context.reader(), &claim)?)?,
            None => Vec::new(),
        };
        // The store also removes every copy of the text: in the refused write that a claim came from, and in verdicts
        // that quote it.
        let kind = if is_local { EventKind::Local(local::REDACT.into()) } else { EventKind::Redact };
        let mut draft = EventDraft::new(kind, std::iter::once(found.event).chain(copies.iter().copied()).map(Ref::Id));
        draft.body.reason = Some(reason);
        // The summary must not quote the text that is removed.
        let copies: Vec<String> = copies.iter().map(|id| id.short()).collect();
        let summary = match copies.as_slice() {
            [] => format!("Redacted {short}"),
            copies => format!("Redacted {short}, and the same text in {}", copies.join(", ")),
        };
        let committed = context.commit(&WriteScope::at(&found.scope), vec![draft], "redact", summary.clone())?;
        context.done(committed, summary).map(WriteOutcome::Done)
    });
    // Only now: before the commit, the background could cache the text again.
    engine.forget_texts();
    outcome
}

impl Engine {
    /// Removes the texts of claims from the caches in memory and from the copy of the past, because a text was
    /// redacted. Waits for a read of the past in progress.
    pub(in crate::engine) fn forget_texts(&self) {
        self.story_texts.forget();
        self.held_results.forget();
        self.vocabularies.forget();
        self.pages.forget();
        self.past.forget();
    }
}

/// Returns the claims that `claim` replaced or that replaced it, directly or not, if they have the same statement: a
/// narrowed claim has the text of the one that it replaced.
fn same_text_in_chain(reader: &Reader, claim: ClaimRow) -> Result<Vec<ClaimId>, ApiError> {
    let mut seen = BTreeSet::from([claim.id]);
    let mut copies = Vec::new();
    let mut queue = vec![(claim.replaces, claim.replaced_by)];
    while let Some((replaces, replaced_by)) = queue.pop() {
        for id in replaces.into_iter().chain(replaced_by).filter(|id| seen.insert(*id)) {
            // A successor may be unknown here: its event has not arrived yet.
            let Some(row) = reader.claim(&id)?.filter(|row| row.statement == claim.statement) else { continue };
            copies.push(id);
            queue.push((row.replaces, row.replaced_by));
        }
    }
    Ok(copies)
}

struct Found {
    event: EventId,
    claim: Option<EventId>,
    /// The revisions under which the claim, or the card of the new claim, is shown; none for another event.
    revs: Vec<u64>,
    scope: Scope,
}

fn find(context: &ActContext<'_>, target: &str) -> Result<Found, ApiError> {
    let reader = context.reader();
    match find::claim(reader, "target", target) {
        Ok(row) => return Ok(Found { event: row.id, claim: Some(row.id), revs: vec![row.rev], scope: row.scope }),
        Err(error) if error.code != ErrorCode::NotFound => return Err(error),
        Err(_) => {}
    }
    if let Lookup::One(id) = reader.find_card(target)? {
        let card = find::card_row(reader, &id)?;
        if let Some(new_claim) = card.new_claim {
            let revs = vec![card.rev, context.card_view(&id)?.summary.rev];
            return Ok(Found { event: new_claim, claim: None, revs, scope: card.scope });
        }
    }
    if let Ok(id) = target.parse::<EventId>()
        && let Some(event) = reader.event(&id)?
    {
        return Ok(Found { event: id, claim: None, revs: Vec::new(), scope: event.scope });
    }
    Err(find::missing("target", target, "claim or refused write", "`ergo claims` and `ergo conflicts` list them"))
}
