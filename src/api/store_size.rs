//! The size of the store by kind of data.

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
}

/// The answer to `GET /size`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SizeByKind {
    /// The bytes of each kind of data, the largest first; together the file and its write-ahead log.
    pub parts: Vec<KindSize>,
    /// Events of the local log that `ergo compact` would remove; 0 unless `before` was given.
    pub compact_events: usize,
    /// The bytes of their headers and bodies.
    pub compact_bytes: u64,
}

/// The size of one kind of data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KindSize {
    /// `shared log`, `local log`, `vectors`, `projections`, `sync`, `free` or `write-ahead log`.
    pub kind: String,
    /// Its bytes; those of the two logs are an estimate.
    pub bytes: u64,
}
