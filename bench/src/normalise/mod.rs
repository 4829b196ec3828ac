//! `ergo-bench normalise`: measures how well statements are parsed, by the rules, by a language model, and by both.

use std::{
    fmt,
    sync::LazyLock,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use ergo::{
    domain::{
        ClaimKind, Norm, Qualifiers,
        asset::expect_valid,
        norm::{Modality, SubjectKind},
    },
    engine,
    guard::{
        Guard,
        normalise::{self, llm},
    },
    infer::{Call, ModelRole, Models},
};

/// The deadline of an answer: long, since a busy machine must not count as a failure.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(15);

/// A sentence with the norm that a person reads in it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Sentence {
    text: String,
    modality: Modality,
    /// The right words, of which any counts.
    subject: Vec<String>,
    /// The right values, of which any counts; empty if the sentence has no value.
    value: Vec<String>,
    /// Whether the sentence is a question or an idea, and rules nothing.
    idle: bool,
}

#[derive(Deserialize)]
struct SentenceFile {
    sentence: Vec<Sentence>,
}

static SENTENCES: LazyLock<Vec<Sentence>> = LazyLock::new(|| {
    expect_valid::<SentenceFile, _>("sentences.toml", toml::from_str(include_str!("sentences.toml"))).sentence
});

/// The parts of a norm that were read correctly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct RightParts {
    modality: bool,
    subject: bool,
    value: bool,
}

impl RightParts {
    fn count(self) -> usize {
        usize::from(self.modality) + usize::from(self.subject) + usize::from(self.value)
    }
}

/// The results of one normaliser.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NormaliseRow {
    /// `rules`, `model` or `both`.
    pub name: &'static str,
    /// Sentences whose modality was read correctly.
    pub modality: usize,
    /// Sentences whose subject was read correctly.
    pub subject: usize,
    /// Sentences whose value or limit was read correctly, or was correctly found to be missing.
    pub value: usize,
    /// Sentences of which all three parts were read correctly.
    pub all: usize,
    /// The other sentences with what was read, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NormaliseReport {
    pub sentences: usize,
    /// The version of the language model's normaliser.
    pub normaliser: Option<String>,
    /// Answers that could be parsed as a norm.
    pub answered: usize,
    /// Sentences that the guard asks the model about, because the rules leave something open.
    pub open: usize,
    /// The mean time of an answer, in seconds, without the first one, for which the model reads the examples.
    pub seconds: f64,
    pub rows: Vec<NormaliseRow>,
}

/// Measures the rules, and a language model if there is one.
///
/// # Errors
/// The message of a model that fails.
pub fn run(
    models: Option<&dyn Models>,
    explain: bool,
    progress: &mut dyn FnMut(String),
) -> Result<NormaliseReport, String> {
    let sentences = &*SENTENCES;
    let mut report = NormaliseReport { sentences: sentences.len(), ..NormaliseReport::default() };
    let model = models.filter(|models| models.info().role(ModelRole::Llm).is_some());
    let mut rows = vec![NormaliseRow { name: "rules", ..NormaliseRow::default() }];
    if let Some(role) = model.and_then(|models| models.info().role(ModelRole::Llm).cloned()) {
        report.normaliser = Some(llm::version(&role.name, &role.sha256));
        rows.extend(["model", "both"].map(|name| NormaliseRow { name, ..NormaliseRow::default() }));
    }
    let guard = Guard::default();
    let mut took = Vec::new();
    for (at, sentence) in sentences.iter().enumerate() {
        let ruled = guard.normalise(&sentence.text, &Qualifiers::default()).norms;
        rows[0].add(sentence, best(sentence, &ruled), explain.then(|| shown(&ruled)));
        let Some(models) = model else { continue };
        progress(format!("sentence {} of {} …", at + 1, sentences.len()));
        let Some(prompt) = engine::norm_prompt(&sentence.text) else { continue };
        let start = Instant::now();
        let answer = models
            .generate(&prompt, llm::GRAMMAR, llm::MAX_TOKENS, Call::background(ANSWER_TIMEOUT))
            .map_err(|error| error.to_string())?;
        took.push(start.elapsed().as_secs_f64());
        let reading = llm::Reading::parse(&answer).ok();
        report.answered += usize::from(reading.is_some());
        report.open += usize::from(llm::is_open(&ruled));
        let alone = reading.as_ref().map_or_else(RightParts::default, |reading| of_reading(sentence, reading));
        rows[1].add(sentence, alone, explain.then(|| answer.clone()));
        let both = match &reading {
            Some(reading) if llm::is_open(&ruled) => {
                Guard::refine_claim(ClaimKind::Decision, &sentence.text, &Qualifiers::default(), reading, &|_| false)
            }
            _ => ruled,
        };
        rows[2].add(sentence, best(sentence, &both), explain.then(|| shown(&both)));
    }
    let later = took.get(1..).unwrap_or_default();
    report.seconds = later.iter().sum::<f64>() / later.len().max(1) as f64;
    report.rows = rows;
    Ok(report)
}

impl NormaliseRow {
    fn add(&mut self, sentence: &Sentence, right: RightParts, read: Option<String>) {
        self.modality += usize::from(right.modality);
        self.subject += usize::from(right.subject);
        self.value += usize::from(right.value);
        self.all += usize::from(right.count() == 3);
        if let Some(read) = read.filter(|_| right.count() < 3) {
            self.wrong.push(format!("{}\n    {read}", sentence.text));
        }
    }
}

