//! The state of the daemon, and acts on the whole daemon or store.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use axum::{Extension, Json, extract::State};

use super::super::{
    extractors::{JsonBody, NoFields, QueryString},
    openapi::document,
    request_checks::RequestSource,
    response::{ErrorResponse, JsonResult, value},
    state::{SharedState, blocking},
};
use crate::api::{
    ApiError, AsOf, BackupOutcome, BackupRequest, Diagnose, ErrorCode, Health, LongTasks, Scopes, SizeByKind,
    SizeQuery, Stopping, StoreCheck,
};

/// The daemon's health and version. Needs no token.
#[utoipa::path(get, path = "/health", tag = "daemon", security(()), responses((status = 200, body = Health)))]
pub(in crate::daemon) async fn health(State(shared): State<SharedState>, _: NoFields) -> Json<Health> {
    Json(shared.health())
}

/// Counts, paths and problems.
#[utoipa::path(get, path = "/diagnose", tag = "daemon", responses((status = 200, body = Diagnose)))]
pub(in crate::daemon) async fn diagnose(State(shared): State<SharedState>, _: NoFields) -> JsonResult<Diagnose> {
    let (counts, store_problem) = shared.engine(|engine| Ok((engine.counts()?, engine.check_writable().err()))).await?;
    let (changed_settings, settings_without_effect, notes_problem) = {
        let state = shared.clone();
        let read = move || {
            let changed = state.settings.changed(state.models.selected_by());
            (changed, state.settings.without_effect(), state.notes.problem())
        };
        shared.blocking(move || Ok(read())).await?
    };
    Ok(Json(Diagnose {
        health: shared.health(),
        store: shared.store.display().to_string(),
        store_bytes: counts.store_bytes,
        schema: counts.schema,
        log: shared.log.display().to_string(),
        socket: Some(shared.socket.display().to_string()),
        tcp: shared.tcp.map(|address| address.to_string()),
        device: counts.device,
        events: counts.events,
        claims: counts.claims,
        active: counts.active,
        open_cards: counts.open_cards,
        needs_review: counts.needs_review,
        guard: counts.guard,
        nli_unfitted: counts.nli_unfitted,
        thresholds: counts.thresholds,
        ask_thresholds: counts.ask_thresholds,
        requests: shared.requests.load(Ordering::Relaxed),
        store_problem,
        problems: shared
            .problems
            .iter()
            .cloned()
            .chain(shared.streams.problems())
            .chain(shared.agents.problem())
            .chain(notes_problem)
            .collect(),
        changed_settings,
        settings_without_effect,
        models: shared.models.status(),
        timings: counts.timings,
        unembedded: counts.unembedded,
    }))
}

/// Checks the whole store: every signature, every chain, and the projection against the events. Changes nothing.
#[utoipa::path(post, path = "/check", tag = "daemon", responses((status = 200, body = StoreCheck)))]
pub(in crate::daemon) async fn check(State(shared): State<SharedState>, _: NoFields) -> JsonResult<StoreCheck> {
    let mut task = shared.tasks.begin("check");
    value(shared.engine(move |engine| engine.check_store_shown(&mut task)).await)
}

/// The size of the store, and what `ergo compact` would remove. A list by kind of data requires reading the whole file.
#[utoipa::path(get, path = "/size", tag = "daemon", params(SizeQuery), responses((status = 200, body = SizeByKind)))]
pub(in crate::daemon) async fn size(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<SizeQuery>,
) -> JsonResult<SizeByKind> {
    value(shared.engine(move |engine| engine.size_by_kind(&query)).await)
}

/// The running checks and backups, with their progress.
#[utoipa::path(get, path = "/tasks", tag = "daemon", responses((status = 200, body = LongTasks)))]
pub(in crate::daemon) async fn tasks(State(shared): State<SharedState>, _: NoFields) -> Json<LongTasks> {
    Json(shared.tasks.view())
}

/// Every scope with its counts.
#[utoipa::path(get, path = "/scopes", tag = "claims", params(AsOf), responses((status = 200, body = Scopes)))]
pub(in crate::daemon) async fn scopes(
    State(shared): State<SharedState>,
    QueryString(at): QueryString<AsOf>,
) -> JsonResult<Scopes> {
    value(shared.engine(move |engine| engine.scopes_at(at.as_of)).await)
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "daemon", responses((status = 200, description = "OpenAPI")))]
pub(in crate::daemon) async fn openapi(_: NoFields) -> Json<utoipa::openapi::OpenApi> {
    Json(document())
}

/// Copies the store into a new file, while it is in use.
#[utoipa::path(post, path = "/backup", tag = "daemon", request_body = BackupRequest, responses(
    (status = 200, body = BackupOutcome),
    (status = 400, description = "The path is not absolute, or the file exists", body = ApiError)))]
pub(in crate::daemon) async fn backup(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<BackupRequest>,
) -> JsonResult<BackupOutcome> {
    if !Path::new(&request.path).is_absolute() {
        let message = format!("`path` must be absolute: “{}” is relative", request.path);
        return Err(ApiError::field("path", message).into());
    }
    if let Some(folder) = Path::new(&request.path).parent()
        && !folder.is_dir()
    {
        let message = format!("there is no folder {}", folder.display());
        return Err(ApiError::field("path", message).hint("create it first, or choose another folder").into());
    }
    let bytes = {
        let path = request.path.clone();
        let mut task = shared.tasks.begin("backup");
        let engine = Arc::clone(&shared.engine);
        // Not with `shared.engine`, since the damage may be that of the copy.
        blocking(move || engine.backup_shown(Path::new(&path), &mut task)).await?
    };
    Ok(Json(BackupOutcome { path: request.path, bytes }))
}

/// Stops the daemon after it has finished the requests in progress. Over the socket only.
#[utoipa::path(post, path = "/shutdown", tag = "daemon", responses(
    (status = 200, body = Stopping),
    (status = 403, description = "Shutdown is accepted over the socket only", body = ApiError)))]
pub(in crate::daemon) async fn shutdown(
    State(shared): State<SharedState>,
    Extension(source): Extension<RequestSource>,
    _: NoFields,
) -> Result<Json<Stopping>, ErrorResponse> {
    if source != RequestSource::Socket {
        return Err(ApiError::new(ErrorCode::Forbidden, "the daemon can be stopped over its socket only")
            .hint("run `ergo daemon stop` on the daemon's machine")
            .into());
    }
    shared.end();
    Ok(Json(Stopping { pid: std::process::id() }))
}
