//! `ergo-bench guard --fit`: fits the judge's weights to labelled pairs, and chooses its thresholds on a replay of sentences
//! that contradict nothing.
//!
//! Two regressions are fitted: one over pairs that a cross-encoder read, and one over all pairs as they look without models.
//! The replay is partitioned by unit, and the pairs by their text. Each part is scored by weights that were fitted to the
//! other parts. So thresholds are chosen, and probabilities checked, on all data, but never on data that the weights were
//! fitted to. The final weights are fitted to all data. Each file of the replay sets a limit to the thresholds by itself.

use std::{fmt, path::PathBuf, sync::Arc};

use super::{
    GuardBenchError,
    bins::Bins,
    cached_models::CachedModels,
    fit_data::{FitPair, MeasuredPair, PARTS, ReplayedSentence, measure_pairs, replay},
    fit_deep, logistic,
    memory_project::MemoryProject,
};
use ergo::{
    domain::numeric::logistic_f32,
    guard::{
        Guard, JudgeWeights,
        features::{FEATURE_NAMES, RULE_FEATURES},
        judge::CONTRADICTION_STRENGTH,
        weights::{JudgeProvenance, Thresholds},
    },
    infer::{ModelRole, Models},
};

/// Options of `ergo-bench guard --fit`.
#[derive(Clone)]
pub struct FitOptions {
    /// Files of labelled pairs: JSON lines with `a`, `b`, `label` (`contradiction` or another word).
    pub pairs: Vec<PathBuf>,
    /// Files of sentences: JSON lines with `unit`, `text`.
    pub replay: Vec<PathBuf>,
    /// The most sentences of each file of the replay; those of the first units are taken.
    pub most: usize,
    pub models: Arc<dyn Models>,
    /// Keep the answers of the models in this file and reuse them.
    pub cache: Option<PathBuf>,
    /// The wrong refusals that are allowed per 1,000 writes of each file of the replay; the last one applies to all further
    /// files.
    pub per_1000: Vec<f64>,
    /// The same without models.
    pub rules_per_1000: Vec<f64>,
    /// The wrong warnings that are allowed per 1,000 writes.
    pub warn_per_1000: f64,
    /// Write each example with its features to this file, for other analyses.
    pub examples: Option<PathBuf>,
    /// The share of the contradictions named by the rules that the cross-encoder may overrule.
    pub taken_back: f64,
    /// The number of pairs that the language model is asked about, if there is one: half of them labelled, half of the
    /// replay.
    pub deep_pairs: usize,
    /// The wrong findings of the deep stage that are allowed per 1,000 writes.
    pub deep_per_1000: f64,
    /// The weights from which the gate is taken; and the deep stage, if there is no language model.
    pub start: JudgeWeights,
    /// The current date, for the provenance.
    pub date: String,
}

/// A fitted judge, or the notes of a fitted gate.
#[derive(Clone, Debug, Default)]
pub struct Fitted {
    pub weights: JudgeWeights,
    /// The results, as text.
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

impl FitPair {
    /// Returns the log-odds of a contradiction, and those from which the pair is refused.
    fn judged(&self, judge: &JudgeWeights) -> (f32, f32) {
        let odds = self
            .with_inference
            .map_or_else(|| judge.rules.log_odds(&self.by_rules), |features| judge.log_odds(&features));
        let limit = match (self.with_inference, self.is_named()) {
            (None, _) => judge.rules.block,
            (Some(_), true) => judge.thresholds.named,
            (Some(_), false) => judge.thresholds.block,
        };
        (odds, log_odds(limit))
    }

    /// Returns whether the rules name the contradiction.
    fn is_named(&self) -> bool {
        let at_least = |name: &str, least: f32| {
            FEATURE_NAMES.iter().zip(self.by_rules).any(|(of, feature)| *of == name && feature >= least)
        };
        at_least("aligned", CONTRADICTION_STRENGTH) || at_least("structural_contradiction", 1.0)
    }

    /// Returns whether only the cross-encoder may find a contradiction.
    fn inferred(&self) -> bool {
        self.with_inference.is_some() && !self.is_named()
    }

