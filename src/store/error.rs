//! The errors of the store, each with advice.

use std::path::PathBuf;

use super::VectorModel;
use crate::{
    domain::{DeviceId, EventId, OpId, Scope, event::EventError, replica::DocumentId},
    files,
};

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite reported an error.
    #[error("{kind}: {error}", kind = kind_of(.0), error = .0)]
    Sqlite(#[from] rusqlite::Error),
    /// The file system reported an error.
    #[error("{what} {path}: {error}")]
    Io {
        /// The failed operation, as the message begins: "cannot open", …
        what: &'static str,
        path: PathBuf,
        error: std::io::Error,
    },
    /// The operating system, or a part of the program, failed. Says nothing about the file.
    #[error("cannot {act}: {cause}")]
    System {
        /// What was attempted, as a verb phrase.
        act: &'static str,
        cause: String,
    },
    /// The file was written by a newer version of ergo.
    #[error(
        "the store {path} has schema version {found}, and this ergo knows versions up to {known}: use the newer ergo \
         that wrote it"
    )]
    NewerSchema {
        path: PathBuf,
        /// The file's schema version.
        found: u32,
        /// The newest schema version that this program knows.
        known: u32,
    },
    /// The file was written by a version of ergo from before the first release.
    #[error(
        "the store {path} has schema version {found}, from before the first release, which this ergo cannot read: \
         export each project with the ergo that wrote it (`ergo export jsonl FILE`), move the store away, and import the \
         files with this ergo (`ergo import jsonl FILE`)"
    )]
    OlderSchema {
        path: PathBuf,
        /// The file's schema version.
        found: u32,
    },
    /// The file is not an ergo store, but perhaps another database.
    #[error("{path} is not an ergo store: move it away, or put a backup in its place that `ergo backup` made")]
    NotAStore { path: PathBuf },
    /// The file is empty, which a store never is: a copy failed, or a write was lost.
    #[error(
        "{0} is empty, so its content is lost; replace it with a complete backup, or delete it to start with an empty store"
    )]
    Empty(PathBuf),
    /// The end of the file is missing: a copy was interrupted.
    #[error(
        "{path} is incomplete: it has {size} of {whole} bytes; replace it with a complete backup (if copying was \
            interrupted, copy it again)"
    )]
    Incomplete {
        path: PathBuf,
        /// The file's size in bytes.
        size: u64,
        /// The size in bytes that the file's header declares.
        whole: u64,
    },
    /// An event is malformed, forged or too large.
    #[error(transparent)]
    Event(#[from] EventError),
    /// A draft of an act is invalid.
    #[error("draft {index} of the act {problem}")]
    BadDraft {
        /// The index of the draft, counted from 0.
        index: usize,
        /// What is wrong, as a phrase that follows "draft 0 of the act".
        problem: &'static str,
    },
    /// The name of a scope is malformed.
    #[error(transparent)]
    Scope(#[from] crate::domain::scope::ScopeError),
    /// A cursor was not returned by the list that it is used for.
    #[error("invalid cursor “{0}”: pass the one at the end of the previous page unchanged")]
    BadCursor(String),
    /// The target of a backup exists: `backup` never overwrites a file.
    #[error("{0} already exists: choose another name")]
    Exists(PathBuf),
    /// A vector is of another model than the stored ones; vectors of two models cannot be compared.
    #[error(
        "the store's vectors were computed with {stored}, and the embedder is now {given}: select the old embedder \
            (`ergo models use`), or compute them again with `ergo reembed`; until then claims are found by words only"
    )]
    VectorModel {
        /// The model of the stored vectors, which the first vector determined.
        stored: Box<VectorModel>,
        /// The model of the new vector.
        given: Box<VectorModel>,
    },
    /// The vectors of the embedding model cannot be stored.
    #[error("the embedding model {0}: choose another one (`ergo models use`)")]
    BadModel(String),
    /// A vector cannot be the output of its model.
    #[error("a vector {0}: the embedding model gives invalid output; `ergo models verify` checks its file")]
    BadVector(String),
    /// This store does not know the team.
    #[error("this device is not in the team {}: join it first", .0.short())]
    UnknownTeam(EventId),
    /// The events that were given as a team's roster lack its first event.
    #[error("the received events are not the roster of team {}: ask for a new invitation", .0.short())]
    NoRoster(EventId),
    /// The roster does not name this device as a member.
    #[error("team {} does not name this device ({}) as a member: ask an admin to add it", .team.short(), .device.short())]
    NotAMember { device: DeviceId, team: EventId },
    /// The team does not have the scope, or this device may not read it.
    #[error("the team {} does not share {scope} with this device: an admin can grant it (`ergo sync grant`)", .team.short())]
    NotShared {
        /// The scope's name in the team.
        scope: Scope,
        team: EventId,
    },
    /// The scope of this device is already bound to a team's scope.
    #[error("{0} is already used for a scope of a team: choose another name")]
    Bound(Scope),
    /// The id of a document does not match its scope, month and part.
    #[error("document {0} belongs to another scope, month or part")]
    BadDocument(DocumentId),
    /// The stored version of a document is not the one that a change was based on.
    #[error("document {0} was changed at the same time: retry")]
    StaleDocument(DocumentId),
    /// The idempotency key belongs to another act.
    #[error("`op_id` {0} was used for another request")]
    UsedOp(OpId),
    /// The file was removed while the store was open.
    #[error("the store {} was removed while it was in use, so nothing can be stored", .0.display())]
    Removed(PathBuf),
    /// Another file has taken the store's path while the store was open.
    #[error("the store {} was replaced by another file while it was in use, so nothing can be stored", .0.display())]
    Replaced(PathBuf),
    /// The file could not be opened for writing.
    #[error("the store {} is read-only, so nothing can be stored", .0.display())]
    ReadOnly(PathBuf),
    /// The file was truncated while the store was open.
    #[error("the store is damaged: {} was truncated from {seen} to {size} bytes while it was in use", path.display())]
    Cut {
        path: PathBuf,
        /// The present size in bytes.
        size: u64,
        /// The largest known earlier size in bytes.
        seen: u64,
    },
    /// Data in the file that ergo itself wrote cannot be read.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}

impl StoreError {
    /// Returns whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Sqlite(rusqlite::Error::SqliteFailure(error, _)) => error.code == rusqlite::ErrorCode::DiskFull,
            Self::Io { error, .. } => files::is_full(error),
            _ => false,
        }
    }

    /// Returns whether the file's content is not what was written: something else damaged it, or the disk fails.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Sqlite(error) => is_damage(error),
            Self::Cut { .. } | Self::Damaged(_) => true,
            _ => false,
        }
    }

    /// Returns whether the store cannot be written now although the request is valid: disk full, read-only, busy.
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
            Self::Io { .. } | Self::Removed(_) | Self::Replaced(_) | Self::ReadOnly(_) => true,
            _ => false,
        }
    }
}

/// Describes what an SQLite error means for the store.
fn kind_of(error: &rusqlite::Error) -> &'static str {
    if is_damage(error) { "the store is damaged" } else { "the store cannot be read or written" }
}

/// Returns whether an error of SQLite, or of decoding a column, means that the file is damaged.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
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
