//! `ergo-bench story`: which stories the reader marks, with the right category and claims, and what it marks that is coherent.
//!
//! The data is `stories.jsonl`, a story a line; `rules_corpus.jsonl` and `adr_corpus.jsonl`, if they are there, are replayed as stories
//! in which nothing is wrong.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use ergo::{
    domain::{Confusion, MarkAnswers, Qualifiers, StoryRule},
    files,
    guard::{Guard, JudgeContext, NormedClaim, ParsedClaim},
    infer::{ModelRole, Models},
    story::{self, ClaimStanding, Mark, StoryClaim, StoryText},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::story_judged::{self, FoundMarks};

/// The largest data file that is read, in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The time between two claims of a corpus that has no dates: a week, in milliseconds.
const WEEK: u64 = 7 * 24 * 60 * 60 * 1000;

/// The data cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A line is not what it should be.
    #[error("{}:{line}: {error}", path.display())]
    Parse {
        /// Which file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        error: serde_json::Error,
    },
}

#[derive(Debug, Deserialize)]
pub(crate) struct StoryRow {
    pub(crate) id: String,
    /// `reversal`, `ambiguity`, `stale` or `coherent`.
    expected: String,
    at_issue: Vec<String>,
    pub(crate) claims: Vec<ClaimRow>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ClaimRow {
    pub(crate) id: String,
    pub(crate) at: jiff::Timestamp,
    /// The part of the project that it was noted in: taken as its writer.
    pub(crate) scope: String,
    pub(crate) text: String,
}

/// What to measure.
#[derive(Default)]
pub struct Options {
    /// The folder with the stories.
    pub data: PathBuf,
    /// The language model of the rows `model` and `both`; without one they are left out.
    pub models: Option<Arc<dyn Models>>,
    /// Where to write what a judge is to be asked.
    pub questions: Option<PathBuf>,
    /// The answers for the row `judged`: a JSON object a line, with `id` and `answer`.
    pub verdicts: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct RuleRow {
    unit: String,
    text: String,
}

#[derive(Debug, Deserialize)]
struct DecisionRow {
    repo: String,
    claim: String,
}

/// What was measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// One for each way of reading.
    pub rows: Vec<Row>,
    /// Marks on corpora in which nothing is known to be wrong.
    pub idle: Vec<Idle>,
    /// What was not right, a line each.
    pub misses: Vec<String>,
}

/// How well one way of reading does. Fractions are 0 to 1.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// `pairwise`: each pair of claims by the guard's rules; `deterministic`: the story; `model`: a language model alone; `both`: the story, then the model;
    /// `judged`: the story, then the answers of a file.
    pub name: &'static str,
    /// Incoherent stories.
    pub incoherent: usize,
    /// The share of them in which something was marked.
    pub detected: f64,
    /// The share of them whose category was marked.
    pub category_right: f64,
    /// The mean overlap (intersection by union) of the claims that were marked and those at issue.
    pub ids_overlap: f64,
    /// Coherent stories.
    pub coherent: usize,
    /// Those of them in which something was marked.
    pub false_alarms: usize,
}

/// Marks on a corpus that is replayed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Idle {
    /// Its file.
    pub name: &'static str,
    /// Its claims.
    pub claims: usize,
    /// Marks, of 1,000 claims.
    pub per_1000: f64,
    /// Cards, of 1,000 claims, if people dismiss each: the bar of a unit rises with what was dismissed there.
    pub dismissed_per_1000: f64,
    /// The first marks, for reading.
    pub examples: Vec<String>,
}

