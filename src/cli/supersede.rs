//! `ergo supersede`: replaces a claim by a newer one.

use super::{
    CliError, Context, Exit, doubts, show,
    write::{self, NewClaimArgs},
};
use crate::api::SupersedeRequest;

/// The arguments that describe a new claim. They conflict with `--by`, since a stored claim stays as it is.
const NEW_CLAIM_ARGS: [&str; 8] =
    ["statement", "source", "kind", "key", "depends_on", "force_exception", "exception_to", "QualifierArgs"];

/// Replace a claim with a newer one, because something changed. The old claim stays in the history.
#[derive(Debug, clap::Args)]
#[command(mut_arg("kind", |arg| {
    arg.help("decision, constraint, rejection, convention or fact [default: that of the replaced claim]")
}))]
#[command(after_help = "\
Examples:
  ergo supersede 3f2a91bc04 'Deploy on any day but Friday.' --reason 'Two Fridays ended in a rollback.'
  ergo supersede 3f2a91bc04 --by 91bc04aa7d --reason 'The newer one covers it.'
The new claim keeps the conditions of the replaced one: where and when it holds. Other values, such as --env staging,
replace them, and --drop-conditions drops them.
To withdraw a claim that was never right, use `ergo retract`.")]
pub(crate) struct Args {
    /// The id of the claim to replace.
    #[arg(value_name = "ID")]
    target: String,
    /// The new claim in a sentence; - reads it from stdin.
    #[arg(required_unless_present = "by", value_name = "STATEMENT")]
    statement: Vec<String>,
    /// An active claim that replaces it, instead of a new statement.
    #[arg(long, value_name = "ID", conflicts_with_all = NEW_CLAIM_ARGS)]
    by: Option<String>,
    /// Another claim to replace; may be given several times.
    #[arg(long = "also", value_name = "ID")]
    also: Vec<String>,
    /// The source of the new claim: path:line, a document, a URL.
    #[arg(short, long, value_name = "WHERE")]
    source: Option<String>,
    /// Keep no conditions of the replaced claims [default: keep those that all of them have, such as --env prod].
    #[arg(long, conflicts_with = "by")]
    drop_conditions: bool,
    #[command(flatten)]
    claim: NewClaimArgs,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let statement = write::statement(&args.statement)?;
    let (client, caller) = cx.writer().await?;
    let claim = args.claim.request(caller, statement, args.source);
    // An existing successor was compared with other claims when it was stored.
    let claim = if args.by.is_none() { doubts::ask_if_interactive(cx, claim) } else { claim };
    let targets = std::iter::once(args.target).chain(args.also).collect();
    let request = SupersedeRequest {
        targets,
        successor: args.by,
        drop_conditions: args.drop_conditions,
        expect_rev: None,
        claim,
    };
    let outcome = client.supersede(&request).await?;
    let Some(outcome) = doubts::answer_questions(cx, &client, &request.claim, outcome).await? else {
        return Ok(Exit::Refused);
    };
    let written = Some(request.claim.statement.as_str()).filter(|statement| !statement.is_empty());
    Ok(show::outcome::show(cx, &outcome, written))
}
