//! `ergo snapshot`: prints the active claims on one page.

use super::{CliError, Context, Exit, show::time, ui::SafeText};
use crate::api::SnapshotQuery;

/// Print the active claims on one page of Markdown, by kind and subject, for the start of an agent's session.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo snapshot
  ergo snapshot --tokens 2000 --as-of 2026-05-01")]
pub(crate) struct Args {
    /// Wait for an up-to-date page instead of printing a possibly stale one.
    #[arg(long)]
    rebuild: bool,
    /// Approximate maximum of tokens, 100 to 20,000.
    #[arg(long, value_name = "COUNT", default_value_t = 800)]
    tokens: usize,
    /// The state at this time: a date, a time, or a span such as 3d.
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
        let rebuild = cx.in_scope("ergo snapshot --rebuild");
        cx.ui.note(text!("This page is out of date; a new one is being generated. To wait for it: `{}`.", rebuild));
    }
    Ok(Exit::Ok)
}
