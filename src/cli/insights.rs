//! `ergo insights`: prints the figures of an organisation on one page.

use super::{CliError, Context, Exit, notes::insight_row, show::text::count, ui::Style};
use crate::{
    api::{InsightFiguresQuery, InsightView},
    domain::text::{escape, sanitize_line},
};

/// Summarise an organisation: rules that its projects share, contested subjects, decayed and promoted rules.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
pub(crate) async fn run(_args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let figures = client.insight_figures(&InsightFiguresQuery { org_id: scope.org_id }).await?;
    if cx.ui.json {
        cx.ui.value(&figures);
        return Ok(Exit::Ok);
    }
    cx.ui.line(text!(
        "{}: {}, {}, {}.",
        escape(&figures.org_id),
        count(figures.projects, "project", "projects"),
        count(figures.claims, "active claim", "active claims"),
        count(figures.insights, "insight", "insights")
    ));
    list(cx, "Rules in most projects", &figures.shared);
    if !figures.contested.is_empty() {
        title(cx, "Most contested subjects");
        for subject in &figures.contested {
            cx.ui.line(text!(
                "  {}  {}",
                sanitize_line(&subject.subject),
                count(subject.cards, "open card", "open cards")
            ));
        }
    }
    list(cx, "Decaying or pruned", &figures.decayed);
    list(cx, "Principles of the organisation", &figures.promoted);
    list(cx, "Candidates for promotion", &figures.candidates);
    Ok(Exit::Ok)
}

fn title(cx: &mut Context, text: &str) {
    let title = cx.ui.paint(Style::Strong, text);
    cx.ui.line(text!("\n{}", title));
}

fn list(cx: &mut Context, name: &str, rows: &[InsightView]) {
    if rows.is_empty() {
        return;
    }
    title(cx, name);
    for row in rows {
        insight_row(cx, row);
    }
}
