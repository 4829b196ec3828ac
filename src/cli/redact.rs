//! `ergo redact`: drops a claim's text everywhere.

use super::{CliError, Context, Exit, act};

/// Drop a claim's text, reason and source everywhere, such as a pasted secret. The record that something stood there stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "This cannot be undone.")]
pub(crate) struct Args {
    #[command(flatten)]
    act: act::OneClaim,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    act::run(args.act, cx, async |client, request| client.redact(request).await).await
}
