//! Notes: followed files and insights.

use std::sync::Arc;

use axum::extract::State;

use super::super::{
    extractors::{JsonBody, NoFields, QueryString},
    response::{JsonResult, value},
    state::SharedState,
};
use crate::api::{
    ApiError, InsightFigures, InsightFiguresQuery, Insights, InsightsQuery, NoteClusters, NoteClustersQuery, NoteLinks,
    NoteLinksQuery, NotesAddRequest, NotesAdded, NotesCalibrateRequest, NotesCalibrated, NotesCheck, NotesCheckRequest,
    NotesRun, NotesScanRequest, NotesStatus, NotesWriteRequest, NotesWritten,
};

/// The followed files with the state of each, and the last runs.
#[utoipa::path(get, path = "/notes/status", tag = "notes", responses((status = 200, body = NotesStatus)))]
pub(in crate::daemon) async fn notes_status(State(shared): State<SharedState>, _: NoFields) -> JsonResult<NotesStatus> {
    let notes = Arc::clone(&shared.notes);
    value(shared.blocking(move || notes.status()).await)
}

/// Defines handlers, each of which calls a method of the keeper of notes.
macro_rules! notes {
    ($($(#[doc = $doc:literal])+ $path:literal $name:ident $act:ident($request:ty) -> $answer:ty;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(post, path = $path, tag = "notes", request_body = $request, responses(
            (status = 200, body = $answer),
            (status = 400, description = "A field is invalid; it is named", body = ApiError)))]
        pub(in crate::daemon) async fn $name(
            State(shared): State<SharedState>,
            JsonBody(request): JsonBody<$request>,
        ) -> JsonResult<$answer> {
            let notes = Arc::clone(&shared.notes);
            value(shared.blocking(move || notes.$act(&request)).await)
        }
    )+};
}

notes! {
    /// Follows rule files: single files, those of a repository, or those of a folder of repositories.
    "/notes/add" notes_add add(NotesAddRequest) -> NotesAdded;
    /// Reads the followed files that changed, and updates their claims.
    "/notes/scan" notes_scan scan(NotesScanRequest) -> NotesRun;
    /// Writes claims into ergo's own section of a file.
    "/notes/write" notes_write write(NotesWriteRequest) -> NotesWritten;
    /// Compares files with the stored claims, without storing anything.
    "/notes/check" notes_check check(NotesCheckRequest) -> NotesCheck;
    /// Fits the minimum similarity of equal claims to judged pairs, for each domain; uses the result only with `apply`.
    "/notes/calibrate" notes_calibrate calibrate(NotesCalibrateRequest) -> NotesCalibrated;
}

/// Insights: groups of claims of an organisation's projects that say the same, the highest rank first.
#[utoipa::path(get, path = "/notes/insights", tag = "notes", params(InsightsQuery), responses(
    (status = 200, body = Insights), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn notes_insights(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<InsightsQuery>,
) -> JsonResult<Insights> {
    value(shared.engine(move |engine| engine.insights(&query)).await)
}

/// Clusters of claims of an organisation's projects about one subject, the largest first.
#[utoipa::path(get, path = "/notes/clusters", tag = "notes", params(NoteClustersQuery), responses(
    (status = 200, body = NoteClusters), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn notes_clusters(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<NoteClustersQuery>,
) -> JsonResult<NoteClusters> {
    value(shared.engine(move |engine| engine.note_clusters(&query)).await)
}

/// The links among the claims of an organisation.
#[utoipa::path(get, path = "/notes/links", tag = "notes", params(NoteLinksQuery), responses(
    (status = 200, body = NoteLinks), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn notes_links(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<NoteLinksQuery>,
) -> JsonResult<NoteLinks> {
    value(shared.engine(move |engine| engine.note_links(&query)).await)
}

/// Figures about an organisation's claims: what most projects say, what is contested, has decayed, or was promoted.
#[utoipa::path(get, path = "/insights", tag = "notes", params(InsightFiguresQuery), responses(
    (status = 200, body = InsightFigures), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn insights(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<InsightFiguresQuery>,
) -> JsonResult<InsightFigures> {
    value(shared.engine(move |engine| engine.insight_figures(&query)).await)
}
