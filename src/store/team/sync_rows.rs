//! The types that the store takes and returns for teams.

use crate::domain::{
    CardId, ClaimId, DeviceId, EventId, Hlc, Scope, SignedEvent,
    replica::{Chain, DocumentId, Month, SetDigest},
    roster::{Grant, Refusal, RosterChange},
};

/// Events that came from a peer, a bundle or a file, with what came along.
#[derive(Clone, Debug)]
pub struct SyncImport {
    /// The team.
    pub team: EventId,
    /// The device that delivered them; `None` for a file.
    pub from: Option<DeviceId>,
    /// The events, roster events included, in any order. One without its body is stored, and filled when the body comes.
    pub events: Vec<SignedEvent>,
    /// The document that they came in.
    pub document: Option<DocumentUpdate>,
    /// How far the peer's copy of that document is known.
    pub peer: Option<PeerDocumentState>,
    /// The wall clock, in milliseconds since the Unix epoch.
    pub now: u64,
}

/// What [`super::super::Store::import_synced`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncImported {
    /// Events that are new here, or got their body now.
    pub stored: Vec<EventId>,
    /// Events that were here already, in quarantine or not.
    pub known: usize,
    /// Events that the team does not take. They are kept aside, except those of a scope that this device may not read.
    pub quarantined: Vec<(EventId, Refusal)>,
    /// Events that left the quarantine, since the roster now lets them in.
    pub readmitted: Vec<EventId>,
    /// Events that were taken before, and are in quarantine now.
    pub withdrawn: Vec<(EventId, Refusal)>,
    /// Claims whose state changed.
    pub claims: Vec<ClaimId>,
    /// Cards that were opened or changed.
    pub cards: Vec<CardId>,
    /// Chains that were found to fork.
    pub forks: Vec<Fork>,
    /// The roster is another than before.
    pub roster_changed: bool,
    /// A text was redacted.
    pub redacted: bool,
}

/// Events that this device wrote in a scope of a team, and that the team does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnacceptedEvents {
    /// The scope, by its name in the team.
    pub scope: Scope,
    /// The scope here.
    pub local: Scope,
    /// Why they are not taken.
    pub refusal: Refusal,
    /// How many there are.
    pub events: usize,
}

/// Two or more events in one place of a chain: a store was copied, restored, or its key was stolen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The scope, by its name in the team.
    pub scope: Scope,
    /// The chain.
    pub chain: Chain,
    /// The place.
    pub seq: u64,
    /// The events, by id.
    pub events: Vec<EventId>,
}

/// A change to a document of the replication index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentUpdate {
    /// Its id: [`DocumentId::of`] what follows.
    pub id: DocumentId,
    /// The scope, by its name in the team.
    pub scope: Scope,
    /// The month.
    pub month: Month,
    /// The part of the month, from 0.
    pub part: u32,
    /// The version that the change is based on, which must be the stored one; `None` if it applies to any.
    pub base: Option<DocumentBase>,
    /// What is to be stored; `None` where only the heads or entries changed.
    pub chunk: Option<DocumentChunk>,
    /// The document's heads, in whatever form their owner chose.
    pub heads: Vec<u8>,
    /// The events that are new in it.
    pub entries: Vec<EventId>,
}

/// What a document was before a change to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentBase {
    /// Its heads, as [`DocumentUpdate::heads`].
    pub heads: Vec<u8>,
    /// How many events stood in it. One that is not stored has none.
    pub events: usize,
}

/// A piece of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentChunk {
    /// To be read after what is there.
    Append(Vec<u8>),
    /// All of it: takes the place of what is there.
    Snapshot(Vec<u8>),
}

/// How far a peer's copy of a document is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerDocumentState {
    /// The peer.
    pub peer: DeviceId,
    /// The document.
    pub document: DocumentId,
    /// The state of the exchange, in whatever form its owner chose.
    pub state: Vec<u8>,
    /// The digest of what the peer has, as it reported.
    pub digest: SetDigest,
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRow {
    /// Its id.
    pub id: DocumentId,
    /// The team.
    pub team: EventId,
    /// The scope, by its name in the team.
    pub scope: Scope,
    /// The month.
    pub month: Month,
    /// The part of the month, from 0.
    pub part: u32,
    /// How many events are in it.
    pub events: usize,
    /// The digest of their ids.
    pub digest: SetDigest,
    /// Its heads.
    pub heads: Vec<u8>,
    /// The bytes of its chunks.
    pub bytes: u64,
    /// How many chunks there are.
    pub chunks: usize,
}

