//! The types that the store accepts and returns for teams.

use crate::domain::{
    CardId, ClaimId, DeviceId, EventId, Hlc, Scope, SignedEvent,
    replica::{Chain, DocumentId, Month, SetDigest},
    roster::{Grant, Refusal, RosterChange},
};

/// Events received from a peer, a bundle or a file, with the document that contained them.
#[derive(Clone, Debug)]
pub struct SyncImport {
    pub team: EventId,
    /// The device that delivered them; `None` for a file.
    pub from: Option<DeviceId>,
    /// The events, including roster events, in any order. An event without its body is stored; the body can be added
    /// later.
    pub events: Vec<SignedEvent>,
    /// The document that contained the events.
    pub document: Option<DocumentUpdate>,
    /// What is known of the peer's copy of that document.
    pub peer: Option<PeerDocumentState>,
    /// The wall clock, in milliseconds since the Unix epoch.
    pub now: u64,
}

/// The result of [`super::super::Store::import_synced`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncImported {
    /// Events that are new in this store, or whose body was added now.
    pub stored: Vec<EventId>,
    /// The number of events that this store already had, in quarantine or not.
    pub known: usize,
    /// Events that the team does not accept. They are kept in quarantine, except those of a scope that this device may
    /// not read.
    pub quarantined: Vec<(EventId, Refusal)>,
    /// Events that this store already had in quarantine, where they stay, without those that a person discarded.
    pub waiting: Vec<(EventId, Refusal)>,
    /// Events that left the quarantine because the roster now accepts them.
    pub readmitted: Vec<EventId>,
    /// Events that were accepted before and are in quarantine now.
    pub withdrawn: Vec<(EventId, Refusal)>,
    /// Claims whose state changed.
    pub claims: Vec<ClaimId>,
    /// Cards that were opened or changed.
    pub cards: Vec<CardId>,
    /// Forks that were found in the chains of the events.
    pub forks: Vec<Fork>,
    /// The roster has changed.
    pub roster_changed: bool,
    /// At least one text was redacted.
    pub redacted: bool,
}

/// Events that this device wrote in a scope of a team and that the team does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnacceptedEvents {
    /// The scope's name in the team.
    pub scope: Scope,
    /// The scope's name on this device.
    pub local: Scope,
    /// Why the team does not accept them.
    pub refusal: Refusal,
    /// The number of these events.
    pub events: usize,
}

/// Two or more events at one position of a chain: a store was copied or restored, or its key was stolen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The scope's name in the team.
    pub scope: Scope,
    pub chain: Chain,
    /// The sequence number that the events share.
    pub seq: u64,
    /// In the order of their ids.
    pub events: Vec<EventId>,
}

/// A change to a document of the replication index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentUpdate {
    /// The id: [`DocumentId::of`] the scope, the month and the part.
    pub id: DocumentId,
    /// The scope's name in the team.
    pub scope: Scope,
    pub month: Month,
    /// The part of the month, counted from 0.
    pub part: u32,
    /// The version that the change is based on, which must be the stored one; `None` if the change applies to any
    /// version.
    pub base: Option<DocumentBase>,
    /// The bytes to store; `None` if only the heads or entries changed.
    pub chunk: Option<DocumentChunk>,
    /// The document's heads, in a form that the store does not interpret.
    pub heads: Vec<u8>,
    /// The events that the change adds to the document.
    pub entries: Vec<EventId>,
}

/// The version of a document before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentBase {
    /// The heads, as in [`DocumentUpdate::heads`].
    pub heads: Vec<u8>,
    /// The number of events in the document; 0 if it is not stored yet.
    pub events: usize,
}

/// Bytes of a document to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentChunk {
    /// Bytes to be read after the stored chunks.
    Append(Vec<u8>),
    /// The whole document, which replaces the stored chunks.
    Snapshot(Vec<u8>),
}

/// What is known of a peer's copy of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerDocumentState {
    pub peer: DeviceId,
    pub document: DocumentId,
    /// The state of the exchange, in a form that the store does not interpret.
    pub state: Vec<u8>,
}

/// A stored document of the replication index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRow {
    pub id: DocumentId,
    pub team: EventId,
    /// The scope's name in the team.
    pub scope: Scope,
    pub month: Month,
    /// The part of the month, counted from 0.
    pub part: u32,
    /// The number of events in the document.
    pub events: usize,
    /// The digest of the ids of these events.
    pub digest: SetDigest,
    /// The document's heads, as in [`DocumentUpdate::heads`].
    pub heads: Vec<u8>,
    /// The size of all chunks, in bytes.
    pub bytes: u64,
    /// The number of chunks.
    pub chunks: usize,
}

