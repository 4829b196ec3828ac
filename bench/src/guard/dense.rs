//! The row `dense`: what the guard refuses, asks about and mentions in projects whose claims are all near each other.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    GuardBenchError,
    gate_examples::{ExampleFile, GateExample},
    memory_project::{GatedClaim, MemoryProject},
};
use crate::measure::read_json_lines;
use ergo::{
    domain::{ClaimKind, DoubtBand, PairVerdict},
    guard::{COUNTED_ANSWERS, ask_shift},
};

/// The built-in projects.
const BUILT_IN: &str = include_str!("dense_scopes.toml");

/// A project with harmless writes and contradictions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DenseScope {
    pub(super) name: String,
    pub(super) claims: Vec<String>,
    pub(super) harmless: Vec<String>,
    /// Statements, each with the number of the claim that it contradicts.
    pub(super) clashes: Vec<(String, usize)>,
}

#[derive(Deserialize)]
struct DenseFile {
    scope: Vec<DenseScope>,
}

/// The number of harmless writes before each contradiction while questions are answered: contradictions are about as rare
/// among real writes.
const HARMLESS_PER_CLASH: usize = 10;

/// A write beside the claims of a project.
#[derive(Clone, Copy)]
struct DenseWrite<'a> {
    /// The number of the write in the project's data.
    number: usize,
    statement: &'a str,
    /// The claim that it contradicts; `None` for a harmless one.
    target: Option<usize>,
}

impl DenseScope {
    /// Returns the harmless writes, then the contradictions.
    fn writes(&self) -> Vec<DenseWrite<'_>> {
        let harmless = self.harmless.iter().map(|statement| (statement, None));
        let clashes = self.clashes.iter().map(|(statement, claim)| (statement, Some(*claim)));
        let numbered = harmless.chain(clashes).enumerate();
        numbered.map(|(number, (statement, target))| DenseWrite { number, statement, target }).collect()
    }

    /// Returns the writes with a contradiction after every [`HARMLESS_PER_CLASH`] harmless ones, and the contradictions that
    /// are left.
    fn mixed(&self) -> (Vec<DenseWrite<'_>>, Vec<DenseWrite<'_>>) {
        let (mut harmless, mut clashes) = (self.writes(), Vec::new());
        clashes.extend(harmless.drain(self.harmless.len()..));
        let mut clashes = clashes.into_iter();
        let mut mixed = Vec::new();
        for some in harmless.chunks(HARMLESS_PER_CLASH) {
            mixed.extend_from_slice(some);
            if some.len() == HARMLESS_PER_CLASH {
                mixed.extend(clashes.next());
            }
        }
        (mixed, clashes.collect())
    }
}

/// The results in some projects.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DenseRow {
    /// `words`, or `models` with a cross-encoder; `models, answered` if answers also made further questions rarer.
    pub name: String,
    /// The project, or the number of projects and their file.
    pub scope: String,
    /// The claims of the projects.
    pub claims: usize,
    /// Writes that contradict nothing.
    pub harmless: DenseCounts,
    /// Writes that contradict a claim. Findings about other claims do not count.
    pub clashes: DenseCounts,
}

/// Writes by outcome.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DenseCounts {
    pub writes: usize,
    pub refused: usize,
    /// Not refused, but asked about.
    pub asked: usize,
    /// Neither refused nor asked about, but answered with a mention.
    pub mentioned: usize,
}

impl DenseRow {
    /// Counts a write. Findings about other claims than the contradicted one do not count.
    fn add(&mut self, write: DenseWrite<'_>, nearby: &[GatedClaim]) {
        let counts = |one: &&GatedClaim| write.target.is_none_or(|target| one.number == target);
        let counted: Vec<&GatedClaim> = nearby.iter().filter(counts).collect();
        if write.target.is_some() { &mut self.clashes } else { &mut self.harmless }.add(&counted);
    }
}

impl DenseCounts {
    fn add(&mut self, nearby: &[&GatedClaim]) {
        let in_band = |band| nearby.iter().any(|one| one.band == Some(band));
        self.writes += 1;
        if nearby.iter().any(|one| one.blocked) {
            self.refused += 1;
        } else if in_band(DoubtBand::Ask) {
            self.asked += 1;
        } else if in_band(DoubtBand::Mention) {
            self.mentioned += 1;
        }
    }

    /// Returns the number of writes without a finding.
    pub(super) fn silent(self) -> usize {
        self.writes - self.refused - self.asked - self.mentioned
    }
}

/// Returns the built-in projects.
pub(super) fn built_in() -> Result<Vec<DenseScope>, GuardBenchError> {
    let file: DenseFile =
        toml::from_str(BUILT_IN).map_err(|error| GuardBenchError::Model(format!("dense_scopes.toml: {error}")))?;
    Ok(file.scope)
}

/// Returns the projects of each row, with its name: one row per built-in project, and one per file.
fn groups(files: &[PathBuf]) -> Result<Vec<(String, Vec<DenseScope>)>, GuardBenchError> {
    let mut groups: Vec<_> = built_in()?.into_iter().map(|scope| (scope.name.clone(), vec![scope])).collect();
    for path in files {
        let scopes: Vec<DenseScope> = read_json_lines(path)?;
        groups.push((format!("{} of {}", scopes.len(), path.display()), scopes));
    }
    Ok(groups)
}

/// Replaces the claims of the project in memory by those of `scope`.
fn store_claims(project: &mut MemoryProject, scope: &DenseScope) {
    project.stored.clear();
    for claim in &scope.claims {
        project.store(ClaimKind::Decision, claim);
    }
}

