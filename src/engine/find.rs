//! Finds the claim or card that an id or prefix names.

use super::validate;
use crate::{
    api::{ApiError, ErrorCode},
    domain::{CardId, ClaimId, derive, id::SHORT},
    store::{CardRow, ClaimRow, EventRow, Lookup, Reader, StoreError},
};

/// Returns the claim with this id or prefix. The id of a refused write that was stored after all leads to the stored
/// claim.
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

/// Returns the card of the refused write with this id or prefix; `None` if there is none or more than one.
pub(super) fn refused(reader: &Reader, prefix: &str) -> Result<Option<CardRow>, ApiError> {
    let Lookup::One(card) = reader.find_card(prefix)? else { return Ok(None) };
    let card = card_row(reader, &card)?;
    let named = card.new_claim.is_some_and(|id| id.to_hex().starts_with(prefix));
    Ok(named.then_some(card))
}

/// Returns the claim that was stored from a refused write. Its id differs from that of the write.
pub(super) fn stored_as(reader: &Reader, card: &CardRow) -> Result<Option<ClaimRow>, ApiError> {
    let Some(by) = &card.settled else { return Ok(None) };
    stored_by(reader, card, &reader.op(&by.op)?)
}

/// Returns the claim that was stored from a refused write by the act that settled its card.
pub(super) fn stored_by(
    reader: &Reader,
    card: &CardRow,
    settling_act: &[EventRow],
) -> Result<Option<ClaimRow>, ApiError> {
    let Some(new_claim) = card.new_claim else { return Ok(None) };
    let became = settling_act.iter().find_map(|event| {
        let settles = derive::is_local_kind(&event.kind, derive::local::SETTLED) && event.targets.contains(&new_claim);
        event.successor.filter(|_| settles)
    });
    // The write may have been found to repeat a peer's claim, which has left the log since.
    Ok(became.map(|id| reader.claim(&id)).transpose()?.flatten())
}

/// Returns the 404 error for the id of a refused write that is not stored as a claim.
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

/// Returns the card with this id or prefix, or the card of the refused write with this id.
pub(super) fn card(reader: &Reader, field: &str, text: &str) -> Result<CardRow, ApiError> {
    let prefix = validate::id(field, text)?;
    match reader.find_card(&prefix)? {
        Lookup::One(id) => card_row(reader, &id),
        Lookup::Many(ids) => Err(ambiguous(field, &prefix, "card", ids.iter().map(|id| id.to_hex()))),
        Lookup::None => Err(missing(field, &prefix, "card", "`ergo conflicts` lists them")),
    }
}

/// Returns the claim with an id that comes from the store.
pub(super) fn row(reader: &Reader, id: &ClaimId) -> Result<ClaimRow, ApiError> {
    reader.claim(id)?.ok_or_else(|| StoreError::Damaged(format!("claim {id} is referenced but missing")).into())
}

/// Returns the card with an id that comes from the store.
pub(super) fn card_row(reader: &Reader, id: &CardId) -> Result<CardRow, ApiError> {
    reader.card(id)?.ok_or_else(|| StoreError::Damaged(format!("card {id} is referenced but missing")).into())
}

/// Returns the 404 error for an unknown id.
pub(super) fn missing(field: &str, prefix: &str, what: &str, hint: &str) -> ApiError {
    let mut error = ApiError::not_found(format!("there is no {what} {}", named(prefix))).hint(hint);
    error.field = Some(field.to_owned());
    error
}

/// Formats an id for a message: whole ids are shortened, prefixes stay as a person typed them.
pub(super) fn named(prefix: &str) -> String {
    let whole = prefix.len() == 64;
    prefix.chars().take(if whole { SHORT } else { prefix.len() }).collect()
}

/// Returns the error for a prefix of several ids.
pub(super) fn ambiguous(field: &str, prefix: &str, what: &str, candidates: impl Iterator<Item = String>) -> ApiError {
    let candidates: Vec<String> = candidates.collect();
    let mut error = ApiError::new(ErrorCode::Ambiguous, format!("{prefix} matches more than one {what}"))
        .hint("give more digits of the id");
    error.field = Some(field.to_owned());
    error.candidates = candidates;
    error
}
