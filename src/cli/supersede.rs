//! `ergo supersede`: the world changed, so a claim gives way to another.

use super::{
    CliError, Context, Exit, show,
    write::{self, Said},
};
use crate::api::SupersedeRequest;

/// Replace a claim: the world changed, and here is why. The old one stays in the history.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo supersede 3f2a91bc04 'Deploy on any day but Friday.' --reason 'Two Fridays ended in a rollback.'
  ergo supersede 3f2a91bc04 --by 91bc04aa7d --reason 'The newer one covers it.'
A mistake from the start is no change: `ergo retract` takes it out.")]
pub(crate) struct Args {
    /// The id of the claim that gives way.
    #[arg(value_name = "ID")]
    target: String,
    /// The new claim in a sentence; - reads it from stdin.
    #[arg(required_unless_present = "by", value_name = "STATEMENT")]
    statement: Vec<String>,
    /// A claim in force that takes its place, instead of a new statement.
    #[arg(long, value_name = "ID", conflicts_with = "statement")]
    by: Option<String>,
    /// A further claim that gives way; may be given several times.
    #[arg(long = "also", value_name = "ID")]
    also: Vec<String>,
    /// Where the new claim comes from: path:line, a document, an address.
    #[arg(short, long, value_name = "WHERE")]
    source: Option<String>,
    #[command(flatten)]
    said: Said,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let statement = write::statement(&args.statement)?;
    let (client, caller) = cx.writer().await?;
    let claim = args.said.request(caller, statement, args.source);
    let targets = std::iter::once(args.target).chain(args.also).collect();
    let request = SupersedeRequest { targets, successor: args.by, expect_rev: None, claim };
    let outcome = client.supersede(&request).await.map_err(write::in_flags)?;
    let written = Some(request.claim.statement.as_str()).filter(|statement| !statement.is_empty());
    Ok(show::outcome::show(cx, &outcome, written))
}
