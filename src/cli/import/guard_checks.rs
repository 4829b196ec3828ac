//! Checks the rows of an import with `--dry-run` against the stored claims. Nothing is stored.
//!
//! Rows that would be stored, refused or skipped, or that are stored already, are those that the import itself counts
//! as such, except that rows are not checked for contradictions with each other.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    report::{is_as_intended, is_of_all_rows},
    send::{ImportRow, LEFT_UNCHANGED, Sender},
};
use crate::{
    api::{ClaimView, RememberRequest, Stored, WriteOutcome},
    cli::{CliError, Context, Exit, api_words::in_arguments, ui::Style},
    domain::{ClaimId, judgement::words_hash, text::sanitize_line},
};

/// The predicted result of a row that would not simply be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RowForecast {
    Refused,
    Warned,
    /// A person would have to accept it on a card.
    Proposed,
    Skipped,
    /// Its claim is stored, or an earlier row says the same.
    AlreadyStored,
}

/// A row that would be refused, stored with a warning, or skipped, or that is stored already.
#[derive(Debug, Serialize)]
struct RowCheck {
    source: String,
    statement: String,
    would_be: RowForecast,
    /// A claim that the row contradicts, or may contradict.
    against: Option<ClaimId>,
    #[serde(skip)]
    against_statement: Option<String>,
    why: String,
}

/// The rows that would be refused, stored with a warning, or skipped, or that are stored already.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct RowChecks {
    rows: Vec<RowCheck>,
    /// A warning about the whole import, which is not one of the guard.
    #[serde(skip)]
    of_all_rows: Option<String>,
}

/// Whether there is a store to check against; a dry run does not create one.
pub(super) fn has_store(cx: &Context) -> Result<bool, CliError> {
    Ok(std::env::var_os("ERGO_API_URL").is_some() || cx.paths()?.store().exists())
}

/// Checks rows against the stored claims except those in `leaving`, which the import itself withdraws or replaces. Rows are not
/// checked against each other.
pub(super) async fn check(
    cx: &mut Context,
    rows: &[ImportRow],
    leaving: &BTreeSet<ClaimId>,
) -> Result<RowChecks, CliError> {
    let mut checks = RowChecks::default();
    let mut words = BTreeSet::new();
    let mut open = Vec::new();
    for row in rows {
        let RememberRequest { kind, statement, qualifiers, key, .. } = &row.claim;
        if words.insert((words_hash(kind.unwrap_or_default(), statement, qualifiers), key)) {
            open.push(row);
        } else {
            checks.push(row, RowForecast::AlreadyStored, None, "an earlier line says the same".to_owned());
        }
    }
    if open.is_empty() || !has_store(cx)? {
        return Ok(checks);
    }
    let sender = Sender::unique(cx, "dry run", &[], &[]).await?;
    for (at, row) in open.iter().enumerate() {
        cx.ui.progress(text!("checking {} of {}", at + 1, open.len()));
        match sender.dry_run(row).await {
            Ok(outcome) => checks.add(row, outcome, leaving),
            Err(error) if error.kind == Exit::Usage => {
                checks.push(row, RowForecast::Skipped, None, error.error.to_string());
            }
            Err(error) if error.kind == Exit::Refused => {
                checks.push(row, RowForecast::Proposed, None, error.error.to_string());
            }
            Err(error) => {
                cx.ui.progress_done();
                return Err(error);
            }
        }
    }
    cx.ui.progress_done();
    Ok(checks)
}

impl RowChecks {
    fn push(&mut self, row: &ImportRow, would_be: RowForecast, against: Option<(ClaimId, &str)>, why: String) {
        let (against, against_statement) = against.map(|(id, statement)| (id, statement.to_owned())).unzip();
        let (source, statement) = (row.source.clone(), row.claim.statement.clone());
        self.rows.push(RowCheck { source, statement, would_be, against, against_statement, why });
    }

