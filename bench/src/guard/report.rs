//! The report: as JSON by its types, as a table by its `Display`.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;

pub(super) use super::score::Wrong;
use super::{
    bins::Bins,
    dense::{DenseCounts, DenseRow},
    gate::{AskedRow, GateRow},
};

/// What was measured. Fractions are 0 to 1.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// One row for each way to compare.
    pub rows: Vec<Row>,
    /// What the gate holds and asks.
    pub gate: Vec<GateRow>,
    /// The guard with its questions answered, if there were answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedRow>,
    /// Writes beside claims that are near each other.
    pub dense: Vec<DenseRow>,
    /// Contradictions among many other claims.
    pub crowd: Vec<Crowd>,
    /// One entry for each fact set.
    pub fact_consolidation: Vec<Facts>,
    /// The models: role, name, SHA-256.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// What else is to be known about the figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Data files that were not there.
    pub skipped: Vec<String>,
    /// Acts that failed, which should be none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

/// One way to compare.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// `lexical`, `structural`, `rules`, `nli`, `default` or `deep`.
    pub name: String,
    /// Labelled pairs.
    pub pairs: Pairs,
    /// Recall at fixed rates of false blocks.
    pub recall_at: RecallAt,
    /// Blocks on unrelated rows of the corpora.
    pub false_blocks_per_1000: FalseRate,
    /// Warnings on unrelated rows of the corpora.
    pub warns_per_1000: FalseRate,
    /// Blocks on decisions that tell of a change, counted apart.
    pub adr_narrating_blocked: usize,
    /// Real decisions that were replaced.
    pub adr_supersede: Supersede,
    /// What each rule of the guard refused.
    pub by_rule: BTreeMap<String, RuleCounts>,
    /// Predicted probabilities beside what was observed, over all pairs that were weighed.
    pub calibration: Bins,
    /// Time of one write: read, find nearby claims, compare.
    pub write_ms: Millis,
    /// Wrong answers, where asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<Wrong>,
}

/// Results on labelled pairs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pairs {
    /// How many.
    pub rows: usize,
    /// Share of blocks that are contradictions.
    pub precision: f64,
    /// Share of contradictions that block.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
    /// Share of rows whose tier is one of those accepted.
    pub accepted: f64,
    /// The same by phenomenon.
    pub by_phenomenon: BTreeMap<String, Phenomenon>,
}

/// Results on one phenomenon.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Phenomenon {
    /// How many pairs.
    pub rows: usize,
    /// Share whose tier is accepted.
    pub accepted: f64,
    /// Share that blocks.
    pub blocked: f64,
    #[serde(skip)]
    pub(super) accepted_rows: usize,
    #[serde(skip)]
    pub(super) blocked_rows: usize,
}

/// What a rule of the guard refused, by the rule that the refusal names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RuleCounts {
    /// Contradictions among the labelled pairs.
    pub found: usize,
    /// Labelled pairs that are none.
    pub wrong_pairs: usize,
    /// Rows of the corpora.
    pub false_blocks: usize,
}

/// Recall on pairs where the threshold is chosen by the corpora.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RecallAt {
    /// Without any false block.
    pub zero: f64,
    /// With at most two in 1,000, on both corpora.
    pub two_per_1000: f64,
}

/// A rate for each corpus.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct FalseRate {
    pub rules: f64,
    /// Decisions.
    pub adr: f64,
}

/// Real decisions that were replaced by later ones.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Supersede {
    /// Where the text shows it.
    pub explicit: Found,
    /// Where it takes knowledge.
    pub implicit: Found,
    /// Share of refinements that block: should be none.
    pub refinement_blocked: f64,
}

/// How many were found.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Found {
    /// How many there are.
    pub rows: usize,
    /// Share that blocks.
    pub block: f64,
    /// Share that blocks, warns or makes a card.
    pub found: f64,
}

/// Times in milliseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Millis {
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
}

impl Millis {
    pub(super) fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            times
                .get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1)))
                .copied()
                .unwrap_or(0.0)
        };
        Self { p50: at(0.5), p95: at(0.95) }
    }
}

/// Contradictions of which the first side stands among many other claims.
#[derive(Clone, Debug, Serialize)]
pub struct Crowd {
    /// `rules` or `default`.
    pub name: String,
    /// Claims in the project.
    pub claims: usize,
    /// Contradictions that were written.
    pub contradictions: usize,
    /// How many are refused where the first side is the only claim.
    pub alone: usize,
    /// How many are refused, with the first side named.
    pub found: usize,
    /// Time of one write.
    pub write_ms: Millis,
}

