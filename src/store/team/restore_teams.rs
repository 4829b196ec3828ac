//! Restores what a damaged file lost about teams, from the events.

use rusqlite::{Connection, params};

use super::{Team, apply_roster, scopes};
use crate::{
    domain::{
        DeviceId, Scope,
        replica::SetDigest,
        roster::{Roster, is_roster_scope},
    },
    store::{Result, log},
};

/// The tables that [`restore`] computes again, or that refer to one of them.
pub(in crate::store) const TEAM_TABLES: [&str; 12] = [
    "teams",
    "team_scopes",
    "devices",
    "chains",
    "forks",
    "quarantined",
    "documents",
    "document_chunks",
    "document_entries",
    "peer_documents",
    "peers",
    "invites",
];

/// Restores teams, their scopes and the names of their devices, and deletes rows that refer to what remains lost. The
/// chains must be counted afterwards ([`super::consistency::mend`]), and the next sync fills the documents again. `me`
/// is this device, if its key is known.
pub(in crate::store) fn restore(db: &Connection, me: Option<&DeviceId>) -> Result<()> {
    // The events of a roster share one scope, and all but the first name the team.
    db.execute(
        "INSERT OR IGNORE INTO teams (n, id, joined_at)
         SELECT coalesce((SELECT team FROM team_scopes WHERE n = e.shared),
                         (SELECT team FROM events WHERE shared = e.shared AND team IS NOT NULL LIMIT 1)) AS known,
                e.id, e.received_at
         FROM events e WHERE e.kind = 'roster.create' AND e.shared IS NOT NULL ORDER BY known IS NULL",
        [],
    )?;
    restore_scopes(db)?;
    db.execute_batch(
        "DELETE FROM team_scopes WHERE team NOT IN (SELECT n FROM teams) OR scope NOT IN (SELECT n FROM scopes);
         UPDATE events SET shared = NULL WHERE shared NOT IN (SELECT n FROM team_scopes);
         UPDATE events SET team = NULL WHERE team NOT IN (SELECT n FROM teams);
         UPDATE events SET documented = 0 WHERE documented <> 0;
         DELETE FROM peer_documents;
         DELETE FROM document_entries;
         DELETE FROM document_chunks;
         DELETE FROM documents;
         DELETE FROM chains;
         DELETE FROM forks;
         DELETE FROM quarantined WHERE team NOT IN (SELECT n FROM teams);
         DELETE FROM peers WHERE team NOT IN (SELECT n FROM teams);
         DELETE FROM invites WHERE team NOT IN (SELECT n FROM teams);",
    )?;
    apply_rosters(db, me)
}

/// Binds again the teams' scopes that have events, each to the scope of this device that contains them.
fn restore_scopes(db: &Connection) -> Result<()> {
    let mut read = db.prepare(
        "SELECT DISTINCT shared FROM events WHERE shared IS NOT NULL AND shared NOT IN (SELECT n FROM team_scopes)",
    )?;
    let lost = read.query_map([], |row| row.get::<_, i64>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    // An event that was adopted, or that founds the team, does not name it.
    let mut read = db.prepare(
        "SELECT e.header, e.scope, coalesce(e.team, t.n) AS known FROM events e LEFT JOIN teams t ON t.id = e.id
         WHERE e.shared = ?1 ORDER BY known IS NULL LIMIT 1",
    )?;
    let mut write = db.prepare(
        "INSERT OR IGNORE INTO team_scopes (n, team, org, project, scope, roster, writes, digest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)",
    )?;
    let mut bind = |n: i64, team: i64, name: &Scope, scope: i64| {
        let is_roster = is_roster_scope(name);
        write.execute(params![n, team, name.org_id, name.project, scope, is_roster, SetDigest::default().0])
    };
    let mut all_adopted = Vec::new();
    for n in lost {
        let (name, scope, team) = read.query_row([n], |row| {
            Ok((log::header_at(row, 0)?.scope, row.get::<_, i64>(1)?, row.get::<_, Option<i64>>(2)?))
        })?;
        match team {
            Some(team) => drop(bind(n, team, &name, scope)?),
            None => all_adopted.push((n, name, scope)),
        }
    }
    // The rosters' own scopes are bound by now.
    let rosters = if all_adopted.is_empty() { Vec::new() } else { rosters(db)? };
    for (n, name, scope) in all_adopted {
        if let Some((team, _)) = rosters.iter().find(|(_, roster)| roster.shares(&name)) {
            bind(n, team.n, &name, scope)?;
        }
    }
    Ok(())
}

/// Returns the teams whose roster can be read.
fn rosters(db: &Connection) -> Result<Vec<(Team, Roster)>> {
    let mut read = db.prepare("SELECT id FROM teams")?;
    let teams = read.query_map([], |row| log::id_at(row, 0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut readable = Vec::with_capacity(teams.len());
    for id in teams {
        let team = Team::find(db, id)?;
        match team.roster(db) {
            Ok(roster) => readable.push((team, roster)),
            Err(error) if error.is_damage() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(readable)
}

/// Stores again what follows from the teams' rosters: names, bindings of scopes without events, and whether this device
/// has left.
fn apply_rosters(db: &Connection, me: Option<&DeviceId>) -> Result<()> {
    let now: i64 = db.query_row("SELECT coalesce(max(received_at), 0) FROM events", [], |row| row.get(0))?;
    for (team, roster) in rosters(db)? {
        scopes::name_devices(db, &roster)?;
        match me {
            // The caller rebuilds the projections.
            Some(me) if team.left_at.is_none() && roster.is_member(me) => {
                scopes::bind_all(db, &team, &roster, me)?;
            }
            Some(_) if team.left_at.is_none() => apply_roster::leave(db, &team, now.unsigned_abs())?,
            _ => {}
        }
    }
    Ok(())
}
