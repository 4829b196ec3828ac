//! `ergo retract`: withdraws a claim that was never right.

use super::{CliError, Context, Exit, act};

/// Withdraw a claim that was never right. It stays in the history.
#[derive(Debug, clap::Args)]
#[command(after_help = "If the claim was right until something changed, use `ergo supersede` instead.")]
pub(crate) struct Args {
    #[command(flatten)]
    act: act::ClaimActArgs,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    act::run(args.act, cx, async |client, request| client.retract(request).await).await
}
