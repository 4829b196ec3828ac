//! `ergo backup`: (being written)

use super::{CliError, Context, Exit};

/// Copy the store into a file.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
pub(crate) fn run(_args: Args, _cx: &mut Context) -> Result<Exit, CliError> {
    Err(CliError::internal("`ergo backup` is not there yet"))
}
