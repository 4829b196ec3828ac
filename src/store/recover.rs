//! Recovers a damaged file: copies what cannot be computed again into a new file, and computes the rest from it.
//!
//! Damage to an index or a projection then costs nothing: the copy reads whole tables, never an index. SQLite could
//! neither empty nor drop an index of which a page is unreadable.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, ErrorCode};

use super::{Result, SCHEMA, Store, StoreError, StoreProgress, StoreStep, error, file, open, past, rebuild, team};
use crate::{
    domain::guard_report::PairCheck,
    files::{self, DraftFile},
};

/// Tables that may be copied in part: what is missing is computed again in the background.
const VECTOR_TABLES: [&str; 3] = ["vectors", "reason_vectors", "vectors_next"];

impl Store {
    /// Writes the store at `path` anew from its events and other data that cannot be computed, and returns the path
    /// under which the damaged file is kept. The store must not be open. This device continues in chains of its own,
    /// as after the restoration of a backup.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if data that cannot be computed again is unreadable. Then nothing is changed.
    pub fn recover(path: &Path, check: &dyn PairCheck, progress: &mut dyn StoreProgress) -> Result<PathBuf> {
        let io = |what| move |error| StoreError::Io { what, path: path.to_owned(), error };
        // The file itself and not a link to it gets a new name.
        let file = fs::canonicalize(path).map_err(io("cannot find"))?;
        let damaged = open::reader(&file)?;
        let found: u32 = damaged.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found != SCHEMA {
            let why =
                format!("only a file of schema version {SCHEMA} can be recovered, and this one has version {found}");
            return Err(StoreError::Damaged(why));
        }
        let draft = DraftFile::beside(&file).map_err(io("cannot write a new file for"))?;
        let mut new = open::create(draft.path())?;
        let tx = new.transaction()?;
        tx.pragma_update(None, "defer_foreign_keys", "ON")?;
        progress.at(StoreStep::whole("copying the events out of the damaged file"));
        for table in tables(&tx)? {
            copy(&damaged, &tx, &table)?;
        }
        open::end_epoch(&tx)?;
        rebuild::rebuild(&tx, check, progress)?;
        team::consistency::mend(&tx)?;
        tx.commit()?;
        new.close().map_err(|(_, error)| error)?;
        drop(damaged);
        replace(&file, draft).map_err(io("cannot write a new file for"))
    }
}

/// Returns the tables with data of their own: neither projections nor the insides of virtual tables.
fn tables(db: &Connection) -> Result<Vec<String>> {
    let mut read = db.prepare(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'",
    )?;
    let names = read.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(names.into_iter().filter(|name| !rebuild::DERIVED_TABLES.contains(&name.as_str())).collect())
}

fn copy(damaged: &Connection, new: &Connection, table: &str) -> Result<()> {
    // A damaged page may also have rows that the new table refuses.
    let is_damage = |error: &rusqlite::Error| {
        error::is_damage(error) || error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
    };
    match past::copy(damaged, new, table, &format!("SELECT * FROM {table} NOT INDEXED"), &[]) {
        Err(StoreError::Sqlite(error)) if is_damage(&error) => {
            if VECTOR_TABLES.contains(&table) {
                return Ok(());
            }
            let why = format!("the table “{table}”, which cannot be computed again, is unreadable: {error}");
            Err(StoreError::Damaged(why))
        }
        copied => copied,
    }
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
