//! Counts what each agent wrote, from the log; each event is read once.

use std::collections::BTreeMap;

use rusqlite::params;

use crate::{
    domain::Scope,
    store::{AgentRow, Reader, Result, log},
};

/// Counts of what agents wrote, up to an event. [`Reader::agents`] adds later events.
#[derive(Clone, Debug, Default)]
pub struct AgentTally {
    /// By scope (`None` for all together), agent and person.
    rows: BTreeMap<(Option<i64>, String, String), AgentRow>,
    /// The row number of the last event that was counted.
    seen: i64,
    /// The value of [`log::move_count`] when it was counted.
    move_count: i64,
}

/// An event by an agent.
struct Written {
    n: i64,
    scope: i64,
    agent: String,
    who: String,
    at: u64,
    refused: bool,
    /// Whether this is the first event of its act in the shared log: within its scope, and within all scopes.
    first: [bool; 2],
}

impl AgentTally {
    fn add(&mut self, event: &Written) {
        for (scope, first) in [Some(event.scope), None].into_iter().zip(event.first) {
            let key = (scope, event.agent.clone(), event.who.clone());
            let row = self.rows.entry(key).or_insert_with(|| AgentRow {
                agent: event.agent.clone(),
                who: event.who.clone(),
                wrote: 0,
                refused: 0,
                first: event.at,
                last: event.at,
            });
            row.wrote += usize::from(first);
            row.refused += usize::from(event.refused);
            (row.first, row.last) = (row.first.min(event.at), row.last.max(event.at));
        }
        self.seen = event.n;
    }
}

impl Reader {
    /// Returns every agent with each person for whom it wrote something, in a scope or everywhere. Reads only the
    /// events since the tally; all events if some have left the log since then.
    pub fn agents(&self, tally: &mut AgentTally, scope: Option<&Scope>) -> Result<Vec<AgentRow>> {
        self.snapshot(|reader| {
            let Some(log::WantedScope(scope)) = log::wanted_scope(&reader.db, scope)? else {
                return Ok(Vec::new());
            };
            reader.count_agents(tally)?;
            let own = tally.rows.iter().filter(|((of, ..), _)| *of == scope);
            Ok(own.map(|(_, row)| row.clone()).collect())
        })
    }

    fn count_agents(&self, tally: &mut AgentTally) -> Result<()> {
        let move_count = log::move_count(&self.db)?;
        if move_count != tally.move_count {
            *tally = AgentTally { move_count, ..AgentTally::default() };
        }
        let mut read = self.db.prepare_cached(
            "SELECT e.n, e.scope, e.agent, e.who, e.wall, e.kind = 'local.refused',
                e.kind NOT LIKE 'local.%' AND NOT EXISTS (
                    SELECT 1 FROM events f WHERE f.op = e.op AND f.n < e.n AND f.agent = e.agent AND f.who = e.who
                    AND f.kind NOT LIKE 'local.%' AND f.scope = e.scope),
                e.kind NOT LIKE 'local.%' AND NOT EXISTS (
                    SELECT 1 FROM events f WHERE f.op = e.op AND f.n < e.n AND f.agent = e.agent AND f.who = e.who
                    AND f.kind NOT LIKE 'local.%')
             FROM events e WHERE e.n > ?1 AND e.agent IS NOT NULL AND e.agent <> '' ORDER BY e.n",
        )?;
        let last: i64 = self.db.query_row("SELECT coalesce(max(n), 0) FROM events", [], |row| row.get(0))?;
        let written = read.query_map(params![tally.seen], |row| {
            Ok(Written {
                n: row.get(0)?,
                scope: row.get(1)?,
                agent: row.get(2)?,
                who: row.get(3)?,
                at: row.get::<_, i64>(4)?.unsigned_abs(),
                refused: row.get(5)?,
                first: [row.get(6)?, row.get(7)?],
            })
        })?;
        for event in written {
            tally.add(&event?);
        }
        tally.seen = last;
        Ok(())
    }
}
