//! `ergo conflicts`: lists conflict cards, or shows one.

use super::{
    CliError, Context, Exit, paging,
    show::{text::count, time},
};
use crate::{
    api::{AsOf, CardStatus, ConflictsQuery},
    domain::text::escape,
};

/// List open conflicts, or show one in full.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show this card, with both sides, the evidence and the commands that settle it.
    #[arg(value_name = "CARD")]
    card: Option<String>,
    /// open, snoozed, settled or all.
    #[arg(long, value_name = "STATUS", default_value = "open", conflicts_with = "card")]
    status: String,
    /// In all scopes.
    #[arg(long, conflicts_with = "card")]
    all: bool,
    /// Maximum number of conflicts, up to 200.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 50)]
    limit: usize,
    /// The state at this time: a date, a time, or a span such as 3d.
    #[arg(long, value_name = "WHEN")]
    as_of: Option<String>,
    /// Continue after the cursor that the previous page printed.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let as_of = args.as_of.as_deref().map(|when| time::moment(when, -1)).transpose()?;
    let now = as_of.unwrap_or_else(Context::now);
    if let Some(card) = &args.card {
        let client = cx.client().await?;
        let card = client.card_at(card, &AsOf { as_of }).await?;
        if cx.ui.json {
            cx.ui.value(&card);
        } else {
            cx.ui.card(&card, now);
            // A card of the past cannot be settled.
            if as_of.is_none() {
                cx.ui.line("");
                cx.ui.card_commands(&card);
            }
        }
        return Ok(Exit::Ok);
    }
    let (client, scope) = cx.reader().await?;
    let scope = (!args.all).then_some(scope);
    let place = scope.as_ref().map_or_else(|| "any scope".to_owned(), |scope| escape(&scope.to_string()));
    let (org_id, project) = scope.map(|scope| (scope.org_id, scope.project)).unzip();
    let query = ConflictsQuery {
        org_id,
        project,
        status: Some(args.status.clone()),
        kind: None,
        as_of,
        limit: Some(args.limit),
        cursor: args.cursor,
    };
    let page = client.conflicts(&query).await?;
    if cx.ui.json {
        cx.ui.value(&page);
        return Ok(Exit::Ok);
    }
    for card in &page.items {
        cx.ui.card_row(card, now);
    }
    if page.items.is_empty() {
        let status = if args.status == "all" { String::new() } else { format!("{} ", args.status) };
        let then = if as_of.is_some() { " at that time" } else { "" };
        cx.ui.line(text!("No {}conflicts in {}{}.", status, place, then));
        let mut commands = Vec::new();
        if as_of.is_none() && !args.all {
            commands.push((cx.in_scope("ergo audit"), "compare all active claims".to_owned()));
        }
        if args.status != "all" {
            commands.push((paging::with_status("all"), "list those of any status".to_owned()));
        }
        cx.ui.commands(&commands);
    } else if let Some(next) = &page.next {
        let (shown, total) = (page.items.len(), count(page.total, "conflict", "conflicts"));
        cx.ui.note(text!("{} of {} shown. More: {}", shown, total, paging::next_page(next, as_of)));
    } else if let Some(first) =
        page.items.iter().find(|card| card.status == CardStatus::Open).filter(|_| as_of.is_none())
    {
        cx.ui.note(text!(
            "Settle {}: ergo resolve {} --interactive. Review all: {}",
            first.id.short(),
            first.id.short(),
            cx.in_scope("ergo tui")
        ));
    }
    Ok(Exit::Ok)
}
