//! `ergo bench guard --fit`: the judge's weights from labelled pairs, its thresholds from a replay of sentences that contradict nothing.
//!
//! One half of the replay's units teaches what harmless neighbours look like, the other half alone chooses the thresholds.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;

use super::{
    BenchError,
    data::lines,
    fit_deep,
    heard::Heard,
    logistic::{self, Example},
    memory::Memory,
    path::GuardPath,
};
use crate::{
    domain::{ClaimKind, Tier},
    guard::{
        Guard, Said, Weights,
        features::{Figures, NAMES},
        weights::{Provenance, Thresholds},
    },
    infer::{Models, Role},
};

/// What to fit to.
#[derive(Clone)]
pub struct FitOptions {
    /// Files of labelled pairs: `a`, `b`, `label` (`contradiction` or another word).
    pub pairs: Vec<PathBuf>,
    /// Files of sentences: `unit`, `text`.
    pub replay: Vec<PathBuf>,
    /// Sentences of the replay, at most; the first units count.
    pub most: usize,
    /// The models.
    pub models: Arc<dyn Models>,
    /// Keeps what the models say in this file, and believes it at the next measurement.
    pub heard: Option<PathBuf>,
    /// How many of 1,000 writes inference may refuse wrongly beside those that the rules refuse.
    pub per_1000: f64,
    /// How many of 1,000 writes may be warned about wrongly.
    pub warn_per_1000: f64,
    /// Writes every example with its figures to this file, for other ways to look at them.
    pub examples: Option<PathBuf>,
    /// The cross-encoder's log-odds up to which it takes back what the rules refuse.
    pub veto: f32,
    /// Pairs that the language model is asked about, where there is one: half of them labelled, half of the replay.
    pub deep_pairs: usize,
    /// How many of 1,000 writes the deep stage may find wrongly.
    pub deep_per_1000: f64,
    /// The weights whose gates are kept, and whose deep stage is, where there is no language model.
    pub start: Weights,
    /// The day, for the provenance.
    pub date: String,
}

/// The fitted judge, and how it does on what it was fitted to.
#[derive(Clone, Debug, Default)]
pub struct Fitted {
    /// The judge.
    pub weights: Weights,
    /// Lines for people.
    pub notes: Vec<String>,
}

