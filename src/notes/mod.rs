//! Rule files that people write for agents (CLAUDE.md, AGENTS.md, .cursorrules, …), and the value of the claims from
//! them. Pure: the caller provides files, clock and models.
//!
//! - [`fragment`] splits a file by its headings, [`section`] finds and replaces ergo's own marked section in it.
//! - [`mod@rank`] has the written formulas: confidence, rank, decay, status. [`mod@insight`] applies them to groups of equal claims.
//! - [`cluster`] finds statements about one subject by their vectors.
//! - [`sameness`] decides whether two claims in other words say the same, and in which way two exclude each other.
//! - [`stated_part`] finds the part of the work that a rule says it holds for.
//! - [`mod@labels`] gives a claim its category, domain and tags from fixed lists.
//! - [`selection`] chooses what is written into a file, [`note_format`] writes it as each agent reads it.

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
