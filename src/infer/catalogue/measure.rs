//! Measures the speed of this machine's models, for `ergo models bench`.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::infer::{Call, InferError, ModelRole, Models, Prompt};

/// The timeout of one call.
const DEADLINE: Duration = Duration::from_mins(5);

/// The number of texts or pairs in one call: about as many pairs as a guarded write has.
const BATCH: usize = 8;

/// The number of tokens that a language model generates in one call.
const GENERATED_TOKENS: usize = 32;

/// Sentences of typical length, used in turn.
const SENTENCES: [&str; 8] = [
    "Every service writes its logs to standard output, one JSON object a line.",
    "The public API is versioned in its path, and a version is kept for a year.",
    "Nightly jobs run between two and four in the morning, never on a release day.",
    "Passwords are stored with a memory-hard hash and are never logged.",
    "A pull request needs one review by somebody who did not write it.",
    "Images are served from the content network with a cache time of one week.",
    "The billing service is the only one that may write to the ledger.",
    "Feature flags are removed within two releases after they are fully on.",
];

/// The timing of one kind of call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelTiming {
    /// What was timed: `sentence`, `pair`, …
    pub what: &'static str,
    /// The number of items (sentences, pairs, tokens) of one call, by which its time is divided.
    pub per_call: usize,
    /// The number of timed calls.
    pub calls: usize,
    /// The median time of one item, in milliseconds.
    pub p50_ms: f64,
    /// The 95th percentile of the time of one item, in milliseconds.
    pub p95_ms: f64,
}

/// Times the model of a role with `calls` calls of each kind, after a first call that loads the model.
///
/// # Errors
/// The first [`InferError`].
pub fn measure(role: ModelRole, models: &dyn Models, calls: usize) -> Result<Vec<ModelTiming>, InferError> {
    let call = Call::foreground(DEADLINE);
    let sentence = |at: usize| SENTENCES.get(at % SENTENCES.len()).copied().unwrap_or_default().to_owned();
    let pairs = |at: usize, count: usize| -> Vec<_> {
        (at..at + count).map(|at| (sentence(at), sentence(at + 1 + at / SENTENCES.len() % 7))).collect()
    };
    match role {
        ModelRole::Embedder => {
            let texts = |at: usize, count: usize| (at..at + count).map(sentence).collect::<Vec<_>>();
            Ok(vec![
                time_first_call(&mut || models.embed(&texts(0, 1), call).map(drop))?,
                time_calls("sentence", 1, calls, &mut |at| models.embed(&texts(at, 1), call).map(drop))?,
                time_calls("per sentence, 8 per call", BATCH, calls, &mut |at| {
                    models.embed(&texts(at, BATCH), call).map(drop)
                })?,
            ])
        }
        ModelRole::Nli => Ok(vec![
            time_first_call(&mut || models.classify(&pairs(0, 1), call).map(drop))?,
            time_calls("pair", 1, calls, &mut |at| models.classify(&pairs(at, 1), call).map(drop))?,
            time_calls("per pair, 8 per call", BATCH, calls, &mut |at| {
                models.classify(&pairs(at, BATCH), call).map(drop)
            })?,
        ]),
        ModelRole::Llm => {
            let examples = || [(sentence(1), sentence(2))];
            let prompt = |at: usize| Prompt::few_shot("Repeat what is said, in other words.", examples(), sentence(at));
            // The grammar never allows the end, so that exactly `GENERATED_TOKENS` are generated.
            let letters = "root ::= [a-z ]+ \"\\x00\"";
            let score = |at: usize| models.answers(&prompt(at), &["yes".to_owned(), "no".to_owned()], call).map(drop);
            let write = |at: usize| models.generate(&prompt(at), letters, GENERATED_TOKENS, call).map(drop);
            Ok(vec![
                time_first_call(&mut || score(0))?,
                time_calls("per answer scored", 1, calls, &mut |at| score(at))?,
                time_calls("per token generated", GENERATED_TOKENS, calls.div_ceil(4), &mut |at| write(at))?,
            ])
        }
    }
}

fn time_first_call(work: &mut dyn FnMut() -> Result<(), InferError>) -> Result<ModelTiming, InferError> {
    time_calls("loading and first call", 1, 1, &mut |_| work())
}

fn time_calls(
    what: &'static str,
    per_call: usize,
    calls: usize,
    work: &mut dyn FnMut(usize) -> Result<(), InferError>,
) -> Result<ModelTiming, InferError> {
    let mut times = Vec::with_capacity(calls);
    for at in 0..calls.max(1) {
        let begin = Instant::now();
        work(at)?;
        times.push(begin.elapsed().as_secs_f64() * 1e3 / per_call as f64);
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get(((times.len() - 1) as f64 * share).round() as usize).copied().unwrap_or_default();
    Ok(ModelTiming { what, per_call, calls: times.len(), p50_ms: at(0.5), p95_ms: at(0.95) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::{FakeModels, NoModels};

    #[test]
    fn every_role_is_timed_and_a_failure_is_the_answer() {
        let models = FakeModels::new()
            .embedding(|text| Ok(FakeModels::bag_of_words(text)))
            .classifying(|_, _| Ok([0.0; 3]))
            .generating(|_| Ok(String::new()))
            .answering(|_, answers| Ok(vec![0.0; answers.len()]));
        for role in ModelRole::ALL {
            let timings = measure(role, &models, 3).unwrap();
            assert_eq!(timings.len(), 3, "{role}");
            assert!(timings.iter().all(|timing| timing.p50_ms <= timing.p95_ms), "{timings:?}");
            assert_eq!(timings[1].calls, 3);
            assert_eq!(measure(role, &NoModels, 3).unwrap_err().kind(), "no_model");
        }
    }
}
