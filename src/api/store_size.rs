//! The size of the store by kind of data, and the long tasks on it.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// `GET /size`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SizeQuery {
    /// Count what `ergo compact` would remove from before this time, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Divide what is in use by kind of data, which reads the whole file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_kind: bool,
}

/// The answer to `GET /size`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SizeByKind {
    /// The parts of the store, the largest first; together the file and its write-ahead log.
    pub parts: Vec<KindSize>,
    /// Events of the local log that `ergo compact` would remove; 0 unless `before` was given.
    pub compact_events: usize,
    /// The bytes of their headers and bodies.
    pub compact_bytes: u64,
}

/// The size of one kind of data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KindSize {
    /// `in use`, `free` or `write-ahead log`; by kind of data, `shared log`, `local log`, `vectors`, `projections` and `sync` instead of
    /// `in use`.
    pub kind: String,
    /// Its bytes; those of the two logs are an estimate.
    pub bytes: u64,
}

/// The answer to `GET /tasks`: checks and backups that run, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LongTasks {
    /// The tasks.
    pub items: Vec<LongTask>,
}

/// A task on the whole store that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct LongTask {
    /// `check` or `backup`.
    pub task: String,
    /// What is being done; empty before the first step.
    pub doing: String,
    /// What is counted: `events`, `pages`.
    pub unit: String,
    /// How many of them are done.
    pub done: u64,
    /// How many there are; 0 if they are not counted.
    pub total: u64,
}
