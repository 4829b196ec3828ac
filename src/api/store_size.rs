//! The size of the store by kind of data, and the progress of long tasks on it.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// `GET /size`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SizeQuery {
    /// Count the events before this time, in milliseconds since the Unix epoch, that `ergo compact` would remove.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Divide the space in use by kind of data, which reads the whole file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_kind: bool,
}

/// The answer to `GET /size`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SizeByKind {
    /// The parts of the store, the largest first; their sum is the file and its write-ahead log.
    pub parts: Vec<KindSize>,
    /// The number of events of the local log that `ergo compact` would remove; 0 unless `before` was given.
    pub compact_events: usize,
    /// The size of their headers and bodies, in bytes.
    pub compact_bytes: u64,
}

/// The size of one kind of data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KindSize {
    /// `in use`, `free` or `write-ahead log`. With `by_kind`: `shared log`, `local log`, `vectors`, `projections` and `sync` instead of `in
    /// use`.
    pub kind: String,
    /// The size in bytes; that of the two logs is an estimate.
    pub bytes: u64,
}

/// The answer to `GET /tasks`: the running checks and backups, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LongTasks {
    /// The tasks.
    pub items: Vec<LongTask>,
}

/// The progress of a running task on the whole store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct LongTask {
    /// `check` or `backup`.
    pub task: String,
    /// The current step, in words; empty before the first one.
    pub doing: String,
    /// The unit of `done` and `total`: `events`, `pages`.
    pub unit: String,
    /// The number of units done.
    pub done: u64,
    /// The number of all units; 0 if unknown.
    pub total: u64,
}
