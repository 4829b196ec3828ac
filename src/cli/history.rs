//! `ergo history`: shows the acts on a claim, its predecessors and its successors.

use super::{CliError, Context, Exit, log, show::time, ui::Style};
use crate::api::AsOf;

/// Show all changes of a claim, what it replaced and what replaced it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The claim's id.
    #[arg(value_name = "ID")]
    id: String,
    /// The state at this time: a date, a time, or a span such as 3d.
    #[arg(long, value_name = "WHEN")]
    as_of: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let as_of = args.as_of.map(|when| time::moment(&when, -1)).transpose()?;
    let history = cx.client().await?.history_at(&args.id, &AsOf { as_of }).await?;
    if cx.ui.json {
        cx.ui.value(&history);
        return Ok(Exit::Ok);
    }
    let now = as_of.unwrap_or_else(Context::now);
    let heading = |cx: &mut Context, title: &str| {
        let title = cx.ui.paint(Style::Strong, title);
        cx.ui.line(text!("\n{}", title));
    };
    cx.ui.claim(&history.claim, now);
    if let Some(signed) = history.claim.signed_words() {
        cx.ui.field("signed by", &signed);
    }
    heading(cx, "Changes, oldest first");
    for event in &history.events {
        log::row(&mut cx.ui, event, now);
    }
    if history.chain.len() > 1 {
        heading(cx, "What it replaced");
        cx.ui.chain(&history.chain, now);
    }
    for (title, claims) in [
        ("What replaced it", &history.successors),
        ("Depends on", &history.premises),
        ("What depends on it", &history.dependents),
    ] {
        if !claims.is_empty() {
            heading(cx, title);
            for claim in claims {
                cx.ui.claim_row(claim, now);
            }
        }
    }
    if !history.cards.is_empty() {
        heading(cx, "Conflicts");
        for card in &history.cards {
            cx.ui.card_row(card, now);
        }
    }
    Ok(Exit::Ok)
}
