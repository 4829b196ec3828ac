//! `ergo scopes`: lists the projects that have claims.

use super::{
    CliError, Context, Exit,
    show::{
        text::count,
        time::{self, ago},
    },
    ui::{SafeText, Style},
};
use crate::{api::AsOf, domain::text::escape};

/// List the scopes (ORG/PROJECT) that have claims.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The state at this time: a date, a time, or a span such as 3d.
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
        if !view.scope.level().is_project() {
            cx.ui.line(text!(
                "  organisation's level: its claims hold in each project of {}",
                escape(&view.scope.org_id)
            ));
        }
        let mut parts = vec![text!("{}", count(view.active, "claim", "claims"))];
        if view.total > view.active {
            parts.push(text!("{} superseded or retracted", view.total - view.active));
        }
        if view.open_cards > 0 {
            parts.push(cx.ui.paint(Style::Warn, count(view.open_cards, "open conflict", "open conflicts")));
        }
        if view.needs_review > 0 {
            parts.push(cx.ui.paint(Style::Warn, format!("{} to review", view.needs_review)));
        }
        if view.latest > 0 {
            parts.push(text!("last change {}", ago(view.latest, now)));
        }
        cx.ui.line(text!("  {}", SafeText::join(&parts, ", ")));
        if let Some(identity) = &view.identity {
            let identity = cx.ui.paint(Style::Dim, escape(identity));
            cx.ui.line(text!("  {}", identity));
        }
    }
    if scopes.items.is_empty() && as_of.is_some() {
        cx.ui.line("No scope had claims at that time.");
    } else if scopes.items.is_empty() {
        cx.ui.line("No scope has claims yet.");
        cx.ui.commands(&[("ergo remember '…' --reason '…'".to_owned(), "store a first decision here".to_owned())]);
    }
    Ok(Exit::Ok)
}