    /// Returns whether the pair is refused.
    pub(super) fn refused(&self, judge: &JudgeWeights) -> bool {
        let (odds, limit) = self.judged(judge);
        odds >= limit
    }
}

/// Returns the log-odds of a probability; those of a probability from 1 on are never reached.
fn log_odds(probability: f32) -> f32 {
    if probability >= 1.0 { f32::MAX } else { (probability / (1.0 - probability)).ln() }
}

/// Fits the judge.
pub fn fit(options: &FitOptions, progress: &mut dyn FnMut(String)) -> Result<Fitted, GuardBenchError> {
    let info = options.models.info();
    let hash = |role| info.role(role).map(|role| role.sha256.clone());
    let nli =
        hash(ModelRole::Nli).ok_or_else(|| GuardBenchError::Model("fitting needs a cross-encoder: name one".into()))?;
    let Some(cache) = super::cache(Some(&options.models), options.cache.as_ref())? else {
        return Err(GuardBenchError::Model("fitting needs models".into()));
    };
    let guard = || Guard::default().with_weights(JudgeWeights { gate: options.start.gate, ..JudgeWeights::default() });
    let pairs = measure_pairs(options, &mut empty_project(guard(), &cache), progress)?;
    let writes = replay(options, &mut empty_project(guard(), &cache), progress)?;

    if let Some(path) = &options.examples {
        let failed = |source| GuardBenchError::File { path: path.clone(), source };
        std::fs::write(path, json_lines(&pairs, &writes)).map_err(failed)?;
    }
    let mut judges: Vec<JudgeWeights> = (0..PARTS).map(|part| learn(&pairs, &writes, Some(part), options)).collect();
    let mut weights = learn(&pairs, &writes, None, options);
    let files = options.replay.len();
    // The log-odds of the strongest pair of each write, by the judge that was not fitted to its unit; descending.
    let strongest = |judges: &[JudgeWeights], file: usize, odds: &dyn Fn(&JudgeWeights, &FitPair) -> f32| -> Vec<f32> {
        let of = |write: &ReplayedSentence| {
            write.compared.iter().map(|features| odds(&judges[write.part], features)).fold(f32::MIN, f32::max)
        };
        let mut all: Vec<f32> = writes.iter().filter(|write| write.file == file).map(of).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        all
    };
    let by_file = |judges: &[JudgeWeights], odds: &dyn Fn(&JudgeWeights, &FitPair) -> f32| -> Vec<Vec<f32>> {
        (0..files).map(|file| strongest(judges, file, odds)).collect()
    };
    let over = |all: &[Vec<f32>], per_1000: &dyn Fn(usize) -> f64| {
        all.iter().enumerate().map(|(file, all)| cut(all, per_1000(file))).fold(f32::MIN, f32::max)
    };
    let of_file = |list: &[f64], file: usize| list.get(file).or(list.last()).copied().unwrap_or(0.0);

    let alone = by_file(&judges, &|judge, features| judge.rules.log_odds(&features.by_rules));
    let rules_block = over(&alone, &|file| of_file(&options.rules_per_1000, file));
    let rules_warn =
        over(&alone, &|file| of_file(&options.rules_per_1000, file) + options.warn_per_1000).min(rules_block);
    for judge in judges.iter_mut().chain([&mut weights]) {
        (judge.rules.block, judge.rules.warn) = (probability(rules_block), probability(rules_warn));
    }
    // The cross-encoder overrules the rules below a probability that hardly any contradiction has.
    let mut named: Vec<f32> = pairs
        .iter()
        .filter(|pair| pair.contradiction)
        .filter_map(|pair| {
            pair.features
                .as_ref()
                .filter(|features| features.with_inference.is_some() && features.is_named())
                .map(|features| (pair, features))
        })
        .map(|(pair, features)| features.judged(&judges[pair.part]).0)
        .collect();
    named.sort_by(f32::total_cmp);
    let named =
        named.get((named.len() as f64 * options.taken_back) as usize).map_or(0.0, |odds| probability(*odds - 1e-3));
    for judge in judges.iter_mut().chain([&mut weights]) {
        judge.thresholds.named = named;
    }
    // All refusals count. The contradictions that the rules name are refused by the threshold above.
    let all = by_file(&judges, &|judge, features| match (features.inferred(), features.refused(judge)) {
        (true, _) => features.judged(judge).0,
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
        writes.iter().map(|write| write.compared.len()).sum::<usize>(),
        writes.len(),
    )];
    for (file, path) in options.replay.iter().enumerate() {
        let of: Vec<&ReplayedSentence> = writes.iter().filter(|write| write.file == file).collect();
        let refused = |how: &dyn Fn(&JudgeWeights, &FitPair) -> bool| {
            of.iter().filter(|write| write.compared.iter().any(|features| how(&judges[write.part], features))).count()
        };
        notes.push(format!(
            "{}: {} sentences, of which {} are refused without models and {} with them",
            file_names(std::slice::from_ref(path)),
            of.len(),
            refused(&|judge, features| judge.rules.log_odds(&features.by_rules) >= rules_block),
            refused(&|judge, features| features.refused(judge)),
        ));
    }
    // Pairs, too, are scored by the judge that was not fitted to them.
    let share = |found: &dyn Fn(&JudgeWeights, &FitPair) -> bool| {
        let hits = |contradiction: bool| {
            let of = pairs.iter().filter(|pair| pair.contradiction == contradiction);
            of.filter(|pair| pair.features.as_ref().is_some_and(|features| found(&judges[pair.part], features))).count()
        };
        let (right, wrong) = (hits(true), hits(false));
        (right as f64 / wanted.max(1) as f64, right as f64 / (right + wrong).max(1) as f64)
    };
    let (recall, precision) = share(&|judge, features| judge.rules.log_odds(&features.by_rules) >= rules_block);
    notes.push(format!(
        "without models: {recall:.3} of the contradictions, precision {precision:.2}, from {:.3}",
        probability(rules_block)
    ));
    let (recall, precision) = share(&|judge, features| features.refused(judge));
    notes.push(format!(
        "with models: {recall:.3} of the contradictions, precision {precision:.2}, from {:.3}",
        probability(block)
    ));
    for per_1000 in [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0] {
        let one = |all: &[Vec<f32>]| over(all, &|_| per_1000);
        let (at, at_alone) = (one(&all), one(&alone));
        let with = share(&|judge, features| {
            if features.inferred() { features.judged(judge).0 >= at } else { features.refused(judge) }
        });
        let without = share(&|judge, features| judge.rules.log_odds(&features.by_rules) >= at_alone);
        notes.push(format!(
            "{per_1000:>5.1} per 1,000 in each file: with models from {:.3}: {:.3} of the contradictions, precision {:.2}; without from {:.3}: {:.3}, {:.2}",
            probability(at), with.0, with.1, probability(at_alone), without.0, without.1,
        ));
    }
    let (mut inferred_bins, mut alone_bins) = (Bins::default(), Bins::default());
    let compared = pairs
        .iter()
        .filter_map(|pair| Some((pair.part, pair.features.as_ref()?, pair.contradiction)))
        .chain(writes.iter().flat_map(|write| write.compared.iter().map(|features| (write.part, features, false))));
    for (part, features, contradiction) in compared {
        if let Some(with_inference) = &features.with_inference {
            inferred_bins.add(probability(judges[part].log_odds(with_inference)), contradiction);
        }
        alone_bins.add(probability(judges[part].rules.log_odds(&features.by_rules)), contradiction);
    }
    notes.push(format!("with the cross-encoder, on data that was not fitted to:\n{inferred_bins}"));
    notes.push(format!("without models, on data that was not fitted to:\n{alone_bins}"));
    let kinds: std::collections::BTreeSet<&str> = pairs.iter().map(|pair| pair.kind.as_str()).collect();
    for kind in kinds {
        let of: Vec<&MeasuredPair> = pairs.iter().filter(|pair| pair.kind == kind).collect();
        let refused =
            |pair: &&&MeasuredPair| pair.features.as_ref().is_some_and(|features| features.refused(&judges[pair.part]));
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
        pairs: format!("{}: {} pairs", file_names(&options.pairs), pairs.len()),
        replay: format!(
            "{}: {} sentences, {:?} of 1,000 refused in each, {:?} without models",
            file_names(&options.replay),
            writes.len(),
            options.per_1000,
            options.rules_per_1000
        ),
    };
    Ok(Fitted { weights, notes })
}

/// Returns each example as a JSON line.
fn json_lines(pairs: &[MeasuredPair], writes: &[ReplayedSentence]) -> String {
    let features = |features: &FitPair| {
        serde_json::json!({ "heard": features.with_inference.map(|features| features.to_vec()), "alone": features.by_rules.to_vec(),
            "stored": features.stored, "incoming": features.incoming })
    };
    let pairs = pairs.iter().map(|pair| {
        let compared: Vec<_> = pair.features.iter().map(features).collect();
        serde_json::json!({ "kind": pair.kind, "contradiction": pair.contradiction, "part": pair.part, "compared": compared })
    });
    let writes = writes.iter().map(|write| {
        let compared: Vec<_> = write.compared.iter().map(features).collect();
        serde_json::json!({ "file": write.file, "part": write.part, "compared": compared })
    });
    let names = serde_json::json!({ "names": FEATURE_NAMES });
    let lines: Vec<String> = std::iter::once(names).chain(pairs).chain(writes).map(|line| line.to_string()).collect();
    lines.join("\n") + "\n"
}

/// The penalty of large weights: enough to spread the weight over correlated features.
const RIDGE: f64 = 2e-4;

/// The penalty of large weights for the three features of the rules. It is small, since they are rarely above 0, and a
/// larger one would lower the probability.
const RULES_RIDGE: f64 = 1e-6;

fn empty_project(guard: Guard, cache: &Arc<CachedModels>) -> MemoryProject {
    MemoryProject::new(guard, Some(cache.cached()))
}

pub(super) fn file_names(files: &[PathBuf]) -> String {
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    files.iter().filter_map(name).collect::<Vec<_>>().join(", ")
}

/// Returns a probability, rounded as in the file of weights.
pub(super) fn probability(log_odds: f32) -> f32 {
    (logistic_f32(log_odds) * 1e5).round() / 1e5
}

/// Returns the log-odds above which `per_1000` of 1,000 writes lie. `descending` are the log-odds of the writes.
fn cut(descending: &[f32], per_1000: f64) -> f32 {
    let allowed = (descending.len() as f64 * per_1000 / 1000.0).floor() as usize;
    // Just above the first one that must not be refused.
    descending.get(allowed).map_or(0.0, |score| score.min(20.0) + 1e-3)
}

/// Fits weights to the labelled pairs and the replay, without one part of both.
fn learn(
    pairs: &[MeasuredPair],
    writes: &[ReplayedSentence],
    without: Option<usize>,
    options: &FitOptions,
) -> JudgeWeights {
    let labelled = pairs
        .iter()
        .filter(|pair| Some(pair.part) != without)
        .filter_map(|pair| Some((pair.features.as_ref()?, pair.contradiction)));
    let taught = writes.iter().filter(|write| Some(write.part) != without);
    let harmless = taught.flat_map(|write| &write.compared).map(|features| (features, false));
    let compared: Vec<(&FitPair, bool)> = labelled.chain(harmless).collect();
    let inferred =
        compared.iter().filter_map(|(features, yes)| Some((features.with_inference.as_ref()?.as_slice(), *yes)));
    let by_rules = compared.iter().map(|(features, yes)| (features.by_rules.as_slice(), *yes));
    let mut weights = JudgeWeights { gate: options.start.gate, deep: options.start.deep, ..JudgeWeights::default() };
    weights.weights = logistic::fit_named(inferred, &FEATURE_NAMES, &FEATURE_NAMES, RIDGE);
    weights.rules.weights = logistic::fit_named(by_rules, &FEATURE_NAMES, &RULE_FEATURES, RULES_RIDGE);
    weights
}
