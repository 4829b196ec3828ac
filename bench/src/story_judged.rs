//! The rows of `ergo-bench story` in which a language model, or another judge who answers a file of questions, reads the
//! stories.

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

use crate::{
    error::BenchError,
    measure::read_json_lines,
    story::{LabelledStory, StoryClaimRow},
};

/// The deadline of a model's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);

/// Marks of a story: the category, and the ids of the claims.
pub(crate) type FoundMarks = Vec<(Confusion, BTreeSet<String>)>;

/// A question to a judge: no label, and ids that reveal nothing.
#[derive(Debug, Serialize)]
struct AskedStory<'a> {
    id: &'a str,
    /// The instruction, which is the same for each story.
    system: &'a str,
    /// The claims as JSON lines, the oldest first.
    message: String,
}

/// A judge's answer about a story.
#[derive(Debug, Deserialize)]
struct AnsweredStory {
    id: String,
    /// The findings: `[{"claim_ids": […], "question": "…"}]`.
    answer: serde_json::Value,
}

/// Returns the claims of a story as a prompt shows them.
fn prompted(story: &LabelledStory) -> Vec<PromptedClaim> {
    let claim = |claim: &StoryClaimRow| PromptedClaim {
        id: prompt_id(&story.id, &claim.id),
        on: claim.at.strftime("%Y-%m-%d %H:%M").to_string(),
        by: claim.scope.clone(),
        state: "in force",
        statement: claim.text.clone(),
        reason: None,
    };
    story.claims.iter().map(claim).collect()
}

/// Returns an id that does not reveal the place of the claim in the data.
fn prompt_id(story: &str, claim: &str) -> ClaimId {
    EventId(*blake3::hash(format!("{story}/{claim}").as_bytes()).as_bytes())
}

/// Writes the questions for a judge as JSON lines.
pub(crate) fn write_questions(path: &Path, stories: &[LabelledStory]) -> Result<(), BenchError> {
    let mut text = String::new();
    for story in stories {
        let message = story::story_message(&prompted(story));
        let asked = AskedStory { id: &story.id, system: STORY_SYSTEM, message };
        text.push_str(&serde_json::to_string(&asked).unwrap_or_default());
        text.push('\n');
    }
    std::fs::write(path, text).map_err(BenchError::io(path))
}

/// Reads the answers of a judge.
pub(crate) fn read_verdicts(path: &Path, stories: &[LabelledStory]) -> Result<JudgeAnswers, BenchError> {
    let answers: Vec<AnsweredStory> = read_json_lines(path)?;
    let by_id: BTreeMap<&str, String> = answers.iter().map(|row| (row.id.as_str(), row.answer.to_string())).collect();
    Ok(JudgeAnswers(stories.iter().map(|story| by_id.get(story.id.as_str()).cloned()).collect()))
}

/// Asks a local model about each story.
pub(crate) fn ask(models: &dyn Models, stories: &[LabelledStory], progress: &mut dyn FnMut(&str)) -> JudgeAnswers {
    let ask = |(at, story): (usize, &LabelledStory)| {
        progress(&format!("story {} of {}", at + 1, stories.len()));
        let claims = prompted(story);
        let prompt = Prompt::few_shot::<String, String>(STORY_SYSTEM, [], story::story_message(&claims));
        models
            .generate(&prompt, &story::story_grammar(&claims), STORY_ANSWER_TOKENS, Call::background(ANSWER_TIMEOUT))
            .ok()
    };
    JudgeAnswers(stories.iter().enumerate().map(ask).collect())
}

/// The answers about the stories, in their order; `None` for a story without one.
pub(crate) struct JudgeAnswers(Vec<Option<String>>);

impl JudgeAnswers {
    /// Returns the findings about a story that would become cards: those that the rules do not know to be settled.
    pub(crate) fn marks(&self, at: usize, story: &LabelledStory, lines: &[StoryClaim]) -> FoundMarks {
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

/// Returns the marks of the rules, and those of a model about other claims.
pub(crate) fn both(rules: FoundMarks, model: FoundMarks) -> FoundMarks {
    let mut found = rules;
    for (confusion, ids) in model {
        if !found.iter().any(|(_, known)| known.is_subset(&ids) || ids.is_subset(known)) {
            found.push((confusion, ids));
        }
    }
    found
}
