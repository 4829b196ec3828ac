//! `ergo import`: (being written)

use super::{CliError, Context, Exit};

/// The digits of an import's number.
pub(crate) const NUMBER: usize = 12;

/// (being written)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
pub(crate) async fn run(_args: Args, _cx: &mut Context) -> Result<Exit, CliError> {
    Err(CliError::internal("`ergo import` is not there yet"))
}
