//! `ergo sync mode` and `address`: how far sync reaches, and where a device is.

use clap::ValueEnum;

use super::{CliError, Context, Exit};
use crate::api::{AddressRequest, SyncMode};

/// Show, or choose, how far sync reaches: off, lan or internet.
#[derive(Debug, clap::Args)]
#[command(after_help = "A `mode` under [sync] in config.toml goes before what is chosen here.")]
pub(super) struct Args {
    /// From now on.
    #[arg(value_enum)]
    mode: Option<ModeArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeArg {
    /// Nothing is sent, nothing listens.
    Off,
    /// The local network alone.
    Lan,
    /// Relays and address lookup besides.
    Internet,
}

/// Say where a device can be reached, for networks on which it is not found by itself.
#[derive(Debug, clap::Args)]
pub(super) struct AddressArgs {
    /// The device, by name or id.
    #[arg(value_name = "DEVICE")]
    device: String,
    /// Its address: `ergo sync status` shows it there.
    #[arg(value_name = "IP:PORT")]
    address: String,
}

/// Runs `mode`.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let status = match args.mode {
        None => client.sync_status().await?,
        Some(ModeArg::Off) => client.sync_mode(SyncMode::Off).await?,
        Some(ModeArg::Lan) => client.sync_mode(SyncMode::Lan).await?,
        Some(ModeArg::Internet) => client.sync_mode(SyncMode::Internet).await?,
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
    } else {
        cx.ui.line("Noted; it is tried at once.");
        cx.ui.commands(&[("ergo sync status".to_owned(), "see whether it answers".to_owned())]);
    }
    Ok(Exit::Ok)
}
