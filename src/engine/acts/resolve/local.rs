//! Acts on cards that concern this device only: snoozing a card, discarding a refused write.

use super::{
    Plan, Resolution, Settling,
    refused::{must_be_allowed_to_discard, must_be_allowed_to_except},
};
use crate::{
    api::ApiError,
    domain::{EventKind, derive::local},
    engine::{
        act_context::ActContext,
        acts::{refuse, settlement::named},
        wording,
    },
    store::{CardRow, EventDraft, Ref},
};

/// The longest time that a card can be snoozed: 366 days, in milliseconds.
const MAX_SNOOZE: u64 = 366 * 24 * 60 * 60 * 1000;

pub(super) fn snooze(context: &ActContext<'_>, card: &CardRow, resolution: &Resolution) -> Result<Plan, ApiError> {
    // A snooze of a year would hide the card from the person who is to settle it.
    must_be_allowed_to_except(context, card, resolution.act)?;
    let until = resolution
        .until
        .ok_or_else(|| ApiError::field("until", "snoozing a card needs `until`: when to show it again"))?;
    if until <= context.now {
        return Err(
            ApiError::field("until", "a card cannot be snoozed until a time in the past").hint("name a later time")
        );
    }
    if until - context.now > MAX_SNOOZE {
        return Err(ApiError::field("until", "a card cannot be snoozed for more than a year")
            .hint("name an earlier time; to close the card for good, settle it"));
    }
    let targets = card.new_claim.map_or_else(|| card.members.clone(), |new_claim| vec![new_claim]);
    let summary = named(context.reader(), "Snoozed the card about", &targets)?;
    let mut draft = EventDraft::new(EventKind::Local(local::SNOOZE.into()), targets.into_iter().map(Ref::Id));
    draft.body.data = Some(serde_json::json!({ "card": card.id, "until": until }).to_string());
    draft.body.reason = Some(resolution.reason.clone()).filter(|reason| !reason.is_empty());
    Ok(Settling::plan(vec![draft], summary))
}

pub(super) fn discard(context: &ActContext<'_>, card: &CardRow, resolution: &Resolution) -> Result<Plan, ApiError> {
    let refused_write = context.refused_write(card)?;
    must_be_allowed_to_discard(context, card, &refused_write.row)?;
    let draft = refuse::settled(card, "discard", None, Some(resolution.reason.clone()));
    Ok(Settling::plan(vec![draft], wording::summary("Discarded", &[&refused_write.row.statement])))
}
