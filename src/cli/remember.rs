//! `ergo remember`: stores a claim, unless it contradicts an active one.

use super::{
    CliError, Context, Exit, doubts, show,
    write::{self, NewClaimArgs},
};

/// Store a claim, unless it contradicts an active one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo remember 'Deploy only on green CI.' --reason 'A broken main cost us two days in May.'
  ergo remember 'The staging database listens on port 5433.' --kind fact
  ergo remember 'Never log request bodies.' --kind constraint --env prod --reason 'Card numbers.'")]
pub(crate) struct Args {
    /// The claim in a sentence; - reads it from stdin.
    #[arg(required = true, value_name = "STATEMENT")]
    statement: Vec<String>,
    /// Its source: path:line, a document, a URL.
    #[arg(short, long, value_name = "WHERE")]
    source: Option<String>,
    #[command(flatten)]
    claim: NewClaimArgs,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let statement = write::statement(&args.statement)?;
    let (client, caller) = cx.writer().await?;
    let request = doubts::ask_if_interactive(cx, args.claim.request(caller, statement, args.source));
    let outcome = client.remember(&request).await?;
    let Some(outcome) = doubts::answer_questions(cx, &client, &request, outcome).await? else {
        return Ok(Exit::Refused);
    };
    Ok(show::outcome::show(cx, &outcome, Some(&request.statement)))
}
