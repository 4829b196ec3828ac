//! `ergo resolve` for many cards: one act, hence one undo.

use super::{
    CliError, Context, Exit,
    ui::{Style, Ui},
};
use crate::{
    api::{
        CardAct, CardRef, CardSummary, ConflictsQuery, Keep, MAX_CARDS, ResolveManyRequest, ResolvedCard, ResolvedMany,
    },
    client::Client,
};

/// What to do with the cards.
pub(super) struct Order {
    pub(super) act: CardAct,
    pub(super) keep: Option<Keep>,
    pub(super) reason: String,
    /// Milliseconds since the Unix epoch.
    pub(super) until: Option<u64>,
    pub(super) dry_run: bool,
}

/// Settles the cards that are named, or all that wait in the scope where none is, and says what became of each.
pub(super) async fn run(cx: &mut Context, client: &Client, named: &[String], order: Order) -> Result<Exit, CliError> {
    let cards = if named.is_empty() {
        waiting(cx, client).await?.iter().map(shown).collect()
    } else {
        named.iter().map(|id| CardRef { id: id.clone(), expect_rev: None }).collect()
    };
    let Order { act, keep, reason, until, dry_run } = order;
    let caller = cx.anyone()?;
    let answer = client.resolve_many(&ResolveManyRequest { caller, cards, act, keep, reason, until, dry_run }).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
    } else {
        cx.ui.resolved(&answer);
    }
    Ok(if answer.settled() == answer.items.len() { Exit::Ok } else { Exit::Refused })
}

fn shown(card: &CardSummary) -> CardRef {
    CardRef { id: card.id.to_hex(), expect_rev: Some(card.rev) }
}

/// The cards that wait here; more than fit one act are an error, since an act that does a part would surprise.
async fn waiting(cx: &Context, client: &Client) -> Result<Vec<CardSummary>, CliError> {
    let scope = cx.known_scope(client).await?;
    let query = ConflictsQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        limit: Some(MAX_CARDS),
        ..ConflictsQuery::default()
    };
    let page = client.conflicts(&query).await?;
    if page.items.is_empty() {
        return Err(CliError::usage(format_args!("no conflict waits in {scope}"))
            .hint("`ergo conflicts --all` looks in all projects"));
    }
    if page.total > page.items.len() {
        return Err(CliError::usage(format_args!(
            "{} conflicts wait in {scope}, and one act settles {MAX_CARDS}",
            page.total
        ))
        .hint("name the cards: `ergo conflicts` lists them"));
    }
    Ok(page.items)
}

impl Ui {
    fn resolved(&mut self, answer: &ResolvedMany) {
        for item in &answer.items {
            self.resolved_card(item);
        }
        self.line(text!("{}.", answer.summary));
        if !answer.needs_review.is_empty() {
            self.line(text!("{} claims that rest on what changed need review:", answer.needs_review.len()));
            self.line("  ergo claims --needs-review");
        }
        if answer.settled() > 0 && !answer.dry_run && !answer.replayed {
            self.commands(&[(format!("ergo undo {}", answer.op_id), "take all of it back".to_owned())]);
        }
    }

    fn resolved_card(&mut self, item: &ResolvedCard) {
        let id = self.paint(Style::Code, item.card.short());
        let (word, style) = if item.settled { ("ok", Style::Good) } else { ("left", Style::Warn) };
        let word = self.paint(style, format_args!("{word:4}"));
        let summary = crate::domain::text::sanitize_line(&item.summary);
        self.line(text!("{} {}  {}", word, id, summary));
    }
}
