//! `ergo-bench guard`: how well the guard tells contradictions from other pairs, on a folder of labelled data.
//!
//! Each row of the report is one way to compare claims: `lexical` (token overlap with cues of negation, antonyms and
//! numbers), `structural` (norms only), `rules` (no models), `nli` (the cross-encoder alone), `default` (what ships), `deep`
//! (with the language model, asked before the write, on a part of the corpora). Precision and recall compare the tier
//! `block` at the shipped thresholds with the label `contradiction`. A replay stores a refused sentence all the same, and
//! goes on.

mod bins;
mod crowd;
mod data;
mod dense;
mod facts;
mod fit;
mod fit_data;
mod fit_deep;
mod fit_gate;
mod gate;
mod gate_examples;
mod lexical;
mod memory_project;
mod path;
mod replay;
mod report;
mod score;
mod shipped;

use std::{path::PathBuf, sync::Arc};

pub use bins::{Bin, Bins};
pub use dense::{DenseCounts, DenseRow};
pub use fit::{FitOptions, Fitted, fit};
pub use fit_gate::{GateBands, fit_gate};
pub use gate::{AskedRow, GateLoad, GateRow};
pub use report::{
    CrowdRow, FactsRow, FalseRate, FoundShares, GuardBenchReport, GuardRow, PairsScore, PhenomenonScore, RecallAt,
    SupersedeScore,
};
pub use score::WrongAnswer;

use cached_models::CachedModels;
use memory_project::MemoryProject;
use path::{GuardPath, GuardWay};

use super::{cached_models, logistic, measure::JsonLinesError};
use ergo::{
    guard::{GateWeights, Guard, JudgeWeights},
    infer::Models,
};

/// The names of the rows that can be measured.
pub const ROWS: [&str; 10] =
    ["lexical", "structural", "rules", "nli", "default", "deep", "gate", "dense", "crowd", "facts"];

/// Options of `ergo-bench guard` without `--fit`.
#[derive(Clone)]
pub struct GuardOptions {
    /// The folder with the data files. The report lists missing ones.
    pub data: PathBuf,
    /// Report each wrong answer with the guard's reason.
    pub explain: bool,
    /// The models; without any, only the rules are measured.
    pub models: Option<Arc<dyn Models>>,
    /// Keep the answers of the models in this file and reuse them (timings are then invalid).
    pub cache: Option<PathBuf>,
    /// The judge's weights and thresholds.
    pub weights: JudgeWeights,
    /// Sentences of each corpus that the row `deep` replays.
    pub sample: usize,
    /// The gate's weights and thresholds.
    pub gate: GateWeights,
    /// Write the questions of the gate to this file, without labels.
    pub questions: Option<PathBuf>,
    /// The file with answers to these questions, for the row `asked`.
    pub verdicts: Option<PathBuf>,
    /// Files with further projects for the row `dense`.
    pub dense: Vec<PathBuf>,
    /// Write the gate's features of each nearby claim of the rows `gate` or `dense` to this file. If both are measured, those
    /// of `dense` replace the others.
    pub examples: Option<PathBuf>,
    /// The rows to measure, of [`ROWS`]; empty for all.
    pub only: Vec<String>,
}

