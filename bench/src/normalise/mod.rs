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
        norm::{Modality, SubjectKind},
    },
    engine,
    guard::{
        Guard,
        normalise::{self, llm},
    },
    infer::{Call, ModelRole, Models},
};

/// How long one answer is waited for: a busy machine is no failure.
const PATIENCE: Duration = Duration::from_mins(15);

/// A sentence, and what it rules.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Sentence {
    text: String,
    modality: Modality,
    /// Words of which any is right.
    subject: Vec<String>,
    /// Values of which any is right; none where there is none.
    value: Vec<String>,
    /// A question or an idea.
    idle: bool,
}

#[derive(Default, Deserialize)]
struct File {
    sentence: Vec<Sentence>,
}

static SENTENCES: LazyLock<Vec<Sentence>> =
    LazyLock::new(|| toml::from_str::<File>(include_str!("sentences.toml")).unwrap_or_default().sentence);

/// What is right in a reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    modality: bool,
    subject: bool,
    value: bool,
}

impl Right {
    fn count(self) -> usize {
        usize::from(self.modality) + usize::from(self.subject) + usize::from(self.value)
    }
}

/// How well one normaliser reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// `rules`, `model` or `both`.
    pub name: &'static str,
    /// Sentences whose stance is right.
    pub modality: usize,
    /// Sentences whose subject is right.
    pub subject: usize,
    /// Sentences whose value or limit is right, or rightly none.
    pub value: usize,
    /// Sentences where all of these are.
    pub all: usize,
    /// What was read otherwise, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<String>,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub sentences: usize,
    /// The language model's normaliser.
    pub normaliser: Option<String>,
    /// Answers that were norms.
    pub answered: usize,
    /// Sentences that the guard asks about: the rules leave something open.
    pub open: usize,
    /// Seconds that an answer took, on average, the first left out: it reads the examples.
    pub seconds: f64,
    /// The readings.
    pub rows: Vec<Row>,
}

/// Measures the rules, and a language model where there is one.
///
/// # Errors
/// Where the model fails altogether: the message says how.
pub fn run(models: Option<&dyn Models>, explain: bool, tell: &mut dyn FnMut(String)) -> Result<Report, String> {
    let sentences = &*SENTENCES;
    let mut report = Report { sentences: sentences.len(), ..Report::default() };
    let model = models.filter(|models| models.info().role(ModelRole::Llm).is_some());
    let mut rows = vec![Row { name: "rules", ..Row::default() }];
    if let Some(role) = model.and_then(|models| models.info().role(ModelRole::Llm).cloned()) {
        report.normaliser = Some(llm::version(&role.name, &role.sha256));
        rows.extend(["model", "both"].map(|name| Row { name, ..Row::default() }));
    }
    let guard = Guard::default();
    let mut took = Vec::new();
    for (at, sentence) in sentences.iter().enumerate() {
        let ruled = guard.normalise(&sentence.text, &Qualifiers::default()).norms;
        rows[0].add(sentence, best(sentence, &ruled), explain.then(|| shown(&ruled)));
        let Some(models) = model else { continue };
        tell(format!("sentence {} of {} …", at + 1, sentences.len()));
        let Some(prompt) = engine::norm_prompt(&sentence.text) else { continue };
        let start = Instant::now();
        let answer = models
            .generate(&prompt, llm::GRAMMAR, llm::MAX_TOKENS, Call::background(PATIENCE))
            .map_err(|error| error.to_string())?;
        took.push(start.elapsed().as_secs_f64());
        let reading = llm::Reading::parse(&answer).ok();
        report.answered += usize::from(reading.is_some());
        report.open += usize::from(llm::is_open(&ruled));
        let alone = reading.as_ref().map_or_else(Right::default, |reading| of_reading(sentence, reading));
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

impl Row {
    fn add(&mut self, sentence: &Sentence, right: Right, read: Option<String>) {
        self.modality += usize::from(right.modality);
        self.subject += usize::from(right.subject);
        self.value += usize::from(right.value);
        self.all += usize::from(right.count() == 3);
        if let Some(read) = read.filter(|_| right.count() < 3) {
            self.wrong.push(format!("{}\n    {read}", sentence.text));
        }
    }
}

/// The norm of a statement that is most right: each is compared with another claim's, and the strongest comparison counts.
fn best(sentence: &Sentence, norms: &[Norm]) -> Right {
    norms.iter().map(|norm| of_norm(sentence, norm)).max_by_key(|right| right.count()).unwrap_or_default()
}

fn of_norm(sentence: &Sentence, norm: &Norm) -> Right {
    if sentence.idle || norm.subject_kind == SubjectKind::Missing {
        let right = sentence.idle && norm.subject_kind == SubjectKind::Missing;
        return Right { modality: right, subject: right, value: right };
    }
    let value = match &norm.limit {
        Some(limit) => limit
            .max
            .as_ref()
            .map(|max| format!("at most {max} {}", limit.unit))
            .or_else(|| limit.min.as_ref().map(|min| format!("at least {min} {}", limit.unit))),
        None => norm.value.clone(),
    };
    Right {
        modality: norm.modality == sentence.modality,
        subject: sentence.subject.iter().any(|word| normalise::names(word).contains(&norm.subject)),
        value: fits(sentence, value.as_deref()),
    }
}

/// A model's answer by itself. It has no words for a limit: the stance and the number must be those of it.
fn of_reading(sentence: &Sentence, reading: &llm::Reading) -> Right {
    let Some(subject) = reading.subject.as_ref().filter(|_| !sentence.idle) else {
        let right = sentence.idle && reading.subject.is_none();
        return Right { modality: right, subject: right, value: right };
    };
    let read = normalise::names(subject);
    let subject = sentence.subject.iter().any(|word| normalise::names(word).iter().any(|name| read.contains(name)));
    let bare: Vec<&str> = sentence.value.iter().map(|value| bound(value).1).collect();
    let value = match &reading.value {
        None => bare.is_empty(),
        Some(value) => bare.iter().any(|right| normalise::names(right) == normalise::names(bound(value).1)),
    };
    Right { modality: reading.modality == sentence.modality, subject, value }
}

/// A limit's words and its number, or nothing and the value.
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

/// Norms in short.
fn shown(norms: &[Norm]) -> String {
    let one = |norm: &Norm| {
        let value = norm.limit.as_ref().map(|limit| format!("{limit:?}")).or_else(|| norm.value.clone());
        format!("{:?} {:?} {} = {}", norm.modality, norm.subject_kind, norm.subject, value.unwrap_or_default())
    };
    norms.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for Report {
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
