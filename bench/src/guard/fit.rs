//! `ergo-bench guard --fit`: the judge's weights from labelled pairs, its thresholds from a replay of sentences that contradict nothing.
//!
//! Two regressions are fitted: over pairs of which a cross-encoder was heard, and over all pairs as they look without any model. The replay is
//! parted by unit and the pairs by their text, and each part is scored by what is learnt from the others, so that thresholds are chosen, and
//! probabilities checked, on all of it and on nothing that was learnt from; the weights that are kept are learnt from all. A threshold holds
//! for each file of the replay by itself, whoever refuses.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;

use super::{
    BenchError,
    bins::Bins,
    cached_models::CachedModels,
    data::lines,
    fit_deep,
    logistic::{self, Example},
    memory::Memory,
    path::GuardPath,
};
use ergo::{
    domain::ClaimKind,
    guard::{
        Guard, JudgeWeights,
        features::{FEATURE_NAMES, Features, RULE_FEATURES},
        judge::CONTRADICTION_STRENGTH,
        weights::{JudgeProvenance, Thresholds},
    },
    infer::{ModelRole, Models},
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
    pub models: Arc<dyn Models>,
    /// Keeps what the models say in this file, and believes it at the next measurement.
    pub cache: Option<PathBuf>,
    /// How many of 1,000 writes may be refused wrongly, for each file of the replay; the last one holds for all further files.
    pub per_1000: Vec<f64>,
    /// The same, where there is no model.
    pub rules_per_1000: Vec<f64>,
    /// How many of 1,000 writes may be warned about wrongly.
    pub warn_per_1000: f64,
    /// Writes every example with its figures to this file, for other ways to look at them.
    pub examples: Option<PathBuf>,
    /// The share of the contradictions that the rules name which the cross-encoder may take back.
    pub taken_back: f64,
    /// Pairs that the language model is asked about, where there is one: half of them labelled, half of the replay.
    pub deep_pairs: usize,
    /// How many of 1,000 writes the deep stage may find wrongly.
    pub deep_per_1000: f64,
    /// The weights whose gates are kept, and whose deep stage is, where there is no language model.
    pub start: JudgeWeights,
    /// The day, for the provenance.
    pub date: String,
}

/// The fitted judge, and how it does on what it was fitted to.
#[derive(Clone, Debug, Default)]
pub struct Fitted {
    /// The judge.
    pub weights: JudgeWeights,
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
pub(super) struct Pair {
    pub(super) a: String,
    pub(super) b: String,
    pub(super) label: String,
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
pub(super) struct Sentence {
    #[serde(default)]
    pub(super) unit: String,
    pub(super) text: String,
}

/// A labelled pair, measured; without a look where nothing is weighed.
pub(super) struct Seen {
    kind: String,
    part: usize,
    pub(super) contradiction: bool,
    pub(super) look: Option<Look>,
}

/// What a pair of statements looks like to the judge.
pub(super) struct Look {
    /// Where a cross-encoder was heard.
    pub(super) with_inference: Option<Features>,
    /// Without any model.
    by_rules: Features,
    pub(super) stored: String,
    pub(super) incoming: String,
}

/// One write of a replay: what its pairs look like.
pub(super) struct Write {
    /// The file that it is from, by its place.
    file: usize,
    /// The part that its unit belongs to, of [`PARTS`].
    part: usize,
    pub(super) looks: Vec<Look>,
}

impl Look {
    /// The log-odds of a contradiction, and those from which it is refused.
    fn judged(&self, judge: &JudgeWeights) -> (f32, f32) {
        let odds = self
            .with_inference
            .map_or_else(|| judge.rules.log_odds(&self.by_rules), |figures| judge.log_odds(&figures));
        let limit = match (self.with_inference, self.is_named()) {
            (None, _) => judge.rules.block,
            (Some(_), true) => judge.thresholds.named,
            (Some(_), false) => judge.thresholds.block,
        };
        (odds, log_odds(limit))
    }

