//! `ergo depend`: says that a claim rests on others.

use super::{CliError, Context, Exit, show};
use crate::api::DependRequest;

/// Say that a claim rests on others: where one of them falls, it needs review.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The claim that rests on others.
    #[arg(value_name = "ID")]
    claim: String,
    /// What it rests on.
    #[arg(long = "on", value_name = "ID", required = true, num_args = 1..)]
    premises: Vec<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let (client, caller) = cx.writer().await?;
    let request = DependRequest { caller, claim: args.claim, premises: args.premises };
    let outcome = client.depend(&request).await?;
    Ok(show::outcome::show(cx, &outcome, None))
}
