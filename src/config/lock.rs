//! Ensures that a store has only one owner, by an advisory lock on a file beside it. The system releases the lock when
//! the owner ends.

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

/// The number of attempts to lock the store while only calls of [`StoreLock::owner`] hold the lock.
const MAX_ATTEMPTS: usize = 100;

/// The delay between two attempts.
const RETRY_DELAY: Duration = Duration::from_millis(2);

/// The owner of a store, as written to the lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Owner {
    pub pid: u32,
    /// What the process does: `daemon`, `doctor`, …
    pub role: String,
    /// The version of ergo that the process runs.
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

impl Owner {
    /// Returns whether the owner is a daemon, which `ergo daemon stop` ends. An unknown owner probably is one.
    pub fn is_daemon(&self) -> bool {
        self.pid == 0 || self.role == "daemon"
    }

    /// Says how a command that opens the store itself can run.
    pub fn way_to_run(&self, command: &str) -> String {
        if self.is_daemon() {
            format!("stop the daemon first: `ergo daemon stop && {command}`")
        } else {
            format!("wait until it has ended, then run `{command}`")
        }
    }
}

/// The ownership of a store. It ends when this value is dropped.
#[derive(Debug)]
pub struct StoreLock {
    /// Held for the lock on it.
    _file: File,
    path: PathBuf,
}

impl StoreLock {
    /// Locks the store for a `role` such as `daemon`.
    ///
    /// # Errors
    /// [`ConfigError::Owned`] if another process owns the store.
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
        let own =
            Owner { pid: std::process::id(), role: role.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let text = serde_json::to_string(&own).unwrap_or_default();
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(io("write"))?;
        Ok(Self { _file: file, path })
    }

    /// Returns the current owner; `None` if there is none.
    pub fn owner(paths: &Paths) -> Option<Owner> {
        let mut file = fs::OpenOptions::new().read(true).write(true).open(paths.lock()).ok()?;
        // A shared lock, so that two processes that check at the same moment do not take each other for the owner.
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

/// Takes the exclusive lock. If other processes hold shared locks, they are only checking who the owner is (see
/// [`StoreLock::owner`]), and the attempt is repeated.
fn lock(file: &File) -> Result<(), TryLockError> {
    for _ in 0..MAX_ATTEMPTS {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {}
            other => return other,
        }
        file.try_lock_shared()?;
        file.unlock().map_err(TryLockError::Error)?;
        thread::sleep(RETRY_DELAY);
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
                thread::sleep(5 * RETRY_DELAY);
                drop(looking);
            });
            StoreLock::take(&paths, "daemon").unwrap();
        });
    }
}
