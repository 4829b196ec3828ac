//! `ergo sync mode` and `address`: the network that sync uses, and addresses of devices.

use clap::ValueEnum;

use super::{CliError, Context, Exit};
use crate::api::{AddressRequest, ModeRequest, SyncMode};

/// Show or set the network that sync uses: off, lan or internet.
#[derive(Debug, clap::Args)]
#[command(after_help = "`mode` under [sync] in config.toml overrides this.")]
pub(super) struct Args {
    /// The new mode.
    #[arg(value_enum)]
    mode: Option<ModeArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeArg {
    /// No network.
    Off,
    /// The local network only.
    Lan,
    /// The internet too, with relays and address lookup.
    Internet,
}

/// Set the address of a device, for networks without automatic discovery.
#[derive(Debug, clap::Args)]
pub(super) struct AddressArgs {
    /// The device, by name or id.
    #[arg(value_name = "DEVICE")]
    device: String,
    /// Its address, as `ergo sync status` shows on that device.
    #[arg(value_name = "IP:PORT")]
    address: String,
}

/// Runs `mode`.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let mode = args.mode.map(|mode| match mode {
        ModeArg::Off => SyncMode::Off,
        ModeArg::Lan => SyncMode::Lan,
        ModeArg::Internet => SyncMode::Internet,
    });
    let status = match mode {
        None => client.sync_status().await?,
        Some(mode) => client.sync_mode(&ModeRequest { caller: cx.caller()?, mode }).await?,
    };
    if cx.ui.json {
        cx.ui.value(&status);
    } else {
        cx.ui.line(text!("{}", status.says));
    }
    Ok(Exit::Ok)
}

/// Runs `address`.
pub(super) async fn address(args: AddressArgs, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let request = AddressRequest { device: args.device, address: args.address };
    let status = client.sync_address(&request).await?;
    if cx.ui.json {
        cx.ui.value(&status);
    } else if status.mode == SyncMode::Off {
        cx.ui.line("Saved. Sync is off, so nothing connects.");
        cx.ui.commands(&[("ergo sync mode lan".to_owned(), "turn sync on".to_owned())]);
    } else {
        cx.ui.line("Saved. Connecting to the device now.");
        cx.ui.commands(&[("ergo sync status".to_owned(), "see whether it connects".to_owned())]);
    }
    Ok(Exit::Ok)
}
