//! The rows `gate` and `asked`: which nearby claims of a write are in doubt, and the result of the answers.
//!
//! The newer side of a labelled pair is written into a project of 300 rules and the older side. The corpora are replayed
//! as for the other rows.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};

use super::{
    GuardBenchError,
    data::{CorpusRow, Data},
    gate_examples::{ExampleFile, GateExample},
    memory_project::{GatedClaim, MemoryProject},
};
use crate::measure::read_json_lines;
use ergo::domain::{ClaimKind, DoubtBand, PairVerdict};

/// The number of rules beside the older side of a labelled pair.
const RULES_BESIDE_PAIR: usize = 300;

/// The contradictions that the guard and its gate find, and the questions that this costs. Fractions are 0 to 1.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GateRow {
    /// `words` without models, or `models`.
    pub name: String,
    /// Contradictions among the labelled pairs.
    pub contradictions: usize,
    /// The share of the contradictions that is refused because of the older side.
    pub refused: f64,
    /// The share of the contradictions that is refused or asked about.
    pub asked: f64,
    /// The share of the contradictions that is refused, asked about or mentioned.
    pub mentioned: f64,
    /// The share of the real decisions whose successor's text shows that it replaces them that is refused, asked about or
    /// mentioned.
    pub replaced_decisions: f64,
    /// The replayed rules.
    pub rules: GateLoad,
    /// The replayed decisions.
    pub decisions: GateLoad,
    /// Pairs per write that the cross-encoder reads for the judge, in both orders.
    pub judge_pairs: f64,
    /// Pairs per write that the cross-encoder reads only for the gate, in one order.
    pub gate_pairs: f64,
}

/// The questions about writes that contradict nothing.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct GateLoad {
    pub writes: usize,
    /// Writes that are asked about, per 1,000.
    pub asked_per_1000: f64,
    /// Writes that are asked about or get a mention, per 1,000.
    pub mentioned_per_1000: f64,
    /// Claims per question.
    pub pairs_per_question: f64,
}

/// The results of the guard with its questions answered.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AskedRow {
    /// Claims in doubt, as `--questions` writes them.
    pub questions: usize,
    /// Claims in doubt with a verdict.
    pub answered: usize,
    /// The share of the contradictions that is refused, by the guard or by a verdict.
    pub recall: f64,
    /// The share of the refused labelled pairs that are contradictions.
    pub precision: f64,
    /// The share of the real decisions whose successor's text shows that it replaces them, and is refused.
    pub replaced_decisions: f64,
    /// Refused rules of the replay, per 1,000.
    pub false_per_1000_rules: f64,
    /// Refused decisions of the replay, per 1,000.
    pub false_per_1000_decisions: f64,
}

/// A line of the file of questions, which contains no label.
#[derive(Serialize)]
struct QuestionLine<'a> {
    id: &'a str,
    new: &'a str,
    existing: &'a str,
}

/// A line of the file of verdicts.
#[derive(Deserialize)]
struct VerdictLine {
    id: String,
    verdict: PairVerdict,
}

/// The kind of write, in lower case also in the file of examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteGroup {
    /// The newer side of a labelled contradiction.
    Contradiction,
    /// The newer side of another labelled pair.
    Harmless,
    /// The successor of a real decision, whose text shows that it replaces the decision.
    Replaced,
    /// The successor of a real decision, whose text does not show that it replaces the decision. A verdict that says so is
    /// right, but cannot be expected.
    Implicit,
    /// A later decision that only adds detail to an earlier one.
    Refined,
    /// A replayed rule.
    Rule,
    /// A replayed decision.
    Decision,
}

impl WriteGroup {
    /// Returns the group of the successor of a real decision.
    fn of_successor(label: &str, visible_in_text: &str) -> Self {
        match (label, visible_in_text) {
            ("contradiction", "explicit") => Self::Replaced,
            ("contradiction", _) => Self::Implicit,
            _ => Self::Refined,
        }
    }
}

