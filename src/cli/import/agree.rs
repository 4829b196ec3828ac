//! Confirmation of a large import: shows what it would store and skip, and asks.

use std::{
    collections::BTreeMap,
    io::{IsTerminal, stdin},
};

use super::{ImportOptions, report::SkippedRow, send::ImportRow};
use crate::{
    cli::{CliError, Context, ask::Asker, show::text::count, ui::Style},
    domain::ClaimKind,
};

/// The number of rows from which an import is large.
const LARGE: usize = 25;

/// The maximum number of sample rows of each group.
const SAMPLES: usize = 3;

/// Previews a large import and asks for confirmation on a terminal. Returns true for a small import and with `--yes`. With
/// [`ImportOptions::always_preview`] every import with rows counts as large, and `--yes` only answers the question.
pub(super) fn agreed(
    cx: &mut Context,
    rows: &[ImportRow],
    skipped: &[SkippedRow],
    options: ImportOptions,
) -> Result<bool, CliError> {
    let large = rows.len() >= if options.always_preview { 1 } else { LARGE };
    if !large || cx.ui.json || (options.yes && !options.always_preview) {
        return Ok(true);
    }
    if !cx.ui.quiet {
        show(cx, rows, skipped);
    }
    if options.yes || !(stdin().is_terminal() && cx.ui.terminal) {
        return Ok(true);
    }
    let Some(mut asker) = Asker::new() else { return Ok(true) };
    let question = text!("Import {}?", count(rows.len(), "claim", "claims"));
    if asker.yes(cx, question)? {
        return Ok(true);
    }
    cx.ui.line("Nothing was stored.");
    Ok(false)
}

fn show(cx: &mut Context, rows: &[ImportRow], skipped: &[SkippedRow]) {
    let ui = &mut cx.ui;
    for kind in ClaimKind::ALL {
        let of: Vec<&ImportRow> = rows.iter().filter(|row| row.claim.kind.unwrap_or_default() == kind).collect();
        if of.is_empty() {
            continue;
        }
        let many = ui.paint(Style::Strong, count(of.len(), kind.as_str(), &format!("{kind}s")));
        ui.line(text!("{}", many));
        for row in of.iter().take(SAMPLES) {
            let text = ui.fit(&row.claim.statement, 4);
            ui.line(text!("    {}", text));
        }
    }
    let mut by_reason: BTreeMap<&str, Vec<&SkippedRow>> = BTreeMap::new();
    for one in skipped {
        by_reason.entry(one.why()).or_default().push(one);
    }
    for (why, of) in by_reason {
        let many = ui.paint(Style::Dim, format_args!("{} skipped: {why}", of.len()));
        ui.line(text!("{}", many));
        for one in of.iter().take(SAMPLES) {
            let text = ui.fit(one.text(), 4);
            let text = ui.paint(Style::Dim, text);
            ui.line(text!("    {}", text));
        }
    }
}
