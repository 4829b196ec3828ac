//! The result of an import: as text and as JSON.

use serde::Serialize;

use super::{guard_checks::RowChecks, send::ImportRow};
use crate::{
    api::{CardAct, CardSettlement, ClaimView, Proposed, Refused, Stored, Warning},
    cli::{Context, show::text::count, ui::Style},
    domain::{
        CardId, ClaimId, ClaimKind, Scope,
        text::{cut, escape, sanitize_line},
    },
};

/// The most characters of a skipped text that are shown.
const MAX_SKIPPED: usize = 200;

/// The result of a row that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowResult {
    Stored,
    /// The claim was stored before, by this import or otherwise.
    Duplicate,
}

/// A row that is stored, now or before.
#[derive(Debug, Serialize)]
struct StoredRow {
    claim_id: ClaimId,
    statement: String,
    kind: Option<ClaimKind>,
    source: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    superseded: Vec<ClaimId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

impl StoredRow {
    /// Returns a row whose claim was stored before.
    fn unchanged(row: &ImportRow, claim_id: ClaimId) -> Self {
        Self {
            claim_id,
            statement: row.claim.statement.clone(),
            kind: row.claim.kind,
            source: row.source.clone(),
            superseded: vec![],
            warnings: vec![],
        }
    }
}

/// A row that the guard refused.
#[derive(Debug, Serialize)]
struct RefusedRow {
    statement: String,
    source: String,
    card_id: Option<CardId>,
    /// How the card was settled, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<String>,
    against: Vec<ClaimId>,
    why: String,
    #[serde(skip)]
    against_statement: String,
}

/// A row that an agent could only propose: a card waits for a person.
#[derive(Debug, Serialize)]
struct ProposedRow {
    statement: String,
    source: String,
    card_id: CardId,
    /// What is proposed, and on which card it waits.
    summary: String,
    /// The act that accepts the proposal.
    accept: CardAct,
    /// The statement of the claim to retract or replace, or of the rule of an exception.
    claim: String,
}

/// A row or line that became no claim.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SkippedRow {
    source: String,
    text: String,
    why: String,
}

impl SkippedRow {
    pub(super) fn new(source: impl Into<String>, text: impl Into<String>, why: impl Into<String>) -> Self {
        let text: String = text.into();
        Self { source: source.into(), text: cut(&text, MAX_SKIPPED), why: why.into() }
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn why(&self) -> &str {
        &self.why
    }
}

/// A claim that was retracted because its line was removed.
#[derive(Debug, Serialize)]
struct RetiredClaim {
    claim_id: ClaimId,
    statement: String,
    source: String,
}

/// The result of an import.
#[derive(Debug, Serialize)]
pub(super) struct ImportReport {
    form: String,
    from: String,
    scope: Scope,
    /// The number with which the whole import can be undone.
    import: String,
    /// Whether earlier runs of the import have the same number, and are undone with it.
    #[serde(skip)]
    pub(super) shares_number: bool,
    /// The command that lists the skipped lines.
    #[serde(skip)]
    pub(super) details: String,
    /// Whether nothing was sent.
    dry_run: bool,
    stored: Vec<StoredRow>,
    duplicates: Vec<StoredRow>,
    refused: Vec<RefusedRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    proposed: Vec<ProposedRow>,
    skipped: Vec<SkippedRow>,
    /// Claims whose lines were removed from a rule file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retired: Vec<RetiredClaim>,
    /// Claims whose lines are back in a rule file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reinstated: Vec<StoredRow>,
    /// Files that did not change since their last import.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) untouched: Vec<String>,
    /// Claims that were retracted or replaced by a stored claim, since their file marks them as no longer active.
    closed: usize,
}

impl ImportReport {
    pub(super) fn new(form: &str, from: &str, scope: &Scope, import: String, skipped: Vec<SkippedRow>) -> Self {
        Self {
            form: form.to_owned(),
            from: from.to_owned(),
            scope: scope.clone(),
            import,
            shares_number: false,
            details: String::new(),
            dry_run: false,
            stored: vec![],
            duplicates: vec![],
            refused: vec![],
            proposed: vec![],
            skipped,
            retired: vec![],
            reinstated: vec![],
            untouched: vec![],
            closed: 0,
        }
    }

