//! `GET /doubts`: the queue of doubts.

use crate::{
    api::{ApiError, Doubts, DoubtsQuery, MAX_PAIRS, PairInDoubt, ScopeDoubts},
    engine::{Engine, find, guard_calls, validate, view},
};

/// The default number of listed pairs.
const DEFAULT_LIMIT: usize = 20;

/// `GET /doubts`.
pub(in crate::engine) fn doubts(engine: &Engine, query: &DoubtsQuery) -> Result<Doubts, ApiError> {
    let scope = validate::optional_scope(query.org_id.as_deref(), query.project.as_deref())?;
    let limit = match query.limit {
        None => DEFAULT_LIMIT,
        Some(many) if (1..=MAX_PAIRS).contains(&many) => many,
        Some(many) => {
            return Err(ApiError::field("limit", format!("invalid `limit` {many}: expected 1 to {MAX_PAIRS}")));
        }
    };
    let today = guard_calls::day((engine.config.clock)());
    engine.readers.lend().snapshot(|reader| {
        let queued = reader.doubts(scope.as_ref(), limit)?;
        let mut items = Vec::with_capacity(queued.items.len());
        for doubt in queued.items {
            let claim = |id| Ok::<_, ApiError>(view::claim(find::row(reader, id)?, &today));
            let (newer, older) = (claim(&doubt.newer)?, claim(&doubt.older)?);
            items.push(PairInDoubt { id: doubt.id, scope: doubt.scope, band: doubt.band, newer, older });
        }
        let scopes: Vec<ScopeDoubts> =
            queued.scopes.into_iter().map(|(scope, pairs)| ScopeDoubts { scope, pairs }).collect();
        Ok(Doubts { total: scopes.iter().map(|scope| scope.pairs).sum(), scopes, items })
    })
}
