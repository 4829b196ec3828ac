//! What coding agents run and are told: hooks, setup, the check before a commit.

mod commit;
mod hooks;
mod import;
mod setup;
