//! The worker process: the only code that calls llama.cpp.
//!
//! It reads requests from its standard input, answers on its standard output, and dies when its input ends. It may be
//! killed at any time: it owns nothing but memory.

mod draft;
mod encoder;
mod hardware;
mod kept;
mod llm;
mod load;
mod log;

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
    Role,
    wire::{self, Answer, Ask, Failure, Hello, Said, What},
};
use crate::worker::host;

pub use hardware::{Device, devices, physical_cores};

/// Why a request failed in here.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Trouble {
    failure: Failure,
    why: String,
}

impl Trouble {
    fn bad_model(why: impl Into<String>) -> Self {
        Self { failure: Failure::BadModel, why: why.into() }
    }

    fn refused(why: impl Into<String>) -> Self {
        Self { failure: Failure::Refused, why: why.into() }
    }

    fn cancelled() -> Self {
        Self { failure: Failure::Cancelled, why: "nobody waits for it any more".to_owned() }
    }
}

/// Whether the request that is being worked on is still wanted.
#[derive(Clone)]
struct Wanted {
    id: u64,
    cancelled: Arc<AtomicU64>,
}

impl Wanted {
    fn check(&self) -> Result<(), Trouble> {
        if self.cancelled.load(Ordering::Relaxed) == self.id { Err(Trouble::cancelled()) } else { Ok(()) }
    }
}

/// Serves the daemon at the other end of standard input and output until it goes away.
///
/// # Errors
/// Where the daemon is of another version, speaks nonsense, or llama.cpp cannot be started.
pub fn serve() -> io::Result<()> {
    let mut output = host::enter()?;
    log::begin();
    let cancelled = Arc::new(AtomicU64::new(0));
    let cancels = Arc::clone(&cancelled);
    let asks = host::listen(wire::MAX_FRAME, move |ask: Ask| match ask.what {
        What::Cancel => {
            cancels.store(ask.id, Ordering::Relaxed);
            None
        }
        _ => Some(ask),
    })?;
    let Some(Ask { id, what: What::Hello(hello) }) = asks.recv().ok() else {
        return Err(host::not_started_by_daemon());
    };
    wire::write(&mut output, &Answer { id, said: Said::Ready(wire::VERSION) })?;
    if hello.version != wire::VERSION {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the daemon is of another version"));
    }
    limit(&hello);
    send_logs_to_tracing(LogOptions::default());
    let backend = LlamaBackend::init().map_err(io::Error::other)?;
    let mut host = Host { backend, hello, embedder: None, nli: None, llm: None };
    for Ask { id, what } in asks {
        let wanted = Wanted { id, cancelled: Arc::clone(&cancelled) };
        let said = host.answer(what, &wanted).unwrap_or_else(|Trouble { failure, why }| Said::Failed { failure, why });
        wire::write(&mut output, &Answer { id, said })?;
    }
    Ok(())
}

/// Keeps this process from harming others. What the system refuses is no reason not to serve.
fn limit(hello: &Hello) {
    if let Some(bytes) = hello.memory {
        host::set_limit(Resource::Data, bytes);
    }
    if hello.nice > 0 {
        let _refused = nice(i32::from(hello.nice));
    }
}

/// The models of this process.
struct Host {
    backend: LlamaBackend,
    hello: Hello,
    embedder: Option<Encoder>,
    nli: Option<Encoder>,
    llm: Option<Llm>,
}

impl Host {
    fn answer(&mut self, what: What, wanted: &Wanted) -> Result<Said, Trouble> {
        wanted.check()?;
        match what {
            What::Load { role, path } => self.load(role, &path).map(Said::Loaded),
            What::Embed(texts) => {
                let (vectors, tokens) = loaded(&mut self.embedder)?.embed(&texts, wanted)?;
                Ok(Said::Vectors(vectors.iter().map(|vector| wire::pack(vector)).collect(), tokens))
            }
            What::Classify(pairs) => loaded(&mut self.nli)?.classify(&pairs, wanted).map(Said::Logits),
            What::Generate { prompt, grammar, max_tokens } => {
                loaded(&mut self.llm)?.generate(&prompt, &grammar, max_tokens as usize, wanted).map(Said::Text)
            }
            What::Answers { prompt, answers } => {
                loaded(&mut self.llm)?.answers(&prompt, &answers, wanted).map(Said::Weights)
            }
            What::Likelihood { prompt, answer } => {
                loaded(&mut self.llm)?.likelihood(&prompt, &answer, wanted).map(Said::Weights)
            }
            What::Hello(_) | What::Cancel => Err(Trouble::refused("not now")),
        }
    }

    fn load(&mut self, role: Role, path: &str) -> Result<wire::ModelFacts, Trouble> {
        log::forget();
        let Self { backend, hello, .. } = self;
        match role {
            Role::Embedder => {
                let (encoder, facts) = Encoder::embedder(backend, hello, path)?;
                self.embedder = Some(encoder);
                Ok(facts)
            }
            Role::Nli => {
                let (encoder, facts) = Encoder::classifier(backend, hello, path)?;
                self.nli = Some(encoder);
                Ok(facts)
            }
            Role::Llm => {
                let (llm, facts) = Llm::load(backend, hello, path)?;
                self.llm = Some(llm);
                Ok(facts)
            }
        }
    }
}

fn loaded<T>(model: &mut Option<T>) -> Result<&mut T, Trouble> {
    model.as_mut().ok_or_else(|| Trouble::refused("its model is not loaded"))
}
