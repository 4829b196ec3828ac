//! The models as the daemon has them: two worker processes, each with its queue.
//!
//! The two small models, which every guarded write waits for, share one process. The language model has another one, which
//! stands back behind everything (`nice`): however long it thinks, and whatever it does to its process, writes go on.

mod files;
mod lane;
mod process;
mod runner;
mod source;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

pub use files::write_out;

use self::{
    lane::{Lane, LaneSettings, Outcome},
    process::Launch,
    source::Source,
};
use super::{
    Call, InferError, ModelFacts, ModelSet, Models, ModelsInfo, Priority, Prompt, Role, RoleInfo,
    wire::{self, Hello, Said, VERSION, What},
    worker::physical_cores,
};

/// The roles of the process for small models, and of that for the language model.
const SMALL: [Role; 2] = [Role::Embedder, Role::Nli];
const LARGE: [Role; 1] = [Role::Llm];

/// Texts or pairs of one request: with somebody waiting as many as fit into a message, else few, so that somebody who comes
/// waits shortly.
const MANY: usize = 64;
const FEW: usize = 16;

/// A request of the small models that takes longer hangs, also beside a busy machine: usual are 5 to 100 ms, and a first
/// load from a slow disk takes seconds.
const HANG_SMALL: Duration = Duration::from_secs(15);

/// The same for the language model: gigabytes are loaded, and a token may take a second.
const HANG_LARGE: Duration = Duration::from_mins(3);

/// The wait before a third start in a row.
const REST: Duration = Duration::from_millis(500);

/// How far the language model's process stands back, as for `nice(1)`.
const NICE: u8 = 10;

/// How a [`Pool`] is set up.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// The program that is started as a worker: ergo.
    pub program: PathBuf,
    /// The folder where built-in models are written out, and what the language model made of prompts' prefixes is kept.
    pub folder: PathBuf,
    /// Threads that compute, in each process.
    pub threads: usize,
    /// Layers of the language model that a GPU computes; all where absent.
    pub gpu_layers: Option<u32>,
    /// The device that computes them, such as `CUDA0`; `CPU` for none; llama.cpp's choice where absent.
    pub device: Option<String>,
    /// After so long without work a process ends, and its memory is free.
    pub idle: Duration,
    /// After so long a request hangs: small models and language model.
    pub hang: [Duration; 2],
}

impl PoolOptions {
    /// The usual ones, with built-in models in `folder`: this program, all physical cores but one, five minutes.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            program: process::this_program(),
            folder: folder.into(),
            threads: default_threads(),
            gpu_layers: None,
            device: None,
            idle: Duration::from_mins(5),
            hang: [HANG_SMALL, HANG_LARGE],
        }
    }
}

/// Physical cores less one, at least one: more threads than free cores make everything many times slower.
pub fn default_threads() -> usize {
    physical_cores().saturating_sub(1).max(1)
}

/// Calls that failed, by kind.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<BTreeMap<&'static str, u64>>);

impl Failures {
    fn count(&self, kind: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(kind).or_default() += 1;
    }

