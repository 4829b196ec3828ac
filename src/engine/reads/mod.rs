//! Reads: why, recall, claims, history, the log, cards, scopes. Each reads one state of the store, except
//! recall and why: they search by words while the embedder computes, and then read again.

mod agents;
mod card;
mod chain;
mod claims;
mod history;
mod inbox;
mod ingested;
mod leading_claims;
mod list_cursor;
mod log;
mod questions;
mod queued_doubts;
mod recall;
mod scopes;
mod size;
mod snapshot;
mod story;
mod why;

pub(super) use agents::agents;
pub(super) use card::{card, cards_of, conflicts, view as card_view};
pub(super) use claims::{claim, claims};
pub(super) use history::history;
pub(super) use inbox::inbox;
pub(super) use ingested::ingested;
pub(super) use log::log;
pub(super) use questions::questions;
pub(super) use queued_doubts::doubts;
pub use recall::{RecallMeans, Weighing};
pub(super) use recall::{recall, recall_features, weigh};
pub(super) use scopes::scopes;
pub(super) use snapshot::{Pages, snapshot};
pub(super) use story::story;
pub(super) use why::why;

use crate::api::{ApiError, MAX_PAGE};

/// The default page size.
const DEFAULT_PAGE: usize = 50;

/// Checks the page size of a request.
pub(super) fn limit(asked: Option<usize>) -> Result<usize, ApiError> {
    match asked {
        Some(many) if many > MAX_PAGE => {
            Err(ApiError::field("limit", format!("`limit` is {many}; a page has at most {MAX_PAGE}"))
                .hint("get the next page with `cursor`"))
        }
        asked => limit_of_list(asked, DEFAULT_PAGE, MAX_PAGE),
    }
}

/// Checks the length that a request asks of a list without pages.
pub(super) fn limit_of_list(asked: Option<usize>, default: usize, most: usize) -> Result<usize, ApiError> {
    match asked {
        None => Ok(default),
        Some(0) => Err(ApiError::field("limit", "`limit` is 0: ask for at least one")),
        Some(many) if many > most => {
            Err(ApiError::field("limit", format!("`limit` is {many}; the list has at most {most}"))
                .hint("narrow the list with its filters"))
        }
        Some(some) => Ok(some),
    }
}
