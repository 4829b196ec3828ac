//! The error of most measurements.

use std::{
    io,
    path::{Path, PathBuf},
};

use ergo::api::ApiError;

use crate::{measure::JsonLinesError, recall::RecallDataError};

/// The reason why a measurement stopped.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Store(#[from] ergo::store::StoreError),
    #[error(transparent)]
    Engine(#[from] ApiError),
    /// A file, a folder or a program cannot be used.
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("a model failed: {0}")]
    Model(#[from] ergo::infer::InferError),
    #[error(transparent)]
    Client(#[from] ergo::client::ClientError),
    /// The home of a daemon cannot be made.
    #[error(transparent)]
    Home(#[from] ergo::config::ConfigError),
    #[error(transparent)]
    JsonLines(#[from] JsonLinesError),
    #[error(transparent)]
    RecallData(#[from] RecallDataError),
    #[error("the replication index cannot be made: {0}")]
    Index(String),
    /// A hook or a bridge gave an unexpected answer.
    #[error("`ergo {verb}` answered: {message}")]
    Answer { verb: String, message: String },
    /// An expected event did not happen in time.
    #[error("gave up waiting until {what}\n{log}")]
    Late {
        what: String,
        /// The last lines of the daemons' logs.
        log: String,
    },
    /// A write had another outcome than intended.
    #[error("the write “{statement}” was not {expected}")]
    Unexpected {
        statement: String,
        /// `stored`, `refused` or `unchanged`.
        expected: &'static str,
    },
}

impl BenchError {
    /// Returns a function that turns the system's error about a path into a [`BenchError::Io`].
    pub(crate) fn io(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        |error| Self::Io { path, error }
    }
}
