//! Why a model did not answer, in words for people.

use std::time::Duration;

use super::Role;

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InferError {
    /// Nothing was chosen for the role.
    #[error("no model serves as {role}; `ergo models list` shows what there is")]
    NoModel {
        /// The role.
        role: Role,
    },
    /// The deadline passed.
    #[error("the {role} model did not answer within {} ms", after.as_millis())]
    Timeout {
        /// The role.
        role: Role,
        /// How long the caller was willing to wait.
        after: Duration,
    },
    /// The worker process ended, or cannot be started.
    #[error("the process of the {role} model {why}")]
    Crashed {
        /// The role.
        role: Role,
        /// What happened, as the rest of a sentence.
        why: String,
    },
    /// The file is missing, damaged, or no model for this role. Not tried again until the file changes.
    #[error("the model {name} cannot be used as {role}: {why}")]
    BadModel {
        /// The role.
        role: Role,
        /// The model's name.
        name: String,
        /// What is wrong with it, and what helps.
        why: String,
    },
    /// There is not enough memory for the model, or it would exceed its limit.
    #[error("there is not enough memory for the {role} model: {why}")]
    OutOfMemory {
        /// The role.
        role: Role,
        /// What was tried.
        why: String,
    },
    /// The model works, and this request cannot be answered: its input is too long, its grammar wrong, …
    #[error("{0}")]
    Refused(String),
}

impl InferError {
    /// Its kind, for counting: one snake-case word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoModel { .. } => "no_model",
            Self::Timeout { .. } => "timeout",
            Self::Crashed { .. } => "crashed",
            Self::BadModel { .. } => "bad_model",
            Self::OutOfMemory { .. } => "out_of_memory",
            Self::Refused(_) => "refused",
        }
    }
}
