//! The store: one SQLite file with the signed events of both logs, and the projections made of them.
//!
//! The only module that speaks SQL. Every change goes through [`Store::commit`] or [`Store::import`], in one transaction
//! that appends events and brings the projections up to date by the rules of [`crate::domain::derive`].

mod act;
mod error;
mod row;

use std::{path::Path, sync::Arc};

use ed25519_dalek::SigningKey;

pub use act::{Act, Committed, Draft, Imported, Ref};
pub use error::StoreError;
pub use row::{
    CandidateQuery, CardFilter, CardRow, CardStatus, CheckReport, ClaimFilter, ClaimRow, Counts, EventRow, Lookup,
    Page, ScopeRow,
};

use crate::domain::{
    CardId, ClaimId, ClaimKind, EventId, OpId, Qualifiers, Scope, SignedEvent, Status, verdict::PairCheck,
};

/// The schema version that this program writes.
pub const SCHEMA: u32 = 1;

type Result<T, E = StoreError> = std::result::Result<T, E>;

fn not_built<T>() -> Result<T> {
    Err(StoreError::Damaged("not built yet".into()))
}

/// How a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Wait for the disk at each commit (`synchronous=FULL`). Off only to measure what that costs.
    pub durable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { durable: true }
    }
}

/// The one writer of a store file. Reads that belong to a write go through [`Store::reader`].
pub struct Store {
    reader: Reader,
    key: SigningKey,
    check: Arc<dyn PairCheck>,
}

impl Store {
    /// Opens the store at `path`, or makes it; runs migrations, and rebuilds the projections where `check` has a new
    /// version. `key` signs what is committed here.
    pub fn open(path: &Path, key: SigningKey, check: Arc<dyn PairCheck>) -> Result<Self> {
        Self::open_with(path, key, check, Options::default())
    }

    /// [`Store::open`] with options.
    pub fn open_with(path: &Path, key: SigningKey, check: Arc<dyn PairCheck>, options: Options) -> Result<Self> {
        let _ = (path, key, check, options);
        not_built()
    }

    /// Reads on the writer's own connection: sees all that is committed, and nothing else.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Opens a further, read-only connection, for reads that do not wait for the writer.
    pub fn open_reader(&self) -> Result<Reader> {
        not_built()
    }

    /// Signs and stores an act: all of its events, or none. When this returns, the act is on disk.
    ///
    /// An act whose `op` this device has stored before is answered as `replayed`, and nothing happens.
    pub fn commit(&mut self, act: Act) -> Result<Committed> {
        let _ = (act, &self.key, &self.check);
        not_built()
    }

    /// Verifies and stores events of the shared log that were made elsewhere, in any order; all of them, or none.
    pub fn import(&mut self, events: &[SignedEvent]) -> Result<Imported> {
        let _ = events;
        not_built()
    }

    /// Drops every projection and makes it anew from both logs.
    pub fn rebuild(&mut self) -> Result<()> {
        not_built()
    }

    /// Looks the whole file over: SQLite's own checks, signatures, chains, bodies, and whether the projections are what
    /// a rebuild would make. Changes nothing.
    pub fn check(&self) -> Result<CheckReport> {
        not_built()
    }

    /// Copies the store to a new file while it is in use, and waits for the disk. Answers with its size in bytes.
    pub fn backup(&self, to: &Path) -> Result<u64> {
        let _ = to;
        not_built()
    }
}

/// Reads from a store. Every method sees one state of the file; several see the same one within [`Reader::snapshot`].
pub struct Reader {
    _private: (),
}

