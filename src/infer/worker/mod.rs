//! The inference worker: the only code that calls llama.cpp.
//!
//! The process reads requests from standard input, answers on standard output, and exits at the end of its input. It
//! may be killed at any time: all its state is in memory and can be computed again.

mod encoder;
mod hardware;
mod llama_log;
mod llm;
mod load;
mod prefix_cache;
mod prompt_lookup;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use llama_cpp_2::{LogOptions, llama_backend::LlamaBackend, send_logs_to_tracing};
use rustix::process::{Resource, nice};

use self::{encoder::Encoder, llm::Llm};
use super::{
    ModelRole,
    wire::{self, FailureReason, InferCommand, InferHello, InferReply, InferRequest, InferResponse},
};
use crate::worker::host;

pub use hardware::{Device, devices, physical_cores};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RequestError {
    failure: FailureReason,
    why: String,
}

impl RequestError {
    fn bad_model(why: impl Into<String>) -> Self {
        Self { failure: FailureReason::BadModel, why: why.into() }
    }

    fn refused(why: impl Into<String>) -> Self {
        Self { failure: FailureReason::Refused, why: why.into() }
    }

    fn cancelled() -> Self {
        Self { failure: FailureReason::Cancelled, why: "it was cancelled".to_owned() }
    }
}

/// Tells whether the current request was cancelled.
#[derive(Clone)]
struct CancelFlag {
    id: u64,
    /// The id of the request that was cancelled last.
    cancelled: Arc<AtomicU64>,
}

impl CancelFlag {
    fn check(&self) -> Result<(), RequestError> {
        if self.cancelled.load(Ordering::Relaxed) == self.id { Err(RequestError::cancelled()) } else { Ok(()) }
    }
}

/// Serves the daemon over standard input and output until the daemon closes them.
///
/// # Errors
/// If the daemon has another version, sends invalid frames, or llama.cpp cannot be started.
pub fn serve() -> io::Result<()> {
    let mut output = host::enter()?;
    llama_log::init();
    let cancelled = Arc::new(AtomicU64::new(0));
    let cancels = Arc::clone(&cancelled);
    let requests = host::listen(wire::MAX_FRAME, move |request: InferRequest| match request.command {
        InferCommand::Cancel => {
            cancels.store(request.id, Ordering::Relaxed);
            None
        }
        _ => Some(request),
    })?;
    let Some(InferRequest { id, command: InferCommand::Hello(hello) }) = requests.recv().ok() else {
        return Err(host::not_started_by_daemon());
    };
    wire::write(&mut output, &InferResponse { id, reply: InferReply::Ready(wire::VERSION) })?;
    if hello.version != wire::VERSION {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the daemon has another version"));
    }
    limit(&hello);
    send_logs_to_tracing(LogOptions::default());
    let backend = LlamaBackend::init().map_err(io::Error::other)?;
    let mut host = ModelHost { backend, hello, embedder: None, nli: None, llm: None };
    for InferRequest { id, command } in requests {
        let cancel = CancelFlag { id, cancelled: Arc::clone(&cancelled) };
        let reply = host
            .answer(command, &cancel)
            .unwrap_or_else(|RequestError { failure, why }| InferReply::Failed { failure, why });
        wire::write(&mut output, &InferResponse { id, reply })?;
    }
    Ok(())
}

/// Sets the memory limit and priority of this process. If the system refuses one, the process works without it.
fn limit(hello: &InferHello) {
    if let Some(bytes) = hello.memory {
        host::set_limit(Resource::Data, bytes);
    }
    if hello.nice > 0 {
        let _refused = nice(i32::from(hello.nice));
    }
}

/// The models of this process.
struct ModelHost {
    backend: LlamaBackend,
    hello: InferHello,
    embedder: Option<Encoder>,
    nli: Option<Encoder>,
    llm: Option<Llm>,
}

impl ModelHost {
    fn answer(&mut self, command: InferCommand, cancel: &CancelFlag) -> Result<InferReply, RequestError> {
        cancel.check()?;
        match command {
            InferCommand::Load { role, path } => self.load(role, &path).map(InferReply::Loaded),
            InferCommand::Embed(texts) => {
                let (vectors, tokens) = loaded(&mut self.embedder)?.embed(&texts, cancel)?;
                Ok(InferReply::Vectors(vectors.iter().map(|vector| wire::pack(vector)).collect(), tokens))
            }
            InferCommand::Classify(pairs) => {
                loaded(&mut self.nli)?.classify(&pairs, cancel).map(InferReply::Classifications)
            }
            InferCommand::Generate { prompt, grammar, max_tokens } => {
                loaded(&mut self.llm)?.generate(&prompt, &grammar, max_tokens as usize, cancel).map(InferReply::Text)
            }
            InferCommand::Answers { prompt, answers } => {
                loaded(&mut self.llm)?.answers(&prompt, &answers, cancel).map(InferReply::Weights)
            }
            InferCommand::Likelihood { prompt, answer } => {
                loaded(&mut self.llm)?.likelihood(&prompt, &answer, cancel).map(InferReply::Weights)
            }
            InferCommand::Hello(_) | InferCommand::Cancel => Err(RequestError::refused("the request is out of order")),
        }
    }

    fn load(&mut self, role: ModelRole, path: &str) -> Result<wire::ModelFacts, RequestError> {
        llama_log::clear();
        let Self { backend, hello, .. } = self;
        match role {
            ModelRole::Embedder => {
                let (encoder, facts) = Encoder::embedder(backend, hello, path)?;
                self.embedder = Some(encoder);
                Ok(facts)
            }
            ModelRole::Nli => {
                let (encoder, facts) = Encoder::classifier(backend, hello, path)?;
                self.nli = Some(encoder);
                Ok(facts)
            }
            ModelRole::Llm => {
                let (llm, facts) = Llm::load(backend, hello, path)?;
                self.llm = Some(llm);
                Ok(facts)
            }
        }
    }
}

fn loaded<T>(model: &mut Option<T>) -> Result<&mut T, RequestError> {
    model.as_mut().ok_or_else(|| RequestError::refused("its model is not loaded"))
}
