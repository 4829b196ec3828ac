//! The two levels of an organisation, as row numbers of scopes: projects, and the organisation's level, whose claims
//! hold in each project.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    Result,
    log::{self, EdgeRole, LoadedEvent},
    project::status_code,
};
use crate::domain::{EventId, EventKind, ResolveAct, Status, derive};

/// Returns the organisation's level of a project; `None` for that level itself, for a reserved scope, or if the store
/// does not have the level.
pub(super) fn above(db: &Connection, scope: i64) -> Result<Option<i64>> {
    let mut read = db.prepare_cached(
        "SELECT o.n FROM scopes s JOIN scopes o ON o.org = s.org AND o.project = '*'
         WHERE s.n = ?1 AND s.project <> '*' AND substr(s.org, 1, 1) <> '@'",
    )?;
    Ok(read.query_row([scope], |row| row.get(0)).optional()?)
}

/// Returns the projects of an organisation's level; none for a project.
pub(super) fn below(db: &Connection, scope: i64) -> Result<Vec<i64>> {
    let mut read = db.prepare_cached(
        "SELECT p.n FROM scopes o JOIN scopes p ON p.org = o.org AND p.project <> '*'
         WHERE o.n = ?1 AND o.project = '*' AND substr(o.org, 1, 1) <> '@' ORDER BY p.n",
    )?;
    let rows = read.query_map([scope], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the scopes whose events can concern two claims together: the scope of both; or the project, if the other is
/// its organisation's level; or both projects of one organisation. None if the claims are of two organisations, or
/// unknown.
pub(super) fn of_pair(db: &Connection, one: &EventId, other: &EventId) -> Result<Vec<i64>> {
    let mut read =
        db.prepare_cached("SELECT c.scope, s.org FROM claims c JOIN scopes s ON s.n = c.scope WHERE c.id = ?1")?;
    let mut scope_of =
        |id: &EventId| read.query_row([id.0], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).optional();
    let (Some((one, org)), Some((other, other_org))) = (scope_of(one)?, scope_of(other)?) else {
        return Ok(Vec::new());
    };
    Ok(if one == other || above(db, one)? == Some(other) {
        vec![one]
    } else if above(db, other)? == Some(one) {
        vec![other]
    } else if org == other_org {
        vec![one, other]
    } else {
        Vec::new()
    })
}

/// Returns the events that point to the target `id` in `scope`: those of the scope and of its projects, and
/// contradictions that were found with claims of other projects (`local.found`).
pub(super) fn pointing_at(db: &Connection, id: &EventId, scope: i64) -> Result<Vec<LoadedEvent>> {
    let mut found = log::pointing_at(db, id, EdgeRole::Target, scope)?;
    for project in below(db, scope)? {
        found.extend(log::pointing_at(db, id, EdgeRole::Target, project)?);
    }
    let mut read = db.prepare_cached(log::select_loaded!(
        "edges x JOIN events e ON e.n = x.src
         WHERE x.dst = ?1 AND x.role = 0 AND e.kind = 'local.found' AND e.scope <> ?2 ORDER BY e.n"
    ))?;
    let elsewhere = read.query_map(params![id.0, scope], LoadedEvent::read)?;
    found.extend(elsewhere.collect::<rusqlite::Result<Vec<_>>>()?);
    Ok(found)
}

/// Returns whether a claim is in force in a scope: active there or at its organisation's level.
pub(super) fn is_in_force(db: &Connection, id: &EventId, scope: i64) -> Result<bool> {
    let level = above(db, scope)?.unwrap_or(scope);
    let mut read = db.prepare_cached("SELECT 1 FROM claims WHERE id = ?1 AND scope IN (?2, ?3) AND status = 0")?;
    Ok(read.exists(params![id.0, scope, level])?)
}

/// Returns whether a project narrowed a claim of its organisation's level: there is an effective narrowing, and the
/// claim that replaces it in the project was not retracted.
pub(super) fn is_narrowed(db: &Connection, claim: &EventId, project: i64) -> Result<bool> {
    let mut stands = db.prepare_cached("SELECT 1 FROM claims WHERE id = ?1 AND scope = ?2 AND status <> ?3")?;
    for event in log::pointing_at(db, claim, EdgeRole::Target, project)? {
        let Some(instead) = event.header.targets.first().filter(|_| event.effective && is_narrowing(&event)) else {
            continue;
        };
        if derive::local_note(log::body(db, event.n)?.as_ref()).narrows == Some(*claim)
            && stands.exists(params![instead.0, project, status_code(Status::Retracted)])?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the row numbers of the claims of its organisation's level that a project narrowed ([`is_narrowed`]).
pub(super) fn narrowed_in(db: &Connection, project: i64) -> Result<Vec<i64>> {
    let Some(level) = above(db, project)? else { return Ok(Vec::new()) };
    // CROSS JOIN makes SQLite begin with the claims of the level, which are fewer than the events of a project.
    let mut read = db.prepare_cached(
        "SELECT DISTINCT c.n, c.id
         FROM lanes l CROSS JOIN claims c ON c.lane = l.n CROSS JOIN edges x ON x.dst = c.id AND x.role = 0
             CROSS JOIN events e ON e.n = x.src
         WHERE l.scope = ?1 AND e.scope = ?2 AND e.effective = 1 AND e.kind = 'resolve.narrow'",
    )?;
    let named = read.query_map([level, project], |row| Ok((row.get::<_, i64>(0)?, log::id_at(row, 1)?)))?;
    let mut found = Vec::new();
    for row in named {
        let (n, claim) = row?;
        if is_narrowed(db, &claim, project)? {
            found.push(n);
        }
    }
    Ok(found)
}

/// Returns the row numbers of the claims of the organisation's level that a project's narrowings name together with
/// `claim`.
pub(super) fn narrowed_with(db: &Connection, claim: &EventId, project: i64) -> Result<Vec<i64>> {
    let Some(level) = above(db, project)? else { return Ok(Vec::new()) };
    let mut read = db.prepare_cached("SELECT n FROM claims WHERE id = ?1 AND scope = ?2")?;
    let mut found = Vec::new();
    for event in log::pointing_at(db, claim, EdgeRole::Target, project)?.iter().filter(|event| is_narrowing(event)) {
        for target in &event.header.targets {
            found.extend(read.query_row(params![target.0, level], |row| row.get::<_, i64>(0)).optional()?);
        }
    }
    Ok(found)
}

fn is_narrowing(event: &LoadedEvent) -> bool {
    event.kind == EventKind::Resolve(ResolveAct::Narrow)
}
