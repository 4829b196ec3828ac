//! Lists of claims, and one claim.

use super::{limit, list_cursor::ListMark};
use crate::{
    api::{ApiError, ClaimView, ClaimsPage, ClaimsQuery, MAX_PAGE},
    domain::{ClaimId, ClaimKind, Scope, Status},
    engine::{Engine, beside, find, guard_calls, past_reads::PastTime, validate, view},
    store::{ClaimFilter, ClaimRow, GuardOutcome, Page, Reader},
};

/// The greatest length of a search text, in bytes.
const MAX_SEARCH: usize = 1000;

/// `GET /claims`.
pub(in crate::engine) fn claims(engine: &Engine, query: &ClaimsQuery) -> Result<ClaimsPage, ApiError> {
    let today = guard_calls::day(query.as_of.unwrap_or_else(|| (engine.config.clock)()));
    let filter = filter(query, &today)?;
    let limit = limit(query.limit)?;
    let mark = ListMark::of("claims", query);
    let cursor = mark.position(query.cursor.as_deref())?;
    let words = query.q.as_deref().map(str::trim).filter(|words| !words.is_empty());
    if words.is_some_and(|words| words.len() > MAX_SEARCH) {
        return Err(ApiError::field("q", format!("`q` is longer than {MAX_SEARCH} bytes")));
    }
    // A filter by source uses the text index, even if there are no search words.
    let words = words.or_else(|| filter.source.as_ref().map(|_| ""));
    // A past read of a project includes its organisation's level.
    let project = filter.not_narrowed_in.clone();
    let scope = project.clone().or_else(|| filter.scope.clone());
    let at = query.as_of.map(|as_of| PastTime { scope, as_of });
    let order = order(query.order.as_deref())?;
    engine.read_at(at.as_ref(), |reader| {
        let read = |limit: usize, cursor: Option<&str>| -> Result<Page<ClaimRow>, ApiError> {
            Ok(match words {
                Some(words) => reader.search(&filter, words, limit, cursor)?,
                None => reader.claims(&filter, limit, cursor)?,
            })
        };
        let page = match order {
            Order::Newest => read(limit, cursor)?,
            order => ordered(read, order, limit, cursor)?,
        };
        let mut items = view::claims(page.items, &today);
        match &project {
            Some(project) => beside::fill_exceptions_in(reader, &mut items, project)?,
            None => beside::fill_exceptions(reader, &mut items)?,
        }
        Ok(ClaimsPage { items, total: page.total, at_least: page.at_least, next: mark.mark(page.next) })
    })
}

/// The order of a list of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Newest,
    Kind,
    Source,
}

fn order(word: Option<&str>) -> Result<Order, ApiError> {
    match word.map_or("newest", str::trim) {
        "" | "newest" => Ok(Order::Newest),
        "kind" => Ok(Order::Kind),
        "source" => Ok(Order::Source),
        other => Err(ApiError::field(
            "order",
            format!(
                "unknown `order` “{}”: expected newest, kind or source",
                other.chars().take(40).collect::<String>()
            ),
        )),
    }
}

/// The greatest number of claims that are sorted by anything but time: there is no index, so all are read.
const MAX_ORDERED: usize = 5_000;

/// Returns a page of claims in an order other than by time. The cursor consists of the number of earlier claims and the
/// id of the last of them; the next page continues after this claim, even if others were inserted before it.
fn ordered(
    read: impl Fn(usize, Option<&str>) -> Result<Page<ClaimRow>, ApiError>,
    order: Order,
    limit: usize,
    cursor: Option<&str>,
) -> Result<Page<ClaimRow>, ApiError> {
    let after = cursor.map(|cursor| {
        let (before, last) = cursor.split_once('.')?;
        Some((before.parse::<usize>().ok()?, last.parse::<ClaimId>().ok()?))
    });
    let after = after.map(|after| {
        after.ok_or_else(|| ApiError::field("cursor", "invalid `cursor`: pass `next` of the previous page unchanged"))
    });
    let after = after.transpose()?;
    let mut all = read(MAX_PAGE, None)?;
    while let Some(next) = all.next.take().filter(|_| all.items.len() < MAX_ORDERED) {
        let page = read(MAX_PAGE, Some(&next))?;
        all.items.extend(page.items);
        all.next = page.next;
    }
    let unread = all.next.is_some();
    match order {
        Order::Kind => all.items.sort_by_key(|row| ClaimKind::ALL.iter().position(|kind| *kind == row.kind)),
        Order::Source => all.items.sort_by_cached_key(|row| source_sort_key(row.source.as_deref())),
        Order::Newest => {}
    }
    let known = all.items.len();
    let before =
        after.map_or(0, |(before, last)| all.items.iter().position(|row| row.id == last).map_or(before, |at| at + 1));
    let items: Vec<ClaimRow> = all.items.into_iter().skip(before).take(limit).collect();
    let end = before + items.len();
    let next = items.last().filter(|_| end < known).map(|row| format!("{end}.{}", row.id));
    let total = if unread { known } else { all.total };
    Ok(Page { next, total, at_least: all.at_least || unread, items })
}