    fn add(&mut self, row: &ImportRow, outcome: WriteOutcome, leaving: &BTreeSet<ClaimId>) {
        match outcome {
            WriteOutcome::Conflict(refused) => {
                let stays = refused.conflicts.iter().find(|conflict| !leaving.contains(&conflict.claim.id));
                if let Some(conflict) = stays {
                    let against = Some((conflict.claim.id, conflict.claim.statement.as_str()));
                    self.push(row, RowForecast::Refused, against, conflict.evidence.sentence.clone());
                }
            }
            WriteOutcome::Stored(Stored { duplicate: false, warnings, doubts, .. }) => {
                for warning in warnings.iter().filter(|warning| !is_as_intended(warning)) {
                    if is_of_all_rows(warning) {
                        self.of_all_rows = Some(warning.message.clone());
                        continue;
                    }
                    let claim = warning.conflict.as_ref().map(|conflict| &conflict.claim).or(warning.claims.first());
                    let against = claim.map(|claim| (claim.id, claim.statement.as_str()));
                    self.push(row, RowForecast::Warned, against, in_arguments(&warning.message));
                }
                for doubt in doubts.iter().filter(|doubt| !leaving.contains(&doubt.id)) {
                    let against = Some((doubt.id, doubt.statement.as_str()));
                    self.push(row, RowForecast::Warned, against, "they may contradict each other".to_owned());
                }
            }
            WriteOutcome::Stored(Stored { claim_id, .. }) => {
                let against = Some((claim_id, row.claim.statement.as_str()));
                self.push(row, RowForecast::AlreadyStored, against, "the same is stored already".to_owned());
            }
            _ => {}
        }
    }

    /// Adds a row whose claim was stored before and stays as it is.
    pub(super) fn same(&mut self, row: &ImportRow, claim: &ClaimView) {
        let against = Some((claim.id, claim.statement.as_str()));
        self.push(row, RowForecast::AlreadyStored, against, "it was imported before".to_owned());
    }

    /// Adds a row whose claim was stored before with another reason or other conditions.
    pub(super) fn left_unchanged(&mut self, row: &ImportRow) {
        self.push(row, RowForecast::Skipped, None, LEFT_UNCHANGED.to_owned());
    }

    /// Returns the sources and statements of the rows that are stored already.
    pub(super) fn already_stored(&self) -> BTreeSet<(&str, &str)> {
        let stored = self.rows.iter().filter(|row| row.would_be == RowForecast::AlreadyStored);
        stored.map(|row| (row.source.as_str(), row.statement.as_str())).collect()
    }

    /// Returns what would become of a row instead of being stored; `None` if it would be stored.
    pub(super) fn instead_of_stored(&self, row: &ImportRow) -> Option<RowForecast> {
        let is_of_row = |check: &&RowCheck| check.source == row.source && check.statement == row.claim.statement;
        let mut forecasts = self.rows.iter().filter(is_of_row).map(|check| check.would_be);
        forecasts.find(|would_be| *would_be != RowForecast::Warned)
    }

    /// Shows the warning about the whole import, and each row that would be refused, stored with a warning, or skipped.
    pub(super) fn show(&self, cx: &mut Context) {
        let mut is_any = false;
        if let Some(message) = &self.of_all_rows {
            let label = cx.ui.paint(Style::Warn, "Warning:");
            cx.ui.line(text!("\n{} {}", label, sanitize_line(message)));
            is_any = true;
        }
        for check in &self.rows {
            let (style, label) = match check.would_be {
                RowForecast::AlreadyStored => continue,
                RowForecast::Refused => (Style::Bad, "Would be refused:"),
                RowForecast::Warned => (Style::Warn, "Would be stored with a warning:"),
                RowForecast::Proposed => (Style::Warn, "Would need a person:"),
                RowForecast::Skipped => (Style::Dim, "Would be skipped:"),
            };
            let label = cx.ui.paint(style, label);
            cx.ui.line(text!("\n{} {}", label, check.source));
            cx.ui.prose(2, None, &check.statement);
            if let Some(statement) = &check.against_statement {
                cx.ui.field("against", statement);
            }
            cx.ui.field("why", &check.why);
            is_any = true;
        }
        if is_any {
            cx.ui.line("");
        }
    }

    /// Returns a sentence with the numbers of rows that would be refused or stored with a warning, to be appended to
    /// another; empty if there are no such rows.
    pub(super) fn counts(&self) -> String {
        let of = |wanted| {
            let rows: BTreeSet<&str> =
                self.rows.iter().filter(|row| row.would_be == wanted).map(|row| row.source.as_str()).collect();
            rows.len()
        };
        let (refused, warned) = (of(RowForecast::Refused), of(RowForecast::Warned));
        if self.rows.iter().all(|row| row.would_be == RowForecast::AlreadyStored) {
            return String::new();
        }
        let proposed = match of(RowForecast::Proposed) {
            0 => String::new(),
            proposed => format!(" {proposed} would need a person."),
        };
        format!(" The guard would refuse {refused} and warn of {warned}.{proposed}")
    }
}
