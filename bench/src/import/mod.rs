//! `ergo-bench import`: compares the claims that the importer finds in rule files with those that a careful person finds.
//!
//! The data is a folder of rule files `NAME.md`, each with a list of its claims in `NAME.claims`: one per line. `? ` in
//! front of a claim marks it as optional.

pub mod score;

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use ergo::{files, interchange::rules};

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// The reason why the data cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportBenchError {
    #[error("cannot read {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    /// The folder contains no rule file with a list of its claims.
    #[error("{} holds no NAME.md with a NAME.claims beside it", .0.display())]
    Empty(PathBuf),
}

/// Fractions are 0 to 1.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ImportBenchReport {
    /// The share of the found claims that are expected.
    pub precision: f64,
    /// The share of the expected claims that were found.
    pub recall: f64,
    pub files: Vec<RuleFileScore>,
}

/// The results on one file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RuleFileScore {
    pub name: String,
    /// Expected claims that were found; optional ones do not count.
    pub hits: usize,
    /// Expected claims that were not found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
    /// Found claims that were not expected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub surplus: Vec<String>,
}

/// Parses each rule file of a folder, and compares the found claims with the expected ones.
pub fn run(data: &Path) -> Result<ImportBenchReport, ImportBenchError> {
    let read_error = |path: &Path| {
        let path = path.to_owned();
        move |error| ImportBenchError::Io { path, error }
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(data).map_err(read_error(data))? {
        let path = entry.map_err(read_error(data))?.path();
        if path.extension().is_some_and(|extension| extension == "md") && path.with_extension("claims").exists() {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(ImportBenchError::Empty(data.to_owned()));
    }
    paths.sort();
    let mut report = ImportBenchReport::default();
    for path in paths {
        let text = files::text(&path, MAX_FILE).map_err(read_error(&path))?;
        let sidecar = path.with_extension("claims");
        let expected = score::expected(&files::text(&sidecar, MAX_FILE).map_err(read_error(&sidecar))?);
        let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let taken: Vec<String> = rules::parse(&name, &text).rules.into_iter().map(|rule| rule.statement).collect();
        let score::MatchedClaims { hits, missed, surplus } = score::matched(&expected, &taken);
        report.files.push(RuleFileScore { name, hits, missed, surplus });
    }
    let sum = |of: fn(&RuleFileScore) -> usize| report.files.iter().map(of).sum::<usize>() as f64;
    let (hits, missed, surplus) =
        (sum(|file| file.hits), sum(|file| file.missed.len()), sum(|file| file.surplus.len()));
    report.precision = hits / (hits + surplus).max(1.0);
    report.recall = hits / (hits + missed).max(1.0);
    Ok(report)
}

impl fmt::Display for ImportBenchReport {
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
