//! `ergo redact`: removes a claim's text, or the reason of a change, everywhere.

use super::{CliError, Context, Exit, act, ask};

/// Remove a claim's text, reason and source from all devices, for example if a secret was pasted into them. The record of the claim stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
This cannot be undone. Peers remove the text the next time they sync.
ID can also be that of a card, to remove the text of its refused write, or of a change as `ergo log` shows it, to remove its reason.")]
pub(crate) struct Args {
    #[command(flatten)]
    act: act::ClaimActArgs,
    /// Do not ask.
    #[arg(short = 'y', long)]
    yes: bool,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    if !args.yes && !cx.ui.json {
        let client = cx.client().await?;
        // The id may also name the card of a refused write, or a change: then there is nothing to show.
        if let Ok(claim) = client.claim(args.act.target()).await {
            cx.ui.claim_row(&claim, Context::now());
        }
    }
    if !ask::confirm(cx, args.yes, "Remove its text everywhere? This cannot be undone.")? {
        cx.ui.line("Nothing was removed.");
        return Ok(Exit::Refused);
    }
    act::run(args.act, cx, async |client, request| client.redact(request).await).await
}