/// Results on one fact set.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The size in its file name.
    pub size: String,
    /// Statements written.
    pub statements: usize,
    /// Questions asked.
    pub questions: usize,
    /// Share of questions answered right.
    pub accuracy: f64,
    /// Writes that were refused and became a supersede.
    pub blocked: usize,
    /// Time of one write.
    pub write_ms: Millis,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<11} {:>5} {:>6} {:>5} {:>8}  {:>6} {:>6}  {:>6} {:>5}  {:>6} {:>5}  {:>8} {:>8} {:>6}  {:>6} {:>6}",
            "",
            "prec",
            "recall",
            "f1",
            "accepted",
            "rec@0",
            "rec@2",
            "fb/1k",
            "fb/1k",
            "wn/1k",
            "wn/1k",
            "explicit",
            "implicit",
            "refine",
            "ms",
            "ms"
        )?;
        writeln!(
            f,
            "{:<11} {:>5} {:>6} {:>5} {:>8}  {:>6} {:>6}  {:>6} {:>5}  {:>6} {:>5}  {:>8} {:>8} {:>6}  {:>6} {:>6}",
            "", "", "", "", "", "", "", "rules", "adr", "rules", "adr", "blk/fnd", "blk/fnd", "blk", "p50", "p95"
        )?;
        for row in &self.rows {
            let both = |found: Found| format!("{:.2}/{:.2}", found.block, found.found);
            writeln!(
                f,
                "{:<11} {:>5.2} {:>6.2} {:>5.2} {:>8.2}  {:>6.2} {:>6.2}  {:>6.1} {:>5.1}  {:>6.1} {:>5.1}  {:>8} {:>8} {:>6.2}  {:>6.3} {:>6.3}",
                row.name,
                row.pairs.precision,
                row.pairs.recall,
                row.pairs.f1,
                row.pairs.accepted,
                row.recall_at.zero,
                row.recall_at.two_per_1000,
                row.false_blocks_per_1000.rules,
                row.false_blocks_per_1000.adr,
                row.warns_per_1000.rules,
                row.warns_per_1000.adr,
                both(row.adr_supersede.explicit),
                both(row.adr_supersede.implicit),
                row.adr_supersede.refinement_blocked,
                row.write_ms.p50,
                row.write_ms.p95,
            )?;
        }
        for row in &self.gate {
            writeln!(
                f,
                "gate, {}: of {} contradictions {:.2} are refused, {:.2} with what is asked, {:.2} with what is mentioned; of replaced decisions {:.2}",
                row.name, row.contradictions, row.refused, row.asked, row.mentioned, row.replaced_decisions
            )?;
            for (what, load) in [("rules", row.rules), ("decisions", row.decisions)] {
                writeln!(
                    f,
                    "  of 1,000 {what} {:.0} are asked about, {:.0} with mentions; {:.1} claims in a question",
                    load.asked_per_1000, load.mentioned_per_1000, load.pairs_per_question
                )?;
            }
            writeln!(
                f,
                "  the cross-encoder is asked about {:.1} pairs of a write for the judge and {:.1} for the gate",
                row.judge_pairs, row.gate_pairs
            )?;
        }
        if let Some(asked) = &self.asked {
            writeln!(
                f,
                "asked: {} of {} questions answered; recall {:.2}, precision {:.2}, replaced decisions {:.2}; refused wrongly of 1,000 rules {:.1}, of decisions {:.1}",
                asked.answered,
                asked.questions,
                asked.recall,
                asked.precision,
                asked.replaced_decisions,
                asked.false_per_1000_rules,
                asked.false_per_1000_decisions
            )?;
        }
        for row in &self.dense {
            let counts = |of: DenseCounts| {
                format!(
                    "{} refused, {} asked about, {} mentioned, {} silent",
                    of.refused,
                    of.asked,
                    of.mentioned,
                    of.silent()
                )
            };
            let (harmless, clashes) = (row.harmless, row.clashes);
            writeln!(
                f,
                "dense, {}, {} ({} claims): of {} harmless writes {}; of {} contradictions {}",
                row.name,
                row.scope,
                row.claims,
                harmless.writes,
                counts(harmless),
                clashes.writes,
                counts(clashes)
            )?;
        }
        for crowd in &self.crowd {
            writeln!(
                f,
                "crowd, {}: of {} contradictions {} are refused alone and {} among {} claims, {:.1} ms (p95 {:.1})",
                crowd.name,
                crowd.contradictions,
                crowd.alone,
                crowd.found,
                crowd.claims,
                crowd.write_ms.p50,
                crowd.write_ms.p95
            )?;
        }
        for facts in &self.fact_consolidation {
            writeln!(
                f,
                "facts {}: accuracy {:.2} of {} questions, {} of {} writes superseded an earlier one, {:.3} ms (p95 {:.3})",
                facts.size,
                facts.accuracy,
                facts.questions,
                facts.blocked,
                facts.statements,
                facts.write_ms.p50,
                facts.write_ms.p95
            )?;
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
        let phenomena: std::collections::BTreeSet<&String> =
            self.rows.iter().flat_map(|row| row.pairs.by_phenomenon.keys()).collect();
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
        for row in self.rows.iter().filter(|row| !row.by_rule.is_empty()) {
            writeln!(f, "\n{}: refused, by rule: contradictions, other pairs, rows of the corpora", row.name)?;
            for (rule, counts) in &row.by_rule {
                writeln!(f, "  {rule:<28} {:>4} {:>4} {:>4}", counts.found, counts.wrong_pairs, counts.false_blocks)?;
            }
        }
        for row in self.rows.iter().filter(|row| row.calibration.0.iter().any(|bin| bin.pairs > 0)) {
            write!(f, "\n{}: probability of a contradiction, predicted and observed\n{}", row.name, row.calibration)?;
        }
        for row in &self.rows {
            for wrong in &row.wrong {
                writeln!(
                    f,
                    "\n{} · {} · {} · {:.2} · {}\n  {}\n  {}",
                    row.name, wrong.id, wrong.what, wrong.score, wrong.why, wrong.a, wrong.b
                )?;
            }
        }
        Ok(())
    }
}
