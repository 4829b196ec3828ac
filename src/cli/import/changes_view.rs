//! The changes of rule files as a dry run shows them, as a table or as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    guard_checks::{RowChecks, RowForecast},
    report::SkippedRow,
    send::ImportRow,
};
use crate::{
    api::ClaimView,
    cli::{
        Context,
        show::text::count,
        ui::{Style, Ui},
    },
    domain::{ClaimKind, text::sanitize_line},
    interchange::line_diff::LineChange,
};

/// How a line changed since the last import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RowChange {
    Same,
    Moved,
    Changed,
    New,
    /// A new line whose claim becomes active again.
    Returned,
    Gone,
}

impl RowChange {
    fn style(self) -> Style {
        match self {
            Self::New | Self::Returned => Style::Good,
            Self::Gone => Style::Bad,
            Self::Changed => Style::Warn,
            Self::Same | Self::Moved => Style::Dim,
        }
    }

    /// Returns the word of the table.
    fn word(self) -> &'static str {
        match self {
            Self::Same => "unchanged",
            Self::Moved => "moved",
            Self::Changed => "changed",
            Self::New => "new",
            Self::Returned => "returned",
            Self::Gone => "removed",
        }
    }
}

impl From<LineChange> for RowChange {
    fn from(change: LineChange) -> Self {
        match change {
            LineChange::Same(_) => Self::Same,
            LineChange::Moved(_) => Self::Moved,
            LineChange::Changed(_) => Self::Changed,
            LineChange::New => Self::New,
        }
    }
}

/// What the import would do with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RowFate {
    AsChanged(RowChange),
    AlreadyStored,
    Skipped,
    Refused,
    Proposed,
}

/// A line of a file, or the claim of a removed one.
pub(super) struct ChangedRow<'a> {
    pub(super) change: RowChange,
    /// The line; `None` if it was removed.
    pub(super) row: Option<&'a ImportRow>,
    /// The claim of its last import.
    pub(super) old: Option<&'a ClaimView>,
}

impl ChangedRow<'_> {
    fn statement(&self) -> Option<&str> {
        let now = self.row.map(|row| row.claim.statement.as_str());
        now.or_else(|| self.old.map(|old| old.statement.as_str()))
    }

    fn kind(&self) -> Option<ClaimKind> {
        self.row.map_or_else(|| self.old.map(|old| old.kind), |row| row.claim.kind)
    }

    fn source(&self) -> Option<&str> {
        self.row.map_or_else(|| self.old.and_then(|old| old.source.as_deref()), |row| Some(row.source.as_str()))
    }

    fn shown_source(&self) -> String {
        sanitize_line(self.source().unwrap_or_default())
    }

    fn fate(&self, checks: &RowChecks) -> RowFate {
        let is_stored = matches!(self.change, RowChange::New | RowChange::Returned | RowChange::Changed);
        match self.row.filter(|_| is_stored).and_then(|row| checks.instead_of_stored(row)) {
            Some(RowForecast::AlreadyStored) => RowFate::AlreadyStored,
            Some(RowForecast::Skipped) => RowFate::Skipped,
            Some(RowForecast::Refused) => RowFate::Refused,
            Some(RowForecast::Proposed) => RowFate::Proposed,
            Some(RowForecast::Warned) | None => RowFate::AsChanged(self.change),
        }
    }

    fn json(&self) -> Value {
        let before = |old: &ClaimView| json!({ "claim_id": old.id, "statement": old.statement, "source": old.source });
        json!({
            "change": self.change,
            "statement": self.statement(),
            "kind": self.kind(),
            "reason": self.row.and_then(|row| row.claim.reason.as_ref()),
            "source": self.source(),
            "before": self.old.map(before),
        })
    }

    /// Shows the row as lines of the table, whose column of sources has this width.
    fn show(&self, ui: &mut Ui, fate: RowFate, width: usize) {
        let word = if fate == RowFate::AlreadyStored { "stored" } else { self.change.word() };
        let change = ui.paint(self.change.style(), format_args!("{word:<9}"));
        ui.line(text!(
            "{}  {}  {}  {}",
            change,
            format_args!("{:<10}", self.kind().unwrap_or_default()),
            format!("{:<width$}", self.shown_source()),
            self.statement().unwrap_or_default()
        ));
        if let Some(old) = self.old
            && matches!(self.change, RowChange::Changed | RowChange::Moved)
        {
            let source = old.source.as_deref().unwrap_or_default();
            let before = format!("before     {:<10}  {source:<width$}  {}", "", old.statement);
            let before = ui.paint(Style::Dim, sanitize_line(&before));
            ui.line(before);
        }
    }
}

/// Shows the changes with the checks of the guard as JSON.
pub(super) fn show_json(cx: &mut Context, rows: &[ChangedRow<'_>], skipped: &[SkippedRow], checks: &RowChecks) {
    let rows: Vec<Value> = rows.iter().map(ChangedRow::json).collect();
    cx.ui.value(&json!({ "dry_run": true, "rows": rows, "skipped": skipped, "guard": checks }));
}

/// Shows the changes with the checks of the guard as a table: with `details` also unchanged and skipped lines.
pub(super) fn show_table(
    cx: &mut Context,
    rows: &[ChangedRow<'_>],
    skipped: &[SkippedRow],
    checks: &RowChecks,
    details: bool,
) {
    let ui = &mut cx.ui;
    let width = rows.iter().map(|row| row.shown_source().chars().count()).max().unwrap_or_default();
    let mut counts: BTreeMap<RowFate, usize> = BTreeMap::new();
    for row in rows {
        let fate = row.fate(checks);
        *counts.entry(fate).or_default() += 1;
        if details || !matches!(fate, RowFate::AsChanged(RowChange::Same) | RowFate::AlreadyStored) {
            row.show(ui, fate, width);
        }
    }
    if details {
        for one in skipped {
            let line = format!("skipped    {}  {} ({})", one.source(), one.why(), one.text());
            let line = ui.fit(&line, 0);
            let line = ui.paint(Style::Dim, line);
            ui.line(line);
        }
    }
    let of = |fate: RowFate| counts.get(&fate).copied().unwrap_or_default();
    let changed = |change: RowChange| of(RowFate::AsChanged(change));
    let known = of(RowFate::AlreadyStored);
    let known = if known > 0 { format!(", {known} already stored") } else { String::new() };
    let returned = changed(RowChange::Returned);
    let returned = if returned > 0 { format!("{returned} returned, ") } else { String::new() };
    let summary = format!(
        "{} new, {returned}{} changed, {} moved, {} removed, {} unchanged{known}; {} skipped.{} Nothing was stored.",
        changed(RowChange::New),
        changed(RowChange::Changed),
        changed(RowChange::Moved),
        changed(RowChange::Gone),
        changed(RowChange::Same),
        count(skipped.len() + of(RowFate::Skipped), "line", "lines"),
        checks.counts(),
    );
    checks.show(cx);
    cx.ui.line(text!("{}", summary));
}
