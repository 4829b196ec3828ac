//! Checks the stored counts and digests of teams against their events.

use rusqlite::Connection;

use super::{Team, ledger, scopes};
use crate::{
    domain::{
        EventId,
        replica::{SetDigest, SetSum},
    },
    store::{Result, log},
};

/// Describes each problem in one sentence: a stored count or digest that differs from the events, or an event in
/// quarantine that cannot be verified.
pub(in crate::store) fn problems(db: &Connection) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut read = db.prepare("SELECT s.n, s.org, s.project, s.events, s.digest FROM team_scopes s ORDER BY s.n")?;
    let mut ids = db.prepare_cached("SELECT id FROM events WHERE shared = ?1")?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let kept: (usize, SetDigest) = (row.get(3)?, SetDigest(row.get(4)?));
        let (mut count, mut sum) = (0, SetSum::default());
        for id in ids.query_map([row.get::<_, i64>(0)?], |row| log::id_at(row, 0))? {
            count += 1;
            sum.add(&id?);
        }
        if kept != (count, sum.digest()) {
            let scope = format!("{}/{}", row.get::<_, String>(1)?, row.get::<_, String>(2)?);
            found.push(format!(
                "the index of the team's scope {scope} differs from the log: run `ergo doctor --rebuild`"
            ));
        }
    }
    let mut read = db.prepare("SELECT id, header, signature, salt, body FROM quarantined")?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let id = EventId(row.get(0)?);
        match log::read_signed(row)? {
            Ok(event) if event.id != id => found.push(format!("event {id} in quarantine does not match its id")),
            Ok(event) => found.extend(event.verify().err().map(|error| format!("in quarantine: {error}"))),
            Err(error) => found.push(format!("event {id} in quarantine: {error}")),
        }
    }
    Ok(found)
}

/// Recomputes the counts and digests of teams' scopes.
pub(in crate::store) fn mend(db: &Connection) -> Result<()> {
    let mut read = db.prepare("SELECT id FROM teams")?;
    let teams = read.query_map([], |row| log::id_at(row, 0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    for id in teams {
        for bound in scopes::of_team(db, Team::find(db, id)?.n)? {
            ledger::recount(db, bound.n)?;
        }
    }
    Ok(())
}
