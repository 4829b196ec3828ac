//! `GET /claims/{id}/history`: everything that happened to one claim.

use super::{
    cards_of, chain,
    claims::{claim_and_time, claim_then},
};
use crate::{
    api::{ApiError, History},
    engine::{Engine, beside, guard_calls, view},
};

/// The greatest number of dependents of a claim in an answer.
pub(super) const MAX_DEPENDENTS: usize = 100;

/// `GET /claims/{id}/history`.
pub(in crate::engine) fn history(engine: &Engine, id: &str, as_of: Option<u64>) -> Result<History, ApiError> {
    let now = as_of.unwrap_or_else(|| (engine.config.clock)());
    let today = guard_calls::day(now);
    let (id, at) = claim_and_time(engine, id, as_of)?;
    engine.read_at(at.as_ref(), |reader| {
        let row = claim_then(reader, &id)?;
        let mut claim = view::claim(row.clone(), &today);
        beside::fill(reader, &mut claim)?;
        let mut chain = chain::back(reader, &row, &today)?;
        if let Some(first) = chain.first_mut() {
            first.claim.beside.clone_from(&claim.beside);
        }
        Ok(History {
            events: reader.events_of(&row.id)?.into_iter().map(view::event).collect(),
            chain,
            successors: chain::forward(reader, &row, &today)?,
            premises: view::claims(reader.premises(&row.id)?, &today),
            dependents: view::claims(reader.dependents(&row.id, MAX_DEPENDENTS)?, &today),
            cards: cards_of(reader, &row.id, now, &today)?,
            claim,
        })
    })
}
