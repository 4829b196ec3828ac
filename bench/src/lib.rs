//! The measurements of `ergo-bench`.
#![allow(missing_docs, reason = "only the program of this package uses it")]

pub mod agents;
pub mod bar;
mod cached_models;
pub mod daemon;
pub mod error;
pub mod guard;
pub mod import;
pub mod ingest;
mod logistic;
pub mod measure;
pub mod normalise;
pub mod notes;
pub mod recall;
pub mod store;
pub mod store_fill;
pub mod store_growth;
pub mod store_models;
mod store_synth;
pub mod story;
mod story_judged;
pub mod story_speed;
pub mod sync;
pub mod synth;
