//! `ergo snapshot`: what is in force, on one page.

use super::{CliError, Context, Exit, show::time, ui::SafeText};
use crate::api::SnapshotQuery;

/// Show what is in force on one page of Markdown, by kind and subject: for the beginning of an agent's session.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo snapshot
  ergo snapshot --tokens 2000 --as-of 2026-05-01")]
pub(crate) struct Args {
    /// Wait until it is made anew; else one that something changed since is shown while another is made.
    #[arg(long)]
    rebuild: bool,
    /// About how many tokens it may have, 100 to 20,000.
    #[arg(long, value_name = "COUNT", default_value_t = 800)]
    tokens: usize,
    /// As it was at this time: a date, a time, or a span such as 3d.
    #[arg(long, value_name = "WHEN")]
    as_of: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let as_of = args.as_of.map(|when| time::moment(&when, -1)).transpose()?;
    let (client, scope) = cx.reader().await?;
    let query = SnapshotQuery {
        org_id: scope.org_id,
        project: scope.project,
        tokens: Some(args.tokens),
        rebuild: args.rebuild,
        as_of,
    };
    let answer = client.snapshot(&query).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
        return Ok(Exit::Ok);
    }
    cx.ui.prompt(SafeText::lines(&answer.snapshot));
    if answer.stale {
        cx.ui.note("Something changed since this was made; a new one is being made.");
    }
    Ok(Exit::Ok)
}
