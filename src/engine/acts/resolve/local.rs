//! What concerns this machine alone: putting a card off, and dropping a refused write.

use super::{Order, Plan, Settling};
use crate::{
    api::ApiError,
    domain::EventKind,
    engine::{acts::hold, session::Session, words},
    store::{CardRow, Draft, Ref},
};

/// The longest that a card can be put off: one year, in milliseconds.
const MAX_SNOOZE: u64 = 366 * 24 * 60 * 60 * 1000;

pub(super) fn snooze(session: &Session<'_>, card: &CardRow, order: &Order) -> Result<Plan, ApiError> {
    let until =
        order.until.ok_or_else(|| ApiError::field("until", "to put a card off needs `until`: when it comes back"))?;
    if until <= session.now {
        return Err(
            ApiError::field("until", "`until` is not in the future").hint("give milliseconds since 1970-01-01 UTC")
        );
    }
    if until - session.now > MAX_SNOOZE {
        return Err(ApiError::field("until", "`until` is more than a year away")
            .hint("give milliseconds since 1970-01-01 UTC; to drop the card, settle it"));
    }
    let targets = card.candidate.map_or_else(|| card.members.clone(), |candidate| vec![candidate]);
    let mut draft = Draft::new(EventKind::Local("snooze".into()), targets.into_iter().map(Ref::Id));
    draft.body.data = Some(serde_json::json!({ "card": card.id, "until": until }).to_string());
    draft.body.reason = Some(order.reason.clone()).filter(|reason| !reason.is_empty());
    Ok(Settling::plan(vec![draft], format!("Put card {} off", card.id.short())))
}

pub(super) fn discard(session: &Session<'_>, card: &CardRow, order: &Order) -> Result<Plan, ApiError> {
    let held = session.held(card)?;
    let draft = hold::settled(card, "discard", None, Some(order.reason.clone()));
    Ok(Settling::plan(vec![draft], words::summary("Discarded", &[&held.row.statement])))
}
