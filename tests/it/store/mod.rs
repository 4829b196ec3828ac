//! The store: the log and its projections, and their recovery.

mod compact_log;
mod doubts;
mod files;
mod forged;
mod laws;
mod lists;
mod long_step;
mod lost_tables;

mod readings;
mod rejoin;
mod rules;
mod support;
mod sync_pages;
mod team;
mod team_laws;
mod team_quarantine;
mod vectors;