    pub(super) fn add(&mut self, row: &ImportRow, result: RowResult, stored: &Stored) {
        self.scope = stored.scope.clone();
        self.drop_advice(&stored.superseded);
        let kept = StoredRow {
            superseded: stored.superseded.clone(),
            warnings: stored.warnings.iter().filter(|warning| self.is_worth_showing(warning)).cloned().collect(),
            ..StoredRow::unchanged(row, stored.claim_id)
        };
        match result {
            RowResult::Stored => self.stored.push(kept),
            RowResult::Duplicate => self.duplicates.push(kept),
        }
    }

    /// Whether a warning is about something that a file does not do on purpose. That the project was renamed concerns all rows, and
    /// is shown once.
    fn is_worth_showing(&self, warning: &Warning) -> bool {
        let mut shown = self.stored.iter().flat_map(|kept| &kept.warnings);
        let is_repeated = is_of_all_rows(warning) && shown.any(|shown| shown.code == warning.code);
        !is_repeated && !is_as_intended(warning)
    }

    /// Withdraws the advice to promote claims that this import itself closed.
    fn drop_advice(&mut self, closed: &[ClaimId]) {
        for kept in self.stored.iter_mut().filter(|kept| closed.contains(&kept.claim_id)) {
            kept.warnings.retain(|warning| warning.code != Warning::PROMOTABLE);
        }
    }

    /// Counts a claim that was retracted or replaced by a stored claim, unless an earlier run did that.
    pub(super) fn close(&mut self, claim: ClaimId, replayed: bool) {
        self.drop_advice(&[claim]);
        self.closed += usize::from(!replayed);
    }

    /// Adds a row whose claim was imported from the same file before and did not change.
    pub(super) fn same(&mut self, row: &ImportRow, claim: ClaimId) {
        self.duplicates.push(StoredRow::unchanged(row, claim));
    }

    /// Adds a row whose claim was closed with the row's line, and is active again.
    pub(super) fn reinstated(&mut self, row: &ImportRow, claim: ClaimId) {
        self.reinstated.push(StoredRow::unchanged(row, claim));
    }

    pub(super) fn retire(&mut self, claim: &ClaimView) {
        self.retired.push(RetiredClaim {
            claim_id: claim.id,
            statement: claim.statement.clone(),
            source: claim.source.clone().unwrap_or_default(),
        });
    }

    /// Whether rows were refused or proposed, so that the next import must retry them.
    pub(super) fn has_open_cards(&self) -> bool {
        !self.refused.is_empty() || !self.proposed.is_empty()
    }

    /// Whether every row was imported, besides those that were skipped before.
    pub(super) fn is_complete(&self, skipped_before: usize) -> bool {
        !self.has_open_cards() && self.skipped.len() == skipped_before
    }

    /// The number by which the import can be undone, if it changed anything.
    pub(super) fn undo_number(&self) -> Option<String> {
        (self.stored.len() + self.retired.len() + self.reinstated.len() + self.closed > 0).then(|| self.import.clone())
    }

    pub(super) fn refused(&mut self, row: &ImportRow, refused: &Refused) {
        let first = refused.conflicts.first();
        self.refused.push(RefusedRow {
            statement: row.claim.statement.clone(),
            source: row.source.clone(),
            card_id: refused.card_id,
            settled: refused.settled.as_deref().map(CardSettlement::words),
            against: refused.conflicts.iter().map(|conflict| conflict.claim.id).collect(),
            why: first.map(|conflict| conflict.evidence.sentence.clone()).unwrap_or_default(),
            against_statement: first.map(|conflict| conflict.claim.statement.clone()).unwrap_or_default(),
        });
    }

    pub(super) fn proposed(&mut self, source: &str, statement: &str, proposed: &Proposed) {
        self.proposed.push(ProposedRow {
            statement: statement.to_owned(),
            source: source.to_owned(),
            card_id: proposed.card_id,
            summary: proposed.summary.clone(),
            accept: proposed.accept,
            claim: proposed.claim.statement.clone(),
        });
    }

