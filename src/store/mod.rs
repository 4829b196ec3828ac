//! The store: one SQLite file with the signed events of both logs, and the projections computed from them.
//!
//! The only module with SQL. Every act goes through [`Store::commit`] or [`Store::commit_roster`], or, with the hash of
//! its request, through [`Store::commit_asked`] or [`Store::commit_roster_asked`]; events of other devices go through
//! [`Store::import_synced`]. One transaction appends the events and updates the projections by the
//! rules of [`crate::domain::derive`]. Other data, such as invitations, peers and the progress of background passes, is
//! written in a transaction of the same kind, which commits only into the file that is at the store's path.

mod act;
mod backup;
mod calibration;
mod check;
mod chunks;
mod commit;
mod compact_log;
mod deep_stage_mark;
mod doubt_rows;
mod dump;
mod error;
mod file;
mod file_check;
#[cfg(any(test, feature = "testing"))]
mod import_events;
mod levels;
mod log;
mod long_step;
mod open;
mod past;
mod peer_progress;
mod project;
mod read;
mod readings;
mod rebuild;
mod recover;
mod requests;
mod row;
mod scopes;
mod size_by_kind;
mod story_check;
mod story_pass;
mod story_reading_mark;
mod team;
mod vectors;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ed25519_dalek::SigningKey;

pub use act::{Act, Committed, EventDraft, Ref};
pub use backup::dry_run_folder;
pub use chunks::{ChunkMark, ChunkRow, IngestedRow, StoredChunk};
pub use compact_log::{CompactedLog, FileShrink};
pub use doubt_rows::{DoubtRow, NewDoubt, QueuedDoubts};
pub use error::StoreError;
#[cfg(any(test, feature = "testing"))]
pub use import_events::Imported;
pub use long_step::{StoreProgress, StoreStep};
pub use past::{EVER, PastMark};
pub use read::{
    AgentTally, AnswersInScope, ClaimLink, ClaimNews, JudgedWords, NearbyLists, NewestAnswers, PAIR_WEIGHT,
    RecordedPromotion, SUBJECT_WEIGHT, Sightings,
};
pub use recover::{RecoveredStore, TableLoss};
pub use requests::RequestHash;
pub use row::{
    AgentRow, CardFilter, CardRow, CardState, CheckReport, ClaimFilter, ClaimRow, EventRow, GuardOutcome,
    KindAndStatus, LogFilter, Lookup, NearbyQuery, Neighbour, NeighbourQuery, NoticeRow, Page, PromotedFrom, RowNumber,
    ScopeRow, StoreCounts, WordList, WordLists, WordQuery,
};
pub use scopes::EventTally;
pub use size_by_kind::DataKind;
pub use story_pass::{StoryMarkRow, StoryNeighbour, StoryPlace, StoryReader, StoryStep, WrittenMark, WrittenMarks};
pub use story_reading_mark::{StoryOutlineRow, StoryPage, UnreadStory};
pub use team::sync_rows::{
    ContactRow, DocumentBase, DocumentChunk, DocumentRow, DocumentUpdate, Fork, InviteRow, LogEntry, LogEntryCursor,
    LogEntryPage, PeerDocumentState, PeerRow, QuarantinedRow, RosterDraft, SyncCursor, SyncImport, SyncImported,
    SyncPage, TeamRow, TeamScopeRow, UnacceptedEvents,
};
pub use team::{BusyAuthor, MOST_QUARANTINED};
pub use vectors::{MissingReasonVectors, PendingText, ReembeddingProgress, VectorModel};

use rusqlite::Connection;

use crate::domain::{DeviceId, guard_report::PairCheck};

/// The schema version that this program writes.
pub const SCHEMA: u32 = 20;

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Options for opening a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Wait for the disk at each commit (`synchronous=FULL`). Turned off only to measure the cost of waiting.
    pub durable: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { durable: true }
    }
}

/// The only writer of a store's file. Reads that belong to a write go through [`Store::reader`].
pub struct Store {
    reader: Reader,
    key: SigningKey,
    check: Arc<dyn PairCheck>,
    epoch: u64,
}

impl Store {
    /// Opens or creates the store at `path`, migrates its schema, and rebuilds the projections if `check` has a new
    /// version. `key` signs the acts of this device.
    pub fn open(path: &Path, key: SigningKey, check: Arc<dyn PairCheck>) -> Result<Self> {
        Self::open_with(path, key, check, StoreOptions::default())
    }

    /// Opens a store like [`Store::open`], with options.
    pub fn open_with(path: &Path, key: SigningKey, check: Arc<dyn PairCheck>, options: StoreOptions) -> Result<Self> {
        let mut db = open::writer(path, options)?;
        let file = Some(Arc::new(file::OpenFile::at(path, &db)?));
        let epoch = open::epoch(&db, path)?;
        if open::setting::<String>(&db, "derived")? != Some(rebuild::version(&*check)) {
            let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            rebuild::rebuild(&tx, &*check, &mut ())?;
            tx.commit()?;
        }
        let reader = Reader { db, path: path.to_owned(), file, check: check.clone(), rosters: Arc::default() };
        let store = Self { reader, key, check, epoch };
        store.scrub();
        Ok(store)
    }

    pub fn path(&self) -> &Path {
        self.reader.path()
    }

    /// Returns the id of this device.
    pub fn device(&self) -> DeviceId {
        DeviceId(self.key.verifying_key().to_bytes())
    }

    /// Returns a reader on the writer's own connection, which sees everything that is committed.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Opens another connection, read-only, whose reads do not wait for the writer.
    pub fn open_reader(&self) -> Result<Reader> {
        let db = open::reader(&self.reader.path)?;
        let Reader { path, file, check, rosters, .. } = &self.reader;
        let (file, check, rosters) = (file.clone(), check.clone(), rosters.clone());
        Ok(Reader { db, path: path.clone(), file, check, rosters })
    }

    /// Signs and stores an act: either all of its events or none. When this returns, the act is on disk.
    ///
    /// If this device has already stored an act with this `op`, nothing is written and the result is `replayed`.
    pub fn commit(&mut self, act: Act) -> Result<Committed> {
        self.write_act(act, None, None)
    }
}

/// Reads from a store. Each method sees one state of the file; within [`Reader::snapshot`] several see the same one.
pub struct Reader {
    db: Connection,
    path: PathBuf,
    /// `None` for a store of an earlier time ([`Reader::past`]), which has no named file.
    file: Option<Arc<file::OpenFile>>,
    check: Arc<dyn PairCheck>,
    rosters: Arc<team::RosterCache>,
}

impl Reader {
    /// Runs several reads on one state of the file.
    pub fn snapshot<T, E: From<StoreError>>(
        &self,
        reads: impl FnOnce(&Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        if !self.db.is_autocommit() {
            return reads(self);
        }
        // Rolled back when it is dropped: it only reads.
        let _state = self.db.unchecked_transaction().map_err(StoreError::from)?;
        reads(self)
    }

    pub fn schema(&self) -> Result<u32> {
        Ok(self.db.pragma_query_value(None, "user_version", |row| row.get(0))?)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the size of the file and its write-ahead log, in bytes; a missing file counts as 0.
    pub fn size(&self) -> Result<u64> {
        let bytes = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        Ok(bytes(&self.path) + bytes(&open::wal_of(&self.path)))
    }
}
