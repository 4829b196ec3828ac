//! `ergo import jsonl`: (being written)

use crate::cli::{CliError, Context, Exit};

/// (being written)
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) async fn run(_args: Args, _cx: &mut Context) -> Result<Exit, CliError> {
    Err(CliError::internal("not there yet"))
}
