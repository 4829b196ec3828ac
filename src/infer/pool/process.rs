//! The program, environment and types of the worker process `ergo worker infer`.

use std::path::PathBuf;

use crate::{
    infer::wire::{InferRequest, InferResponse, MAX_FRAME},
    worker::process::{self, WorkerProgram},
};

pub(super) use crate::worker::process::{OUT_OF_MEMORY, cpu_time, rss, this_program};

/// An event of a worker.
pub(super) type Event = process::WorkerEvent<InferResponse>;

/// Starts workers. Tests use a fake.
pub(super) type Launch = dyn process::LaunchWorker<InferRequest, InferResponse>;

/// A running worker. Dropping it kills it.
pub(super) type Worker = dyn process::WorkerHandle<InferRequest>;

/// Prefixes of the environment variables that GPU drivers read.
const DRIVERS: &[&str] = &["CUDA_", "NVIDIA_", "GGML_", "VK_", "MESA_", "RADV_", "AMD_", "HSA_", "MTL_"];

/// Returns how to start `ergo worker infer` from the executable at `path`.
pub(super) fn program(path: PathBuf) -> WorkerProgram {
    // Without GGML_NO_BACKTRACE, llama.cpp would start a debugger when it crashes.
    WorkerProgram {
        path,
        subcommand: "infer",
        inherits: DRIVERS,
        sets: &[("GGML_NO_BACKTRACE", "1")],
        max_frame: MAX_FRAME,
    }
}
