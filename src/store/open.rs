//! Opens the file: sets pragmas, runs migrations, and detects copies.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, OptionalExtension, config::DbConfig, params};

use super::{Result, SCHEMA, StoreError, StoreOptions, file, file_check, vectors};
use crate::files::{self, DraftFile};

/// `PRAGMA application_id` of ergo's stores: "ergo" in ASCII.
const APPLICATION_ID: u32 = 0x6572_676f;

/// The version of `schema.sql`. Versions 1 to 15 were used in development only and never released.
const FIRST_SCHEMA: u32 = 16;

/// The migrations since [`FIRST_SCHEMA`], each to the next version.
const MIGRATIONS: [&str; (SCHEMA - FIRST_SCHEMA) as usize] = [
    // The number of events that compactions removed from each local chain, so that a check knows the gaps.
    "CREATE TABLE compacted (
        author BLOB NOT NULL,
        epoch  INTEGER NOT NULL,
        scope  INTEGER NOT NULL REFERENCES scopes (n),
        events INTEGER NOT NULL,
        PRIMARY KEY (author, epoch, scope)
    ) STRICT, WITHOUT ROWID",
    // A device may be in several teams, so what is known of it is stored for each team.
    "ALTER TABLE peers RENAME TO peers_by_device;
    CREATE TABLE peers (
        device        BLOB NOT NULL,
        team          INTEGER NOT NULL REFERENCES teams (n),
        name          TEXT,
        addresses     TEXT NOT NULL,
        last_seen     INTEGER,
        last_sync     INTEGER,
        last_error    TEXT,
        behind        INTEGER NOT NULL,
        ahead         INTEGER NOT NULL,
        digests_equal INTEGER NOT NULL,
        via           TEXT,
        PRIMARY KEY (device, team)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO peers SELECT * FROM peers_by_device;
    DROP TABLE peers_by_device",
    // The last day of a claim, so that lists leave out expired ones without reading each claim.
    "ALTER TABLE claims ADD COLUMN valid_until TEXT;
    CREATE INDEX claims_until ON claims (valid_until) WHERE valid_until IS NOT NULL",
    // Counts of events in quarantine, and pages of events without a body, read no events.
    "CREATE INDEX quarantined_by_scope ON quarantined (team, org, project, discarded);
    CREATE INDEX quarantined_by_peer ON quarantined (team, received_from, discarded) WHERE discarded = 0;
    DROP INDEX events_bodiless;
    CREATE INDEX events_bodiless ON events (shared, id) WHERE shared IS NOT NULL AND body IS NULL;
    ALTER TABLE peer_documents DROP COLUMN digest",
];

/// How long a connection waits for the lock of another one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of prepared statements that a connection caches: ergo has about 120 different ones.
const STATEMENT_CACHE_SIZE: usize = 160;

/// The page cache of the writer, and of each reader. It is small because a daemon should use little memory while it is
/// idle.
const WRITER_CACHE_KIB: i64 = 16 * 1024;
const READER_CACHE_KIB: i64 = 4 * 1024;

/// Opens the writer's connection. Creates the file if it does not exist, and migrates it.
pub(super) fn writer(path: &Path, options: StoreOptions) -> Result<Connection> {
    vectors::vector_index::register()?;
    file::move_away_foreign_log(path)?;
    file_check::check(path)?;
    if options.durable && !path.exists() {
        create_empty(path)?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    let found: u32 = read_pragma(&db, path, "user_version")?;
    let application: u32 = read_pragma(&db, path, "application_id")?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION_ID && (found != 0 || tables != 0) {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    if found > SCHEMA {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known: SCHEMA });
    }
    if (1..FIRST_SCHEMA).contains(&found) {
        return Err(StoreError::OlderSchema { path: path.to_owned(), found });
    }
    restrict_to_owner(path)?;
    configure(&db)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", if options.durable { "FULL" } else { "OFF" })?;
    db.pragma_update(None, "secure_delete", "ON")?;
    db.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    migrate(&mut db, &MIGRATIONS)?;
    Ok(db)
}

/// Creates an empty store whose file appears in one step: a killed start leaves no empty file, which the next start
/// would refuse.
fn create_empty(path: &Path) -> Result<()> {
    let io = |error| StoreError::Io { what: "cannot create", path: path.to_owned(), error };
    let draft = DraftFile::beside(path).map_err(io)?;
    create(draft.path())?.close().map_err(|(_, error)| error)?;
    match draft.publish(false) {
        // Another process created it at the same moment, or the path is a link to a file that does not exist yet.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(io),
    }
}

