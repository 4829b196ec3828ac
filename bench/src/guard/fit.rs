//! `ergo-bench guard --fit`: the judge's weights from labelled pairs, its thresholds from a replay of sentences that contradict nothing.
//!
//! The replay is parted by unit, and each part is scored by what is learnt from the others, so that thresholds are chosen on all of it and
//! on nothing that was learnt from; the weights that are kept are learnt from all. A threshold holds for each file of the replay by itself.

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
use ergo::{
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
    /// Sentences of each file of the replay, at most; the first units count.
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
    /// The share of the contradictions that the rules refuse by words which the cross-encoder may take back.
    pub taken_back: f64,
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
    refused: Option<Refusal>,
    pub(super) look: Option<Look>,
}

/// The rules refuse a pair by themselves: what the cross-encoder says of it, where it may take that back.
type Refusal = Option<f32>;

/// What a pair of statements looks like to the judge.
pub(super) struct Look {
    pub(super) figures: Figures,
    pub(super) stored: String,
    pub(super) incoming: String,
}

/// One write of a replay: what its pairs look like.
pub(super) struct Write {
    /// The file that it is from, by its place.
    file: usize,
    /// The part that its unit belongs to, of [`PARTS`].
    part: usize,
    refusals: Vec<Refusal>,
    pub(super) looks: Vec<Look>,
}

impl Seen {
    /// Whether the rules refuse it, where the cross-encoder takes back up to some log-odds.
    pub(super) fn decided(&self, veto: f32) -> bool {
        self.refused.is_some_and(|refusal| stands(refusal, veto))
    }
}

impl Write {
    /// Whether the rules refuse it, where the cross-encoder takes back up to some log-odds.
    pub(super) fn decided(&self, veto: f32) -> bool {
        self.refusals.iter().any(|refusal| stands(*refusal, veto))
    }
}