impl Reader {
    /// Runs several reads on one state of the file.
    pub fn snapshot<T, E: From<StoreError>>(
        &self,
        reads: impl FnOnce(&Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        reads(self)
    }

    /// The schema version of the file.
    pub fn schema(&self) -> Result<u32> {
        not_built()
    }

    /// Bytes of the file and its write-ahead log.
    pub fn size(&self) -> Result<u64> {
        not_built()
    }

    /// The scope that an act in `scope` with this identity goes to: the same, or `name-2`, `name-3`, … where the name is
    /// bound to another identity. Binds nothing: [`Store::commit`] does.
    pub fn scope_for(&self, scope: &Scope, identity: Option<&str>) -> Result<Scope> {
        let _ = (scope, identity);
        not_built()
    }

    /// A claim.
    pub fn claim(&self, id: &ClaimId) -> Result<Option<ClaimRow>> {
        let _ = id;
        not_built()
    }

    /// A claim as it was at a wall time in milliseconds since the Unix epoch, by event clock; `None` if it was not there.
    pub fn claim_at(&self, id: &ClaimId, as_of: u64) -> Result<Option<ClaimRow>> {
        let _ = (id, as_of);
        not_built()
    }

    /// What a claim id or a prefix of one stands for.
    pub fn find_claim(&self, prefix: &str) -> Result<Lookup<ClaimId>> {
        let _ = prefix;
        not_built()
    }

    /// What a card id or a prefix of one stands for. A refused candidate's id stands for its card.
    pub fn find_card(&self, prefix: &str) -> Result<Lookup<CardId>> {
        let _ = prefix;
        not_built()
    }

    /// A page of claims, newest first by event clock.
    pub fn claims(&self, filter: &ClaimFilter, limit: usize, cursor: Option<&str>) -> Result<Page<ClaimRow>> {
        let _ = (filter, limit, cursor);
        not_built()
    }

    /// A page of claims as they were at a wall time, newest first. Takes time in proportion to the scope.
    pub fn claims_at(
        &self,
        filter: &ClaimFilter,
        as_of: u64,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<ClaimRow>> {
        let _ = (filter, as_of, limit, cursor);
        not_built()
    }

    /// Full-text search over statement, reason and source, the best match first (BM25). Looks at no more than the
    /// 1,000 best or newest matches; `total` counts those.
    pub fn search(
        &self,
        filter: &ClaimFilter,
        words: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<ClaimRow>> {
        let _ = (filter, words, limit, cursor);
        not_built()
    }

    /// Active guarded claims of the scope that a new claim should be compared with, the likeliest first.
    pub fn candidates(&self, query: &CandidateQuery) -> Result<Vec<ClaimRow>> {
        let _ = query;
        not_built()
    }

    /// The active facts of a key (see [`crate::domain::event::key_hash`]), newest first.
    pub fn fact_heads(&self, scope: &Scope, key_hash: &EventId) -> Result<Vec<ClaimRow>> {
        let _ = (scope, key_hash);
        not_built()
    }

    /// The active claim that says exactly this.
    pub fn duplicate(
        &self,
        scope: &Scope,
        kind: ClaimKind,
        statement: &str,
        qualifiers: &Qualifiers,
    ) -> Result<Option<ClaimId>> {
        let _ = (scope, kind, statement, qualifiers);
        not_built()
    }

    /// The active claims that now stand in a claim's place; itself if it is active.
    pub fn heads(&self, claim: &ClaimId) -> Result<Vec<ClaimRow>> {
        let _ = claim;
        not_built()
    }

    /// What a claim rests on.
    pub fn premises(&self, claim: &ClaimId) -> Result<Vec<ClaimRow>> {
        let _ = claim;
        not_built()
    }

    /// The active claims that rest on a claim, newest first, at most `limit`.
    pub fn dependents(&self, claim: &ClaimId, limit: usize) -> Result<Vec<ClaimRow>> {
        let _ = (claim, limit);
        not_built()
    }

    /// An event.
    pub fn event(&self, id: &EventId) -> Result<Option<EventRow>> {
        let _ = id;
        not_built()
    }

    /// Every event that made or acted on a claim, oldest first.
    pub fn events_of(&self, claim: &ClaimId) -> Result<Vec<EventRow>> {
        let _ = claim;
        not_built()
    }

    /// The events of an act, in the order in which they were made.
    pub fn op(&self, op: &OpId) -> Result<Vec<EventRow>> {
        let _ = op;
        not_built()
    }

    /// A caller's last act that still has effect and is no undo, no redaction and no refusal.
    pub fn last_op(&self, who: &str, agent: Option<&str>, scope: Option<&Scope>) -> Result<Option<OpId>> {
        let _ = (who, agent, scope);
        not_built()
    }

    /// Events outside an act that still have effect and refer to it: while there are any, it cannot be undone.
    pub fn built_on(&self, op: &OpId) -> Result<Vec<EventRow>> {
        let _ = op;
        not_built()
    }

    /// A page of both logs, newest first by event clock. `total` is 0: the log is not counted.
    pub fn log(&self, scope: Option<&Scope>, limit: usize, cursor: Option<&str>) -> Result<Page<EventRow>> {
        let _ = (scope, limit, cursor);
        not_built()
    }

    /// A card.
    pub fn card(&self, id: &CardId) -> Result<Option<CardRow>> {
        let _ = id;
        not_built()
    }

    /// A page of cards, newest first.
    pub fn cards(&self, filter: &CardFilter, limit: usize, cursor: Option<&str>) -> Result<Page<CardRow>> {
        let _ = (filter, limit, cursor);
        not_built()
    }

    /// The cards on which a claim or candidate stands, open ones first.
    pub fn cards_of(&self, member: &EventId) -> Result<Vec<CardRow>> {
        let _ = member;
        not_built()
    }

    /// A refused candidate in the form of a claim: with its card's rev, and status active, which it never had.
    pub fn candidate(&self, id: &EventId) -> Result<Option<ClaimRow>> {
        let _ = id;
        not_built()
    }

    /// The latest card of a refused candidate with this kind and statement, whitespace aside; open or not.
    pub fn refused_card(&self, scope: &Scope, kind: ClaimKind, statement: &str) -> Result<Option<CardRow>> {
        let _ = (scope, kind, statement);
        not_built()
    }

    /// Whether an exception or a dismissal has settled this pair.
    pub fn is_settled_pair(&self, one: &ClaimId, other: &ClaimId) -> Result<bool> {
        let _ = (one, other);
        not_built()
    }

    /// Every scope, by name.
    pub fn scopes(&self) -> Result<Vec<ScopeRow>> {
        not_built()
    }

    /// Counts over the whole store.
    pub fn counts(&self) -> Result<Counts> {
        not_built()
    }

    /// How many claims of a scope have a status.
    pub fn count(&self, scope: &Scope, status: Status) -> Result<usize> {
        let _ = (scope, status);
        not_built()
    }

    /// The signed events of both logs in the order of arrival, `limit` of them after position `after` (0 to begin), each
    /// with its position.
    pub fn signed_events(&self, after: u64, limit: usize) -> Result<Vec<(u64, SignedEvent)>> {
        let _ = (after, limit);
        not_built()
    }
}
