//! The daemon, the only owner of the store: HTTP over a Unix socket and TCP, the event stream, and the process.
//!
//! Handlers are thin: they read the request, call the engine on a thread that may block, and turn its answer into an
//! HTTP response. They repeat no decision of the engine.

mod agents;
mod background;
mod bus;
mod compat;
mod drain;
mod extractors;
pub mod install;
mod judge_thread;
mod judges;
mod keys;
mod listen;
mod log_file;
mod long_tasks;
mod models;
mod new_store;
mod notes;
mod openapi;
mod request_checks;
mod response;
mod routes;
mod run;
mod running_settings;
mod state;
mod teams;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use new_store::begin_anew;
pub use openapi::document as openapi;
pub use routes::ROUTES;
pub use run::run;

use crate::{api::ApiError, config::ConfigError};

/// Why the daemon cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The settings, a file or folder, or the lock of the store.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The store cannot be opened.
    #[error("{0}")]
    Engine(ApiError),
    /// A system call failed.
    #[error("cannot {act}: {cause}")]
    System {
        /// What was attempted, as a verb phrase.
        act: String,
        cause: std::io::Error,
    },
}

impl DaemonError {
    fn system(act: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let act = act.into();
        move |cause| Self::System { act, cause }
    }
}
