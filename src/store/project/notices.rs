//! Maintains the table of notices: what a person should review.

use rusqlite::{Connection, params};

use super::Projector;
use crate::{
    domain::{derive, derive::local},
    store::{
        Result,
        log::{self, LoadedEvent},
    },
};

/// Selects the rows of the table `notices` as they follow from the log and the present claims: row number, scope,
/// whether it is a warning, claim, state.
const NOTICES: &str = "SELECT e.n, e.scope, e.kind = 'local.warned', c.n,
        CASE
            WHEN e.effective = 0 THEN 0
            WHEN c.status IS NOT CASE e.kind WHEN 'local.retracted' THEN 2 ELSE 0 END THEN 1
            WHEN EXISTS (
                SELECT 1 FROM edges s JOIN events seen ON seen.n = s.src AND seen.kind = 'local.seen' AND seen.effective = 1
                WHERE s.dst = e.id AND s.role = 0) THEN 1
            ELSE 2
        END
     FROM events e
     LEFT JOIN edges t ON t.src = e.n AND t.role = 0 AND t.ord = 0
     LEFT JOIN claims c ON c.id = t.dst";

impl Projector<'_> {
    /// Marks as dirty the notice that an event creates, or the notices that it marks as seen.
    pub(super) fn mark_notices(&mut self, event: &LoadedEvent) -> Result<()> {
        if derive::is_notice(&event.kind) {
            self.dirty.notices.insert(event.n);
        } else if derive::is_local_kind(&event.kind, local::SEEN) {
            for target in &event.header.targets {
                if let Some(notice) = log::load_id(self.db, target)?.filter(|notice| derive::is_notice(&notice.kind)) {
                    self.dirty.notices.insert(notice.n);
                }
            }
        }
        Ok(())
    }

    /// Writes the notices that may have changed, including those about claims that are new or changed their status.
    pub(super) fn update_notices(&mut self) -> Result<()> {
        let mut about = self.db.prepare_cached("SELECT n FROM notices WHERE claim = ?1")?;
        for claim in &self.dirty.status_changed {
            for notice in about.query_map([claim], |row| row.get::<_, i64>(0))? {
                self.dirty.notices.insert(notice?);
            }
        }
        let mut write = self.db.prepare_cached(&format!(
            "INSERT INTO notices (n, scope, warned, claim, state) {NOTICES} WHERE e.n = ?1
             ON CONFLICT (n) DO UPDATE SET claim = excluded.claim, state = excluded.state"
        ))?;
        for n in std::mem::take(&mut self.dirty.notices) {
            write.execute([n])?;
        }
        Ok(())
    }

    /// Deletes the notice of an event that leaves the log.
    pub(super) fn drop_notice(&mut self, event: &LoadedEvent) -> Result<()> {
        self.db.prepare_cached("DELETE FROM notices WHERE n = ?1")?.execute([event.n])?;
        Ok(())
    }
}

/// Counts the notices that differ from what the log says.
pub(in crate::store) fn wrong_notices(db: &Connection) -> Result<usize> {
    let kept = "SELECT n, scope, warned, claim, state FROM notices";
    let due = format!("{NOTICES} WHERE e.kind IN ('local.warned', 'local.forced', 'local.retracted')");
    let count =
        format!("SELECT (SELECT count(*) FROM ({kept} EXCEPT {due})) + (SELECT count(*) FROM ({due} EXCEPT {kept}))");
    Ok(db.query_row(&count, params![], |row| row.get(0))?)
}
