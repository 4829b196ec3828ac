//! `ergo reviewed`: says that a claim still holds though a premise changed.

use super::{CliError, Context, Exit, act};

/// Say that a claim still holds, though something that it rests on changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "`ergo claims --needs-review` lists the claims that wait for this.")]
pub(crate) struct Args {
    #[command(flatten)]
    act: act::OneClaim,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    act::run(args.act, cx, async |client, request| client.reviewed(request).await).await
}
