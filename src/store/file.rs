//! Checks that the open file is still the one at its path, and complete.

use std::{
    fs,
    io::{self, ErrorKind, Read},
    ops::Deref,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{Reader, Result, StoreError, open};
use crate::{files, steps};

/// The file that a store has open.
#[derive(Debug)]
pub(super) struct OpenFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// SQLite could not open the file or its log for writing.
    read_only: bool,
    /// The largest known size in bytes. Only [`Store::shrink`](super::Store::shrink) makes the file smaller.
    seen: AtomicU64,
}

impl OpenFile {
    /// Remembers the identity of the file at a path, which the writer's connection must have opened just before.
    pub(super) fn at(path: &Path, writer: &Connection) -> Result<Self> {
        let found = metadata_of(path)?;
        let seen = AtomicU64::new(found.len());
        let read_only = writer.is_readonly("main")?;
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino(), read_only, seen })
    }

    /// Checks that the file at the path is the open one and has not shrunk.
    ///
    /// # Errors
    /// [`StoreError::Removed`], [`StoreError::Replaced`] or [`StoreError::Cut`]: further writes would be lost when the
    /// process ends.
    fn check(&self) -> Result<()> {
        // Read this before the file's size, because another thread may see the file grow in between.
        let seen = self.seen.load(Ordering::Acquire);
        let found = metadata_of(&self.path)?;
        if (found.dev(), found.ino()) != (self.device, self.inode) {
            return Err(StoreError::Replaced(self.path.clone()));
        }
        if found.len() < seen {
            return Err(StoreError::Cut { path: self.path.clone(), size: found.len(), seen });
        }
        self.seen.fetch_max(found.len(), Ordering::AcqRel);
        Ok(())
    }

    /// Checks in addition that the file was opened for writing.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`], or those of [`OpenFile::check`].
    fn check_writable(&self) -> Result<()> {
        self.check()?;
        if self.read_only { Err(StoreError::ReadOnly(self.path.clone())) } else { Ok(()) }
    }
}

fn metadata_of(path: &Path) -> Result<fs::Metadata> {
    fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => StoreError::Removed(path.to_owned()),
        _ => StoreError::Io { what: "cannot read the metadata of", path: path.to_owned(), error },
    })
}

/// A write transaction, which commits only if the store's path still names the open file.
pub(super) struct WriteTransaction<'a> {
    tx: Transaction<'a>,
    file: Option<Arc<OpenFile>>,
}

impl<'a> WriteTransaction<'a> {
    /// Begins a transaction as soon as no other writer has one.
    pub(super) fn begin(reader: &'a mut Reader) -> Result<Self> {
        let file = reader.file.clone();
        Ok(Self { tx: reader.db.transaction_with_behavior(TransactionBehavior::Immediate)?, file })
    }

    /// Commits, unless the file was removed, replaced or truncated in the meantime.
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
    /// Accepts the present size of the file, which was made smaller on purpose.
    pub(super) fn expect_smaller(&self) -> Result<()> {
        if let Some(file) = &self.file {
            file.seen.store(metadata_of(&file.path)?.len(), Ordering::Release);
        }
        Ok(())
    }

    /// Checks that the file at the store's path is the open one and has not shrunk.
    ///
    /// # Errors
    /// [`StoreError::Removed`], [`StoreError::Replaced`] or [`StoreError::Cut`].
    pub fn in_place(&self) -> Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.check())
    }

    /// Checks that the store can be written: like [`Reader::in_place`], and that the file was opened for writing.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`], or those of [`Reader::in_place`].
    pub fn writable(&self) -> Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.check_writable())
    }
}

/// Moves away a write-ahead log that belongs to another file than the one at `path`.
///
/// A backup has no log, and its header says so. A log beside it belongs to the file that the backup replaced, and
/// SQLite would apply it to the backup.
pub(super) fn move_away_foreign_log(path: &Path) -> Result<()> {
    /// The first bytes of a database file. Bytes 18 and 19 are its write and read version: 1 without a log, 2 with one.
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut header = [0; 20];
    let whole = files::open(path).and_then(|mut file| file.read_exact(&mut header));
    if whole.is_err() || !header.starts_with(MAGIC) || header[18] != 1 {
        return Ok(());
    }
    move_away_log(path)
}

fn move_away_log(path: &Path) -> Result<()> {
    let io = |error| StoreError::Io { what: "cannot move away the old log", path: open::wal_of(path), error };
    move_log(path, &files::with_suffix(path, "-wal.old")).map_err(io)
}

/// Renames the write-ahead log of a store, if there is one, so that SQLite does not apply it to another store, and
/// removes the log's index.
pub(super) fn move_log(path: &Path, to: &Path) -> io::Result<()> {
    let moved = match fs::rename(open::wal_of(path), to) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => fs::remove_file(files::with_suffix(path, "-shm")),
    };
    match moved {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::OpenFlags;

    use super::*;

    #[test]
    fn a_file_that_was_opened_read_only_is_not_writable() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ergo.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("CREATE TABLE t (n INTEGER)").unwrap();
        OpenFile::at(&path, &writer).unwrap().check_writable().unwrap();
        let reader = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let file = OpenFile::at(&path, &reader).unwrap();
        file.check().unwrap();
        assert!(matches!(file.check_writable(), Err(StoreError::ReadOnly(_))));
    }
}
