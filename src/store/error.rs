//! The errors of the store, each with advice.

use std::path::PathBuf;

use super::VectorModel;
use crate::domain::{DeviceId, EventId, OpId, Scope, event::EventError, replica::DocumentId};

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused.
    #[error("{kind}: {error}", kind = kind_of(.0), error = .0)]
    Sqlite(#[from] rusqlite::Error),
    /// The file system refused.
    #[error("{what} {path}: {error}")]
    Io {
        /// What was tried: "cannot open", …
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The file was written by a newer version.
    #[error(
        "the store {path} has schema version {found}, and this ergo knows versions up to {known}: use the newer ergo \
         that wrote it"
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// The file was written by a version from before the first release.
    #[error(
        "the store {path} has schema version {found}, from before the first release, which this ergo cannot read: \
         export each project with the ergo that wrote it (`ergo export jsonl FILE`), move the store away, and import the \
         files with this ergo (`ergo import jsonl FILE`)"
    )]
    OlderSchema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file is a database, but not ergo's.
    #[error("{path} is not an ergo store: move it away, or put a backup in its place that `ergo backup` made")]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The file has no content, which a store never lacks: a copy that failed, or a write that was lost.
    #[error(
        "{0} is empty, so its content is lost; replace it with a complete backup, or delete it to start with an empty store"
    )]
    Empty(PathBuf),
    /// The file lacks its end: a copy that was cut short.
    #[error(
        "{path} is incomplete: it has {size} of {whole} bytes; replace it with a complete backup (if copying was \
            interrupted, copy it again)"
    )]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The size that its header declares, in bytes.
        whole: u64,
    },
    /// An event is malformed, forged or too large.
    #[error(transparent)]
    Event(#[from] EventError),
    /// A draft refers to something that the act cannot contain.
    #[error("draft {index} of the act {problem}")]
    BadDraft {
        /// Which draft, from 0.
        index: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A scope's name is malformed.
    #[error(transparent)]
    Scope(#[from] crate::domain::scope::ScopeError),
    /// A page's cursor was not made by this list.
    #[error("invalid cursor “{0}”: pass the one at the end of the previous page unchanged")]
    BadCursor(String),
    /// `backup` never overwrites.
    #[error("{0} already exists: choose another name")]
    Exists(PathBuf),
    /// Vectors of two models cannot be compared.
    #[error(
        "the store's vectors were computed with {stored}, and the embedder is now {given}: select the old embedder \
            (`ergo models use`), or compute them again with `ergo reembed`; until then claims are found by words only"
    )]
    VectorModel {
        /// The model that the first vector locked.
        stored: Box<VectorModel>,
        /// The other.
        given: Box<VectorModel>,
    },
    /// A vector is not one of its model's.
    #[error("a vector {0}: the embedding model gives invalid output; `ergo models verify` checks its file")]
    BadVector(String),
    /// The team is not one of this store's.
    #[error("this device is not in the team {}: join it first", .0.short())]
    UnknownTeam(EventId),
    /// What was given as a team's roster lacks its beginning.
    #[error("the received events are not the roster of team {}: ask for a new invitation", .0.short())]
    NoRoster(EventId),
    /// A roster does not name this device.
    #[error("team {} does not name this device ({}) as a member: ask an admin to add it", .team.short(), .device.short())]
    NotAMember {
        /// This device.
        device: DeviceId,
        /// The team.
        team: EventId,
    },
    /// A scope that is not one of the team's, or that this device may not read.
    #[error("the team {} does not share {scope} with this device: an admin can grant it (`ergo sync grant`)", .team.short())]
    NotShared {
        /// The scope, by its name in the team.
        scope: Scope,
        /// The team.
        team: EventId,
    },
    /// A scope here that holds a team's scope already.
    #[error("{0} is already used for a scope of a team: choose another name")]
    Bound(Scope),
    /// A document's id does not follow from what it holds.
    #[error("document {0} belongs to another scope, month or part")]
    BadDocument(DocumentId),
    /// A document is not the version that a change to it was based on.
    #[error("document {0} was changed at the same time: retry")]
    StaleDocument(DocumentId),
    /// The idempotency key of another act.
    #[error("`op_id` {0} was used for another request")]
    UsedOp(OpId),
    /// The file was removed while the store was open.
    #[error("the store {} was removed while it was in use, so nothing can be stored", .0.display())]
    Removed(PathBuf),
    /// Another file has the store's name.
    #[error("the store {} was replaced by another file while it was in use, so nothing can be stored", .0.display())]
    Replaced(PathBuf),
    /// The file lost its end.
    #[error("the store is damaged: {} was truncated from {seen} to {size} bytes while it was in use", path.display())]
    Cut {
        /// The file.
        path: PathBuf,
        /// Its size now.
        size: u64,
        /// The size that it had.
        seen: u64,
    },
    /// Something in the file that ergo itself wrote cannot be read.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}

impl StoreError {
    /// Whether there is no room left on the disk.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Sqlite(rusqlite::Error::SqliteFailure(error, _)) => error.code == rusqlite::ErrorCode::DiskFull,
            Self::Io { error, .. } => {
                matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }

    /// Whether the file does not hold what was written into it: it was damaged from outside, or the disk fails.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Sqlite(error) => is_damage(error),
            Self::Cut { .. } | Self::Damaged(_) => true,
            _ => false,
        }
    }

    /// Whether the store cannot be written now, though nothing is wrong with the request: disk full, read-only, busy.
    pub fn is_unavailable(&self) -> bool {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, FileLockingProtocolFailed, ReadOnly, SystemIoFailure,
        };
        match self {
            Self::Sqlite(error) if is_damage(error) => false,
            Self::Sqlite(rusqlite::Error::SqliteFailure(error, _)) => matches!(
                error.code,
                CannotOpen
                    | DatabaseBusy
                    | DatabaseLocked
                    | DiskFull
                    | FileLockingProtocolFailed
                    | ReadOnly
                    | SystemIoFailure
            ),
            Self::Io { .. } | Self::Removed(_) | Self::Replaced(_) => true,
            _ => false,
        }
    }
}

/// What an error of SQLite means for the store.
fn kind_of(error: &rusqlite::Error) -> &'static str {
    if is_damage(error) { "the store is damaged" } else { "the store cannot be read or written" }
}

/// Whether an error of SQLite, or of decoding a column, means that the file is damaged.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::{
        Error,
        ErrorCode::{DatabaseCorrupt, NotADatabase},
        ffi,
    };
    match error {
        Error::SqliteFailure(error, _) => {
            matches!(error.code, DatabaseCorrupt | NotADatabase) || error.extended_code == ffi::SQLITE_IOERR_SHORT_READ
        }
        Error::FromSqlConversionFailure(..) => true,
        _ => false,
    }
}
