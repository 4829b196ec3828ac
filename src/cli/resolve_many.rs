//! `ergo resolve` for several cards: one act, and therefore one undo.

use super::{
    CliError, Context, Exit, paging,
    show::{outcome::TO_REVIEW, text::count},
    ui::{Style, Ui},
};
use crate::{
    api::{
        CardAct, CardRef, CardSummary, ConflictsQuery, Keep, MAX_CARDS, ResolveManyRequest, ResolvedCard, ResolvedMany,
    },
    client::Client,
};

/// An act on several cards.
pub(super) struct BulkResolution {
    pub(super) act: CardAct,
    pub(super) keep: Option<Keep>,
    pub(super) reason: String,
    /// Milliseconds since the Unix epoch.
    pub(super) until: Option<u64>,
    pub(super) dry_run: bool,
}

/// Settles the named cards, or all open ones of the scope if none is named, and shows the result of each.
pub(super) async fn run(
    cx: &mut Context,
    client: &Client,
    named: &[String],
    resolution: BulkResolution,
) -> Result<Exit, CliError> {
    let cards = if named.is_empty() {
        open_cards(cx, client).await?.iter().map(card_ref).collect()
    } else {
        named.iter().map(|id| CardRef { id: id.clone(), expect_rev: None }).collect()
    };
    let BulkResolution { act, keep, reason, until, dry_run } = resolution;
    let caller = cx.caller()?;
    let answer = client.resolve_many(&ResolveManyRequest { caller, cards, act, keep, reason, until, dry_run }).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
    } else {
        let to_review = cx.in_scope(TO_REVIEW);
        cx.ui.resolved(&answer, &to_review);
    }
    Ok(if answer.settled() == answer.items.len() { Exit::Ok } else { Exit::Refused })
}

fn card_ref(card: &CardSummary) -> CardRef {
    CardRef { id: card.id.to_hex(), expect_rev: Some(card.rev) }
}

/// Returns the open cards of the scope. More cards than fit into one act are an error, since a partial act would be surprising.
async fn open_cards(cx: &Context, client: &Client) -> Result<Vec<CardSummary>, CliError> {
    let scope = cx.known_scope(client).await?;
    let page = client.conflicts(&ConflictsQuery { limit: Some(MAX_CARDS), ..paging::cards_of(&scope) }).await?;
    if page.items.is_empty() {
        return Err(CliError::usage(format_args!("no open conflicts in {scope}"))
            .hint("`ergo conflicts --all` lists those of all scopes"));
    }
    if page.total > page.items.len() {
        return Err(CliError::usage(format_args!(
            "{scope} has {} open conflicts, but one change settles at most {MAX_CARDS}",
            page.total
        ))
        .hint(format_args!("name the cards: `{}` lists them", cx.in_scope("ergo conflicts"))));
    }
    Ok(page.items)
}

impl Ui {
    /// Shows the result for each card. `to_review`: the command that lists the claims to review.
    fn resolved(&mut self, answer: &ResolvedMany, to_review: &str) {
        for item in &answer.items {
            self.resolved_card(item, answer.dry_run);
            self.warnings(&item.warnings);
        }
        self.line(text!("{}.", answer.summary));
        if !answer.needs_review.is_empty() {
            let rest = count(answer.needs_review.len(), "claim depends", "claims depend");
            self.line(text!("{} on what changed and must be reviewed:", rest));
            self.line(text!("  {}", to_review));
        }
        if answer.settled() > 0 && !answer.dry_run && !answer.replayed {
            self.commands(&[(format!("ergo undo {}", answer.op_id), "undo all of it".to_owned())]);
        }
    }

    fn resolved_card(&mut self, item: &ResolvedCard, dry_run: bool) {
        let id = self.paint(Style::Code, item.card.short());
        let (word, style) = match (item.settled, dry_run) {
            (true, true) => ("would settle", Style::Good),
            (true, false) => ("settled", Style::Good),
            (false, _) => ("open", Style::Warn),
        };
        let width = if dry_run { 12 } else { 7 };
        let word = self.paint(style, format_args!("{word:width$}"));
        let summary = crate::domain::text::sanitize_line(&item.summary);
        self.line(text!("{} {}  {}", word, id, summary));
    }
}
