//! The row `dense`: what the guard refuses, asks and mentions in projects in which every claim is near every other.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    BenchError,
    data::lines,
    gate_examples::{ExampleFile, GateExample},
    memory::{Doubted, Memory},
};
use ergo::domain::{ClaimKind, DoubtBand};

/// The projects that are built in.
const BUILT_IN: &str = include_str!("dense_scopes.toml");

/// A project with harmless writes and contradictions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DenseScope {
    pub(super) name: String,
    pub(super) claims: Vec<String>,
    pub(super) harmless: Vec<String>,
    /// Each with the number of the claim that it contradicts.
    pub(super) clashes: Vec<(String, usize)>,
}

#[derive(Deserialize)]
struct DenseFile {
    scope: Vec<DenseScope>,
}

/// What became of writes beside the claims of some projects.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DenseRow {
    /// `words`, or `models` if a cross-encoder was asked.
    pub name: String,
    /// The project, or how many of a file.
    pub scope: String,
    /// Claims that stand there.
    pub claims: usize,
    /// Writes that contradict nothing.
    pub harmless: DenseCounts,
    /// Writes that contradict a claim. What is said of another claim does not count.
    pub clashes: DenseCounts,
}

/// Writes by what became of them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DenseCounts {
    pub writes: usize,
    pub refused: usize,
    /// Not refused, and asked about.
    pub asked: usize,
    /// Neither, and answered with a mention.
    pub mentioned: usize,
}

impl DenseCounts {
    fn add(&mut self, seen: &[&Doubted]) {
        let in_band = |band| seen.iter().any(|one| one.band == Some(band));
        self.writes += 1;
        if seen.iter().any(|one| one.blocked) {
            self.refused += 1;
        } else if in_band(DoubtBand::Ask) {
            self.asked += 1;
        } else if in_band(DoubtBand::Mention) {
            self.mentioned += 1;
        }
    }

    /// Writes of which nothing was said.
    pub(super) fn silent(self) -> usize {
        self.writes - self.refused - self.asked - self.mentioned
    }
}

/// The projects that are built in.
pub(super) fn built_in() -> Result<Vec<DenseScope>, BenchError> {
    let file: DenseFile =
        toml::from_str(BUILT_IN).map_err(|error| BenchError::Model(format!("dense_scopes.toml: {error}")))?;
    Ok(file.scope)
}

/// The projects of a file of JSON lines.
pub(super) fn read(path: &Path) -> Result<Vec<DenseScope>, BenchError> {
    lines(path)?.ok_or_else(|| BenchError::Model(format!("{} is not there", path.display())))
}

/// Measures the built-in projects, each in a row of its own, and those of `files` in a row for each file.
pub(super) fn measure(
    name: &str,
    memory: &mut Memory,
    files: &[PathBuf],
    examples: Option<&Path>,
) -> Result<Vec<DenseRow>, BenchError> {
    let mut groups: Vec<(String, Vec<DenseScope>)> =
        built_in()?.into_iter().map(|scope| (scope.name.clone(), vec![scope])).collect();
    for path in files {
        let scopes = read(path)?;
        groups.push((format!("{} of {}", scopes.len(), path.display()), scopes));
    }
    let mut examples = ExampleFile::create(examples)?;
    let mut rows = Vec::new();
    for (group, scopes) in groups {
        let mut row = DenseRow { name: name.to_owned(), scope: group, ..DenseRow::default() };
        for scope in &scopes {
            row.claims += scope.claims.len();
            memory.stored.clear();
            for claim in &scope.claims {
                memory.keep(ClaimKind::Decision, claim);
            }
            let harmless = scope.harmless.iter().map(|write| (write, None));
            let clashes = scope.clashes.iter().map(|(write, claim)| (write, Some(*claim)));
            for (number, (write, target)) in harmless.chain(clashes).enumerate() {
                let ours = memory.read(ClaimKind::Decision, write);
                let seen = memory.doubted(&ours);
                for one in &seen {
                    let group = if target.is_some() { "contradiction" } else { "harmless" };
                    let existing = &memory.stored[one.number].claim.claim().statement;
                    let example = GateExample::of(one, group, write, existing, target == Some(one.number));
                    examples.add(&GateExample { set: &scope.name, write: number, ..example })?;
                }
                // What is said of another claim than the contradicted one does not count.
                let counted: Vec<&Doubted> =
                    seen.iter().filter(|one| target.is_none_or(|target| one.number == target)).collect();
                if target.is_some() { &mut row.clashes } else { &mut row.harmless }.add(&counted);
            }
        }
        rows.push(row);
    }
    examples.finish()?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_projects_are_large_enough_and_name_claims_of_theirs() {
        let scopes = built_in().unwrap();
        assert_eq!(scopes.len(), 2);
        for scope in scopes {
            assert!(scope.claims.len() >= 25 && scope.harmless.len() >= 40 && scope.clashes.len() >= 25);
            assert!(scope.clashes.iter().all(|(_, claim)| *claim < scope.claims.len()), "{}", scope.name);
        }
    }
}
