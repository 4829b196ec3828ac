//! `ergo learn`: stores a claim with its source.

use super::{
    CliError, Context, Exit, doubts, show,
    write::{self, NewClaimArgs},
};

/// Store a claim as `ergo remember` does, but require its source, such as a document, instead of a reason.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The claim in a sentence; - reads it from stdin.
    #[arg(required = true, value_name = "STATEMENT")]
    statement: Vec<String>,
    /// Its source: path:line, a document, a URL.
    #[arg(short, long, value_name = "WHERE", required = true)]
    source: String,
    #[command(flatten)]
    claim: NewClaimArgs,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let statement = write::statement(&args.statement)?;
    let (client, caller) = cx.writer().await?;
    let request = doubts::ask_if_interactive(cx, args.claim.request(caller, statement, Some(args.source)));
    let outcome = client.learn(&request).await?;
    let Some(outcome) = doubts::answer_questions(cx, &client, &request, outcome).await? else {
        return Ok(Exit::Refused);
    };
    Ok(show::outcome::show(cx, &outcome, Some(&request.statement)))
}
