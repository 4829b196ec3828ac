//! Models: what the engine may ask of them, and what it hears where they cannot answer.
//!
//! The engine knows the trait [`Models`] alone. llama.cpp runs in worker processes of this same program, since a C++
//! exception or a corrupt file ends the process that it happens in.

pub mod catalogue;
mod endpoint;
mod error;
#[cfg(any(test, feature = "testing"))]
mod fake;
mod pool;
mod types;
mod wire;
pub mod worker;

pub use endpoint::{Endpoint, EndpointError};
pub use error::InferError;
#[cfg(any(test, feature = "testing"))]
pub use fake::FakeModels;
pub use pool::{Pool, PoolOptions, default_threads, write_out};
pub use types::{
    Call, EmbeddedModel, ModelFile, ModelSet, ModelSource, ModelsInfo, Priority, Prompt, Role, RoleInfo, Speaker, Turn,
    WorkerInfo,
};
pub use wire::ModelFacts;

/// What the engine may ask of the models. Calls block until the answer, the deadline or a failure: make them outside every
/// lock and every transaction.
pub trait Models: Send + Sync {
    /// A vector of length 1 for each text, in their order.
    ///
    /// # Errors
    /// Any [`InferError`]; all texts share one fate.
    fn embed(&self, texts: &[String], call: Call) -> Result<Vec<Vec<f32>>, InferError>;

    /// For each pair (premise, hypothesis) the raw logits of the classifier: entailment, neutral, contradiction.
    ///
    /// # Errors
    /// Any [`InferError`]; all pairs share one fate.
    fn classify(&self, pairs: &[(String, String)], call: Call) -> Result<Vec<[f32; 3]>, InferError>;

    /// What the language model answers, the likeliest token each time, held to a GBNF grammar whose root is `root`. It ends
    /// where the grammar is satisfied and the model ends, or after `max_tokens`.
    ///
    /// # Errors
    /// Any [`InferError`]; [`InferError::Refused`] also for a grammar that cannot be read.
    fn generate(&self, prompt: &Prompt, grammar: &str, max_tokens: usize, call: Call) -> Result<String, InferError>;

    /// For each answer the log-probability of its first token as the beginning of the language model's answer.
    ///
    /// # Errors
    /// Any [`InferError`]; [`InferError::Refused`] also where two answers begin with the same token.
    fn answers(&self, prompt: &Prompt, answers: &[String], call: Call) -> Result<Vec<f32>, InferError>;

    /// The log-probability of each token of `answer`, in order, as what the language model says.
    ///
    /// # Errors
    /// Any [`InferError`]; [`InferError::Refused`] also for an empty answer.
    fn likelihood(&self, prompt: &Prompt, answer: &str, call: Call) -> Result<Vec<f32>, InferError>;

    /// Which models there are, and how they do. Never waits for a model.
    fn info(&self) -> ModelsInfo;
}

/// No models at all: every call says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoModels;

impl Models for NoModels {
    fn embed(&self, _texts: &[String], _call: Call) -> Result<Vec<Vec<f32>>, InferError> {
        Err(InferError::NoModel { role: Role::Embedder })
    }

    fn classify(&self, _pairs: &[(String, String)], _call: Call) -> Result<Vec<[f32; 3]>, InferError> {
        Err(InferError::NoModel { role: Role::Nli })
    }

    fn generate(&self, _: &Prompt, _grammar: &str, _max_tokens: usize, _call: Call) -> Result<String, InferError> {
        Err(InferError::NoModel { role: Role::Llm })
    }

    fn answers(&self, _prompt: &Prompt, _answers: &[String], _call: Call) -> Result<Vec<f32>, InferError> {
        Err(InferError::NoModel { role: Role::Llm })
    }

    fn likelihood(&self, _prompt: &Prompt, _answer: &str, _call: Call) -> Result<Vec<f32>, InferError> {
        Err(InferError::NoModel { role: Role::Llm })
    }

    fn info(&self) -> ModelsInfo {
        ModelsInfo::default()
    }
}
