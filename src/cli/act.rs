//! Shared by the verbs that act on one claim: an id, a reason, one call.

use super::{CliError, Context, Exit, show};
use crate::{
    api::{ActRequest, WriteOutcome},
    client::{Client, ClientError},
};

/// The arguments of an act on one claim.
#[derive(Debug, clap::Args)]
pub(crate) struct ClaimActArgs {
    /// The claim's id, or a unique prefix of it.
    #[arg(value_name = "ID")]
    target: String,
    /// The reason.
    #[arg(short, long, alias = "because", value_name = "WHY", required = true)]
    reason: String,
}

impl ClaimActArgs {
    /// The claim's id or prefix, as given.
    pub(super) fn target(&self) -> &str {
        &self.target
    }
}

/// Performs an act on one claim.
pub(crate) async fn run(
    args: ClaimActArgs,
    cx: &mut Context,
    call: impl AsyncFnOnce(&Client, &ActRequest) -> Result<WriteOutcome, ClientError>,
) -> Result<Exit, CliError> {
    let (client, caller) = cx.writer().await?;
    let request = ActRequest { caller, target: args.target, reason: args.reason, ..ActRequest::default() };
    let outcome = call(&client, &request).await?;
    Ok(show::outcome::show(cx, &outcome, None))
}
