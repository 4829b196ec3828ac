//! The row `dense`: what the guard refuses, asks and mentions in projects in which every claim is near every other.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    BenchError,
    data::lines,
    gate_examples::{ExampleFile, GateExample},
    memory::{Doubted, Memory},
};
use ergo::{
    domain::{ClaimKind, DoubtBand, PairVerdict},
    guard::{COUNTED_ANSWERS, ask_shift},
};

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

/// So many harmless writes come before each contradiction while questions are answered: about as rare as contradictions are among real writes.
const HARMLESS_PER_CLASH: usize = 10;

/// A write beside the claims of a project.
#[derive(Clone, Copy)]
struct DenseWrite<'a> {
    /// Its place in the project's data.
    number: usize,
    statement: &'a str,
    /// The claim that it contradicts; `None` for a harmless one.
    target: Option<usize>,
}

impl DenseScope {
    /// The harmless writes, then the contradictions.
    fn writes(&self) -> Vec<DenseWrite<'_>> {
        let harmless = self.harmless.iter().map(|statement| (statement, None));
        let clashes = self.clashes.iter().map(|(statement, claim)| (statement, Some(*claim)));
        let numbered = harmless.chain(clashes).enumerate();
        numbered.map(|(number, (statement, target))| DenseWrite { number, statement, target }).collect()
    }

    /// The writes with a contradiction after every [`HARMLESS_PER_CLASH`] harmless ones, then the contradictions that are left.
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

/// What became of writes beside the claims of some projects.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DenseRow {
    /// `words`, or `models` if a cross-encoder was asked; `models, answered` if questions in vain made further ones rarer, too.
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

impl DenseRow {
    /// Counts a write. What is said of another claim than the contradicted one does not count.
    fn add(&mut self, write: DenseWrite<'_>, seen: &[Doubted]) {
        let counts = |one: &&Doubted| write.target.is_none_or(|target| one.number == target);
        let counted: Vec<&Doubted> = seen.iter().filter(counts).collect();
        if write.target.is_some() { &mut self.clashes } else { &mut self.harmless }.add(&counted);
    }
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

/// The built-in projects, each a group of its own, and those of each file, with what a row calls them.
fn groups(files: &[PathBuf]) -> Result<Vec<(String, Vec<DenseScope>)>, BenchError> {
    let mut groups: Vec<_> = built_in()?.into_iter().map(|scope| (scope.name.clone(), vec![scope])).collect();
    for path in files {
        let scopes = read(path)?;
        groups.push((format!("{} of {}", scopes.len(), path.display()), scopes));
    }
    Ok(groups)
}

/// Puts the claims of a project into the memory, and nothing else.
fn keep_claims(memory: &mut Memory, scope: &DenseScope) {
    memory.stored.clear();
    for claim in &scope.claims {
        memory.keep(ClaimKind::Decision, claim);
    }
}

fn doubted(memory: &mut Memory, write: DenseWrite<'_>) -> Vec<Doubted> {
    let ours = memory.read(ClaimKind::Decision, write.statement);
    memory.doubted(&ours)
}

/// A row for each of the [`groups`]: `write` brings the writes of a project to its claims, and counts them in the row.
fn rows(
    name: &str,
    memory: &mut Memory,
    files: &[PathBuf],
    mut write: impl FnMut(&mut Memory, &DenseScope, &mut DenseRow) -> Result<(), BenchError>,
) -> Result<Vec<DenseRow>, BenchError> {
    let mut rows = Vec::new();
    for (group, scopes) in groups(files)? {
        let mut row = DenseRow { name: name.to_owned(), scope: group, ..DenseRow::default() };
        for scope in &scopes {
            row.claims += scope.claims.len();
            keep_claims(memory, scope);
            write(memory, scope, &mut row)?;
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Measures the built-in projects, each in a row of its own, and those of `files` in a row for each file.
pub(super) fn measure(
    name: &str,
    memory: &mut Memory,
    files: &[PathBuf],
    examples: Option<&Path>,
) -> Result<Vec<DenseRow>, BenchError> {
    let mut examples = ExampleFile::create(examples)?;
    let rows = rows(name, memory, files, |memory, scope, row| {
        for write in scope.writes() {
            let seen = doubted(memory, write);
            for one in &seen {
                let group = if write.target.is_some() { "contradiction" } else { "harmless" };
                let existing = &memory.stored[one.number].claim.claim().statement;
                let target = write.target == Some(one.number);
                let example = GateExample::of(one, group, write.statement, existing, target);
                examples.add(&GateExample { set: &scope.name, write: write.number, ..example })?;
            }
            row.add(write, &seen);
        }
        Ok(())
    })?;
    examples.finish()?;
    Ok(rows)
}

/// [`measure`] with each question answered by its label, so that questions in vain make further ones in the same project rarer. After the mixed
/// writes the threshold stays where it is.
pub(super) fn measure_answered(
    name: &str,
    memory: &mut Memory,
    files: &[PathBuf],
) -> Result<Vec<DenseRow>, BenchError> {
    let rows = rows(name, memory, files, |memory, scope, row| {
        let mut answers = Vec::new();
        let (mixed, rest) = scope.mixed();
        let written = mixed.len();
        for (at, write) in mixed.into_iter().enumerate() {
            memory.ask_shift = shift_after(&answers, at);
            let seen = doubted(memory, write);
            answers.extend(verdicts(write, &seen).into_iter().map(|verdict| (at, verdict)));
            row.add(write, &seen);
        }
        memory.ask_shift = shift_after(&answers, written);
        for write in rest {
            let seen = doubted(memory, write);
            row.add(write, &seen);
        }
        Ok(())
    })?;
    memory.ask_shift = 0.0;
    Ok(rows)
}

/// The shift after some answers, each with the number of its write, and `written` writes in all.
fn shift_after(answers: &[(usize, PairVerdict)], written: usize) -> f32 {
    let counted = &answers[answers.len().saturating_sub(COUNTED_ANSWERS)..];
    let verdicts: Vec<PairVerdict> = counted.iter().map(|(_, verdict)| *verdict).collect();
    ask_shift(&verdicts, counted.first().map_or(0, |(at, _)| written - at))
}

/// What a writer answers who knows which claim it contradicts; nothing if the write is refused.
fn verdicts(write: DenseWrite<'_>, seen: &[Doubted]) -> Vec<PairVerdict> {
    if seen.iter().any(|one| one.blocked) {
        return Vec::new();
    }
    let verdict = |one: &Doubted| {
        if write.target == Some(one.number) { PairVerdict::Contradicts } else { PairVerdict::Compatible }
    };
    seen.iter().filter(|one| one.band == Some(DoubtBand::Ask)).map(verdict).collect()
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
        let doubt = |number, blocked, band| Doubted { number, blocked, band, features: None };
        let asked = [doubt(1, false, Some(DoubtBand::Ask)), doubt(2, false, Some(DoubtBand::Ask))];
        assert_eq!(verdicts(write, &asked), [PairVerdict::Compatible, PairVerdict::Contradicts]);
        assert_eq!(verdicts(write, &[doubt(1, false, Some(DoubtBand::Mention))]), []);
        let [one, two] = asked;
        assert_eq!(verdicts(write, &[one, two, doubt(3, true, None)]), []);
    }
}
