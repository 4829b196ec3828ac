//! Reading claims.

use axum::{Json, extract::State};

use super::super::{
    extractors::{IdInPath, JsonBody, QueryString},
    response::{JsonResult, value},
    state::SharedState,
};
use crate::{
    api::{
        ApiError, AsOf, CalibrateRequest, Calibrated, ClaimView, ClaimsPage, ClaimsQuery, History, IngestedFiles,
        IngestedQuery, LogPage, LogQuery, Promotions, PromotionsQuery, ReadStoryRequest, RecallAnswer, RecallRequest,
        Snapshot, SnapshotQuery, Story, StoryProgress, StoryQuery, WhyAnswer, WhyRequest,
    },
    domain::Scope,
    engine::Engine,
};

/// A page of claims.
#[utoipa::path(get, path = "/claims", tag = "claims", params(ClaimsQuery), responses(
    (status = 200, body = ClaimsPage), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn claims(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<ClaimsQuery>,
) -> JsonResult<ClaimsPage> {
    value(shared.engine(move |engine| engine.claims(&query)).await)
}

/// One claim, by id or prefix.
#[utoipa::path(get, path = "/claims/{id}", tag = "claims", params(("id" = String, Path, description = "An id or its first digits, at least 4"), AsOf), responses(
    (status = 200, body = ClaimView), (status = 404, body = ApiError), (status = 409, description = "The prefix is ambiguous", body = ApiError)))]
pub(in crate::daemon) async fn claim(
    State(shared): State<SharedState>,
    IdInPath(id): IdInPath,
    QueryString(at): QueryString<AsOf>,
) -> JsonResult<ClaimView> {
    value(shared.engine(move |engine| engine.claim_at(&id, at.as_of)).await)
}

/// Every change that touched a claim, and its chain both ways.
#[utoipa::path(get, path = "/claims/{id}/history", tag = "claims", params(("id" = String, Path, description = "An id or its first digits, at least 4"), AsOf), responses(
    (status = 200, body = History), (status = 404, body = ApiError), (status = 409, description = "The prefix is ambiguous", body = ApiError)))]
pub(in crate::daemon) async fn history(
    State(shared): State<SharedState>,
    IdInPath(id): IdInPath,
    QueryString(at): QueryString<AsOf>,
) -> JsonResult<History> {
    value(shared.engine(move |engine| engine.history_at(&id, at.as_of)).await)
}

/// The best reasoned claim for a question, and what led to it.
#[utoipa::path(post, path = "/why", tag = "claims", request_body = WhyRequest, responses(
    (status = 200, body = WhyAnswer), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn why(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<WhyRequest>,
) -> JsonResult<WhyAnswer> {
    value(shared.engine(move |engine| engine.why(&request)).await)
}

/// Claims that answer a question, with their stored statements, the best first.
#[utoipa::path(post, path = "/recall", tag = "claims", request_body = RecallRequest, responses(
    (status = 200, body = RecallAnswer), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn recall(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<RecallRequest>,
) -> JsonResult<RecallAnswer> {
    value(shared.engine(move |engine| engine.recall(&request)).await)
}

/// A page of the log of changes, newest first.
#[utoipa::path(get, path = "/log", tag = "claims", params(LogQuery), responses(
    (status = 200, body = LogPage), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn log(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<LogQuery>,
) -> JsonResult<LogPage> {
    value(shared.engine(move |engine| engine.log(&query)).await)
}

/// The claims of a scope in the order in which they were written, with the reversals, ambiguities and stale claims among them.
#[utoipa::path(get, path = "/story", tag = "claims", params(StoryQuery), responses(
    (status = 200, body = Story), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn story(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<StoryQuery>,
) -> JsonResult<Story> {
    value(shared.engine(move |engine| engine.story(&query)).await)
}

/// Has a language model, one of the judges in the settings, read the next part of a whole story.
///
/// With `dry_run`, estimates the effort for the rest.
#[utoipa::path(post, path = "/story/read", tag = "claims", request_body = ReadStoryRequest, responses(
    (status = 200, body = StoryProgress),
    (status = 400, description = "A field is invalid; it is named", body = ApiError),
    (status = 503, description = "The model cannot be asked", body = ApiError)))]
pub(in crate::daemon) async fn read_story(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<ReadStoryRequest>,
) -> JsonResult<StoryProgress> {
    value(shared.engine(move |engine| engine.read_story_for(&request)).await)
}

/// Claims on which enough projects of an organisation agree, and whose promotion nobody has decided.
#[utoipa::path(get, path = "/promotions", tag = "claims", params(PromotionsQuery), responses(
    (status = 200, body = Promotions), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn promotions(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<PromotionsQuery>,
) -> JsonResult<Promotions> {
    value(shared.engine(move |engine| engine.promotions(&query)).await)
}

/// The files that were ingested for reference.
#[utoipa::path(get, path = "/ingested", tag = "claims", params(IngestedQuery), responses(
    (status = 200, body = IngestedFiles), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn ingested(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<IngestedQuery>,
) -> JsonResult<IngestedFiles> {
    value(shared.engine(move |engine| engine.ingested(&query)).await)
}

/// A scope on one page: returns the last page at once; if it is out of date, a new one is generated in the background.
#[utoipa::path(get, path = "/snapshot", tag = "claims", params(SnapshotQuery), responses(
    (status = 200, body = Snapshot), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn snapshot(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<SnapshotQuery>,
) -> JsonResult<Snapshot> {
    let again = SnapshotQuery { rebuild: true, ..query.clone() };
    let scope = Scope { org_id: query.org_id.clone(), project: query.project.clone() };
    let answer = shared.engine(move |engine| engine.snapshot(&query)).await?;
    // Concurrent requests for the same outdated page generate it only once.
    let rebuild = if answer.stale { shared.rebuilding.begin(&scope) } else { None };
    if rebuild.is_some() || (!answer.stale && shared.engine.snapshot_waits(&scope)) {
        let shared = shared.clone();
        tokio::spawn(async move {
            let work = move |engine: &Engine| {
                if let Some(_rebuilding) = rebuild {
                    engine.snapshot(&again)?;
                }
                // This may take seconds of the language model. The page is available meanwhile.
                engine.lead_snapshot(&scope)
            };
            if let Err(error) = shared.engine(work).await {
                tracing::warn!(%error, "cannot generate a snapshot");
            }
        });
    }
    Ok(Json(answer))
}

/// Learns pairs of plain words and project words from a scope's claims; recall then searches for both.
#[utoipa::path(post, path = "/calibrate", tag = "claims", request_body = CalibrateRequest, responses(
    (status = 200, body = Calibrated), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn calibrate(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<CalibrateRequest>,
) -> JsonResult<Calibrated> {
    value(shared.engine(move |engine| engine.calibrate(&request)).await)
}
