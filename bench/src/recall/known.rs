//! Fits the probability that the best claim answers (`assets/recall/answer_model.toml`), and measures it on other
//! questions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
    sync::Arc,
};

use super::{
    curve::{ScoredAnswer, ThresholdPoint},
    data::{self, QueryRow},
    open_engine, request, today,
};
use crate::{
    error::BenchError,
    logistic::{self, FitExample},
    store::remove,
};
use ergo::{
    api::ApiError,
    domain::ClaimId,
    engine::{Engine, RecallMeans},
    infer::{ModelRole, Models},
    recall::{
        answer_model::{AnswerFeatures, AnswerModel, AnswerWeights},
        query_likelihood::FitProvenance,
    },
};

/// The penalty of large weights.
const RIDGE: f64 = 1e-3;

/// The thresholds that are tried, in hundredths.
const TRIED_THRESHOLDS: std::ops::RangeInclusive<u8> = 10..=90;

/// The limits that the usual questions set to the threshold: the least share of the unanswerable ones with another verdict
/// than `known`, and the largest share of right first answers with another verdict.
const MIN_ABSTENTION: f64 = 0.8;
const MAX_WITHHELD: f64 = 0.06;

/// The share of the questions with a shown answer whose probability may be so low that the verdict is that nothing is
/// known.
const MAX_SHOWN_AS_NOTHING: f64 = 0.01;

/// Bins in the table of predicted and observed probabilities.
const BINS: usize = 10;

/// The use of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuestionUse {
    /// Of `--data`: for fitting, and for choosing the threshold.
    Usual,
    /// Of `--fit-known`, asked in other words: for fitting.
    Fitted,
    /// Of `--fit-known`, asked in other words: only for measuring.
    HeldOut,
}

/// A question with the features of its results.
#[derive(Clone, Debug)]
pub(super) struct AskedQuestion {
    pub(super) part: QuestionUse,
    /// The sort of question.
    pub(super) sort: String,
    /// Whether a memory answers the question.
    pub(super) answerable: bool,
    /// Whether the first result answers it.
    pub(super) first: bool,
    /// Whether one of the first three results answers it.
    pub(super) shown: bool,
    /// `None` if nothing was found.
    pub(super) features: Option<AnswerFeatures>,
}

/// The questions, asked in two ways: with the question's vector, and by words alone.
#[derive(Clone, Debug, Default)]
pub(super) struct AskedQuestions {
    by_meaning: Vec<AskedQuestion>,
    by_words: Vec<AskedQuestion>,
}

impl AskedQuestions {
    /// Asks every question. `other_words` says that they are from `--fit-known`.
    pub(super) fn ask(
        &mut self,
        engine: &Engine,
        queries: &[QueryRow],
        ids: &BTreeMap<String, ClaimId>,
        other_words: bool,
    ) -> Result<(), BenchError> {
        for query in queries {
            let part = match (other_words, query.held_out) {
                (false, _) => QuestionUse::Usual,
                (true, false) => QuestionUse::Fitted,
                (true, true) => QuestionUse::HeldOut,
            };
            let expected: Vec<ClaimId> = query.expected.iter().filter_map(|name| ids.get(name).copied()).collect();
            let case = |meaning| -> Result<AskedQuestion, ApiError> {
                let found =
                    engine.recall_features(&request(query), RecallMeans { meaning, ..RecallMeans::default() })?;
                let first = found.iter().filter_map(|(_, ids)| ids.first()).any(|id| expected.contains(id));
                let shown = found.iter().flat_map(|(_, ids)| ids).any(|id| expected.contains(id));
                let features = found.map(|(features, _)| features);
                let sort = query.sort.clone();
                Ok(AskedQuestion { part, sort, answerable: !expected.is_empty(), first, shown, features })
            };
            self.by_meaning.push(case(true)?);
            self.by_words.push(case(false)?);
        }
        Ok(())
    }

    /// Returns the fitted weights in the format of their file, with their results as comments.
    pub(super) fn fit_file(&self, provenance: FitProvenance) -> Result<String, toml::ser::Error> {
        let model = AnswerModel { by_meaning: fit(&self.by_meaning), by_words: fit(&self.by_words), provenance };
        let mut text = format!("{HEADER}{}", toml::to_string(&model)?);
        for (name, cases, weights) in
            [("by meaning", &self.by_meaning, &model.by_meaning), ("by words", &self.by_words, &model.by_words)]
        {
            text.push_str(&comment(name, cases, weights));
        }
        Ok(text)
    }
}

