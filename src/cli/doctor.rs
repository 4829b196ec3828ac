//! `ergo doctor`: (being written)

use super::{CliError, Context, Exit};

/// Check the store.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
pub(crate) fn run(_args: Args, _cx: &mut Context) -> Result<Exit, CliError> {
    Err(CliError::internal("`ergo doctor` is not there yet"))
}
