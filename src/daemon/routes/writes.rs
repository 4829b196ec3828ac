//! Acts on claims.

use axum::extract::State;

use super::super::{
    extractors::{JsonBody, LargeJsonBody},
    response::{JsonResult, WriteResult, value, written},
    state::SharedState,
};
use crate::api::{
    ActRequest, AddRequest, Added, ApiError, AuditOutcome, AuditRequest, DependRequest, IngestRequest, Ingested,
    LearnRequest, PromoteRequest, RememberRequest, SupersedeRequest, UndoOutcome, UndoRequest, WriteConflict,
    WriteOutcome,
};

/// Defines the handlers of writes that the guard may refuse, each with its further statuses.
macro_rules! writes {
    ($($(#[doc = $doc:literal])+ $path:literal $act:ident($request:ty) $(, $status:tt $what:literal $body:ty)*;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(post, path = $path, tag = "writes", request_body = $request, responses(
            (status = 200, body = WriteOutcome),
            (status = 400, description = "A field is invalid; it is named", body = ApiError),
            $((status = $status, description = $what, body = $body),)*
            (status = 404, description = "A claim that is named does not exist", body = ApiError),
            (status = 409, description = "The guard refused it, the claim has changed, a prefix is ambiguous, or the `op_id` was used", body = WriteConflict)))]
        pub(in crate::daemon) async fn $act(
            State(shared): State<SharedState>,
            JsonBody(request): JsonBody<$request>,
        ) -> WriteResult {
            written(shared.engine(move |engine| engine.$act(request.into())).await)
        }
    )+};
}

writes! {
    /// Writes a claim; guarded kinds pass the guard, facts upsert by key.
    "/remember" remember(RememberRequest),
        202 "Proposed: a person must settle the card" WriteOutcome,
        403 "A dry run of what agents may only propose" ApiError;
    /// Writes a claim that has a source.
    "/learn" learn(LearnRequest),
        202 "Proposed: a person must settle the card" WriteOutcome,
        403 "A dry run of what agents may only propose" ApiError;
    /// Replaces claims by a new statement or by an existing claim.
    "/supersede" supersede(SupersedeRequest),
        202 "Proposed: a person must settle the card" WriteOutcome,
        403 "Agents may only propose here" ApiError;
    /// Brings a superseded or retracted claim back.
    "/reinstate" reinstate(ActRequest), 403 "A person closed the claim, and agents may only propose here" ApiError;
    /// Redacts a claim, or the reason of a change: removes the text for good and keeps the record. Cannot be undone.
    "/redact" redact(ActRequest);
    /// Records that a claim which needed review still holds.
    "/reviewed" reviewed(ActRequest), 403 "Only a person marks notices as seen" ApiError;
    /// Records that a claim depends on others.
    "/depend" depend(DependRequest);
    /// Promotes claims of projects to one claim of the organisation's level. The claims of the projects stay, as sightings of it.
    "/promote" promote(PromoteRequest), 403 "Agents may only propose here" ApiError;
    /// Withdraws a claim that was promoted to the organisation's level; the claims of the projects apply on their own again.
    "/demote" demote(ActRequest),
        202 "Proposed: a person must settle the card" WriteOutcome,
        403 "A person decided to keep the claim" ApiError;
    /// Retracts a claim that was never right.
    "/retract" retract(ActRequest),
        202 "Proposed: a person must settle the card" WriteOutcome,
        403 "A person decided to keep the claim" ApiError;
}

/// Undoes the named change, or the caller's latest one.
#[utoipa::path(post, path = "/undo", tag = "writes", request_body = UndoRequest, responses(
    (status = 200, body = UndoOutcome),
    (status = 400, description = "The change cannot be undone: a redaction, or a change to a team", body = ApiError),
    (status = 403, description = "A person made the change, and agents may only propose here", body = ApiError),
    (status = 404, description = "Nothing to undo", body = ApiError),
    (status = 409, description = "Later events build on the change, and `candidates` lists them; it was undone already; or the `op_id` was used", body = ApiError)))]
pub(in crate::daemon) async fn undo(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<UndoRequest>,
) -> JsonResult<UndoOutcome> {
    value(shared.engine(move |engine| engine.undo(request)).await)
}

/// Compares the active claims with each other, and opens cards for contradictions.
#[utoipa::path(post, path = "/audit", tag = "writes", request_body = AuditRequest, responses(
    (status = 200, body = AuditOutcome), (status = 400, body = ApiError),
    (status = 409, description = "The `op_id` was used for another request", body = ApiError)))]
pub(in crate::daemon) async fn audit(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<AuditRequest>,
) -> JsonResult<AuditOutcome> {
    value(shared.engine(move |engine| engine.audit(request)).await)
}

/// Stores the sentences of a text that are worth keeping as facts, word for word.
///
/// A local language model selects them, if there is one.
#[utoipa::path(post, path = "/add", tag = "writes", request_body = AddRequest, responses(
    (status = 200, body = Added), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn add(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<AddRequest>,
) -> JsonResult<Added> {
    value(shared.engine(move |engine| engine.add(&request)).await)
}

/// Ingests a file for reference; recall then finds its passages. The guard does not check them.
#[utoipa::path(post, path = "/ingest", tag = "writes", request_body = IngestRequest, responses(
    (status = 200, body = Ingested), (status = 400, body = ApiError),
    (status = 409, description = "The `op_id` was used for another request", body = ApiError),
    (status = 413, description = "The file is larger than 2 MiB", body = ApiError)))]
pub(in crate::daemon) async fn ingest(
    State(shared): State<SharedState>,
    LargeJsonBody(request): LargeJsonBody<IngestRequest>,
) -> JsonResult<Ingested> {
    value(shared.engine(move |engine| engine.ingest(&request)).await)
}
