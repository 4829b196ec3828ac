//! `ergo redact`: removes a claim's text everywhere.

use super::{CliError, Context, Exit, act};

/// Remove a claim's text, reason and source everywhere, such as a pasted secret. The claim's record stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "This cannot be undone. Peers remove the text when they sync next.")]
pub(crate) struct Args {
    #[command(flatten)]
    act: act::ClaimActArgs,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    act::run(args.act, cx, async |client, request| client.redact(request).await).await
}
