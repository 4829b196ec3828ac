//! `ergo export`: (being written)

use super::{CliError, Context, Exit};

/// (being written)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
pub(crate) async fn run(_args: Args, _cx: &mut Context) -> Result<Exit, CliError> {
    Err(CliError::internal("`ergo export` is not there yet"))
}
