//! Binds each scope of a team to a scope of this device.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Team, sync_rows::TeamScopeRow};
use crate::{
    domain::{DeviceId, EventId, Roster, Scope, replica::SetDigest, roster::TeamScope},
    store::{Reader, Result, StoreError, log, scopes as local},
};

/// The number of names `name-2`, `name-3`, … that are tried.
const MAX_NAMESAKES: usize = 1000;

/// The team's scope that a scope of this device is bound to.
#[derive(Clone, Debug)]
pub(in crate::store) struct TeamBinding {
    /// The row number of the team's scope.
    pub(in crate::store) n: i64,
    /// The row number of the team.
    pub(in crate::store) team: i64,
    /// The id of the team.
    pub(in crate::store) id: EventId,
    /// The scope's name in the team.
    pub(in crate::store) name: Scope,
    /// Whether the team accepts what this device writes in the scope.
    pub(in crate::store) writes: bool,
}

/// Returns the binding of a scope of this device to a team that it has not left.
pub(in crate::store) fn binding(db: &Connection, scope: i64) -> Result<Option<TeamBinding>> {
    let mut read = db.prepare_cached(
        "SELECT s.n, s.team, t.id, s.org, s.project, s.writes FROM team_scopes s JOIN teams t ON t.n = s.team
         WHERE s.scope = ?1 AND s.roster = 0 AND t.left_at IS NULL",
    )?;
    let found = read.query_row([scope], |row| {
        Ok(TeamBinding {
            n: row.get(0)?,
            team: row.get(1)?,
            id: log::id_at(row, 2)?,
            name: Scope { org_id: row.get(3)?, project: row.get(4)? },
            writes: row.get(5)?,
        })
    });
    Ok(found.optional()?)
}

/// A scope of a team with its row numbers.
#[derive(Clone, Debug)]
pub(super) struct BoundTeamScope {
    pub(super) n: i64,
    /// The row number of the scope on this device.
    pub(super) scope: i64,
    /// The scope's name in the team.
    pub(super) name: Scope,
    pub(super) is_roster: bool,
}

