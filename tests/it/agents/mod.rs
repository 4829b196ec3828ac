//! The commands for coding agents: hooks, setup, and the check before a commit.

mod commit;
mod hooks;
mod import;
mod setup;
