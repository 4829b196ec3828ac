//! The basic types of ergo: ids, scopes, claims, norms, verdicts, events; and the meaning of a set of events.
//!
//! Invariant: nothing here does I/O or reads a clock. Time and randomness are arguments, so that every function can be
//! replayed.

pub mod ago;
pub mod asset;
pub mod chunk;
pub mod claim;
pub mod clock;
pub mod confusion;
pub mod derive;
pub mod drift;
pub mod event;
pub(crate) mod fence;
pub mod guard_report;
pub mod id;
pub mod judgement;
pub mod layout;
pub mod marked_section;
pub mod norm;
pub mod numeric;
pub mod pair_prompt;
pub mod replica;
pub mod roster;
pub mod scope;
pub mod stop_words;
pub mod text;
pub mod verified;

pub use chunk::ChunkPlace;
pub use claim::{ClaimKind, Flags, Qualifiers, Status, TextWriter};
pub use clock::Hlc;
pub use confusion::{Confusion, MarkAnswers, STORY_WINDOW, StoryRule};
pub use event::{Body, EventKind, Header, ResolveAct, SignedEvent};
pub use guard_report::{ConflictKind, Finding, GuardReport, PairCheck, Tier};
pub use id::{CardId, ClaimId, DeviceId, EventId, OpId};
pub use judgement::{AgentJudgements, DoubtBand, LinkKind, PairVerdict};
pub use norm::{IndexTerms, Norm};
pub use roster::Roster;
pub use scope::{Level, Scope};
