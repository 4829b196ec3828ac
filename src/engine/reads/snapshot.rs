//! `snapshot`: a scope on one page. It is cached; after a change, the last page is returned while a new one is
//! generated.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use super::leading_claims::LeadingClaims;
use crate::{
    api::{ApiError, Snapshot, SnapshotQuery, limits},
    domain::{Scope, ago::day},
    engine::{Engine, agreement, beside, past_reads::PastTime, validate},
    recall::snapshot::{SnapshotEntry, SnapshotPage, TOKENS, page},
    store::{EVER, PastMark, Reader},
};

/// The greatest number of claims that are read for a page, newest first: it has room for a few hundred.
const MAX_CLAIMS: usize = 20_000;

/// The least and the greatest budget of a page, in tokens.
const MIN_TOKENS: usize = 100;
const MAX_TOKENS: usize = 20_000;

/// The greatest number of cached pages.
const MAX_PAGES: usize = 32;

/// Cached pages by scope and budget.
#[derive(Default)]
pub(in crate::engine) struct Pages {
    made: Mutex<HashMap<(Scope, usize), CachedPage>>,
    leads: LeadingClaims,
}

#[derive(Clone)]
struct CachedPage {
    page: SnapshotPage,
    claims: usize,
    /// The number of subjects for which a language model chose the leading claims.
    led: usize,
    mark: PastMark,
    at: u64,
}

/// `GET /snapshot`.
pub(in crate::engine) fn snapshot(engine: &Engine, query: &SnapshotQuery) -> Result<Snapshot, ApiError> {
    let scope = validate::named(&query.org_id, &query.project)?;
    let budget = query.tokens.unwrap_or(TOKENS);
    if !(MIN_TOKENS..=MAX_TOKENS).contains(&budget) {
        return Err(ApiError::field("tokens", format!("`tokens` is {budget}: expected {MIN_TOKENS} to {MAX_TOKENS}")));
    }
    if let Some(as_of) = query.as_of {
        let at = PastTime { scope: Some(scope.clone()), as_of };
        let made = engine.read_at(Some(&at), |reader| make(reader, &scope, budget, as_of, &mut |_| 0))?;
        return Ok(view(made, false));
    }
    let known = engine.pages.lock().get(&(scope.clone(), budget)).cloned();
    match known.filter(|_| !query.rebuild) {
        Some(made) => {
            let now = engine.readers.lend().past_mark(Some(&scope), EVER)?;
            if made.mark.lost_words(&now) || day(made.at) != day((engine.config.clock)()) {
                // A redacted text must not be shown, not even once more, nor a claim after its last day.
                return rebuild(engine, &scope, budget).map(|made| view(made, false));
            }
            let stale = now != made.mark;
            Ok(view(made, stale))
        }
        None => rebuild(engine, &scope, budget).map(|made| view(made, false)),
    }
}

/// Generates the cached pages of a scope again.
pub(super) fn regenerate_all(engine: &Engine, scope: &Scope) -> Result<(), ApiError> {
    let budgets: Vec<usize> =
        engine.pages.lock().keys().filter(|(of, _)| of == scope).map(|(_, budget)| *budget).collect();
    for budget in budgets {
        keep(engine, scope, budget)?;
    }
    Ok(())
}

/// Generates a page and caches it. The language model may then be asked for its leading claims.
fn rebuild(engine: &Engine, scope: &Scope, budget: usize) -> Result<CachedPage, ApiError> {
    let made = keep(engine, scope, budget)?;
    engine.pages.leads.made(scope);
    Ok(made)
}

fn keep(engine: &Engine, scope: &Scope, budget: usize) -> Result<CachedPage, ApiError> {
    let now = (engine.config.clock)();
    let model = engine.leader();
    let mut lead =
        |entries: &mut [SnapshotEntry]| model.as_deref().map_or(0, |model| engine.pages.leads.apply(model, entries));
    let made = engine.read_at(None, |reader| make(reader, scope, budget, now, &mut lead))?;
    let mut pages = engine.pages.lock();
    if pages.len() >= MAX_PAGES && !pages.contains_key(&(scope.clone(), budget)) {
        let oldest = pages.iter().min_by_key(|(_, made)| made.at).map(|(key, _)| key.clone());
        pages.retain(|key, _| Some(key) != oldest.as_ref());
    }
    pages.insert((scope.clone(), budget), made.clone());
    Ok(made)
}

/// Returns the entries for a page at this time, and the number of active claims that have not expired, including those of the
/// organisation's level.
pub(super) fn entries(reader: &Reader, scope: &Scope, at: u64) -> Result<(Vec<SnapshotEntry>, usize), ApiError> {
    let today = day(at);
    let (mut rows, mut claims) = (Vec::new(), 0);
    for scope in scope.in_force() {
        let (newest, all) = reader.newest_active(&scope, Some(&today), MAX_CLAIMS)?;
        rows.extend(newest);
        claims += all;
    }
    let read = rows.len();
    // A redacted claim has no text.
    rows.retain(|row| !row.statement.is_empty());
    agreement::drop_covered_by_level(reader, scope, &mut rows, |row| row)?;
    claims -= read - rows.len();
    let entries = rows.into_iter().map(|row| {
        let project = (row.scope != *scope).then_some(scope);
        let beside = if row.flags.excepted { beside::of(reader, &row.id, project)? } else { Vec::new() };
        let subject = row.norms.into_iter().map(|norm| norm.subject).find(|subject| !subject.is_empty());
        Ok(SnapshotEntry {
            id: row.id,
            level: row.scope.level(),
            kind: row.kind,
            subject: subject.unwrap_or_default(),
            statement: row.statement,
            limits: limits(&row.qualifiers, &beside),
            at: row.clock.wall,
            lead: usize::MAX,
        })
    });
    Ok((entries.collect::<Result<_, ApiError>>()?, claims))
}

/// Generates a page. `lead` marks the leading claims, and returns the number of subjects that have some.
fn make(
    reader: &Reader,
    scope: &Scope,
    budget: usize,
    at: u64,
    lead: &mut dyn FnMut(&mut [SnapshotEntry]) -> usize,
) -> Result<CachedPage, ApiError> {
    let (mut entries, claims) = entries(reader, scope, at)?;
    let led = lead(&mut entries);
    let page = page(&scope.to_string(), entries, claims, budget);
    Ok(CachedPage { page, claims, led, mark: reader.past_mark(Some(scope), EVER)?, at })
}

fn view(made: CachedPage, stale: bool) -> Snapshot {
    let CachedPage { page, claims, led, at, .. } = made;
    Snapshot { snapshot: page.text, claims, shown: page.shown, tokens: page.tokens, led, at, stale }
}

impl Pages {
    pub(super) fn leads(&self) -> &LeadingClaims {
        &self.leads
    }

    /// Removes all pages from the cache.
    pub(in crate::engine) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(Scope, usize), CachedPage>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
