//! What became of an import: for people and as JSON.

use serde::Serialize;

use super::send::Row;
use crate::{
    api::{ClaimView, Refused, Stored, Warning},
    cli::{Context, show::text::count, ui::Style},
    domain::{
        CardId, ClaimId, ClaimKind, Scope,
        text::{escape, sanitize_line},
    },
};

/// What became of a row that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is new.
    Stored,
    /// It was there already.
    Known,
}

/// A row that is stored, or was already.
#[derive(Debug, Serialize)]
struct Kept {
    claim_id: ClaimId,
    statement: String,
    kind: Option<ClaimKind>,
    source: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    superseded: Vec<ClaimId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

/// A row that the guard refused.
#[derive(Debug, Serialize)]
struct Turned {
    statement: String,
    source: String,
    card_id: Option<CardId>,
    against: Vec<ClaimId>,
    why: String,
    #[serde(skip)]
    against_statement: String,
}

/// A row or place that became no claim.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Left {
    source: String,
    text: String,
    why: String,
}

impl Left {
    /// Where it stands, what it says, and why it became none.
    pub(super) fn new(source: impl Into<String>, text: impl Into<String>, why: impl Into<String>) -> Self {
        Self { source: source.into(), text: text.into(), why: why.into() }
    }

    /// Where it stands.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// What stands there.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Why it became none.
    pub(super) fn why(&self) -> &str {
        &self.why
    }
}

/// A claim whose line is gone from its file.
#[derive(Debug, Serialize)]
struct Retired {
    claim_id: ClaimId,
    statement: String,
    source: String,
}

/// What became of an import.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    form: String,
    from: String,
    scope: Scope,
    /// The number by which the whole import can be undone.
    import: String,
    /// Whether nothing was sent.
    dry_run: bool,
    stored: Vec<Kept>,
    duplicates: Vec<Kept>,
    refused: Vec<Turned>,
    skipped: Vec<Left>,
    /// Claims whose lines are gone from a rule file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retired: Vec<Retired>,
    /// Files that are as they were when they were last imported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) untouched: Vec<String>,
    /// Rows that were stored and at once taken out of force, since their file says that they are no longer.
    pub(super) closed: usize,
}

impl Report {
    pub(super) fn new(form: &str, from: &str, scope: &Scope, import: String, skipped: Vec<Left>) -> Self {
        Self {
            form: form.to_owned(),
            from: from.to_owned(),
            scope: scope.clone(),
            import,
            dry_run: false,
            stored: vec![],
            duplicates: vec![],
            refused: vec![],
            skipped,
            retired: vec![],
            untouched: vec![],
            closed: 0,
        }
    }

    pub(super) fn add(&mut self, row: &Row, fate: Fate, stored: &Stored) {
        self.scope = stored.scope.clone();
        let kept = Kept {
            claim_id: stored.claim_id,
            statement: row.claim.statement.clone(),
            kind: row.claim.kind,
            source: row.source.clone(),
            superseded: stored.superseded.clone(),
            // The files say how their text is cut, and what else they hold.
            warnings: stored
                .warnings
                .iter()
                .filter(|warning| !matches!(warning.code.as_str(), Warning::SEVERAL_CLAIMS | Warning::STILL_IN_FORCE))
                .cloned()
                .collect(),
        };
        match fate {
            Fate::Stored => self.stored.push(kept),
            Fate::Known => self.duplicates.push(kept),
        }
    }

    /// A row whose claim came from the same file before, and stays.
    pub(super) fn same(&mut self, row: &Row, claim: ClaimId) {
        let (statement, kind, source) = (row.claim.statement.clone(), row.claim.kind, row.source.clone());
        self.duplicates.push(Kept { claim_id: claim, statement, kind, source, superseded: vec![], warnings: vec![] });
    }

    pub(super) fn retire(&mut self, claim: &ClaimView) {
        self.retired.push(Retired {
            claim_id: claim.id,
            statement: claim.statement.clone(),
            source: claim.source.clone().unwrap_or_default(),
        });
    }

    /// Whether rows were refused, so that the next import must try them again.
    pub(super) fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    pub(super) fn refused(&mut self, row: &Row, refused: &Refused) {
        let first = refused.conflicts.first();
        self.refused.push(Turned {
            statement: row.claim.statement.clone(),
            source: row.source.clone(),
            card_id: refused.card_id,
            against: refused.conflicts.iter().map(|conflict| conflict.claim.id).collect(),
            why: first.map(|conflict| conflict.evidence.sentence.clone()).unwrap_or_default(),
            against_statement: first.map(|conflict| conflict.claim.statement.clone()).unwrap_or_default(),
        });
    }

