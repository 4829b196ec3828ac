//! How the pool starts `ergo worker infer`.

use std::path::PathBuf;

use crate::{
    infer::wire::{Answer, Ask, MAX_FRAME},
    worker::process::{self, WorkerProgram},
};

pub(super) use crate::worker::process::{OUT_OF_MEMORY, rss, this_program};

/// What comes from a worker.
pub(super) type Event = process::WorkerEvent<Answer>;

/// Starts workers. Replaced in tests.
pub(super) type Launch = dyn process::LaunchWorker<Ask, Answer>;

/// A worker that was started. Dropping it kills it.
pub(super) type Worker = dyn process::WorkerHandle<Ask>;

/// Environment variables that GPU drivers look at.
const DRIVERS: &[&str] = &["CUDA_", "NVIDIA_", "GGML_", "VK_", "MESA_", "RADV_", "AMD_", "HSA_", "MTL_"];

/// The worker that computes with models.
pub(super) fn program(path: PathBuf) -> WorkerProgram {
    // llama.cpp would start a debugger for its last words.
    WorkerProgram {
        path,
        subcommand: "infer",
        inherits: DRIVERS,
        sets: &[("GGML_NO_BACKTRACE", "1")],
        max_frame: MAX_FRAME,
    }
}
