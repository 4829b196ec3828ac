//! Recovers a damaged file: copies what cannot be computed again into a new file, and computes the rest from it.
//!
//! Damage to an index or a projection then costs nothing: the copy reads whole tables, never an index. SQLite could
//! neither empty nor drop an index of which a page is unreadable. Of a table without which the store works, only the
//! unreadable rows are lost.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, ErrorCode};

use super::{
    Result, SCHEMA, Store, StoreError, StoreProgress, StoreStep, error, file, open, past, rebuild, team, vectors,
};
use crate::{
    domain::{DeviceId, guard_report::PairCheck},
    files::{self, DraftFile},
};

/// Tables that may be copied in part: what is missing is computed again in the background.
const VECTOR_TABLES: [&str; 3] = ["vectors", "reason_vectors", "vectors_next"];

/// A table without which the store works.
struct ReplaceableTable {
    name: &'static str,
    content: &'static str,
    /// What to do if a part of it is lost.
    advice: &'static str,
}

const TEAM_ADVICE: &str = "it was computed again from the events; if `ergo sync status` lacks a team or a scope, ask an \
    admin for an invitation and join again: `ergo sync join`";
const DONE_ADVICE: &str = "it was computed again from the events";
const SYNC_ADVICE: &str = "the next sync computes it again";

/// The tables without which the store works. The others, besides projections and vectors, are the log.
const REPLACEABLE_TABLES: [ReplaceableTable; 18] = [
    ReplaceableTable {
        name: "settings",
        content: "the progress of background work, and what `ergo calibrate` measured",
        advice: "background work begins again; repeat `ergo calibrate` if you have used it",
    },
    ReplaceableTable { name: "teams", content: "the teams of this device", advice: TEAM_ADVICE },
    ReplaceableTable { name: "team_scopes", content: "the scopes of teams", advice: TEAM_ADVICE },
    ReplaceableTable { name: "devices", content: "the names of the devices of teams", advice: TEAM_ADVICE },
    ReplaceableTable {
        name: "quarantined",
        content: "events that a team does not accept",
        advice: "a device that still has them sends them again",
    },
    ReplaceableTable {
        name: "peers",
        content: "the addresses of other devices",
        advice: "they are found again on the local network; to name one: `ergo sync address`",
    },
    ReplaceableTable {
        name: "invites",
        content: "invitations that are not answered yet",
        advice: "make a new one for each device that has not joined: `ergo sync invite`",
    },
    ReplaceableTable {
        name: "requests",
        content: "marks of writes that were already done",
        advice: "before you repeat a write that got no answer, look with `ergo log` whether it was stored",
    },
    ReplaceableTable {
        name: "readings",
        content: "what a language model read in statements",
        advice: "the model reads them again when it is needed",
    },
    ReplaceableTable {
        name: "doubts",
        content: "pairs of claims that wait for a verdict",
        advice: "`ergo audit` finds contradictions again",
    },
    ReplaceableTable {
        name: "contacts",
        content: "the addresses that this device contacted",
        advice: "the list of `ergo doctor` is incomplete from now on",
    },
    ReplaceableTable {
        name: "peer_progress",
        content: "what other devices have received in bundles",
        advice: "the next bundles contain more than they must",
    },
    ReplaceableTable { name: "chains", content: "the ends of the chains of events", advice: DONE_ADVICE },
    ReplaceableTable { name: "forks", content: "the forks of the chains of events", advice: DONE_ADVICE },
    ReplaceableTable { name: "documents", content: "the index of shared events", advice: SYNC_ADVICE },
    ReplaceableTable { name: "document_chunks", content: "the index of shared events", advice: SYNC_ADVICE },
    ReplaceableTable { name: "document_entries", content: "the index of shared events", advice: SYNC_ADVICE },
    ReplaceableTable { name: "peer_documents", content: "what other devices have received", advice: SYNC_ADVICE },
];