/// Makes a new, empty file a store. It must be published only after waiting for the disk, for which its connection does
/// not wait.
pub(super) fn create(draft: &Path) -> Result<Connection> {
    vectors::vector_index::register()?;
    let mut db = Connection::open(draft)?;
    configure(&db)?;
    // A draft that a crash damages is never opened.
    db.pragma_update(None, "synchronous", "OFF")?;
    migrate(&mut db, &MIGRATIONS)?;
    Ok(db)
}

/// Opens a connection that can only read.
pub(super) fn reader(path: &Path) -> Result<Connection> {
    vectors::vector_index::register()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    configure(&db)?;
    db.pragma_update(None, "query_only", "ON")?;
    db.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(db)
}

/// Opens an empty store in an unnamed file, which is deleted when its connection closes.
pub(super) fn temporary() -> Result<Connection> {
    vectors::vector_index::register()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags("", flags)?;
    configure(&db)?;
    // The file is deleted with its connection, so it need not survive a crash.
    db.pragma_update(None, "synchronous", "OFF")?;
    db.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    migrate(&mut db, &MIGRATIONS)?;
    Ok(db)
}

/// Makes a writable connection read-only and gives it the cache of a reader.
pub(super) fn make_read_only(db: &Connection) -> Result<()> {
    db.pragma_update(None, "query_only", "ON")?;
    db.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(db.release_memory()?)
}

fn configure(db: &Connection) -> Result<()> {
    db.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
    db.pragma_update(None, "foreign_keys", "ON")?;
    // Without this, SQLite prepares most statements again whenever values are bound, which costs more than running
    // them.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // The schema of a file from elsewhere must not call functions.
    db.pragma_update(None, "trusted_schema", "OFF")?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(())
}

fn read_pragma(db: &Connection, path: &Path, name: &str) -> Result<u32> {
    match db.pragma_query_value(None, name, |row| row.get(0)) {
        Ok(value) => Ok(value),
        Err(rusqlite::Error::SqliteFailure(error, _)) if error.code == rusqlite::ErrorCode::NotADatabase => {
            Err(StoreError::NotAStore { path: path.to_owned() })
        }
        Err(error) => Err(error.into()),
    }
}

/// Migrates the file to the newest version, with one transaction for each version. An empty file gets `schema.sql`
/// first.
fn migrate(db: &mut Connection, migrations: &[&str]) -> Result<()> {
    loop {
        let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let found: u32 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let (sql, version) = match found.checked_sub(FIRST_SCHEMA) {
            _ if found == 0 => (include_str!("schema.sql"), FIRST_SCHEMA),
            Some(done) if (done as usize) < migrations.len() => (migrations[done as usize], found + 1),
            _ => return Ok(()),
        };
        tx.execute_batch(sql)?;
        tx.pragma_update(None, "user_version", version)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.commit()?;
    }
}

/// Removes the permissions of everybody but the owner.
fn restrict_to_owner(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let io = |error| StoreError::Io { what: "cannot restrict the permissions of", path: path.to_owned(), error };
    let mode = fs::metadata(path).map_err(io)?.permissions().mode();
    if mode.trailing_zeros() >= 6 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode & !0o077)).map_err(io)
}

/// Returns random bytes from the operating system.
pub(super) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let act = "get random bytes from the operating system";
    getrandom::fill(&mut bytes).map_err(|error| StoreError::System { act, cause: error.to_string() })?;
    Ok(bytes)
}

/// Returns the epoch of this installation, or a new one if the file is not the one that the last epoch was created for,
/// or is a backup: a copy must never continue the chain of its original.
pub(super) fn epoch(db: &Connection, path: &Path) -> Result<u64> {
    let installation_id = installation_id(path)?;
    let known: Option<Vec<u8>> = setting(db, "installed")?;
    if known.as_deref() == Some(installation_id.as_bytes())
        && let Some(epoch) = setting::<i64>(db, "epoch")?
    {
        return Ok(epoch.cast_unsigned());
    }
    let epoch = u64::from_le_bytes(random()?);
    set(db, "epoch", epoch.cast_signed())?;
    set(db, "installed", installation_id.as_bytes())?;
    Ok(epoch)
}

/// Ends the epoch, so that the next opening of the file begins a new one: a backup that is copied over its store has
/// the store's inode.
pub(super) fn end_epoch(db: &Connection) -> Result<()> {
    db.execute("DELETE FROM settings WHERE name = 'installed'", [])?;
    Ok(())
}

