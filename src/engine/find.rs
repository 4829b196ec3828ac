//! Finds the claim or card that an id or prefix names.

use super::validate;
use crate::{
    api::{ApiError, ErrorCode},
    domain::{CardId, ClaimId, derive, id::SHORT},
    store::{CardRow, ClaimRow, Lookup, Reader, StoreError},
};

/// The claim with this id or prefix.
pub(super) fn claim(reader: &Reader, field: &str, text: &str) -> Result<ClaimRow, ApiError> {
    let prefix = validate::id(field, text)?;
    match reader.find_claim(&prefix)? {
        Lookup::One(id) => row(reader, &id),
        Lookup::Many(ids) => Err(ambiguous(field, &prefix, "claim", ids.iter().map(|id| id.to_hex()))),
        Lookup::None => match refused(reader, &prefix)? {
            Some(card) => stored_as(reader, &card)?.ok_or_else(|| not_stored(field, &prefix, &card)),
            None => Err(missing(field, &prefix, "claim", "`ergo claims` lists them")),
        },
    }
}

/// The card of the refused write with this id or prefix; `None` if there is none, or more than one.
pub(super) fn refused(reader: &Reader, prefix: &str) -> Result<Option<CardRow>, ApiError> {
    let Lookup::One(card) = reader.find_card(prefix)? else { return Ok(None) };
    let card = card_row(reader, &card)?;
    let named = card.new_claim.is_some_and(|id| id.to_hex().starts_with(prefix));
    Ok(named.then_some(card))
}

/// The claim that a refused write became, if it was stored after all: it has an id of its own, to which the first one leads.
pub(super) fn stored_as(reader: &Reader, card: &CardRow) -> Result<Option<ClaimRow>, ApiError> {
    let (Some(new_claim), Some(by)) = (card.new_claim, &card.settled) else { return Ok(None) };
    let became = reader.op(&by.op)?.into_iter().find_map(|event| {
        let settles = derive::is_local_kind(&event.kind, derive::local::SETTLED) && event.targets.contains(&new_claim);
        event.successor.filter(|_| settles)
    });
    // What it says the same as may be a peer's claim that has left the log since.
    Ok(became.map(|id| reader.claim(&id)).transpose()?.flatten())
}

/// The 404 for the id of a refused write that never became a claim.
fn not_stored(field: &str, prefix: &str, card: &CardRow) -> ApiError {
    let id = card.id.short();
    let (message, hint) = if card.open {
        (
            format!("{prefix} is a refused write, not a claim; it is on card {id}"),
            format!("settle it with `ergo resolve {id}`"),
        )
    } else {
        (
            format!("{prefix} is a refused write that was discarded, not a claim"),
            format!("`ergo conflicts {id}` shows why"),
        )
    };
    let mut error = ApiError::not_found(message).hint(hint);
    error.field = Some(field.to_owned());
    error
}

/// The card with this id or prefix, or on which the refused new claim with this id waits.
pub(super) fn card(reader: &Reader, field: &str, text: &str) -> Result<CardRow, ApiError> {
    let prefix = validate::id(field, text)?;
    match reader.find_card(&prefix)? {
        Lookup::One(id) => card_row(reader, &id),
        Lookup::Many(ids) => Err(ambiguous(field, &prefix, "card", ids.iter().map(|id| id.to_hex()))),
        Lookup::None => Err(missing(field, &prefix, "card", "`ergo conflicts` lists them")),
    }
}

/// The claim with an id that the store itself named.
pub(super) fn row(reader: &Reader, id: &ClaimId) -> Result<ClaimRow, ApiError> {
    reader.claim(id)?.ok_or_else(|| StoreError::Damaged(format!("claim {id} is referenced but missing")).into())
}

/// The card with an id that the store itself named.
pub(super) fn card_row(reader: &Reader, id: &CardId) -> Result<CardRow, ApiError> {
    reader.card(id)?.ok_or_else(|| StoreError::Damaged(format!("card {id} is referenced but missing")).into())
}

/// The 404 for an id that fits nothing.
pub(super) fn missing(field: &str, prefix: &str, what: &str, hint: &str) -> ApiError {
    let mut error = ApiError::not_found(format!("there is no {what} {}", named(prefix))).hint(hint);
    error.field = Some(field.to_owned());
    error
}

/// An id as a message names it: whole ids are cut, what a person typed stands as it was typed.
pub(super) fn named(prefix: &str) -> String {
    let whole = prefix.len() == 64;
    prefix.chars().take(if whole { SHORT } else { prefix.len() }).collect()
}

fn ambiguous(field: &str, prefix: &str, what: &str, candidates: impl Iterator<Item = String>) -> ApiError {
    let candidates: Vec<String> = candidates.collect();
    let mut error = ApiError::new(ErrorCode::Ambiguous, format!("{prefix} matches more than one {what}"))
        .hint("give more digits of the id");
    error.field = Some(field.to_owned());
    error.candidates = candidates;
    error
}