fn stands(refusal: Refusal, veto: f32) -> bool {
    refusal.is_none_or(|inferred| inferred > veto)
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
    let judges: Vec<Weights> = (0..PARTS).map(|part| learn(&pairs, &writes, Some(part), options)).collect();
    let mut weights = learn(&pairs, &writes, None, options);
    let veto = veto(&pairs, options.taken_back);
    // The strongest pair of each write that the rules let pass, by the judge that has not learnt from its unit.
    let strongest = |file: usize, refuses: bool| -> Vec<f32> {
        let of = |write: &Write| {
            let judge = &judges[write.part];
            let scores =
                write.looks.iter().map(|look| if refuses { score(judge, look) } else { judge.log_odds(&look.figures) });
            scores.fold(f32::MIN, f32::max)
        };
        let mut all: Vec<f32> =
            writes.iter().filter(|write| write.file == file && !write.decided(veto)).map(of).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        all
    };
    let refused: Vec<Vec<f32>> = (0..options.replay.len()).map(|file| strongest(file, true)).collect();
    let warned: Vec<Vec<f32>> = (0..options.replay.len()).map(|file| strongest(file, false)).collect();
    let over = |files: &[Vec<f32>], per_1000: f64| files.iter().map(|all| cut(all, per_1000)).fold(f32::MIN, f32::max);
    let block = over(&refused, options.per_1000);
    let warn = over(&warned, options.warn_per_1000).min(block);
    weights.thresholds = Thresholds { block: probability(block), warn: probability(warn), veto };

    let wanted = pairs.iter().filter(|pair| pair.contradiction).count();
    let mut notes = vec![format!(
        "{} pairs ({wanted} contradictions), {} pairs of {} replayed sentences",
        pairs.len(),
        writes.iter().map(|write| write.looks.len()).sum::<usize>(),
        writes.len(),
    )];
    for (file, path) in options.replay.iter().enumerate() {
        let of: Vec<&Write> = writes.iter().filter(|write| write.file == file).collect();
        let refused = |veto: f32| of.iter().filter(|write| write.decided(veto)).count();
        let name = names(std::slice::from_ref(path));
        notes.push(format!(
            "{name}: {} sentences, of which the rules refuse {}, and {} beside the cross-encoder",
            of.len(),
            refused(f32::MIN),
            refused(veto)
        ));
    }
    let by_rules = |veto: f32| pairs.iter().filter(|pair| pair.contradiction && pair.decided(veto)).count();
    notes.push(format!(
        "the rules refuse {} of the contradictions, and {} beside the cross-encoder, up to log-odds {veto:.2}",
        by_rules(f32::MIN),
        by_rules(veto)
    ));
    let found = |pair: &&Seen, at: f32| {
        pair.decided(veto) || pair.look.as_ref().is_some_and(|look| score(&weights, look) >= at)
    };
    let told = |pair: &&Seen, at: f32| {
        pair.decided(veto) || pair.look.as_ref().is_some_and(|look| weights.log_odds(&look.figures) >= at)
    };
    for per_1000 in [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0] {
        let (at, warns) = (over(&refused, per_1000), over(&warned, per_1000));
        let right = pairs.iter().filter(|pair| pair.contradiction && found(pair, at)).count();
        let wrong = pairs.iter().filter(|pair| !pair.contradiction && found(pair, at)).count();
        let warned = pairs.iter().filter(|pair| pair.contradiction && told(pair, warns)).count();
        notes.push(format!(
            "{per_1000:>5.1} per 1,000: refused from {:.3}: {:.3} of the contradictions, precision {:.2}; told of from {:.3}: {:.3}",
            probability(at),
            right as f64 / wanted.max(1) as f64,
            right as f64 / (right + wrong).max(1) as f64,
            probability(warns),
            warned as f64 / wanted.max(1) as f64,
        ));
    }
    let kinds: std::collections::BTreeSet<&str> = pairs.iter().map(|pair| pair.kind.as_str()).collect();
    for kind in kinds {
        let of: Vec<&Seen> = pairs.iter().filter(|pair| pair.kind == kind).collect();
        let refused = of.iter().filter(|pair| found(pair, block)).count();
        notes.push(format!("  {kind:<28} {:>5} pairs, {:.3} refused", of.len(), refused as f64 / of.len() as f64));
    }
    if info.role(Role::Llm).is_some() {
        let models = heard.remembered();
        let (deep, said) = fit_deep::fit(&weights, &pairs, &writes, &*models, options, progress)?;
        weights.deep = deep;
        notes.extend(said);
    }
    weights.provenance = Provenance {
        command: "ergo-bench guard --fit PAIRS --replay SENTENCES".into(),
        date: options.date.clone(),
        nli,
        embedder: hash(Role::Embedder).unwrap_or_default(),
        pairs: format!("{}: {} pairs", names(&options.pairs), pairs.len()),
        replay: format!(
            "{}: {} sentences, {} of 1,000 refused in each",
            names(&options.replay),
            writes.len(),
            options.per_1000
        ),
    };
    Ok(Fitted { weights, notes })
}

/// Every example as a JSON line.
fn told(pairs: &[Seen], writes: &[Write]) -> String {
    let pairs = pairs.iter().map(|pair| {
        let figures = pair.look.as_ref().map(|look| look.figures.to_vec());
        serde_json::json!({ "kind": pair.kind, "contradiction": pair.contradiction, "refused": pair.refused, "figures": figures })
    });
    let writes = writes.iter().map(|write| {
        let figures: Vec<Vec<f32>> = write.looks.iter().map(|look| look.figures.to_vec()).collect();
        serde_json::json!({ "file": write.file, "part": write.part, "refusals": write.refusals, "write": figures })
    });
    let names = serde_json::json!({ "names": NAMES });
    let lines: Vec<String> = std::iter::once(names).chain(pairs).chain(writes).map(|line| line.to_string()).collect();
    lines.join("\n") + "\n"
}

/// Parts of the replay.
const PARTS: usize = 5;

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

/// What inference may not refuse cannot be refused wrongly.
fn score(judge: &Weights, look: &Look) -> f32 {
    if judge.gate.lets_block(&look.figures) { judge.log_odds(&look.figures) } else { f32::MIN }
}

