//! `GET /scopes`.

use crate::{
    api::{ApiError, ScopeView, Scopes},
    engine::{Engine, past_reads::PastTime},
    store::ScopeRow,
};

/// `GET /scopes`.
pub(in crate::engine) fn scopes(engine: &Engine, as_of: Option<u64>) -> Result<Scopes, ApiError> {
    let at = as_of.map(|as_of| PastTime { scope: None, as_of });
    let now = as_of.unwrap_or_else(|| (engine.config.clock)());
    let rows = engine.read_at(at.as_ref(), |reader| Ok(reader.scopes(now)?))?;
    // Without an event at that time, the scope did not exist yet.
    let begun = |row: &ScopeRow| as_of.is_none() || row.latest > 0;
    let items = rows
        .into_iter()
        .filter(begun)
        .map(|row| ScopeView {
            scope: row.scope,
            active: row.active,
            total: row.total,
            open_cards: row.open_cards,
            needs_review: row.needs_review,
            latest: row.latest,
            identity: row.identity,
        })
        .collect();
    Ok(Scopes { items })
}
