//! HTTP responses for the engine's answers and errors.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::api::{ApiError, ErrorCode, WriteOutcome};

/// The result of a handler that returns a value.
pub(super) type JsonResult<T> = Result<Json<T>, ErrorResponse>;

/// The result of a handler that writes.
pub(super) type WriteResult = Result<WriteResponse, ErrorResponse>;

/// An error as a response.
#[derive(Debug)]
pub(super) struct ErrorResponse(pub(super) ApiError);

impl From<ApiError> for ErrorResponse {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status.is_server_error() {
            tracing::warn!(code = ?self.0.code, message = self.0.message, "a request failed");
        }
        let mut response = (status, Json(&self.0)).into_response();
        if self.0.code == ErrorCode::Unauthorized {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The outcome of a write as a response: status 409 if the guard refused it or its target changed meanwhile, 202 if it
/// waits for a person, otherwise 200.
#[derive(Debug)]
pub(super) struct WriteResponse(pub(super) WriteOutcome);

impl IntoResponse for WriteResponse {
    fn into_response(self) -> Response {
        let status = match self.0 {
            WriteOutcome::Stored(_) | WriteOutcome::Consider(_) | WriteOutcome::Done(_) => StatusCode::OK,
            WriteOutcome::Proposed(_) => StatusCode::ACCEPTED,
            WriteOutcome::Conflict(_) | WriteOutcome::Stale(_) => StatusCode::CONFLICT,
        };
        (status, Json(self.0)).into_response()
    }
}

/// Wraps the engine's answer to a read.
pub(super) fn value<T: Serialize>(result: Result<T, ApiError>) -> JsonResult<T> {
    Ok(Json(result?))
}

/// Wraps the engine's answer to a write.
pub(super) fn written(result: Result<WriteOutcome, ApiError>) -> WriteResult {
    Ok(WriteResponse(result?))
}
