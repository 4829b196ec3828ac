//! Counts the recent events of other devices, and the events of each peer in quarantine.

use std::collections::BTreeMap;

use rusqlite::params;

use super::Team;
use crate::{
    domain::{DeviceId, EventId},
    store::{Reader, Result, log},
};

/// The most recently received events that are read.
const MAX_EVENTS_READ: usize = 20_000;

/// An hour, in milliseconds.
const HOUR: i64 = 60 * 60 * 1000;

/// A device that writes unusually many events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyAuthor {
    pub device: DeviceId,
    /// The number of its recently received events that fall into one hour of its clock; the largest such number.
    pub events: u64,
}

impl Reader {
    /// Returns the devices of which more than `most` events with clocks in the same hour arrived since `since`, in
    /// milliseconds since the Unix epoch. Years of history that arrive at once are not counted as one hour.
    ///
    /// Reads the log backwards until it meets an event that arrived earlier, which usually is at once.
    pub fn busy_authors(&self, team: &EventId, since: u64, most: u64) -> Result<Vec<BusyAuthor>> {
        let Some(team) = Team::known(&self.db, *team)? else { return Ok(Vec::new()) };
        let mut read = self.db.prepare_cached(
            "SELECT received_at, author, wall / ?1, received_from IS NOT NULL AND team IS ?2 FROM events ORDER BY n DESC LIMIT ?3",
        )?;
        let mut rows = read.query(params![HOUR, team.n, MAX_EVENTS_READ])?;
        let mut counts: BTreeMap<(DeviceId, i64), u64> = BTreeMap::new();
        let since = log::wall(since);
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(0)? < since {
                break;
            }
            if row.get(3)? {
                *counts.entry((DeviceId(row.get(1)?), row.get(2)?)).or_default() += 1;
            }
        }
        let mut busy: BTreeMap<DeviceId, u64> = BTreeMap::new();
        for ((device, _), events) in counts {
            if events > most {
                let known = busy.entry(device).or_default();
                *known = events.max(*known);
            }
        }
        Ok(busy.into_iter().map(|(device, events)| BusyAuthor { device, events }).collect())
    }

    /// Counts a team's undiscarded events in quarantine by the device that delivered them; `None` for files.
    pub fn quarantined_by(&self, team: &EventId) -> Result<BTreeMap<Option<DeviceId>, usize>> {
        let mut read = self.db.prepare_cached(
            "SELECT q.received_from, count(*) FROM quarantined q JOIN teams t ON t.n = q.team
             WHERE t.id = ?1 AND q.discarded = 0 GROUP BY q.received_from",
        )?;
        let rows =
            read.query_map([team.0], |row| Ok((row.get::<_, Option<[u8; 32]>>(0)?.map(DeviceId), row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
