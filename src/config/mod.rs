//! The paths of ergo's files, and the settings in `config.toml`. Shared by the daemon and its clients.

mod api_token;
pub mod app;
mod changed_settings;
pub mod daemon_record;
mod device_key;
pub mod disk;
pub mod judge_settings;
mod level_settings;
pub mod lock;
mod log_filter;
mod machine;
mod notes;
pub mod paths;
pub mod privacy;
mod private_file;
pub mod recall;
mod setting_error;
pub mod settings;
pub mod store_file;
mod store_settings;
pub mod toml_text;

use std::path::{Path, PathBuf};

pub use api_token::is_safe_token;
pub use app::AppMemory;
pub use daemon_record::DaemonRecord;
pub use device_key::read_device_key;
pub use judge_settings::JudgeSettings;
pub use level_settings::{LevelSettings, PromoteSetting};
pub use lock::{Owner, StoreLock};
pub use log_filter::log_filter;
pub use machine::machine_name;
pub use notes::NotesSettings;
pub use paths::Paths;
pub use private_file::write_private;
pub use recall::{CogitoSettings, CompatSettings, RecallSettings};
pub use settings::{
    AgentsMaySetting, Config, DaemonSettings, DeepStage, GuardSettings, ModelSettings, SyncModeSetting, SyncSettings,
    TuiSettings, TuiTheme,
};
pub use store_file::StoreFile;
pub use store_settings::StoreSettings;

/// An error of the configuration, or of a file or folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Neither `HOME` nor `ERGO_HOME` is set.
    #[error("HOME is not set: set it, or set ERGO_HOME to a folder for ergo's files")]
    NoHome,
    /// The configuration file is invalid.
    #[error("{}:{line}: {message}", path.display())]
    Invalid {
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// What is wrong, and what is expected.
        message: String,
    },
    /// A file or folder cannot be used.
    #[error("cannot {act} {}: {cause}", path.display())]
    Io {
        /// `read`, `write`, `create`, …
        act: &'static str,
        path: PathBuf,
        /// The system's error message.
        cause: String,
    },
    /// A file or folder belongs to another user, or other users may write to it.
    #[error("{} {problem}; ergo stops here, since other users could change the store, key or socket", path.display())]
    NotPrivate {
        path: PathBuf,
        /// What is wrong with the file or folder.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// The file of the device's key contains no key.
    #[error("the device's key {} {problem}", path.display())]
    BadKey {
        path: PathBuf,
        /// What is wrong with the content.
        problem: &'static str,
    },
    /// Another process owns the store.
    #[error("the store {} is in use by {owner}", store.display())]
    Owned {
        /// The store's file.
        store: PathBuf,
        owner: Owner,
    },
    /// The store of this device is missing or empty.
    #[error("the store {} {}", store.display(), lost(key.as_deref()))]
    StoreLost {
        /// The store's file.
        store: PathBuf,
        /// The device key, which proves that there was a store; `None` if the store is empty.
        key: Option<PathBuf>,
    },
    /// A new store was requested, but one exists.
    #[error("the store {} exists: nothing was changed", .0.display())]
    StoreThere(PathBuf),
}

fn lost(key: Option<&Path>) -> String {
    match key {
        Some(key) => format!("is missing, although this device has had a store before (its key is {})", key.display()),
        None => "is empty (0 bytes): its content is lost".to_owned(),
    }
}

impl ConfigError {
    /// Creates an I/O error.
    pub fn io(act: &'static str, path: impl Into<PathBuf>, cause: impl std::fmt::Display) -> Self {
        Self::Io { act, path: path.into(), cause: cause.to_string() }
    }

    /// Returns what the user can do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoHome => None,
            Self::Invalid { path, .. } => Some(match path.file_name().and_then(|name| name.to_str()) {
                Some("keys.toml") => "`ergo manual keys` lists all keys and their actions".to_owned(),
                Some("theme.toml") => "`ergo manual theme` lists all colours".to_owned(),
                _ => "`ergo manual settings` lists all settings".to_owned(),
            }),
            Self::Io { .. } => Some("check the folder's owner and permissions, and the free space".to_owned()),
            Self::NotPrivate { remedy, .. } => Some(remedy.clone()),
            Self::BadKey { .. } => Some(
                "restore a copy of the file; if there is none, move it away to continue as a new device: the store keeps what the \
                    old one wrote, and an admin must admit the new one to each team"
                    .to_owned(),
            ),
            Self::Owned { owner, .. } => {
                let way = if owner.is_daemon() { "stop it with `ergo daemon stop`" } else { "wait until it has ended" };
                Some(format!("{way}, or set ERGO_HOME to another folder to use a second store"))
            }
            Self::StoreLost { .. } => Some(
                "restore a backup, as `ergo backup --help` says, or create an empty store: ergo daemon start --new-store"
                    .to_owned(),
            ),
            Self::StoreThere(_) => Some("move it away first, or use it: ergo daemon start".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("config.toml", "settings")]
    #[case("keys.toml", "keys")]
    #[case("theme.toml", "theme")]
    fn a_mistake_in_a_file_hints_at_the_manual_of_this_file(#[case] file: &str, #[case] topic: &str) {
        let error = ConfigError::Invalid { path: file.into(), line: 1, message: "unknown".into() };
        assert!(error.hint().unwrap().contains(&format!("`ergo manual {topic}`")));
    }
}
