//! `ergo-bench guard`: how well the guard tells contradictions from everything else, on a folder of labelled data.
//!
//! A row of the report is one way to compare: `lexical` (token overlap with cues of negation, antonyms and numbers), `structural` (norm
//! against norm only), `rules` (no models), `nli` (the cross-encoder alone), `default` (what ships), `deep` (with the language
//! model, asked before the write, on a part of the corpora). Precision and recall count tier `block` on the label `contradiction`, at the shipped
//! thresholds. Replays store a blocked row all the same and go on.

mod bins;
mod crowd;
mod data;
mod dense;
mod facts;
mod fit;
mod fit_deep;
mod fit_gate;
mod gate;
mod gate_examples;
mod lexical;
mod memory;
mod path;
mod replay;
mod report;
mod score;
mod shipped;

use std::{path::PathBuf, sync::Arc};

pub use bins::{Bin, Bins};
pub use data::DataError;
pub use dense::{DenseCounts, DenseRow};
pub use fit::{FitOptions, Fitted, fit};
pub use fit_gate::{GateBands, fit_gate};
pub use gate::{AskedRow, GateLoad, GateRow};
pub use report::{Crowd, Facts, FalseRate, Found, Millis, Pairs, Phenomenon, RecallAt, Report, Row, Supersede};
pub use score::Wrong;

use cached_models::CachedModels;
use memory::Memory;
use path::{GuardPath, Ways};

use super::{cached_models, logistic};
use ergo::{
    guard::{GateWeights, Guard, JudgeWeights},
    infer::Models,
};

/// What to measure.
#[derive(Clone)]
pub struct Options {
    /// The folder with the data files; an absent file is skipped, and named in the report.
    pub data: PathBuf,
    /// Keep a line for each wrong answer, with the reason that the guard gave.
    pub explain: bool,
    /// The models; without any, the rules are measured.
    pub models: Option<Arc<dyn Models>>,
    /// Keeps what the models say in this file, and believes it at the next measurement: then times mean nothing.
    pub cache: Option<PathBuf>,
    /// The judge's weights and thresholds.
    pub weights: JudgeWeights,
    /// Sentences of each corpus that the deep row replays.
    pub sample: usize,
    /// The gate's weights and thresholds.
    pub gate: GateWeights,
    /// Writes what would be asked to this file, without labels.
    pub questions: Option<PathBuf>,
    /// Answers to these questions, for the row `asked`.
    pub verdicts: Option<PathBuf>,
    /// Files of further dense projects for the row `dense`.
    pub dense: Vec<PathBuf>,
    /// Writes what the gate read of each nearby claim of the rows `gate` or `dense` to this file; of both, of `dense`.
    pub examples: Option<PathBuf>,
    /// The rows to measure, by name; empty for all.
    pub only: Vec<String>,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The data could not be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The private store of the measurement could not be opened.
    #[error("the store for the measurement could not be opened: {0}")]
    Store(#[from] ergo::api::ApiError),
    /// What models said could not be kept.
    #[error("cannot keep what the models say in {}: {source}", path.display())]
    Cache {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A model that is needed is missing or fails.
    #[error("{0}")]
    Model(String),
}

/// The models of a measurement, with a memory.
fn cache(models: Option<&Arc<dyn Models>>, file: Option<&PathBuf>) -> Result<Option<Arc<CachedModels>>, BenchError> {
    let Some(models) = models else { return Ok(None) };
    let open = CachedModels::new(Arc::clone(models), file.map(PathBuf::as_path));
    let path = || file.cloned().unwrap_or_default();
    open.map(|cache| Some(Arc::new(cache))).map_err(|source| BenchError::Cache { path: path(), source })
}

/// Measures. A write that fails is counted as clean, and named in the report.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    let data = data::Data::load(&options.data)?;
    let mut report = Report { skipped: data.skipped.clone(), ..Report::default() };
    let cache = cache(options.models.as_ref(), options.cache.as_ref())?;
    let info = options.models.as_ref().map(|models| models.info()).unwrap_or_default();
    report.models = info.roles.iter().map(|role| format!("{}: {} {}", role.role, role.name, role.sha256)).collect();
    let note = |name: &str, path: &dyn GuardPath, failed: &mut Vec<String>| {
        if let Some(first) = path.failures().first() {
            failed.push(format!("{name}: {} acts failed, the first: {first}", path.failures().len()));
        }
    };
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    for way in Ways::ALL.into_iter().filter(|way| wanted(way.name())) {
        if way.needs().is_some_and(|role| info.role(role).is_none()) {
            continue;
        }
        let mut path = way.open(&options.weights, cache.as_ref())?;
        // The language model takes seconds a pair: a part of the corpora is enough to see that it refuses nothing harmless.
        let part = (way == Ways::Deep).then(|| data.part(options.sample));
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
        let mut words = Memory::new(guard(), None);
        // What is asked, and scored with answers, is what ships: with models where there are any.
        let (questions, verdicts) = (options.questions.as_deref(), options.verdicts.as_deref());
        let files = gate::GateFiles { questions, verdicts, examples: options.examples.as_deref() };
        let own = if cache.is_none() { files } else { gate::GateFiles::default() };
        let (row, asked) = gate::measure("words", &mut words, &data, own)?;
        report.gate.push(row);
        report.asked = asked;
        if let Some(cache) = &cache {
            let mut models = Memory::new(guard(), Some(cache.cached()));
            let (row, asked) = gate::measure("models", &mut models, &data, files)?;
            note("gate", &models, &mut report.failed);
            report.gate.push(row);
            report.asked = asked;
        }
    }
    if wanted("dense") {
        let guard = || Guard::default().with_weights(options.weights.clone()).with_gate(options.gate.clone());
        let examples = options.examples.as_deref();
        let own = if cache.is_none() { examples } else { None };
        report.dense = dense::measure("words", &mut Memory::new(guard(), None), &options.dense, own)?;
        if let Some(cache) = &cache {
            let mut models = Memory::new(guard(), Some(cache.cached()));
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
        let mut path = Ways::Default.open(&options.weights, cache.as_ref())?;
        report.fact_consolidation.push(facts::measure(path.as_mut(), set));
        note(&set.size, path.as_ref(), &mut report.failed);
    }
    Ok(report)
}