/// Reads every story of a folder.
///
/// # Errors
/// If the data cannot be read.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let guard = Guard::default();
    let data = &options.data;
    let stories: Vec<StoryRow> = rows(&data.join("stories.jsonl"))?;
    let mut report = Report::default();
    let (deterministic, misses) = score("deterministic", &stories, |_, story| marks(&guard, &story.claims));
    let (pairwise, _) = score("pairwise", &stories, |_, story| pairs(&guard, &story.claims));
    report.rows = vec![pairwise, deterministic];
    report.misses = misses;
    if let Some(path) = &options.questions {
        story_judged::write_questions(path, &stories)?;
    }
    let by_rules = |story: &StoryRow| marks(&guard, &story.claims);
    if let Some(models) = options.models.as_deref().filter(|models| models.info().role(ModelRole::Llm).is_some()) {
        let answers = story_judged::ask(models, &stories, progress);
        let by_model = |at: usize, story: &StoryRow| answers.marks(at, story, &lines(&guard, &dated(&story.claims)));
        let (model, missed) = score("model", &stories, by_model);
        report.misses.extend(missed.into_iter().map(|miss| format!("model: {miss}")));
        let both = |at: usize, story: &StoryRow| story_judged::both(by_rules(story), by_model(at, story));
        report.rows.extend([model, score("both", &stories, both).0]);
    }
    if let Some(path) = &options.verdicts {
        let answers = story_judged::read_verdicts(path, &stories)?;
        let judged = |at: usize, story: &StoryRow| {
            let by_judge = answers.marks(at, story, &lines(&guard, &dated(&story.claims)));
            story_judged::both(by_rules(story), by_judge)
        };
        let (judged, missed) = score("judged", &stories, judged);
        report.rows.push(judged);
        report.misses.extend(missed.into_iter().map(|miss| format!("judged: {miss}")));
    }
    let rules = data.join("rules_corpus.jsonl");
    if rules.exists() {
        let rows: Vec<RuleRow> = rows(&rules)?;
        report.idle.push(idle(&guard, "rules_corpus", rows.into_iter().map(|row| (row.unit, row.text))));
    }
    let decisions = data.join("adr_corpus.jsonl");
    if decisions.exists() {
        let rows: Vec<DecisionRow> = rows(&decisions)?;
        report.idle.push(idle(&guard, "adr_corpus", rows.into_iter().map(|row| (row.repo, row.claim))));
    }
    Ok(report)
}

pub(crate) fn rows<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, BenchError> {
    let text = files::text(path, MAX_FILE).map_err(|error| BenchError::Io { path: path.to_owned(), error })?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| BenchError::Parse { path: path.to_owned(), line: at + 1, error })
        })
        .collect()
}

/// The marks of a story, each with the ids of its claims.
fn marks(guard: &Guard, claims: &[ClaimRow]) -> FoundMarks {
    let ids = |mark: &Mark| mark.claims.iter().map(|at| claims[*at].id.clone()).collect();
    read(guard, &dated(claims)).iter().map(|mark| (mark.confusion, ids(mark))).collect()
}

/// The claims of a story as (time, writer, statement).
fn dated(claims: &[ClaimRow]) -> Vec<(u64, &str, &str)> {
    let time = |claim: &ClaimRow| claim.at.as_millisecond().try_into().unwrap_or_default();
    claims.iter().map(|claim| (time(claim), claim.scope.as_str(), claim.text.as_str())).collect()
}

/// The story of (time, writer, statement), all of them in force.
fn read(guard: &Guard, dated: &[(u64, &str, &str)]) -> Vec<Mark> {
    story::read(guard, &lines(guard, dated))
}

/// [`read`], the claims alone.
fn lines(guard: &Guard, dated: &[(u64, &str, &str)]) -> Vec<StoryClaim> {
    dated
        .iter()
        .map(|&(written, who, statement)| StoryClaim {
            written,
            recorded: written,
            who: who.to_owned(),
            standing: ClaimStanding::active(),
            text: StoryText::new(claim(guard, statement), None),
        })
        .collect()
}

/// A decision with its norms.
fn claim(guard: &Guard, statement: &str) -> NormedClaim {
    let norms = guard.normalise(statement, &Qualifiers::default()).norms;
    NormedClaim { statement: statement.to_owned(), norms, ..NormedClaim::default() }
}

/// What the guard's rules say of each pair, as marks: the baseline.
fn pairs(guard: &Guard, claims: &[ClaimRow]) -> FoundMarks {
    let read: Vec<Arc<ParsedClaim>> =
        claims.iter().map(|row| Arc::new(ParsedClaim::new(claim(guard, &row.text)))).collect();
    let mut found = Vec::new();
    for (at, newer) in read.iter().enumerate() {
        for (before, older) in read[..at].iter().enumerate() {
            let verdict = guard.judge(newer, std::slice::from_ref(older), JudgeContext::default());
            if !verdict.findings.is_empty() {
                let ids = [&claims[before].id, &claims[at].id].into_iter().cloned().collect();
                found.push((Confusion::Ambiguity, ids));
            }
        }
    }
    found
}

