//! The report: JSON by its types, tables by its `Display`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;

pub(super) use super::score::WrongAnswer;
use super::{
    bins::Bins,
    dense::{DenseCounts, DenseRow},
    gate::{AskedRow, GateRow},
};
use crate::measure::Quantiles;

/// Fractions are 0 to 1.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GuardBenchReport {
    /// A row for each way to compare claims.
    pub rows: Vec<GuardRow>,
    /// The gate, with and without models.
    pub gate: Vec<GateRow>,
    /// The guard with its questions answered; absent without answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedRow>,
    /// Writes in projects whose claims are all near each other.
    pub dense: Vec<DenseRow>,
    /// Contradictions among many other claims.
    pub crowd: Vec<CrowdRow>,
    /// A row for each fact set.
    pub fact_consolidation: Vec<FactsRow>,
    /// The models: role, name, SHA-256.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Notes on the figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Missing data files.
    pub skipped: Vec<String>,
    /// Failed acts; there should be none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

/// The results of one way to compare claims.
#[derive(Clone, Debug, Serialize)]
pub struct GuardRow {
    /// `lexical`, `structural`, `rules`, `nli`, `default` or `deep`.
    pub name: String,
    pub pairs: PairsScore,
    /// Recall at given rates of false blocks.
    pub recall_at: RecallAt,
    /// Refusals because of unrelated rows of the corpora.
    pub false_blocks_per_1000: FalseRate,
    /// Warnings because of unrelated rows of the corpora.
    pub warns_per_1000: FalseRate,
    /// Refused decisions that tell of a change.
    pub adr_narrating_blocked: usize,
    /// Real decisions that were replaced.
    pub adr_supersede: SupersedeScore,
    /// The refusals by each rule of the guard.
    pub by_rule: BTreeMap<String, RuleCounts>,
    /// Predicted and observed probabilities of all pairs with a score.
    pub calibration: Bins,
    /// The time of one write: parse, find nearby claims, compare.
    pub write_ms: Quantiles,
    /// The wrong answers, with `--explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<WrongAnswer>,
}

/// Results on labelled pairs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PairsScore {
    /// The number of pairs.
    pub rows: usize,
    /// The share of the refused pairs that are contradictions.
    pub precision: f64,
    /// The share of the contradictions that are refused.
    pub recall: f64,
    /// The harmonic mean of precision and recall.
    pub f1: f64,
    /// The share of the pairs with an accepted tier.
    pub accepted: f64,
    pub by_phenomenon: BTreeMap<String, PhenomenonScore>,
}

/// Results on one phenomenon.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PhenomenonScore {
    /// The number of pairs.
    pub rows: usize,
    /// The share with an accepted tier.
    pub accepted: f64,
    /// The share that is refused.
    pub blocked: f64,
    #[serde(skip)]
    pub(super) accepted_rows: usize,
    #[serde(skip)]
    pub(super) blocked_rows: usize,
}

/// The refusals that name one rule of the guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RuleCounts {
    /// Contradictions among the labelled pairs.
    pub found: usize,
    /// Other labelled pairs.
    pub wrong_pairs: usize,
    /// Rows of the corpora.
    pub false_blocks: usize,
}

/// Recall on labelled pairs, at thresholds that are chosen on the corpora.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RecallAt {
    /// At the lowest threshold without a false block.
    pub zero: f64,
    /// At the lowest threshold with at most two false blocks per 1,000 rows of each corpus.
    pub two_per_1000: f64,
}

/// A rate for each corpus.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct FalseRate {
    pub rules: f64,
    pub adr: f64,
}

/// The results on real decisions that were replaced by later ones.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct SupersedeScore {
    /// Decisions whose successor's text shows that it replaces them.
    pub explicit: FoundShares,
    /// Other replaced decisions: only background knowledge shows it.
    pub implicit: FoundShares,
    /// The share of the refinements that are refused; it should be 0.
    pub refinement_blocked: f64,
}

/// How many of some decisions were found.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct FoundShares {
    /// The number of decisions.
    pub rows: usize,
    /// The share that is refused.
    pub block: f64,
    /// The share that is refused, or gets a warning or a card.
    pub found: f64,
}

