//! `ergo audit`: compares all active claims and opens cards for contradictions.

use super::{CliError, Context, Exit, show::text::count};
use crate::{
    api::{AuditRequest, Caller},
    domain::text::escape,
};

/// Compare all active claims of a project and open a conflict card for each contradiction.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only report contradictions, open no cards.
    #[arg(long)]
    dry_run: bool,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let caller = Caller { org_id: scope.org_id.clone(), project: scope.project.clone(), ..cx.anyone()? };
    let request = AuditRequest { caller, dry_run: args.dry_run };
    cx.ui.progress(text!("comparing the claims of {} …", escape(&scope.to_string())));
    let answer = client.audit(&request).await;
    cx.ui.progress_done();
    let outcome = answer?;
    if cx.ui.json {
        cx.ui.value(&outcome);
        return Ok(Exit::Ok);
    }
    let now = Context::now();
    for card in &outcome.opened {
        cx.ui.card_row(card, now);
    }
    let claims = count(outcome.claims, "claim", "claims");
    let pairs = count(outcome.compared, "pair", "pairs");
    let verb = if args.dry_run { "would be opened" } else { "opened" };
    let known = if outcome.known > 0 { format!(", {} already known", outcome.known) } else { String::new() };
    let opened = if outcome.opened.is_empty() {
        "no new contradictions".to_owned()
    } else {
        format!("{} {verb}", count(outcome.opened.len(), "conflict", "conflicts"))
    };
    cx.ui.line(text!("{}: {}, {} compared; {}{}.", escape(&scope.to_string()), claims, pairs, opened, known));
    if !outcome.opened.is_empty() && !args.dry_run {
        cx.ui.commands(&[("ergo tui".to_owned(), "settle them".to_owned())]);
    }
    Ok(Exit::Ok)
}
