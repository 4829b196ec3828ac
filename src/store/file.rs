//! Checks that the open file is still the one at its path, and complete.

use std::{
    fs,
    io::{ErrorKind, Read},
    ops::Deref,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rusqlite::{Transaction, TransactionBehavior};

use super::{Reader, Result, StoreError, open};
use crate::{files, steps};

/// The file that a store has open.
#[derive(Debug)]
pub(super) struct OpenFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// Its largest known size in bytes: it shrinks only by [`Store::shrink`](super::Store::shrink).
    seen: AtomicU64,
}

impl OpenFile {
    /// The file at a path, which was opened just now.
    pub(super) fn at(path: &Path) -> Result<Self> {
        let found = look(path)?;
        let seen = AtomicU64::new(found.len());
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino(), seen })
    }

    /// Compares the open file with the one at its path.
    ///
    /// # Errors
    /// [`StoreError::Removed`], [`StoreError::Replaced`] and [`StoreError::Cut`]: what is written then is lost with the process.
    fn check(&self) -> Result<()> {
        // Read before the file is looked at: another thread may see it grow meanwhile.
        let seen = self.seen.load(Ordering::Acquire);
        let found = look(&self.path)?;
        if (found.dev(), found.ino()) != (self.device, self.inode) {
            return Err(StoreError::Replaced(self.path.clone()));
        }
        if found.len() < seen {
            return Err(StoreError::Cut { path: self.path.clone(), size: found.len(), seen });
        }
        self.seen.fetch_max(found.len(), Ordering::AcqRel);
        Ok(())
    }
}

fn look(path: &Path) -> Result<fs::Metadata> {
    fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => StoreError::Removed(path.to_owned()),
        _ => StoreError::Io { what: "cannot read the metadata of", path: path.to_owned(), error },
    })
}

/// A write transaction. It commits only if the store's path still names the open file.
pub(super) struct WriteTransaction<'a> {
    tx: Transaction<'a>,
    file: Option<Arc<OpenFile>>,
}

impl<'a> WriteTransaction<'a> {
    /// Begins a transaction, once no other writer has one.
    pub(super) fn begin(reader: &'a mut Reader) -> Result<Self> {
        let file = reader.file.clone();
        Ok(Self { tx: reader.db.transaction_with_behavior(TransactionBehavior::Immediate)?, file })
    }

    /// Commits, unless the file was removed, replaced or cut meanwhile.
    pub(super) fn commit(self) -> Result<()> {
        if let Some(file) = &self.file {
            file.check()?;
        }
        steps::reached("commit");
        self.tx.commit()?;
        steps::reached("committed");
        Ok(())
    }
}

impl<'a> Deref for WriteTransaction<'a> {
    type Target = Transaction<'a>;

    fn deref(&self) -> &Transaction<'a> {
        &self.tx
    }
}

impl Reader {
    /// The file was made smaller on purpose: its size from now on is the present one.
    pub(super) fn expect_smaller(&self) -> Result<()> {
        if let Some(file) = &self.file {
            file.seen.store(look(&file.path)?.len(), Ordering::Release);
        }
        Ok(())
    }

    /// Whether the file that is open is still the one under its path, and has not shrunk.
    ///
    /// # Errors
    /// [`StoreError::Removed`], [`StoreError::Replaced`] and [`StoreError::Cut`].
    pub fn in_place(&self) -> Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.check())
    }
}

/// Moves a write-ahead log out of the way that belongs to another file than the one at `path`.
///
/// A backup has none, and says so in its header. A log beside it is of the file whose place it took, and SQLite would
/// write it into the backup.
pub(super) fn part_from_foreign_log(path: &Path) -> Result<()> {
    /// How a database file begins, with one byte each for who may write and who may read: 1 without a log, 2 with one.
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut header = [0; 20];
    let whole = files::open(path).and_then(|mut file| file.read_exact(&mut header));
    if whole.is_err() || !header.starts_with(MAGIC) || header[18] != 1 {
        return Ok(());
    }
    put_away_log(path)
}

/// Renames a store's write-ahead log, so that nothing takes it for another store's, and removes the log's index.
fn put_away_log(path: &Path) -> Result<()> {
    let log = open::wal_of(path);
    let beside = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let moved = match fs::rename(&log, beside("-wal.old")) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => fs::remove_file(beside("-shm")),
    };
    match moved {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StoreError::Io { what: "cannot move away the old log", path: log, error })
        }
        _ => Ok(()),
    }
}
