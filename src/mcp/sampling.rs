//! Asks the client's own language model about claims in doubt, if the client offers it (sampling). Without a usable
//! answer, the question goes to the agent.
#![expect(deprecated, reason = "clients offer sampling, and a later version of the protocol is to replace it")]

use std::collections::BTreeMap;

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, ClientResult, CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult,
        InputRequest, SamplingMessage, SamplingMessageContentBlock,
    },
    service::RequestContext,
};

use super::{
    client_question::{ClientQuestion, ClientReply, ask_client},
    shape::day,
};
use crate::{
    api::{Consider, Doubt, DoubtBand},
    domain::{
        ClaimKind, PairVerdict,
        pair_prompt::{self, PairAnswer, PromptClaim, PromptPair},
        text::cut_line,
    },
};

/// The key of the prompt and of its answer.
const QUESTION: &str = "verdicts";

/// The maximum number of characters of the recorded reason.
const MAX_BECAUSE: usize = 600;

/// The verdicts of the client's model on a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SampledVerdicts {
    /// The verdict on each claim, by its id.
    pub(super) verdicts: BTreeMap<String, PairVerdict>,
    pub(super) because: String,
    /// The name of the model, as the client gives it.
    pub(super) model: String,
}

impl ClientQuestion for CreateMessageRequest {
    type Answer = CreateMessageResult;

    fn into_input(self) -> InputRequest {
        InputRequest::CreateMessage(self)
    }

    fn answer(result: ClientResult) -> Option<CreateMessageResult> {
        match result {
            ClientResult::CreateMessageResult(answer) => Some(*answer),
            _ => None,
        }
    }
}

/// Asks the client's model about the claims of a question.
pub(super) async fn ask(
    question: &Consider,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> ClientReply<SampledVerdicts> {
    if context.client_capabilities().is_none_or(|can| can.sampling.is_none()) {
        return ClientReply::None;
    }
    let message = CreateMessageRequest::new(prompt(question, request));
    ask_client(QUESTION, message, request, context).await.and_then(|answer| read(question, &answer))
}

/// Returns the prompt: pairs of the write and a claim in question, as quoted data.
fn prompt(question: &Consider, request: &CallToolRequestParams) -> CreateMessageRequestParams {
    let given = |name: &str| request.arguments.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let newer = PromptClaim {
        kind: given("kind").and_then(|kind| kind.parse().ok()).unwrap_or(ClaimKind::Decision),
        statement: given("statement").unwrap_or_else(|| question.statement.clone()),
        reason: given("reason"),
        day: text_of(&day(question.until)),
        project: None,
    };
    let older = |doubt: &Doubt| PromptClaim {
        kind: doubt.kind,
        statement: doubt.statement.clone(),
        reason: doubt.reason.clone(),
        day: text_of(&day(doubt.at)),
        project: None,
    };
    let pairs: Vec<PromptPair> =
        question.doubts.iter().map(|doubt| PromptPair { newer: newer.clone(), older: older(doubt) }).collect();
    let tokens = u32::try_from(pairs.len() * pair_prompt::ANSWER_TOKENS).unwrap_or(u32::MAX);
    CreateMessageRequestParams::new(vec![SamplingMessage::user_text(pair_prompt::message(&pairs))], tokens)
        .with_system_prompt(pair_prompt::SYSTEM)
        .with_temperature(0.0)
}

fn text_of(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Parses an answer; `None` if it cannot be used, because it names an unknown pair or leaves out a claim that needs a
/// verdict.
fn read(question: &Consider, answer: &CreateMessageResult) -> Option<SampledVerdicts> {
    let parts = answer.message.content.clone().into_vec();
    let text: String =
        parts.iter().filter_map(SamplingMessageContentBlock::as_text).map(|part| part.text.as_str()).collect();
    let answers = pair_prompt::read(&text, question.doubts.len())?;
    let mut verdicts = BTreeMap::new();
    let mut because = Vec::new();
    for (doubt, answer) in question.doubts.iter().zip(answers) {
        match answer {
            Some(PairAnswer { verdict, because: why }) => {
                if !why.is_empty() {
                    because.push(format!("{}: {why}", doubt.id.short()));
                }
                verdicts.insert(doubt.id.to_hex(), verdict);
            }
            None if doubt.band == DoubtBand::Ask => return None,
            None => {}
        }
    }
    let because = if because.is_empty() {
        "judged by the client's language model".to_owned()
    } else {
        cut_line(&because.join("; "), MAX_BECAUSE)
    };
    Some(SampledVerdicts { verdicts, because, model: cut_line(answer.model.trim(), 100) })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::{CardId, EventId, OpId, Scope, pair_prompt::INJECTED};

    fn question(statements: &[&str]) -> Consider {
        let doubt = |(n, statement): (usize, &&str)| Doubt {
            id: EventId([n as u8 + 1; 32]),
            kind: ClaimKind::Decision,
            statement: (*statement).to_owned(),
            reason: Some((*statement).to_owned()),
            who: "ada".into(),
            agent: None,
            at: 1_700_000_000_000,
            band: if n == 0 { DoubtBand::Ask } else { DoubtBand::Mention },
        };
        Consider {
            token: "3f2a91bc04aa7d10".into(),
            card_id: CardId::of_members(&[EventId([9; 32])]),
            op_id: OpId([7; 16]),
            scope: Scope { org_id: "acme".into(), project: "api".into() },
            agent: None,
            statement: "New.".into(),
            message: "Asks.".into(),
            doubts: statements.iter().enumerate().map(doubt).collect(),
            until: 1_700_000_000_000,
            replayed: false,
        }
    }

    fn answer(text: &str) -> CreateMessageResult {
        CreateMessageResult::new(SamplingMessage::assistant_text(text), "a-model".into())
    }

    #[test]
    fn injected_statements_stay_values_and_an_answer_names_the_question_only() {
        for injected in INJECTED {
            let question = question(&[injected, "Use tabs."]);
            let mut request = CallToolRequestParams::new("ergo_remember");
            request.arguments = json!({"statement": injected, "kind": "constraint"}).as_object().cloned();
            let prompt = serde_json::to_value(prompt(&question, &request)).unwrap();
            let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
            let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(lines.len(), 2, "{text}");
            assert_eq!(lines[0]["newer"]["statement"], lines[0]["older"]["statement"]);
            assert_eq!(lines[0]["newer"]["kind"], "constraint");
            assert_eq!(prompt["systemPrompt"], pair_prompt::SYSTEM);
            // A model that repeats the prompt has not answered.
            assert_eq!(read(&question, &answer(text)), None);
        }
    }

    #[test]
    fn an_answer_needs_a_verdict_on_what_is_asked_about() {
        let question = question(&["Use tabs.", "Use spaces."]);
        let reply = r#"[{"pair": 1, "verdict": "replaces", "because": "a later decision"}]"#;
        let read_one = read(&question, &answer(reply)).unwrap();
        assert_eq!(read_one.verdicts, BTreeMap::from([(EventId([1; 32]).to_hex(), PairVerdict::Replaces)]));
        assert_eq!((read_one.because.as_str(), read_one.model.as_str()), ("0101010101: a later decision", "a-model"));
        for unusable in [
            "compatible",
            r#"[{"pair": 2, "verdict": "same"}]"#,
            r#"[{"pair": 1, "verdict": "same"}, {"pair": 3, "verdict": "same"}]"#,
        ] {
            assert_eq!(read(&question, &answer(unusable)), None, "{unusable}");
        }
    }
}
