//! Converts errors of the store into errors of the API.

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
                format!("the write has {size} bytes in total; at most {MAX_EVENT} are allowed"),
            )
            .hint("shorten the statement or the reason; name the long text in `source`"),
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
            StoreError::UsedOp(_) => Self::op_id_reused(error.to_string()),
            StoreError::Event(_) | StoreError::BadDocument(_) => Self::new(ErrorCode::BadRequest, error.to_string())
                .hint(
                    "no event of this batch was stored; send \
                    valid events only",
                ),
            StoreError::System { .. } => {
                tracing::error!(%error, "the store failed");
                Self::new(ErrorCode::Unavailable, error.to_string()).hint("nothing was stored: try again")
            }
            StoreError::StaleDocument(_) => Self::new(ErrorCode::Stale, error.to_string()),
            StoreError::NewerSchema { .. }
            | StoreError::OlderSchema { .. }
            | StoreError::NotAStore { .. }
            | StoreError::Empty(_)
            | StoreError::Incomplete { .. } => Self::new(ErrorCode::Unavailable, error.to_string()),
            StoreError::Replaced(path) => Self::new(ErrorCode::Unavailable, error.to_string()).hint(format!(
                "nothing was stored. To use the file that is there now, such as a backup: \
                `ergo daemon stop && ergo daemon start`. To keep the store that the daemon has open: run \
                `ergo backup FILE`, then `ergo daemon stop`, move the backup to {}, then `ergo daemon start`",
                path.display()
            )),
            StoreError::Removed(path) => {
                Self::new(ErrorCode::Unavailable, error.to_string()).hint(format!(
                    "nothing was stored. To recover: run `ergo backup FILE` (the daemon still has the open file), then \
                    `ergo daemon stop`, move the backup to {}, then `ergo daemon start`",
                    path.display()
                ))
            }
            StoreError::ReadOnly(path) => Self::new(ErrorCode::Unavailable, error.to_string()).hint(format!(
                "make {0}, {0}-wal, {0}-shm and their folder writable, then run `ergo daemon stop && ergo daemon start`",
                path.display()
            )),
            _ if error.is_damage() => {
                tracing::error!(%error, "the store is damaged");
                Self::new(ErrorCode::Damaged, error.to_string()).hint(
                    "run `ergo daemon stop && ergo doctor --rebuild`, which computes everything but the events again; \
                        if it still finds problems, replace ergo.db with a backup, as `ergo backup --help` says",
                )
            }
            _ if error.is_full() => Self::new(ErrorCode::Unavailable, "the disk that holds the store is full")
                .hint("nothing was stored: make room on that disk, then try again"),
            _ if error.is_unavailable() => Self::new(ErrorCode::Unavailable, error.to_string())
                .hint("nothing was stored: free disk space, fix the folder's permissions or mount the disk writable, then try again"),
            _ => {
                tracing::error!(%error, "the store failed");
                Self::internal(error.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[rstest::rstest]
    #[case(ffi::SQLITE_CORRUPT, ErrorCode::Damaged)]
    #[case(ffi::SQLITE_NOTADB, ErrorCode::Damaged)]
    #[case(ffi::SQLITE_IOERR_SHORT_READ, ErrorCode::Damaged)]
    #[case(ffi::SQLITE_IOERR, ErrorCode::Unavailable)]
    #[case(ffi::SQLITE_FULL, ErrorCode::Unavailable)]
    #[case(ffi::SQLITE_MISUSE, ErrorCode::Internal)]
    fn what_sqlite_calls_corrupt_is_damage_and_no_defect(#[case] code: i32, #[case] expected: ErrorCode) {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let api_error = ApiError::from(StoreError::from(error));
        assert_eq!(api_error.code, expected, "{api_error:?}");
        let hint = api_error.hint.unwrap_or_default();
        assert_eq!(hint.contains("a backup"), expected == ErrorCode::Damaged, "{hint}");
        assert_eq!(hint.contains("bug in ergo"), expected == ErrorCode::Internal, "{hint}");
    }

    #[test]
    fn a_failure_of_the_system_is_no_damage() {
        let cause = "blocked by seccomp".to_owned();
        let error = StoreError::System { act: "get random bytes from the operating system", cause };
        assert!(!error.is_damage());
        let error = ApiError::from(error);
        assert_eq!(error.message, "cannot get random bytes from the operating system: blocked by seccomp");
        assert_eq!(error.code, ErrorCode::Unavailable);
    }
}