    fn told(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Models in worker processes. Nothing is started before the first call; dropping it ends the processes.
pub struct Pool {
    options: PoolOptions,
    set: Mutex<ModelSet>,
    small: Lane,
    large: Lane,
    failures: Arc<Failures>,
    /// What the embedder read.
    embedded_tokens: AtomicU64,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Pool {
    /// Models that are loaded when they are first asked.
    pub fn new(options: PoolOptions, set: ModelSet) -> Self {
        let launch = Arc::new(process::program(options.program.clone()));
        Self::over(launch, options, set)
    }

    fn over(launch: Arc<Launch>, options: PoolOptions, set: ModelSet) -> Self {
        let failures = Arc::new(Failures::default());
        let lane = |name, roles: &[Role], hang, nice| {
            let hello = Hello {
                version: VERSION,
                threads: u32::try_from(options.threads).unwrap_or(1).max(1),
                memory: None,
                gpu_layers: options.gpu_layers,
                device: options.device.clone(),
                nice,
                prefixes: roles
                    .contains(&Role::Llm)
                    .then(|| options.folder.join("prefixes").to_string_lossy().into_owned()),
            };
            let settings = LaneSettings { name, hello, idle: options.idle, hang, rest: REST };
            let models = sources(&set, roles, &options);
            Lane::new(settings, Arc::clone(&launch), Arc::clone(&failures), models)
        };
        let [hang_small, hang_large] = options.hang;
        let small = lane("small", &SMALL, hang_small, 0);
        let large = lane("llm", &LARGE, hang_large, NICE);
        Self { options, set: Mutex::new(set), small, large, failures, embedded_tokens: AtomicU64::new(0) }
    }

    /// Serves other models from the next call on; what is being computed goes on.
    pub fn change(&self, set: ModelSet) {
        self.small.change(sources(&set, &SMALL, &self.options));
        self.large.change(sources(&set, &LARGE, &self.options));
        *self.set.lock().unwrap_or_else(PoisonError::into_inner) = set;
    }

    /// The models that it serves.
    pub fn set(&self) -> ModelSet {
        self.set.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loads the model of a role, unless it is in memory, and says what it is.
    ///
    /// # Errors
    /// Any [`InferError`].
    pub fn load(&self, role: Role, call: Call) -> Result<ModelFacts, InferError> {
        let loaded = self.ask(role, None, call);
        loaded.and_then(|_| {
            let (_, facts, _) = self.lane(role).role(role);
            facts.ok_or_else(|| InferError::Crashed { role, why: "ended just after its model was loaded".to_owned() })
        })
    }

    fn lane(&self, role: Role) -> &Lane {
        match role {
            Role::Embedder | Role::Nli => &self.small,
            Role::Llm => &self.large,
        }
    }

    fn ask(&self, role: Role, what: Option<What>, call: Call) -> Outcome {
        let outcome = self.lane(role).call(role, what, call);
        if let Err(error) = &outcome
            && !matches!(error, InferError::NoModel { .. })
        {
            self.failures.count(error.kind());
        }
        outcome
    }

    /// Asks for many things in as many requests as it takes; all have one deadline.
    fn ask_each<T: Clone, R>(
        &self,
        role: Role,
        items: &[T],
        call: Call,
        what: impl Fn(Vec<T>) -> What,
        take: impl Fn(Said) -> Option<Vec<R>>,
    ) -> Result<Vec<R>, InferError> {
        let until = Instant::now() + call.deadline;
        let most = match call.priority {
            Priority::Foreground => MANY,
            Priority::Background => FEW,
        };
        let mut out = Vec::with_capacity(items.len());
        for part in items.chunks(most) {
            let deadline = until.saturating_duration_since(Instant::now());
            let said =
                self.ask(role, Some(what(part.to_vec())), Call { deadline, ..call }).map_err(|error| match error {
                    InferError::Timeout { role, .. } => InferError::Timeout { role, after: call.deadline },
                    other => other,
                })?;
            let answers = take(said).filter(|answers| answers.len() == part.len());
            out.extend(answers.ok_or_else(|| nonsense(role))?);
        }
        Ok(out)
    }
}

/// An answer that does not fit its question.
fn nonsense(role: Role) -> InferError {
    InferError::Crashed { role, why: "gave an answer to another question".to_owned() }
}

fn sources(set: &ModelSet, roles: &[Role], options: &PoolOptions) -> BTreeMap<Role, Source> {
    let of = |role: &Role| {
        let source = set.role(*role)?.clone();
        Some((*role, Source::new(*role, source, options.folder.clone())))
    };
    roles.iter().filter_map(of).collect()
}

impl Models for Pool {
    fn embed(&self, texts: &[String], call: Call) -> Result<Vec<Vec<f32>>, InferError> {
        self.ask_each(Role::Embedder, texts, call, What::Embed, |said| match said {
            Said::Vectors(vectors, tokens) => {
                self.embedded_tokens.fetch_add(tokens, Ordering::Relaxed);
                vectors.iter().map(wire::unpack).collect()
            }
            _ => None,
        })
    }

    fn classify(&self, pairs: &[(String, String)], call: Call) -> Result<Vec<[f32; 3]>, InferError> {
        self.ask_each(Role::Nli, pairs, call, What::Classify, |said| match said {
            Said::Logits(logits) => Some(logits),
            _ => None,
        })
    }

    fn generate(&self, prompt: &Prompt, grammar: &str, max_tokens: usize, call: Call) -> Result<String, InferError> {
        let max_tokens = u32::try_from(max_tokens).unwrap_or(u32::MAX);
        let what = What::Generate { prompt: prompt.clone(), grammar: grammar.to_owned(), max_tokens };
        match self.ask(Role::Llm, Some(what), call)? {
            Said::Text(text) => Ok(text),
            _ => Err(nonsense(Role::Llm)),
        }
    }

    fn answers(&self, prompt: &Prompt, answers: &[String], call: Call) -> Result<Vec<f32>, InferError> {
        let what = What::Answers { prompt: prompt.clone(), answers: answers.to_vec() };
        match self.ask(Role::Llm, Some(what), call)? {
            Said::Weights(weights) if weights.len() == answers.len() => Ok(weights),
            _ => Err(nonsense(Role::Llm)),
        }
    }

    fn likelihood(&self, prompt: &Prompt, answer: &str, call: Call) -> Result<Vec<f32>, InferError> {
        let what = What::Likelihood { prompt: prompt.clone(), answer: answer.to_owned() };
        match self.ask(Role::Llm, Some(what), call)? {
            Said::Weights(weights) if !weights.is_empty() => Ok(weights),
            _ => Err(nonsense(Role::Llm)),
        }
    }

    fn info(&self) -> ModelsInfo {
        let set = self.set();
        let roles = Role::ALL.into_iter().filter_map(|role| {
            let source = set.role(role)?;
            let (loaded, facts, problem) = self.lane(role).role(role);
            Some(RoleInfo {
                role,
                name: source.name().to_owned(),
                sha256: source.sha256().to_owned(),
                loaded,
                dimension: facts.as_ref().filter(|_| role == Role::Embedder).map(|facts| facts.dimension as usize),
                computes: facts.as_ref().map(|facts| facts.computes.clone()),
                gpu_layers: facts.as_ref().map_or(0, |facts| facts.gpu_layers),
                problem,
            })
        });
        let has = |roles: &[Role]| roles.iter().any(|role| set.role(*role).is_some());
        let lanes = [(&self.small, &SMALL[..]), (&self.large, &LARGE[..])];
        let workers = lanes.into_iter().filter(|(_, roles)| has(roles)).map(|(lane, roles)| lane.info(roles));
        ModelsInfo {
            roles: roles.collect(),
            workers: workers.collect(),
            failures: self.failures.told(),
            embedded_tokens: self.embedded_tokens.load(Ordering::Relaxed),
        }
    }
}
