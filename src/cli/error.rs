//! Errors of the command line, and the exit codes.

use std::{fmt, io, process::ExitCode};

use super::{
    api_words::in_arguments,
    safe_text::{Printable, SafeText},
};
use crate::{
    api::{ApiError, ErrorCode},
    client::ClientError,
    config::ConfigError,
    files::system_words,
};

/// The result of a verb; the discriminant is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done.
    Ok = 0,
    /// The guard refused it, the person who was asked declined it, or a person or an admin of the team must do it. Not
    /// an error: the answer says why and what to do.
    Refused = 1,
    /// Wrong usage, or not found.
    Usage = 2,
    /// The daemon or a server cannot be reached, or the daemon must be stopped first.
    Unreachable = 3,
    /// A bug, or a failure of the system such as a full disk.
    Internal = 4,
    /// The target changed in the meantime, or is no longer active.
    Stale = 5,
}

impl Exit {
    /// Returns the word for the exit code in `--json` output.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Usage => "usage",
            Self::Unreachable => "unreachable",
            Self::Internal => "internal",
            Self::Stale => "stale",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error message: what happened, to which thing, and what to do next.
#[derive(Debug)]
pub(crate) struct CliError {
    /// The exit code.
    pub(crate) kind: Exit,
    /// What happened, to which thing.
    pub(crate) error: SafeText,
    /// The next steps, one line each.
    pub(crate) hints: Vec<SafeText>,
}

impl CliError {
    /// Creates an error with an exit code.
    pub(crate) fn new(kind: Exit, error: impl Printable) -> Self {
        Self { kind, error: error.to_lines(), hints: Vec::new() }
    }

    /// Creates an error of wrong usage, or for something that was not found.
    pub(crate) fn usage(error: impl Printable) -> Self {
        Self::new(Exit::Usage, error)
    }

    /// Creates an error for a bug or a failure of the system.
    pub(crate) fn internal(error: impl Printable) -> Self {
        Self::new(Exit::Internal, error)
    }

    /// Creates the error of a file operation: `cannot {what} {path}`.
    pub(crate) fn file(what: &str, path: &std::path::Path, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::FileTooLarge
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData
            | io::ErrorKind::PermissionDenied => Exit::Usage,
            _ => Exit::Internal,
        };
        if error.kind() == io::ErrorKind::AlreadyExists {
            return Self::usage(format!("{} already exists", path.display())).hint("choose another name");
        }
        let failed = Self::new(kind, format!("cannot {what} {}: {}", path.display(), system_words(error)));
        match error.kind() {
            io::ErrorKind::NotFound => failed.hint("check the path; a relative one starts in the current folder"),
            _ => failed,
        }
    }

    /// Adds a hint: what to do next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Printable) -> Self {
        self.hints.push(hint.to_lines());
        self
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

impl From<ApiError> for CliError {
    fn from(error: ApiError) -> Self {
        let kind = match error.code {
            ErrorCode::BadRequest
            | ErrorCode::NotFound
            | ErrorCode::MethodNotAllowed
            | ErrorCode::Ambiguous
            | ErrorCode::OpIdReused
            | ErrorCode::TooLarge
            | ErrorCode::UnsupportedMediaType => Exit::Usage,
            ErrorCode::NeedsPerson | ErrorCode::Forbidden => Exit::Refused,
            ErrorCode::Unauthorized | ErrorCode::Timeout => Exit::Unreachable,
            ErrorCode::Stale | ErrorCode::BuiltOn => Exit::Stale,
            ErrorCode::Unavailable | ErrorCode::Damaged | ErrorCode::Internal => Exit::Internal,
        };
        let mut out = Self::new(kind, in_arguments(&error.message));
        out.hints.extend(error.hint.map(|hint| in_arguments(&hint).to_lines()));
        if error.code == ErrorCode::Damaged {
            out = out.hint("`ergo doctor` shows what is damaged");
        }
        if !error.candidates.is_empty() {
            // An id alone is given in full; one with a name is already shortened.
            let short = |id: &String| if id.contains(' ') { id.clone() } else { id.get(..16).unwrap_or(id).to_owned() };
            let shown: Vec<_> = error.candidates.iter().map(short).collect();
            let what = if error.code == ErrorCode::Ambiguous { "did you mean" } else { "related ids" };
            out.hints.push(text!("{}: {}", what, shown.join(", ")));
        }
        out
    }
}

/// The hint if no answer came. Other clients repeat a request with its `op_id`, but a command that is run again gets a new one.
const UNANSWERED: &str = "if this was a write, it may have been stored: look with `ergo log` before you repeat it; \
    `ergo daemon status` says more";

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        let kind = match &error {
            ClientError::Api(error) => return error.clone().into(),
            ClientError::Config(error) => return error.clone().into(),
            ClientError::BadAnswer { .. } => Exit::Internal,
            _ => Exit::Unreachable,
        };
        let mut out = Self::new(kind, &error);
        if let ClientError::NotStarted { tail, .. } = &error
            && !tail.trim().is_empty()
        {
            out.error = text!("{}\n{}", out.error, tail.trim_end().to_lines());
        }
        let hint = match &error {
            ClientError::Interrupted { .. } | ClientError::Timeout { .. } => Some(UNANSWERED.to_owned()),
            _ => error.hint(),
        };
        out.hints.extend(hint.map(|hint| hint.to_lines()));
        out
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        let kind = match &error {
            ConfigError::Owned { .. } => Exit::Unreachable,
            ConfigError::Io { .. } => Exit::Internal,
            _ => Exit::Usage,
        };
        let mut out = Self::new(kind, &error);
        out.hints.extend(error.hint().map(|hint| hint.to_lines()));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ambiguous_prefix_names_what_it_could_be() {
        let mut error = ApiError::new(ErrorCode::Ambiguous, "“abcd” fits 2 claims");
        error.candidates = vec!["abcd".repeat(16), "abce".repeat(16)];
        let shown = CliError::from(error);
        assert_eq!(shown.kind, Exit::Usage);
        assert_eq!(shown.hints, ["did you mean: abcdabcdabcdabcd, abceabceabceabce"]);
    }

    #[test]
    fn a_command_without_an_answer_is_not_repeated_blindly() {
        let place = || "there".to_owned();
        let errors = [
            ClientError::Timeout { place: place(), after: std::time::Duration::from_secs(1) },
            ClientError::Interrupted { place: place(), cause: "reset".to_owned() },
        ];
        for error in errors {
            let shown = CliError::from(error);
            assert_eq!((shown.kind, shown.hints), (Exit::Unreachable, vec![UNANSWERED.to_lines()]));
        }
    }

    #[test]
    fn every_code_has_its_exit() {
        let exit = |code| CliError::from(ApiError::new(code, "x")).kind;
        assert_eq!(exit(ErrorCode::Stale), Exit::Stale);
        assert_eq!(exit(ErrorCode::NotFound), Exit::Usage);
        assert_eq!(exit(ErrorCode::NeedsPerson), Exit::Refused);
        assert_eq!(exit(ErrorCode::Unauthorized), Exit::Unreachable);
        assert_eq!(exit(ErrorCode::Internal), Exit::Internal);
    }
}
