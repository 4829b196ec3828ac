//! `redact`: removes a text or a reason, such as a pasted secret, for good. The record stays. An agent that may only
//! propose cannot redact, because nothing brings the text back.

use std::collections::BTreeSet;

use super::propose::needs_person;
use crate::{
    api::{ActRequest, ApiError, ErrorCode, WriteOutcome},
    domain::{
        CardId, ClaimId, EventId, EventKind, Scope,
        derive::{is_unstored, local, local_note},
    },
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        find,
        request_hash::request_hash,
        validate,
    },
    store::{ClaimRow, EventDraft, EventRow, LogFilter, Lookup, Reader, Ref},
};

/// The greatest number of events that are looked at to find the change with an id.
const MAX_FOUND_EVENTS: usize = 100;

/// `POST /redact`: redacts a claim, the new claim on a card, or the reason of a change.
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
        let is_local = event.as_ref().is_some_and(is_local_event);
        let changed = request.expect_rev.is_some_and(|rev| !found.revs.contains(&rev));
        if let Some(claim) = found.claim {
            let row = find::row(context.reader(), &claim)?;
            if row.flags.redacted && found.reasons.is_empty() {
                let message = format!("claim {} is already redacted; nothing was done", claim.short());
                return context.stale_because(&row, message);
            }
            if changed {
                let message = format!("claim {} changed since it was shown; nothing was done", claim.short());
                return context.stale_because(&row, message);
            }
        }
        let short = found.event.short();
        if gone && found.reasons.is_empty() {
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
        let copies = match found.claim.filter(|_| !gone) {
            Some(claim) => same_text_in_chain(context.reader(), find::row(context.reader(), &claim)?)?,
            None => Vec::new(),
        };
        // The store also removes every copy of the text: in the refused write that a claim came from, and in verdicts
        // that quote it.
        let named = std::iter::once(found.event).chain(copies.iter().copied()).map(|id| (id, is_local));
        let reasons = found.reasons.iter().map(|event| (event.id, is_local_event(event)));
        let (local, shared): (Vec<_>, Vec<_>) = named.chain(reasons).partition(|(_, is_local)| *is_local);
        let mut drafts = Vec::new();
        for (kind, ids) in [(EventKind::Redact, shared), (EventKind::Local(local::REDACT.into()), local)] {
            if !ids.is_empty() {
                let mut draft = EventDraft::new(kind, ids.into_iter().map(|(id, _)| Ref::Id(id)));
                draft.body.reason = Some(reason.clone());
                drafts.push(draft);
            }
        }
        // The summary must not quote the text that is removed.
        let copies: Vec<String> = copies.iter().map(|id| id.short()).collect();
        let mut summary = match copies.as_slice() {
            [] => format!("Redacted {short}"),
            copies => format!("Redacted {short}, and the same text in {}", copies.join(", ")),
        };
        if found.claim.is_some() && !found.reasons.is_empty() {
            summary.push_str(", and the reason of the change that stored it");
        }
        let committed = context.commit(&WriteScope::at(&found.scope), drafts, "redact", summary.clone())?;
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
    /// Further events of the same act, with its reason.
    reasons: Vec<EventRow>,
}

fn find(context: &ActContext<'_>, target: &str) -> Result<Found, ApiError> {
    let reader = context.reader();
    match find::claim(reader, "target", target) {
        Ok(row) => {
            let reasons = match reader.event(&row.id)? {
                Some(event) => reasons_beside(reader, &event)?,
                None => Vec::new(),
            };
            // A reason without which the project would change stays.
            let reasons = reasons.into_iter().filter(|event| !has_effect_by_body(event)).collect();
            return Ok(Found { event: row.id, claim: Some(row.id), revs: vec![row.rev], scope: row.scope, reasons });
        }
        Err(error) if error.code != ErrorCode::NotFound => return Err(error),
        Err(_) => {}
    }
    if let Lookup::One(id) = reader.find_card(target)? {
        let card = find::card_row(reader, &id)?;
        if let Some(new_claim) = card.new_claim {
            let revs = vec![card.rev, context.card_view(&id)?.summary.rev];
            return Ok(Found { event: new_claim, claim: None, revs, scope: card.scope, reasons: Vec::new() });
        }
    }
    let (event, reasons) = change(reader, target)?;
    if let Some(kept) = std::iter::once(&event).chain(&reasons).find(|event| has_effect_by_body(event)) {
        let id = kept.id.short();
        let message = format!(
            "the reason of {id} cannot be removed while the change has effect: how a card was settled would be lost with it"
        );
        return Err(ApiError::field("target", message)
            .hint(format!("undo the change (`ergo undo {id}`), redact it, then settle the card again")));
    }
    Ok(Found { event: event.id, claim: None, revs: Vec::new(), scope: event.scope, reasons })
}

