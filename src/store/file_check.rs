//! Checks, before a file is opened, whether it can be a store: people copy backups to the store's path.

use std::{
    io::{ErrorKind, Read},
    path::Path,
};

use super::{Result, StoreError, open::wal_of};
use crate::files;

/// How a database file begins.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The bytes of the header that are looked at.
const HEADER: usize = 32;

/// Refuses a file that is empty, cut or no database. One that is absent is fine.
///
/// SQLite takes an empty file for a new database, and finds out late that pages are missing.
pub(super) fn check(path: &Path) -> Result<()> {
    let io = |error| StoreError::Io { what: "cannot read", path: path.to_owned(), error };
    let mut file = match files::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io(error)),
    };
    let size = file.metadata().map_err(io)?.len();
    if size == 0 {
        return Err(StoreError::Empty(path.to_owned()));
    }
    let mut header = [0; HEADER];
    if file.read_exact(&mut header).is_err() || !header.starts_with(MAGIC) {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    // With a log beside it, the log may hold the pages that the file lacks.
    let logged = wal_of(path).metadata().is_ok_and(|log| log.len() > 0);
    if !logged && size < declared(&header) {
        return Err(StoreError::Incomplete { path: path.to_owned(), size, whole: declared(&header) });
    }
    Ok(())
}

/// The size in bytes that a database's header declares.
fn declared(header: &[u8; HEADER]) -> u64 {
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        // It does not fit into the field.
        1 => 65_536,
        size => u64::from(size),
    };
    page * u64::from(u32::from_be_bytes([header[28], header[29], header[30], header[31]]))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn empty_cut_and_foreign_files_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        check(&path).unwrap();
        rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x); CREATE TABLE u (x)").unwrap();
        check(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let length = whole.len() as u64;
        assert!(
            matches!(check(&path), Err(StoreError::Incomplete { size, whole, .. }) if (size, whole) == (length - 1, length))
        );
        fs::write(&path, "hello").unwrap();
        assert!(matches!(check(&path), Err(StoreError::NotAStore { .. })));
        fs::write(&path, "").unwrap();
        assert!(matches!(check(&path), Err(StoreError::Empty(_))));
    }
}