/// Returns the scopes of a team that are bound on this device.
pub(super) fn of_team(db: &Connection, team: i64) -> Result<Vec<BoundTeamScope>> {
    let mut read =
        db.prepare_cached("SELECT n, scope, org, project, roster FROM team_scopes WHERE team = ?1 ORDER BY n")?;
    let rows = read.query_map([team], |row| {
        Ok(BoundTeamScope {
            n: row.get(0)?,
            scope: row.get(1)?,
            name: Scope { org_id: row.get(2)?, project: row.get(3)? },
            is_roster: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Binds the roster's scope, and the unbound scopes that this device may read; stores where it may write.
pub(super) fn bind_all(db: &Connection, team: &Team, roster: &Roster, me: &DeviceId) -> Result<()> {
    let bound = of_team(db, team.n)?;
    if bound.iter().all(|known| !known.is_roster) {
        insert(db, team, roster.scope(), log::scope_number(db, roster.scope())?, true)?;
    }
    for shared in roster.scopes().filter(|shared| roster.may_read(me, &shared.scope)) {
        if bound.iter().all(|known| known.name != shared.scope) {
            let scope = bind_free_scope(db, shared)?;
            insert(db, team, &shared.scope, scope, false)?;
        }
    }
    let mut write = db.prepare_cached("UPDATE team_scopes SET writes = ?2 WHERE n = ?1 AND writes <> ?2")?;
    for known in of_team(db, team.n)? {
        write.execute(params![known.n, known.is_roster || roster.may_write(me, &known.name)])?;
    }
    Ok(())
}

pub(super) fn insert(db: &Connection, team: &Team, name: &Scope, scope: i64, roster: bool) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO team_scopes (team, org, project, scope, roster, writes, digest)
         VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6)",
    )?
    .execute(params![team.n, name.org_id, name.project, scope, roster, SetDigest::default().0])?;
    Ok(())
}

/// Stores the names that a roster gives its devices.
pub(super) fn name_devices(db: &Connection, roster: &Roster) -> Result<()> {
    let mut write = db.prepare_cached("INSERT OR REPLACE INTO devices (device, name, person) VALUES (?1, ?2, ?3)")?;
    for member in roster.members() {
        write.execute(params![member.device.0, member.name, member.person])?;
    }
    Ok(())
}

/// Finds and binds the scope of this device for a team's scope: that of the same name, or `name-2`, … if it is bound to
/// another identity or team.
fn bind_free_scope(db: &Connection, shared: &TeamScope) -> Result<i64> {
    let mut read = db.prepare_cached("SELECT 1 FROM team_scopes WHERE scope = ?1")?;
    let mut name = shared.scope.clone();
    for number in 2..=MAX_NAMESAKES {
        let here = local::scope_for(db, &name, shared.identity.as_deref())?;
        // `scope_for` returned another name because this one is bound to another identity.
        let taken = here != name
            || match log::known_scope(db, &here)? {
                Some(n) => read.exists([n])?,
                None => false,
            };
        if !taken {
            break;
        }
        name.project = format!("{}-{number}", shared.scope.project);
    }
    let name = local::bind(db, &name, shared.identity.as_deref())?;
    log::scope_number(db, &name)
}

/// Binds a team's scope to another scope of this device, moves the team's events there, and returns their number.
pub(super) fn rebind(db: &Connection, team: &Team, name: &Scope, to: &Scope) -> Result<usize> {
    let bound = of_team(db, team.n)?
        .into_iter()
        .find(|bound| bound.name == *name && !bound.is_roster)
        .ok_or_else(|| StoreError::NotShared { scope: name.clone(), team: team.id })?;
    if to.is_reserved() {
        return Err(StoreError::Scope(crate::domain::scope::RESERVED));
    }
    let scope = log::scope_number(db, to)?;
    if scope == bound.scope {
        return Ok(0);
    }
    if db.prepare_cached("SELECT 1 FROM team_scopes WHERE scope = ?1")?.exists([scope])? {
        return Err(StoreError::Bound(to.clone()));
    }
    db.prepare_cached("UPDATE team_scopes SET scope = ?2 WHERE n = ?1")?.execute([bound.n, scope])?;
    log::record_move(db)?;
    let written = db.prepare_cached("UPDATE events SET scope = ?2 WHERE scope = ?1 AND team = ?3")?.execute([
        bound.scope,
        scope,
        team.n,
    ])?;
    let adopted = db
        .prepare_cached("UPDATE events SET scope = ?2 WHERE shared = ?1 AND scope <> ?2")?
        .execute([bound.n, scope])?;
    Ok(written + adopted)
}

impl Reader {
    /// Returns the scopes of a team that are bound on this device: those that it may read, and the roster's.
    pub fn team_scopes(&self, team: &EventId) -> Result<Vec<TeamScopeRow>> {
        let mut read = self.db.prepare_cached(
            "SELECT s.org, s.project, l.org, l.project, l.identity, s.roster, s.writes, s.events, s.digest,
                (SELECT count(*) FROM quarantined q
                 WHERE q.team = s.team AND q.org = s.org AND q.project = s.project AND q.discarded = 0)
             FROM team_scopes s JOIN teams t ON t.n = s.team JOIN scopes l ON l.n = s.scope
             WHERE t.id = ?1 ORDER BY s.org, s.project",
        )?;
        let rows = read.query_map([team.0], |row| {
            Ok(TeamScopeRow {
                scope: Scope { org_id: row.get(0)?, project: row.get(1)? },
                local: Scope { org_id: row.get(2)?, project: row.get(3)? },
                identity: row.get(4)?,
                is_roster: row.get(5)?,
                writes: row.get(6)?,
                events: row.get(7)?,
                digest: SetDigest(row.get(8)?),
                quarantined: row.get(9)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the team that a scope of this device belongs to, and the scope's name there.
    pub fn team_of(&self, scope: &Scope) -> Result<Option<(EventId, Scope)>> {
        let Some(n) = log::known_scope(&self.db, scope)? else { return Ok(None) };
        Ok(binding(&self.db, n)?.map(|binding| (binding.id, binding.name)))
    }

    /// Returns the number of events that a team shares in a scope, and the digest of their ids.
    pub fn set(&self, team: &EventId, scope: &Scope) -> Result<(usize, SetDigest)> {
        let mut read = self.db.prepare_cached("SELECT events, digest FROM team_scopes WHERE n = ?1")?;
        match super::bound(&self.db, team, scope)? {
            Some(n) => Ok(read.query_row([n], |row| Ok((row.get(0)?, SetDigest(row.get(1)?))))?),
            None => Ok((0, SetDigest::default())),
        }
    }
}
