//! `ergo worker`: a worker process of the daemon, which may crash without it.

use super::{CliError, Context, Exit};
use crate::{infer, sync};

/// Run a worker process. Started by the daemon.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: WorkerKind,
}

#[derive(Debug, clap::Subcommand)]
enum WorkerKind {
    /// Run models.
    Infer,
    /// Read and merge the replication documents of peers.
    Sync,
}

/// Runs the verb.
pub(crate) fn run(args: Args, _cx: &mut Context) -> Result<Exit, CliError> {
    match args.kind {
        WorkerKind::Infer => infer::worker::serve().map_err(CliError::internal)?,
        WorkerKind::Sync => sync::worker::serve().map_err(CliError::internal)?,
    }
    Ok(Exit::Ok)
}
