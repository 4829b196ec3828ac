//! The models: which one serves which role, and selecting them again after a change.

use axum::{Json, extract::State};

use super::super::{
    extractors::NoFields,
    response::{JsonResult, value},
    state::SharedState,
};
use crate::api::{ApiError, ErrorCode, ModelsStatus, Reembedded};

/// The models that serve, and their processes.
#[utoipa::path(get, path = "/models", tag = "models", responses((status = 200, body = ModelsStatus)))]
pub(in crate::daemon) async fn models(State(shared): State<SharedState>, _: NoFields) -> Json<ModelsStatus> {
    Json(shared.models.status())
}

/// Reloads the models: uses what was installed, selected or set since the daemon started.
#[utoipa::path(post, path = "/models/reload", tag = "models", responses(
    (status = 200, body = ModelsStatus),
    (status = 400, description = "The settings are invalid", body = ApiError)))]
pub(in crate::daemon) async fn reload(State(shared): State<SharedState>, _: NoFields) -> JsonResult<ModelsStatus> {
    let work = {
        let shared = shared.clone();
        // Blocking, since model files may have to be read completely.
        move || match shared.models.reload() {
            Ok(()) => Ok(shared.models.status()),
            Err(error) => Err(ApiError::new(ErrorCode::BadRequest, format!("the models were not reloaded: {error}"))
                .hint("correct config.toml, then run the command again")),
        }
    };
    value(shared.blocking(work).await)
}

/// Computes some vectors with the current embedder; call it until `done`. The new vectors then replace the old ones.
#[utoipa::path(post, path = "/reembed", tag = "models", responses(
    (status = 200, body = Reembedded),
    (status = 400, description = "No embedder is chosen", body = ApiError),
    (status = 503, description = "The embedder fails; the vectors computed so far are kept", body = ApiError)))]
pub(in crate::daemon) async fn reembed(State(shared): State<SharedState>, _: NoFields) -> JsonResult<Reembedded> {
    value(shared.engine(crate::engine::Engine::reembed).await)
}
