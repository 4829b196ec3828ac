//! `ergo sync request`: asks to join a team without a network.

use std::path::PathBuf;

use super::{CliError, Context, Exit, show_words};
use crate::api::CardRequest;

/// Write a request file for this device, to join a team without a network.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Give the file to an admin of the team, who runs `ergo sync approve` on it. It contains no secret. Compare the words over the
phone, to be sure that nobody replaced the file on the way.")]
pub(super) struct Args {
    /// The file to create.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// The name of this device in the team [default: the host name].
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let out = std::path::absolute(&args.out).map_err(|error| CliError::file("find", &args.out, &error))?;
    let client = cx.client().await?;
    let request = CardRequest { caller: cx.caller()?, out: out.display().to_string(), device_name: args.device };
    let card = client.sync_card(&request).await?;
    if cx.ui.json {
        cx.ui.value(&card);
        return Ok(Exit::Ok);
    }
    cx.ui.prose(0, None, &card.summary);
    show_words(cx, &card.words);
    let name = super::super::show::text::quote(&args.out.display().to_string());
    cx.ui.commands(&[(
        format!("ergo sync approve {name} --out grant.ergo"),
        "run by an admin, who must see the same words".to_owned(),
    )]);
    Ok(Exit::Ok)
}