/// Returns the sort key of a source: claims without one come last, lines of a file are sorted by number.
fn source_sort_key(source: Option<&str>) -> (bool, String, usize) {
    let source = source.unwrap_or_default().trim();
    let numbered = source.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?)));
    let (path, line) = numbered.unwrap_or((source, 0));
    (source.is_empty(), path.to_owned(), line)
}

/// `GET /claims/{id}`.
pub(in crate::engine) fn claim(engine: &Engine, id: &str, as_of: Option<u64>) -> Result<ClaimView, ApiError> {
    let today = guard_calls::day(as_of.unwrap_or_else(|| (engine.config.clock)()));
    let (id, at) = claim_and_time(engine, id, as_of)?;
    engine.read_at(at.as_ref(), |reader| {
        let mut claim = view::claim(claim_then(reader, &id)?, &today);
        beside::fill(reader, &mut claim)?;
        Ok(claim)
    })
}

/// Finds the claim with this id or prefix in the present, and returns its id and the time to read it at, in its scope.
pub(super) fn claim_and_time(
    engine: &Engine,
    id: &str,
    as_of: Option<u64>,
) -> Result<(ClaimId, Option<PastTime>), ApiError> {
    let row = find::claim(&engine.readers.lend(), "id", id)?;
    Ok((row.id, PastTime::of(&row.scope, as_of)))
}

/// Returns a known claim as it was at the time of the reader.
pub(super) fn claim_then(reader: &Reader, id: &ClaimId) -> Result<ClaimRow, ApiError> {
    let missing = || ApiError::not_found(format!("claim {} did not exist at that time", id.short()));
    reader.claim(id)?.ok_or_else(|| missing().hint("leave `as_of` out, or name a later time"))
}

fn filter(query: &ClaimsQuery, today: &str) -> Result<ClaimFilter, ApiError> {
    let status = match query.status.as_deref().map_or("active", str::trim) {
        "" => Some(Status::Active),
        "all" => None,
        word => Some(word.parse().map_err(|_| {
            let word: String = word.chars().take(40).collect();
            let message = format!("unknown `status` “{word}”: expected active, superseded, retracted or all");
            ApiError::field("status", message)
        })?),
    };
    let kinds = query
        .kind
        .as_deref()
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(|word| word.parse::<ClaimKind>().map_err(|error| ApiError::field("kind", format!("`kind`: {error}"))))
        .collect::<Result<_, _>>()?;
    let scope = validate::optional_scope(query.org_id.as_deref(), query.project.as_deref())?;
    let project = name(query.not_narrowed_in.as_deref());
    let not_narrowed_in = match (project, &scope) {
        (None, _) => None,
        (Some(_), None) => {
            let message = "`not_narrowed_in` names a project of an organisation: give `org_id` and `project` too";
            return Err(ApiError::field("not_narrowed_in", message));
        }
        (Some(project), Some(scope)) => Some(
            Scope::new(&*scope.org_id, project)
                .map_err(|error| ApiError::field("not_narrowed_in", format!("`not_narrowed_in`: {error}")))?,
        ),
    };
    Ok(ClaimFilter {
        scope,
        not_narrowed_in,
        status,
        kinds,
        who: name(query.who.as_deref()),
        not_who: name(query.not_who.as_deref()),
        without: query.without.as_deref().map(|words| worded("without", words)).transpose()?.flatten(),
        not_source: query.not_source.as_deref().map(|words| worded("not_source", words)).transpose()?.flatten(),
        needs_review: query.needs_review,
        expired: query.expired.map(|is_wanted| (is_wanted, today.to_owned())),
        since: query.since,
        until: query.until,
        source: query.source.as_deref().map(|words| worded("source", words)).transpose()?.flatten(),
        verdict: query.verdict.as_deref().map(str::trim).filter(|word| !word.is_empty()).map(verdict).transpose()?,
    })
}

fn name(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|who| !who.is_empty()).map(str::to_owned)
}

/// Checks the words of a filter; `None` if there are none.
fn worded(field: &str, text: &str) -> Result<Option<String>, ApiError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    if text.len() > MAX_SEARCH {
        return Err(ApiError::field(field, format!("`{field}` is longer than {MAX_SEARCH} bytes")));
    }
    if !text.contains(char::is_alphanumeric) {
        return Err(ApiError::field(
            field,
            format!("`{field}` has neither letters nor digits: give a word to search for"),
        ));
    }
    Ok(Some(text.to_owned()))
}

fn verdict(word: &str) -> Result<GuardOutcome, ApiError> {
    match word {
        "disputed" => Ok(GuardOutcome::Disputed),
        "warned" => Ok(GuardOutcome::Warned),
        "clean" => Ok(GuardOutcome::Clean),
        other => Err(ApiError::field(
            "verdict",
            format!(
                "unknown `verdict` “{}”: expected disputed, warned or clean",
                other.chars().take(40).collect::<String>()
            ),
        )),
    }
}
