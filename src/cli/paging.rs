//! Queries for the lists of a scope, and reading all their pages.

use std::env;

use jiff::Timestamp;

use super::CliError;
use crate::{
    api::{ClaimsQuery, ConflictsQuery, LogQuery, MAX_PAGE},
    client::ClientError,
    domain::{Scope, text},
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

/// Returns the command that shows the next page: this one, with its filters, and another cursor. `as_of` is the time
/// whose state is listed, in milliseconds since the Unix epoch: the next page is of the same time, even if this
/// command has a span such as `3d`.
pub(super) fn next_page(cursor: &str, as_of: Option<u64>) -> String {
    next_page_of(env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()), cursor, as_of)
}

fn next_page_of(words: impl Iterator<Item = String>, cursor: &str, as_of: Option<u64>) -> String {
    let time = as_of.and_then(|at| Timestamp::from_millisecond(i64::try_from(at).ok()?).ok());
    let time = time.map_or_else(String::new, |time| format!(" --as-of {time}"));
    format!("{}{time} --cursor {}", without(words, &["--cursor", "--as-of"]), text::quote(cursor))
}

/// Returns this command, with its filters, from the first page on and with another status.
pub(super) fn with_status(status: &str) -> String {
    let words = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    format!("{} --status {status}", without(words, &["--cursor", "--status"]))
}

/// Returns this command, with its filters, from the first page on and for all scopes.
pub(super) fn in_all_scopes() -> String {
    let words = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    format!("{} --all", without(words, &["--cursor", "--scope", "--org", "--project"]))
}

/// Returns the command line of these arguments, without the given options and their values.
fn without(mut words: impl Iterator<Item = String>, options: &[&str]) -> String {
    let mut command = "ergo".to_owned();
    while let Some(word) = words.next() {
        if options.contains(&word.as_str()) {
            words.next();
        } else if !word.split_once('=').is_some_and(|(option, _)| options.contains(&option)) {
            command.push(' ');
            command.push_str(&text::quote(&word));
        }
    }
    command
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_has_the_filters_of_this_one() {
        let words = ["claims", "--kind", "constraint", "--cursor", "a1", "free text", "--cursor=b2", "-n", "2"];
        let command = next_page_of(words.into_iter().map(str::to_owned), "c3", None);
        assert_eq!(command, "ergo claims --kind constraint 'free text' -n 2 --cursor c3");
        let words = ["conflicts", "--as-of", "3d", "--all"].into_iter().map(str::to_owned);
        let command = next_page_of(words, "c3", Some(1_790_000_000_123));
        assert_eq!(command, "ergo conflicts --all --as-of 2026-09-21T14:13:20.123Z --cursor c3");
        let words = ["claims", "deploy", "--status", "active", "--scope=acme/api", "--kind", "decision"];
        let command = without(words.into_iter().map(str::to_owned), &["--status", "--scope"]);
        assert_eq!(command, "ergo claims deploy --kind decision");
    }
}
