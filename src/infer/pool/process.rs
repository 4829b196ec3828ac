//! How the pool starts `ergo worker infer`.

use std::path::PathBuf;

use crate::{
    infer::wire::{Answer, Ask, MAX_FRAME},
    worker::process::{self, Program},
};

pub(super) use crate::worker::process::{NO_MEMORY, rss, this_program};

/// What comes from a worker.
pub(super) type Event = process::Event<Answer>;

/// Starts workers. Replaced in tests.
pub(super) type Launch = dyn process::Launch<Ask, Answer>;

/// A worker that was started. Dropping it kills it.
pub(super) type Worker = dyn process::Worker<Ask>;

/// Environment variables that GPU drivers look at.
const DRIVERS: &[&str] = &["CUDA_", "NVIDIA_", "GGML_", "VK_", "MESA_", "RADV_", "AMD_", "HSA_", "MTL_"];

/// The worker that computes with models.
pub(super) fn program(path: PathBuf) -> Program {
    // llama.cpp would start a debugger for its last words.
    Program { path, part: "infer", inherits: DRIVERS, sets: &[("GGML_NO_BACKTRACE", "1")], longest: MAX_FRAME }
}
