//! The data of `ergo-bench guard`: files of JSON lines. Further fields are ignored.

use std::{fs, path::Path};

use serde::Deserialize;

use crate::measure::{JsonLinesError, read_json_lines, read_json_lines_if_any};

/// A labelled pair of statements.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PairRow {
    #[serde(default)]
    pub(super) id: String,
    pub(super) a: String,
    pub(super) b: String,
    pub(super) label: String,
    #[serde(default)]
    pub(super) phenomenon: String,
    #[serde(default)]
    pub(super) accept_tiers: Vec<String>,
}

/// The decision of a decision record.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct RecordedDecision {
    pub(super) claim: String,
}

/// A decision record and its successor.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SupersedeRow {
    #[serde(default)]
    pub(super) id: String,
    pub(super) old: RecordedDecision,
    pub(super) new: RecordedDecision,
    pub(super) label: String,
    #[serde(default)]
    pub(super) visible_in_text: String,
}

/// A sentence of a corpus that is replayed unit by unit.
#[derive(Clone, Debug)]
pub(super) struct CorpusRow {
    pub(super) id: String,
    pub(super) unit: String,
    pub(super) text: String,
    pub(super) seq: u64,
    /// Rows that the sentence may rightly contradict.
    pub(super) related_ids: Vec<String>,
    /// Whether the sentence tells of a change. Refusing it may be right, so it is counted separately.
    pub(super) narrates_change: bool,
}

#[derive(Clone, Debug, Deserialize)]
struct RawRule {
    #[serde(default)]
    id: String,
    #[serde(default)]
    unit: String,
    text: String,
    #[serde(default)]
    seq: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct RawDecision {
    #[serde(default)]
    id: String,
    #[serde(default)]
    repo: String,
    claim: String,
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    related_ids: Vec<String>,
    #[serde(default)]
    narrates_change: bool,
}

/// A statement of a fact set.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct FactRow {
    #[serde(default)]
    pub(super) seq: u64,
    pub(super) statement: String,
}

/// A question to a fact set.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct QuestionRow {
    pub(super) question: String,
    pub(super) gold_answers: Vec<String>,
}

/// A fact set with its questions.
#[derive(Clone, Debug)]
pub(super) struct FactSet {
    /// The size in the file name, such as `6k`.
    pub(super) size: String,
    pub(super) facts: Vec<FactRow>,
    pub(super) questions: Vec<QuestionRow>,
}

/// The contents of a data folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    pub(super) pairs: Vec<PairRow>,
    pub(super) supersede: Vec<SupersedeRow>,
    pub(super) rules: Vec<CorpusRow>,
    pub(super) adr: Vec<CorpusRow>,
    pub(super) facts: Vec<FactSet>,
    /// Missing files.
    pub(super) skipped: Vec<String>,
}

/// Sorts rows by unit, in the order of the units' first rows, then by sequence number.
fn in_order(mut rows: Vec<CorpusRow>) -> Vec<CorpusRow> {
    let mut units: Vec<String> = Vec::new();
    for row in &rows {
        if !units.contains(&row.unit) {
            units.push(row.unit.clone());
        }
    }
    rows.sort_by_key(|row| (units.iter().position(|unit| *unit == row.unit), row.seq));
    rows
}

impl Data {
    /// Returns the data with at most `most` rows of each corpus.
    pub(super) fn with_at_most(&self, most: usize) -> Self {
        let mut part = self.clone();
        part.rules.truncate(most);
        part.adr.truncate(most);
        part
    }

    pub(super) fn load(folder: &Path) -> Result<Self, JsonLinesError> {
        let mut data = Self::default();
        let entries = fs::read_dir(folder).map_err(|error| JsonLinesError::Read { path: folder.to_owned(), error })?;
        let mut names: Vec<String> = entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
        names.sort_unstable();
        let missing = |name: &str, skipped: &mut Vec<String>| skipped.push(name.to_owned());
        match read_json_lines_if_any(&folder.join("pairs.jsonl"))? {
            Some(rows) => data.pairs = rows,
            None => missing("pairs.jsonl", &mut data.skipped),
        }
        match read_json_lines_if_any(&folder.join("adr_supersede.jsonl"))? {
            Some(rows) => data.supersede = rows,
            None => missing("adr_supersede.jsonl", &mut data.skipped),
        }
        match read_json_lines_if_any::<RawRule>(&folder.join("rules_corpus.jsonl"))? {
            Some(rows) => {
                data.rules = in_order(
                    rows.into_iter()
                        .map(|r| CorpusRow {
                            id: r.id,
                            unit: r.unit,
                            text: r.text,
                            seq: r.seq,
                            related_ids: Vec::new(),
                            narrates_change: false,
                        })
                        .collect(),
                );
            }
            None => missing("rules_corpus.jsonl", &mut data.skipped),
        }
        match read_json_lines_if_any::<RawDecision>(&folder.join("adr_corpus.jsonl"))? {
            Some(rows) => {
                data.adr = in_order(
                    rows.into_iter()
                        .map(|r| CorpusRow {
                            id: r.id,
                            unit: r.repo,
                            text: r.claim,
                            seq: r.seq,
                            related_ids: r.related_ids,
                            narrates_change: r.narrates_change,
                        })
                        .collect(),
                );
            }
            None => missing("adr_corpus.jsonl", &mut data.skipped),
        }
        for name in names.iter().filter(|n| n.starts_with("factconsolidation_") && n.ends_with(".facts.jsonl")) {
            let size = name.trim_start_matches("factconsolidation_").trim_end_matches(".facts.jsonl").to_owned();
            // factconsolidation_6k.facts.jsonl has factconsolidation_sh_6k.questions.jsonl.
            let Some(questions) = names
                .iter()
                .find(|n| n.starts_with("factconsolidation_") && n.ends_with(&format!("_{size}.questions.jsonl")))
            else {
                data.skipped.push(format!("{name}: no file of questions"));
                continue;
            };
            let (mut facts, questions) =
                (read_json_lines::<FactRow>(&folder.join(name))?, read_json_lines(&folder.join(questions))?);
            facts.sort_by_key(|fact| fact.seq);
            data.facts.push(FactSet { size, facts, questions });
        }
        if data.facts.is_empty() {
            data.skipped.push("factconsolidation_*.facts.jsonl".into());
        }
        Ok(data)
    }
}
