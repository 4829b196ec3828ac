//! Checks the rows of an import with `--dry-run` against the stored claims. Nothing is stored.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    report::is_as_intended,
    send::{ImportRow, Sender},
};
use crate::{
    api::{Stored, WriteOutcome},
    cli::{CliError, Context, Exit, api_words::in_arguments, ui::Style},
    domain::ClaimId,
};

/// The predicted result of a row that would not simply be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum RowForecast {
    Refused,
    Warned,
    Skipped,
}

/// A row that would be refused, stored with a warning, or skipped.
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

/// The rows that would be refused, stored with a warning, or skipped.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct RowChecks(Vec<RowCheck>);

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
    if rows.is_empty() || !has_store(cx)? {
        return Ok(checks);
    }
    let sender = Sender::unique(cx, "dry run", &[], &[]).await?;
    for (at, row) in rows.iter().enumerate() {
        cx.ui.progress(text!("checking {} of {}", at + 1, rows.len()));
        match sender.dry_run(row).await {
            Ok(outcome) => checks.add(row, outcome, leaving),
            Err(error) if error.kind == Exit::Usage => {
                checks.push(row, RowForecast::Skipped, None, error.error.to_string());
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
        self.0.push(RowCheck { source, statement, would_be, against, against_statement, why });
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
                    let claim = warning.conflict.as_ref().map(|conflict| &conflict.claim).or(warning.claims.first());
                    let against = claim.map(|claim| (claim.id, claim.statement.as_str()));
                    self.push(row, RowForecast::Warned, against, in_arguments(&warning.message));
                }
                for doubt in doubts.iter().filter(|doubt| !leaving.contains(&doubt.id)) {
                    let against = Some((doubt.id, doubt.statement.as_str()));
                    self.push(row, RowForecast::Warned, against, "they may contradict each other".to_owned());
                }
            }
            _ => {}
        }
    }

    /// Shows each row.
    pub(super) fn show(&self, cx: &mut Context) {
        for check in &self.0 {
            let (style, label) = match check.would_be {
                RowForecast::Refused => (Style::Bad, "Would be refused:"),
                RowForecast::Warned => (Style::Warn, "Would be stored with a warning:"),
                RowForecast::Skipped => (Style::Dim, "Would be skipped:"),
            };
            let label = cx.ui.paint(style, label);
            cx.ui.line(text!("\n{} {}", label, check.source));
            cx.ui.prose(2, None, &check.statement);
            if let Some(statement) = &check.against_statement {
                cx.ui.field("against", statement);
            }
            cx.ui.field("why", &check.why);
        }
        if !self.0.is_empty() {
            cx.ui.line("");
        }
    }

    /// Returns a sentence with the numbers of rows, to be appended to another; empty if there are no rows.
    pub(super) fn counts(&self) -> String {
        let of = |wanted| {
            let rows: BTreeSet<&str> =
                self.0.iter().filter(|row| row.would_be == wanted).map(|row| row.source.as_str()).collect();
            rows.len()
        };
        let (refused, warned) = (of(RowForecast::Refused), of(RowForecast::Warned));
        if self.0.is_empty() {
            return String::new();
        }
        format!(" The guard would refuse {refused} and warn of {warned}.")
    }
}