/// Asks the questions of both folders, and returns the file of the fitted weights.
pub(super) fn fit_folders(
    folder: &Path,
    (engine, ids): (Engine, BTreeMap<String, ClaimId>),
    queries: &[QueryRow],
    path: &Path,
    models: &Arc<dyn Models>,
    progress: &mut dyn FnMut(&str),
) -> Result<String, BenchError> {
    let mut cases = AskedQuestions::default();
    cases.ask(&engine, queries, &ids, false)?;
    drop(engine);
    let (memories, others) = data::read(folder)?;
    let (engine, ids) = open_engine(path, &memories, models, progress)?;
    progress("asking in other words");
    cases.ask(&engine, &others, &ids, true)?;
    drop(engine);
    remove(path)?;
    let fitted = others.iter().filter(|query| !query.held_out).count();
    let model = models.info().role(ModelRole::Embedder).map_or_else(String::new, |role| role.name.clone());
    let provenance = FitProvenance {
        command: "ergo-bench recall --data tests/data/recall --fit-known tests/data/known".to_owned(),
        date: today(),
        questions: format!("{} of tests/data/recall, {fitted} of tests/data/known, {model}", queries.len()),
    };
    cases.fit_file(provenance).map_err(|error| BenchError::Engine(ApiError::internal(error.to_string())))
}

/// The first lines of the file.
const HEADER: &str = "# With which probability the best claim answers a question. Made by `ergo-bench recall --fit-known`; see bench/recall-quality.md.\n\n";

/// Fits the weights and chooses the thresholds.
fn fit(cases: &[AskedQuestion]) -> AnswerWeights {
    let fitted: Vec<&AskedQuestion> = cases.iter().filter(|case| case.part != QuestionUse::HeldOut).collect();
    let examples: Vec<FitExample> = fitted
        .iter()
        .filter_map(|case| {
            let features = case.features?.array().map(|feature| feature as f32).to_vec();
            Some(FitExample { features, yes: case.shown, weight: 1.0 })
        })
        .collect();
    let fit = logistic::fit(&examples, RIDGE);
    let mut features = [0.0; 8];
    for (feature, weight) in features.iter_mut().zip(fit.iter().skip(1)) {
        *feature = round(*weight);
    }
    let intercept = round(fit.first().copied().unwrap_or_default());
    let mut weights =
        AnswerWeights { intercept, features: AnswerFeatures::from_array(features), ..AnswerWeights::default() };
    weights.known_from = threshold(&fitted, &weights);
    let mut of_shown: Vec<f64> =
        fitted.iter().filter(|case| case.shown).map(|case| probability(case, &weights)).collect();
    of_shown.sort_by(f64::total_cmp);
    let below = of_shown.get((of_shown.len() as f64 * MAX_SHOWN_AS_NOTHING) as usize).copied().unwrap_or_default();
    weights.nothing_below = round(below.min(weights.known_from / 2.0));
    weights
}

/// Returns the threshold with the most right verdicts on both kinds of questions. Thresholds within the limits
/// [`MIN_ABSTENTION`] and [`MAX_WITHHELD`] come first.
fn threshold(cases: &[&AskedQuestion], weights: &AnswerWeights) -> f64 {
    let usual: Vec<&AskedQuestion> = of(cases, QuestionUse::Usual);
    let other: Vec<&AskedQuestion> = of(cases, QuestionUse::Fitted);
    let tried = TRIED_THRESHOLDS.map(|step| f64::from(step) / 100.0);
    let rank = |from: f64| {
        let point = point(&usual, weights, from);
        let kept = u8::from(point.abstains >= MIN_ABSTENTION) + u8::from(point.withheld <= MAX_WITHHELD);
        (kept, right(&usual, weights, from) + right(&other, weights, from))
    };
    let better = |a: &f64, b: &f64| {
        let (a, b) = (rank(*a), rank(*b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    tried.max_by(better).unwrap_or(0.5)
}

fn of<'a>(cases: &[&'a AskedQuestion], part: QuestionUse) -> Vec<&'a AskedQuestion> {
    cases.iter().copied().filter(|case| case.part == part).collect()
}

fn probability(case: &AskedQuestion, weights: &AnswerWeights) -> f64 {
    case.features.map_or(0.0, |features| weights.probability(&features))
}

/// Returns the share of the questions whose verdict rightly says whether one of the first three results answers.
fn right(cases: &[&AskedQuestion], weights: &AnswerWeights, from: f64) -> f64 {
    let right = |case: &&&AskedQuestion| (probability(case, weights) >= from) == case.shown;
    cases.iter().filter(right).count() as f64 / cases.len().max(1) as f64
}

