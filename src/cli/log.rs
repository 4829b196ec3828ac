//! `ergo log`: lists acts, newest first.

use super::{
    CliError, Context, Exit, paging,
    show::{claim::author, time::ago},
    ui::{SafeText, Style, Ui},
};
use crate::{
    api::{EventView, LogQuery},
    domain::text::{escape, sanitize_line},
};

/// The mark of a change that was undone, at the end of its row.
const UNDONE: &str = " [undone]";

/// List changes, newest first. Each can be undone by its id.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Maximum number of changes.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
    /// In all scopes.
    #[arg(long)]
    all: bool,
    /// Only by this person or agent.
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// Only writes that the guard refused.
    #[arg(long)]
    refused: bool,
    /// Continue after the cursor that the previous page printed.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let scope = (!args.all).then_some(scope);
    let (org_id, project) = scope.clone().map(|scope| (scope.org_id, scope.project)).unzip();
    let query = LogQuery {
        org_id,
        project,
        // Programs get each event, people each act.
        acts: !cx.ui.json,
        who: args.who,
        refused: args.refused,
        limit: Some(args.limit),
        cursor: args.cursor,
        ..LogQuery::default()
    };
    let filtered = query.who.is_some() || query.refused;
    let page = client.log(&query).await?;
    if cx.ui.json {
        cx.ui.value(&page);
        return Ok(Exit::Ok);
    }
    let now = Context::now();
    for event in &page.items {
        row(&mut cx.ui, event, now);
    }
    if page.items.is_empty() {
        let place = scope.map_or_else(|| "any scope".to_owned(), |scope| escape(&scope.to_string()));
        if filtered {
            cx.ui.line(text!("No change in {} matches.", place));
            cx.ui.commands(&[(cx.in_scope("ergo log"), "list all changes".to_owned())]);
        } else {
            cx.ui.line(text!("There are no changes in {} yet.", place));
            cx.ui.commands(&[(cx.in_scope("ergo remember '…' --reason '…'"), "store a first claim".to_owned())]);
        }
    }
    if page.items.iter().any(|event| event.can_undo().is_ok()) {
        cx.ui.note("To undo a change: ergo undo ID");
    }
    if let Some(next) = page.next {
        cx.ui.note(text!("More: {}", paging::next_page(&next, None)));
    }
    Ok(Exit::Ok)
}

/// Shows one event: its id, what it did, who did it, when and why.
///
/// The id is the event's and not the act's, since the ids of all acts of an import begin with the same 12 digits.
/// `ergo undo` finds the act by either.
pub(crate) fn row(ui: &mut Ui, event: &EventView, now: u64) {
    let id = ui.paint(Style::Code, event.id.short());
    let verb = format!("{:<12}", event.verb());
    let mut who = author(&event.who, event.agent.as_deref());
    if let Some(device) = &event.device_name {
        who = format!("{who}, on {}", escape(device));
    }
    let undone = if event.undone { ui.paint(Style::Warn, UNDONE) } else { SafeText::default() };
    let targets: Vec<_> = event.targets.iter().take(4).map(|id| id.short()).collect();
    let mut what = event.subject().as_deref().map(sanitize_line).unwrap_or_default();
    if what.is_empty() {
        // Its text was redacted, if it names no claim either.
        what = if targets.is_empty() { "(redacted)".to_owned() } else { targets.join(", ") };
    }
    if let Some(verdict) = event.kind.strip_prefix("judgement.") {
        what = format!("{}: {what}", escape(verdict));
    }
    let what = ui.fit(&what, 12 + 13 + if event.undone { UNDONE.len() } else { 0 });
    ui.line(text!("{}  {} {}{}", id, verb, what, undone));
    let mut rest = format!("{who}, {}", ago(event.at, now));
    if let Some(reason) = &event.reason {
        rest = format!("{rest}: {}", sanitize_line(reason));
    }
    let rest = ui.fit(&rest, 12);
    let rest = ui.paint(Style::Dim, rest);
    ui.line(text!("            {}", rest));
}
