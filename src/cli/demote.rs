//! `ergo demote`: withdraws a claim that was promoted to the organisation's level.

use super::{CliError, Context, Exit, act};

/// Withdraw a claim that was promoted to the organisation's level.
#[derive(Debug, clap::Args)]
#[command(after_help = "`ergo recall` shows the claims of the projects again. `ergo undo` reverses the demotion.")]
pub(crate) struct Args {
    #[command(flatten)]
    act: act::ClaimActArgs,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    act::run(args.act, cx, async |client, request| client.demote(request).await).await
}
