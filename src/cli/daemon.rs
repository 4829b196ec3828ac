//! `ergo daemon`: (being written)

use super::{CliError, Context, Exit};

/// Start, stop and look at the daemon.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
pub(crate) fn run(_args: Args, _cx: &mut Context) -> Result<Exit, CliError> {
    Err(CliError::internal("`ergo daemon` is not there yet"))
}
