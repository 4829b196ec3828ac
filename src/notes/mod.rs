//! Rule files that people write for agents (CLAUDE.md, AGENTS.md, .cursorrules, …), and the insights from their claims.
//! Pure: the caller provides files, clock and models.
//!
//! - [`fragment`] splits a file by its headings; [`section`] finds and replaces ergo's own marked section in it.
//! - [`mod@rank`] has the formulas of confidence, rank, decay and status; [`mod@insight`] applies them to groups of equal claims.
//! - [`cluster`] finds statements about one subject by their vectors.
//! - [`sameness`] decides whether two claims with different words say the same, and in which way two claims exclude each other.
//! - [`stated_part`] finds the part of the work for which a rule says that it holds.
//! - [`mod@labels`] assigns a category, a domain and tags to a claim.
//! - [`selection`] chooses the claims to write into a file; [`note_format`] writes them in the format of each agent.

pub mod cluster;
pub mod fragment;
pub mod insight;
pub mod labels;
pub mod note_format;
pub mod rank;
pub mod sameness;
pub mod section;
pub mod selection;
pub mod stated_part;

pub use fragment::{Fragment, fragments};
pub use insight::{Insight, NotedClaim, group, insight};
pub use labels::{Labels, NoteCategory, labels};
pub use note_format::NoteFormat;
pub use rank::Lifecycle;
