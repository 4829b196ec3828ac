//! Probes a model with questions of known answers, before it is accepted for a role.

use std::time::Duration;

use crate::{
    domain::numeric::{cosine, log_sum_exp},
    infer::{Call, InferError, ModelRole, Models, Prompt},
};

/// The timeout of one question, loading included: a slow disk, a large model, a busy machine.
const DEADLINE: Duration = Duration::from_mins(3);

/// Two sentences with the same meaning, and an unrelated one.
const SENTENCES: [&str; 3] = [
    "Release notes are written in English.",
    "We write the notes of each release in English.",
    "The kitchen closes at six on Fridays.",
];

/// Pairs that contradict each other.
const CONTRADICTIONS: [(&str, &str); 4] = [
    ("Indent the code with tabs.", "Never indent the code with tabs."),
    ("Release notes must be written in English.", "Release notes must not be written in English."),
    ("The scheduler runs every hour.", "The scheduler does not run every hour."),
    ("Backups are encrypted.", "Backups are not encrypted."),
];

/// Pairs that do not contradict each other: paraphrases and unrelated sentences.
const COMPATIBLE: [(&str, &str); 4] = [
    ("Indent the code with tabs.", "The code is indented with tabs."),
    ("Release notes must be written in English.", "English is the language of the release notes."),
    ("The scheduler runs every hour.", "Logos are stored as vector graphics."),
    ("Backups are encrypted.", "Indent the code with tabs."),
];

/// The number of comparisons of a contradiction with a compatible pair, of sixteen, that a classifier must get right. A
/// model with other labels, or one that guesses, does not.
const MIN_CORRECT: usize = 12;

/// The grammar of a language model's answer. It is finite, so that the answer of a model that would never stop is cut
/// off.
const GRAMMAR: &str = r#"root ::= "{\"limit\": " [1-9] [0-9]? [0-9]? ", \"unit\": \"" [a-z] [a-z]{0,11} "\"}""#;

/// The maximum number of tokens of an answer. [`GRAMMAR`] allows at most 38 characters.
const MAX_TOKENS: usize = 48;

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeResult {
    /// The dimension of an embedder's vectors.
    pub dimension: Option<usize>,
    /// The result as one sentence for people.
    pub summary: String,
}

/// Probes the model of a role.
///
/// # Errors
/// A text that says why the model cannot serve, to be appended to its name.
pub fn probe(role: ModelRole, models: &dyn Models) -> Result<ProbeResult, String> {
    match role {
        ModelRole::Embedder => embedder(models),
        ModelRole::Nli => classifier(models),
        ModelRole::Llm => language_model(models),
    }
}

fn call() -> Call {
    Call::foreground(DEADLINE)
}

fn failed(error: InferError) -> String {
    match error {
        InferError::BadModel { why, .. } => why,
        other => other.to_string(),
    }
}

fn embedder(models: &dyn Models) -> Result<ProbeResult, String> {
    let texts = SENTENCES.map(str::to_owned);
    let vectors = models.embed(&texts, call()).map_err(failed)?;
    let [one, same, other] = vectors.as_slice() else {
        return Err(format!("it gave {} vectors for 3 sentences", vectors.len()));
    };
    let dimension = one.len();
    if dimension == 0 || vectors.iter().any(|vector| vector.len() != dimension) {
        return Err("its vectors have different lengths, or none".to_owned());
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Err("its vectors contain invalid numbers".to_owned());
    }
    let (near, far) = (cosine(one, same), cosine(one, other));
    if near <= far {
        return Err(format!(
            "it rates unrelated sentences ({far:.2}) as similar as sentences with the same meaning ({near:.2})"
        ));
    }
    let summary =
        format!("{dimension} dimensions; similarity {near:.2} for the same meaning, {far:.2} for unrelated sentences");
    Ok(ProbeResult { dimension: Some(dimension), summary })
}

/// Returns for each pair the log-odds of a contradiction against the other classes, summed over both orders.
fn margins(models: &dyn Models, pairs: &[(&str, &str)]) -> Result<Vec<f32>, String> {
    let both: Vec<(String, String)> = pairs
        .iter()
        .flat_map(|(a, b)| [((*a).to_owned(), (*b).to_owned()), ((*b).to_owned(), (*a).to_owned())])
        .collect();
    let logits = models.classify(&both, call()).map_err(failed)?;
    if logits.len() != both.len() {
        return Err(format!("it judged {} of {} pairs", logits.len(), both.len()));
    }
    if logits.iter().any(|of| !of.logits.iter().chain(&of.gate).all(|logit| logit.is_finite())) {
        return Err("its answers contain invalid numbers".to_owned());
    }
    let margin = |[entailment, neutral, contradiction]: [f32; 3]| contradiction - log_sum_exp(&[entailment, neutral]);
    Ok(logits.chunks(2).map(|orders| orders.iter().map(|of| margin(of.logits)).sum()).collect())
}

