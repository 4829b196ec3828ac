//! What the store's errors mean to a client.

use crate::{
    api::{ApiError, ErrorCode},
    domain::event::{EventError, MAX_EVENT},
    store::StoreError,
};

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Event(EventError::TooLarge(size)) => Self::new(
                ErrorCode::TooLarge,
                format!("the write has {size} bytes in all; at most {MAX_EVENT} are allowed"),
            )
            .hint("shorten the statement or the reason, and point to the long text with `source`"),
            StoreError::BadCursor(_) => Self::field("cursor", error.to_string()),
            StoreError::Scope(scope) => Self::field(scope.field, error.to_string()),
            StoreError::Exists(_) => Self::field("path", error.to_string()),
            StoreError::UnknownTeam(_) | StoreError::NotShared { .. } => {
                Self::not_found(error.to_string()).hint("`ergo sync status` lists teams and what they share")
            }
            StoreError::NoRoster(_) | StoreError::NotAMember { .. } => {
                Self::new(ErrorCode::BadRequest, error.to_string())
            }
            StoreError::Bound(_) => Self::field("project", error.to_string()),
            StoreError::UsedOp(_) => Self::field("op_id", error.to_string()),
            StoreError::Event(_) | StoreError::BadDocument(_) => {
                Self::new(ErrorCode::BadRequest, error.to_string()).hint("nothing was taken from this batch")
            }
            StoreError::StaleDocument(_) => Self::new(ErrorCode::Stale, error.to_string()),
            StoreError::NewerSchema { .. } | StoreError::NotAStore { .. } => {
                Self::new(ErrorCode::Unavailable, error.to_string())
            }
            _ if error.is_full() => Self::new(ErrorCode::Unavailable, "the disk that holds the store is full")
                .hint("nothing was stored: make room on that disk, then try again"),
            _ if error.is_unavailable() => Self::new(ErrorCode::Unavailable, error.to_string())
                .hint("nothing was stored: free the disk or mend its permissions, then try again"),
            _ => {
                tracing::error!(%error, "the store failed");
                Self::internal(error.to_string())
            }
        }
    }
}
