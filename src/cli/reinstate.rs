//! `ergo reinstate`: brings a replaced or retracted claim back.

use super::{CliError, Context, Exit, act};

/// Bring a replaced or retracted claim back into force.
#[derive(Debug, clap::Args)]
#[command(after_help = "What replaced it stays in force too: supersede or retract that where it should not.")]
pub(crate) struct Args {
    #[command(flatten)]
    act: act::OneClaim,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    act::run(args.act, cx, async |client, request| client.reinstate(request).await).await
}
