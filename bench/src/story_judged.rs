//! The rows of `ergo-bench story` in which a language model, or whoever answers a file of questions, reads the stories.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use ergo::{
    domain::{ClaimId, Confusion, EventId},
    infer::{Call, Models, Prompt},
    story::{self, ModelFinding, PromptedClaim, STORY_ANSWER_TOKENS, STORY_SYSTEM, StoryClaim},
};
use serde::{Deserialize, Serialize};

use crate::story::{BenchError, StoryRow, rows};

/// How long one answer of a model may take here.
const PATIENCE: Duration = Duration::from_mins(10);

/// Marks of a story: the category, and the ids of the claims.
pub(crate) type FoundMarks = Vec<(Confusion, BTreeSet<String>)>;

/// A story as it is put to a judge: no label, and ids of its own.
#[derive(Debug, Serialize)]
struct AskedStory<'a> {
    id: &'a str,
    /// The instruction, which is the same for each.
    system: &'a str,
    /// The claims, a JSON object a line, the oldest first.
    message: String,
}

/// What a judge says of a story.
#[derive(Debug, Deserialize)]
struct AnsweredStory {
    id: String,
    /// The findings: `[{"claim_ids": […], "question": "…"}]`.
    answer: serde_json::Value,
}

/// The claims of a story as a prompt shows them.
fn prompted(story: &StoryRow) -> Vec<PromptedClaim> {
    let claim = |claim: &crate::story::ClaimRow| PromptedClaim {
        id: prompt_id(&story.id, &claim.id),
        on: claim.at.strftime("%Y-%m-%d %H:%M").to_string(),
        by: claim.scope.clone(),
        state: "in force",
        statement: claim.text.clone(),
        reason: None,
    };
    story.claims.iter().map(claim).collect()
}

/// An id that tells nothing about its place in the data.
fn prompt_id(story: &str, claim: &str) -> ClaimId {
    EventId(*blake3::hash(format!("{story}/{claim}").as_bytes()).as_bytes())
}

/// Writes what a judge is to be asked, a JSON object a line.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_questions(path: &Path, stories: &[StoryRow]) -> Result<(), BenchError> {
    let mut text = String::new();
    for story in stories {
        let message = story::story_message(&prompted(story));
        let asked = AskedStory { id: &story.id, system: STORY_SYSTEM, message };
        text.push_str(&serde_json::to_string(&asked).unwrap_or_default());
        text.push('\n');
    }
    std::fs::write(path, text).map_err(|error| BenchError::Io { path: path.to_owned(), error })
}

/// Reads the answers of a judge, and what was marked by each: `None` for a story without a usable one.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read_verdicts(path: &Path, stories: &[StoryRow]) -> Result<Answers, BenchError> {
    let answers: Vec<AnsweredStory> = rows(path)?;
    let by_id: BTreeMap<&str, String> = answers.iter().map(|row| (row.id.as_str(), row.answer.to_string())).collect();
    Ok(Answers(stories.iter().map(|story| by_id.get(story.id.as_str()).cloned()).collect()))
}

/// Asks a local model about each story.
pub(crate) fn ask(models: &dyn Models, stories: &[StoryRow], progress: &mut dyn FnMut(&str)) -> Answers {
    let ask = |(at, story): (usize, &StoryRow)| {
        progress(&format!("story {} of {}", at + 1, stories.len()));
        let claims = prompted(story);
        let prompt = Prompt::few_shot::<String, String>(STORY_SYSTEM, [], story::story_message(&claims));
        models.generate(&prompt, &story::story_grammar(&claims), STORY_ANSWER_TOKENS, Call::background(PATIENCE)).ok()
    };
    Answers(stories.iter().enumerate().map(ask).collect())
}

/// Answers to stories, in their order.
pub(crate) struct Answers(Vec<Option<String>>);

impl Answers {
    /// What becomes a card of the answer to a story: each finding that the rules do not know to be settled.
    pub(crate) fn marks(&self, at: usize, story: &StoryRow, lines: &[StoryClaim]) -> FoundMarks {
        let claims = prompted(story);
        let reading = self.0.get(at).and_then(Option::as_deref).and_then(|answer| story::read_answer(answer, &claims));
        let marked = |finding: ModelFinding| {
            let chosen: Vec<&StoryClaim> = finding.claims.iter().map(|at| &lines[*at]).collect();
            let proposal = story::propose(&chosen)?;
            let ids = proposal.claims.iter().map(|at| story.claims[finding.claims[*at]].id.clone()).collect();
            Some((proposal.confusion, ids))
        };
        reading.into_iter().flat_map(|reading| reading.findings).filter_map(marked).collect()
    }
}

/// The marks of the rules, and of a model those about other claims.
pub(crate) fn both(rules: FoundMarks, model: FoundMarks) -> FoundMarks {
    let mut found = rules;
    for (confusion, ids) in model {
        if !found.iter().any(|(_, known)| known.is_subset(&ids) || ids.is_subset(known)) {
            found.push((confusion, ids));
        }
    }
    found
}