    pub(super) fn skipped(&mut self, source: &str, text: &str, why: &str) {
        self.skipped.push(Left::new(source, text, why));
    }

    /// Shows the summary, and what a person should look at.
    pub(super) fn show(&self, cx: &mut Context, details: bool) {
        if cx.ui.json {
            cx.ui.value(self);
            return;
        }
        let ui = &mut cx.ui;
        let replaced: usize = self.stored.iter().map(|kept| kept.superseded.len()).sum();
        let mut stored = format!("{} stored", self.stored.len());
        let notes = [(replaced, "in place of an earlier one"), (self.closed, "no longer in force")];
        let notes: Vec<String> =
            notes.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if !notes.is_empty() {
            stored = format!("{stored} ({})", notes.join(", "));
        }
        let told = [
            stored,
            format!("{} known already", self.duplicates.len()),
            format!("{} refused", self.refused.len()),
            format!("{} skipped", self.skipped.len()),
        ];
        for file in &self.untouched {
            ui.line(text!("{}: unchanged since its last import.", file));
        }
        if self.stored.len() + self.duplicates.len() + self.refused.len() + self.retired.len() + self.skipped.len() == 0
            && !self.untouched.is_empty()
        {
            return;
        }
        let mut told = told.to_vec();
        if !self.retired.is_empty() {
            told.insert(1, format!("{} retired", self.retired.len()));
        }
        let scope = escape(&self.scope.to_string());
        ui.line(text!("{} into {}: {}.", sanitize_line(&self.from), scope, told.join(", ")));
        for turned in &self.refused {
            let label = ui.paint(Style::Bad, "Refused:");
            let source = sanitize_line(&turned.source);
            ui.line(text!("\n{} {}", label, source));
            ui.prose(2, None, &turned.statement);
            ui.field("against", &turned.against_statement);
            if !turned.why.is_empty() {
                ui.field("why", &turned.why);
            }
            if let Some(card) = turned.card_id {
                ui.field("card", &card.short());
            }
        }
        for gone in &self.retired {
            let label = ui.paint(Style::Dim, "Retired:");
            let text = ui.fit(&gone.statement, gone.source.len() + 12);
            ui.line(text!("{} {}: {}", label, gone.source, text));
        }
        for kept in &self.stored {
            for warning in &kept.warnings {
                let label = ui.paint(Style::Warn, "Warning:");
                let text = sanitize_line(&format!("{}: {}", kept.source, warning.message));
                ui.line(text!("{} {}", label, text));
            }
        }
        if !self.skipped.is_empty() && !ui.quiet {
            if details {
                ui.line("\nSkipped:");
                for left in &self.skipped {
                    let text = ui.fit(&left.text, left.source.len() + left.why.len() + 6);
                    ui.line(text!("  {}: {} ({})", left.source, left.why, text));
                }
            } else {
                let lines = count(self.skipped.len(), "place", "places");
                ui.note(text!("{} skipped: run again with --details to see which and why.", lines));
            }
        }
        let mut ways = Vec::new();
        if !self.refused.is_empty() {
            ways.push(("ergo conflicts".to_owned(), "settle what was refused".to_owned()));
        }
        if !self.stored.is_empty() || !self.retired.is_empty() {
            ways.push((format!("ergo undo --import {}", self.import), "take this import back".to_owned()));
        }
        if !ways.is_empty() && !ui.quiet {
            ui.line("");
            ui.commands(&ways);
        }
    }
}

/// Shows what an import would store, without asking the daemon.
pub(super) fn preview(cx: &mut Context, rows: &[Row], left: &[Left], details: bool) {
    if cx.ui.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "statement": row.claim.statement, "kind": row.claim.kind, "reason": row.claim.reason,
                    "source": row.source,
                })
            })
            .collect();
        cx.ui.value(&serde_json::json!({ "dry_run": true, "rows": rows, "skipped": left }));
        return;
    }
    let ui = &mut cx.ui;
    for row in rows {
        let kind = row.claim.kind.unwrap_or_default();
        let source = ui.paint(Style::Dim, sanitize_line(&row.source));
        ui.line(text!("{}  {}", source, kind));
        ui.prose(2, None, &row.claim.statement);
        if let Some(reason) = &row.claim.reason {
            ui.field("because", reason);
        }
    }
    if details {
        for Left { source, text, why } in left {
            let line = format!("{source}  skipped: {why} ({text})");
            let line = ui.fit(&line, 0);
            let line = ui.paint(Style::Dim, line);
            ui.line(line);
        }
    }
    let (rows, left) = (count(rows.len(), "claim", "claims"), count(left.len(), "place", "places"));
    ui.line(text!("{} would go through the guard, {} skipped. Nothing was stored.", rows, left));
}