/// Returns the right parts of the best norm of a statement, since the guard compares all norms of two claims, and the
/// strongest comparison counts.
fn best(sentence: &Sentence, norms: &[Norm]) -> RightParts {
    norms.iter().map(|norm| of_norm(sentence, norm)).max_by_key(|right| right.count()).unwrap_or_default()
}

fn of_norm(sentence: &Sentence, norm: &Norm) -> RightParts {
    if sentence.idle || norm.subject_kind == SubjectKind::Missing {
        let right = sentence.idle && norm.subject_kind == SubjectKind::Missing;
        return RightParts { modality: right, subject: right, value: right };
    }
    let value = match &norm.limit {
        Some(limit) => limit
            .max
            .as_ref()
            .map(|max| format!("at most {max} {}", limit.unit))
            .or_else(|| limit.min.as_ref().map(|min| format!("at least {min} {}", limit.unit))),
        None => norm.value.clone(),
    };
    RightParts {
        modality: norm.modality == sentence.modality,
        subject: sentence.subject.iter().any(|word| normalise::names(word).contains(&norm.subject)),
        value: fits(sentence, value.as_deref()),
    }
}

/// Returns the right parts of a model's answer. It cannot express a limit, so the modality and the number are compared.
fn of_reading(sentence: &Sentence, reading: &llm::Reading) -> RightParts {
    let Some(subject) = reading.subject.as_ref().filter(|_| !sentence.idle) else {
        let right = sentence.idle && reading.subject.is_none();
        return RightParts { modality: right, subject: right, value: right };
    };
    let read = normalise::names(subject);
    let subject = sentence.subject.iter().any(|word| normalise::names(word).iter().any(|name| read.contains(name)));
    let bare: Vec<&str> = sentence.value.iter().map(|value| bound(value).1).collect();
    let value = match &reading.value {
        None => bare.is_empty(),
        Some(value) => bare.iter().any(|right| normalise::names(right) == normalise::names(bound(value).1)),
    };
    RightParts { modality: reading.modality == sentence.modality, subject, value }
}

/// Splits a limit into its words and its number; the words of another value are empty.
fn bound(value: &str) -> (&str, &str) {
    ["at most ", "at least "]
        .iter()
        .find_map(|words| value.strip_prefix(words).map(|rest| (*words, rest)))
        .unwrap_or(("", value))
}

fn fits(sentence: &Sentence, value: Option<&str>) -> bool {
    let Some(value) = value else { return sentence.value.is_empty() };
    let (words, rest) = bound(value);
    sentence.value.iter().map(|right| bound(right)).any(|(limit, right)| {
        let names = normalise::names(right);
        limit == words && (names == normalise::names(rest) || names.join(" ") == rest.trim())
    })
}

/// Returns norms as text.
fn shown(norms: &[Norm]) -> String {
    let one = |norm: &Norm| {
        let value = norm.limit.as_ref().map(|limit| format!("{limit:?}")).or_else(|| norm.value.clone());
        format!("{:?} {:?} {} = {}", norm.modality, norm.subject_kind, norm.subject, value.unwrap_or_default())
    };
    norms.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for NormaliseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<8} {:>9} {:>9} {:>9} {:>9}", "", "modality", "subject", "value", "all three")?;
        for row in &self.rows {
            let share = |count: usize| format!("{:.2}", count as f64 / self.sentences.max(1) as f64);
            let (modality, subject) = (share(row.modality), share(row.subject));
            writeln!(f, "{:<8} {modality:>9} {subject:>9} {:>9} {:>9}", row.name, share(row.value), share(row.all))?;
        }
        writeln!(f, "{} sentences", self.sentences)?;
        if let Some(normaliser) = &self.normaliser {
            writeln!(f, "{normaliser}: {} answers, {:.1} s each", self.answered, self.seconds)?;
            writeln!(f, "{} sentences leave something open, and are read by both", self.open)?;
        }
        for row in self.rows.iter().filter(|row| !row.wrong.is_empty()) {
            writeln!(f, "\n{}, not all right:", row.name)?;
            for line in &row.wrong {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ergo::infer::FakeModels;

    #[test]
    fn the_rules_are_measured_and_the_sentences_are_whole() {
        let report = run(None, true, &mut |_| {}).unwrap();
        assert!(report.sentences >= 30 && report.rows.len() == 1, "{report}");
        assert!(report.rows[0].all * 2 > report.sentences, "{report}");
        assert_eq!(report.rows[0].all + report.rows[0].wrong.len(), report.sentences);
        for sentence in SENTENCES.iter() {
            assert_eq!(sentence.idle, sentence.subject.is_empty(), "{}", sentence.text);
            for word in sentence.subject.iter().chain(&sentence.value) {
                assert!(!normalise::names(word).is_empty(), "{word}");
                assert!(
                    sentence.text.to_lowercase().contains(&bound(word).1.to_lowercase())
                        || bound(word).1.parse::<f64>().is_ok(),
                    "“{word}” is not in “{}”",
                    sentence.text
                );
            }
        }
    }

    #[test]
    fn a_model_that_never_answers_with_a_norm_is_as_good_as_the_rules() {
        let models = FakeModels::new().generating(|_| Ok("I cannot say.".into()));
        let report = run(Some(&models), false, &mut |_| {}).unwrap();
        assert_eq!((report.answered, report.rows[1].all), (0, 0));
        assert_eq!((report.rows[2].all, report.rows[2].value), (report.rows[0].all, report.rows[0].value));
        assert!(report.to_string().contains("0 answers"), "{report}");
    }
}
