//! What the acts on one claim share: an id, a reason, one call.

use super::{CliError, Context, Exit, show};
use crate::{
    api::{ActRequest, WriteOutcome},
    client::{Client, ClientError},
};

/// A claim and why.
#[derive(Debug, clap::Args)]
pub(crate) struct OneClaim {
    /// The claim's id; any prefix that fits one claim alone will do.
    #[arg(value_name = "ID")]
    target: String,
    /// Why.
    #[arg(short, long, value_name = "WHY", required = true)]
    reason: String,
}

/// Does one act on one claim.
pub(crate) async fn run(
    args: OneClaim,
    cx: &mut Context,
    call: impl AsyncFnOnce(&Client, &ActRequest) -> Result<WriteOutcome, ClientError>,
) -> Result<Exit, CliError> {
    let (client, caller) = cx.writer().await?;
    let request = ActRequest { caller, target: args.target, reason: args.reason, ..ActRequest::default() };
    let outcome = call(&client, &request).await?;
    Ok(show::outcome::show(cx, &outcome, None))
}
