//! Binds each scope of a team to a scope of this device.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::{Team, sync_rows::TeamScopeRow};
use crate::{
    domain::{
        DeviceId, EventId, Roster, Scope,
        replica::{Chain, SetDigest},
        roster::TeamScope,
    },
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
///
/// A device that left may have events of a scope: the scope is bound to where they are. Returns the number of events
/// that had to be moved; if there are any, the projections must be rebuilt.
pub(super) fn bind_all(db: &Connection, team: &Team, roster: &Roster, me: &DeviceId) -> Result<usize> {
    let bound = of_team(db, team.n)?;
    if bound.iter().all(|known| !known.is_roster) {
        insert(db, team, roster.scope(), log::scope_number(db, roster.scope())?, true)?;
    }
    let may_read = |shared: &&TeamScope| roster.may_read(me, &shared.scope);
    let is_unbound = |shared: &&TeamScope| bound.iter().all(|known| known.name != shared.scope);
    let unbound: Vec<&TeamScope> = roster.scopes().filter(may_read).filter(is_unbound).collect();
    let mut moved = 0;
    if !unbound.is_empty() {
        let mut unshared = unshared_events(db, team)?;
        for shared in unbound {
            let mut events = unshared.remove(&shared.scope).unwrap_or_default();
            add_adopted_events(db, roster, &shared.scope, &mut events)?;
            let scope = bind_scope_for(db, shared, &events)?;
            insert(db, team, &shared.scope, scope, false)?;
            moved += move_events(db, &events, scope)?;
        }
    }
    let mut write = db.prepare_cached("UPDATE team_scopes SET writes = ?2 WHERE n = ?1 AND writes <> ?2")?;
    for known in of_team(db, team.n)? {
        write.execute(params![known.n, known.is_roster || roster.may_write(me, &known.name)])?;
    }
    Ok(moved)
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

/// The row numbers of events, by the row number of the scope of this device that contains them.
type EventsByScope = BTreeMap<i64, Vec<i64>>;

/// Returns the events in the log that name a team and are not shared with it, by the team's name of their scope: what
/// this device received or wrote before it left the team, or wrote without the permission.
fn unshared_events(db: &Connection, team: &Team) -> Result<BTreeMap<Scope, EventsByScope>> {
    // This index contains all of the columns, so that no event is read.
    let mut read =
        db.prepare_cached("SELECT DISTINCT scope FROM events INDEXED BY events_chain WHERE team = ?1 AND log = 0")?;
    let scopes = read.query_map([team.n], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    let mut read = db
        .prepare_cached("SELECT header, n FROM events WHERE scope = ?1 AND team = ?2 AND log = 0 AND shared IS NULL")?;
    let mut found: BTreeMap<Scope, EventsByScope> = BTreeMap::new();
    for scope in scopes {
        let mut rows = read.query([scope, team.n])?;
        while let Some(row) = rows.next()? {
            let name = log::header_at(row, 0)?.scope;
            found.entry(name).or_default().entry(scope).or_default().push(row.get(1)?);
        }
    }
    Ok(found)
}

/// Adds the unshared events of a scope that the team adopted: what was written before the scope belonged to the team.
fn add_adopted_events(db: &Connection, roster: &Roster, name: &Scope, events: &mut EventsByScope) -> Result<()> {
    let mut home = db.prepare_cached("SELECT scope FROM events WHERE id = ?1 AND log = 0 AND shared IS NULL")?;
    let mut read = db.prepare_cached(
        "SELECT n, id, seq, header FROM events
         WHERE author = ?1 AND epoch = ?2 AND scope = ?3 AND log = 0 AND team IS NULL AND shared IS NULL",
    )?;
    for (_, head) in roster.adopted().filter(|(scope, _)| *scope == name) {
        let Some(scope) = home.query_row([head.id.0], |row| row.get::<_, i64>(0)).optional()? else { continue };
        let admission = roster.admission(name, &Chain { author: head.author, epoch: head.epoch, adopted: true });
        let mut rows = read.query(params![head.author.0, head.epoch.cast_signed(), scope])?;
        while let Some(row) = rows.next()? {
            let (id, seq) = (log::id_at(row, 1)?, row.get::<_, i64>(2)?.cast_unsigned());
            if admission.of(seq, &id).is_ok() && log::header_at(row, 3)?.scope == *name {
                events.entry(scope).or_default().push(row.get(0)?);
            }
        }
    }
    Ok(())
}

/// Moves events into a scope of this device, and returns the number of those that were not there.
fn move_events(db: &Connection, events: &EventsByScope, to: i64) -> Result<usize> {
    let mut write = db.prepare_cached("UPDATE events SET scope = ?2 WHERE n = ?1")?;
    let mut moved = 0;
    for n in events.iter().filter(|(scope, _)| **scope != to).flat_map(|(_, events)| events) {
        moved += write.execute([*n, to])?;
    }
    if moved > 0 {
        log::record_move(db)?;
    }
    Ok(moved)
}

fn is_bound(db: &Connection, scope: i64) -> Result<bool> {
    Ok(db.prepare_cached("SELECT 1 FROM team_scopes WHERE scope = ?1")?.exists([scope])?)
}

/// Finds and binds the scope of this device for a team's scope: that which contains events of it, or else one of the
/// same name. Returns its row number.
fn bind_scope_for(db: &Connection, shared: &TeamScope, events: &EventsByScope) -> Result<i64> {
    let name = free_name(db, shared)?;
    let known = log::known_scope(db, &name)?;
    if known.is_none_or(|n| !events.contains_key(&n)) {
        for scope in events.keys() {
            if !is_bound(db, *scope)? {
                return Ok(*scope);
            }
        }
    }
    let name = local::bind(db, &name, shared.identity.as_deref())?;
    log::scope_number(db, &name)
}

/// Returns the name of the scope of this device for a team's scope: the same name, or `name-2`, … if that is bound to
/// another identity or team.
fn free_name(db: &Connection, shared: &TeamScope) -> Result<Scope> {
    let mut name = shared.scope.clone();
    for number in 2..=MAX_NAMESAKES {
        let here = local::scope_for(db, &name, shared.identity.as_deref())?;
        // `scope_for` returned another name because this one is bound to another identity.
        let taken = here != name
            || match log::known_scope(db, &here)? {
                Some(n) => is_bound(db, n)?,
                None => false,
            };
        if !taken {
            break;
        }
        name.project = format!("{}-{number}", shared.scope.project);
    }
    Ok(name)
}

/// Binds a team's scope to another scope of this device, moves the team's events there, and returns their number.
/// Returns `None` if it was bound to that scope already.
pub(super) fn rebind(
    db: &Connection,
    team: &Team,
    roster: &Roster,
    name: &Scope,
    to: &Scope,
) -> Result<Option<(BoundTeamScope, usize)>> {
    let bound = of_team(db, team.n)?
        .into_iter()
        .find(|bound| bound.name == *name && !bound.is_roster)
        .ok_or_else(|| StoreError::NotShared { scope: name.clone(), team: team.id })?;
    if to.is_reserved() {
        return Err(StoreError::Scope(crate::domain::scope::RESERVED));
    }
    let scope = log::scope_number(db, to)?;
    if scope == bound.scope {
        return Ok(None);
    }
    if is_bound(db, scope)? {
        return Err(StoreError::Bound(to.clone()));
    }
    db.prepare_cached("UPDATE team_scopes SET scope = ?2 WHERE n = ?1")?.execute([bound.n, scope])?;
    let shared = db.prepare_cached("UPDATE events SET scope = ?2 WHERE shared = ?1")?.execute([bound.n, scope])?;
    if shared > 0 {
        log::record_move(db)?;
    }
    let mut unshared = unshared_events(db, team)?.remove(name).unwrap_or_default();
    add_adopted_events(db, roster, name, &mut unshared)?;
    let moved = shared + move_events(db, &unshared, scope)?;
    Ok(Some((BoundTeamScope { scope, ..bound }, moved)))
}

impl Reader {
    /// Returns the scopes of a team that are bound on this device: those that it may read, and the roster's.
    pub fn team_scopes(&self, team: &EventId) -> Result<Vec<TeamScopeRow>> {
        let mut read = self.db.prepare_cached(
            "SELECT s.org, s.project, l.org, l.project, l.identity, s.roster, s.writes, s.events, s.digest
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
