//! The report: figures and a table.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;

use super::{curve::ThresholdPoint, data::QueryRow};
use crate::measure::Quantiles;

/// Counts of answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Questions that a memory answers.
    pub answerable: usize,
    /// Answerable questions that the first result answers.
    pub first: usize,
    /// Answerable questions that one of the first five results answers.
    pub five: usize,
    /// Answerable questions that any of the ten results answers.
    pub any: usize,
    /// The sum of 1 / rank of the first result that answers.
    pub reciprocal: f64,
    /// Answerable questions whose verdict was not `known`.
    pub wrongly_unknown: usize,
    /// Questions that the first result answers, and whose verdict was not `known`.
    pub withheld: usize,
    /// Questions that no memory answers.
    pub unanswerable: usize,
    /// Unanswerable questions whose verdict was not `known`.
    pub unknown: usize,
    /// Questions whose verdict was `known`.
    pub reported: usize,
    /// Questions whose verdict was `known` and which the first result answers.
    pub right: usize,
}

impl Tally {
    /// Counts an answer. `place` is the place of the first result that answers, from 0; `known` whether that was the
    /// verdict.
    pub(super) fn add(&mut self, query: &QueryRow, place: Option<usize>, known: bool) {
        self.reported += usize::from(known);
        self.right += usize::from(known && place == Some(0));
        if query.expected.is_empty() {
            self.unanswerable += 1;
            self.unknown += usize::from(!known);
            return;
        }
        self.answerable += 1;
        self.wrongly_unknown += usize::from(!known);
        self.withheld += usize::from(!known && place == Some(0));
        self.first += usize::from(place == Some(0));
        self.five += usize::from(place.is_some_and(|place| place < 5));
        self.any += usize::from(place.is_some());
        self.reciprocal += place.map_or(0.0, |place| 1.0 / (place as f64 + 1.0));
    }

    /// Returns a count as a share of the answerable questions.
    pub fn share(&self, of: impl Fn(&Self) -> usize) -> f64 {
        ratio(of(self) as f64, self.answerable)
    }

    /// Returns the mean reciprocal rank.
    pub fn mrr(&self) -> f64 {
        ratio(self.reciprocal, self.answerable)
    }

    /// Returns the share of the unanswerable questions whose verdict was not `known`.
    pub fn abstention(&self) -> f64 {
        ratio(self.unknown as f64, self.unanswerable)
    }

    /// Returns the share of the questions whose first result answers that got another verdict than `known`.
    pub fn withheld(&self) -> f64 {
        ratio(self.withheld as f64, self.first)
    }

    /// Returns the share of the verdicts `known` whose first result answers.
    pub fn precision(&self) -> f64 {
        ratio(self.right as f64, self.reported)
    }
}

fn ratio(part: f64, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}

/// The results of one way to search.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecallRow {
    pub name: String,
    /// The number of questions.
    pub questions: usize,
    /// Counts of all questions.
    pub all: Tally,
    /// Counts by the sort of question.
    pub sorts: BTreeMap<String, Tally>,
    /// Results that are not in force, of questions that ask only for claims in force.
    pub stale: usize,
    /// The time of one question, in milliseconds.
    pub ms: Quantiles,
    /// The results with other thresholds of the probability.
    pub curve: Vec<ThresholdPoint>,
    /// A threshold chosen on half of the questions, and measured on the other half.
    pub held_out: ThresholdPoint,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecallReport {
    /// The number of memories.
    pub memories: usize,
    /// The number of questions.
    pub queries: usize,
    pub rows: Vec<RecallRow>,
    /// The wrong answers of the row `hybrid`, with `--explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misses: Vec<String>,
    /// The fitted weights in the format of their file, with `--fit` or `--fit-known`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fitted: Option<String>,
}

impl RecallReport {
    /// Returns the tables, or the fitted weights.
    pub fn table(&self) -> String {
        if let Some(fitted) = &self.fitted {
            return fitted.clone();
        }
        let mut text = format!(
            "{} memories, {} questions\n\n{:<26} {:>9} {:>5} {:>5} {:>5} {:>7} {:>8} {:>7} {:>8} {:>9} {:>6} {:>13}\n",
            self.memories,
            self.queries,
            "",
            "questions",
            "R@1",
            "R@5",
            "MRR",
            "hit@10",
            "abstains",
            "wrongly",
            "withheld",
            "precision",
            "stale",
            "p50/p95 ms"
        );
        for row in &self.rows {
            let all = &row.all;
            let _ = writeln!(
                text,
                "{:<26} {:>9} {:>5.2} {:>5.2} {:>5.2} {:>7.2} {:>8.2} {:>7.2} {:>8.2} {:>9.2} {:>6} {:>13}",
                row.name,
                row.questions,
                all.share(|tally| tally.first),
                all.share(|tally| tally.five),
                all.mrr(),
                all.share(|tally| tally.any),
                all.abstention(),
                all.share(|tally| tally.wrongly_unknown),
                all.withheld(),
                all.precision(),
                row.stale,
                format!("{:.1}/{:.1}", row.ms.p50, row.ms.p95),
            );
        }
        text.push_str("\nR@1 / R@5 by the sort of question; for unanswerable ones the share of honest answers\n");
        let sorts: Vec<&String> = self.rows.first().map_or_else(Vec::new, |row| row.sorts.keys().collect());
        let _ = write!(text, "{:<26}", "");
        for sort in &sorts {
            let _ = write!(text, " {sort:>13}");
        }
        text.push('\n');
        for row in &self.rows {
            let _ = write!(text, "{:<26}", row.name);
            for sort in &sorts {
                let cell = row.sorts.get(*sort).map_or_else(String::new, |tally| match tally.answerable {
                    0 => format!("{:.2}", tally.abstention()),
                    _ => format!("{:.2} / {:.2}", tally.share(|t| t.first), tally.share(|t| t.five)),
                });
                let _ = write!(text, " {cell:>13}");
            }
            text.push('\n');
        }
        text.push_str("\nSaid to be unknown by the sort of question\n");
        for row in &self.rows {
            let _ = write!(text, "{:<26}", row.name);
            for sort in &sorts {
                let cell = row.sorts.get(*sort).map_or_else(String::new, |tally| match tally.answerable {
                    0 => format!("{:.2}", tally.abstention()),
                    _ => format!("{:.2}", tally.share(|t| t.wrongly_unknown)),
                });
                let _ = write!(text, " {cell:>13}");
            }
            text.push('\n');
        }
        if let Some(row) = self.rows.iter().find(|row| row.name == "hybrid") {
            text.push_str("\nhybrid, where this probability is enough\n      from  abstains   wrongly  withheld\n");
            let mut line = |name: &str, point: &ThresholdPoint| {
                let ThresholdPoint { abstains, wrongly, withheld, .. } = point;
                let _ = writeln!(text, "{name:>10} {abstains:>9.2} {wrongly:>9.2} {withheld:>9.2}");
            };
            for point in &row.curve {
                line(&format!("{:.3}", point.from), point);
            }
            line("held out", &row.held_out);
        }
        if !self.misses.is_empty() {
            let _ = writeln!(text, "\nNot answered right:\n{}", self.misses.join("\n"));
        }
        text
    }
}
