//! The worker process: the only code that calls llama.cpp.
//!
//! It reads requests from its standard input, answers on its standard output, and dies when its input ends. It may be
//! killed at any time: it owns nothing but memory.

mod encoder;
mod hardware;
mod llm;
mod load;
mod log;

use std::{
    fs::File,
    io::{self, BufReader, Read},
    os::fd::AsFd,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
};

use llama_cpp_2::{LogOptions, llama_backend::LlamaBackend, send_logs_to_tracing};
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, nice, setrlimit};

use self::{encoder::Encoder, llm::Llm};
use super::{
    Role,
    wire::{self, Answer, Ask, Failure, Hello, Said, What},
};

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
    // Frames go to the real standard output; whatever a library prints goes to the log.
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdout(io::stderr())?;
    log::begin();
    let cancelled = Arc::new(AtomicU64::new(0));
    let asks = listen(BufReader::new(io::stdin()), Arc::clone(&cancelled))?;
    let Some(Ask { id, what: What::Hello(hello) }) = asks.recv().ok() else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "`ergo worker` is started by the daemon, not by hand"));
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

/// Reads requests beside the work, so that a request can be cancelled and the end of the daemon is seen at once.
fn listen(mut input: impl Read + Send + 'static, cancelled: Arc<AtomicU64>) -> io::Result<Receiver<Ask>> {
    let (send, asks) = mpsc::channel();
    let listen = move || {
        loop {
            match wire::read::<Ask>(&mut input) {
                Ok(Some(Ask { id, what: What::Cancel })) => cancelled.store(id, Ordering::Relaxed),
                Ok(Some(ask)) => {
                    if send.send(ask).is_err() {
                        return;
                    }
                }
                Ok(None) | Err(_) => die(),
            }
        }
    };
    thread::Builder::new().name("listen".to_owned()).stack_size(256 * 1024).spawn(listen)?;
    Ok(asks)
}

/// Ends this process in the middle of whatever it computes, without the cleaning up that llama.cpp's threads would trip
/// over.
fn die() {
    let _unreachable = kill_process(getpid(), Signal::KILL);
}

/// Keeps this process from harming others. What the system refuses is no reason not to serve.
fn limit(hello: &Hello) {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _refused = setrlimit(Resource::Core, none);
    if let Some(bytes) = hello.memory {
        let _refused = setrlimit(Resource::Data, Rlimit { current: Some(bytes), maximum: Some(bytes) });
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
                let vectors = loaded(&mut self.embedder)?.embed(&texts, wanted)?;
                Ok(Said::Vectors(vectors.iter().map(|vector| wire::pack(vector)).collect()))
            }
            What::Classify(pairs) => loaded(&mut self.nli)?.classify(&pairs, wanted).map(Said::Logits),
            What::Generate { prompt, grammar, max_tokens } => {
                loaded(&mut self.llm)?.generate(&prompt, &grammar, max_tokens as usize, wanted).map(Said::Text)
            }
            What::Answers { prompt, answers } => {
                loaded(&mut self.llm)?.answers(&prompt, &answers, wanted).map(Said::Weights)
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
