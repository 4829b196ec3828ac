//! The line-based review of `ergo tui --plain` and `ergo resolve --interactive`.
//!
//! It draws nothing, moves no cursor and gives colours no meaning, so that it reads well aloud and in a log. If nobody can answer, it prints every
//! item with the commands that settle it.

mod card;
mod command;
mod item_answers;
mod question_answers;

pub(super) use command::ReviewCommand;
#[cfg(test)]
pub(super) use command::parse;

use super::{
    CliError, Context, Exit,
    ask::Asker,
    inbox::{query, show, show_nothing},
    judge, paging,
    show::{
        inbox::{counted, settling_commands},
        text::count,
    },
    undo,
};
use crate::{
    api::{CardKind, CardStatus, CardView, ConflictsQuery, InboxItem, InboxQuery, MAX_PAGE},
    client::Client,
    domain::Scope,
};

/// The cards to review.
#[derive(Clone, Debug)]
pub(crate) enum CardSelection {
    /// One card, by its id.
    Card(String),
    /// The open cards of a claim.
    Claim(String),
    /// The open cards of this project.
    Project,
}

/// The state of an item after a command.
enum ItemState {
    /// The item is settled.
    Settled,
    /// The item changed, or may have changed, and is still open.
    Changed,
    /// Nothing changed.
    Unchanged,
}

/// Reviews everything that needs attention, in `scope` or everywhere.
pub(crate) async fn inbox(
    cx: &mut Context,
    client: &Client,
    scope: Option<Scope>,
    read_only: bool,
) -> Result<Exit, CliError> {
    let all = query(scope.as_ref(), MAX_PAGE);
    let first = client.inbox(&all).await?;
    if cx.ui.json {
        show(cx, &first, scope.as_ref());
        return Ok(Exit::Ok);
    }
    if first.total == 0 && first.doubts == 0 {
        show_nothing(cx, scope.as_ref());
        return Ok(Exit::Ok);
    }
    if first.total > 0 {
        cx.ui.line(text!("{} attention.", count(first.total, "item needs", "items need")));
    }
    for group in &first.groups {
        cx.ui.line(text!("  {}: {}", group.title(), counted(group)));
    }
    if first.doubts > 0 {
        cx.ui.line(text!("  To judge: {}", count(first.doubts, "pair", "pairs")));
    }
    let pairs = first.doubts;
    let mut asker = if read_only { None } else { Asker::new() };
    let mut at = 0;
    for group in first.groups {
        let (kind, title) = (group.group, group.title());
        cx.ui.line(text!("\n{}: {}", title, counted(&group)));
        let mut page = Some(group);
        while let Some(group) = page.take() {
            for item in &group.items {
                at += 1;
                cx.ui.line(text!("\n{} of {}, {}", at, first.total.max(at), title.to_lowercase()));
                if !review(cx, client, item, asker.as_mut()).await? {
                    return Ok(Exit::Ok);
                }
            }
            if let Some(cursor) = group.next {
                let rest = InboxQuery { group: Some(kind), cursor: Some(cursor), ..all.clone() };
                page = client.inbox(&rest).await?.groups.into_iter().next();
            }
        }
    }
    match asker.as_mut() {
        _ if pairs == 0 => Ok(Exit::Ok),
        Some(asker) => {
            let caller = cx.caller()?;
            judge::review(cx, client, asker, &caller, scope.as_ref()).await
        }
        None => {
            cx.ui.line("");
            let command = judge::command(cx, scope.as_ref());
            cx.ui.commands(&[(command, "judge the pairs, one by one".to_owned())]);
            Ok(Exit::Ok)
        }
    }
}

/// Reviews conflict cards, oldest first.
pub(crate) async fn cards(
    cx: &mut Context,
    client: &Client,
    selection: CardSelection,
    read_only: bool,
) -> Result<Exit, CliError> {
    let cards = select(cx, client, selection).await?;
    if cx.ui.json {
        let mut views = Vec::new();
        for card in &cards {
            views.push(load(client, card).await?);
        }
        cx.ui.value(&views);
        return Ok(Exit::Ok);
    }
    if cards.is_empty() {
        cx.ui.line("No open conflicts.");
        cx.ui.commands(&[
            (cx.in_scope("ergo audit"), "compare all active claims".to_owned()),
            ("ergo conflicts --all".to_owned(), "list those of all scopes".to_owned()),
        ]);
        return Ok(Exit::Ok);
    }
    let settled = |item: &InboxItem| matches!(item, InboxItem::Card(card) if card.status == CardStatus::Settled);
    let mut asker = if read_only || cards.iter().all(settled) { None } else { Asker::new() };
    let open = cards.iter().filter(|item| !settled(item)).count();
    if open > 0 {
        cx.ui.line(text!("{} to settle.", count(open, "conflict", "conflicts")));
    }
    for (at, card) in cards.iter().enumerate() {
        if open > 0 {
            cx.ui.line(text!("\n{} of {}", at + 1, cards.len()));
        }
        if !review(cx, client, card, asker.as_mut()).await? {
            break;
        }
    }
    Ok(Exit::Ok)
}