    pub(super) fn skipped(&mut self, source: &str, text: &str, why: &str) {
        self.skipped.push(SkippedRow::new(source, text, why));
    }

    /// Shows the summary and what needs attention.
    pub(super) fn show(&self, cx: &mut Context, details: bool) {
        if cx.ui.json {
            cx.ui.value(self);
            return;
        }
        let ui = &mut cx.ui;
        let replaced: usize = self.stored.iter().map(|kept| kept.superseded.len()).sum();
        let mut stored = format!("{} stored", self.stored.len());
        let notes = [(replaced, "superseding earlier ones"), (self.closed, "no longer active")];
        let notes: Vec<String> =
            notes.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if !notes.is_empty() {
            stored = format!("{stored} ({})", notes.join(", "));
        }
        let some = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let counts = [
            Some(stored),
            some(self.retired.len(), "retracted"),
            some(self.reinstated.len(), "reinstated"),
            Some(format!("{} already stored", self.duplicates.len())),
            Some(format!("{} refused", self.refused.len())),
            some(self.proposed.len(), "proposed"),
            Some(format!("{} skipped", self.skipped.len())),
        ];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        for file in &self.untouched {
            ui.line(text!("{}: unchanged since its last import.", file));
        }
        let rows = self.stored.len() + self.duplicates.len() + self.reinstated.len() + self.refused.len();
        let others = self.proposed.len() + self.retired.len() + self.skipped.len();
        if rows + others == 0 && !self.untouched.is_empty() {
            return;
        }
        let scope = escape(&self.scope.to_string());
        ui.line(text!("{} -> {}: {}.", sanitize_line(&self.from), scope, counts.join(", ")));
        for refused in &self.refused {
            let label = ui.paint(Style::Bad, "Refused:");
            let source = sanitize_line(&refused.source);
            ui.line(text!("\n{} {}", label, source));
            ui.prose(2, None, &refused.statement);
            ui.field("against", &refused.against_statement);
            if !refused.why.is_empty() {
                ui.field("why", &refused.why);
            }
            if let Some(card) = refused.card_id {
                let settled = refused.settled.as_ref().map(|how| format!(", which {how}")).unwrap_or_default();
                ui.field("card", &format!("{}{settled}", card.short()));
            }
        }
        for proposed in &self.proposed {
            let label = ui.paint(Style::Warn, "Proposed:");
            let source = sanitize_line(&proposed.source);
            ui.line(text!("\n{} {}", label, source));
            ui.prose(2, None, &proposed.statement);
            let proposal = match proposed.accept {
                CardAct::Retract => "to retract it".to_owned(),
                CardAct::Exception => format!("as an exception to “{}”", proposed.claim),
                _ => format!("to replace “{}”", proposed.claim),
            };
            ui.field("proposal", &proposal);
            ui.field("card", &proposed.card_id.short());
        }
        for gone in &self.retired {
            let label = ui.paint(Style::Dim, "Retracted:");
            let text = ui.fit(&gone.statement, gone.source.len() + 12);
            ui.line(text!("{} {}: {}", label, gone.source, text));
        }
        for kept in &self.stored {
            for warning in &kept.warnings {
                let label = ui.paint(Style::Warn, "Warning:");
                let source = if is_of_all_rows(warning) { String::new() } else { format!("{}: ", kept.source) };
                let text = sanitize_line(&format!("{source}{}", warning.message));
                ui.line(text!("{} {}", label, text));
            }
        }
        if !self.skipped.is_empty() && !ui.quiet {
            if details {
                ui.line("\nSkipped:");
                for skipped in &self.skipped {
                    let text = ui.fit(&skipped.text, skipped.source.len() + skipped.why.len() + 6);
                    ui.line(text!("  {}: {} ({})", skipped.source, skipped.why, text));
                }
            } else {
                let lines = count(self.skipped.len(), "line", "lines");
                ui.note(text!("{} skipped; `{}` lists them.", lines, self.details));
            }
        }
        let mut commands = Vec::new();
        if !self.refused.is_empty() {
            commands.push(("ergo conflicts".to_owned(), "settle the conflicts".to_owned()));
        } else if !self.proposed.is_empty() {
            commands.push(("ergo conflicts".to_owned(), "the proposals that a person must settle".to_owned()));
        }
        if let Some(number) = self.undo_number() {
            let what = if self.shares_number { "undo all runs of this import" } else { "undo this import" };
            commands.push((format!("ergo undo --import {number}"), what.to_owned()));
        }
        if !commands.is_empty() && !ui.quiet {
            ui.line("");
            ui.commands(&commands);
        }
    }
}

/// Whether a warning is about something that a file does on purpose: its wording, claims about the past, or exceptions.
pub(super) fn is_as_intended(warning: &Warning) -> bool {
    matches!(
        warning.code.as_str(),
        Warning::SEVERAL_CLAIMS | Warning::QUESTION | Warning::STILL_IN_FORCE | Warning::EXPIRED | Warning::EXCEPTION
    )
}

/// Whether a warning is about the whole import and not about one of its rows.
pub(super) fn is_of_all_rows(warning: &Warning) -> bool {
    warning.code == Warning::SCOPE_RENAMED
}

/// Shows what an import would store, and the checks of the guard.
pub(super) fn preview(cx: &mut Context, rows: &[ImportRow], skipped: &[SkippedRow], checks: &RowChecks, details: bool) {
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
        cx.ui.value(&serde_json::json!({ "dry_run": true, "rows": rows, "skipped": skipped, "guard": checks }));
        return;
    }
    let ui = &mut cx.ui;
    let stored = checks.already_stored();
    let is_known = |row: &&ImportRow| stored.contains(&(row.source.as_str(), row.claim.statement.as_str()));
    let (known, new): (Vec<&ImportRow>, Vec<&ImportRow>) = rows.iter().partition(is_known);
    for row in &new {
        let kind = row.claim.kind.unwrap_or_default();
        let source = ui.paint(Style::Dim, sanitize_line(&row.source));
        ui.line(text!("{}  {}", source, kind));
        ui.prose(2, None, &row.claim.statement);
        if let Some(reason) = &row.claim.reason {
            ui.field("because", reason);
        }
    }
    if details {
        for row in &known {
            let line = format!("{}  already stored: {}", row.source, row.claim.statement);
            let line = ui.fit(&line, 0);
            let line = ui.paint(Style::Dim, line);
            ui.line(line);
        }
        for SkippedRow { source, text, why } in skipped {
            let line = format!("{source}  skipped: {why} ({text})");
            let line = ui.fit(&line, 0);
            let line = ui.paint(Style::Dim, line);
            ui.line(line);
        }
    }
    let (new, skipped) = (count(new.len(), "claim", "claims"), count(skipped.len(), "line", "lines"));
    let known = if known.is_empty() { String::new() } else { format!(", {} already stored", known.len()) };
    checks.show(cx);
    cx.ui.line(text!("{} to import{}, {} skipped.{} Nothing was stored.", new, known, skipped, checks.counts()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{EventId, OpId};

    #[test]
    fn a_claim_that_the_import_closes_is_not_advised_for_promotion() {
        let scope = Scope { org_id: "acme".into(), project: "api".into() };
        let id = |number: u8| EventId([number; 32]);
        let stored = |claim_id, superseded| Stored {
            claim_id,
            op_id: OpId([0; 16]),
            scope: scope.clone(),
            duplicate: false,
            replayed: false,
            dry_run: false,
            superseded,
            warnings: vec![Warning::new(Warning::PROMOTABLE, "3 projects of acme say the same")],
            doubts: Vec::new(),
        };
        let mut report = ImportReport::new("jsonl", "c.jsonl", &scope, String::new(), Vec::new());
        for (number, superseded) in [(1, vec![]), (2, vec![id(1)]), (3, vec![])] {
            report.add(&ImportRow::default(), RowResult::Stored, &stored(id(number), superseded));
        }
        report.close(id(3), true);
        let advised = report.stored.iter().filter(|kept| !kept.warnings.is_empty()).map(|kept| kept.claim_id);
        assert_eq!(advised.collect::<Vec<_>>(), [id(2)]);
        assert_eq!(report.closed, 0, "an earlier run closed it");
    }
}
