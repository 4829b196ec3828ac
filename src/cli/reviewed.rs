//! `ergo reviewed`: confirms that claims still hold.

use super::{CliError, Context, Exit, show};
use crate::api::ActRequest;

/// Confirm that a claim still holds after a claim that it depends on changed, or after the guard warned about it.
#[derive(Debug, clap::Args)]
#[command(after_help = "`ergo claims --needs-review` lists the claims to confirm.")]
pub(crate) struct Args {
    /// The claims' ids or unique prefixes. They must be in one scope, and one `ergo undo` undoes all.
    #[arg(value_name = "ID", required = true)]
    targets: Vec<String>,
    /// The reason.
    #[arg(short, long, alias = "because", value_name = "WHY", required = true)]
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
