//! `ergo sync adopt`: shares what was written before.

use super::{CliError, Context, Exit, InTeam, parse_scope, tell};
use crate::{api::AdoptRequest, domain::Scope};

/// Share a scope of this machine with the team, with its whole history.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A scope that the team does not have yet becomes the team's: admins only. Into one that it has, everyone who
writes there may bring what this device wrote before.")]
pub(super) struct Args {
    /// The scope, ORG/PROJECT [default: this project].
    #[arg(value_name = "SCOPE", value_parser = parse_scope)]
    shared: Option<Scope>,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let scope = match args.shared {
        Some(scope) => scope,
        None => cx.known_scope(&client).await?,
    };
    let request = AdoptRequest { caller: cx.anyone()?, in_team: args.team.team, scope: Some(scope) };
    let done = client.sync_adopt(&request).await?;
    Ok(tell(cx, &done))
}
