//! Asks a person about a refused write, if the client can (elicitation). Without an answer, the result is the conflict.

use std::{collections::BTreeMap, time::Duration};

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationSchema, InputRequest, InputRequiredResult, ProtocolVersion, ServerRequest, object,
    },
    service::{PeerRequestOptions, RequestContext},
};
use serde_json::{Value, json};

use crate::{api::Refused, domain::text::cut_line};

/// The timeout of a person's answer. Clients cancel a tool call after a minute.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(45);

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

/// The result of asking a person.
pub(super) enum PersonReply {
    /// Nobody could be asked, or nobody answered.
    None,
    /// A request to the client to ask a person and to call again with the answer.
    Wait(Box<InputRequiredResult>),
    Decided(Decision),
    /// The person wants to keep the active claim.
    Cancelled,
}

/// Asks a person, in the form of the client's protocol version.
pub(super) async fn ask(
    refused: &Refused,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> PersonReply {
    let can = context.client_capabilities().and_then(|can| can.elicitation);
    if !can.is_some_and(|can| can.form.is_some() || can.url.is_none()) {
        return PersonReply::None;
    }
    let Some(question) = question(refused, request) else { return PersonReply::None };
    // Versions are dates, which compare correctly as text.
    let answers_in_next_call =
        context.protocol_version().is_some_and(|v| v.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
    if answers_in_next_call {
        if let Some(answer) = request.input_responses.as_ref().and_then(|answers| answers.get(QUESTION)) {
            return serde_json::from_value(answer.clone()).map_or(PersonReply::None, read);
        }
        let asked = BTreeMap::from([(QUESTION.to_owned(), InputRequest::Elicitation(question))]);
        return PersonReply::Wait(Box::new(InputRequiredResult::from_input_requests(asked)));
    }
    let options = PeerRequestOptions::with_timeout(ANSWER_TIMEOUT);
    let sent = context.peer.send_request_with_option(ServerRequest::ElicitRequest(question), options).await;
    let answer = match sent {
        Ok(handle) => handle.await_response().await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(ClientResult::ElicitResult(answer)) => read(answer),
        Ok(_) => PersonReply::None,
        Err(error) => {
            tracing::debug!("nobody answered: {error}");
            PersonReply::None
        }
    }
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

fn read(answer: ElicitResult) -> PersonReply {
    match answer.action {
        ElicitationAction::Accept => {}
        // A person who cancels wants to stop the agent's write. One who declines to answer leaves the decision to the
        // agent.
        ElicitationAction::Cancel => return PersonReply::Cancelled,
        _ => return PersonReply::None,
    }
    let content = answer.content.unwrap_or_default();
    let choice = content.get("choice").and_then(Value::as_str);
    let Some((_, act)) = CHOICES.iter().find(|(words, _)| Some(*words) == choice) else { return PersonReply::None };
    let reason = content.get("reason").and_then(Value::as_str).map(str::trim).filter(|reason| !reason.is_empty());
    match *act {
        Some(act) => PersonReply::Decided(Decision { act, reason: reason.map(str::to_owned) }),
        None => PersonReply::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_and_what_is_none_decides_nothing() {
        let answer = |action, content| read(ElicitResult::new(action).with_content(content));
        let content = json!({"choice": CHOICES[1].0, "reason": "  measured  "});
        assert!(matches!(
            answer(ElicitationAction::Accept, content.clone()),
            PersonReply::Decided(Decision { act: "supersede", reason: Some(reason) }) if reason == "measured"
        ));
        assert!(matches!(answer(ElicitationAction::Accept, json!({"choice": CHOICES[0].0})), PersonReply::Cancelled));
        assert!(matches!(answer(ElicitationAction::Cancel, content.clone()), PersonReply::Cancelled));
        assert!(matches!(answer(ElicitationAction::Decline, content), PersonReply::None));
        for wrong in [json!({"choice": "burn"}), json!({"choice": 5}), json!(7), Value::Null] {
            assert!(matches!(answer(ElicitationAction::Accept, wrong), PersonReply::None));
        }
    }
}
