//! Agents, by what they wrote: counted from the log.

use rusqlite::params;

use crate::{
    domain::Scope,
    store::{AgentRow, Reader, Result, log},
};

impl Reader {
    /// Every agent with each person for whom it wrote something, in a scope or everywhere. Goes through the events once.
    pub fn agents(&self, scope: Option<&Scope>) -> Result<Vec<AgentRow>> {
        let scope = match scope {
            Some(scope) => match log::known_scope(&self.db, scope)? {
                Some(scope) => Some(scope),
                None => return Ok(Vec::new()),
            },
            None => None,
        };
        let mut read = self.db.prepare_cached(
            "SELECT agent, who, count(DISTINCT iif(kind LIKE 'local.%', NULL, op)), sum(kind = 'local.refused'),
                min(wall), max(wall)
             FROM events WHERE agent IS NOT NULL AND agent <> '' AND (?1 IS NULL OR scope = ?1)
             GROUP BY agent, who ORDER BY agent, who",
        )?;
        let rows = read.query_map(params![scope], |row| {
            Ok(AgentRow {
                agent: row.get(0)?,
                who: row.get(1)?,
                wrote: row.get(2)?,
                refused: row.get(3)?,
                first: row.get::<_, i64>(4)?.unsigned_abs(),
                last: row.get::<_, i64>(5)?.unsigned_abs(),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
