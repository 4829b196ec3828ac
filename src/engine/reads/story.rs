//! `GET /story`: the claims of a scope by date, with marks on what would confuse a newcomer.

use std::collections::{HashMap, HashSet};

use crate::{
    api::{ApiError, MAX_PAGE, Story, StoryMark, StoryQuery},
    domain::{ClaimId, Status, StoryRule, ago::day},
    engine::{Engine, story_reading::happened, validate, view},
    guard::normalise,
    store::{ClaimFilter, ClaimRow},
    story::{SESSION, question},
};

/// The greatest number of claims shown, newest first.
const MAX_SHOWN: usize = 5_000;

/// `GET /story`. The marks come from the background pass.
pub(in crate::engine) fn story(engine: &Engine, query: &StoryQuery) -> Result<Story, ApiError> {
    let scope = validate::named(&query.org_id, &query.project)?;
    let filter = ClaimFilter { scope: Some(scope.clone()), ..ClaimFilter::default() };
    let (mut rows, cut, waiting, marks) = engine.readers.lend().snapshot(|reader| -> Result<_, ApiError> {
        let mut rows = Vec::new();
        let mut cursor = None;
        let cut = loop {
            let page = reader.claims(&filter, MAX_PAGE, cursor.as_deref())?;
            rows.extend(page.items);
            match page.next {
                Some(next) if rows.len() < MAX_SHOWN => cursor = Some(next),
                next => break next.is_some(),
            }
        };
        let marks = reader.story_marks(&scope)?;
        let known: HashSet<ClaimId> = rows.iter().map(|row: &ClaimRow| row.id).collect();
        // A mark may name a claim older than these.
        for id in marks.iter().flat_map(|mark| &mark.claims).filter(|id| !known.contains(*id)).collect::<HashSet<_>>() {
            rows.extend(reader.claim(id)?);
        }
        Ok((rows, cut, reader.story_backlog(&scope)?, marks))
    })?;
    rows.retain(|row| row.status != Status::Refused && !row.flags.redacted && !row.flags.undone);
    rows.sort_by_key(|row| (happened(row), row.clock, row.id));

    let subject: Option<HashSet<String>> =
        query.subject.as_deref().map(|subject| normalise::names(subject).into_iter().collect());
    let is_asked = |row: &ClaimRow| {
        query.since.is_none_or(|since| happened(row) >= since)
            && subject.as_ref().is_none_or(|words| {
                let names: HashSet<String> = normalise::names(&row.statement).into_iter().collect();
                words.is_subset(&names)
            })
    };
    let asked: HashSet<ClaimId> = rows.iter().filter(|row| is_asked(row)).map(|row| row.id).collect();
    let statements: HashMap<ClaimId, &str> = rows.iter().map(|row| (row.id, row.statement.as_str())).collect();
    let mut shown = Vec::new();
    for mark in marks.into_iter().filter(|mark| mark.open && mark.claims.iter().any(|id| asked.contains(id))) {
        let marked: Vec<&str> = mark.claims.iter().filter_map(|id| statements.get(id).copied()).collect();
        shown.push(StoryMark {
            confusion: mark.confusion,
            question: question(mark.confusion, mark.rule, &marked),
            claims: mark.claims,
            by_model: mark.rule == StoryRule::Model,
            card: Some(mark.card),
        });
    }
    let marked: HashSet<ClaimId> = shown.iter().flat_map(|mark| mark.claims.iter().copied()).collect();
    let (in_sessions, sessions) = sessions(rows.iter().filter(|row| asked.contains(&row.id)));
    let read = rows.len();
    let rows = rows.into_iter().filter(|row| asked.contains(&row.id) || marked.contains(&row.id));
    let claims = view::claims(rows.collect::<Vec<_>>(), &day((engine.config.clock)()));
    Ok(Story { claims, marks: shown, read, cut, waiting, in_sessions, sessions })
}

/// Counts the active claims in sessions that have several, and these sessions. `rows`: in the order of the story.
fn sessions<'a>(rows: impl Iterator<Item = &'a ClaimRow>) -> (usize, usize) {
    let mut last: HashMap<&str, (u64, bool)> = HashMap::new();
    let (mut claims, mut sessions) = (0, 0);
    for row in rows.filter(|row| row.status == Status::Active) {
        let at = happened(row);
        let before = last.get(row.who.as_str()).filter(|(then, _)| at.abs_diff(*then) <= SESSION);
        match before {
            Some((_, true)) => claims += 1,
            Some((_, false)) => (claims, sessions) = (claims + 2, sessions + 1),
            None => {}
        }
        let several = before.is_some();
        last.insert(&row.who, (at, several));
    }
    (claims, sessions)
}
