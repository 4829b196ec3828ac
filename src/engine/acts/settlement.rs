//! Says what an act did that settled a card: which side was kept, and what became of the other.

use super::{
    refuse::WITHDRAW,
    replay::{cards_settled, describe},
};
use crate::{
    api::ApiError,
    domain::{
        CardId, ClaimId, EventKind, ResolveAct,
        derive::{LocalNote, local, local_note},
    },
    engine::wording,
    store::{CardRow, EventRow, Reader},
};

/// Describes an act that settled a card, from one of its events; what is kept comes first. Returns the reason of the
/// settlement, too, if one was given. `None` for any other act.
pub(in crate::engine) fn describe_settlement(
    reader: &Reader,
    event: &EventRow,
) -> Result<Option<(String, Option<String>)>, ApiError> {
    if !reader.settles_card(&event.op)? {
        return Ok(None);
    }
    let events = reader.op(&event.op)?;
    let reason = events.iter().filter(|event| is_record(event)).find_map(|event| event.body.as_ref()?.reason.clone());
    Ok(Some((outcome(reader, &events)?, reason)))
}

/// Whether an event records how a card was settled.
fn is_record(event: &EventRow) -> bool {
    matches!(event.kind, EventKind::Resolve(_)) || is_local_record(event)
}

fn is_local_record(event: &EventRow) -> bool {
    matches!(&event.kind, EventKind::Local(kind) if kind == local::SETTLED || kind == local::DISCARD)
}

fn outcome(reader: &Reader, events: &[EventRow]) -> Result<String, ApiError> {
    let both_hold = |kind: &EventKind| {
        matches!(kind, EventKind::Resolve(ResolveAct::Narrow | ResolveAct::Exception | ResolveAct::Dismiss))
    };
    if cards_settled(events) > 1 || events.iter().any(|event| both_hold(&event.kind)) {
        return describe(reader, events);
    }
    let card = members(reader, events)?;
    let stored = stored_claim(events);
    let (superseded, retracted) = (targets(events, &EventKind::Supersede), targets(events, &EventKind::Retract));
    let is_left = |id: &&ClaimId| Some(**id) != card.new_claim && !retracted.contains(id);
    let on_card = if card.kept.is_empty() { &card.ids } else { &card.kept };
    let left: Vec<ClaimId> = on_card.iter().filter(is_left).copied().collect();
    let merges = is_merge(reader, events, card.new_claim)?;
    let stored = stored.as_slice();
    let named = |verb: &str, ids: &[ClaimId]| named(reader, verb, ids);
    Ok(if merges {
        let merged: Vec<ClaimId> = card.new_claim.into_iter().chain(superseded).collect();
        format!("{} {}", named("merged", &merged)?, named("into", stored)?)
    } else if !superseded.is_empty() {
        let winner = events.iter().find_map(|event| event.successor.filter(|_| event.kind == EventKind::Supersede));
        let winner = if stored.is_empty() { winner.as_slice() } else { stored };
        format!("{} {}", named("kept", winner)?, named("in place of", &superseded)?)
    } else if !retracted.is_empty() {
        let kept = if stored.is_empty() { left.as_slice() } else { stored };
        let what = named("retracted", &retracted)?;
        if kept.is_empty() { what } else { format!("{}, {what}", named("kept", kept)?) }
    } else if stored.is_empty() {
        match (card.new_claim, card.act.as_deref()) {
            (None, _) => named("kept", &left)?,
            (Some(new), Some("supersede")) if !left.is_empty() => {
                format!("{}, {}", named("kept", &left)?, named("discarded", &[new])?)
            }
            (Some(new), Some("supersede" | "discard")) => named("discarded", &[new])?,
            (Some(new), Some(WITHDRAW)) => named("withdrew", &[new])?,
            // A question whose answer stored nothing.
            (Some(new), _) => named("answered the question about", &[new])?,
        }
    } else {
        named("stored", stored)?
    })
}

/// Returns whether `settling_act` settled a card with a text that replaced all claims on it.
pub(in crate::engine) fn is_merged(
    reader: &Reader,
    card: &CardRow,
    settling_act: &[EventRow],
) -> Result<bool, ApiError> {
    let supersedes = card.settled.as_ref().is_some_and(|by| by.act == "supersede");
    Ok(supersedes && cards_settled(settling_act) <= 1 && is_merge(reader, settling_act, card.new_claim)?)
}

/// Whether an act that settled one card stored a text in place of all claims on it, and not the card's new claim.
fn is_merge(reader: &Reader, events: &[EventRow], new_claim: Option<ClaimId>) -> Result<bool, ApiError> {
    let Some(stored) = stored_claim(events) else { return Ok(false) };
    if targets(events, &EventKind::Supersede).is_empty() {
        return Ok(false);
    }
    let Some(new_claim) = new_claim else { return Ok(true) };
    let texts = reader.new_claim(&new_claim)?.zip(reader.claim(&stored)?);
    Ok(texts.is_some_and(|(new, stored)| !new.statement.is_empty() && new.statement != stored.statement))
}

/// Returns the claim that an act stored.
fn stored_claim(events: &[EventRow]) -> Option<ClaimId> {
    events.iter().find(|event| event.creates_claim()).map(|event| event.id)
}

/// Returns the targets of an act's events of this kind.
fn targets(events: &[EventRow], kind: &EventKind) -> Vec<ClaimId> {
    events.iter().filter(|event| event.kind == *kind).flat_map(|event| event.targets.iter().copied()).collect()
}

/// The claims on a card, and how it was settled.
struct Members {
    ids: Vec<ClaimId>,
    /// The claim that was not stored when the card was opened.
    new_claim: Option<ClaimId>,
    act: Option<String>,
    /// The claims that were kept instead of the new one; empty if the event does not name them.
    kept: Vec<ClaimId>,
}

fn members(reader: &Reader, events: &[EventRow]) -> Result<Members, ApiError> {
    if let Some(event) = events.iter().find(|event| is_local_record(event)) {
        let LocalNote { card, act, kept, .. } = local_note(event.body.as_ref());
        if let Some(id) = card.and_then(|id| id.parse::<CardId>().ok())
            && let Some(card) = reader.card(&id)?
        {
            return Ok(Members { ids: card.members, new_claim: card.new_claim, act, kept });
        }
    }
    let record = events.iter().find(|event| is_record(event));
    let ids = record.map(|event| event.targets.clone()).unwrap_or_default();
    Ok(Members { ids, new_claim: None, act: None, kept: Vec::new() })
}

/// Returns a verb with the statements of claims, stored or not.
pub(super) fn named(reader: &Reader, verb: &str, ids: &[ClaimId]) -> Result<String, ApiError> {
    let mut texts = Vec::new();
    for id in ids {
        let body = reader.event(id)?.and_then(|event| event.body);
        texts.push(body.and_then(|body| body.statement).unwrap_or_default());
    }
    Ok(wording::summary(verb, &texts.iter().map(String::as_str).collect::<Vec<_>>()))
}
