//! `ergo sync adopt`: shares an existing scope.

use super::{CliError, Context, Exit, InTeam, caller_sharing, parse_scope, show_done};
use crate::{api::AdoptRequest, domain::Scope};

/// Share a scope with the team, including its history.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Only admins can share a scope that is new to the team. If the team already shares the scope, every writer can add what
this device wrote before.")]
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
    let caller = caller_sharing(cx, &client, std::slice::from_ref(&scope)).await?;
    let request = AdoptRequest { caller, in_team: args.team.team, scope };
    let done = client.sync_adopt(&request).await?;
    Ok(show_done(cx, &done))
}