fn classifier(models: &dyn Models) -> Result<ProbeResult, String> {
    let contradictions = margins(models, &CONTRADICTIONS)?;
    let compatible = margins(models, &COMPATIBLE)?;
    let right = contradictions.iter().flat_map(|a| compatible.iter().filter(move |b| a > *b)).count();
    let all = contradictions.len() * compatible.len();
    if right < MIN_CORRECT {
        return Err(format!(
            "it recognises contradictions in only {right} of {all} comparisons; at least {MIN_CORRECT} are required. Its \
                labels must mean entailment, neutral and contradiction"
        ));
    }
    Ok(ProbeResult { dimension: None, summary: format!("recognises contradictions in {right} of {all} comparisons") })
}

fn language_model(models: &dyn Models) -> Result<ProbeResult, String> {
    let prompt = Prompt {
        prefix: Vec::new(),
        text: "Answer as JSON with the keys limit and unit. Uploads are limited to 16 megabytes.".to_owned(),
    };
    let answer = models.generate(&prompt, GRAMMAR, MAX_TOKENS, call()).map_err(failed)?;
    let read = serde_json::from_str::<serde_json::Value>(&answer).ok();
    let valid = read.as_ref().is_some_and(|value| value["limit"].is_number() && value["unit"].is_string());
    if !valid {
        return Err(format!("it does not follow a grammar: it answered {:?}", shown(&answer)));
    }
    Ok(ProbeResult { dimension: None, summary: format!("answered {}", shown(&answer)) })
}

fn shown(answer: &str) -> String {
    answer.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::{FakeModels, NoModels};

    fn problem_of(role: ModelRole, models: &dyn Models) -> String {
        probe(role, models).unwrap_err()
    }

    #[test]
    fn an_embedder_must_give_paraphrases_a_higher_cosine_than_unrelated_sentences() {
        let good = FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text)));
        let probed = probe(ModelRole::Embedder, &good).unwrap();
        assert_eq!(probed.dimension, Some(FakeModels::DIMENSION));
        let same = FakeModels::new().embedding(|_| Ok(vec![1.0, 0.0]));
        assert!(problem_of(ModelRole::Embedder, &same).contains("unrelated"));
        let broken = FakeModels::new().embedding(|_| Ok(vec![f32::NAN, 0.0]));
        assert!(problem_of(ModelRole::Embedder, &broken).contains("invalid numbers"));
        let ragged = FakeModels::new().embedding(|text| Ok(vec![1.0; text.len()]));
        assert!(problem_of(ModelRole::Embedder, &ragged).contains("lengths"));
        assert!(problem_of(ModelRole::Embedder, &NoModels).contains("embedder"));
    }

    #[test]
    fn a_classifier_must_mean_the_three_labels_as_ergo_does() {
        let opposed =
            |a: &str, b: &str| [a, b].into_iter().filter(|s| s.contains("ever ") || s.contains(" not ")).count() == 1;
        let good = FakeModels::new()
            .classifying(move |a, b| Ok(if opposed(a, b) { [0.0, 0.0, 4.0] } else { [2.0, 2.0, 0.0] }));
        assert!(probe(ModelRole::Nli, &good).unwrap().summary.contains("16 of 16"));
        let turned = FakeModels::new()
            .classifying(move |a, b| Ok(if opposed(a, b) { [4.0, 0.0, 0.0] } else { [0.0, 2.0, 2.0] }));
        assert!(problem_of(ModelRole::Nli, &turned).contains("must mean"));
        let constant = FakeModels::new().classifying(|_, _| Ok([0.0, 0.0, 1.0]));
        assert!(problem_of(ModelRole::Nli, &constant).contains("0 of 16"));
    }

    #[test]
    fn a_language_model_must_keep_to_a_grammar() {
        let good = FakeModels::new().generating(|_| Ok("{\"limit\": 16, \"unit\": \"megabytes\"}".into()));
        assert!(probe(ModelRole::Llm, &good).unwrap().summary.contains("16"));
        let chatty = FakeModels::new().generating(|_| Ok("Sure! The limit is 16.".into()));
        assert!(problem_of(ModelRole::Llm, &chatty).contains("grammar"));
    }
}