fn point(cases: &[&AskedQuestion], weights: &AnswerWeights, from: f64) -> ThresholdPoint {
    let answer = |case: &&AskedQuestion| ScoredAnswer {
        answerable: case.answerable,
        first: case.first,
        probability: case.features.map(|features| weights.probability(&features) as f32),
    };
    ThresholdPoint::of(&cases.iter().map(answer).collect::<Vec<_>>(), from)
}

/// Returns the results of the weights as comment lines.
fn comment(name: &str, cases: &[AskedQuestion], weights: &AnswerWeights) -> String {
    let all: Vec<&AskedQuestion> = cases.iter().collect();
    let mut text = format!("\n# {name}                questions  right  abstains  wrongly  withheld\n");
    let other: Vec<&AskedQuestion> = all.iter().copied().filter(|case| case.part != QuestionUse::Usual).collect();
    let mut rows = vec![("usual".to_owned(), of(&all, QuestionUse::Usual))];
    for (name, part) in [("fitted", QuestionUse::Fitted), ("held out", QuestionUse::HeldOut)] {
        let of = of(&all, part);
        let sorts: BTreeSet<&str> = of.iter().map(|case| case.sort.as_str()).collect();
        for sort in sorts {
            rows.push((format!("{sort}, {name}"), of.iter().copied().filter(|case| case.sort == sort).collect()));
        }
        rows.push((format!("all, {name}"), of));
    }
    rows.push(("all".to_owned(), other));
    for (name, cases) in rows {
        let ThresholdPoint { abstains, wrongly, withheld, .. } = point(&cases, weights, weights.known_from);
        let right = right(&cases, weights, weights.known_from);
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "# {name:<24} {:>9} {right:>6.3} {abstains:>9.2} {wrongly:>8.2} {withheld:>9.2}",
            cases.len()
        );
    }
    let _ = writeln!(text, "# probability   questions   mean   an answer is shown");
    for bin in 0..BINS {
        let (from, to) = (bin as f64 / BINS as f64, (bin + 1) as f64 / BINS as f64);
        let within: Vec<(f64, bool)> = all
            .iter()
            .filter(|case| case.part != QuestionUse::Usual)
            .map(|case| (probability(case, weights), case.shown))
            .filter(|(p, _)| *p >= from && (*p < to || bin + 1 == BINS))
            .collect();
        let many = within.len().max(1) as f64;
        let mean = within.iter().map(|(p, _)| p).sum::<f64>() / many;
        let shown = within.iter().filter(|(_, shown)| *shown).count() as f64 / many;
        let _ = writeln!(text, "# {from:.1} to {to:.1}   {:>9} {mean:>6.2} {shown:>20.2}", within.len());
    }
    text
}

fn round(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(part: QuestionUse, shown: bool, cosine: f64) -> AskedQuestion {
        let features = AnswerFeatures {
            cosine,
            with_reason: cosine,
            cover: cosine,
            unknown: 1.0 - cosine,
            ..AnswerFeatures::default()
        };
        AskedQuestion { part, sort: String::new(), answerable: shown, first: shown, shown, features: Some(features) }
    }

    #[test]
    fn what_can_be_told_apart_is_told_apart_on_what_was_held_out() {
        let mut cases = AskedQuestions::default();
        for n in 0..40 {
            let part = [QuestionUse::Usual, QuestionUse::Fitted, QuestionUse::HeldOut][n % 3];
            let shown = n / 3 % 2 == 0;
            let near = if shown { 0.6 } else { 0.2 };
            cases.by_meaning.push(case(part, shown, near + 0.002 * n as f64));
        }
        cases.by_words = cases.by_meaning.clone();
        let weights = fit(&cases.by_meaning);
        assert!(weights.nothing_below < weights.known_from, "{weights:?}");
        let held: Vec<&AskedQuestion> =
            cases.by_meaning.iter().filter(|case| case.part == QuestionUse::HeldOut).collect();
        assert!((right(&held, &weights, weights.known_from) - 1.0).abs() < 1e-9);
        let text = cases.fit_file(FitProvenance::default()).unwrap();
        // The file can be read as it is printed.
        let read: AnswerModel = toml::from_str(&text).unwrap();
        assert_eq!(read.by_meaning, weights);
        assert!(text.contains("held out") && text.contains("0.9 to 1.0"), "{text}");
    }

    #[test]
    fn nothing_found_is_never_known() {
        let weights = AnswerWeights { known_from: 0.5, ..AnswerWeights::default() };
        let none = AskedQuestion { features: None, ..case(QuestionUse::Usual, false, 0.5) };
        assert!((right(&[&none], &weights, 0.5) - 1.0).abs() < 1e-9);
        assert!(probability(&none, &weights).abs() < 1e-9);
    }
}
