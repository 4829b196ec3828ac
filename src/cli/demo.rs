//! `ergo demo`: (being written)

use super::{CliError, Context, Exit};

/// Make a small store to try things in.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
pub(crate) fn run(_args: Args, _cx: &mut Context) -> Result<Exit, CliError> {
    Err(CliError::internal("`ergo demo` is not there yet"))
}