impl fmt::Display for Fitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Pair {
    a: String,
    b: String,
    label: String,
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
struct Sentence {
    #[serde(default)]
    unit: String,
    text: String,
}

/// A labelled pair, measured.
pub(super) struct Seen {
    kind: String,
    pub(super) contradiction: bool,
    /// The rules refuse it by themselves.
    pub(super) decided: bool,
    pub(super) look: Option<Look>,
}

/// What a pair of statements looks like to the judge.
pub(super) struct Look {
    pub(super) figures: Figures,
    pub(super) stored: String,
    pub(super) incoming: String,
}

/// One write of a replay: what its pairs look like.
pub(super) struct Write {
    /// Whether its unit is one of those that choose the thresholds.
    held_out: bool,
    pub(super) decided: bool,
    pub(super) looks: Vec<Look>,
}

/// Fits the judge.
///
/// # Errors
/// Where a file cannot be read, a model is missing or fails.
pub fn fit(options: &FitOptions, progress: &mut dyn FnMut(String)) -> Result<Fitted, BenchError> {
    let info = options.models.info();
    let hash = |role| info.role(role).map(|role| role.sha256.clone());
    let nli = hash(Role::Nli).ok_or_else(|| BenchError::Model("fitting needs a cross-encoder: name one".into()))?;
    let Some(heard) = super::heard(Some(&options.models), options.heard.as_ref())? else {
        return Err(BenchError::Model("fitting needs models".into()));
    };
    let guard = || Guard::default().with_weights(Weights { gate: options.start.gate, ..Weights::default() });
    let pairs = measure_pairs(options, &mut memory(guard(), &heard), progress)?;
    let writes = replay(options, &mut memory(guard(), &heard), progress)?;

    if let Some(path) = &options.examples {
        let failed = |source| BenchError::Heard { path: path.clone(), source };
        std::fs::write(path, told(&pairs, &writes)).map_err(failed)?;
    }
    let mut examples: Vec<Example> = Vec::new();
    for pair in &pairs {
        examples.extend(pair.look.as_ref().map(|look| Example {
            figures: look.figures.to_vec(),
            contradiction: pair.contradiction,
            weight: 1.0,
        }));
    }
    let taught = writes.iter().filter(|write| !write.held_out).flat_map(|write| &write.looks);
    examples.extend(taught.map(|look| Example { figures: look.figures.to_vec(), contradiction: false, weight: 1.0 }));
    let fitted = logistic::fit(&examples, RIDGE);
    let mut weights = Weights { gate: options.start.gate, deep: options.start.deep, ..Weights::default() };
    for (name, weight) in std::iter::once("intercept").chain(NAMES).zip(&fitted) {
        weights.weights.insert(name.to_owned(), (weight * 1e4).round() as f32 / 1e4);
    }
    let judge = weights.clone();
    // What inference may not refuse cannot be refused wrongly.
    let score = |figures: &Figures| {
        if judge.gate.lets_block(figures) { judge.log_odds(figures) } else { f32::MIN }
    };
    // What the rules refuse by themselves is not for the thresholds to mend.
    let chosen_on = || writes.iter().filter(|write| write.held_out);
    let mut held_out: Vec<f32> = chosen_on()
        .filter(|write| !write.decided)
        .map(|write| write.looks.iter().map(|look| score(&look.figures)).fold(f32::MIN, f32::max))
        .collect();
    held_out.sort_by(|a, b| b.total_cmp(a));
    let decided = chosen_on().count() - held_out.len();
    let block = cut(&held_out, options.per_1000);
    let mut warned: Vec<f32> = chosen_on()
        .filter(|write| !write.decided)
        .map(|write| write.looks.iter().map(|look| judge.log_odds(&look.figures)).fold(f32::MIN, f32::max))
        .collect();
    warned.sort_by(|a, b| b.total_cmp(a));
    let warn = cut(&warned, options.warn_per_1000).min(block);
    weights.thresholds = Thresholds { block: probability(block), warn: probability(warn), veto: options.veto };

    let mut notes = vec![format!(
        "{} pairs ({} contradictions), {} sentences of {} writes to learn from, {} to choose thresholds; the rules alone refuse {decided} of these",
        pairs.len(),
        pairs.iter().filter(|pair| pair.contradiction).count(),
        writes.iter().map(|write| write.looks.len()).sum::<usize>(),
        writes.len() - chosen_on().count(),
        chosen_on().count(),
    )];
    for per_1000 in [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0] {
        let at = cut(&held_out, per_1000);
        let found = pairs.iter().filter(|pair| pair.contradiction && is_found(pair, at, &score)).count();
        let wrong = pairs.iter().filter(|pair| !pair.contradiction && is_found(pair, at, &score)).count();
        let wanted = pairs.iter().filter(|pair| pair.contradiction).count();
        notes.push(format!(
            "{per_1000:>5.1} per 1,000: log-odds {at:.2} (score {:.3}), {:.2} of the contradictions, precision {:.2}",
            probability(at),
            found as f64 / wanted.max(1) as f64,
            found as f64 / (found + wrong).max(1) as f64,
        ));
    }
    notes.extend(by_kind(&pairs, block, &score));
    if info.role(Role::Llm).is_some() {
        let models = heard.remembered();
        let (deep, said) = fit_deep::fit(&weights, &pairs, &writes, &*models, options, progress)?;
        weights.deep = deep;
        notes.extend(said);
    }
    weights.provenance = Provenance {
        command: "ergo bench guard --fit PAIRS --replay SENTENCES".into(),
        date: options.date.clone(),
        nli,
        embedder: hash(Role::Embedder).unwrap_or_default(),
        pairs: format!("{}: {} pairs", names(&options.pairs), pairs.len()),
        replay: format!("{}: {} writes, {} of 1,000 refused", names(&options.replay), writes.len(), options.per_1000),
    };
    Ok(Fitted { weights, notes })
}

/// Every example as a JSON line.
fn told(pairs: &[Seen], writes: &[Write]) -> String {
    let pairs = pairs.iter().map(|pair| {
        let figures = pair.look.as_ref().map(|look| look.figures.to_vec());
        serde_json::json!({ "kind": pair.kind, "contradiction": pair.contradiction, "decided": pair.decided, "figures": figures })
    });
    let writes = writes.iter().map(|write| {
        let figures: Vec<Vec<f32>> = write.looks.iter().map(|look| look.figures.to_vec()).collect();
        serde_json::json!({ "held_out": write.held_out, "decided": write.decided, "write": figures })
    });
    let names = serde_json::json!({ "names": NAMES });
    let lines: Vec<String> = std::iter::once(names).chain(pairs).chain(writes).map(|line| line.to_string()).collect();
    lines.join("\n") + "\n"
}

/// The penalty of large weights: enough that figures which say the same share their weight.
const RIDGE: f64 = 2e-4;

fn memory(guard: Guard, heard: &Arc<Heard>) -> Memory {
    Memory::new(guard, Some(heard.remembered()))
}

fn names(files: &[PathBuf]) -> String {
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    files.iter().filter_map(name).collect::<Vec<_>>().join(", ")
}

pub(super) fn probability(log_odds: f32) -> f32 {
    let score = 1.0 / (1.0 + (-log_odds).exp());
    (score * 1e5).round() / 1e5
}

/// The log-odds above which `per_1000` of the writes lie; `sorted` from the highest.
pub(super) fn cut(sorted: &[f32], per_1000: f64) -> f32 {
    let allowed = (sorted.len() as f64 * per_1000 / 1000.0).floor() as usize;
    // Just above the first one that must stay out.
    sorted.get(allowed).map_or(0.0, |score| score.min(20.0) + 1e-3)
}

fn is_found(pair: &Seen, at: f32, score: &impl Fn(&Figures) -> f32) -> bool {
    pair.decided || pair.look.as_ref().is_some_and(|look| score(&look.figures) >= at)
}

fn by_kind(pairs: &[Seen], at: f32, score: &impl Fn(&Figures) -> f32) -> Vec<String> {
    let kinds: std::collections::BTreeSet<&str> = pairs.iter().map(|pair| pair.kind.as_str()).collect();
    kinds
        .into_iter()
        .map(|kind| {
            let of: Vec<&Seen> = pairs.iter().filter(|pair| pair.kind == kind).collect();
            let refused = of.iter().filter(|pair| is_found(pair, at, score)).count();
            format!("  {kind:<28} {:>5} pairs, {:.3} refused", of.len(), refused as f64 / of.len() as f64)
        })
        .collect()
}

fn read<T: serde::de::DeserializeOwned>(files: &[PathBuf]) -> Result<Vec<T>, BenchError> {
    let mut rows = Vec::new();
    for file in files {
        let missing = || BenchError::Model(format!("{} is not there", file.display()));
        rows.extend(lines::<T>(Path::new(file))?.ok_or_else(missing)?);
    }
    Ok(rows)
}

fn failed(memory: &Memory) -> Result<(), BenchError> {
    memory.failures().first().map_or(Ok(()), |first| Err(BenchError::Model(format!("a model failed: {first}"))))
}

fn measure_pairs(
    options: &FitOptions,
    memory: &mut Memory,
    progress: &mut dyn FnMut(String),
) -> Result<Vec<Seen>, BenchError> {
    let rows: Vec<Pair> = read(&options.pairs)?;
    let mut seen = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        if number.is_multiple_of(100) {
            progress(format!("pair {number} of {}", rows.len()));
        }
        memory.fresh();
        memory.keep(ClaimKind::Decision, &row.a);
        let (decided, looks) = look(memory, &row.b, options.veto);
        failed(memory)?;
        seen.push(Seen {
            kind: row.kind.clone(),
            contradiction: row.label == "contradiction",
            decided,
            look: looks.into_iter().next(),
        });
    }
    Ok(seen)
}

