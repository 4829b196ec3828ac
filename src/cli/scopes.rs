//! `ergo scopes`: the projects that hold something.

use super::{
    CliError, Context, Exit,
    show::{
        text::count,
        time::{self, ago},
    },
    ui::{SafeText, Style},
};
use crate::{api::AsOf, domain::text::escape};

/// List the projects that hold something.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// As they were at this time: a date, a time, or a span such as 3d.
    #[arg(long, value_name = "WHEN")]
    as_of: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let as_of = args.as_of.map(|when| time::moment(&when, -1)).transpose()?;
    let scopes = cx.client().await?.scopes_at(&AsOf { as_of }).await?;
    if cx.ui.json {
        cx.ui.value(&scopes);
        return Ok(Exit::Ok);
    }
    let now = as_of.unwrap_or_else(Context::now);
    for view in &scopes.items {
        let name = cx.ui.paint(Style::Strong, escape(&view.scope.to_string()));
        cx.ui.line(name);
        let mut told = vec![text!("{}", count(view.active, "claim", "claims"))];
        if view.total > view.active {
            told.push(text!("{} in the history", view.total - view.active));
        }
        if view.open_cards > 0 {
            told.push(cx.ui.paint(Style::Warn, count(view.open_cards, "open conflict", "open conflicts")));
        }
        if view.needs_review > 0 {
            told.push(cx.ui.paint(Style::Warn, format!("{} to review", view.needs_review)));
        }
        told.push(text!("last change {}", ago(view.latest, now)));
        cx.ui.line(text!("  {}", SafeText::join(&told, ", ")));
        if let Some(identity) = &view.identity {
            let identity = cx.ui.paint(Style::Dim, escape(identity));
            cx.ui.line(text!("  {}", identity));
        }
    }
    if scopes.items.is_empty() && as_of.is_some() {
        cx.ui.line("Nothing was remembered then, in no project.");
    } else if scopes.items.is_empty() {
        cx.ui.line("Nothing is remembered yet, in no project.");
        cx.ui.commands(&[("ergo remember '…' --reason '…'".to_owned(), "store a first decision here".to_owned())]);
    }
    Ok(Exit::Ok)
}
