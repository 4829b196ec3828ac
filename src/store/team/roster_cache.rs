//! Keeps the rosters that were computed last: each import and each session needs one, and they rarely change.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::Connection;

use super::Team;
use crate::{
    domain::{EventId, Roster},
    store::{Result, log},
};

/// The rosters of the teams of a store, each with the events that it was computed from.
#[derive(Debug, Default)]
pub(in crate::store) struct RosterCache(Mutex<HashMap<EventId, (RosterEvents, Arc<Roster>)>>);

/// The roster events of a team, in the order of arrival, and whether each has its body.
type RosterEvents = Vec<(EventId, bool)>;

impl RosterCache {
    /// Returns the roster of a team, which is computed only if its events have changed.
    pub(super) fn get(&self, db: &Connection, team: &Team) -> Result<Arc<Roster>> {
        let events = events_of(db, team)?;
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&team.id).cloned();
        if let Some((known, roster)) = cached
            && known == events
        {
            return Ok(roster);
        }
        let roster = Arc::new(team.roster(db)?);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(team.id, (events, roster.clone()));
        Ok(roster)
    }
}

fn events_of(db: &Connection, team: &Team) -> Result<RosterEvents> {
    let mut read = db.prepare_cached(
        "SELECT e.id, e.body IS NOT NULL FROM team_scopes t JOIN events e ON e.shared = t.n
         WHERE t.team = ?1 AND t.roster = 1 ORDER BY e.n",
    )?;
    let rows = read.query_map([team.n], |row| Ok((log::id_at(row, 0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ed25519_dalek::SigningKey;

    use super::RosterCache;
    use crate::{
        domain::{OpId, roster::RosterChange},
        store::{
            RosterDraft, Store, StoreOptions, open,
            team::{Team, roster::NoPairs},
        },
    };

    #[test]
    fn a_roster_is_computed_again_only_after_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let (path, key) = (folder.path().join("ergo.db"), SigningKey::from_bytes(&[7; 32]));
        let mut store = Store::open_with(&path, key, Arc::new(NoPairs), StoreOptions { durable: false }).unwrap();
        let mut change = |team, n, change| {
            let (who, op) = ("ada".into(), OpId([n; 16]));
            let draft = RosterDraft { team, change, reason: None, who, agent: None, op, now: 1_700_000_000_000 };
            store.commit_roster(draft).unwrap().0
        };
        let (person, device_name) = ("ada".into(), "laptop".into());
        let team = change(None, 1, RosterChange::Create { name: "one".into(), person, device_name });
        let db = open::reader(&path).unwrap();
        let cache = RosterCache::default();
        let get = || cache.get(&db, &Team::find(&db, team).unwrap()).unwrap();
        let first = get();
        assert!(Arc::ptr_eq(&first, &get()) && first.name() == "one");
        change(Some(team), 2, RosterChange::Rename { device: None, name: "two".into() });
        assert_eq!(get().name(), "two");
    }
}
