//! `ergo sync revoke`: removes a device from the team.

use super::{CliError, Context, Exit, InTeam, show_done};
use crate::cli::ask::confirm;
use crate::{api::RevokeRequest, domain::text::escape};

/// Remove a device from the team. Admins only.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Its earlier claims stay. Later ones are not accepted, whatever their date, and peers stop talking to it once they learn of the
revocation. The device keeps what it has already received: change passwords and keys that appeared in claims.")]
pub(super) struct Args {
    /// The device, by name or id.
    #[arg(value_name = "DEVICE")]
    device: String,
    /// The reason.
    #[arg(short, long, alias = "because", value_name = "WHY", required = true)]
    reason: String,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let question = text!("Revoke {}?", escape(&args.device));
    if !confirm(cx, args.yes, question)? {
        cx.ui.line("Nothing was changed.");
        return Ok(Exit::Refused);
    }
    let request =
        RevokeRequest { caller: cx.caller()?, in_team: args.team.team, device: args.device, reason: args.reason };
    let done = client.sync_revoke(&request).await?;
    Ok(show_done(cx, &done))
}
