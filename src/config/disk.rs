//! Free disk space, and the limit on file sizes.

use std::path::Path;

/// The number of free bytes below which writes fail: a commit writes some pages to the store's write-ahead log, and to
/// its index.
pub const FULL: u64 = 256 * 1024;

/// The number of free bytes below which the user is warned.
pub const LOW: u64 = 64 * 1024 * 1024;

/// Returns the number of bytes that this user may still write to the file system of `path`, which need not exist.
/// `None` if the system does not tell.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
    let stats = rustix::fs::statvfs(existing).ok()?;
    Some(stats.f_bavail.saturating_mul(stats.f_frsize))
}

/// Returns the limit on the size of any file that this process writes (`ulimit -f`), in bytes. `None` if there is none.
pub fn file_size_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_for_a_file_that_is_not_there_yet_is_that_of_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(&dir.path().join("not/there/yet")).unwrap() > 0);
    }
}
