//! One owner per store: an advisory lock on a file beside it, which the system releases when the owner ends.

use std::{
    fmt,
    fs::{self, File, TryLockError},
    io::{Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{ConfigError, Paths};

/// How often the lock is tried while only [`StoreLock::owner`] holds it, and the pause in between.
const TRIES: (usize, Duration) = (100, Duration::from_millis(2));

/// The owner of a store, as written to the lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Owner {
    /// The process.
    pub pid: u32,
    /// Its role: `daemon`, `doctor`, …
    pub role: String,
    /// Its version of ergo.
    pub version: String,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == 0 {
            return f.write_str("another process");
        }
        write!(f, "the {} with process id {} (ergo {})", self.role, self.pid, self.version)
    }
}

/// Ownership of a store, for as long as this value lives.
#[derive(Debug)]
pub struct StoreLock {
    // Held for its lock alone.
    _file: File,
    path: PathBuf,
}

impl StoreLock {
    /// Locks the store for a `role` such as `daemon`.
    ///
    /// # Errors
    /// [`ConfigError::Owned`] names the process that owns the store.
    pub fn take(paths: &Paths, role: &str) -> Result<Self, ConfigError> {
        let path = paths.lock();
        let io = |act: &'static str| {
            let path = path.clone();
            move |cause: std::io::Error| ConfigError::io(act, path, cause)
        };
        let mut file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io("open"))?;
        match lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(ConfigError::Owned { store: paths.store(), owner: owner_in(&mut file) });
            }
            Err(TryLockError::Error(cause)) => return Err(io("lock")(cause)),
        }
        let me =
            Owner { pid: std::process::id(), role: role.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let text = serde_json::to_string(&me).unwrap_or_default();
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(io("write"))?;
        Ok(Self { _file: file, path })
    }

    /// Returns the current owner; `None` if there is none.
    pub fn owner(paths: &Paths) -> Option<Owner> {
        let mut file = fs::OpenOptions::new().read(true).write(true).open(paths.lock()).ok()?;
        // Shared, so that two processes that look at the same moment do not take each other for the owner.
        match file.try_lock_shared() {
            Ok(()) => None,
            Err(_) => Some(owner_in(&mut file)),
        }
    }

    /// Returns the path of the lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Takes the exclusive lock. If others have it shared, they only look who the owner is, and it is tried again.
fn lock(file: &File) -> Result<(), TryLockError> {
    for _ in 0..TRIES.0 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {}
            other => return other,
        }
        file.try_lock_shared()?;
        file.unlock().map_err(TryLockError::Error)?;
        thread::sleep(TRIES.1);
    }
    Err(TryLockError::WouldBlock)
}

fn owner_in(file: &mut File) -> Owner {
    let mut text = String::new();
    match file.take(4096).read_to_string(&mut text) {
        Ok(_) => serde_json::from_str(&text).unwrap_or_default(),
        Err(_) => Owner::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_owner_is_refused_and_told_who_the_first_is() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        assert_eq!(StoreLock::owner(&paths), None);
        let first = StoreLock::take(&paths, "daemon").unwrap();
        let error = StoreLock::take(&paths, "doctor").unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("the daemon with process id {}", std::process::id())), "{text}");
        assert_eq!(StoreLock::owner(&paths).unwrap().role, "daemon");
        drop(first);
        assert_eq!(StoreLock::owner(&paths), None, "what the file says does not count without the lock");
        StoreLock::take(&paths, "doctor").unwrap();
    }

    #[test]
    fn who_looks_for_an_owner_keeps_none_out() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        drop(StoreLock::take(&paths, "doctor").unwrap());
        let looking = File::open(paths.lock()).unwrap();
        looking.try_lock_shared().unwrap();
        assert_eq!(StoreLock::owner(&paths), None, "nor is it taken for the owner");
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(5 * TRIES.1);
                drop(looking);
            });
            StoreLock::take(&paths, "daemon").unwrap();
        });
    }
}
