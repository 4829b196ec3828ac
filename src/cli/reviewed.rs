//! `ergo reviewed`: says that claims still hold though a premise changed.

use super::{CliError, Context, Exit, show};
use crate::api::ActRequest;

/// Say that a claim still holds, though something that it rests on changed, or that a warning about it was looked at.
#[derive(Debug, clap::Args)]
#[command(after_help = "`ergo claims --needs-review` lists the claims that wait for this.")]
pub(crate) struct Args {
    /// The claims' ids, of one scope; any prefix that fits one claim alone will do. They are reviewed by one act.
    #[arg(value_name = "ID", required = true)]
    targets: Vec<String>,
    /// Why.
    #[arg(short, long, value_name = "WHY", required = true)]
    reason: String,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let (client, caller) = cx.writer().await?;
    let mut targets = args.targets.into_iter();
    let target = targets.next().unwrap_or_default();
    let request = ActRequest { caller, target, also: targets.collect(), reason: args.reason, ..ActRequest::default() };
    let outcome = client.reviewed(&request).await?;
    Ok(show::outcome::show(cx, &outcome, None))
}
