//! The data: claims and questions. Their format is in docs/recall.md.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

use ergo::{domain::ClaimKind, files};

/// The largest file of examples that is read, in bytes.
const MAX_DATA: u64 = 256 * 1024 * 1024;

/// Why data cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A file is not there.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A line is not what it should be.
    #[error("{path}:{line}: {error}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// A question expects something that is not remembered.
    #[error("{path}: “{question}” expects {id}, which no memory has as its id")]
    Unknown {
        /// The file.
        path: PathBuf,
        question: String,
        id: String,
    },
}

/// One line of memories.jsonl.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Memory {
    /// Its name in this data: a string or a number.
    #[serde(deserialize_with = "name")]
    pub id: String,
    /// The statement.
    #[serde(alias = "statement")]
    pub text: String,
    /// Its kind; a decision unless it is said.
    #[serde(default)]
    pub kind: ClaimKind,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
    /// Where it comes from.
    #[serde(default)]
    pub source: Option<String>,
    /// The earlier memories whose place it takes.
    #[serde(default, deserialize_with = "names")]
    pub replaces: Vec<String>,
    /// Why it was retracted, where it was.
    #[serde(default)]
    pub retracted: Option<String>,
}

/// One line of queries.jsonl.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Query {
    /// What is asked.
    #[serde(alias = "query", alias = "text")]
    pub question: String,
    /// The memories of which any answers it; empty, null or absent where nothing does.
    #[serde(default, alias = "expected_ids", alias = "ids", deserialize_with = "names")]
    pub expected: Vec<String>,
    /// What sort of question it is: reported apart.
    #[serde(default = "unsorted", alias = "class")]
    pub sort: String,
    /// Whether what is no longer in force is asked for, too.
    #[serde(default)]
    pub include_history: bool,
    /// Whether nothing may be fitted on it: it only measures.
    #[serde(default)]
    pub held_out: bool,
}

fn unsorted() -> String {
    "all".to_owned()
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(named(&Value::deserialize(from)?))
}

fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Array(all) => all.iter().map(named).collect(),
        one => vec![named(&one)],
    })
}

fn named(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Reads both files of a folder.
///
/// # Errors
/// [`DataError`], with the file and the line.
pub fn read(folder: &Path) -> Result<(Vec<Memory>, Vec<Query>), DataError> {
    let memories: Vec<Memory> = lines(&folder.join("memories.jsonl"))?;
    let path = folder.join("queries.jsonl");
    let queries: Vec<Query> = lines(&path)?;
    let known: std::collections::HashSet<&str> = memories.iter().map(|memory| memory.id.as_str()).collect();
    for query in &queries {
        if let Some(id) = query.expected.iter().find(|id| !known.contains(id.as_str())) {
            return Err(DataError::Unknown { path, question: query.question.clone(), id: id.clone() });
        }
    }
    Ok((memories, queries))
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, DataError> {
    let text = files::text(path, MAX_DATA).map_err(|error| DataError::Io { path: path.to_owned(), error })?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| DataError::Line { path: path.to_owned(), line: at + 1, error })
        })
        .collect()
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
