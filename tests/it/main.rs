//! The only integration test binary. Each module tests one part of the real program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
#![allow(missing_docs, unreachable_pub)]

mod agents;
mod arch;
mod cli;
mod crash;
mod crash_ingest;
mod daemon_events;
mod daemon_input;
mod daemon_life;
mod daemon_writes;
mod demo;
mod deps;
mod doubts;
mod engine;
mod faults;
mod fuzz;
mod hostile;
mod infer;
mod judges;
mod lan;
mod mcp;
mod models;
mod names;
mod notes;
mod org_export;
mod replica;
mod scripts;
mod simulation;
mod store;
mod support;
mod sync;
mod sync_files;
mod sync_flows;
mod sync_invite;
mod term;
mod term_agents;
mod term_copy;
mod term_crowd;
mod term_day;
mod term_flows;
mod term_inbox;
mod term_parity;
mod term_session;
mod term_triage;
mod term_yours;
mod tour;

#[test]
fn the_library_is_linked() {
    assert_eq!(ergo::api::API_VERSION, 1);
}
