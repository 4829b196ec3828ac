//! `ergo-bench guard --fit-gate`: the gate's weights from labelled pairs among the sentences of a replay, its thresholds from the replay.

use std::path::PathBuf;

use super::{
    BenchError, FitOptions, Fitted,
    data::lines,
    fit::{self, Pair, Sentence},
    gate_examples::{ExampleFile, GateExample},
    logistic::{self, Example},
    memory::Memory,
};
use ergo::{
    domain::ClaimKind,
    guard::{
        Guard, MAX_CANDIDATES,
        doubt_gate::{GATE_FEATURES, GateFeatures, GateFirstStage, GateRegression, GateWeights},
        weights::JudgeProvenance,
    },
    infer::ModelRole,
};

/// How many sentences stand beside the older side of a labelled pair.
const CROWD: usize = 300;

/// The penalty of large weights.
const RIDGE: f64 = 2e-4;

/// The features that need no model.
const WORDS: [&str; 7] = ["rank", "overlap", "containment", "same_subject", "same_object", "strength", "polarity"];

/// The features of the first stage.
const FIRST: [&str; 8] =
    ["rank", "cosine", "overlap", "containment", "same_subject", "same_object", "strength", "polarity"];

/// Shares of the contradictions that the first stage could let through; the figures of each are printed.
const LET_THROUGH: [f64; 6] = [0.90, 0.93, 0.95, 0.97, 0.98, 0.99];

/// The share that it does let through.
const SHIPPED: f64 = 0.97;

/// The most pairs of one write that the cross-encoder is asked about for the gate.
const MOST: usize = 4;

/// How much of the harmless writes each band may take.
#[derive(Clone, Copy, Debug)]
pub struct GateBands {
    /// The share that is asked about.
    pub ask: f64,
    /// The share that is asked about or mentioned.
    pub mention: f64,
}

