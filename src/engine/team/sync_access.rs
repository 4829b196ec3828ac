//! The access of sync to the store: no claims, and no unverified events.

use std::collections::{BTreeMap, HashSet};

use crate::{
    api::ApiError,
    domain::{
        DeviceId, EventId, Roster, Scope, SignedEvent,
        event::SealedBody,
        replica::{ChainEnd, DocumentId, Month, SetDigest},
    },
    engine::Engine,
    store::{
        DocumentChunk, DocumentRow, DocumentUpdate, InviteRow, LogEntry, LogEntryCursor, LogEntryPage,
        PeerDocumentState, PeerRow, QuarantinedRow, Reader, Store, StoreError, SyncCursor, SyncPage, TeamRow,
        TeamScopeRow,
    },
};

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Reads of teams, their events, documents and peers, on one state of the store.
pub struct SyncReader<'a>(&'a Reader);

/// Writes of documents, peers, invitations and addresses, but of nothing from which claims are computed.
pub struct SyncWriter<'a>(&'a mut Store);

macro_rules! reads {
    ($($name:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {$(
        #[doc = concat!("Calls [`Reader::", stringify!($name), "`].")]
        pub fn $name(&self, $($arg: $type),*) -> Result<$out> {
            self.0.$name($($arg),*)
        }
    )*};
}

macro_rules! writes {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("Calls [`Store::", stringify!($name), "`].")]
        pub fn $name(&mut self, $($arg: $type),*) -> Result<()> {
            self.0.$name($($arg),*)
        }
    )*};
}

impl SyncReader<'_> {
    reads! {
        teams() -> Vec<TeamRow>;
        teams_with_rosters() -> Vec<(TeamRow, Roster)>;
        team_scopes(team: &EventId) -> Vec<TeamScopeRow>;
        roster(team: &EventId) -> Option<Roster>;
        roster_events(team: &EventId) -> Vec<SignedEvent>;
        set(team: &EventId, scope: &Scope) -> (usize, SetDigest);
        vector(team: &EventId, scope: &Scope) -> Vec<ChainEnd>;
        known(events: &[EventId]) -> HashSet<EventId>;
        events_after(team: &EventId, scope: &Scope, ends: &[ChainEnd], cursor: Option<&SyncCursor>, limit: usize) -> SyncPage;
        events_named(team: &EventId, scope: &Scope, events: &[EventId]) -> Vec<SignedEvent>;
        bodies(team: &EventId, scope: &Scope, events: &[EventId]) -> Vec<(EventId, Option<SealedBody>)>;
        missing_bodies(team: &EventId, scope: &Scope, after: Option<&EventId>, limit: usize) -> Vec<EventId>;
        quarantined(team: &EventId, limit: usize, after: usize) -> Vec<QuarantinedRow>;
        quarantined_count_of(team: &EventId, author: &DeviceId) -> usize;
        quarantined_count_in(team: &EventId, scope: &Scope) -> usize;
        quarantine_is_due(team: &EventId, now: u64) -> bool;
        unsent(team: &EventId, peers: &[PeerRow], roster: &Roster) -> BTreeMap<DeviceId, u64>;
        quarantined_by(team: &EventId) -> BTreeMap<Option<DeviceId>, usize>;
        entries(team: &EventId, scope: &Scope, month: Month, cursor: Option<&LogEntryCursor>, limit: usize) -> LogEntryPage;
        undocumented(team: &EventId, scope: &Scope, limit: usize) -> Vec<LogEntry>;
        undocumented_count(team: &EventId, scope: &Scope) -> u64;
        documents(team: &EventId, scope: Option<&Scope>) -> Vec<DocumentRow>;
        document(id: &DocumentId) -> Option<DocumentRow>;
        document_chunks(id: &DocumentId) -> Vec<DocumentChunk>;
        document_entries(id: &DocumentId) -> Vec<EventId>;
        peers(team: Option<&EventId>) -> Vec<PeerRow>;
        peer(team: &EventId, device: &DeviceId) -> Option<PeerRow>;
        peer_document(peer: &DeviceId, document: &DocumentId) -> Option<PeerDocumentState>;
        peer_progress(team: &EventId, peer: &DeviceId, scope: &Scope) -> Option<Vec<ChainEnd>>;
        invites(team: &EventId) -> Vec<InviteRow>;
        invite(hash: &[u8; 32]) -> Option<InviteRow>;
    }
}

impl SyncWriter<'_> {
    writes! {
        write_document(team: EventId, update: &DocumentUpdate);
        drop_document(id: &DocumentId);
        write_peer(peer: &PeerRow);
        put_peer_progress(team: &EventId, peer: &DeviceId, scope: &Scope, ends: &[ChainEnd], at: u64);
        note_contact(address: &str, what: &str, now: u64);
        write_invite(invite: &InviteRow);
        delete_invite(hash: &[u8; 32]);
    }
}

impl Engine {
    /// Runs reads of sync on one state of the store, without waiting for the writer. Damage that they meet is noted.
    pub fn sync_read<T>(&self, read: impl FnOnce(&SyncReader<'_>) -> Result<T>) -> Result<T, ApiError> {
        self.noting_damage(self.readers.lend().snapshot(|reader| read(&SyncReader(reader))))
    }

    /// Runs writes of sync under the write lock: keep them short. Damage that they meet is noted.
    pub fn sync_write<T>(&self, write: impl FnOnce(&mut SyncWriter<'_>) -> Result<T>) -> Result<T, ApiError> {
        self.noting_damage(write(&mut SyncWriter(&mut self.writer())))
    }
}

/// Access to the whole store, for tests and measurements that read what no other module may, or damage it on purpose.
#[cfg(any(test, feature = "testing"))]
impl Engine {
    /// Reads anything.
    pub fn with_reader<T>(&self, read: impl FnOnce(&Reader) -> Result<T>) -> Result<T, ApiError> {
        Ok(self.readers.lend().snapshot(read)?)
    }

    /// Writes anything, past the guard.
    pub fn with_store<T>(&self, write: impl FnOnce(&mut Store) -> Result<T>) -> Result<T, ApiError> {
        Ok(write(&mut self.writer())?)
    }
}
