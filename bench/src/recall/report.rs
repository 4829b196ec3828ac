//! The report: figures and a table.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;

use super::{curve::Point, data::Query};
use crate::store::Quantiles;

/// Answers to questions, counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Questions that something answers.
    pub answerable: usize,
    /// Of them: the first that was found answers.
    pub first: usize,
    /// One of the first five does.
    pub five: usize,
    /// One of the ten does.
    pub any: usize,
    /// The sum of 1 / place of the first that answers.
    pub reciprocal: f64,
    /// It was said that nothing is known, wrongly.
    pub wrongly_unknown: usize,
    /// The first that was found answers, and it was said that nothing is known.
    pub withheld: usize,
    /// Questions that nothing answers.
    pub unanswerable: usize,
    /// Of them: it was said that nothing is known.
    pub unknown: usize,
    /// Answers that were said to be known.
    pub reported: usize,
    /// Of them: the first one answers.
    pub right: usize,
}

impl Tally {
    /// Counts an answer: the place of the first that answers, from 0, and whether it was said to be known.
    pub(super) fn add(&mut self, query: &Query, place: Option<usize>, known: bool) {
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

    /// A share of the questions that something answers.
    pub fn share(&self, of: impl Fn(&Self) -> usize) -> f64 {
        ratio(of(self) as f64, self.answerable)
    }

    /// The mean reciprocal rank.
    pub fn mrr(&self) -> f64 {
        ratio(self.reciprocal, self.answerable)
    }

    /// The share of the unanswerable questions of which it was said that nothing is known.
    pub fn abstention(&self) -> f64 {
        ratio(self.unknown as f64, self.unanswerable)
    }

    /// The share of the questions whose answer was first of which it was said that nothing is known.
    pub fn withheld(&self) -> f64 {
        ratio(self.withheld as f64, self.first)
    }

    /// The share of what was said to be known whose first claim answers.
    pub fn precision(&self) -> f64 {
        ratio(self.right as f64, self.reported)
    }
}

fn ratio(part: f64, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}

/// What one means found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// The means.
    pub name: String,
    /// How many questions it was asked.
    pub questions: usize,
    /// Over all questions.
    pub all: Tally,
    /// By the sort of question.
    pub sorts: BTreeMap<String, Tally>,
    /// Claims that were not in force and were shown where only those in force were asked for.
    pub stale: usize,
    /// The time of one question, in milliseconds.
    pub ms: Quantiles,
    /// What another threshold of the probability would do.
    pub curve: Vec<Point>,
    /// The threshold set on half of the questions, measured on the other half.
    pub held_out: Point,
}

/// All rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// How much is remembered.
    pub memories: usize,
    /// How much is asked.
    pub queries: usize,
    /// By means.
    pub rows: Vec<Row>,
    /// What the hybrid did not answer right, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misses: Vec<String>,
    /// The fitted weights of the second stage, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fitted: Option<String>,
}

impl Report {
    /// As tables for people.
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
            "hit@any",
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
            let mut line = |name: &str, point: &Point| {
                let Point { abstains, wrongly, withheld, .. } = point;
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