/// A nearby claim of a write.
struct GatePair {
    /// Whether the claim counts: it is the older side of the labelled pair, or in a replay an unrelated one.
    counts: bool,
    /// The id of the question about the claim.
    id: String,
    existing: String,
    claim: GatedClaim,
}

/// A write with its nearby claims.
struct GateWrite {
    group: WriteGroup,
    statement: String,
    pairs: Vec<GatePair>,
}

impl GateWrite {
    fn refused(&self) -> bool {
        self.pairs.iter().any(|pair| pair.counts && pair.claim.blocked)
    }

    /// Returns the counted claims in either band, unless the write is refused anyway.
    fn questions(&self) -> impl Iterator<Item = &GatePair> {
        let open = !self.refused();
        self.pairs.iter().filter(move |pair| open && pair.counts && pair.claim.band.is_some())
    }

    /// Returns whether a counted claim is at least in this band.
    fn in_band(&self, least: DoubtBand) -> bool {
        self.pairs.iter().any(|pair| pair.counts && pair.claim.band.is_some_and(|band| band >= least))
    }

    /// Returns the number of counted claims that are asked about.
    fn asked_claims(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.counts && pair.claim.band == Some(DoubtBand::Ask)).count()
    }

    /// Returns whether the write is refused by the guard or by a verdict.
    fn refused_with(&self, verdicts: &BTreeMap<String, PairVerdict>) -> bool {
        let opposed = |pair: &GatePair| {
            pair.claim.band.is_some()
                && matches!(verdicts.get(&pair.id), Some(PairVerdict::Contradicts | PairVerdict::Replaces))
        };
        self.pairs.iter().any(|pair| pair.counts && (pair.claim.blocked || opposed(pair)))
    }
}

/// The files of a measurement.
#[derive(Clone, Copy, Default)]
pub(super) struct GateFiles<'a> {
    /// Gets the questions.
    pub(super) questions: Option<&'a Path>,
    /// Contains the verdicts.
    pub(super) verdicts: Option<&'a Path>,
    /// Gets each nearby claim with its features.
    pub(super) examples: Option<&'a Path>,
}

/// Measures the gate, and the answers to its questions.
pub(super) fn measure(
    name: &str,
    project: &mut MemoryProject,
    data: &Data,
    files: GateFiles<'_>,
) -> Result<(GateRow, Option<AskedRow>), GuardBenchError> {
    let GateFiles { questions, verdicts, examples } = files;
    let writes = all_writes(project, data);
    write_examples(&writes, examples)?;
    if let Some(path) = questions {
        write_questions(&writes, path)?;
    }
    let asked = match verdicts {
        Some(path) => Some(asked(&writes, &read_verdicts(path)?)),
        None => None,
    };
    let mut row = row(name, &writes);
    row.judge_pairs = project.pairs as f64 / writes.len().max(1) as f64;
    row.gate_pairs = project.gate_pairs as f64 / writes.len().max(1) as f64;
    Ok((row, asked))
}

/// Returns all writes of the data, with their nearby claims.
fn all_writes(project: &mut MemoryProject, data: &Data) -> Vec<GateWrite> {
    let mut writes = Vec::new();
    project.stored.clear();
    for rule in data.rules.iter().take(RULES_BESIDE_PAIR) {
        project.store(ClaimKind::Convention, &rule.text);
    }
    let rules = project.stored.len();
    let labelled = data.pairs.iter().map(|row| {
        let group = if row.label == "contradiction" { WriteGroup::Contradiction } else { WriteGroup::Harmless };
        (group, format!("pair {}", row.id), &row.a, &row.b)
    });
    let replaced = data.supersede.iter().map(|row| {
        let group = WriteGroup::of_successor(&row.label, &row.visible_in_text);
        (group, format!("successor {}", row.id), &row.old.claim, &row.new.claim)
    });
    for (group, id, old, new) in labelled.chain(replaced) {
        project.store(ClaimKind::Decision, old);
        let ours = project.parse(ClaimKind::Decision, new);
        let pairs = project.gated_claims(&ours).into_iter().map(|claim| {
            let counts = claim.number == rules;
            gate_pair(project, &id, claim, counts)
        });
        let pairs = pairs.collect();
        project.stored.truncate(rules);
        writes.push(GateWrite { group, statement: new.clone(), pairs });
    }
    replay(project, &data.rules, WriteGroup::Rule, ClaimKind::Convention, &mut writes);
    replay(project, &data.adr, WriteGroup::Decision, ClaimKind::Decision, &mut writes);
    writes
}

