//! Files of others, read and written with care: bounded reads of regular files, new files that appear whole or not at all, and paths that stay
//! within a folder.
//!
//! Architecture Invariant: no other module opens a file that somebody names with `std::fs`; a device, a pipe or a file without end would stall
//! or exhaust the program.

mod draft_file;
mod path_target;
mod read;
pub mod repository;
pub mod rule_files;

pub use draft_file::{DraftFile, clear_drafts, write_private};
pub use path_target::{PathTarget, locate, real_path};
pub use read::{all_of, bytes, open, system_words, text};

/// The largest settings, key or state file that is read, in bytes.
pub const MAX_SETTINGS: u64 = 4 * 1024 * 1024;
