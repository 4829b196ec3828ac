//! `ergo depend`: records that a claim depends on others.

use super::{CliError, Context, Exit, show};
use crate::api::DependRequest;

/// Record that a claim depends on others: if one of them changes, the claim needs review.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The claim that depends on others.
    #[arg(value_name = "ID")]
    claim: String,
    /// The claims that it depends on.
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