/// Weights learnt from the labelled pairs and from the replay, one part of it left out.
fn learn(pairs: &[Seen], writes: &[Write], without: Option<usize>, options: &FitOptions) -> Weights {
    let example =
        |look: &Look, contradiction| Example { figures: look.figures.to_vec(), yes: contradiction, weight: 1.0 };
    let labelled = pairs.iter().filter_map(|pair| Some(example(pair.look.as_ref()?, pair.contradiction)));
    let taught = writes.iter().filter(|write| Some(write.part) != without);
    let harmless = taught.flat_map(|write| &write.looks).map(|look| example(look, false));
    let examples: Vec<Example> = labelled.chain(harmless).collect();
    let mut weights = Weights { gate: options.start.gate, deep: options.start.deep, ..Weights::default() };
    for (name, weight) in std::iter::once("intercept").chain(NAMES).zip(logistic::fit(&examples, RIDGE)) {
        weights.weights.insert(name.to_owned(), (weight * 1e4).round() as f32 / 1e4);
    }
    weights
}

/// The log-odds of a contradiction up to which a share of the contradictions lies that the rules refuse by words.
fn veto(pairs: &[Seen], share: f64) -> f32 {
    let mut inferred: Vec<f32> =
        pairs.iter().filter(|pair| pair.contradiction).filter_map(|pair| pair.refused.flatten()).collect();
    inferred.sort_by(f32::total_cmp);
    let at = (inferred.len() as f64 * share) as usize;
    inferred.get(at).map_or(f32::MIN, |log_odds| ((log_odds - 5e-3) * 100.0).round() / 100.0)
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
        let (refusals, looks) = look(memory, &row.b);
        failed(memory)?;
        seen.push(Seen {
            kind: row.kind.clone(),
            contradiction: row.label == "contradiction",
            refused: refusals.into_iter().next(),
            look: looks.into_iter().next(),
        });
    }
    Ok(seen)
}

/// What a write looks like to the judge beside what is kept: the pairs that the rules refuse, and those that they leave to inference.
fn look(memory: &mut Memory, statement: &str) -> (Vec<Refusal>, Vec<Look>) {
    let ours = memory.read(ClaimKind::Convention, statement);
    let (mut refusals, mut looks) = (Vec::new(), Vec::new());
    for (number, said) in memory.heard(&ours) {
        let theirs = &memory.stored[number].candidate;
        let rules = memory.guard.compare(&ours.candidate, theirs, &Said { inference: None, ..said });
        if rules.tier == Tier::Block {
            refusals.push(said.inference.filter(|_| !rules.decided).map(|said| said.mean()));
        }
        if said.inference.is_some() {
            looks.extend(memory.guard.figures(&ours.candidate, theirs, &said).map(|figures| Look {
                figures,
                stored: theirs.statement.clone(),
                incoming: statement.to_owned(),
            }));
        }
    }
    memory.stored.push(ours);
    (refusals, looks)
}

fn replay(
    options: &FitOptions,
    memory: &mut Memory,
    progress: &mut dyn FnMut(String),
) -> Result<Vec<Write>, BenchError> {
    let mut writes = Vec::new();
    for (file, path) in options.replay.iter().enumerate() {
        let mut rows: Vec<Sentence> = read(std::slice::from_ref(path))?;
        // One unit is one project.
        rows.sort_by(|a, b| a.unit.cmp(&b.unit));
        rows.truncate(options.most);
        memory.fresh();
        let mut unit: Option<&str> = None;
        for (number, row) in rows.iter().enumerate() {
            if number.is_multiple_of(100) {
                progress(format!("sentence {number} of {} in {}", rows.len(), names(std::slice::from_ref(path))));
            }
            if unit != Some(&row.unit) {
                memory.fresh();
                unit = Some(&row.unit);
            }
            let part = usize::from(blake3::hash(row.unit.as_bytes()).as_bytes()[0]) % PARTS;
            let (refusals, looks) = look(memory, &row.text);
            failed(memory)?;
            writes.push(Write { file, part, refusals, looks });
        }
    }
    Ok(writes)
}
