//! `ergo-bench guard --fit-gate`: fits the gate's weights to labelled pairs among the sentences of a replay, and chooses its
//! thresholds on the replay.

use super::{
    FitOptions, Fitted, GuardBenchError,
    fit_data::{LabelledPair, ReplayRow, check_failures, read},
    gate_examples::{ExampleFile, GateExample},
    logistic,
    memory_project::MemoryProject,
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

/// The number of sentences beside the older side of a labelled pair.
const SENTENCES_BESIDE_PAIR: usize = 300;

/// The penalty of large weights.
const RIDGE: f64 = 2e-4;

/// The features that need no model.
const WORD_FEATURES: [&str; 7] =
    ["rank", "overlap", "containment", "same_subject", "same_object", "strength", "polarity"];

/// The features of the first stage.
const FIRST_STAGE_FEATURES: [&str; 8] =
    ["rank", "cosine", "overlap", "containment", "same_subject", "same_object", "strength", "polarity"];

/// Shares of the contradictions that the first stage could pass on. The figures of each are printed.
const PASSED_SHARES: [f64; 6] = [0.90, 0.93, 0.95, 0.97, 0.98, 0.99];

/// The share of the contradictions that the first stage does pass on.
const SHIPPED_SHARE: f64 = 0.97;

/// The most pairs of one write that the cross-encoder reads for the gate.
const MAX_PAIRS: usize = 4;

/// The shares of harmless writes that may be in each band.
#[derive(Clone, Copy, Debug)]
pub struct GateBands {
    /// The share that is asked about.
    pub ask: f64,
    /// The share that is asked about or mentioned.
    pub mention: f64,
}

/// Fits the gate.
pub fn fit_gate(
    options: &FitOptions,
    bands: GateBands,
    start: &GateWeights,
    progress: &mut dyn FnMut(String),
) -> Result<(GateWeights, Fitted), GuardBenchError> {
    let info = options.models.info();
    let hash = |role| info.role(role).map(|role| role.sha256.clone()).unwrap_or_default();
    let cache = super::cache(Some(&options.models), options.cache.as_ref())?;
    let Some(cache) = cache else { return Err(GuardBenchError::Model("fitting needs models".into())) };
    // The cross-encoder reads all nearby claims, since the fit decides which ones the gate will leave out.
    let first = GateFirstStage { least: 0.0, most: MAX_CANDIDATES, ..start.first.clone() };
    let guard = Guard::default().with_gate(GateWeights { first, ..start.clone() });
    let mut project = MemoryProject::new(guard, Some(cache.cached()));
    let sentences: Vec<ReplayRow> = read(&options.replay)?;
    let pairs: Vec<LabelledPair> = read(&options.pairs)?;

    for sentence in sentences.iter().take(SENTENCES_BESIDE_PAIR) {
        project.store(ClaimKind::Convention, &sentence.text);
    }
    let beside = project.stored.len();
    let mut examples: Vec<(GateFeatures, bool)> = Vec::new();
    let mut file = ExampleFile::create(options.examples.as_deref())?;
    let mut contradictions: Vec<Option<GateFeatures>> = Vec::new();
    for (done, pair) in pairs.iter().enumerate() {
        if done % 200 == 0 {
            progress(format!("pairs: {done} of {}", pairs.len()));
        }
        project.store(ClaimKind::Decision, &pair.a);
        let ours = project.parse(ClaimKind::Decision, &pair.b);
        let yes = pair.label == "contradiction";
        let mut own = None;
        for claim in project.gated_claims(&ours) {
            let existing = &project.stored[claim.number].claim.claim().statement;
            let example = GateExample::of(&claim, &pair.label, &pair.b, existing, claim.number == beside);
            file.add(&GateExample { set: "pairs", write: done, ..example })?;
            let Some(features) = claim.features else { continue };
            if claim.number == beside {
                own = Some(features);
            }
            examples.push((features, yes && claim.number == beside));
        }
        if yes {
            contradictions.push(own);
        }
        project.stored.truncate(beside);
    }
    let mut writes: Vec<Vec<GateFeatures>> = Vec::new();
    let mut unit: Option<&str> = None;
    for (done, sentence) in sentences.iter().take(options.most).enumerate() {
        if done % 500 == 0 {
            progress(format!("sentences: {done} of {}", sentences.len().min(options.most)));
        }
        if unit != Some(&sentence.unit) {
            project.stored.clear();
            unit = Some(&sentence.unit);
        }
        let ours = project.parse(ClaimKind::Convention, &sentence.text);
        let nearby = project.gated_claims(&ours);
        for claim in &nearby {
            let existing = &project.stored[claim.number].claim.claim().statement;
            let example = GateExample::of(claim, "sentence", &sentence.text, existing, true);
            file.add(&GateExample { set: &sentence.unit, write: done, ..example })?;
        }
        let features: Vec<GateFeatures> = nearby.into_iter().filter_map(|claim| claim.features).collect();
        examples.extend(features.iter().map(|features| (*features, false)));
        writes.push(features);
        project.stored.push(ours);
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
            .map(|features| features.iter().map(|features| regression.score(features)).fold(0.0, f32::max))
            .collect();
        best.sort_by(|a, b| b.total_cmp(a));
        let cut = |share: f64| best.get((best.len() as f64 * share) as usize).map_or(1.0, |score| score + 1e-4);
        (regression.ask, regression.mention) = (cut(bands.ask), cut(bands.mention));
        let held = |least| found_share(&contradictions, &regression, least);
        notes.push(format!(
            "{name}: asked from {:.3} ({:.3} of the contradictions), mentioned from {:.3} ({:.3})",
            regression.ask,
            held(regression.ask),
            regression.mention,
            held(regression.mention)
        ));
        regression
    };
    let (models, words) = (learnt("models", &GATE_FEATURES), learnt("words", &WORD_FEATURES));
    for (name, regression) in [("models", &start.models), ("words", &start.words)] {
        let held = |least| found_share(&contradictions, regression, least);
        let taken = |least: f32| {
            let taken =
                |features: &&Vec<GateFeatures>| features.iter().any(|features| regression.score(features) >= least);
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
    let first = GateRegression { ask: 0.0, mention: 0.0, ..learn(&examples, &FIRST_STAGE_FEATURES) };
    let mut scores: Vec<f32> = contradictions.iter().flatten().map(|features| first.score(features)).collect();
    scores.sort_by(f32::total_cmp);
    let least = |share: f64| scores.get(((1.0 - share) * scores.len() as f64) as usize).copied().unwrap_or_default();
    for share in PASSED_SHARES {
        let least = least(share);
        let passed =
            |features: &Vec<GateFeatures>| features.iter().filter(|features| first.score(features) >= least).count();
        let pairs: usize = writes.iter().map(|features| passed(features).min(MAX_PAIRS)).sum();
        let pairs = pairs as f64 / writes.len().max(1) as f64;
        notes.push(format!(
            "first stage: from {least:.4} on {share:.2} of the contradictions and {pairs:.2} pairs of a write"
        ));
    }
    let first = GateFirstStage { least: least(SHIPPED_SHARE), most: MAX_PAIRS, weights: first.weights };
    let provenance = JudgeProvenance {
        command: "ergo-bench guard --fit-gate --fit PAIRS --replay SENTENCES".into(),
        date: options.date.clone(),
        nli: hash(ModelRole::Nli),
        embedder: hash(ModelRole::Embedder),
        pairs: format!("{} pairs", pairs.len()),
        replay: format!("{} sentences, {} asked and {} mentioned of 1", writes.len(), bands.ask, bands.mention),
    };
    check_failures(&project)?;
    Ok((GateWeights { first, models, words, provenance }, Fitted { notes, ..Fitted::default() }))
}

/// Returns the share of the contradictions with at least this score; those without features are not found.
fn found_share(contradictions: &[Option<GateFeatures>], regression: &GateRegression, least: f32) -> f64 {
    let found = contradictions.iter().flatten().filter(|features| regression.score(features) >= least).count();
    found as f64 / contradictions.len().max(1) as f64
}

/// Fits a regression over some of the features.
fn learn(examples: &[(GateFeatures, bool)], names: &[&str]) -> GateRegression {
    let examples = examples.iter().map(|(features, yes)| (features.as_slice(), *yes));
    GateRegression { weights: logistic::fit_named(examples, &GATE_FEATURES, names, RIDGE), ..GateRegression::default() }
}