/// The result of [`Store::recover`].
#[derive(Debug)]
pub struct RecoveredStore {
    /// The path under which the damaged file is kept.
    pub kept: PathBuf,
    /// The tables of which a part was unreadable.
    pub losses: Vec<TableLoss>,
}

/// A table of which a part was unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLoss {
    pub table: &'static str,
    /// What the table contains, as a noun phrase.
    pub content: &'static str,
    /// The number of rows that the new file has, including those that were computed again.
    pub rows: usize,
    /// What to do now.
    pub advice: &'static str,
}

impl Store {
    /// Writes the store at `path` anew from its events and other data that cannot be computed. The store must not be
    /// open. This device, `me` if its key is known, continues in chains of its own, as after the restoration of a
    /// backup.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if a part of the log is unreadable. Then nothing is changed.
    pub fn recover(
        path: &Path,
        me: Option<&DeviceId>,
        check: &dyn PairCheck,
        progress: &mut dyn StoreProgress,
    ) -> Result<RecoveredStore> {
        let io = |what| move |error| StoreError::Io { what, path: path.to_owned(), error };
        // The file itself and not a link to it gets a new name.
        let file = fs::canonicalize(path).map_err(io("cannot find"))?;
        let damaged = open_damaged(&file)?;
        let draft = DraftFile::beside(&file).map_err(io("cannot write a new file for"))?;
        let mut new = open::create(draft.path())?;
        let tx = new.transaction()?;
        tx.pragma_update(None, "defer_foreign_keys", "ON")?;
        progress.at(StoreStep::whole("copying the events out of the damaged file"));
        let mut incomplete = Vec::new();
        for table in tables(&tx)? {
            incomplete.extend(copy(&damaged, &tx, &table)?);
        }
        restore(&tx, &incomplete, me)?;
        open::end_epoch(&tx)?;
        rebuild::rebuild(&tx, check, progress)?;
        team::consistency::mend(&tx)?;
        let mut losses = Vec::new();
        for ReplaceableTable { name: table, content, advice } in incomplete {
            let rows = tx.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
            losses.push(TableLoss { table, content, rows, advice });
        }
        tx.commit()?;
        new.close().map_err(|(_, error)| error)?;
        drop(damaged);
        let kept = replace(&file, draft).map_err(io("cannot write a new file for"))?;
        Ok(RecoveredStore { kept, losses })
    }

    /// Returns the error with which [`Store::recover`] would refuse the file, without changing anything. Reads the
    /// whole log.
    pub fn check_recoverable(path: &Path) -> Result<()> {
        let damaged = open_damaged(path)?;
        for table in tables(&open::temporary()?)? {
            if VECTOR_TABLES.contains(&table.as_str()) || replaceable(&table).is_some() {
                continue;
            }
            let read_all = || -> Result<()> {
                let mut read = damaged.prepare(&whole(&table))?;
                let mut rows = read.query([])?;
                while rows.next()?.is_some() {}
                Ok(())
            };
            if let Some(error) = damage_in(read_all())? {
                return Err(unreadable(&table, &error));
            }
        }
        Ok(())
    }
}

fn open_damaged(file: &Path) -> Result<Connection> {
    let damaged = open::reader(file)?;
    let found: u32 = damaged.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found != SCHEMA {
        let why = format!("only a file of schema version {SCHEMA} can be recovered, and this one has version {found}");
        return Err(StoreError::Damaged(why));
    }
    Ok(damaged)
}

/// Returns the tables with data of their own: neither projections nor the insides of virtual tables.
fn tables(db: &Connection) -> Result<Vec<String>> {
    let mut read = db.prepare(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'",
    )?;
    let names = read.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(names.into_iter().filter(|name| !rebuild::DERIVED_TABLES.contains(&name.as_str())).collect())
}

fn replaceable(table: &str) -> Option<ReplaceableTable> {
    REPLACEABLE_TABLES.into_iter().find(|known| known.name == table)
}

/// Returns the query for all rows of a table, without its indexes.
fn whole(table: &str) -> String {
    format!("SELECT * FROM {table} NOT INDEXED")
}