fn gate_pair(project: &MemoryProject, id: &str, claim: GatedClaim, counts: bool) -> GatePair {
    GatePair {
        counts,
        id: question_id(id, claim.number),
        existing: project.stored[claim.number].claim.claim().statement.clone(),
        claim,
    }
}

fn write_examples(writes: &[GateWrite], path: Option<&Path>) -> Result<(), GuardBenchError> {
    let mut file = ExampleFile::create(path)?;
    for (number, write) in writes.iter().enumerate() {
        let group = format!("{:?}", write.group).to_lowercase();
        for pair in &write.pairs {
            let example = GateExample::of(&pair.claim, &group, &write.statement, &pair.existing, pair.counts);
            file.add(&GateExample { set: "gate", write: number, ..example })?;
        }
    }
    file.finish()
}

/// Returns an id that does not reveal the source of a pair, or whether it is labelled.
fn question_id(write: &str, number: usize) -> String {
    blake3::hash(format!("{write}\n{number}").as_bytes()).to_hex().chars().take(12).collect()
}

/// Replays a corpus, with a new project for each unit.
fn replay(
    project: &mut MemoryProject,
    rows: &[CorpusRow],
    group: WriteGroup,
    kind: ClaimKind,
    writes: &mut Vec<GateWrite>,
) {
    let mut unit: Vec<&CorpusRow> = Vec::new();
    for row in rows {
        if unit.first().is_none_or(|first| first.unit != row.unit) {
            project.stored.clear();
            unit.clear();
        }
        let ours = project.parse(kind, &row.text);
        let mut pairs = Vec::new();
        for claim in project.gated_claims(&ours) {
            let other = unit[claim.number];
            let related = row.related_ids.contains(&other.id) || other.related_ids.contains(&row.id);
            pairs.push(gate_pair(project, &format!("write {}", row.id), claim, !related));
        }
        if !row.narrates_change {
            writes.push(GateWrite { group, statement: row.text.clone(), pairs });
        }
        project.stored.push(ours);
        unit.push(row);
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn row(name: &str, writes: &[GateWrite]) -> GateRow {
    let of = |group: WriteGroup| -> Vec<&GateWrite> { writes.iter().filter(|write| write.group == group).collect() };
    let held = |writes: &[&GateWrite], least: Option<DoubtBand>| {
        let found = writes.iter().filter(|write| write.refused() || least.is_some_and(|least| write.in_band(least)));
        share(found.count(), writes.len())
    };
    let load = |group: WriteGroup| {
        let of_group = of(group);
        let per_1000 = |least: DoubtBand| {
            let found = of_group.iter().filter(|write| !write.refused() && write.in_band(least));
            1000.0 * share(found.count(), of_group.len())
        };
        let questions: Vec<usize> =
            of_group.iter().map(|write| write.asked_claims()).filter(|asked| *asked > 0).collect();
        GateLoad {
            writes: of_group.len(),
            asked_per_1000: per_1000(DoubtBand::Ask),
            mentioned_per_1000: per_1000(DoubtBand::Mention),
            pairs_per_question: share(questions.iter().sum(), questions.len()),
        }
    };
    let contradictions = of(WriteGroup::Contradiction);
    GateRow {
        name: name.to_owned(),
        contradictions: contradictions.len(),
        refused: held(&contradictions, None),
        asked: held(&contradictions, Some(DoubtBand::Ask)),
        mentioned: held(&contradictions, Some(DoubtBand::Mention)),
        replaced_decisions: held(&of(WriteGroup::Replaced), Some(DoubtBand::Mention)),
        rules: load(WriteGroup::Rule),
        decisions: load(WriteGroup::Decision),
        ..GateRow::default()
    }
}

fn asked(writes: &[GateWrite], verdicts: &BTreeMap<String, PairVerdict>) -> AskedRow {
    let refused =
        |group: WriteGroup| writes.iter().filter(|write| write.group == group && write.refused_with(verdicts)).count();
    let all = |group: WriteGroup| writes.iter().filter(|write| write.group == group).count();
    let doubts = || writes.iter().flat_map(GateWrite::questions);
    let right = refused(WriteGroup::Contradiction);
    AskedRow {
        questions: doubts().count(),
        answered: doubts().filter(|pair| verdicts.contains_key(&pair.id)).count(),
        recall: share(right, all(WriteGroup::Contradiction)),
        precision: share(right, right + refused(WriteGroup::Harmless)),
        replaced_decisions: share(refused(WriteGroup::Replaced), all(WriteGroup::Replaced)),
        false_per_1000_rules: 1000.0 * share(refused(WriteGroup::Rule), all(WriteGroup::Rule)),
        false_per_1000_decisions: 1000.0 * share(refused(WriteGroup::Decision), all(WriteGroup::Decision)),
    }
}

fn write_questions(writes: &[GateWrite], path: &Path) -> Result<(), GuardBenchError> {
    let line = |write: &GateWrite, pair: &GatePair| {
        let line = QuestionLine { id: &pair.id, new: &write.statement, existing: &pair.existing };
        serde_json::to_string(&line).unwrap_or_default() + "\n"
    };
    let mut lines: Vec<String> =
        writes.iter().flat_map(|write| write.questions().map(move |pair| line(write, pair))).collect();
    // Sorted by id, so that the order reveals nothing either.
    lines.sort();
    let text = lines.concat();
    fs::write(path, text).map_err(|source| GuardBenchError::File { path: path.to_owned(), source })
}

fn read_verdicts(path: &Path) -> Result<BTreeMap<String, PairVerdict>, GuardBenchError> {
    let rows: Vec<VerdictLine> = read_json_lines(path)?;
    Ok(rows.into_iter().map(|row| (row.id, row.verdict)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A write that a verdict refuses.
    fn refused_by_verdict(group: WriteGroup) -> GateWrite {
        let claim = GatedClaim { number: 0, blocked: false, band: Some(DoubtBand::Ask), features: None };
        let pair = GatePair { counts: true, id: "id".to_owned(), existing: String::new(), claim };
        GateWrite { group, statement: String::new(), pairs: vec![pair] }
    }

    #[test]
    fn a_right_verdict_that_the_text_does_not_show_leaves_the_precision_as_it_is() {
        let group = WriteGroup::of_successor("contradiction", "implicit");
        assert_eq!(WriteGroup::of_successor("contradiction", "explicit"), WriteGroup::Replaced);
        assert_eq!(WriteGroup::of_successor("refinement", "explicit"), WriteGroup::Refined);
        let verdicts = BTreeMap::from([("id".to_owned(), PairVerdict::Replaces)]);
        let precision = |groups: &[WriteGroup]| {
            let writes: Vec<GateWrite> = groups.iter().map(|group| refused_by_verdict(*group)).collect();
            asked(&writes, &verdicts).precision
        };
        assert!((precision(&[WriteGroup::Contradiction, group]) - 1.0).abs() < 1e-9);
        assert!((precision(&[WriteGroup::Contradiction, WriteGroup::Harmless]) - 0.5).abs() < 1e-9);
    }
}
