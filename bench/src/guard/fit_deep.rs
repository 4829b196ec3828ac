//! Fits the weight of a language model's answer: a logistic regression over two log-odds, on the pairs about which
//! the model is asked.

use std::time::Duration;

use super::{
    BenchError,
    fit::{FitOptions, Look, Seen, Write, probability},
    logistic::{self, Example},
};
use ergo::{
    engine::deep_odds,
    guard::{JudgeWeights, weights::DeepWeights},
    infer::{Call, Models},
};

/// How long one answer may take here: a busy machine is no failure.
const PATIENCE: Duration = Duration::from_mins(5);

/// The penalty of large weights.
const RIDGE: f64 = 1e-3;

/// How many of 1,000 writes the deep stage may warn about wrongly.
const WARNS: f64 = 4.0;

/// A pair that the language model was asked about.
struct Asked {
    contradiction: bool,
    /// The judge's log-odds.
    judge: f32,
    /// The language model's.
    model: f32,
}

/// Fits the deep stage of `weights`, whose judge is fitted already.
pub(super) fn fit(
    weights: &JudgeWeights,
    pairs: &[Seen],
    writes: &[Write],
    models: &dyn Models,
    options: &FitOptions,
    progress: &mut dyn FnMut(String),
) -> Result<(DeepWeights, Vec<String>), BenchError> {
    let comes = |look: &Look| {
        let score = look.with_inference.map(|figures| probability(weights.log_odds(&figures)));
        score.is_some_and(|score| score >= weights.deep.gate) && !look.refused(weights)
    };
    let odds = |look: &Look| look.with_inference.map_or(f32::MIN, |figures| weights.log_odds(&figures));
    let labelled: Vec<(&Look, bool)> = pairs
        .iter()
        .filter_map(|pair| Some((pair.look.as_ref()?, pair.contradiction)))
        .filter(|(look, _)| comes(look))
        .collect();
    let replayed: Vec<(&Look, bool)> = writes
        .iter()
        .filter(|write| !write.looks.iter().any(|look| look.refused(weights)))
        .flat_map(|write| write.looks.iter().filter(|look| comes(look)).take(weights.deep.most))
        .map(|look| (look, false))
        .collect();
    let half = options.deep_pairs / 2;
    let (of_pairs, of_replay) = (spread(&labelled, half), spread(&replayed, half));
    let count = of_pairs.len() + of_replay.len();
    let mut asked = Vec::with_capacity(count);
    for (number, (look, contradiction)) in of_pairs.iter().chain(&of_replay).enumerate() {
        progress(format!("asking the language model, {number} of {count}"));
        let model = deep_odds(models, &look.stored, &look.incoming, Call::background(PATIENCE))
            .map_err(|error| BenchError::Model(format!("the language model failed: {error}")))?;
        asked.push(Asked { contradiction: *contradiction, judge: odds(look), model });
    }
    let examples: Vec<Example> = asked
        .iter()
        .map(|pair| Example { figures: vec![pair.judge, pair.model], yes: pair.contradiction, weight: 1.0 })
        .collect();
    let [intercept, judge, model] = logistic::fit(&examples, RIDGE)[..] else {
        return Err(BenchError::Model("no pair comes to the language model".into()));
    };
    let rounded = |weight: f64| (weight * 1e4).round() as f32 / 1e4;
    let mut deep =
        DeepWeights { intercept: rounded(intercept), judge: rounded(judge), model: rounded(model), ..weights.deep };
    let score = |pair: &Asked| deep.intercept + deep.judge * pair.judge + deep.model * pair.model;
    let mut harmless: Vec<f32> = asked[of_pairs.len()..].iter().map(score).collect();
    harmless.sort_by(|a, b| b.total_cmp(a));
    // Each of the replay that was asked about stands for some that were not.
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
    let (block, warn) = (at(options.deep_per_1000), at(WARNS));
    deep.block = probability(block);
    deep.warn = probability(warn.min(block));
    Ok((deep, notes))
}

/// At most `most` of them, by the hash of their texts: mostly the same ones where the judge is another.
fn spread<'a>(all: &[(&'a Look, bool)], most: usize) -> Vec<(&'a Look, bool)> {
    let hash = |look: &Look| *blake3::hash(format!("{}\n{}", look.stored, look.incoming).as_bytes()).as_bytes();
    let mut chosen = all.to_vec();
    chosen.sort_by_cached_key(|(look, _)| hash(look));
    chosen.truncate(most);
    chosen
}