fn unreadable(table: &str, error: &rusqlite::Error) -> StoreError {
    StoreError::Damaged(format!("the table “{table}”, which cannot be computed again, is unreadable: {error}"))
}

/// Separates damage from other errors. A damaged page may also have rows that the new table refuses.
fn damage_in(result: Result<()>) -> Result<Option<rusqlite::Error>> {
    let is_damage = |error: &rusqlite::Error| {
        error::is_damage(error) || error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
    };
    match result {
        Ok(()) => Ok(None),
        Err(StoreError::Sqlite(error)) if is_damage(&error) => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

/// Copies a table. Returns the table if only a part of it was readable.
fn copy(damaged: &Connection, new: &Connection, table: &str) -> Result<Option<ReplaceableTable>> {
    let forwards = whole(table);
    let Some(error) = damage_in(past::copy(damaged, new, table, &forwards, &[]))? else { return Ok(None) };
    if VECTOR_TABLES.contains(&table) {
        return Ok(None);
    }
    let known = replaceable(table).ok_or_else(|| unreadable(table, &error))?;
    let key: String = new.query_row(
        "SELECT group_concat(name || ' DESC', ', ') FROM (SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk)",
        [table],
        |row| row.get(0),
    )?;
    // The rows behind the damage: from the last one back to it.
    damage_in(past::copy(damaged, new, table, &format!("{forwards} ORDER BY {key}"), &[]))?;
    Ok(Some(known))
}

/// Computes what can be computed of incomplete tables, and removes what refers to lost rows.
fn restore(db: &Connection, incomplete: &[ReplaceableTable], me: Option<&DeviceId>) -> Result<()> {
    if incomplete.iter().any(|table| table.name == "settings") {
        // The settings name the models of vectors, which are computed again.
        db.execute_batch("DELETE FROM vectors_next; DELETE FROM settings WHERE name LIKE 'vectors.next.%'")?;
        if !matches!(vectors::model(db), Ok(Some(_))) {
            db.execute_batch(
                "DELETE FROM vectors; DELETE FROM reason_vectors; DELETE FROM settings WHERE name LIKE 'vectors.%'",
            )?;
        }
    }
    if incomplete.iter().any(|table| team::restore_teams::TEAM_TABLES.contains(&table.name)) {
        team::restore_teams::restore(db, me)?;
    }
    Ok(())
}

/// Keeps the damaged file under another name, which is returned, and puts the new file in its place.
fn replace(path: &Path, draft: DraftFile) -> io::Result<PathBuf> {
    let mut kept = files::with_suffix(path, ".damaged");
    let mut number = 1_u32;
    while kept.symlink_metadata().is_ok() {
        number += 1;
        kept = files::with_suffix(path, &format!(".damaged-{number}"));
    }
    // With two names, the store is never without a file. Some file systems have no hard links.
    fs::hard_link(path, &kept).or_else(|_| fs::rename(path, &kept))?;
    let kept_log = open::wal_of(&kept);
    if let Err(error) = file::move_log(path, &kept_log).and_then(|()| draft.publish(true)) {
        let _back = fs::rename(&kept_log, open::wal_of(path));
        // Does nothing if both are names of one file.
        let _back = fs::rename(&kept, path);
        if path.exists() {
            let _second_name = fs::remove_file(&kept);
        }
        return Err(error);
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tables_but_the_log_are_replaceable() {
        let tables = tables(&open::temporary().unwrap()).unwrap();
        let (small, log): (Vec<_>, Vec<_>) = tables.iter().partition(|table| replaceable(table).is_some());
        let log: Vec<_> = log.iter().map(|table| &***table).filter(|table| !VECTOR_TABLES.contains(table)).collect();
        assert_eq!((small.len(), log), (REPLACEABLE_TABLES.len(), vec!["compacted", "events", "scopes", "edges"]));
        assert!(team::restore_teams::TEAM_TABLES.iter().all(|table| replaceable(table).is_some()));
    }
}
