//! Queries for the lists of a scope, and reading all their pages.

use super::CliError;
use crate::{
    api::{ClaimsQuery, ConflictsQuery, LogQuery, MAX_PAGE},
    client::ClientError,
    domain::Scope,
};

/// Returns the query for the active claims of a scope.
pub(super) fn claims_of(scope: &Scope) -> ClaimsQuery {
    let Scope { org_id, project } = scope.clone();
    ClaimsQuery { org_id: Some(org_id), project: Some(project), limit: Some(MAX_PAGE), ..ClaimsQuery::default() }
}

/// Returns the query for the open cards of a scope.
pub(super) fn cards_of(scope: &Scope) -> ConflictsQuery {
    let Scope { org_id, project } = scope.clone();
    ConflictsQuery { org_id: Some(org_id), project: Some(project), limit: Some(MAX_PAGE), ..ConflictsQuery::default() }
}

/// Returns the query for the events of a scope.
pub(super) fn events_of(scope: &Scope) -> LogQuery {
    let Scope { org_id, project } = scope.clone();
    LogQuery { org_id: Some(org_id), project: Some(project), limit: Some(MAX_PAGE), ..LogQuery::default() }
}

/// Reads all pages of a list. `fetch` takes a cursor and returns the items and the next cursor.
pub(super) async fn all<T>(
    mut fetch: impl AsyncFnMut(Option<String>) -> Result<(Vec<T>, Option<String>), ClientError>,
) -> Result<Vec<T>, CliError> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let (items, next) = fetch(cursor).await?;
        all.extend(items);
        if next.is_none() {
            return Ok(all);
        }
        cursor = next;
    }
}
