//! Asks a person about a refused write, if the client can (elicitation). Without an answer, the result is the conflict.

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationSchema, InputRequest, object,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use super::client_question::{ClientQuestion, ClientReply, ask_client};
use crate::{api::Refused, domain::text::cut_line};

/// The maximum number of characters of each text in a question.
const MAX_TEXT: usize = 300;

/// The key of the question and of its answer.
const QUESTION: &str = "decision";

/// The possible answers: the text that the person sees, and the act on the card.
const CHOICES: [(&str, Option<&str>); 3] = [
    ("cancel: keep the active claim", None),
    ("supersede: the new claim replaces it", Some("supersede")),
    ("exception: store the new claim beside it, recorded as an exception", Some("exception")),
];

/// A person's decision to act on the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) act: &'static str,
    pub(super) reason: Option<String>,
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PersonAnswer {
    Decided(Decision),
    /// The person wants to keep the active claim.
    Cancelled,
}

impl ClientQuestion for ElicitRequest {
    type Answer = ElicitResult;

    fn into_input(self) -> InputRequest {
        InputRequest::Elicitation(self)
    }

    fn answer(result: ClientResult) -> Option<ElicitResult> {
        match result {
            ClientResult::ElicitResult(answer) => Some(answer),
            _ => None,
        }
    }
}

/// Asks a person.
pub(super) async fn ask(
    refused: &Refused,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> ClientReply<PersonAnswer> {
    let can = context.client_capabilities().and_then(|can| can.elicitation);
    if !can.is_some_and(|can| can.form.is_some() || can.url.is_none()) {
        return ClientReply::None;
    }
    let Some(question) = question(refused, request) else { return ClientReply::None };
    ask_client(QUESTION, question, request, context).await.and_then(read)
}

fn question(refused: &Refused, request: &CallToolRequestParams) -> Option<ElicitRequest> {
    let written = request.arguments.as_ref()?.get("statement")?.as_str()?;
    let old = &refused.conflicts.first()?.claim;
    let because =
        old.reason.as_deref().map_or_else(String::new, |reason| format!(" Its reason: {}", cut_line(reason, MAX_TEXT)));
    let message = format!(
        "The agent wants to store “{}”. This contradicts “{}” ({}, by {}).{because} What should happen?",
        cut_line(written, MAX_TEXT),
        cut_line(&old.statement, MAX_TEXT),
        old.id.short(),
        cut_line(&old.who, MAX_TEXT),
    );
    let choices: Vec<&str> = CHOICES.iter().map(|(words, _)| *words).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "choice": {"type": "string", "title": "Decision", "enum": choices},
            "reason": {"type": "string", "title": "Reason", "description": "Why? Your reason is kept in the history."},
        },
        "required": ["choice"],
    });
    let requested_schema = ElicitationSchema::from_json_schema(object(schema)).ok()?;
    Some(ElicitRequest::new(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema }))
}

/// Reads an answer; `None` if it decides nothing.
fn read(answer: ElicitResult) -> Option<PersonAnswer> {
    match answer.action {
        ElicitationAction::Accept => {}
        // A person who cancels wants to stop the agent's write. One who declines to answer leaves the decision to the
        // agent.
        ElicitationAction::Cancel => return Some(PersonAnswer::Cancelled),
        _ => return None,
    }
    let content = answer.content.unwrap_or_default();
    let choice = content.get("choice").and_then(Value::as_str);
    let (_, act) = CHOICES.iter().find(|(words, _)| Some(*words) == choice)?;
    let reason = content.get("reason").and_then(Value::as_str).map(str::trim).filter(|reason| !reason.is_empty());
    Some(match *act {
        Some(act) => PersonAnswer::Decided(Decision { act, reason: reason.map(str::to_owned) }),
        None => PersonAnswer::Cancelled,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_and_what_is_none_decides_nothing() {
        let answer = |action, content| read(ElicitResult::new(action).with_content(content));
        let content = json!({"choice": CHOICES[1].0, "reason": "  measured  "});
        let decision = Decision { act: "supersede", reason: Some("measured".to_owned()) };
        assert_eq!(answer(ElicitationAction::Accept, content.clone()), Some(PersonAnswer::Decided(decision)));
        let cancelled = json!({"choice": CHOICES[0].0});
        assert_eq!(answer(ElicitationAction::Accept, cancelled), Some(PersonAnswer::Cancelled));
        assert_eq!(answer(ElicitationAction::Cancel, content.clone()), Some(PersonAnswer::Cancelled));
        assert_eq!(answer(ElicitationAction::Decline, content), None);
        for wrong in [json!({"choice": "burn"}), json!({"choice": 5}), json!(7), Value::Null] {
            assert_eq!(answer(ElicitationAction::Accept, wrong), None);
        }
    }
}
