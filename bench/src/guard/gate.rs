//! The rows `gate` and `asked`: which claims near a write are in doubt, and the result of the answers.
//!
//! A labelled pair is written into a project of 300 rules, which has its older side last. The corpora are replayed as the other rows replay them.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};

use super::{
    BenchError,
    data::{CorpusRow, Data, lines},
    gate_examples::{ExampleFile, GateExample},
    memory::{Doubted, Memory},
};
use ergo::domain::{ClaimKind, DoubtBand, PairVerdict};

/// How many rules stand beside the older side of a labelled pair.
const CROWD: usize = 300;

/// What the gate holds, and what it asks for that. Fractions are 0 to 1.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GateRow {
    /// `words`, or `models` where a cross-encoder was heard.
    pub name: String,
    /// Contradictions among the labelled pairs.
    pub contradictions: usize,
    /// Of these, the share that is refused against the older side.
    pub refused: f64,
    /// The share that is refused or asked about.
    pub asked: f64,
    /// The share that is refused, asked about or mentioned.
    pub mentioned: f64,
    /// Of the real decisions whose successor's text shows that it replaces them, the same share.
    pub replaced_decisions: f64,
    /// Rules that are replayed.
    pub rules: GateLoad,
    /// Decisions that are replayed.
    pub decisions: GateLoad,
    /// Pairs of one write that the cross-encoder is asked about for the judge, in both orders.
    pub judge_pairs: f64,
    /// The same for the gate alone, in one order.
    pub gate_pairs: f64,
}

/// What the gate costs writes that contradict nothing.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct GateLoad {
    /// Writes.
    pub writes: usize,
    /// Of 1,000 writes, so many are asked about.
    pub asked_per_1000: f64,
    /// Of 1,000 writes, so many are asked about or answered with a mention.
    pub mentioned_per_1000: f64,
    /// Claims in a question.
    pub pairs_per_question: f64,
}

/// The guard with its questions answered.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AskedRow {
    /// Claims in doubt, as `--questions` writes them, and how many of them have a verdict.
    pub questions: usize,
    pub answered: usize,
    /// The share of the contradictions that is refused, by the guard or by a verdict.
    pub recall: f64,
    /// Of the labelled pairs that are refused, the share that contradicts.
    pub precision: f64,
    /// The share of the real decisions whose successor is found to replace them.
    pub replaced_decisions: f64,
    /// Harmless writes that are refused, of 1,000.
    pub false_per_1000_rules: f64,
    pub false_per_1000_decisions: f64,
}

/// A question as a reader gets it: no label, nothing but the statements.
#[derive(Serialize)]
struct QuestionLine<'a> {
    id: &'a str,
    new: &'a str,
    existing: &'a str,
}

/// An answer.
#[derive(Deserialize)]
struct VerdictLine {
    id: String,
    verdict: PairVerdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Contradiction,
    Harmless,
    Replaced,
    Refined,
    Rule,
    Decision,
}

/// One pair that the guard looked at.
struct Look {
    /// The labelled other side; in a replay every unrelated claim.
    counts: bool,
    blocked: bool,
    band: Option<DoubtBand>,
    id: String,
    existing: String,
    seen: Doubted,
}

/// One write.
struct Case {
    group: Group,
    statement: String,
    looks: Vec<Look>,
}

impl Case {
    fn refused(&self) -> bool {
        self.looks.iter().any(|look| look.counts && look.blocked)
    }

    /// What a reader is asked: the claims in either band, unless the write is refused anyway. Those that are not scored are left out.
    fn questions(&self) -> impl Iterator<Item = &Look> {
        let open = !self.refused();
        self.looks.iter().filter(move |look| open && look.counts && look.band.is_some())
    }

    /// Whether a claim that counts is in a band of at least this.
    fn in_band(&self, least: DoubtBand) -> bool {
        self.looks.iter().any(|look| look.counts && look.band.is_some_and(|band| band >= least))
    }

    /// The claims of its question, if it is one.
    fn asked(&self) -> usize {
        self.looks.iter().filter(|look| look.counts && look.band == Some(DoubtBand::Ask)).count()
    }

