//! Writing: each act on claims.

use axum::extract::State;

use super::super::{
    extractors::{JsonBody, LargeJsonBody},
    response::{JsonResult, WriteResult, value, written},
    state::SharedState,
};
use crate::api::{
    ActRequest, AddRequest, Added, ApiError, AuditOutcome, AuditRequest, DependRequest, IngestRequest, Ingested,
    RememberRequest, SupersedeRequest, UndoOutcome, UndoRequest, WriteOutcome,
};

/// Defines the handlers of writes that the guard may refuse.
macro_rules! writes {
    ($($(#[doc = $doc:literal])+ $path:literal $act:ident($request:ty);)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(post, path = $path, tag = "writes", request_body = $request, responses(
            (status = 200, body = WriteOutcome),
            (status = 400, description = "A field is invalid; it is named", body = ApiError),
            (status = 409, description = "Refused by the guard, or the thing changed meanwhile", body = WriteOutcome)))]
        pub(in crate::daemon) async fn $act(
            State(shared): State<SharedState>,
            JsonBody(request): JsonBody<$request>,
        ) -> WriteResult {
            written(shared.engine(move |engine| engine.$act(request)).await)
        }
    )+};
}

writes! {
    /// Writes a claim; guarded kinds pass the guard, facts upsert by key.
    "/remember" remember(RememberRequest);
    /// Writes a claim that has a source.
    "/learn" learn(RememberRequest);
    /// Replaces claims by a new statement or by an existing claim.
    "/supersede" supersede(SupersedeRequest);
    /// Brings a superseded or retracted claim back.
    "/reinstate" reinstate(ActRequest);
    /// Drops a claim's text for good; the record stays. Cannot be undone.
    "/redact" redact(ActRequest);
    /// Records that a claim which needed review still holds.
    "/reviewed" reviewed(ActRequest);
    /// Records that a claim rests on others.
    "/depend" depend(DependRequest);
}

/// Takes a claim out: never right.
#[utoipa::path(post, path = "/retract", tag = "writes", request_body = ActRequest, responses(
    (status = 200, body = WriteOutcome),
    (status = 202, description = "Proposed: a card waits for a person", body = WriteOutcome),
    (status = 400, description = "A field is invalid; it is named", body = ApiError),
    (status = 409, description = "Refused by the guard, or the thing changed meanwhile", body = WriteOutcome)))]
pub(in crate::daemon) async fn retract(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<ActRequest>,
) -> WriteResult {
    written(shared.engine(move |engine| engine.retract(request)).await)
}

/// Takes an act back: the named one, or the caller's own last.
#[utoipa::path(post, path = "/undo", tag = "writes", request_body = UndoRequest, responses(
    (status = 200, body = UndoOutcome),
    (status = 404, description = "Nothing to undo", body = ApiError),
    (status = 409, description = "Later events build on it; they are named", body = ApiError)))]
pub(in crate::daemon) async fn undo(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<UndoRequest>,
) -> JsonResult<UndoOutcome> {
    value(shared.engine(move |engine| engine.undo(request)).await)
}

/// Compares what is already active, and opens cards.
#[utoipa::path(post, path = "/audit", tag = "writes", request_body = AuditRequest, responses(
    (status = 200, body = AuditOutcome), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn audit(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<AuditRequest>,
) -> JsonResult<AuditOutcome> {
    value(shared.engine(move |engine| engine.audit(request)).await)
}

/// Stores what is worth keeping of a raw text, as facts in its own words; a language model of this machine chooses, if there is one.
#[utoipa::path(post, path = "/add", tag = "writes", request_body = AddRequest, responses(
    (status = 200, body = Added), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn add(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<AddRequest>,
) -> JsonResult<Added> {
    value(shared.engine(move |engine| engine.add(&request)).await)
}

/// Takes in a file for reference, as it is now: in pieces that recall finds, on this machine alone, past the guard.
#[utoipa::path(post, path = "/ingest", tag = "writes", request_body = IngestRequest, responses(
    (status = 200, body = Ingested), (status = 400, body = ApiError),
    (status = 413, description = "The file is larger than 2 MiB", body = ApiError)))]
pub(in crate::daemon) async fn ingest(
    State(shared): State<SharedState>,
    LargeJsonBody(request): LargeJsonBody<IngestRequest>,
) -> JsonResult<Ingested> {
    value(shared.engine(move |engine| engine.ingest(&request)).await)
}
