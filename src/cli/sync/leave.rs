//! `ergo sync leave`: leaves the team.

use super::{CliError, Context, Exit, InTeam, show_done};
use crate::api::LeaveRequest;
use crate::cli::ask::confirm;

/// Leave the team with this device. Every device keeps what it has.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    if !confirm(cx, args.yes, "Leave the team with this device?")? {
        cx.ui.line("Nothing was changed.");
        return Ok(Exit::Refused);
    }
    let request = LeaveRequest { caller: cx.caller()?, in_team: args.team.team };
    let done = client.sync_leave(&request).await?;
    Ok(show_done(cx, &done))
}