    /// Whether it is refused with the answers.
    fn refused_with(&self, verdicts: &BTreeMap<String, PairVerdict>) -> bool {
        let opposed = |look: &Look| {
            look.band.is_some()
                && matches!(verdicts.get(&look.id), Some(PairVerdict::Contradicts | PairVerdict::Replaces))
        };
        self.looks.iter().any(|look| look.counts && (look.blocked || opposed(look)))
    }
}

/// Files that a measurement writes and reads.
#[derive(Clone, Copy, Default)]
pub(super) struct GateFiles<'a> {
    /// The questions are written to it.
    pub(super) questions: Option<&'a Path>,
    /// The answers are read from it.
    pub(super) verdicts: Option<&'a Path>,
    /// Each candidate with its features is written to it.
    pub(super) examples: Option<&'a Path>,
}

/// Measures the gate, and the answers to its questions.
pub(super) fn measure(
    name: &str,
    memory: &mut Memory,
    data: &Data,
    files: GateFiles<'_>,
) -> Result<(GateRow, Option<AskedRow>), BenchError> {
    let GateFiles { questions, verdicts, examples } = files;
    let cases = cases(memory, data);
    write_examples(&cases, examples)?;
    if let Some(path) = questions {
        write_questions(&cases, path)?;
    }
    let asked = match verdicts {
        Some(path) => Some(asked(&cases, &read_verdicts(path)?)),
        None => None,
    };
    let mut row = row(name, &cases);
    row.judge_pairs = memory.pairs as f64 / cases.len().max(1) as f64;
    row.gate_pairs = memory.gate_pairs as f64 / cases.len().max(1) as f64;
    Ok((row, asked))
}

fn cases(memory: &mut Memory, data: &Data) -> Vec<Case> {
    let mut cases = Vec::new();
    memory.stored.clear();
    for rule in data.rules.iter().take(CROWD) {
        memory.keep(ClaimKind::Convention, &rule.text);
    }
    let crowd = memory.stored.len();
    let pairs = data.pairs.iter().map(|row| {
        let group = if row.label == "contradiction" { Group::Contradiction } else { Group::Harmless };
        (group, format!("pair {}", row.id), &row.a, &row.b)
    });
    let replaced = data.supersede.iter().map(|row| {
        let group = match (row.label.as_str(), row.visible_in_text.as_str()) {
            ("contradiction", "explicit") => Group::Replaced,
            ("contradiction", _) => Group::Harmless,
            _ => Group::Refined,
        };
        (group, format!("successor {}", row.id), &row.old.claim, &row.new.claim)
    });
    for (group, id, old, new) in pairs.chain(replaced) {
        memory.keep(ClaimKind::Decision, old);
        let ours = memory.read(ClaimKind::Decision, new);
        let looks = memory.doubted(&ours).into_iter().map(|seen| {
            let counts = seen.number == crowd;
            look(memory, &id, seen, counts)
        });
        let looks = looks.collect();
        memory.stored.truncate(crowd);
        cases.push(Case { group, statement: new.clone(), looks });
    }
    replay(memory, &data.rules, Group::Rule, ClaimKind::Convention, &mut cases);
    replay(memory, &data.adr, Group::Decision, ClaimKind::Decision, &mut cases);
    cases
}

fn look(memory: &Memory, id: &str, seen: Doubted, counts: bool) -> Look {
    Look {
        counts,
        blocked: seen.blocked,
        band: seen.band,
        id: question_id(id, seen.number),
        existing: memory.stored[seen.number].claim.claim().statement.clone(),
        seen,
    }
}

fn write_examples(cases: &[Case], path: Option<&Path>) -> Result<(), BenchError> {
    let mut file = ExampleFile::create(path)?;
    for (write, case) in cases.iter().enumerate() {
        let group = format!("{:?}", case.group).to_lowercase();
        for look in &case.looks {
            let example = GateExample::of(&look.seen, &group, &case.statement, &look.existing, look.counts);
            file.add(&GateExample { set: "gate", write, ..example })?;
        }
    }
    file.finish()
}

/// An id that tells a reader nothing: neither where the pair comes from nor that it is a labelled one.
fn question_id(case: &str, number: usize) -> String {
    blake3::hash(format!("{case}\n{number}").as_bytes()).to_hex().chars().take(12).collect()
}

