//! `ergo-bench story`: which labelled stories are marked with the right category and claims, and which coherent ones are
//! marked wrongly.
//!
//! The data is `stories.jsonl`, with a story in each line. `rules_corpus.jsonl` and `adr_corpus.jsonl`, if they exist, are
//! replayed as stories in which nothing is wrong.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::Arc,
};

use ergo::{
    domain::{Confusion, MarkAnswers, Qualifiers, StoryRule},
    guard::{Guard, JudgeContext, NormedClaim, ParsedClaim},
    infer::{ModelRole, Models},
    story::{self, ClaimStanding, Mark, StoryClaim, StoryText},
};
use serde::{Deserialize, Serialize};

use crate::{
    error::BenchError,
    measure::{read_json_lines, read_json_lines_if_any},
    story_judged::{self, FoundMarks},
};

/// The time between two claims of a corpus that has no dates: a week, in milliseconds.
const WEEK: u64 = 7 * 24 * 60 * 60 * 1000;

#[derive(Debug, Deserialize)]
pub(crate) struct LabelledStory {
    pub(crate) id: String,
    /// `reversal`, `ambiguity`, `stale` or `coherent`.
    expected: String,
    at_issue: Vec<String>,
    pub(crate) claims: Vec<StoryClaimRow>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StoryClaimRow {
    pub(crate) id: String,
    pub(crate) at: jiff::Timestamp,
    /// The part of the project that the claim is about. It serves as the writer.
    pub(crate) scope: String,
    pub(crate) text: String,
}

/// Options of `ergo-bench story`.
#[derive(Default)]
pub struct StoryOptions {
    /// The folder with the stories.
    pub data: PathBuf,
    /// The language model of the rows `model` and `both`, which are omitted without one.
    pub models: Option<Arc<dyn Models>>,
    /// Write the questions for a judge to this file.
    pub questions: Option<PathBuf>,
    /// The file with the answers for the row `judged`: JSON lines with `id` and `answer`.
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

#[derive(Clone, Debug, Default, Serialize)]
pub struct StoryReport {
    /// A row for each reader.
    pub rows: Vec<StoryScore>,
    /// Marks on corpora in which nothing is known to be wrong.
    pub idle: Vec<CorpusMarks>,
    /// The wrong answers, a line each.
    pub misses: Vec<String>,
}

/// The results of one reader. Fractions are 0 to 1.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StoryScore {
    /// `pairwise`: the guard's rules on each pair of claims; `deterministic`: the story pass; `model`: a language model
    /// alone; `both`: the story pass, then the model; `judged`: the story pass, then the answers of a file.
    pub name: &'static str,
    /// Incoherent stories.
    pub incoherent: usize,
    /// The share of the incoherent stories with a mark.
    pub detected: f64,
    /// The share of the incoherent stories with a mark of the right category.
    pub category_right: f64,
    /// The mean overlap (intersection by union) of the marked claims and those at issue, by the best mark of each story.
    pub ids_overlap: f64,
    /// Coherent stories.
    pub coherent: usize,
    /// Coherent stories with a mark.
    pub false_alarms: usize,
}

/// Marks on a replayed corpus.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CorpusMarks {
    /// The name of the corpus.
    pub name: &'static str,
    /// Claims of the corpus.
    pub claims: usize,
    /// Marks per 1,000 claims.
    pub per_1000: f64,
    /// Cards per 1,000 claims if people dismiss each: dismissals raise the threshold in their unit.
    pub dismissed_per_1000: f64,
    /// All marks as text.
    pub examples: Vec<String>,
}

/// Scores each reader on the stories of a folder, and replays the corpora.
pub fn run(options: &StoryOptions, progress: &mut dyn FnMut(&str)) -> Result<StoryReport, BenchError> {
    let guard = Guard::default();
    let data = &options.data;
    let stories: Vec<LabelledStory> = read_json_lines(&data.join("stories.jsonl"))?;
    let mut report = StoryReport::default();
    let (deterministic, misses) = score("deterministic", &stories, |_, story| marks(&guard, &story.claims));
    let (pairwise, _) = score("pairwise", &stories, |_, story| pairs(&guard, &story.claims));
    report.rows = vec![pairwise, deterministic];
    report.misses = misses;
    if let Some(path) = &options.questions {
        story_judged::write_questions(path, &stories)?;
    }
    let by_rules = |story: &LabelledStory| marks(&guard, &story.claims);
    if let Some(models) = options.models.as_deref().filter(|models| models.info().role(ModelRole::Llm).is_some()) {
        let answers = story_judged::ask(models, &stories, progress);
        let by_model =
            |at: usize, story: &LabelledStory| answers.marks(at, story, &lines(&guard, &dated(&story.claims)));
        let (model, missed) = score("model", &stories, by_model);
        report.misses.extend(missed.into_iter().map(|miss| format!("model: {miss}")));
        let both = |at: usize, story: &LabelledStory| story_judged::both(by_rules(story), by_model(at, story));
        report.rows.extend([model, score("both", &stories, both).0]);
    }
    if let Some(path) = &options.verdicts {
        let answers = story_judged::read_verdicts(path, &stories)?;
        let judged = |at: usize, story: &LabelledStory| {
            let by_judge = answers.marks(at, story, &lines(&guard, &dated(&story.claims)));
            story_judged::both(by_rules(story), by_judge)
        };
        let (judged, missed) = score("judged", &stories, judged);
        report.rows.push(judged);
        report.misses.extend(missed.into_iter().map(|miss| format!("judged: {miss}")));
    }
    if let Some(rows) = read_json_lines_if_any::<RuleRow>(&data.join("rules_corpus.jsonl"))? {
        report.idle.push(replay(&guard, "rules_corpus", rows.into_iter().map(|row| (row.unit, row.text))));
    }
    if let Some(rows) = read_json_lines_if_any::<DecisionRow>(&data.join("adr_corpus.jsonl"))? {
        report.idle.push(replay(&guard, "adr_corpus", rows.into_iter().map(|row| (row.repo, row.claim))));
    }
    Ok(report)
}