    /// Whether the rules name what is opposed.
    fn is_named(&self) -> bool {
        let figure = |name: &str, least: f32| {
            FEATURE_NAMES.iter().zip(self.by_rules).any(|(of, figure)| *of == name && figure >= least)
        };
        figure("aligned", CONTRADICTION_STRENGTH) || figure("structural_contradiction", 1.0)
    }

    /// Whether only inference speaks against it.
    fn inferred(&self) -> bool {
        self.with_inference.is_some() && !self.is_named()
    }

    /// Whether it is refused.
    pub(super) fn refused(&self, judge: &JudgeWeights) -> bool {
        let (odds, limit) = self.judged(judge);
        odds >= limit
    }
}

/// The log-odds of a probability; above 1 none reaches it.
fn log_odds(probability: f32) -> f32 {
    if probability >= 1.0 { f32::MAX } else { (probability / (1.0 - probability)).ln() }
}

/// Fits the judge.
///
/// # Errors
/// Where a file cannot be read, a model is missing or fails.
pub fn fit(options: &FitOptions, progress: &mut dyn FnMut(String)) -> Result<Fitted, BenchError> {
    let info = options.models.info();
    let hash = |role| info.role(role).map(|role| role.sha256.clone());
    let nli =
        hash(ModelRole::Nli).ok_or_else(|| BenchError::Model("fitting needs a cross-encoder: name one".into()))?;
    let Some(cache) = super::cache(Some(&options.models), options.cache.as_ref())? else {
        return Err(BenchError::Model("fitting needs models".into()));
    };
    let guard = || Guard::default().with_weights(JudgeWeights { gate: options.start.gate, ..JudgeWeights::default() });
    let pairs = measure_pairs(options, &mut memory(guard(), &cache), progress)?;
    let writes = replay(options, &mut memory(guard(), &cache), progress)?;

    if let Some(path) = &options.examples {
        let failed = |source| BenchError::Cache { path: path.clone(), source };
        std::fs::write(path, json_lines(&pairs, &writes)).map_err(failed)?;
    }
    let mut judges: Vec<JudgeWeights> = (0..PARTS).map(|part| learn(&pairs, &writes, Some(part), options)).collect();
    let mut weights = learn(&pairs, &writes, None, options);
    let files = options.replay.len();
    // The strongest pair of each write, by the judge that has not learnt from its unit.
    let strongest = |judges: &[JudgeWeights], file: usize, odds: &dyn Fn(&JudgeWeights, &Look) -> f32| -> Vec<f32> {
        let of =
            |write: &Write| write.looks.iter().map(|look| odds(&judges[write.part], look)).fold(f32::MIN, f32::max);
        let mut all: Vec<f32> = writes.iter().filter(|write| write.file == file).map(of).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        all
    };
    let by_file = |judges: &[JudgeWeights], odds: &dyn Fn(&JudgeWeights, &Look) -> f32| -> Vec<Vec<f32>> {
        (0..files).map(|file| strongest(judges, file, odds)).collect()
    };
    let over = |all: &[Vec<f32>], per_1000: &dyn Fn(usize) -> f64| {
        all.iter().enumerate().map(|(file, all)| cut(all, per_1000(file))).fold(f32::MIN, f32::max)
    };
    let of_file = |list: &[f64], file: usize| list.get(file).or(list.last()).copied().unwrap_or(0.0);

    let alone = by_file(&judges, &|judge, look| judge.rules.log_odds(&look.by_rules));
    let rules_block = over(&alone, &|file| of_file(&options.rules_per_1000, file));
    let rules_warn =
        over(&alone, &|file| of_file(&options.rules_per_1000, file) + options.warn_per_1000).min(rules_block);
    for judge in judges.iter_mut().chain([&mut weights]) {
        (judge.rules.block, judge.rules.warn) = (probability(rules_block), probability(rules_warn));
    }
    // What the rules name is taken back where the cross-encoder leaves so little that hardly a contradiction has it.
    let mut named: Vec<f32> = pairs
        .iter()
        .filter(|pair| pair.contradiction)
        .filter_map(|pair| {
            pair.look.as_ref().filter(|look| look.with_inference.is_some() && look.is_named()).map(|look| (pair, look))
        })
        .map(|(pair, look)| look.judged(&judges[pair.part]).0)
        .collect();
    named.sort_by(f32::total_cmp);
    let named =
        named.get((named.len() as f64 * options.taken_back) as usize).map_or(0.0, |odds| probability(*odds - 1e-3));
    for judge in judges.iter_mut().chain([&mut weights]) {
        judge.thresholds.named = named;
    }
    // Whoever refuses counts: what the rules name is refused by the threshold above, whatever the other is.
    let all = by_file(&judges, &|judge, look| match (look.inferred(), look.refused(judge)) {
        (true, _) => look.judged(judge).0,
        (false, true) => f32::MAX,
        (false, false) => f32::MIN,
    });
    let block = over(&all, &|file| of_file(&options.per_1000, file));
    let warn = over(&all, &|file| of_file(&options.per_1000, file) + options.warn_per_1000).min(block);
    for judge in judges.iter_mut().chain([&mut weights]) {
        judge.thresholds = Thresholds { block: probability(block), warn: probability(warn), named };
    }

    let wanted = pairs.iter().filter(|pair| pair.contradiction).count();
    let mut notes = vec![format!(
        "{} pairs ({wanted} contradictions), {} pairs of {} replayed sentences",
        pairs.len(),
        writes.iter().map(|write| write.looks.len()).sum::<usize>(),
        writes.len(),
    )];
    for (file, path) in options.replay.iter().enumerate() {
        let of: Vec<&Write> = writes.iter().filter(|write| write.file == file).collect();
        let refused = |how: &dyn Fn(&JudgeWeights, &Look) -> bool| {
            of.iter().filter(|write| write.looks.iter().any(|look| how(&judges[write.part], look))).count()
        };
        notes.push(format!(
            "{}: {} sentences, of which {} are refused without models and {} with them",
            names(std::slice::from_ref(path)),
            of.len(),
            refused(&|judge, look| judge.rules.log_odds(&look.by_rules) >= rules_block),
            refused(&|judge, look| look.refused(judge)),
        ));
    }
    // Pairs too are scored by the judge that has not learnt from them.
    let share = |found: &dyn Fn(&JudgeWeights, &Look) -> bool| {
        let hits = |contradiction: bool| {
            let of = pairs.iter().filter(|pair| pair.contradiction == contradiction);
            of.filter(|pair| pair.look.as_ref().is_some_and(|look| found(&judges[pair.part], look))).count()
        };
        let (right, wrong) = (hits(true), hits(false));
        (right as f64 / wanted.max(1) as f64, right as f64 / (right + wrong).max(1) as f64)
    };
    let (recall, precision) = share(&|judge, look| judge.rules.log_odds(&look.by_rules) >= rules_block);
    notes.push(format!(
        "without models: {recall:.3} of the contradictions, precision {precision:.2}, from {:.3}",
        probability(rules_block)
    ));
    let (recall, precision) = share(&|judge, look| look.refused(judge));
    notes.push(format!(
        "with models: {recall:.3} of the contradictions, precision {precision:.2}, from {:.3}",
        probability(block)
    ));
    for per_1000 in [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0] {
        let one = |all: &[Vec<f32>]| over(all, &|_| per_1000);
        let (at, at_alone) = (one(&all), one(&alone));
        let with = share(&|judge, look| if look.inferred() { look.judged(judge).0 >= at } else { look.refused(judge) });
        let without = share(&|judge, look| judge.rules.log_odds(&look.by_rules) >= at_alone);
        notes.push(format!(
            "{per_1000:>5.1} per 1,000 in each file: with models from {:.3}: {:.3} of the contradictions, precision {:.2}; without from {:.3}: {:.3}, {:.2}",
            probability(at), with.0, with.1, probability(at_alone), without.0, without.1,
        ));
    }
    let (mut heard_bins, mut alone_bins) = (Bins::default(), Bins::default());
    let looks = pairs
        .iter()
        .filter_map(|pair| Some((pair.part, pair.look.as_ref()?, pair.contradiction)))
        .chain(writes.iter().flat_map(|write| write.looks.iter().map(|look| (write.part, look, false))));
    for (part, look, contradiction) in looks {
        if let Some(figures) = &look.with_inference {
            heard_bins.add(probability(judges[part].log_odds(figures)), contradiction);
        }
        alone_bins.add(probability(judges[part].rules.log_odds(&look.by_rules)), contradiction);
    }
    notes.push(format!("with a cross-encoder's word, on what was not learnt from:\n{heard_bins}"));
    notes.push(format!("without models, on what was not learnt from:\n{alone_bins}"));
    let kinds: std::collections::BTreeSet<&str> = pairs.iter().map(|pair| pair.kind.as_str()).collect();
    for kind in kinds {
        let of: Vec<&Seen> = pairs.iter().filter(|pair| pair.kind == kind).collect();
        let refused = |pair: &&&Seen| pair.look.as_ref().is_some_and(|look| look.refused(&judges[pair.part]));
        let refused = of.iter().filter(refused).count();
        notes.push(format!("  {kind:<28} {:>5} pairs, {:.3} refused", of.len(), refused as f64 / of.len() as f64));
    }
    if info.role(ModelRole::Llm).is_some() {
        let models = cache.cached();
        let (deep, deep_notes) = fit_deep::fit(&weights, &pairs, &writes, &*models, options, progress)?;
        weights.deep = deep;
        notes.extend(deep_notes);
    }
    weights.provenance = JudgeProvenance {
        command: "ergo-bench guard --fit PAIRS --replay SENTENCES".into(),
        date: options.date.clone(),
        nli,
        embedder: hash(ModelRole::Embedder).unwrap_or_default(),
        pairs: format!("{}: {} pairs", names(&options.pairs), pairs.len()),
        replay: format!(
            "{}: {} sentences, {:?} of 1,000 refused in each, {:?} without models",
            names(&options.replay),
            writes.len(),
            options.per_1000,
            options.rules_per_1000
        ),
    };
    Ok(Fitted { weights, notes })
}

/// Every example as a JSON line.
fn json_lines(pairs: &[Seen], writes: &[Write]) -> String {
    let look = |look: &Look| {
        serde_json::json!({ "heard": look.with_inference.map(|figures| figures.to_vec()), "alone": look.by_rules.to_vec(),
            "stored": look.stored, "incoming": look.incoming })
    };
    let pairs = pairs.iter().map(|pair| {
        let looks: Vec<_> = pair.look.iter().map(look).collect();
        serde_json::json!({ "kind": pair.kind, "contradiction": pair.contradiction, "part": pair.part, "looks": looks })
    });
    let writes = writes.iter().map(|write| {
        let looks: Vec<_> = write.looks.iter().map(look).collect();
        serde_json::json!({ "file": write.file, "part": write.part, "looks": looks })
    });
    let names = serde_json::json!({ "names": FEATURE_NAMES });
    let lines: Vec<String> = std::iter::once(names).chain(pairs).chain(writes).map(|line| line.to_string()).collect();
    lines.join("\n") + "\n"
}

/// Parts of the replay.
const PARTS: usize = 5;

/// The penalty of large weights: enough that figures which say the same share their weight.
const RIDGE: f64 = 2e-4;

/// The same for three figures that rarely are more than nothing: what it held back would be missing from the probability.
const RIDGE_OF_FEW: f64 = 1e-6;

fn memory(guard: Guard, cache: &Arc<CachedModels>) -> Memory {
    Memory::new(guard, Some(cache.cached()))
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

/// JudgeWeights learnt from the labelled pairs and from the replay, one part of both left out.
fn learn(pairs: &[Seen], writes: &[Write], without: Option<usize>, options: &FitOptions) -> JudgeWeights {
    let labelled = pairs
        .iter()
        .filter(|pair| Some(pair.part) != without)
        .filter_map(|pair| Some((pair.look.as_ref()?, pair.contradiction)));
    let taught = writes.iter().filter(|write| Some(write.part) != without);
    let harmless = taught.flat_map(|write| &write.looks).map(|look| (look, false));
    let looks: Vec<(&Look, bool)> = labelled.chain(harmless).collect();
    let learnt = |names: &[&str], ridge: f64, figures: &dyn Fn(&Look) -> Option<Features>| {
        let example = |(look, yes): &(&Look, bool)| {
            let all = figures(look)?;
            let chosen =
                FEATURE_NAMES.iter().zip(all).filter(|(name, _)| names.contains(name)).map(|(_, figure)| figure);
            Some(Example { figures: chosen.collect(), yes: *yes, weight: 1.0 })
        };
        let examples: Vec<Example> = looks.iter().filter_map(example).collect();
        let rounded = |weight: f64| (weight * 1e4).round() as f32 / 1e4;
        let fitted = logistic::fit(&examples, ridge).into_iter().map(rounded);
        let chosen = FEATURE_NAMES.into_iter().filter(|name| names.contains(name));
        std::iter::once("intercept").chain(chosen).map(str::to_owned).zip(fitted).collect()
    };
    let mut weights = JudgeWeights { gate: options.start.gate, deep: options.start.deep, ..JudgeWeights::default() };
    weights.weights = learnt(&FEATURE_NAMES, RIDGE, &|look| look.with_inference);
    weights.rules.weights = learnt(&RULE_FEATURES, RIDGE_OF_FEW, &|look| Some(look.by_rules));
    weights
}

fn read<T: serde::de::DeserializeOwned>(files: &[PathBuf]) -> Result<Vec<T>, BenchError> {
    let mut rows = Vec::new();
    for file in files {
        let missing = || BenchError::Model(format!("{} is not there", file.display()));
        rows.extend(lines::<T>(Path::new(file))?.ok_or_else(missing)?);
    }
    Ok(rows)
}

pub(super) fn failed(memory: &Memory) -> Result<(), BenchError> {
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
        let looks = look(memory, &row.b);
        failed(memory)?;
        seen.push(Seen {
            kind: row.kind.clone(),
            part: part(&row.a),
            contradiction: row.label == "contradiction",
            look: looks.into_iter().next(),
        });
    }
    Ok(seen)
}

/// The part that a text belongs to.
fn part(text: &str) -> usize {
    usize::from(blake3::hash(text.as_bytes()).as_bytes()[0]) % PARTS
}

/// What a write looks like to the judge beside what is kept.
fn look(memory: &mut Memory, statement: &str) -> Vec<Look> {
    let ours = memory.read(ClaimKind::Convention, statement);
    let mut looks = Vec::new();
    for (number, scores) in memory.heard(&ours) {
        let theirs = &memory.stored[number].claim;
        let weighed = memory.guard.features(&ours.claim, theirs, &scores);
        looks.extend(weighed.by_rules.map(|by_rules| Look {
            with_inference: weighed.with_inference,
            by_rules,
            stored: theirs.claim().statement.clone(),
            incoming: statement.to_owned(),
        }));
    }
    memory.stored.push(ours);
    looks
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
            let looks = look(memory, &row.text);
            failed(memory)?;
            writes.push(Write { file, part: part(&row.unit), looks });
        }
    }
    Ok(writes)
}
