//! `ergo tui`: opens the review app, or prints the same review as lines.

use super::{CliError, Context, Exit, review};

/// Open the review app: claims, why-chains, conflicts.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Open this conflict.
    #[arg(long, value_name = "ID")]
    conflict: Option<String>,
    /// Open this claim.
    #[arg(long, value_name = "ID", conflicts_with = "conflict")]
    claim: Option<String>,
    /// Change nothing.
    #[arg(long)]
    read_only: bool,
    /// The same review as lines: no drawing, no cursor. Also where there is no terminal.
    #[arg(long)]
    plain: bool,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let which = review::Which { card: args.conflict, claim: args.claim };
    cx.block_on(async |cx| {
        let client = cx.client().await?;
        review::run(cx, &client, which).await
    })
}
