//! The store: the log, its projections, and what they survive.

mod compact_log;
mod doubts;
mod files;
mod forged;
mod laws;
mod lists;
mod long_step;

mod readings;
mod rules;
mod support;
mod team;
mod team_laws;
mod team_quarantine;
mod vectors;
