//! Rebuilds the projections from the log.

use rusqlite::Connection;

use super::{Result, Store, StoreProgress, StoreStep, commit, log, open, project::Projector, team, vectors};
use crate::domain::{Hlc, guard_report::PairCheck};

/// The number of events that are projected together.
const BATCH: usize = 1_000;

/// The tables that contain only projections; a table comes before those that it refers to. The vector index is emptied
/// separately and filled again from the vectors, which stay.
pub(super) const DERIVED_TABLES: [&str; 22] = [
    "story_answers",
    "story_due",
    "story_backlog",
    "story_marks",
    "story_links",
    "story_words",
    "story_claims",
    "notices",
    "card_members",
    "card_sources",
    "cards",
    "phrases",
    "postings",
    "terms",
    "causes",
    "live_acts",
    "dependencies",
    "claims",
    "lanes",
    "texts",
    "chunks",
    "chunk_texts",
];

/// The version of the projector. Must be increased whenever the same log gives different tables.
const PROJECTOR_VERSION: u32 = 13;

/// Returns the version of the projections. A store with another version is rebuilt when it is opened.
pub(super) fn version(check: &dyn PairCheck) -> String {
    format!("{PROJECTOR_VERSION}/{}", check.version())
}

impl Store {
    /// Deletes all projections and computes them again from both logs, in one transaction.
    pub fn rebuild(&mut self) -> Result<()> {
        self.rebuild_shown(&mut ())
    }

    /// Rebuilds like [`Store::rebuild`], and reports the progress.
    pub fn rebuild_shown(&mut self, progress: &mut dyn StoreProgress) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        rebuild(&tx, &*self.check, progress)?;
        team::consistency::mend(&tx)?;
        tx.commit()?;
        self.scrub();
        Ok(())
    }
}

/// Rebuilds within the caller's transaction.
pub(super) fn rebuild(db: &Connection, check: &dyn PairCheck, progress: &mut dyn StoreProgress) -> Result<()> {
    progress.at(StoreStep::whole("dropping what was computed"));
    clear(db)?;
    fill(db, check, progress)
}

/// Deletes all projections. After that, events may be removed from the log.
pub(super) fn clear(db: &Connection) -> Result<()> {
    for table in DERIVED_TABLES {
        let sql = match table {
            "texts" => "INSERT INTO texts (texts) VALUES ('delete-all')".to_owned(),
            _ => format!("DELETE FROM {table}"),
        };
        db.execute(&sql, [])?;
    }
    vectors::clear_index(db)?;
    db.execute("DELETE FROM edges WHERE role IN (?1, ?2)", [log::EdgeRole::Card as i64, log::EdgeRole::Pair as i64])?;
    Ok(())
}

/// Computes all projections from the log. The projection tables must be empty.
pub(super) fn fill(db: &Connection, check: &dyn PairCheck, progress: &mut dyn StoreProgress) -> Result<()> {
    db.execute("UPDATE events SET effective = 1", [])?;
    db.execute("UPDATE scopes SET latest = coalesce((SELECT max(wall) FROM events WHERE scope = scopes.n), 0)", [])?;
    // In the order of time, so that cards of past contradictions are found again if possible.
    let mut read = db.prepare("SELECT n FROM events ORDER BY wall, tick, n")?;
    let numbers = read.query_map([], |row| row.get::<_, i64>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    for (batches, batch) in numbers.chunks(BATCH).enumerate() {
        let (done, total) = ((batches * BATCH) as u64, numbers.len() as u64);
        progress.at(StoreStep { doing: "rebuilding claims and cards", unit: "events", done, total });
        let mut projector = Projector::new(db, check)?;
        for n in batch {
            projector.replay(*n);
        }
        projector.finish()?;
    }
    let total = numbers.len() as u64;
    progress.at(StoreStep { doing: "rebuilding claims and cards", unit: "events", done: total, total });
    let clock = match numbers.last() {
        Some(n) => log::load(db, *n)?.header.clock,
        None => Hlc::default(),
    };
    commit::save_clock(db, clock.max(commit::load_clock(db)?))?;
    open::set(db, "derived", version(check))
}
