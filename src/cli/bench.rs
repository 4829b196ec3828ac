//! `ergo bench`: (being written)

use super::{CliError, Context, Exit};

/// Measure the guard and the store.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
pub(crate) fn run(_args: Args, _cx: &mut Context) -> Result<Exit, CliError> {
    Err(CliError::internal("`ergo bench` is not there yet"))
}