/// Identifies this file, as opposed to a copy of it, by the machine and the file's inode. Hashed, because a store may
/// be given to others and a machine's id is private.
fn installation_id(path: &Path) -> Result<String> {
    use std::os::unix::fs::MetadataExt;
    let machine = ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .iter()
        .find_map(|file| fs::read_to_string(file).ok())
        .unwrap_or_default();
    let io = |error| StoreError::Io { what: "cannot read the metadata of", path: path.to_owned(), error };
    // No device number, which changes between boots on some systems.
    let inode = fs::metadata(path).map_err(io)?.ino();
    let text = format!("ergo/installed/1\n{}\n\n{inode}", machine.trim());
    Ok(blake3::hash(text.as_bytes()).to_hex().to_string())
}

/// Reads a setting of the store (table `settings`).
pub(super) fn setting<T: rusqlite::types::FromSql>(db: &Connection, name: &str) -> Result<Option<T>> {
    let mut read = db.prepare_cached("SELECT value FROM settings WHERE name = ?1")?;
    Ok(read.query_row([name], |row| row.get(0)).optional()?)
}

/// Writes a setting of the store.
pub(super) fn set(db: &Connection, name: &str, value: impl rusqlite::ToSql) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    )?
    .execute(params![name, value])?;
    Ok(())
}

/// Returns the path of the write-ahead log beside a store's file.
pub(super) fn wal_of(path: &Path) -> PathBuf {
    files::with_suffix(path, "-wal")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::team;

    #[test]
    fn counts_and_pages_for_peers_are_read_from_indexes() {
        let db = temporary().unwrap();
        for (sql, index) in [
            (team::COUNT_IN_SCOPE, "COVERING INDEX quarantined_by_scope"),
            (team::COUNT_FROM_PEER, "COVERING INDEX quarantined_by_peer"),
            (team::MISSING_BODIES, "INDEX events_bodiless (shared=? AND id>?)"),
        ] {
            let mut read = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let bound = vec![rusqlite::types::Null; read.parameter_count()];
            let steps = read.query_map(rusqlite::params_from_iter(bound), |row| row.get::<_, String>(3)).unwrap();
            let plan = steps.collect::<rusqlite::Result<Vec<_>>>().unwrap().join("; ");
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
        }
    }

    fn version(db: &Connection) -> u32 {
        db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    }

    #[test]
    fn migrations_run_once_and_a_failing_one_leaves_the_version_before_it() {
        let mut db = temporary().unwrap();
        assert_eq!(version(&db), SCHEMA);
        set(&db, "kept", 1).unwrap();
        // An invented migration, as a later version may have.
        let first = "ALTER TABLE scopes ADD COLUMN note TEXT; INSERT INTO settings VALUES ('first', 1)";
        let later = vec![""; MIGRATIONS.len()].into_iter().chain([first]);
        let later: Vec<&str> = later.collect();
        migrate(&mut db, &later).unwrap();
        migrate(&mut db, &later).unwrap();
        assert_eq!(version(&db), SCHEMA + 1);
        let broken: Vec<&str> =
            later.iter().copied().chain(["CREATE TABLE half (a); INSERT INTO nowhere VALUES (1)"]).collect();
        assert!(migrate(&mut db, &broken).is_err());
        assert_eq!(version(&db), SCHEMA + 1);
        assert!(db.prepare("SELECT * FROM half").is_err());
        db.prepare("SELECT note FROM scopes").unwrap();
        for name in ["kept", "first"] {
            assert_eq!(setting::<i64>(&db, name).unwrap(), Some(1), "{name}");
        }
    }

    #[test]
    fn a_commit_waits_for_the_disk_unless_the_options_say_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let synchronous = |options| {
            let db = writer(&folder.path().join("store.db"), options).unwrap();
            db.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0)).unwrap()
        };
        assert_eq!(synchronous(StoreOptions::default()), 2, "FULL");
        assert_eq!(synchronous(StoreOptions { durable: false }), 0, "OFF");
    }

    #[test]
    fn what_schema_17_knew_of_a_peer_stays() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db, &MIGRATIONS[..1]).unwrap();
        db.execute_batch(
            "INSERT INTO teams VALUES (1, x'01', 5, NULL), (2, x'02', 6, NULL);
             INSERT INTO peers VALUES (x'0a', 2, NULL, '[]', 7, 8, NULL, 0, 3, 1, 'lan')",
        )
        .unwrap();
        migrate(&mut db, &MIGRATIONS).unwrap();
        let row = "SELECT team, last_seen, last_sync, ahead, via FROM peers WHERE device = x'0a'";
        let found = db.query_row(row, [], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, i64>(2)?,
                row.get::<_, i64>(3)?,
                row.get::<_, String>(4)?,
            ))
        });
        assert_eq!(found.unwrap(), (2, 7, 8, 3, "lan".to_owned()));
        db.execute(
            "INSERT INTO peers SELECT device, 1, name, addresses, 1, 2, last_error, 0, 0, 0, via FROM peers",
            [],
        )
        .unwrap();
    }
}
