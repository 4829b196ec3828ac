//! The data files: JSON Lines, read leniently. Fields that are not needed are ignored.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ergo::files;
use serde::{Deserialize, de::DeserializeOwned};

/// The largest file of examples that is read, in bytes.
const MAX_DATA: u64 = 256 * 1024 * 1024;

/// Why the data could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A file or folder could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is not what it should be.
    #[error("{}:{line}: {source}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Two statements with a label.
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

/// A decision of a record.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Decision {
    pub(super) claim: String,
}

/// A record and the one that replaced it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SupersedeRow {
    #[serde(default)]
    pub(super) id: String,
    pub(super) old: Decision,
    pub(super) new: Decision,
    pub(super) label: String,
    #[serde(default)]
    pub(super) visible_in_text: String,
}

/// One sentence of a corpus that is replayed unit by unit.
#[derive(Clone, Debug)]
pub(super) struct CorpusRow {
    pub(super) id: String,
    pub(super) unit: String,
    pub(super) text: String,
    pub(super) seq: u64,
    /// Rows with which a contradiction is true.
    pub(super) related_ids: Vec<String>,
    /// It tells of a change, so that a block may be right: counted apart.
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
    /// The size in its name: `6k`.
    pub(super) size: String,
    pub(super) facts: Vec<FactRow>,
    pub(super) questions: Vec<QuestionRow>,
}

/// Everything that was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    pub(super) pairs: Vec<PairRow>,
    pub(super) supersede: Vec<SupersedeRow>,
    pub(super) rules: Vec<CorpusRow>,
    pub(super) adr: Vec<CorpusRow>,
    pub(super) facts: Vec<FactSet>,
    pub(super) skipped: Vec<String>,
}

/// The rows of a file; `None` where there is none.
pub(super) fn lines<T: DeserializeOwned>(path: &Path) -> Result<Option<Vec<T>>, DataError> {
    let text = match files::text(path, MAX_DATA) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(DataError::Read { path: path.to_owned(), source }),
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|source| DataError::Parse {
                path: path.to_owned(),
                line: number + 1,
                source,
            })
        })
        .collect::<Result<Vec<T>, _>>()
        .map(Some)
}

/// In order within each unit; units in the order of their first row.
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
    /// The same with the first rows of each corpus only.
    pub(super) fn part(&self, most: usize) -> Self {
        let mut part = self.clone();
        part.rules.truncate(most);
        part.adr.truncate(most);
        part
    }

    pub(super) fn load(folder: &Path) -> Result<Self, DataError> {
        let mut data = Self::default();
        let entries = fs::read_dir(folder).map_err(|source| DataError::Read { path: folder.to_owned(), source })?;
        let mut names: Vec<String> = entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
        names.sort_unstable();
        let missing = |name: &str, skipped: &mut Vec<String>| skipped.push(name.to_owned());
        match lines(&folder.join("pairs.jsonl"))? {
            Some(rows) => data.pairs = rows,
            None => missing("pairs.jsonl", &mut data.skipped),
        }
        match lines(&folder.join("adr_supersede.jsonl"))? {
            Some(rows) => data.supersede = rows,
            None => missing("adr_supersede.jsonl", &mut data.skipped),
        }
        match lines::<RawRule>(&folder.join("rules_corpus.jsonl"))? {
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
        match lines::<RawDecision>(&folder.join("adr_corpus.jsonl"))? {
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
            let (facts, questions) = (lines::<FactRow>(&folder.join(name))?, lines(&folder.join(questions))?);
            let mut facts = facts.unwrap_or_default();
            facts.sort_by_key(|fact| fact.seq);
            data.facts.push(FactSet { size, facts, questions: questions.unwrap_or_default() });
        }
        if data.facts.is_empty() {
            data.skipped.push("factconsolidation_*.facts.jsonl".into());
        }
        Ok(data)
    }
}