/// Returns the nearby claims of a write, which is not stored.
fn nearby_claims(project: &mut MemoryProject, write: DenseWrite<'_>) -> Vec<GatedClaim> {
    let ours = project.parse(ClaimKind::Decision, write.statement);
    project.gated_claims(&ours)
}

/// Measures a row for each of the [`groups`]. `write` writes to a project and counts the results in the row.
fn rows(
    name: &str,
    project: &mut MemoryProject,
    files: &[PathBuf],
    mut write: impl FnMut(&mut MemoryProject, &DenseScope, &mut DenseRow) -> Result<(), GuardBenchError>,
) -> Result<Vec<DenseRow>, GuardBenchError> {
    let mut rows = Vec::new();
    for (group, scopes) in groups(files)? {
        let mut row = DenseRow { name: name.to_owned(), scope: group, ..DenseRow::default() };
        for scope in &scopes {
            row.claims += scope.claims.len();
            store_claims(project, scope);
            write(project, scope, &mut row)?;
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Measures the built-in projects, each in a row of its own, and those of `files` in a row for each file.
pub(super) fn measure(
    name: &str,
    project: &mut MemoryProject,
    files: &[PathBuf],
    examples: Option<&Path>,
) -> Result<Vec<DenseRow>, GuardBenchError> {
    let mut examples = ExampleFile::create(examples)?;
    let rows = rows(name, project, files, |project, scope, row| {
        for write in scope.writes() {
            let nearby = nearby_claims(project, write);
            for one in &nearby {
                let group = if write.target.is_some() { "contradiction" } else { "harmless" };
                let existing = &project.stored[one.number].claim.claim().statement;
                let target = write.target == Some(one.number);
                let example = GateExample::of(one, group, write.statement, existing, target);
                examples.add(&GateExample { set: &scope.name, write: write.number, ..example })?;
            }
            row.add(write, &nearby);
        }
        Ok(())
    })?;
    examples.finish()?;
    Ok(rows)
}

/// Like [`measure`], but each question is answered by its label, so that questions in vain make further ones in the same
/// project rarer. After the mixed writes, the threshold stays as it is.
pub(super) fn measure_answered(
    name: &str,
    project: &mut MemoryProject,
    files: &[PathBuf],
) -> Result<Vec<DenseRow>, GuardBenchError> {
    let rows = rows(name, project, files, |project, scope, row| {
        let mut answers = Vec::new();
        let (mixed, rest) = scope.mixed();
        let written = mixed.len();
        for (at, write) in mixed.into_iter().enumerate() {
            project.ask_shift = shift_after(&answers, at);
            let nearby = nearby_claims(project, write);
            answers.extend(verdicts(write, &nearby).into_iter().map(|verdict| (at, verdict)));
            row.add(write, &nearby);
        }
        project.ask_shift = shift_after(&answers, written);
        for write in rest {
            let nearby = nearby_claims(project, write);
            row.add(write, &nearby);
        }
        Ok(())
    })?;
    project.ask_shift = 0.0;
    Ok(rows)
}

/// Returns the shift of the threshold after these answers, each with the number of its write, and `written` writes.
fn shift_after(answers: &[(usize, PairVerdict)], written: usize) -> f32 {
    let counted = &answers[answers.len().saturating_sub(COUNTED_ANSWERS)..];
    let verdicts: Vec<PairVerdict> = counted.iter().map(|(_, verdict)| *verdict).collect();
    ask_shift(&verdicts, counted.first().map_or(0, |(at, _)| written - at))
}

/// Returns the answers of a writer who knows which claim the write contradicts; none if the write is refused.
fn verdicts(write: DenseWrite<'_>, nearby: &[GatedClaim]) -> Vec<PairVerdict> {
    if nearby.iter().any(|one| one.blocked) {
        return Vec::new();
    }
    let verdict = |one: &GatedClaim| {
        if write.target == Some(one.number) { PairVerdict::Contradicts } else { PairVerdict::Compatible }
    };
    nearby.iter().filter(|one| one.band == Some(DoubtBand::Ask)).map(verdict).collect()
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

    #[test]
    fn contradictions_are_rare_among_the_writes_whose_questions_are_answered() {
        for scope in built_in().unwrap() {
            let (mixed, rest) = scope.mixed();
            let clashes = |writes: &[DenseWrite<'_>]| writes.iter().filter(|write| write.target.is_some()).count();
            assert_eq!(mixed.len() - clashes(&mixed), scope.harmless.len());
            assert_eq!(clashes(&mixed), scope.harmless.len() / HARMLESS_PER_CLASH);
            assert_eq!((clashes(&mixed) + rest.len(), clashes(&rest)), (scope.clashes.len(), rest.len()));
            assert!(mixed[HARMLESS_PER_CLASH].target.is_some());
        }
    }

    #[test]
    fn a_refused_write_answers_nothing() {
        let write = DenseWrite { number: 0, statement: "", target: Some(2) };
        let doubt = |number, blocked, band| GatedClaim { number, blocked, band, features: None };
        let asked = [doubt(1, false, Some(DoubtBand::Ask)), doubt(2, false, Some(DoubtBand::Ask))];
        assert_eq!(verdicts(write, &asked), [PairVerdict::Compatible, PairVerdict::Contradicts]);
        assert_eq!(verdicts(write, &[doubt(1, false, Some(DoubtBand::Mention))]), []);
        let [one, two] = asked;
        assert_eq!(verdicts(write, &[one, two, doubt(3, true, None)]), []);
    }
}