/// Fits the gate.
///
/// # Errors
/// If a file cannot be read, or a model is missing or fails.
pub fn fit_gate(
    options: &FitOptions,
    bands: GateBands,
    start: &GateWeights,
    progress: &mut dyn FnMut(String),
) -> Result<(GateWeights, Fitted), BenchError> {
    let info = options.models.info();
    let hash = |role| info.role(role).map(|role| role.sha256.clone()).unwrap_or_default();
    let cache = super::cache(Some(&options.models), options.cache.as_ref())?;
    let Some(cache) = cache else { return Err(BenchError::Model("fitting needs models".into())) };
    // Every new claim is inferred: what the gate will leave out is learnt here.
    let first = GateFirstStage { least: 0.0, most: MAX_CANDIDATES, ..start.first.clone() };
    let guard = Guard::default().with_gate(GateWeights { first, ..start.clone() });
    let mut memory = Memory::new(guard, Some(cache.cached()));
    let sentences: Vec<Sentence> = read(&options.replay)?;
    let pairs: Vec<Pair> = read(&options.pairs)?;

    for sentence in sentences.iter().take(CROWD) {
        memory.keep(ClaimKind::Convention, &sentence.text);
    }
    let crowd = memory.stored.len();
    let mut examples: Vec<(GateFeatures, bool)> = Vec::new();
    let mut file = ExampleFile::create(options.examples.as_deref())?;
    let mut contradictions: Vec<Option<GateFeatures>> = Vec::new();
    for (done, pair) in pairs.iter().enumerate() {
        if done % 200 == 0 {
            progress(format!("pairs: {done} of {}", pairs.len()));
        }
        memory.keep(ClaimKind::Decision, &pair.a);
        let ours = memory.read(ClaimKind::Decision, &pair.b);
        let yes = pair.label == "contradiction";
        let mut own = None;
        for seen in memory.doubted(&ours) {
            let existing = &memory.stored[seen.number].claim.claim().statement;
            let example = GateExample::of(&seen, &pair.label, &pair.b, existing, seen.number == crowd);
            file.add(&GateExample { set: "pairs", write: done, ..example })?;
            let Some(features) = seen.features else { continue };
            if seen.number == crowd {
                own = Some(features);
            }
            examples.push((features, yes && seen.number == crowd));
        }
        if yes {
            contradictions.push(own);
        }
        memory.stored.truncate(crowd);
    }
    let mut writes: Vec<Vec<GateFeatures>> = Vec::new();
    let mut unit: Option<&str> = None;
    for (done, sentence) in sentences.iter().take(options.most).enumerate() {
        if done % 500 == 0 {
            progress(format!("sentences: {done} of {}", sentences.len().min(options.most)));
        }
        if unit != Some(&sentence.unit) {
            memory.stored.clear();
            unit = Some(&sentence.unit);
        }
        let ours = memory.read(ClaimKind::Convention, &sentence.text);
        let seen = memory.doubted(&ours);
        for one in &seen {
            let existing = &memory.stored[one.number].claim.claim().statement;
            let example = GateExample::of(one, "sentence", &sentence.text, existing, true);
            file.add(&GateExample { set: &sentence.unit, write: done, ..example })?;
        }
        let looks: Vec<GateFeatures> = seen.into_iter().filter_map(|seen| seen.features).collect();
        examples.extend(looks.iter().map(|features| (*features, false)));
        writes.push(looks);
        memory.stored.push(ours);
    }

    file.finish()?;
    let mut notes = vec![format!(
        "{} examples of {} pairs ({} contradictions) and {} writes",
        examples.len(),
        pairs.len(),
        contradictions.len(),
        writes.len()
    )];
    let mut learnt = |name: &str, names: &[&str]| {
        let mut regression = learn(&examples, names);
        let mut best: Vec<f32> = writes
            .iter()
            .map(|looks| looks.iter().map(|features| regression.score(features)).fold(0.0, f32::max))
            .collect();
        best.sort_by(|a, b| b.total_cmp(a));
        let cut = |share: f64| best.get((best.len() as f64 * share) as usize).map_or(1.0, |score| score + 1e-4);
        (regression.ask, regression.mention) = (cut(bands.ask), cut(bands.mention));
        let held = |least: f32| {
            let found = contradictions.iter().flatten().filter(|features| regression.score(features) >= least).count();
            found as f64 / contradictions.len().max(1) as f64
        };
        notes.push(format!(
            "{name}: asked from {:.3} ({:.3} of the contradictions), mentioned from {:.3} ({:.3})",
            regression.ask,
            held(regression.ask),
            regression.mention,
            held(regression.mention)
        ));
        regression
    };
    let (models, words) = (learnt("models", &GATE_FEATURES), learnt("words", &WORDS));
    for (name, regression) in [("models", &start.models), ("words", &start.words)] {
        let held = |least: f32| {
            let found = contradictions.iter().flatten().filter(|features| regression.score(features) >= least).count();
            found as f64 / contradictions.len().max(1) as f64
        };
        let taken = |least: f32| {
            let taken = |looks: &&Vec<GateFeatures>| looks.iter().any(|features| regression.score(features) >= least);
            writes.iter().filter(taken).count() as f64 / writes.len().max(1) as f64
        };
        notes.push(format!(
            "{name}, as it was: asked {:.3} of the contradictions and {:.3} of the writes, with mentions {:.3} and {:.3}",
            held(regression.ask),
            taken(regression.ask),
            held(regression.mention),
            taken(regression.mention)
        ));
    }
    let first = GateRegression { ask: 0.0, mention: 0.0, ..learn(&examples, &FIRST) };
    let mut scores: Vec<f32> = contradictions.iter().flatten().map(|features| first.score(features)).collect();
    scores.sort_by(f32::total_cmp);
    let least = |share: f64| scores.get(((1.0 - share) * scores.len() as f64) as usize).copied().unwrap_or_default();
    for share in LET_THROUGH {
        let least = least(share);
        let passed = |looks: &Vec<GateFeatures>| looks.iter().filter(|features| first.score(features) >= least).count();
        let pairs: usize = writes.iter().map(|looks| passed(looks).min(MOST)).sum();
        let pairs = pairs as f64 / writes.len().max(1) as f64;
        notes.push(format!(
            "first stage: from {least:.4} on {share:.2} of the contradictions and {pairs:.2} pairs of a write"
        ));
    }
    let first = GateFirstStage { least: least(SHIPPED), most: MOST, weights: first.weights };
    let provenance = JudgeProvenance {
        command: "ergo-bench guard --fit-gate --fit PAIRS --replay SENTENCES".into(),
        date: options.date.clone(),
        nli: hash(ModelRole::Nli),
        embedder: hash(ModelRole::Embedder),
        pairs: format!("{} pairs", pairs.len()),
        replay: format!("{} sentences, {} asked and {} mentioned of 1", writes.len(), bands.ask, bands.mention),
    };
    fit::failed(&memory)?;
    Ok((GateWeights { first, models, words, provenance }, Fitted { notes, ..Fitted::default() }))
}

fn learn(examples: &[(GateFeatures, bool)], names: &[&str]) -> GateRegression {
    let chosen = |features: &GateFeatures| -> Vec<f32> {
        GATE_FEATURES.iter().zip(features).filter(|(name, _)| names.contains(name)).map(|(_, value)| *value).collect()
    };
    let examples: Vec<Example> =
        examples.iter().map(|(features, yes)| Example { figures: chosen(features), yes: *yes, weight: 1.0 }).collect();
    let rounded = |weight: f64| (weight * 1e4).round() as f32 / 1e4;
    let fitted = logistic::fit(&examples, RIDGE).into_iter().map(rounded);
    let names = GATE_FEATURES.iter().filter(|name| names.contains(name)).copied();
    let weights = std::iter::once("intercept").chain(names).map(str::to_owned).zip(fitted).collect();
    GateRegression { weights, ..GateRegression::default() }
}

fn read<T: serde::de::DeserializeOwned>(files: &[PathBuf]) -> Result<Vec<T>, BenchError> {
    let mut rows = Vec::new();
    for file in files {
        let missing = || BenchError::Model(format!("{} is not there", file.display()));
        rows.extend(lines::<T>(file)?.ok_or_else(missing)?);
    }
    Ok(rows)
}
