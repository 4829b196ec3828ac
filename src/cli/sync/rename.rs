//! `ergo sync rename`: renames a device or the team.

use super::{CliError, Context, Exit, InTeam, show_done};
use crate::{api::RenameRequest, domain::DeviceId};

/// Rename this device, another one, or the team.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The new name.
    #[arg(value_name = "NAME")]
    name: String,
    /// Another device, by name or id. Admins only.
    #[arg(long, value_name = "DEVICE", conflicts_with = "team_itself")]
    device: Option<String>,
    /// The team itself. Admins only.
    #[arg(long = "team")]
    team_itself: bool,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let device = match (args.team_itself, args.device) {
        (true, _) => None,
        (false, Some(device)) => Some(device),
        (false, None) => client.sync_status().await?.device.map(DeviceId::to_hex),
    };
    let request = RenameRequest { caller: cx.caller()?, in_team: args.team.team, device, name: args.name };
    let done = client.sync_rename(&request).await?;
    Ok(show_done(cx, &done))
}
