//! `ergo inbox`: lists what needs attention, grouped as in the app's Inbox, and suggests the next command.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    CliError, Context, Exit, judge,
    show::{
        inbox::{counted, settling_commands},
        text::count,
    },
    ui::Style,
};
use crate::{
    api::{Inbox, InboxGroup, InboxItem, InboxKind, InboxQuery},
    domain::{Scope, text::escape},
};

/// List what needs attention: conflicts, reviews, warnings, agents' proposals, events that the team does not accept (quarantine), join requests.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a flag it lists all scopes; `--here`, `--project` or `--scope` selects one. The app opens on the project of the repository, and `S` there shows all scopes."
)]
pub(crate) struct Args {
    /// Only this project.
    #[arg(long)]
    here: bool,
    /// Maximum number of items per group, up to 200.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
}

/// The answer with `--json`: the daemon's groups, and the suggested command.
#[derive(Serialize)]
struct InboxAnswer<'a> {
    #[serde(flatten)]
    inbox: &'a Inbox,
    next: Option<SuggestedCommand>,
}

/// The suggested command.
#[derive(Serialize)]
struct SuggestedCommand {
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

/// Builds the query for the daemon.
pub(super) fn query(scope: Option<&Scope>, limit: usize) -> InboxQuery {
    InboxQuery {
        org_id: scope.map(|scope| scope.org_id.clone()),
        project: scope.map(|scope| scope.project.clone()),
        limit: Some(limit),
        ..InboxQuery::default()
    }
}

/// Shows the inbox, as text or as JSON.
pub(super) fn show(cx: &mut Context, inbox: &Inbox, scope: Option<&Scope>) {
    if cx.ui.json {
        return cx.ui.value(&InboxAnswer { inbox, next: next(inbox) });
    }
    if inbox.total == 0 && inbox.doubts == 0 && inbox.promotions == 0 {
        return show_nothing(cx, scope);
    }
    let now = Context::now();
    let scopes: BTreeSet<String> =
        inbox.groups.iter().flat_map(|group| &group.items).filter_map(InboxItem::scope).map(Scope::to_string).collect();
    for (at, group) in inbox.groups.iter().enumerate() {
        if at > 0 {
            cx.ui.line("");
        }
        let title = cx.ui.paint(Style::Strong, group.title());
        cx.ui.line(text!("{}: {}", title, counted(group)));
        for item in &group.items {
            cx.ui.inbox_row(item, scopes.len() > 1, now);
        }
        let more = group.total.saturating_sub(group.items.len());
        if more > 0 {
            cx.ui.line(text!("{}and {} more", " ".repeat(12), more));
        }
    }
    if inbox.total > 0 && inbox.doubts + inbox.promotions > 0 {
        cx.ui.line("");
    }
    let mut further = Vec::new();
    if inbox.doubts > 0 {
        let title = cx.ui.paint(Style::Strong, "To judge");
        cx.ui.line(text!("{}: {} that may contradict each other", title, count(inbox.doubts, "pair", "pairs")));
        further.push((judge::command(cx, scope), "judge them, one by one".to_owned()));
    }
    if inbox.promotions > 0 {
        let title = cx.ui.paint(Style::Strong, "To promote");
        let rules = count(inbox.promotions, "rule", "rules");
        cx.ui.line(text!("{}: {} that several projects of an organisation state", title, rules));
        let what = if scope.is_some() { "list them" } else { "list those of your organisation; --org names another" };
        further.push((cx.in_scope("ergo promote"), what.to_owned()));
    }
    if inbox.total == 0 {
        return cx.ui.commands(&further);
    }
    cx.ui.line("");
    cx.ui.line(text!("{} attention. Next:", count(inbox.total, "item needs", "items need")));
    let mut commands = first_commands(inbox);
    commands.extend(further);
    let what = if scope.is_some() { "review it" } else { "review it: `S` shows all scopes" };
    commands.push((cx.in_scope("ergo tui"), what.to_owned()));
    cx.ui.commands(&commands);
}

/// Says that nothing needs attention.
pub(super) fn show_nothing(cx: &mut Context, scope: Option<&Scope>) {
    let place = scope.map_or_else(|| "any scope".to_owned(), |scope| escape(&scope.to_string()));
    cx.ui.line(text!("Nothing needs attention in {}.", place));
    cx.ui.commands(&[
        (cx.in_scope("ergo audit"), "compare all active claims of this project".to_owned()),
        ("ergo log --all".to_owned(), "show recent changes".to_owned()),
    ]);
}

/// Returns the most likely command for the first item of each group, but only one for each purpose.
fn first_commands(inbox: &Inbox) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let first = |group: &InboxGroup| settling_commands(group.items.first()?).into_iter().next();
    for (command, purpose) in inbox.groups.iter().filter_map(first) {
        if out.iter().all(|(_, other)| *other != purpose) {
            out.push((command, purpose));
        }
    }
    out
}

/// Returns the most likely command for the first item.
fn next(inbox: &Inbox) -> Option<SuggestedCommand> {
    let (group, item): (InboxKind, &InboxItem) =
        inbox.groups.iter().find_map(|group| Some((group.group, group.items.first()?)))?;
    let (command, does) = settling_commands(item).into_iter().next()?;
    Some(SuggestedCommand { group, command, does })
}
