//! `ergo retract`: takes out a claim that was never right.

use super::{CliError, Context, Exit, act};

/// Take out a claim that was never right. It stays in the history.
#[derive(Debug, clap::Args)]
#[command(after_help = "Where the world changed instead, `ergo supersede` keeps the why-chain.")]
pub(crate) struct Args {
    #[command(flatten)]
    act: act::OneClaim,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    act::run(args.act, cx, async |client, request| client.retract(request).await).await
}