/// Returns the marks of the story pass, each with the ids of its claims.
fn marks(guard: &Guard, claims: &[StoryClaimRow]) -> FoundMarks {
    let ids = |mark: &Mark| mark.claims.iter().map(|at| claims[*at].id.clone()).collect();
    read(guard, &dated(claims)).iter().map(|mark| (mark.confusion, ids(mark))).collect()
}

/// Returns the claims of a story as (time, writer, statement).
fn dated(claims: &[StoryClaimRow]) -> Vec<(u64, &str, &str)> {
    let time = |claim: &StoryClaimRow| claim.at.as_millisecond().try_into().unwrap_or_default();
    claims.iter().map(|claim| (time(claim), claim.scope.as_str(), claim.text.as_str())).collect()
}

/// Returns the marks on claims that are given as (time, writer, statement), all of them active.
fn read(guard: &Guard, dated: &[(u64, &str, &str)]) -> Vec<Mark> {
    story::read(guard, &lines(guard, dated))
}

/// Returns the claims that [`read`] reads.
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

/// Returns a decision with its norms.
fn claim(guard: &Guard, statement: &str) -> NormedClaim {
    let norms = guard.normalise(statement, &Qualifiers::default()).norms;
    NormedClaim { statement: statement.to_owned(), norms, ..NormedClaim::default() }
}

/// Returns the pairs that the guard's rules find contradictory, as marks: the baseline.
fn pairs(guard: &Guard, claims: &[StoryClaimRow]) -> FoundMarks {
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

/// Scores a reader, and describes its wrong answers. `read` gets the place of a story, and the story.
fn score(
    name: &'static str,
    stories: &[LabelledStory],
    read: impl Fn(usize, &LabelledStory) -> FoundMarks,
) -> (StoryScore, Vec<String>) {
    let mut row = StoryScore { name, ..StoryScore::default() };
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
        let best_overlap = found.iter().map(|(_, ids)| overlap_of(ids, &expected)).fold(0.0, f64::max);
        let category = found.iter().any(|(confusion, _)| confusion.as_str() == story.expected);
        detected += usize::from(!found.is_empty());
        right += usize::from(category);
        overlap += best_overlap;
        if !category || best_overlap < 0.5 {
            misses.push(format!("{}: {} {expected:?}, marked {found:?}", story.id, story.expected));
        }
    }
    let of = |count: f64| count / row.incoherent.max(1) as f64;
    row.detected = of(detected as f64);
    row.category_right = of(right as f64);
    row.ids_overlap = of(overlap);
    (row, misses)
}

/// Returns the size of the intersection divided by that of the union.
fn overlap_of(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    one.intersection(other).count() as f64 / one.union(other).count().max(1) as f64
}

/// Replays a corpus. Each unit is a story, to which one writer adds a claim each week.
fn replay(guard: &Guard, name: &'static str, rows: impl Iterator<Item = (String, String)>) -> CorpusMarks {
    let mut units: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (unit, text) in rows {
        units.entry(unit).or_default().push(text);
    }
    let mut out = CorpusMarks { name, ..CorpusMarks::default() };
    let (mut found, mut asked) = (0_u32, 0_u32);
    for texts in units.values() {
        out.claims += texts.len();
        let dated: Vec<(u64, &str, &str)> =
            texts.iter().zip(0..).map(|(text, week)| (week * WEEK, "a writer", text.as_str())).collect();
        let marks = read(guard, &dated);
        found += u32::try_from(marks.len()).unwrap_or(u32::MAX);
        let mut answers: BTreeMap<(Confusion, StoryRule), MarkAnswers> = BTreeMap::new();
        for mark in &marks {
            let dismissals = answers.entry((mark.confusion, mark.rule)).or_default();
            if mark.strength >= dismissals.bar() {
                asked += 1;
                dismissals.dismissed += 1;
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

impl fmt::Display for StoryReport {
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