/// Returns the event of the change with this id, and further events with its reason. The id is that of the event, as
/// the log shows it, or of the change.
fn change(reader: &Reader, target: &str) -> Result<(EventRow, Vec<EventRow>), ApiError> {
    let whole = match target.parse::<EventId>() {
        Ok(id) => reader.event(&id)?,
        Err(_) => None,
    };
    if let Some(event) = whole {
        let reasons = reasons_beside(reader, &event)?;
        return Ok((event, reasons));
    }
    let filter = LogFilter { id: Some(target.to_owned()), ..LogFilter::default() };
    let found = reader.log(&filter, MAX_FOUND_EVENTS, None)?.items;
    let Some(first) = found.first() else {
        let hint = "`ergo claims`, `ergo conflicts` and `ergo log` list them";
        return Err(find::missing("target", target, "claim, refused write or change", hint));
    };
    let op = first.op;
    if found.iter().any(|event| event.op != op) {
        let mut ops: Vec<_> = found.iter().map(|event| event.op.to_hex()).collect();
        ops.dedup();
        return Err(find::ambiguous("target", target, "change", ops.into_iter()));
    }
    if let Some(event) = found.into_iter().find(|event| event.id.to_hex().starts_with(target)) {
        let reasons = reasons_beside(reader, &event)?;
        return Ok((event, reasons));
    }
    let mut with_reason = reader.op(&op)?.into_iter().filter(has_own_reason);
    let event = with_reason.next().ok_or_else(|| {
        let message = format!("the change {} has no reason of its own to remove", op.short());
        ApiError::field("target", message).hint("to remove the text of a claim, give the id of the claim")
    })?;
    Ok((event, with_reason.collect()))
}

/// Returns the other events of an act that have its reason: those that settled a card, closed claims or redacted.
fn reasons_beside(reader: &Reader, event: &EventRow) -> Result<Vec<EventRow>, ApiError> {
    let mut others = reader.op(&event.op)?;
    others.retain(|other| {
        let decides = match &other.kind {
            EventKind::Resolve(_) | EventKind::Supersede | EventKind::Retract | EventKind::Redact => true,
            EventKind::Local(kind) => [local::SETTLED, local::DISCARD, local::REDACT].contains(&kind.as_str()),
            _ => false,
        };
        other.id != event.id && other.device == event.device && decides && has_own_reason(other)
    });
    Ok(others)
}

/// Whether an event contains a reason that is not that of a claim.
fn has_own_reason(event: &EventRow) -> bool {
    let has_text = event.creates_claim() || is_unstored(&event.kind);
    !has_text && event.body.as_ref().is_some_and(|body| body.reason.is_some() && body.reason_of.is_none())
}

/// Whether the effect of an event follows from its body, not from its header alone: it would be lost with the reason.
fn has_effect_by_body(event: &EventRow) -> bool {
    let note = local_note(event.body.as_ref());
    let names_card = note.card.is_some_and(|card| card != CardId::of_members(&event.targets).to_hex());
    event.effective && (names_card || note.narrows.is_some() || note.confusion.is_some())
}

fn is_local_event(event: &EventRow) -> bool {
    matches!(event.kind, EventKind::Local(_))
}