/// Contradictions whose first side is one of many claims.
#[derive(Clone, Debug, Serialize)]
pub struct CrowdRow {
    /// `rules` or `default`.
    pub name: String,
    /// Claims in the project.
    pub claims: usize,
    /// The number of contradictions.
    pub contradictions: usize,
    /// Those that are refused if the first side is the only claim.
    pub alone: usize,
    /// Those that are refused because of the first side.
    pub found: usize,
    /// The time of one write.
    pub write_ms: Quantiles,
}

/// The results on one fact set.
#[derive(Clone, Debug, Serialize)]
pub struct FactsRow {
    /// The size in the file name.
    pub size: String,
    /// Statements written.
    pub statements: usize,
    /// Questions asked.
    pub questions: usize,
    /// The share of the questions that were answered correctly.
    pub accuracy: f64,
    /// Writes that were refused, and then superseded others.
    pub blocked: usize,
    /// The time of one write.
    pub write_ms: Quantiles,
}

impl fmt::Display for GuardBenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TABLE_HEAD)?;
        for row in &self.rows {
            writeln!(f, "{row}")?;
        }
        for row in &self.gate {
            writeln!(f, "{row}")?;
        }
        if let Some(asked) = &self.asked {
            writeln!(f, "{asked}")?;
        }
        for row in &self.dense {
            writeln!(f, "{row}")?;
        }
        for row in &self.crowd {
            writeln!(f, "{row}")?;
        }
        for row in &self.fact_consolidation {
            writeln!(f, "{row}")?;
        }
        for model in &self.models {
            writeln!(f, "model {model}")?;
        }
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        for name in &self.skipped {
            writeln!(f, "skipped, not there: {name}")?;
        }
        for what in &self.failed {
            writeln!(f, "failed: {what}")?;
        }
        self.write_phenomena(f)?;
        for row in self.rows.iter().filter(|row| !row.by_rule.is_empty()) {
            writeln!(f, "\n{}: refused, by rule: contradictions, other pairs, rows of the corpora", row.name)?;
            for (rule, counts) in &row.by_rule {
                writeln!(f, "  {rule:<28} {:>4} {:>4} {:>4}", counts.found, counts.wrong_pairs, counts.false_blocks)?;
            }
        }
        for row in self.rows.iter().filter(|row| row.calibration.0.iter().any(|bin| bin.pairs > 0)) {
            write!(f, "\n{}: probability of a contradiction, predicted and observed\n{}", row.name, row.calibration)?;
        }
        for (name, wrong) in self.rows.iter().flat_map(|row| row.wrong.iter().map(|wrong| (&row.name, wrong))) {
            writeln!(
                f,
                "\n{name} · {} · {} · {:.2} · {}\n  {}\n  {}",
                wrong.id, wrong.what, wrong.score, wrong.why, wrong.a, wrong.b
            )?;
        }
        Ok(())
    }
}

impl GuardBenchReport {
    fn write_phenomena(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phenomena: BTreeSet<&String> = self.rows.iter().flat_map(|row| row.pairs.by_phenomenon.keys()).collect();
        if !phenomena.is_empty() {
            writeln!(f, "\nblocked, by phenomenon (rows)")?;
        }
        for name in phenomena {
            let rows = self.rows.iter().find_map(|row| row.pairs.by_phenomenon.get(name)).map_or(0, |p| p.rows);
            write!(f, "  {name:<38} {rows:>4}")?;
            for row in &self.rows {
                let share = row.pairs.by_phenomenon.get(name).map_or(0.0, |p| p.blocked);
                write!(f, "  {} {share:.2}", row.name)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// The head of the table of [`GuardRow`]s.
const TABLE_HEAD: &str = concat!(
    "             prec recall    f1 accepted   rec@0  rec@2   fb/1k fb/1k   wn/1k wn/1k  explicit implicit refine      ms     ms\n",
    "                                                         rules   adr   rules   adr   blk/fnd  blk/fnd    blk     p50    p95\n",
);

impl fmt::Display for GuardRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<11} {:>5.2} {:>6.2} {:>5.2} {:>8.2}  {:>6.2} {:>6.2}  {:>6.1} {:>5.1}  {:>6.1} {:>5.1}  {:>8} {:>8} {:>6.2}  {:>6.3} {:>6.3}",
            self.name,
            self.pairs.precision,
            self.pairs.recall,
            self.pairs.f1,
            self.pairs.accepted,
            self.recall_at.zero,
            self.recall_at.two_per_1000,
            self.false_blocks_per_1000.rules,
            self.false_blocks_per_1000.adr,
            self.warns_per_1000.rules,
            self.warns_per_1000.adr,
            self.adr_supersede.explicit.to_string(),
            self.adr_supersede.implicit.to_string(),
            self.adr_supersede.refinement_blocked,
            self.write_ms.p50,
            self.write_ms.p95,
        )
    }
}