/// A team that this device belongs or belonged to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamRow {
    pub id: EventId,
    /// When this device joined, in milliseconds since the Unix epoch.
    pub joined_at: u64,
    /// When this device left, or learnt that it was revoked, in the same unit.
    pub left_at: Option<u64>,
}

/// A scope of a team that this device may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamScopeRow {
    /// The scope's name in the team.
    pub scope: Scope,
    /// The scope's name on this device.
    pub local: Scope,
    /// The remote URL or git common directory that the scope is bound to on this device.
    pub identity: Option<String>,
    /// The scope contains the roster and is not shown in lists of scopes.
    pub is_roster: bool,
    /// Whether the team accepts what this device writes in the scope.
    pub writes: bool,
    /// The number of events that the team shares in the scope.
    pub events: usize,
    /// The digest of the ids of these events.
    pub digest: SetDigest,
}

/// The signed part of an event, as documents contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub id: EventId,
    pub clock: Hlc,
    /// The bytes of the header that were signed.
    pub header: Vec<u8>,
    pub signature: [u8; 64],
}

/// A page of [`LogEntry`] values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogEntryPage {
    /// In the order of the events' clocks.
    pub entries: Vec<LogEntry>,
    /// The cursor of the next page; `None` on the last one.
    pub next: Option<LogEntryCursor>,
}

/// The position at which a [`LogEntryPage`] begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntryCursor {
    pub(super) wall: i64,
    pub(super) tick: u32,
    pub(super) n: i64,
}

/// A page of signed events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyncPage {
    /// Grouped by chain, in the order of each chain.
    pub events: Vec<SignedEvent>,
    /// The cursor of the next page; `None` on the last one.
    pub next: Option<SyncCursor>,
}

/// The position at which a [`SyncPage`] begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncCursor {
    pub(super) chain: Chain,
    pub(super) seq: u64,
    pub(super) n: i64,
}

/// An event that the team does not accept.
#[derive(Clone, Debug, PartialEq)]
pub struct QuarantinedRow {
    pub event: SignedEvent,
    /// Why the event is refused.
    pub refusal: Refusal,
    /// The device that delivered the event.
    pub from: Option<DeviceId>,
    /// In milliseconds since the Unix epoch.
    pub received_at: u64,
    /// A person has discarded the event, so it is no longer listed as waiting.
    pub discarded: bool,
}

/// Another device of a team, with what this device knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerRow {
    pub device: DeviceId,
    pub team: EventId,
    /// The name that the peer calls itself; if `None`, the roster's name applies.
    pub name: Option<String>,
    /// The addresses at which the peer was reached, the latest first.
    pub addresses: Vec<String>,
    /// When the peer was last seen, in milliseconds since the Unix epoch.
    pub last_seen: Option<u64>,
    /// When an exchange last succeeded, in the same unit.
    pub last_sync: Option<u64>,
    /// The error message of the latest failed exchange since `last_sync`.
    pub last_error: Option<String>,
    /// The number of events that the peer has and this device lacks.
    pub behind: u64,
    /// The number of events that this device has and the peer lacks.
    pub ahead: u64,
    /// Whether both had the same events at the last exchange.
    pub digests_equal: bool,
    /// How the peer was reached: `lan`, `direct` or `relay`.
    pub via: Option<String>,
}

/// An invitation to a team. Its secret is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InviteRow {
    /// The hash of the secret.
    pub hash: [u8; 32],
    pub team: EventId,
    /// The permissions of the device that redeems the invitation.
    pub grant: Grant,
    /// In milliseconds since the Unix epoch.
    pub created_at: u64,
    /// In milliseconds since the Unix epoch.
    pub expires_at: u64,
    /// The device that the invitation is bound to: the first one that showed the secret.
    pub redeemed_by: Option<DeviceId>,
    /// The invitation was used and is no longer valid.
    pub done: bool,
}

/// An address that this device contacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactRow {
    pub address: String,
    /// The purpose of the contact.
    pub what: String,
    /// The time of the first contact, in milliseconds since the Unix epoch.
    pub first: u64,
    /// The time of the latest contact, in the same unit.
    pub last: u64,
}

/// A roster event that this device will sign.
#[derive(Clone, Debug, PartialEq)]
pub struct RosterDraft {
    /// `None` founds a team; then `change` is [`RosterChange::Create`].
    pub team: Option<EventId>,
    pub change: RosterChange,
    pub reason: Option<String>,
    pub who: String,
    /// The agent through which the person acts.
    pub agent: Option<String>,
    /// The idempotency key. An act that is already stored is answered, not repeated.
    pub op: crate::domain::OpId,
    /// The wall clock, in milliseconds since the Unix epoch.
    pub now: u64,
}
