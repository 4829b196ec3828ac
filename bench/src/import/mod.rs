//! `ergo-bench import`: compares the claims that the importer takes from rule files with those that a careful person
//! would take.
//!
//! The data is a folder of rule files, each with a list of its claims beside it: `NAME.md` and `NAME.claims`, a claim a line, in
//! which `? ` marks those that a person might as well leave out.

pub mod score;

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use ergo::{files, interchange::rules};

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// The data cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A file or the folder cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The folder holds no rule file with a list of its claims.
    #[error("{} holds no NAME.md with a NAME.claims beside it", .0.display())]
    Empty(PathBuf),
}

/// What was measured. Fractions are 0 to 1.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The share of the claims that were taken which a person would take.
    pub precision: f64,
    /// The share of the claims that a person would take which were taken.
    pub recall: f64,
    /// One entry for each file.
    pub files: Vec<File>,
}

/// One file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct File {
    pub name: String,
    /// Claims that were expected and taken.
    pub hits: usize,
    /// Claims that were expected and not taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
    /// Claims that were taken and not expected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub surplus: Vec<String>,
}

/// Reads every rule file of a folder and compares what was taken with what was expected.
///
/// # Errors
/// Where the data cannot be read.
pub fn run(data: &Path) -> Result<Report, BenchError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| BenchError::Io { path, error }
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(data).map_err(failed(data))? {
        let path = entry.map_err(failed(data))?.path();
        if path.extension().is_some_and(|extension| extension == "md") && path.with_extension("claims").exists() {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(BenchError::Empty(data.to_owned()));
    }
    paths.sort();
    let mut report = Report::default();
    for path in paths {
        let text = files::text(&path, MAX_FILE).map_err(failed(&path))?;
        let sidecar = path.with_extension("claims");
        let expected = score::expected(&files::text(&sidecar, MAX_FILE).map_err(failed(&sidecar))?);
        let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let taken: Vec<String> = rules::parse(&name, &text).rules.into_iter().map(|rule| rule.statement).collect();
        let score::Matched { hits, missed, surplus } = score::matched(&expected, &taken);
        report.files.push(File { name, hits, missed, surplus });
    }
    let sum = |of: fn(&File) -> usize| report.files.iter().map(of).sum::<usize>() as f64;
    let (hits, missed, surplus) =
        (sum(|file| file.hits), sum(|file| file.missed.len()), sum(|file| file.surplus.len()));
    report.precision = hits / (hits + surplus).max(1.0);
    report.recall = hits / (hits + missed).max(1.0);
    Ok(report)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<24} {:>6} {:>6} {:>7}", "file", "taken", "missed", "surplus")?;
        for file in &self.files {
            writeln!(f, "{:<24} {:>6} {:>6} {:>7}", file.name, file.hits, file.missed.len(), file.surplus.len())?;
            for missed in &file.missed {
                writeln!(f, "  missed   {missed}")?;
            }
            for surplus in &file.surplus {
                writeln!(f, "  surplus  {surplus}")?;
            }
        }
        writeln!(f, "precision {:.3}, recall {:.3}", self.precision, self.recall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_takes_what_a_careful_person_would_take() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/import");
        let report = run(&data).unwrap();
        assert_eq!(report.files.len(), 20);
        assert!(report.precision >= 0.9 && report.recall >= 0.9, "{report}");
    }
}
