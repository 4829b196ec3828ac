//! The acts: each checks its request, reads under the write lock what it needs, and commits once.

mod audit;
mod depend;
pub(super) mod found_cards;
mod ingest;
mod new_claim;
mod notice;
mod on_claim;
mod propose;
mod redact;
mod refuse;
mod refused_write;
mod reinstate;
mod remember;
mod replay;
mod resolve;
mod retract;
mod reviewed;
mod supersede;
mod undo;

pub(super) use audit::audit;
pub(super) use depend::depend;
pub(super) use ingest::ingest;
pub(super) use notice::NoticeData;
pub(super) use propose::proposed_reason;
pub(super) use redact::redact;
pub(super) use refuse::write_intent;
pub(super) use reinstate::reinstate;
pub(super) use remember::{learn, remember};
pub(super) use replay::creates_claim;
pub(super) use resolve::{resolve, resolve_many};
pub(super) use retract::retract;
pub(super) use reviewed::reviewed;
pub(super) use supersede::supersede;
pub(super) use undo::{taken_back, undo};
