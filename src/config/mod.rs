//! Where ergo keeps its things on this machine, and what the person set in `config.toml`.
//!
//! Shared by the daemon and its clients; knows nothing of either.

pub mod app;
pub mod lock;
mod machine;
pub mod paths;
pub mod recall;
pub mod record;
pub mod settings;

use std::path::PathBuf;

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
    /// A folder that must be private belongs to someone else, or others may enter it.
    #[error("{} {problem}: ergo does not put its socket or keys there", path.display())]
    NotPrivate {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Another process owns the store.
    #[error("the store {} is owned by {owner}", store.display())]
    Owned {
        /// The store's file.
        store: PathBuf,
        /// Who.
        owner: Owner,
    },
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
            Self::NotPrivate { path, .. } => Some(format!("chmod 700 {}, or remove it", path.display())),
            Self::Owned { .. } => {
                Some("stop it with `ergo daemon stop`, or set ERGO_HOME for a second store".to_owned())
            }
        }
    }
}
