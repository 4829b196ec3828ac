//! `ergo remember`: stores a claim, unless it contradicts what is in force.

use super::{
    CliError, Context, Exit, show,
    write::{self, Said},
};

/// Store a claim, unless it contradicts what is in force.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo remember 'Deploy only on green CI.' --reason 'A broken main cost us two days in May.'
  ergo remember 'The staging database listens on port 5433.' --kind fact
  ergo remember 'Never log request bodies.' --kind constraint --reason 'They hold card numbers.' --env prod")]
pub(crate) struct Args {
    /// The claim in a sentence; - reads it from stdin.
    #[arg(required = true, value_name = "STATEMENT")]
    statement: Vec<String>,
    /// Where it comes from: path:line, a document, an address.
    #[arg(short, long, value_name = "WHERE")]
    source: Option<String>,
    #[command(flatten)]
    said: Said,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let statement = write::statement(&args.statement)?;
    let (client, caller) = cx.writer().await?;
    let request = args.said.request(caller, statement, args.source);
    let outcome = client.remember(&request).await.map_err(write::in_flags)?;
    Ok(show::outcome::show(cx, &outcome, Some(&request.statement)))
}
