//! `ergo learn`: stores a claim that was formed from a source.

use super::{
    CliError, Context, Exit, show,
    write::{self, Said},
};

/// Store a claim that comes from a source, which is then required.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The claim in a sentence; - reads it from stdin.
    #[arg(required = true, value_name = "STATEMENT")]
    statement: Vec<String>,
    /// Where it comes from: path:line, a document, an address.
    #[arg(short, long, value_name = "WHERE", required = true)]
    source: String,
    #[command(flatten)]
    said: Said,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let statement = write::statement(&args.statement)?;
    let (client, caller) = cx.writer().await?;
    let request = args.said.request(caller, statement, Some(args.source));
    let outcome = client.learn(&request).await.map_err(write::in_flags)?;
    Ok(show::outcome::show(cx, &outcome, Some(&request.statement)))
}
