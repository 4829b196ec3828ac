//! Questions about writes that may contradict active claims, and their answers.

use axum::extract::State;

use super::super::{
    extractors::{JsonBody, QueryString},
    response::{JsonResult, WriteResult, value, written},
    state::SharedState,
};
use crate::api::{
    ApiError, Doubts, DoubtsQuery, JudgeNextRequest, JudgePairsRequest, JudgeRequest, JudgedNext, JudgedPairs,
    Questions, QuestionsQuery, WriteConflict, WriteOutcome,
};

/// Answers a question with verdicts: the held write is stored, supersedes claims, or is refused.
#[utoipa::path(post, path = "/judge", tag = "writes", request_body = JudgeRequest, responses(
    (status = 200, body = WriteOutcome),
    (status = 202, description = "Proposed: an agent may not replace a person's claim here; a card waits", body = WriteOutcome),
    (status = 400, description = "A field is invalid; it is named", body = ApiError),
    (status = 404, description = "There is no such question", body = ApiError),
    (status = 409, description = "Refused, by a verdict or by the guard; answered already; or the token is ambiguous, or the `op_id` was used", body = WriteConflict)))]
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

/// Pairs of active claims that may contradict each other and wait for a verdict, the newest first.
#[utoipa::path(get, path = "/doubts", tag = "conflicts", params(DoubtsQuery), responses(
    (status = 200, body = Doubts), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn doubts(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<DoubtsQuery>,
) -> JsonResult<Doubts> {
    value(shared.engine(move |engine| engine.doubts(&query)).await)
}

/// Records verdicts on pairs of active claims.
///
/// Verdicts of a person take effect; those of an agent open cards that propose the same.
#[utoipa::path(post, path = "/doubts", tag = "conflicts", request_body = JudgePairsRequest, responses(
    (status = 200, body = JudgedPairs),
    (status = 400, description = "A field is invalid; it is named", body = ApiError),
    (status = 404, description = "There is no such pair", body = ApiError),
    (status = 409, description = "None of the pairs waits any more", body = ApiError)))]
pub(in crate::daemon) async fn judge_pairs(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<JudgePairsRequest>,
) -> JsonResult<JudgedPairs> {
    value(shared.engine(move |engine| engine.judge_pairs(&request)).await)
}

/// Has a language model, one of the judges in the settings, judge the next pairs of a scope.
///
/// With `dry_run`, estimates the effort for all of them.
#[utoipa::path(post, path = "/doubts/judge", tag = "conflicts", request_body = JudgeNextRequest, responses(
    (status = 200, body = JudgedNext),
    (status = 400, description = "A field is invalid; it is named", body = ApiError),
    (status = 503, description = "The judge cannot be asked", body = ApiError)))]
pub(in crate::daemon) async fn judge_next(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<JudgeNextRequest>,
) -> JsonResult<JudgedNext> {
    value(shared.engine(move |engine| engine.judge_for(&request)).await)
}
