//! The data of a fit: labelled pairs and replayed sentences with the features of each pair.

use std::path::PathBuf;

use serde::Deserialize;

use super::{
    GuardBenchError,
    fit::{FitOptions, file_names},
    memory_project::MemoryProject,
    path::GuardPath,
};
use crate::measure::read_json_lines;
use ergo::{domain::ClaimKind, guard::features::Features};

/// The number of parts of the data.
pub(super) const PARTS: usize = 5;

#[derive(Deserialize)]
pub(super) struct LabelledPair {
    pub(super) a: String,
    pub(super) b: String,
    pub(super) label: String,
    #[serde(default)]
    pub(super) kind: String,
}

#[derive(Deserialize)]
pub(super) struct ReplayRow {
    #[serde(default)]
    pub(super) unit: String,
    pub(super) text: String,
}

/// A labelled pair with its features.
pub(super) struct MeasuredPair {
    pub(super) kind: String,
    /// The part that the pair belongs to, of [`PARTS`].
    pub(super) part: usize,
    pub(super) contradiction: bool,
    /// `None` if the guard does not weigh the pair.
    pub(super) features: Option<FitPair>,
}

/// The judge's features of a pair of statements.
pub(super) struct FitPair {
    /// With the cross-encoder's answer; `None` if it did not read the pair.
    pub(super) with_inference: Option<Features>,
    /// Without models.
    pub(super) by_rules: Features,
    pub(super) stored: String,
    pub(super) incoming: String,
}

/// A sentence of a replay with its pairs.
pub(super) struct ReplayedSentence {
    /// The index of the file.
    pub(super) file: usize,
    /// The part that the unit belongs to, of [`PARTS`].
    pub(super) part: usize,
    /// The sentence and each nearby earlier one.
    pub(super) compared: Vec<FitPair>,
}

/// Reads the JSON lines of all files.
pub(super) fn read<T: serde::de::DeserializeOwned>(files: &[PathBuf]) -> Result<Vec<T>, GuardBenchError> {
    let mut rows = Vec::new();
    for file in files {
        rows.extend(read_json_lines::<T>(file)?);
    }
    Ok(rows)
}

/// Returns the first failure of a model as an error.
pub(super) fn check_failures(project: &MemoryProject) -> Result<(), GuardBenchError> {
    project.failures().first().map_or(Ok(()), |first| Err(GuardBenchError::Model(format!("a model failed: {first}"))))
}

/// Reads the labelled pairs, and writes each into a project of its own.
pub(super) fn measure_pairs(
    options: &FitOptions,
    project: &mut MemoryProject,
    progress: &mut dyn FnMut(String),
) -> Result<Vec<MeasuredPair>, GuardBenchError> {
    let rows: Vec<LabelledPair> = read(&options.pairs)?;
    let mut measured = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        if number.is_multiple_of(100) {
            progress(format!("pair {number} of {}", rows.len()));
        }
        project.fresh();
        project.store(ClaimKind::Decision, &row.a);
        let compared = compare(project, &row.b);
        check_failures(project)?;
        measured.push(MeasuredPair {
            kind: row.kind.clone(),
            part: part(&row.a),
            contradiction: row.label == "contradiction",
            features: compared.into_iter().next(),
        });
    }
    Ok(measured)
}

/// Returns the part that a text belongs to.
fn part(text: &str) -> usize {
    usize::from(blake3::hash(text.as_bytes()).as_bytes()[0]) % PARTS
}

/// Adds a statement to a project, and returns the features of its pairs.
fn compare(project: &mut MemoryProject, statement: &str) -> Vec<FitPair> {
    let ours = project.parse(ClaimKind::Convention, statement);
    let mut compared = Vec::new();
    for (number, scores) in project.scored(&ours) {
        let theirs = &project.stored[number].claim;
        let weighed = project.guard.features(&ours.claim, theirs, &scores);
        compared.extend(weighed.by_rules.map(|by_rules| FitPair {
            with_inference: weighed.with_inference,
            by_rules,
            stored: theirs.claim().statement.clone(),
            incoming: statement.to_owned(),
        }));
    }
    project.stored.push(ours);
    compared
}

/// Replays the files of sentences, with a new project for each unit.
pub(super) fn replay(
    options: &FitOptions,
    project: &mut MemoryProject,
    progress: &mut dyn FnMut(String),
) -> Result<Vec<ReplayedSentence>, GuardBenchError> {
    let mut writes = Vec::new();
    for (file, path) in options.replay.iter().enumerate() {
        let mut rows: Vec<ReplayRow> = read(std::slice::from_ref(path))?;
        // One unit is one project.
        rows.sort_by(|a, b| a.unit.cmp(&b.unit));
        rows.truncate(options.most);
        project.fresh();
        let mut unit: Option<&str> = None;
        for (number, row) in rows.iter().enumerate() {
            if number.is_multiple_of(100) {
                progress(format!("sentence {number} of {} in {}", rows.len(), file_names(std::slice::from_ref(path))));
            }
            if unit != Some(&row.unit) {
                project.fresh();
                unit = Some(&row.unit);
            }
            let compared = compare(project, &row.text);
            check_failures(project)?;
            writes.push(ReplayedSentence { file, part: part(&row.unit), compared });
        }
    }
    Ok(writes)
}
