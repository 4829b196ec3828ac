//! `ergo tui`: (being written)

use super::{CliError, Context, Exit};

/// Open the review app.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
pub(crate) fn run(_args: Args, _cx: &mut Context) -> Result<Exit, CliError> {
    Err(CliError::internal("`ergo tui` is not there yet"))
}
