//! Checks whether a file can be a store before SQLite opens it: people copy backups to the store's path.

use std::{
    io::{ErrorKind, Read},
    path::Path,
};

use super::{Result, StoreError, open::wal_of};
use crate::files;

/// The first bytes of a database file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The number of header bytes that are read.
const HEADER_SIZE: usize = 32;

/// Returns an error for a file that is empty, incomplete or not a database. A file that does not exist is fine.
///
/// SQLite treats an empty file as a new database, and notices late that pages are missing.
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
    let mut header = [0; HEADER_SIZE];
    if file.read_exact(&mut header).is_err() || !header.starts_with(MAGIC) {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    // A write-ahead log may contain the missing pages.
    let logged = wal_of(path).metadata().is_ok_and(|log| log.len() > 0);
    if !logged && size < declared_size(&header) {
        return Err(StoreError::Incomplete { path: path.to_owned(), size, whole: declared_size(&header) });
    }
    Ok(())
}

/// Returns the size in bytes that a database's header declares.
fn declared_size(header: &[u8; HEADER_SIZE]) -> u64 {
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        // 65,536 does not fit into the field.
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
