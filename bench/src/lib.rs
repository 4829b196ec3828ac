//! Measurements of the shipped program on given data: `ergo-bench`.

pub mod agents;
pub mod bar;
mod daemon;
pub mod guard;
mod heard;
pub mod import;
pub mod ingest;
mod logistic;
pub mod normalise;
pub mod recall;
pub mod store;
pub mod store_models;
mod store_synth;
pub mod sync;
pub mod synth;
