//! The errors of models, with messages for people.

use std::time::Duration;

use super::ModelRole;

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InferError {
    /// No model is chosen for the role.
    #[error("no model is chosen as {role}; `ergo models list` shows the models")]
    NoModel { role: ModelRole },
    /// The call was not answered before its deadline.
    #[error("the {role} model did not answer within {} ms", after.as_millis())]
    Timeout { role: ModelRole, after: Duration },
    /// Too many other calls wait for the model.
    #[error("the {role} model is busy with other requests")]
    Busy { role: ModelRole },
    /// The worker process exited, or cannot be started.
    #[error("the process of the {role} model {why}")]
    Crashed {
        role: ModelRole,
        /// What happened, as the rest of a sentence that begins with "the process …".
        why: String,
    },
    /// The file is missing, damaged, or not a model for this role. It is not tried again until the file changes.
    #[error("the model {name} cannot be used as {role}: {why}")]
    BadModel {
        role: ModelRole,
        name: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// There is not enough memory for the model, or it would exceed its limit.
    #[error("there is not enough memory for the {role} model: {why}")]
    OutOfMemory {
        role: ModelRole,
        /// What was attempted.
        why: String,
    },
    /// The model works, but cannot answer this request: the input is too long, the grammar is invalid, …
    #[error("{0}")]
    Refused(String),
}

impl InferError {
    /// Returns the kind of the error in snake case, for statistics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoModel { .. } => "no_model",
            Self::Timeout { .. } => "timeout",
            Self::Busy { .. } => "busy",
            Self::Crashed { .. } => "crashed",
            Self::BadModel { .. } => "bad_model",
            Self::OutOfMemory { .. } => "out_of_memory",
            Self::Refused(_) => "refused",
        }
    }
}
