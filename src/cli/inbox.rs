//! `ergo inbox`: everything that needs attention, in the groups of the app's Inbox, and what to do next.

use serde::Serialize;

use super::{
    CliError, Context, Exit,
    show::{
        inbox::{counted, ways},
        text::count,
    },
    ui::Style,
};
use crate::{
    api::{Inbox, InboxItem, InboxKind, InboxQuery},
    domain::{Scope, text::escape},
};

/// List everything that needs attention: conflicts, reviews, warned writes, what agents propose, what came and was not accepted.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Of all projects, as in the app; `--here`, `--project` and `--scope` name one. `ergo tui` opens the same."
)]
pub(crate) struct Args {
    /// Of this project alone.
    #[arg(long)]
    here: bool,
    /// How many of each group, at most 200.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
}

/// The answer with `--json`: the groups as the daemon gives them, and what comes first.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    inbox: &'a Inbox,
    next: Option<Next>,
}

/// What to do next.
#[derive(Serialize)]
struct Next {
    group: InboxKind,
    command: String,
    does: String,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let scope = if args.here || cx.names_scope() { Some(cx.known_scope(&client).await?) } else { None };
    let inbox = client.inbox(&query(scope.as_ref(), args.limit)).await?;
    show(cx, &inbox, scope.as_ref());
    Ok(Exit::Ok)
}

/// What to ask the daemon for.
pub(super) fn query(scope: Option<&Scope>, limit: usize) -> InboxQuery {
    InboxQuery {
        org_id: scope.map(|scope| scope.org_id.clone()),
        project: scope.map(|scope| scope.project.clone()),
        limit: Some(limit),
        ..InboxQuery::default()
    }
}

/// Shows it, as JSON where that is asked for.
pub(super) fn show(cx: &mut Context, inbox: &Inbox, scope: Option<&Scope>) {
    if cx.ui.json {
        return cx.ui.value(&Told { inbox, next: next(inbox) });
    }
    if inbox.total == 0 {
        return nothing(cx, scope);
    }
    let now = Context::now();
    for (at, group) in inbox.groups.iter().enumerate() {
        if at > 0 {
            cx.ui.line("");
        }
        let title = cx.ui.paint(Style::Strong, group.group.title());
        cx.ui.line(text!("{}: {}", title, counted(group)));
        for item in &group.items {
            cx.ui.inbox_row(item, now);
        }
        let more = group.total.saturating_sub(group.items.len());
        if more > 0 {
            cx.ui.line(text!("{}and {} more", " ".repeat(12), more));
        }
    }
    cx.ui.line("");
    cx.ui.line(text!("{} attention. Then next:", count(inbox.total, "item needs", "items need")));
    if let Some(next) = next(inbox) {
        cx.ui.commands(&[(next.command, next.does), ("ergo tui".to_owned(), "go through all of it".to_owned())]);
    }
}

/// Says that nothing waits, and what one could do instead.
pub(super) fn nothing(cx: &mut Context, scope: Option<&Scope>) {
    let place = scope.map_or_else(|| "any project".to_owned(), |scope| escape(&scope.to_string()));
    cx.ui.line(text!("Nothing waits for you in {}.", place));
    cx.ui.commands(&[
        ("ergo audit".to_owned(), "compare all that is in force here".to_owned()),
        ("ergo log --all".to_owned(), "what was done".to_owned()),
    ]);
}

/// The first thing of the first group, and the likeliest way to settle it.
fn next(inbox: &Inbox) -> Option<Next> {
    let (group, item): (InboxKind, &InboxItem) =
        inbox.groups.iter().find_map(|group| Some((group.group, group.items.first()?)))?;
    let (command, does) = ways(item).into_iter().next()?;
    Some(Next { group, command, does })
}
