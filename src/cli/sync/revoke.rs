//! `ergo sync revoke`: puts a device out of the team.

use super::{CliError, Context, Exit, InTeam, confirm, tell};
use crate::{api::RevokeRequest, domain::text::escape};

/// Put a device out of the team. Admins only.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What the device wrote until now stays. What it writes from now on is accepted nowhere, whatever date it
bears, and no peer speaks with it once it has heard of this. What it holds already, it keeps: change
passwords and keys that stood in claims.")]
pub(super) struct Args {
    /// The device, by name or id.
    #[arg(value_name = "DEVICE")]
    device: String,
    /// Why.
    #[arg(short, long, value_name = "WHY", required = true)]
    reason: String,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let question = text!("Put “{}” out of the team?", escape(&args.device));
    if !confirm(cx, args.yes, question)? {
        cx.ui.line("Nothing was changed.");
        return Ok(Exit::Refused);
    }
    let request =
        RevokeRequest { caller: cx.anyone()?, in_team: args.team.team, device: args.device, reason: args.reason };
    let done = client.sync_revoke(&request).await?;
    Ok(tell(cx, &done))
}
