//! `ergo sync map`: renames a scope of the team on this machine.

use super::{CliError, Context, Exit, InTeam, parse_scope, show_done};
use crate::{api::BindRequest, domain::Scope};

/// Use another name for a scope of the team on this device.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The team's name of the scope, ORG/PROJECT.
    #[arg(value_name = "SCOPE", value_parser = parse_scope)]
    theirs: Scope,
    /// Its name on this device, ORG/PROJECT.
    #[arg(value_name = "NAME", value_parser = parse_scope)]
    local: Scope,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let request = BindRequest { caller: cx.caller()?, in_team: args.team.team, scope: args.theirs, local: args.local };
    let done = client.sync_bind(&request).await?;
    Ok(show_done(cx, &done))
}
