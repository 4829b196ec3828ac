//! `GET /story`: the claims of a scope in order, with the marks of what would confuse.

use std::collections::HashSet;

use crate::{
    api::{ApiError, MAX_PAGE, Story, StoryMark, StoryQuery},
    domain::{Status, ago::day},
    engine::{Engine, guard_result::candidate, validate, view},
    guard::normalise,
    store::{ClaimFilter, ClaimRow},
    story::{self, StoryClaim},
};

/// The newest claims that are read.
const MOST: usize = 5_000;

/// `GET /story`.
pub(in crate::engine) fn story(engine: &Engine, query: &StoryQuery) -> Result<Story, ApiError> {
    let scope = validate::named(&query.org_id, &query.project)
        .map_err(|error| ApiError::field(error.field, error.to_string()))?;
    let filter = ClaimFilter { scope: Some(scope), ..ClaimFilter::default() };
    let (mut rows, cut) = engine.readers.lend().snapshot(|reader| -> Result<_, ApiError> {
        let mut rows = Vec::new();
        let mut cursor = None;
        loop {
            let page = reader.claims(&filter, MAX_PAGE, cursor.as_deref())?;
            rows.extend(page.items);
            match page.next {
                Some(next) if rows.len() < MOST => cursor = Some(next),
                next => return Ok((rows, next.is_some())),
            }
        }
    })?;
    rows.retain(|row| row.status != Status::Refused && !row.flags.redacted);
    rows.reverse();
    let lines: Vec<StoryClaim> = rows.iter().map(line).collect();
    let marks = story::read(&engine.guard, &lines);

    let subject: Option<HashSet<String>> =
        query.subject.as_deref().map(|subject| normalise::names(subject).into_iter().collect());
    let is_asked = |row: &ClaimRow| {
        query.since.is_none_or(|since| row.clock.wall >= since)
            && subject.as_ref().is_none_or(|words| {
                let names: HashSet<String> = normalise::names(&row.statement).into_iter().collect();
                words.is_subset(&names)
            })
    };
    let asked: Vec<bool> = rows.iter().map(is_asked).collect();
    let marks: Vec<story::Mark> = marks.into_iter().filter(|mark| mark.claims.iter().any(|at| asked[*at])).collect();
    let marked: HashSet<usize> = marks.iter().flat_map(|mark| mark.claims.iter().copied()).collect();
    let marks = marks
        .into_iter()
        .map(|mark| StoryMark {
            confusion: mark.confusion,
            question: mark.question,
            claims: mark.claims.iter().map(|at| rows[*at].id).collect(),
        })
        .collect();
    let read = rows.len();
    let shown = rows.into_iter().enumerate().filter(|(at, _)| asked[*at] || marked.contains(at)).map(|(_, row)| row);
    let claims = view::claims(shown.collect::<Vec<_>>(), &day((engine.config.clock)()));
    Ok(Story { claims, marks, read, cut })
}

fn line(row: &ClaimRow) -> StoryClaim {
    let in_force = row.status == Status::Active && !row.flags.undone;
    StoryClaim::new(row.clock.wall, &row.who, in_force, candidate(row))
}
