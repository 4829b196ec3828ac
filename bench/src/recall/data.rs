//! The data of `ergo-bench recall`: memories and questions. Their format is in bench/recall-quality.md.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::measure::{JsonLinesError, read_json_lines};
use ergo::domain::ClaimKind;

/// The reason why data cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecallDataError {
    #[error(transparent)]
    JsonLines(#[from] JsonLinesError),
    /// A question expects a memory that does not exist.
    #[error("{path}: “{question}” expects {id}, which no memory has as its id")]
    UnknownMemory { path: PathBuf, question: String, id: String },
}

/// One line of memories.jsonl.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct MemoryRow {
    /// Identifies the memory in this data: a string or a number.
    #[serde(deserialize_with = "id")]
    pub id: String,
    #[serde(alias = "statement")]
    pub text: String,
    #[serde(default)]
    pub kind: ClaimKind,
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub source: Option<String>,
    /// The ids of the earlier memories that it supersedes.
    #[serde(default, deserialize_with = "ids")]
    pub replaces: Vec<String>,
    /// The reason for retracting it, if it was retracted.
    #[serde(default)]
    pub retracted: Option<String>,
}

/// One line of queries.jsonl.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct QueryRow {
    #[serde(alias = "query", alias = "text")]
    pub question: String,
    /// The ids of the memories that answer the question; empty, null or absent if none does.
    #[serde(default, alias = "expected_ids", alias = "ids", deserialize_with = "ids")]
    pub expected: Vec<String>,
    /// The sort of question. Each is reported separately.
    #[serde(default = "unsorted", alias = "class")]
    pub sort: String,
    /// Whether memories that are no longer in force are asked for, too.
    #[serde(default)]
    pub include_history: bool,
    /// Whether the question is only used for measuring, not for fitting.
    #[serde(default)]
    pub held_out: bool,
}

fn unsorted() -> String {
    "all".to_owned()
}

fn id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(id_of(&Value::deserialize(from)?))
}

fn ids<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Array(all) => all.iter().map(id_of).collect(),
        one => vec![id_of(&one)],
    })
}

fn id_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Reads the memories and questions of a folder.
pub fn read(folder: &Path) -> Result<(Vec<MemoryRow>, Vec<QueryRow>), RecallDataError> {
    let memories: Vec<MemoryRow> = read_json_lines(&folder.join("memories.jsonl"))?;
    let path = folder.join("queries.jsonl");
    let queries: Vec<QueryRow> = read_json_lines(&path)?;
    let known: HashSet<&str> = memories.iter().map(|memory| memory.id.as_str()).collect();
    for query in &queries {
        if let Some(id) = query.expected.iter().find(|id| !known.contains(id.as_str())) {
            return Err(RecallDataError::UnknownMemory { path, question: query.question.clone(), id: id.clone() });
        }
    }
    Ok((memories, queries))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(memories: &str, queries: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("memories.jsonl"), memories).unwrap();
        fs::write(folder.path().join("queries.jsonl"), queries).unwrap();
        folder
    }

    #[test]
    fn a_bare_format_is_enough() {
        let folder = folder(
            "{\"id\": 1, \"text\": \"Doors are blue\"}\n\n{\"id\": \"b\", \"text\": \"No\", \"kind\": \"rejection\", \"replaces\": 1}\n",
            "{\"question\": \"Which colour?\", \"expected\": [1]}\n{\"query\": \"And why?\", \"expected_ids\": null}\n{\"question\": \"?\"}\n",
        );
        let (memories, queries) = read(folder.path()).unwrap();
        assert_eq!((memories[0].id.as_str(), memories[0].kind), ("1", ClaimKind::Decision));
        assert_eq!((memories[1].kind, memories[1].replaces.as_slice()), (ClaimKind::Rejection, &["1".to_owned()][..]));
        let expected: Vec<_> = queries.iter().map(|query| query.expected.clone()).collect();
        assert_eq!(expected, [vec!["1".to_owned()], vec![], vec![]]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = read(folder("{\"id\": 1, \"text\": \"a\"}\n{\"id\": 2}\n", "").path()).unwrap_err();
        assert!(wrong.to_string().contains("memories.jsonl:2: missing field `text`"), "{wrong}");
        let wrong = read(folder("", "{\"question\": \"x\", \"expected\": [\"c9\"]}\n").path()).unwrap_err();
        assert!(wrong.to_string().contains("expects c9"), "{wrong}");
    }
}