impl fmt::Display for FoundShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}/{:.2}", self.block, self.found)
    }
}

impl fmt::Display for GateRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "gate, {}: of {} contradictions {:.2} are refused, {:.2} with what is asked, {:.2} with what is mentioned; of replaced decisions {:.2}",
            self.name, self.contradictions, self.refused, self.asked, self.mentioned, self.replaced_decisions
        )?;
        for (what, load) in [("rules", self.rules), ("decisions", self.decisions)] {
            writeln!(
                f,
                "  of 1,000 {what} {:.0} are asked about, {:.0} with mentions; {:.1} claims in a question",
                load.asked_per_1000, load.mentioned_per_1000, load.pairs_per_question
            )?;
        }
        write!(
            f,
            "  the cross-encoder is asked about {:.1} pairs of a write for the judge and {:.1} for the gate",
            self.judge_pairs, self.gate_pairs
        )
    }
}

impl fmt::Display for AskedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "asked: {} of {} questions answered; recall {:.2}, precision {:.2}, replaced decisions {:.2}; refused wrongly of 1,000 rules {:.1}, of decisions {:.1}",
            self.answered,
            self.questions,
            self.recall,
            self.precision,
            self.replaced_decisions,
            self.false_per_1000_rules,
            self.false_per_1000_decisions
        )
    }
}

impl fmt::Display for DenseRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (harmless, clashes) = (self.harmless, self.clashes);
        write!(
            f,
            "dense, {}, {} ({} claims): of {} harmless writes {harmless}; of {} contradictions {clashes}",
            self.name, self.scope, self.claims, harmless.writes, clashes.writes,
        )
    }
}

impl fmt::Display for DenseCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (refused, asked, mentioned, silent) = (self.refused, self.asked, self.mentioned, self.silent());
        write!(f, "{refused} refused, {asked} asked about, {mentioned} mentioned, {silent} silent")
    }
}

impl fmt::Display for CrowdRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "crowd, {}: of {} contradictions {} are refused alone and {} among {} claims, {:.1} ms (p95 {:.1})",
            self.name, self.contradictions, self.alone, self.found, self.claims, self.write_ms.p50, self.write_ms.p95
        )
    }
}

impl fmt::Display for FactsRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "facts {}: accuracy {:.2} of {} questions, {} of {} writes superseded an earlier one, {:.3} ms (p95 {:.3})",
            self.size,
            self.accuracy,
            self.questions,
            self.blocked,
            self.statements,
            self.write_ms.p50,
            self.write_ms.p95
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_report_is_a_line_of_its_own() {
        let dense = DenseRow { name: "rules".into(), scope: "acme".into(), claims: 30, ..DenseRow::default() };
        let report = GuardBenchReport {
            dense: vec![dense],
            models: vec!["nli x".into()],
            skipped: vec!["pairs.jsonl".into()],
            ..GuardBenchReport::default()
        };
        let text = report.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("ms     ms") && lines[1].ends_with("p50    p95"), "{text}");
        let counts = "0 refused, 0 asked about, 0 mentioned, 0 silent";
        assert_eq!(
            lines[2..],
            [
                &format!("dense, rules, acme (30 claims): of 0 harmless writes {counts}; of 0 contradictions {counts}"),
                "model nli x",
                "skipped, not there: pairs.jsonl"
            ]
        );
    }
}