async fn select(cx: &Context, client: &Client, selection: CardSelection) -> Result<Vec<InboxItem>, CliError> {
    let mut found = Vec::new();
    match selection {
        CardSelection::Card(card) => found.push(client.card(&card).await?.summary),
        CardSelection::Claim(claim) => {
            let cards = client.history(&claim).await?.cards.into_iter();
            found.extend(cards.filter(|card| card.status == CardStatus::Open));
        }
        CardSelection::Project => {
            let scope = cx.known_scope(client).await?;
            let query = paging::cards_of(&scope);
            found = paging::all(async |cursor| {
                let page = client.conflicts(&ConflictsQuery { cursor, ..query.clone() }).await?;
                Ok((page.items, page.next))
            })
            .await?;
            found.reverse();
        }
    }
    Ok(found.into_iter().map(|card| InboxItem::Card(Box::new(card))).collect())
}

/// Loads the card of an item in full; `None` if the item is no card.
async fn load(client: &Client, item: &InboxItem) -> Result<Option<CardView>, CliError> {
    match item {
        InboxItem::Card(card) => Ok(Some(client.card(&card.id.to_hex()).await?)),
        _ => Ok(None),
    }
}

/// Shows one item and asks until it is settled or skipped. Returns false to end the review.
async fn review(
    cx: &mut Context,
    client: &Client,
    item: &InboxItem,
    asker: Option<&mut Asker>,
) -> Result<bool, CliError> {
    let mut card = load(client, item).await?;
    match &card {
        Some(card) => cx.ui.card(card, Context::now()),
        None => cx.ui.inbox_item(item, Context::now()),
    }
    let Some(asker) = asker else {
        cx.ui.line("");
        match &card {
            Some(card) => cx.ui.card_commands(card),
            None => cx.ui.commands(&settling_commands(item)),
        }
        return Ok(!cx.ui.output_closed());
    };
    loop {
        let letters = command::letters(item, card.as_ref()).join(", ");
        let Some(line) = asker.ask(cx, text!("\nWhat now? [{}] ", letters))? else { return Ok(false) };
        let after = match (command::parse(&line, card.is_some()), &card) {
            (ReviewCommand::Quit, _) => return Ok(false),
            (ReviewCommand::Next, _) => return Ok(true),
            (ReviewCommand::Undo, _) => undo::last_act(cx, client, asker)
                .await
                .map(|undone| if undone { ItemState::Changed } else { ItemState::Unchanged }),
            (ReviewCommand::Card(act, side), Some(card)) => card::settle(cx, client, card, act, side, asker).await,
            (ReviewCommand::Judge, Some(card)) if card.summary.kind == CardKind::Held => {
                question_answers::settle(cx, client, card, asker).await
            }
            (ReviewCommand::Why(side), Some(card)) => card::why(cx, client, card, &side).await,
            (command, None) if item_answers::takes(item, &command) => {
                item_answers::settle(cx, client, item, &command, asker).await
            }
            (command, _) => {
                if let ReviewCommand::Unknown(word) = command {
                    cx.ui.line(text!("Unknown answer “{}”. Answers:", word));
                }
                cx.ui.line(command::help(item, card.as_ref()));
                Ok(ItemState::Unchanged)
            }
        };
        match after {
            Ok(ItemState::Settled) => return Ok(true),
            Ok(ItemState::Changed) => card = load(client, item).await?,
            Ok(ItemState::Unchanged) => {}
            Err(error) => cx.ui.error(&error),
        }
    }
}

/// Asks for a reason, with an optional default. Returns `None` if the user gives none.
fn ask_reason(cx: &mut Context, asker: &mut Asker, default: Option<String>) -> Result<Option<String>, CliError> {
    let prompt = match &default {
        Some(default) => text!("Why? [Enter: {}] ", default),
        None => "Why? (leave empty to cancel) ".into(),
    };
    let answer = asker.ask(cx, prompt)?.unwrap_or_default();
    let reason = if answer.is_empty() { default.unwrap_or_default() } else { answer };
    if reason.trim().is_empty() {
        cx.ui.line("Cancelled: a reason is required.");
        return Ok(None);
    }
    Ok(Some(reason))
}
