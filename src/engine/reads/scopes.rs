//! Scopes.

use crate::{
    api::{ApiError, ScopeView, Scopes},
    engine::Engine,
};

/// `GET /scopes`.
pub(in crate::engine) fn scopes(engine: &Engine) -> Result<Scopes, ApiError> {
    let rows = engine.readers.lend().scopes()?;
    let items = rows
        .into_iter()
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
