//! `ergo sync create`: creates a team.

use super::{CliError, Context, Exit, caller_sharing, parse_scope, show_team, with_global_scopes};
use crate::{api::CreateTeamRequest, domain::Scope};

/// Create a team, with this device as its first admin.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Shared scopes include their history. Other scopes stay on this device; `ergo sync adopt` shares a scope later.")]
pub(super) struct Args {
    /// The team's name.
    #[arg(value_name = "NAME")]
    name: String,
    /// Scopes to share with the team, with their history: ORG/PROJECT.
    #[arg(value_name = "SCOPE", value_parser = parse_scope)]
    scopes: Vec<Scope>,
    /// The name of this device in the team [default: the host name].
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let scopes = with_global_scopes(cx, args.scopes)?;
    let caller = caller_sharing(cx, &client, &scopes).await?;
    let request = CreateTeamRequest { caller, name: args.name, device_name: args.device, scopes };
    let team = client.sync_create(&request).await?;
    if cx.ui.json {
        cx.ui.value(&team);
        return Ok(Exit::Ok);
    }
    show_team(cx, &team);
    if cx.ui.quiet {
        return Ok(Exit::Ok);
    }
    let mut next = vec![("ergo sync invite".to_owned(), "invite another device".to_owned())];
    if team.scopes.is_empty() {
        next.insert(0, ("ergo sync adopt".to_owned(), "share this project, with its history".to_owned()));
    }
    cx.ui.commands(&next);
    Ok(Exit::Ok)
}
