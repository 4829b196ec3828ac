//! Errors as clients see them: what happened, to which thing, and what to do next.

use serde::{Deserialize, Serialize};

/// A stable word for what went wrong; each has one HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// 400: the request is not understood, or a field is wrong; `field` names it.
    BadRequest,
    /// 401: no token, or a wrong one.
    Unauthorized,
    /// 403: a `Host` or `Origin` header of another machine or a web page.
    Forbidden,
    /// 403: agents may only propose this here (`guard.agents_may`); a person must do it.
    NeedsPerson,
    /// 404: no such claim, card, operation or path.
    NotFound,
    /// 405: the path exists, the method does not.
    MethodNotAllowed,
    /// 409: a shortened id matches more than one claim, card or event; `candidates` lists them.
    Ambiguous,
    /// 409: the claim or card has changed, or is no longer active.
    Stale,
    /// 409: undo refused, since later events build on the change.
    BuiltOn,
    /// 409: the `op_id` was used for another request; nothing was done.
    OpIdReused,
    /// 413: the body or a field is too large.
    TooLarge,
    /// 415: the body is not declared as what is expected there.
    UnsupportedMediaType,
    /// 408: the request took too long.
    Timeout,
    /// 503: the store cannot be written now (disk full, read-only, shutting down).
    Unavailable,
    /// 500: the store's file is damaged; restore a backup.
    Damaged,
    /// 500: a bug in ergo.
    Internal,
}

impl ErrorCode {
    /// The HTTP status that goes with the code.
    pub fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden | Self::NeedsPerson => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Timeout => 408,
            Self::Ambiguous | Self::Stale | Self::BuiltOn | Self::OpIdReused => 409,
            Self::TooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Damaged | Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }
}

/// The body of every error answer. A refusal by the guard is not an error: see `WriteOutcome`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, utoipa::ToSchema)]
#[error("{message}")]
pub struct ApiError {
    /// What kind of error.
    pub code: ErrorCode,
    /// What happened, to which thing: one sentence.
    pub message: String,
    /// The request's field at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The full ids that match an ambiguous prefix, or of the events that prevent an undo.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

impl ApiError {
    /// An error with a message alone.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None, hint: None, candidates: Vec::new() }
    }

    /// A 400 that names the field.
    pub fn field(field: &str, message: impl Into<String>) -> Self {
        Self { field: Some(field.to_owned()), ..Self::new(ErrorCode::BadRequest, message) }
    }

    /// A 409: this device is in several teams, each given as its short id and its name, and `field` names none of them.
    pub fn several_teams(field: &str, teams: Vec<String>) -> Self {
        let message = "this device is in more than one team";
        let error =
            Self { field: Some(field.to_owned()), candidates: teams, ..Self::new(ErrorCode::Ambiguous, message) };
        error.hint(format!("name one with `{field}`, by its name or id"))
    }

    /// A 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// A 409 for an `op_id` under which something else was asked for before.
    pub fn op_id_reused(message: impl Into<String>) -> Self {
        Self { field: Some("op_id".to_owned()), ..Self::new(ErrorCode::OpIdReused, message) }
            .hint("nothing was done: use a new `op_id` for each request, and the same only to retry it")
    }

    /// A 500.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
            .hint("this is a bug in ergo; the daemon's log has the details (`ergo status` shows the file)")
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
