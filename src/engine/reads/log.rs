//! The log of acts.

use super::limit;
use crate::{
    api::{ApiError, LogPage, LogQuery},
    engine::{Engine, check, view},
};

/// `GET /log`.
pub(in crate::engine) fn log(engine: &Engine, query: &LogQuery) -> Result<LogPage, ApiError> {
    let scope = check::optional_scope(query.org_id.as_deref(), query.project.as_deref())?;
    let page = engine.readers.lend().log(scope.as_ref(), limit(query.limit)?, query.cursor.as_deref())?;
    Ok(LogPage { items: page.items.into_iter().map(view::event).collect(), next: page.next })
}