fn score(
    name: &'static str,
    stories: &[StoryRow],
    read: impl Fn(usize, &StoryRow) -> FoundMarks,
) -> (Row, Vec<String>) {
    let mut row = Row { name, ..Row::default() };
    let mut misses = Vec::new();
    let (mut detected, mut right, mut overlap) = (0, 0, 0.0);
    for (at, story) in stories.iter().enumerate() {
        let found = read(at, story);
        if story.expected == "coherent" {
            row.coherent += 1;
            row.false_alarms += usize::from(!found.is_empty());
            misses.extend(found.iter().map(|mark| format!("{}: coherent, marked {mark:?}", story.id)));
            continue;
        }
        row.incoherent += 1;
        let expected: BTreeSet<String> = story.at_issue.iter().cloned().collect();
        let best = found.iter().map(|(_, ids)| share(ids, &expected)).fold(0.0, f64::max);
        let category = found.iter().any(|(confusion, _)| confusion.as_str() == story.expected);
        detected += usize::from(!found.is_empty());
        right += usize::from(category);
        overlap += best;
        if !category || best < 0.5 {
            misses.push(format!("{}: {} {expected:?}, marked {found:?}", story.id, story.expected));
        }
    }
    let of = |count: f64| count / row.incoherent.max(1) as f64;
    row.detected = of(detected as f64);
    row.category_right = of(right as f64);
    row.ids_overlap = of(overlap);
    (row, misses)
}

/// Intersection by union.
fn share(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    one.intersection(other).count() as f64 / one.union(other).count().max(1) as f64
}

/// Replays a corpus, each unit a story with a claim a week by writers in turn.
fn idle(guard: &Guard, name: &'static str, rows: impl Iterator<Item = (String, String)>) -> Idle {
    let mut units: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (unit, text) in rows {
        units.entry(unit).or_default().push(text);
    }
    let mut out = Idle { name, ..Idle::default() };
    let (mut found, mut asked) = (0_u32, 0_u32);
    for texts in units.values() {
        out.claims += texts.len();
        let dated: Vec<(u64, &str, &str)> =
            texts.iter().zip(0..).map(|(text, week)| (week * WEEK, "a writer", text.as_str())).collect();
        let marks = read(guard, &dated);
        found += u32::try_from(marks.len()).unwrap_or(u32::MAX);
        let mut answers: BTreeMap<(Confusion, StoryRule), MarkAnswers> = BTreeMap::new();
        for mark in &marks {
            let of = answers.entry((mark.confusion, mark.rule)).or_default();
            if mark.strength >= of.bar() {
                asked += 1;
                of.dismissed += 1;
            }
        }
        out.examples.extend(marks.iter().map(|mark| {
            let claims: Vec<&str> = mark.claims.iter().map(|at| texts[*at].as_str()).collect();
            format!("{}: {}", mark.confusion.as_str(), claims.join("  |  "))
        }));
    }
    out.per_1000 = 1000.0 * f64::from(found) / out.claims.max(1) as f64;
    out.dismissed_per_1000 = 1000.0 * f64::from(asked) / out.claims.max(1) as f64;
    out
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<14} {:>9} {:>9} {:>11} {:>13}", "", "detected", "category", "ids overlap", "false alarms")?;
        for row in &self.rows {
            writeln!(
                f,
                "{:<14} {:>9.2} {:>9.2} {:>11.2} {:>10} of {}",
                row.name, row.detected, row.category_right, row.ids_overlap, row.false_alarms, row.coherent
            )?;
        }
        for miss in &self.misses {
            writeln!(f, "  {miss}")?;
        }
        for idle in &self.idle {
            writeln!(
                f,
                "{}: {:.1} marks in 1,000 of {} claims, {:.1} cards if each is dismissed",
                idle.name, idle.per_1000, idle.claims, idle.dismissed_per_1000
            )?;
            for example in &idle.examples {
                writeln!(f, "  {example}")?;
            }
        }
        Ok(())
    }
}
