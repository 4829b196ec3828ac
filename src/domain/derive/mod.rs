//! What a set of events means: the state of each claim, and the conflict cards.
//!
//! Pure functions. The store feeds them from its tables as events arrive; [`project`] feeds them from a whole set. Both
//! give the same, in whatever order the events came and however often.
//!
//! An event acts only within its own scope and its own log: an `undo` never reaches the local log, a `local.undo` never
//! the shared one. Events of a newer format version, and of unknown kinds, are kept and have no effect.

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
pub use contest::{Contest, Lineage, active_heads, all_settled, contest, contest_of_key};
pub use project::{CardFacts, ClaimFacts, Projection, project};
pub use review::{Premise, PremisesOf, causes};
pub use settle::{Settlement, settles};

use super::{
    event::{EventKind, Header, VERSION},
    id::EventId,
};

/// The local kinds that ergo writes.
pub mod local {
    /// The guard refused a new claim: body as of a claim, targets the opposed claims.
    pub const REFUSED: &str = "refused";
    /// A write that may contradict claims in force waits for verdicts: body as of a claim, targets the claims in question.
    pub const HELD: &str = "held";
    /// The guard's report behind a refusal; targets the refusal, then the opposed claims.
    pub const EVIDENCE: &str = "evidence";
    /// An audit found that `targets` contradict each other; data is the guard's report.
    pub const FOUND: &str = "found";
    /// A language model finds that `targets`, in the order of the story, leave open what holds; data is its question as a guard's report,
    /// with category and rule.
    pub const ASKED: &str = "asked";
    /// An agent, who may only propose, wants `targets` retracted: the reason is the body's.
    pub const PROPOSED: &str = "proposed";
    /// A card was settled; targets the new claim, or the members.
    pub const SETTLED: &str = "settled";
    /// A refused new claim was dropped.
    pub const DISCARD: &str = "discard";
    /// A card was put off.
    pub const SNOOZE: &str = "snooze";
    /// Cancels the effect of local events.
    pub const UNDO: &str = "undo";
    /// Drops the bodies of local events.
    pub const REDACT: &str = "redact";
    /// A claim was stored although the guard warned; targets the claim, then what it may not fit with. No words in the body.
    pub const WARNED: &str = "warned";
    /// An agent stored a claim past a block; targets the claim, then what blocked it.
    pub const FORCED: &str = "forced";
    /// An agent retracted a person's claim; the target.
    pub const RETRACTED: &str = "retracted";
    /// A person has looked at notices; the targets.
    pub const SEEN: &str = "seen";
    /// A piece of a file, for reference: the text is the statement, where it stands the data (see [`crate::domain::ChunkPlace`]).
    pub const CHUNK: &str = "chunk";
    /// Chunks whose text is no longer in their file; the targets.
    pub const CHUNK_GONE: &str = "chunk_gone";
    /// What a person should have a look at although nothing waits for them: see [`super::is_notice`].
    pub const NOTICES: [&str; 3] = [WARNED, FORCED, RETRACTED];
}

/// Under this the store lists the events that are notices; the id of nothing.
pub const NOTICE_LIST: EventId = EventId(*b"ergo/list/notices/1\0\0\0\0\0\0\0\0\0\0\0\0\0");

/// Whether an event of this kind is a notice: something that was done, and that a person should have a look at.
pub fn is_notice(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Local(kind) if local::NOTICES.contains(&kind.as_str()))
}

/// Whether an event belongs to the local log, which never syncs.
pub fn is_local(header: &Header) -> bool {
    matches!(header.kind, EventKind::Local(_))
}

/// What an event does, as far as this version understands it: anything of a newer format is [`EventKind::Unknown`].
pub fn understood(header: &Header) -> EventKind {
    if header.version == VERSION {
        header.kind.clone()
    } else {
        EventKind::Unknown(format!("v{}.{}", header.version, header.kind))
    }
}

/// Whether this is the local kind `name`, one of [`local`].
pub fn is_local_kind(kind: &EventKind, name: &str) -> bool {
    matches!(kind, EventKind::Local(kind) if kind == name)
}

/// Whether an event of this kind keeps a write that is not stored: refused, or held until it is judged.
pub fn is_unstored(kind: &EventKind) -> bool {
    is_local_kind(kind, local::REFUSED) || is_local_kind(kind, local::HELD)
}

/// Whether an event of this kind cancels others.
pub fn is_undo(kind: &EventKind) -> bool {
    *kind == EventKind::Undo || is_local_kind(kind, local::UNDO)
}

/// Kinds of events that never are what somebody means by "my last act": undoing itself, and writes that were not stored, which changed nothing.
/// A redaction is one: undo says that it cannot be undone, and does not take back the act before it in its place.
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

/// Whether an event of this kind may be what somebody means by their last act, which `undo` takes back.
pub fn may_be_last_act(kind: &str) -> bool {
    !NEVER_LAST.contains(&kind) && !kind.starts_with("roster.")
}

/// Whether an event of this kind drops bodies.
pub fn is_redact(kind: &EventKind) -> bool {
    *kind == EventKind::Redact || is_local_kind(kind, local::REDACT)
}

/// Whether an event of this kind may make claims active that are older than it.
pub fn may_revive(kind: &EventKind) -> bool {
    let revives =
        matches!(kind, EventKind::Reinstate | EventKind::Resolve(_) | EventKind::Roster(_) | EventKind::Unknown(_));
    revives || is_undo(kind)
}

/// Whether an event of this kind is a piece of a file, for reference.
pub fn is_chunk(kind: &EventKind) -> bool {
    *kind == EventKind::Chunk || is_local_kind(kind, local::CHUNK)
}

/// Whether an event of this kind takes chunks out.
pub fn is_chunk_gone(kind: &EventKind) -> bool {
    *kind == EventKind::ChunkGone || is_local_kind(kind, local::CHUNK_GONE)
}

/// Whether an event has effect, given whether each event that undoes it has. A redaction cannot be undone.
///
/// Ids are content hashes, so an event is always made after what it undoes: the recursion ends.
pub fn is_effective(kind: &EventKind, undoers: impl IntoIterator<Item = bool>) -> bool {
    is_redact(kind) || !undoers.into_iter().any(|effective| effective)
}

/// The pairs of a list, each once.
pub fn pairs(members: &[EventId]) -> impl Iterator<Item = (EventId, EventId)> + '_ {
    members.iter().enumerate().flat_map(|(i, a)| members[i + 1..].iter().map(|b| (*a, *b)))
}