/// What a write looks like to the judge beside what is kept: whether the rules refuse it, and the figures of its inferred pairs.
fn look(memory: &mut Memory, statement: &str, veto: f32) -> (bool, Vec<Look>) {
    let ours = memory.read(ClaimKind::Convention, statement);
    let (mut decided, mut looks) = (false, Vec::new());
    for (number, said) in memory.heard(&ours) {
        let theirs = &memory.stored[number].candidate;
        let rules = memory.guard.compare(&ours.candidate, theirs, &Said { inference: None, ..said });
        let doubted = !rules.decided && said.inference.is_some_and(|said| said.mean() <= veto);
        decided |= rules.tier == Tier::Block && !doubted;
        if said.inference.is_some() {
            looks.extend(memory.guard.figures(&ours.candidate, theirs, &said).map(|figures| Look {
                figures,
                stored: theirs.statement.clone(),
                incoming: statement.to_owned(),
            }));
        }
    }
    memory.stored.push(ours);
    (decided, looks)
}

fn replay(
    options: &FitOptions,
    memory: &mut Memory,
    progress: &mut dyn FnMut(String),
) -> Result<Vec<Write>, BenchError> {
    let mut rows: Vec<Sentence> = read(&options.replay)?;
    // One unit is one project.
    rows.sort_by(|a, b| a.unit.cmp(&b.unit));
    rows.truncate(options.most);
    let mut writes = Vec::with_capacity(rows.len());
    let mut unit: Option<&str> = None;
    for (number, row) in rows.iter().enumerate() {
        if number.is_multiple_of(100) {
            progress(format!("sentence {number} of {}", rows.len()));
        }
        if unit != Some(&row.unit) {
            memory.fresh();
            unit = Some(&row.unit);
        }
        let held_out = blake3::hash(row.unit.as_bytes()).as_bytes()[0].is_multiple_of(2);
        let (decided, looks) = look(memory, &row.text, options.veto);
        failed(memory)?;
        writes.push(Write { held_out, decided, looks });
    }
    Ok(writes)
}
