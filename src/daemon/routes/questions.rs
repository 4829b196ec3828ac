//! Questions about writes that may contradict active claims, and their answers.

use axum::extract::State;

use super::super::{
    extractors::{JsonBody, QueryString},
    response::{JsonResult, WriteResult, value, written},
    state::SharedState,
};
use crate::api::{ApiError, JudgeRequest, Questions, QuestionsQuery, WriteOutcome};

/// Answers a question: stores the held write, replaces what it replaces, or refuses it, by the verdicts.
#[utoipa::path(post, path = "/judge", tag = "writes", request_body = JudgeRequest, responses(
    (status = 200, body = WriteOutcome),
    (status = 202, description = "Proposed: an agent may not replace a person's claim here; a card waits", body = WriteOutcome),
    (status = 400, description = "A field is invalid; it is named", body = ApiError),
    (status = 404, description = "There is no such question", body = ApiError),
    (status = 409, description = "Refused, by a verdict or by the guard; or answered already", body = WriteOutcome)))]
pub(in crate::daemon) async fn judge(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<JudgeRequest>,
) -> WriteResult {
    written(shared.engine(move |engine| engine.judge(&request)).await)
}

/// Writes that wait for verdicts, the newest first.
#[utoipa::path(get, path = "/questions", tag = "writes", params(QuestionsQuery), responses(
    (status = 200, body = Questions), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn questions(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<QuestionsQuery>,
) -> JsonResult<Questions> {
    value(shared.engine(move |engine| engine.questions(&query)).await)
}
