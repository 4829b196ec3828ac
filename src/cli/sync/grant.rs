//! `ergo sync grant`: changes the rights of a device.

use super::{CliError, Context, Exit, InTeam, RoleArg, parse_scope, show_done, with_global_scopes};
use crate::{api::GrantRequest, domain::Scope};

/// Change a device's role and scopes. Admins only.
#[derive(Debug, clap::Args)]
#[command(after_help = "A device keeps what it has already received.")]
pub(super) struct Args {
    /// The device, by name or id.
    #[arg(value_name = "DEVICE")]
    device: String,
    /// Its new role.
    #[arg(long, value_enum)]
    role: Option<RoleArg>,
    /// Only this scope of the team, ORG/PROJECT; may be given several times.
    #[arg(long, value_name = "SCOPE", value_parser = parse_scope)]
    only: Vec<Scope>,
    /// All current and future scopes of the team.
    #[arg(long, conflicts_with = "only")]
    all: bool,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let only = if args.all { Vec::new() } else { with_global_scopes(cx, args.only)? };
    if args.role.is_none() && !args.all && only.is_empty() {
        return Err(CliError::usage("nothing to change").hint("use `--role reader`, `--only ORG/PROJECT` or `--all`"));
    }
    let client = cx.client().await?;
    let request = GrantRequest {
        caller: cx.caller()?,
        in_team: args.team.team,
        device: args.device,
        role: args.role.map(Into::into),
        scopes: (args.all || !only.is_empty()).then_some(only),
    };
    let done = client.sync_grant(&request).await?;
    Ok(show_done(cx, &done))
}
