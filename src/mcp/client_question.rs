//! Asks the client a question during a tool call, in the form of the client's protocol version.

use std::{collections::BTreeMap, time::Duration};

use rmcp::{
    RoleServer,
    model::{CallToolRequestParams, ClientResult, InputRequest, InputRequiredResult, ProtocolVersion, ServerRequest},
    service::{PeerRequestOptions, RequestContext},
};
use serde::de::DeserializeOwned;

/// The timeout of an answer. Clients cancel a tool call after a minute.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(45);

/// A request to a client.
pub(super) trait ClientQuestion: Into<ServerRequest> {
    type Answer: DeserializeOwned;

    /// Returns the request as a part of a tool's result.
    fn into_input(self) -> InputRequest;

    /// Returns the answer to such a request; `None` if the result is one of another request.
    fn answer(result: ClientResult) -> Option<Self::Answer>;
}

/// The result of asking a client.
pub(super) enum ClientReply<T> {
    /// The client cannot be asked, or there is no usable answer.
    None,
    /// A request to the client to call again with the answer.
    Wait(Box<InputRequiredResult>),
    Answered(T),
}

impl<T> ClientReply<T> {
    /// Converts the answer. `read` returns `None` if it cannot be used.
    pub(super) fn and_then<U>(self, read: impl FnOnce(T) -> Option<U>) -> ClientReply<U> {
        match self {
            Self::None => ClientReply::None,
            Self::Wait(question) => ClientReply::Wait(question),
            Self::Answered(answer) => read(answer).map_or(ClientReply::None, ClientReply::Answered),
        }
    }
}

/// Asks the client. If its protocol version has answers in the next call, `key` is the name of the question and of its
/// answer.
pub(super) async fn ask_client<Q: ClientQuestion>(
    key: &str,
    question: Q,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> ClientReply<Q::Answer> {
    // Versions are dates, which compare correctly as text.
    let answers_in_next_call =
        context.protocol_version().is_some_and(|v| v.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
    if answers_in_next_call {
        if let Some(answer) = request.input_responses.as_ref().and_then(|answers| answers.get(key)) {
            return serde_json::from_value(answer.clone()).map_or(ClientReply::None, ClientReply::Answered);
        }
        let asked = BTreeMap::from([(key.to_owned(), question.into_input())]);
        return ClientReply::Wait(Box::new(InputRequiredResult::from_input_requests(asked)));
    }
    let options = PeerRequestOptions::with_timeout(ANSWER_TIMEOUT);
    let answer = match context.peer.send_request_with_option(question.into(), options).await {
        Ok(handle) => handle.await_response().await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(result) => Q::answer(result).map_or(ClientReply::None, ClientReply::Answered),
        Err(error) => {
            tracing::debug!("the client did not answer the question {key:?}: {error}");
            ClientReply::None
        }
    }
}