fn replay(memory: &mut Memory, rows: &[CorpusRow], group: Group, kind: ClaimKind, cases: &mut Vec<Case>) {
    let mut project: Vec<&CorpusRow> = Vec::new();
    for row in rows {
        if project.first().is_none_or(|first| first.unit != row.unit) {
            memory.stored.clear();
            project.clear();
        }
        let ours = memory.read(kind, &row.text);
        let mut looks = Vec::new();
        for seen in memory.doubted(&ours) {
            let other = project[seen.number];
            let related = row.related_ids.contains(&other.id) || other.related_ids.contains(&row.id);
            looks.push(look(memory, &format!("write {}", row.id), seen, !related));
        }
        if !row.narrates_change {
            cases.push(Case { group, statement: row.text.clone(), looks });
        }
        memory.stored.push(ours);
        project.push(row);
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn row(name: &str, cases: &[Case]) -> GateRow {
    let of = |group: Group| -> Vec<&Case> { cases.iter().filter(|case| case.group == group).collect() };
    let held = |cases: &[&Case], least: Option<DoubtBand>| {
        let found = cases.iter().filter(|case| case.refused() || least.is_some_and(|least| case.in_band(least)));
        share(found.count(), cases.len())
    };
    let load = |group: Group| {
        let writes = of(group);
        let per_1000 = |least: DoubtBand| {
            let found = writes.iter().filter(|case| !case.refused() && case.in_band(least));
            1000.0 * share(found.count(), writes.len())
        };
        let questions: Vec<usize> = writes.iter().map(|case| case.asked()).filter(|asked| *asked > 0).collect();
        GateLoad {
            writes: writes.len(),
            asked_per_1000: per_1000(DoubtBand::Ask),
            mentioned_per_1000: per_1000(DoubtBand::Mention),
            pairs_per_question: share(questions.iter().sum(), questions.len()),
        }
    };
    let contradictions = of(Group::Contradiction);
    GateRow {
        name: name.to_owned(),
        contradictions: contradictions.len(),
        refused: held(&contradictions, None),
        asked: held(&contradictions, Some(DoubtBand::Ask)),
        mentioned: held(&contradictions, Some(DoubtBand::Mention)),
        replaced_decisions: held(&of(Group::Replaced), Some(DoubtBand::Mention)),
        rules: load(Group::Rule),
        decisions: load(Group::Decision),
        ..GateRow::default()
    }
}

fn asked(cases: &[Case], verdicts: &BTreeMap<String, PairVerdict>) -> AskedRow {
    let refused = |group: Group| cases.iter().filter(|case| case.group == group && case.refused_with(verdicts)).count();
    let all = |group: Group| cases.iter().filter(|case| case.group == group).count();
    let doubts = || cases.iter().flat_map(Case::questions);
    let right = refused(Group::Contradiction);
    AskedRow {
        questions: doubts().count(),
        answered: doubts().filter(|look| verdicts.contains_key(&look.id)).count(),
        recall: share(right, all(Group::Contradiction)),
        precision: share(right, right + refused(Group::Harmless)),
        replaced_decisions: share(refused(Group::Replaced), all(Group::Replaced)),
        false_per_1000_rules: 1000.0 * share(refused(Group::Rule), all(Group::Rule)),
        false_per_1000_decisions: 1000.0 * share(refused(Group::Decision), all(Group::Decision)),
    }
}

fn write_questions(cases: &[Case], path: &Path) -> Result<(), BenchError> {
    let line = |case: &Case, look: &Look| {
        let line = QuestionLine { id: &look.id, new: &case.statement, existing: &look.existing };
        serde_json::to_string(&line).unwrap_or_default() + "\n"
    };
    let mut lines: Vec<String> =
        cases.iter().flat_map(|case| case.questions().map(move |look| line(case, look))).collect();
    // By their ids, so that the order tells nothing either.
    lines.sort();
    let text = lines.concat();
    fs::write(path, text).map_err(|source| BenchError::Cache { path: path.to_owned(), source })
}

fn read_verdicts(path: &Path) -> Result<BTreeMap<String, PairVerdict>, BenchError> {
    let missing = || BenchError::Model(format!("{} is not there", path.display()));
    let rows = lines::<VerdictLine>(path)?.ok_or_else(missing)?;
    Ok(rows.into_iter().map(|row| (row.id, row.verdict)).collect())
}
