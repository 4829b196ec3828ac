//! `ergo worker`: a part of the daemon in a process of its own, so that it can fail without it. Started by the daemon.

use super::{CliError, Context, Exit};
use crate::{infer, sync};

/// Be a part of the daemon in a process of its own; started by the daemon, not by hand.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    /// Hold models and compute with them.
    Infer,
    /// Hold the index by which teams sync, and read what peers send.
    Sync,
}

/// Runs the verb.
pub(crate) fn run(args: Args, _cx: &mut Context) -> Result<Exit, CliError> {
    match args.part {
        Part::Infer => infer::worker::serve().map_err(CliError::internal)?,
        Part::Sync => sync::worker::serve().map_err(CliError::internal)?,
    }
    Ok(Exit::Ok)
}
