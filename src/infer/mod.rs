//! Models: the trait that the engine calls, and its implementation in worker processes.
//!
//! Architecture Invariant: the engine uses only the trait [`Models`], and llama.cpp runs only in worker processes of
//! this program. So a C++ exception or a damaged file ends a worker, and never the daemon.

pub mod catalogue;
mod chat_endpoint;
mod error;
#[cfg(any(test, feature = "testing"))]
mod fake;
mod model_judge;
mod pool;
mod types;
mod wire;
pub mod worker;

pub use chat_endpoint::{Endpoint, EndpointError};
pub use error::InferError;
#[cfg(any(test, feature = "testing"))]
pub use fake::FakeModels;
pub use model_judge::{JudgeCommand, JudgeError, JudgeKind, ModelJudge};
pub use pool::{Pool, PoolOptions, default_threads, write_out};
pub use types::{
    Call, Classification, EmbeddedModel, ModelFile, ModelRole, ModelSet, ModelSource, ModelsInfo, Priority, Prompt,
    RoleInfo, Speaker, Turn, WorkerInfo,
};
pub use wire::ModelFacts;

pub use crate::worker::process::thread_cpu_time;

/// The models that the engine calls. Calls block until the answer, the deadline or a failure: never make them under a
/// lock or in a transaction.
pub trait Models: Send + Sync {
    /// Returns a vector of length 1 for each text, in order. If one text fails, the whole call fails.
    fn embed(&self, texts: &[String], call: Call) -> Result<Vec<Vec<f32>>, InferError>;

    /// Returns the classifier's scores of each pair (premise, hypothesis), in order. If one pair fails, the whole call
    /// fails.
    fn classify(&self, pairs: &[(String, String)], call: Call) -> Result<Vec<Classification>, InferError>;

    /// Returns the language model's answer: at each step the likeliest token that a GBNF grammar with the rule `root`
    /// allows. The answer ends when the grammar and the model allow it, or after `max_tokens`.
    ///
    /// # Errors
    /// Any [`InferError`]; [`InferError::Refused`] also for an invalid grammar.
    fn generate(&self, prompt: &Prompt, grammar: &str, max_tokens: usize, call: Call) -> Result<String, InferError>;

    /// Returns for each given answer the log-probability that the model's own answer begins with its first token.
    ///
    /// # Errors
    /// Any [`InferError`]; [`InferError::Refused`] also if two answers begin with the same token.
    fn answers(&self, prompt: &Prompt, answers: &[String], call: Call) -> Result<Vec<f32>, InferError>;

    /// Returns the log-probability of each token of `answer` after the prompt and the tokens before it.
    ///
    /// # Errors
    /// Any [`InferError`]; [`InferError::Refused`] also for an empty answer.
    fn likelihood(&self, prompt: &Prompt, answer: &str, call: Call) -> Result<Vec<f32>, InferError>;

    /// Returns the models and their state, without waiting for a model.
    fn info(&self) -> ModelsInfo;

    /// Returns the worker processes, with their resources as the operating system reports them; empty if there are
    /// none.
    fn workers(&self) -> Vec<WorkerInfo> {
        Vec::new()
    }
}

/// An implementation without models: every call fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoModels;

impl Models for NoModels {
    fn embed(&self, _texts: &[String], _call: Call) -> Result<Vec<Vec<f32>>, InferError> {
        Err(InferError::NoModel { role: ModelRole::Embedder })
    }

    fn classify(&self, _pairs: &[(String, String)], _call: Call) -> Result<Vec<Classification>, InferError> {
        Err(InferError::NoModel { role: ModelRole::Nli })
    }

    fn generate(&self, _: &Prompt, _grammar: &str, _max_tokens: usize, _call: Call) -> Result<String, InferError> {
        Err(InferError::NoModel { role: ModelRole::Llm })
    }

    fn answers(&self, _prompt: &Prompt, _answers: &[String], _call: Call) -> Result<Vec<f32>, InferError> {
        Err(InferError::NoModel { role: ModelRole::Llm })
    }

    fn likelihood(&self, _prompt: &Prompt, _answer: &str, _call: Call) -> Result<Vec<f32>, InferError> {
        Err(InferError::NoModel { role: ModelRole::Llm })
    }

    fn info(&self) -> ModelsInfo {
        ModelsInfo::default()
    }
}
