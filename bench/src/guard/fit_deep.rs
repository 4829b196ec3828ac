//! Fits the weight of a language model's answer: a logistic regression over two log-odds, on the pairs about which
//! the model is asked.

use std::time::Duration;

use super::{
    GuardBenchError,
    fit::{FitOptions, probability},
    fit_data::{FitPair, MeasuredPair, ReplayedSentence},
    logistic::{self, FitExample, rounded},
};
use ergo::{
    engine::deep_odds,
    guard::{JudgeWeights, weights::DeepWeights},
    infer::{Call, Models},
};

/// The deadline of an answer: long, since a busy machine must not count as a failure.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(5);

/// The penalty of large weights.
const RIDGE: f64 = 1e-3;

/// The wrong warnings of the deep stage that are allowed per 1,000 writes.
const MAX_WARNINGS_PER_1000: f64 = 4.0;

/// A pair that the language model was asked about.
struct AskedPair {
    contradiction: bool,
    /// The judge's log-odds.
    judge: f32,
    /// The language model's log-odds.
    model: f32,
}

/// Fits the deep stage of `weights`, whose judge must be fitted already.
pub(super) fn fit(
    weights: &JudgeWeights,
    pairs: &[MeasuredPair],
    writes: &[ReplayedSentence],
    models: &dyn Models,
    options: &FitOptions,
    progress: &mut dyn FnMut(String),
) -> Result<(DeepWeights, Vec<String>), GuardBenchError> {
    let reaches_model = |pair: &FitPair| {
        let score = pair.with_inference.map(|features| probability(weights.log_odds(&features)));
        score.is_some_and(|score| score >= weights.deep.gate) && !pair.refused(weights)
    };
    let odds = |pair: &FitPair| pair.with_inference.map_or(f32::MIN, |features| weights.log_odds(&features));
    let labelled: Vec<(&FitPair, bool)> = pairs
        .iter()
        .filter_map(|pair| Some((pair.features.as_ref()?, pair.contradiction)))
        .filter(|(pair, _)| reaches_model(pair))
        .collect();
    let replayed: Vec<(&FitPair, bool)> = writes
        .iter()
        .filter(|write| !write.compared.iter().any(|pair| pair.refused(weights)))
        .flat_map(|write| write.compared.iter().filter(|pair| reaches_model(pair)).take(weights.deep.most))
        .map(|pair| (pair, false))
        .collect();
    let half = options.deep_pairs / 2;
    let (of_pairs, of_replay) = (spread(&labelled, half), spread(&replayed, half));
    let count = of_pairs.len() + of_replay.len();
    let mut asked = Vec::with_capacity(count);
    for (number, (pair, contradiction)) in of_pairs.iter().chain(&of_replay).enumerate() {
        progress(format!("asking the language model, {number} of {count}"));
        let model = deep_odds(models, &pair.stored, &pair.incoming, Call::background(ANSWER_TIMEOUT))
            .map_err(|error| GuardBenchError::Model(format!("the language model failed: {error}")))?;
        asked.push(AskedPair { contradiction: *contradiction, judge: odds(pair), model });
    }
    let examples: Vec<FitExample> = asked
        .iter()
        .map(|pair| FitExample { features: vec![pair.judge, pair.model], yes: pair.contradiction, weight: 1.0 })
        .collect();
    let [intercept, judge, model] = logistic::fit(&examples, RIDGE)[..] else {
        return Err(GuardBenchError::Model("no pair comes to the language model".into()));
    };
    let mut deep =
        DeepWeights { intercept: rounded(intercept), judge: rounded(judge), model: rounded(model), ..weights.deep };
    let score = |pair: &AskedPair| deep.intercept + deep.judge * pair.judge + deep.model * pair.model;
    let mut harmless: Vec<f32> = asked[of_pairs.len()..].iter().map(score).collect();
    harmless.sort_by(|a, b| b.total_cmp(a));
    // Only a part of the replayed pairs was asked about.
    let share = of_replay.len() as f64 / replayed.len().max(1) as f64;
    let at = |per_1000: f64| {
        let allowed = (writes.len() as f64 * per_1000 / 1000.0 * share).floor() as usize;
        harmless.get(allowed).map_or(0.0, |score| score.min(20.0) + 1e-3)
    };
    let mut notes = vec![format!(
        "the deep stage: {} labelled pairs and {} of the replay come to it; asked about {} and {}",
        labelled.len(),
        replayed.len(),
        of_pairs.len(),
        of_replay.len()
    )];
    let wanted = asked.iter().filter(|pair| pair.contradiction).count();
    for per_1000 in [0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 8.0] {
        let limit = at(per_1000);
        let found = asked.iter().filter(|pair| pair.contradiction && score(pair) >= limit).count();
        notes.push(format!(
            "{per_1000:>5.1} per 1,000: score {:.3}, {:.2} of the contradictions that come to it",
            probability(limit),
            found as f64 / wanted.max(1) as f64
        ));
    }
    let (block, warn) = (at(options.deep_per_1000), at(MAX_WARNINGS_PER_1000));
    deep.block = probability(block);
    deep.warn = probability(warn.min(block));
    Ok((deep, notes))
}

/// Selects at most `most` pairs by the hash of their texts, so that another judge gets mostly the same ones.
fn spread<'a>(all: &[(&'a FitPair, bool)], most: usize) -> Vec<(&'a FitPair, bool)> {
    let hash = |pair: &FitPair| *blake3::hash(format!("{}\n{}", pair.stored, pair.incoming).as_bytes()).as_bytes();
    let mut chosen = all.to_vec();
    chosen.sort_by_cached_key(|(pair, _)| hash(pair));
    chosen.truncate(most);
    chosen
}
