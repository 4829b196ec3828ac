//! Derives the state of each claim, and the conflict cards, from a set of events.
//!
//! Pure functions. The store calls them with data from its tables as events arrive; [`project`] calls them with a whole
//! set. Both give the same result, whatever the order of the events and however often they arrive.
//!
//! An event acts only within its own scope and its own log: an `undo` never affects the local log, and a `local.undo` never
//! the shared one. Events of a newer format version and of unknown kinds are kept, but have no effect.

mod card;
mod circle;
mod claim_state;
mod contest;
mod project;
mod review;
mod settle;

pub use card::{CardKind, LocalNote, SettledBy, card_of, group_of, local_note};
pub use circle::circles;
pub use claim_state::{ActKind, ActOnClaim, ClaimState, LiveAct, claim_state};
pub use contest::{Contest, Lineage, active_heads, all_settled, contest, contest_of_key, replaced_at_creation};
pub use project::{CardFacts, ClaimFacts, Projection, project};
pub use review::{Premise, PremisesOf, causes};
pub use settle::{Settlement, settles};

use super::{
    event::{EventKind, Header, VERSION},
    id::EventId,
};

/// The kinds of local events that ergo writes.
pub mod local {
    /// The guard refused a new claim. The body is that of a claim; the targets are the claims that it contradicts.
    pub const REFUSED: &str = "refused";
    /// A write that may contradict active claims waits for verdicts. The body is that of a claim; the targets are the claims in question.
    pub const HELD: &str = "held";
    /// The guard's report on a refused write. The targets are the refusal, then the claims that it contradicts.
    pub const EVIDENCE: &str = "evidence";
    /// An audit found that `targets` contradict each other. The data is the guard's report.
    pub const FOUND: &str = "found";
    /// A language model finds that `targets`, in the order of the story, leave open which claim holds. The data is its question as a guard's
    /// report, with confusion and rule.
    pub const ASKED: &str = "asked";
    /// An agent proposes to retract `targets`, because it may only propose. The reason is in the body.
    pub const PROPOSED: &str = "proposed";
    /// A card was settled. The targets are the new claim or the members.
    pub const SETTLED: &str = "settled";
    /// A refused new claim was discarded.
    pub const DISCARD: &str = "discard";
    /// A card was snoozed.
    pub const SNOOZE: &str = "snooze";
    /// Cancels the effect of local events.
    pub const UNDO: &str = "undo";
    /// Drops the bodies of local events.
    pub const REDACT: &str = "redact";
    /// A claim was stored with a warning. The targets are the claim, then the claims that it may contradict. The body contains no text.
    pub const WARNED: &str = "warned";
    /// An agent stored a claim as an exception although the guard blocked it. The targets are the claim, then those that it contradicts.
    pub const FORCED: &str = "forced";
    /// An agent retracted a person's claim, the target.
    pub const RETRACTED: &str = "retracted";
    /// A person has reviewed notices, the targets.
    pub const SEEN: &str = "seen";
    /// A chunk of an ingested file. Its text is the statement, and its location the data (see [`crate::domain::ChunkPlace`]).
    pub const CHUNK: &str = "chunk";
    /// The chunks in the targets are no longer in their file.
    pub const CHUNK_GONE: &str = "chunk_gone";
    /// The kinds of notices: see [`super::is_notice`].
    pub const NOTICES: [&str; 3] = [WARNED, FORCED, RETRACTED];
}

/// A constant in place of an event id, under which the store lists the notices. No event has this id.
pub const NOTICE_LIST: EventId = EventId(*b"ergo/list/notices/1\0\0\0\0\0\0\0\0\0\0\0\0\0");

/// Returns whether an event of this kind is a notice: it reports something that was done and that a person should look at.
pub fn is_notice(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Local(kind) if local::NOTICES.contains(&kind.as_str()))
}

/// Returns whether an event belongs to the local log, which never syncs.
pub fn is_local(header: &Header) -> bool {
    matches!(header.kind, EventKind::Local(_))
}

/// Returns the kind of an event as this version understands it: [`EventKind::Unknown`] for any event of a newer format.
pub fn understood(header: &Header) -> EventKind {
    if header.version == VERSION {
        header.kind.clone()
    } else {
        EventKind::Unknown(format!("v{}.{}", header.version, header.kind))
    }
}

/// Returns whether this is the local kind `name`, one of [`local`].
pub fn is_local_kind(kind: &EventKind, name: &str) -> bool {
    matches!(kind, EventKind::Local(kind) if kind == name)
}

/// Returns whether an event of this kind keeps a write that is not stored, because it was refused, or held until it is judged.
pub fn is_unstored(kind: &EventKind) -> bool {
    is_local_kind(kind, local::REFUSED) || is_local_kind(kind, local::HELD)
}

/// Returns whether an event of this kind undoes others.
pub fn is_undo(kind: &EventKind) -> bool {
    *kind == EventKind::Undo || is_local_kind(kind, local::UNDO)
}

/// Kinds of events that nobody means by "my last act": undo itself, and writes that were not stored, which changed nothing. A redaction
/// is not among them: undo then says that it cannot be undone, instead of undoing the act before it.
const NEVER_LAST: [&str; 9] = [
    "undo",
    "local.undo",
    "local.refused",
    "local.held",
    "local.evidence",
    "local.chunk",
    "local.chunk_gone",
    "chunk",
    "chunk_gone",
];

/// Returns whether `undo` without an id may choose an event of this kind as the caller's last act.
pub fn may_be_last_act(kind: &str) -> bool {
    !NEVER_LAST.contains(&kind) && !kind.starts_with("roster.")
}

/// Returns whether an event of this kind drops the bodies of others.
pub fn is_redact(kind: &EventKind) -> bool {
    *kind == EventKind::Redact || is_local_kind(kind, local::REDACT)
}

/// Returns whether an event of this kind may make older claims active again.
pub fn may_revive(kind: &EventKind) -> bool {
    let revives =
        matches!(kind, EventKind::Reinstate | EventKind::Resolve(_) | EventKind::Roster(_) | EventKind::Unknown(_));
    revives || is_undo(kind)
}

/// Returns whether an event of this kind is a chunk of an ingested file.
pub fn is_chunk(kind: &EventKind) -> bool {
    *kind == EventKind::Chunk || is_local_kind(kind, local::CHUNK)
}

/// Returns whether an event of this kind removes chunks.
pub fn is_chunk_gone(kind: &EventKind) -> bool {
    *kind == EventKind::ChunkGone || is_local_kind(kind, local::CHUNK_GONE)
}

/// Returns whether an event has effect, given whether each event that undoes it has. A redaction cannot be undone.
///
/// A caller's recursion ends: ids are content hashes, so an event is always created after those that it undoes.
pub fn is_effective(kind: &EventKind, undoers: impl IntoIterator<Item = bool>) -> bool {
    is_redact(kind) || !undoers.into_iter().any(|effective| effective)
}

/// Returns all pairs of a list, each once.
pub fn pairs(members: &[EventId]) -> impl Iterator<Item = (EventId, EventId)> + '_ {
    members.iter().enumerate().flat_map(|(i, a)| members[i + 1..].iter().map(|b| (*a, *b)))
}
