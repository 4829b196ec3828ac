//! `ergo reinstate`: makes a superseded or retracted claim active again.

use super::{CliError, Context, Exit, act};

/// Make a superseded or retracted claim active again.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The claim that replaced it also stays active. If only one should, supersede or retract the other."
)]
pub(crate) struct Args {
    #[command(flatten)]
    act: act::ClaimActArgs,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    act::run(args.act, cx, async |client, request| client.reinstate(request).await).await
}
