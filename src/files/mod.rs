//! Access to files that ergo does not own: bounded reads of regular files, atomic writes, and checks that a path stays
//! within a folder.
//!
//! Architecture Invariant: no other module uses `std::fs` to open a file that somebody names; a device, a pipe or an
//! endless file would stall or exhaust the program.

mod draft_file;
mod path_target;
mod programs;
mod read;
pub mod repository;
pub mod rule_files;

pub use draft_file::{DraftFile, clear_drafts, left_drafts, write_private};
pub use path_target::{PathTarget, locate, real_path, with_suffix};
pub use programs::find_program;
pub use read::{all_of, bytes, is_full, open, system_words, text};

/// The maximal size of a settings, key or state file that is read, in bytes.
pub const MAX_SETTINGS: u64 = 4 * 1024 * 1024;