/// A team that this device belongs or belonged to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamRow {
    /// Its id.
    pub id: EventId,
    /// Its name.
    pub name: String,
    /// The scope of its roster.
    pub roster_scope: Scope,
    /// When this device joined, in milliseconds since the Unix epoch.
    pub joined_at: u64,
    /// When it left, or learnt that it was revoked.
    pub left_at: Option<u64>,
}

/// A scope of a team that this device may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamScopeRow {
    /// Its name in the team.
    pub scope: Scope,
    /// Its name here.
    pub local: Scope,
    /// What the scope here is bound to: a remote URL or common directory.
    pub identity: Option<String>,
    /// It holds the roster, and is shown in no list of scopes.
    pub is_roster: bool,
    /// Whether what this device writes there is taken by the others.
    pub writes: bool,
    /// How many events the team shares there.
    pub events: usize,
    /// The digest of their ids.
    pub digest: SetDigest,
    /// Events in quarantine that nobody has looked at.
    pub quarantined: usize,
}

/// The signed part of an event: what stands in documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Its id.
    pub id: EventId,
    /// Its clock.
    pub clock: Hlc,
    /// Its header as it was signed.
    pub header: Vec<u8>,
    /// The signature.
    pub signature: [u8; 64],
}

/// A page of [`LogEntry`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogEntryPage {
    /// By the events' clock.
    pub entries: Vec<LogEntry>,
    /// Where the next page begins; `None` on the last.
    pub next: Option<LogEntryCursor>,
}

/// Where a page of entries begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntryCursor {
    pub(super) wall: i64,
    pub(super) tick: u32,
    pub(super) n: i64,
}

/// A page of signed events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyncPage {
    /// By chain, and within it in order.
    pub events: Vec<SignedEvent>,
    /// Where the next page begins; `None` on the last.
    pub next: Option<SyncCursor>,
}

/// Where a page of signed events begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncCursor {
    pub(super) chain: Chain,
    pub(super) seq: u64,
    pub(super) n: i64,
}

/// An event that the team does not take.
#[derive(Clone, Debug, PartialEq)]
pub struct QuarantinedRow {
    /// The event.
    pub event: SignedEvent,
    /// Why.
    pub refusal: Refusal,
    /// The device that delivered it.
    pub from: Option<DeviceId>,
    /// When, in milliseconds since the Unix epoch.
    pub received_at: u64,
    /// A person looked at it and wants to see it no more.
    pub discarded: bool,
}

/// Another device of a team, as this one met it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerRow {
    /// The device.
    pub device: DeviceId,
    /// The team.
    pub team: EventId,
    /// What it calls itself; the roster's name where it is `None`.
    pub name: Option<String>,
    /// Where it was reached, the latest first.
    pub addresses: Vec<String>,
    /// When it was last seen, in milliseconds since the Unix epoch.
    pub last_seen: Option<u64>,
    /// When an exchange last ended well.
    pub last_sync: Option<u64>,
    /// What went wrong since, in words.
    pub last_error: Option<String>,
    /// Events that it has and this device lacks.
    pub behind: u64,
    /// Events that this device has and it lacks.
    pub ahead: u64,
    /// Whether both had the same events at the last exchange.
    pub digests_equal: bool,
    /// How it was reached: `lan`, `direct`, `relay`.
    pub via: Option<String>,
}

/// An invitation. The secret itself is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InviteRow {
    /// The hash of its secret.
    pub hash: [u8; 32],
    /// The team.
    pub team: EventId,
    /// The permissions of the device that redeems it.
    pub grant: Grant,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_at: u64,
    /// When it ends.
    pub expires_at: u64,
    /// The device that it is bound to: the first that showed the secret.
    pub redeemed_by: Option<DeviceId>,
    /// It was used up.
    pub done: bool,
}

/// An address that was contacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactRow {
    /// The address.
    pub address: String,
    /// For what.
    pub what: String,
    /// When first, in milliseconds since the Unix epoch.
    pub first: u64,
    /// When last.
    pub last: u64,
}

/// A roster event to be signed by this device.
#[derive(Clone, Debug, PartialEq)]
pub struct RosterDraft {
    /// The team; `None` founds one, and the change is [`RosterChange::Create`].
    pub team: Option<EventId>,
    /// What it changes.
    pub change: RosterChange,
    /// Why.
    pub reason: Option<String>,
    /// The person who acts.
    pub who: String,
    /// The agent through which they act.
    pub agent: Option<String>,
    /// The idempotency key: an act that is stored already is answered, not repeated.
    pub op: crate::domain::OpId,
    /// The wall clock, in milliseconds since the Unix epoch.
    pub now: u64,
}
