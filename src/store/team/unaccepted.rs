//! Finds the events that this device wrote in the scopes of a team and that the team does not accept: they stay on this
//! device.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Reader, Result, Team, scopes, sync_rows::UnacceptedEvents};
use crate::{
    domain::{DeviceId, EventId, Roster, replica::Chain},
    store::log,
};

impl Reader {
    /// Counts the events that `me`, this device, wrote in scopes of a team and that the team does not accept, by scope
    /// and reason.
    ///
    /// The cost depends on the number of this device's chains and of unaccepted events, and not on that of shared
    /// events: only events after the accepted part are read.
    pub fn kept_back(&self, team: &EventId, roster: &Roster, me: &DeviceId) -> Result<Vec<UnacceptedEvents>> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let Some(team) = Team::known(db, *team)?.filter(|team| team.left_at.is_none()) else {
                return Ok(Vec::new());
            };
            let epochs = epochs(db, me)?;
            let mut found: Vec<UnacceptedEvents> = Vec::new();
            for bound in scopes::of_team(db, team.n)?.into_iter().filter(|bound| !bound.is_roster) {
                for (epoch, adopted) in epochs.iter().flat_map(|epoch| [(*epoch, true), (*epoch, false)]) {
                    let chain = Chain { author: *me, epoch: epoch.cast_unsigned(), adopted };
                    let admission = roster.admission(&bound.name, &chain);
                    let Some(refusal) = admission.refusal else { continue };
                    let first = admission.upto.last().map_or(0, |(seq, _)| seq + 1);
                    let number = (!adopted).then_some(team.n);
                    let events = count_unshared(db, me, (epoch, bound.scope, number), first.cast_signed())?;
                    match found.iter_mut().find(|kept| kept.scope == bound.name && kept.refusal == refusal) {
                        _ if events == 0 => {}
                        Some(kept) => kept.events += events,
                        None => {
                            let local = log::scope_by_number(db, bound.scope)?;
                            found.push(UnacceptedEvents { scope: bound.name.clone(), local, refusal, events });
                        }
                    }
                }
            }
            Ok(found)
        })
    }
}

/// Returns the epochs in which a device wrote: one, unless its store was copied. Each is found by an index seek, so
/// that no events are read.
fn epochs(db: &Connection, author: &DeviceId) -> Result<Vec<i64>> {
    let mut read =
        db.prepare_cached("SELECT epoch FROM events WHERE author = ?1 AND epoch > ?2 ORDER BY epoch LIMIT 1")?;
    let mut first = db.prepare_cached("SELECT epoch FROM events WHERE author = ?1 ORDER BY epoch LIMIT 1")?;
    let mut next: Option<i64> = first.query_row([author.0], |row| row.get(0)).optional()?;
    let mut found = Vec::new();
    while let Some(epoch) = next {
        found.push(epoch);
        next = read.query_row(params![author.0, epoch], |row| row.get(0)).optional()?;
    }
    Ok(found)
}

/// Counts the unshared events of a chain from a sequence number on.
fn count_unshared(
    db: &Connection,
    author: &DeviceId,
    (epoch, scope, team): (i64, i64, Option<i64>),
    first: i64,
) -> Result<usize> {
    let mut read = db.prepare_cached(
        "SELECT count(*) FROM events WHERE author = ?1 AND epoch = ?2 AND scope = ?3 AND log = 0 AND team IS ?4
         AND seq >= ?5 AND shared IS NULL",
    )?;
    Ok(read.query_row(params![author.0, epoch, scope, team, first], |row| row.get(0))?)
}
