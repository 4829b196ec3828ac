//! Errors as clients see them: what happened, to which thing, and what to do next.

use serde::{Deserialize, Serialize};

use crate::domain::scope::ScopeError;

/// Defines the codes of errors, each with its meaning and its HTTP status.
macro_rules! error_codes {
    ($($(#[doc = $meaning:literal])+ $code:ident = $status:literal,)+) => {
        /// A stable code of an error; each has one HTTP status.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorCode {
            $($(#[doc = $meaning])+ $code,)+
        }

        impl ErrorCode {
            /// Every code with its meaning.
            pub const ALL: &[(Self, &str)] = &[$((Self::$code, concat!($($meaning),+))),+];

            /// Returns the HTTP status of the code.
            pub fn status(self) -> u16 {
                match self {
                    $(Self::$code => $status,)+
                }
            }
        }
    };
}

error_codes! {
    /// The request is not understood, or a field is wrong; `field` names it.
    BadRequest = 400,
    /// No token, or a wrong one.
    Unauthorized = 401,
    /// Only an admin of the team, or a device with a greater role, may do this; or a `Host` or `Origin` header that
    /// names another machine or a web page.
    Forbidden = 403,
    /// An agent may not do this, or on this device may only propose it (`guard.agents_may`); a person must do it.
    NeedsPerson = 403,
    /// No such claim, card, operation or path.
    NotFound = 404,
    /// The path does not support the method.
    MethodNotAllowed = 405,
    /// A shortened id matches more than one claim, card or event; `candidates` lists them.
    Ambiguous = 409,
    /// The claim or card has changed, or is no longer active.
    Stale = 409,
    /// Undo refused, since later events build on the change.
    BuiltOn = 409,
    /// The `op_id` was used for another request; nothing was done.
    OpIdReused = 409,
    /// The body or a field is too large.
    TooLarge = 413,
    /// The `Content-Type` of the body is not the expected one.
    UnsupportedMediaType = 415,
    /// The request took too long.
    Timeout = 408,
    /// The store cannot be written at present (disk full, read-only, shutting down).
    Unavailable = 503,
    /// The store's file is damaged; restore a backup.
    Damaged = 500,
    /// A bug in ergo.
    Internal = 500,
}

/// The body of every error answer. A refusal by the guard is not an error: see `WriteOutcome`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, utoipa::ToSchema)]
#[error("{message}")]
pub struct ApiError {
    /// The kind of error.
    pub code: ErrorCode,
    /// What happened, and to which thing, in one sentence.
    pub message: String,
    /// The field of the request that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The full ids that match an ambiguous prefix, or the ids of the events that prevent an undo.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

impl ApiError {
    /// Creates an error that has only a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None, hint: None, candidates: Vec::new() }
    }

    /// Creates a 400 error that names the wrong field.
    pub fn field(field: &str, message: impl Into<String>) -> Self {
        Self { field: Some(field.to_owned()), ..Self::new(ErrorCode::BadRequest, message) }
    }

    /// Creates the 409 error for a request without a team on a device that is in several. `field` is the field in which to name one, and
    /// `teams` has the short id and the name of each.
    pub fn several_teams(field: &str, teams: Vec<String>) -> Self {
        let message = "this device is in more than one team";
        let error =
            Self { field: Some(field.to_owned()), candidates: teams, ..Self::new(ErrorCode::Ambiguous, message) };
        error.hint(format!("name one with `{field}`, by its name or id"))
    }

    /// Creates a 404 error.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// Creates a 409 error for an `op_id` that another request used before.
    pub fn op_id_reused(message: impl Into<String>) -> Self {
        Self { field: Some("op_id".to_owned()), ..Self::new(ErrorCode::OpIdReused, message) }
            .hint("nothing was done: use a new `op_id` for each request, and the same only to retry it")
    }

    /// Creates a 500 error.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
            .hint("this is a bug in ergo; the daemon's log has the details (`ergo status` shows the file)")
    }

    /// Adds advice on what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<ScopeError> for ApiError {
    fn from(error: ScopeError) -> Self {
        Self::field(error.field, error.to_string())
    }
}