/// The reason why the guard could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum GuardBenchError {
    #[error(transparent)]
    Data(#[from] JsonLinesError),
    /// The temporary store could not be opened.
    #[error("the store for the measurement could not be opened: {0}")]
    Store(#[from] ergo::api::ApiError),
    /// A file of answers, questions or examples cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// A model is missing or fails, or built-in data is invalid.
    #[error("{0}")]
    Model(String),
}

/// Returns the models with a cache of their answers, which is kept in `file` if there is one.
fn cache(
    models: Option<&Arc<dyn Models>>,
    file: Option<&PathBuf>,
) -> Result<Option<Arc<CachedModels>>, GuardBenchError> {
    let Some(models) = models else { return Ok(None) };
    let open = CachedModels::new(Arc::clone(models), file.map(PathBuf::as_path));
    let path = || file.cloned().unwrap_or_default();
    open.map(|cache| Some(Arc::new(cache))).map_err(|source| GuardBenchError::File { path: path(), source })
}

/// Measures the rows. A write that fails counts as clean, and is named in the report.
pub fn run(options: &GuardOptions) -> Result<GuardBenchReport, GuardBenchError> {
    let data = data::Data::load(&options.data)?;
    let mut report = GuardBenchReport { skipped: data.skipped.clone(), ..GuardBenchReport::default() };
    let cache = cache(options.models.as_ref(), options.cache.as_ref())?;
    let info = options.models.as_ref().map(|models| models.info()).unwrap_or_default();
    report.models = info.roles.iter().map(|role| format!("{}: {} {}", role.role, role.name, role.sha256)).collect();
    let note = |name: &str, path: &dyn GuardPath, failed: &mut Vec<String>| {
        if let Some(first) = path.failures().first() {
            failed.push(format!("{name}: {} acts failed, the first: {first}", path.failures().len()));
        }
    };
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    for way in GuardWay::ALL.into_iter().filter(|way| wanted(way.name())) {
        if way.needs().is_some_and(|role| info.role(role).is_none()) {
            continue;
        }
        let mut path = way.open(&options.weights, cache.as_ref())?;
        // The language model takes seconds per pair. A part of the corpora suffices to see that it refuses nothing harmless.
        let part = (way == GuardWay::Deep).then(|| data.with_at_most(options.sample));
        if let Some(part) = &part {
            report.notes.push(format!(
                "deep: {} rules and {} decisions were replayed",
                part.rules.len(),
                part.adr.len()
            ));
        }
        report.rows.push(score::row(way.name(), path.as_mut(), part.as_ref().unwrap_or(&data), options.explain));
        note(way.name(), path.as_ref(), &mut report.failed);
    }
    if wanted("gate") && !data.pairs.is_empty() {
        let guard = || Guard::default().with_weights(options.weights.clone()).with_gate(options.gate.clone());
        let mut words = MemoryProject::new(guard(), None);
        // Questions and answers are those of the shipped gate: with models if there are any.
        let (questions, verdicts) = (options.questions.as_deref(), options.verdicts.as_deref());
        let files = gate::GateFiles { questions, verdicts, examples: options.examples.as_deref() };
        let files_of_words = if cache.is_none() { files } else { gate::GateFiles::default() };
        let (row, asked) = gate::measure("words", &mut words, &data, files_of_words)?;
        report.gate.push(row);
        report.asked = asked;
        if let Some(cache) = &cache {
            let mut models = MemoryProject::new(guard(), Some(cache.cached()));
            let (row, asked) = gate::measure("models", &mut models, &data, files)?;
            note("gate", &models, &mut report.failed);
            report.gate.push(row);
            report.asked = asked;
        }
    }
    if wanted("dense") {
        let guard = || Guard::default().with_weights(options.weights.clone()).with_gate(options.gate.clone());
        let examples = options.examples.as_deref();
        let files_of_words = if cache.is_none() { examples } else { None };
        report.dense = dense::measure("words", &mut MemoryProject::new(guard(), None), &options.dense, files_of_words)?;
        if let Some(cache) = &cache {
            let mut models = MemoryProject::new(guard(), Some(cache.cached()));
            report.dense.extend(dense::measure("models", &mut models, &options.dense, examples)?);
            report.dense.extend(dense::measure_answered("models, answered", &mut models, &options.dense)?);
            note("dense", &models, &mut report.failed);
        }
    }
    if wanted("crowd") && !data.pairs.is_empty() {
        report.crowd.push(crowd::measure("rules", &data, &options.weights, None)?);
        if cache.is_some() {
            report.crowd.push(crowd::measure("default", &data, &options.weights, cache.as_ref())?);
        }
    }
    for set in data.facts.iter().filter(|_| wanted("facts")) {
        let mut path = GuardWay::Default.open(&options.weights, cache.as_ref())?;
        report.fact_consolidation.push(facts::measure(path.as_mut(), set));
        note(&set.size, path.as_ref(), &mut report.failed);
    }
    Ok(report)
}
