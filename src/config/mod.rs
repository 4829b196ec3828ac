//! Where ergo keeps its things on this machine, and what the person set in `config.toml`.
//!
//! Shared by the daemon and its clients; knows nothing of either.

pub mod app;
pub mod disk;
pub mod lock;
mod machine;
pub mod paths;
pub mod privacy;
pub mod recall;
pub mod record;
pub mod settings;
pub mod store_file;

use std::path::{Path, PathBuf};

pub use app::AppMemory;
pub use lock::{Owner, StoreLock};
pub use machine::machine_name;
pub use paths::Paths;
pub use recall::{CogitoSettings, CompatSettings, RecallSettings};
pub use record::DaemonRecord;
pub use settings::{
    AgentsMay, Config, DaemonSettings, DeepStage, GuardSettings, ModelSettings, SyncMode, SyncSettings, TuiSettings,
    TuiTheme,
};
pub use store_file::StoreFile;

/// Why the configuration, or a place on the disk, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No `HOME`, hence no place to keep anything.
    #[error("cannot tell where to keep ergo's files: HOME is not set; set it, or set ERGO_HOME to a folder")]
    NoHome,
    /// The configuration file has a mistake.
    #[error("{}:{line}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        message: String,
    },
    /// A file or folder cannot be used.
    #[error("cannot {act} {}: {cause}", path.display())]
    Io {
        /// `read`, `write`, `make`, …
        act: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// A file or folder that must be this user's alone belongs to someone else, or others may write to it.
    #[error("{} {problem}: ergo keeps no memory, key or socket where others can change it", path.display())]
    NotPrivate {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// Another process owns the store.
    #[error("the store {} is owned by {owner}", store.display())]
    Owned {
        /// The store's file.
        store: PathBuf,
        /// Who.
        owner: Owner,
    },
    /// The store that this device had is gone, or nothing is left in it.
    #[error("the store {} {}", store.display(), lost(key.as_deref()))]
    StoreLost {
        /// The store's file.
        store: PathBuf,
        /// The key that says that there was one; `None` where the file is there and empty.
        key: Option<PathBuf>,
    },
    /// A new store was asked for where there is one.
    #[error("the store {} is there: nothing was changed", .0.display())]
    StoreThere(PathBuf),
}

fn lost(key: Option<&Path>) -> String {
    match key {
        Some(key) => format!("is missing, though this device has written one before (its key is {})", key.display()),
        None => "is empty (0 bytes): what was in it is lost".to_owned(),
    }
}

impl ConfigError {
    /// An I/O error with what was tried.
    pub fn io(act: &'static str, path: impl Into<PathBuf>, cause: impl std::fmt::Display) -> Self {
        Self::Io { act, path: path.into(), cause: cause.to_string() }
    }

    /// What to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoHome | Self::Invalid { .. } => None,
            Self::Io { .. } => Some("check the folder's owner and permissions, and the free space".to_owned()),
            Self::NotPrivate { remedy, .. } => Some(remedy.clone()),
            Self::Owned { .. } => {
                Some("stop it with `ergo daemon stop`, or set ERGO_HOME for a second store".to_owned())
            }
            Self::StoreLost { store, .. } => Some(format!(
                "restore a backup: copy it to {}; or begin with an empty store: ergo daemon start --new-store",
                store.display()
            )),
            Self::StoreThere(_) => Some("move it away first, or go on with it: ergo daemon start".to_owned()),
        }
    }
}
