//! The daemon's implementation of [`Models`]: worker processes, each with its queues of calls.
//!
//! Architecture Invariant: the language model must not run in a process of the two small models, for which every
//! guarded write waits. So the language model never blocks a write, and its process has a lower priority (`nice`). With
//! enough cores, the small models have several processes. All but the first start only when calls wait for the others.

mod lane;
mod model_files;
mod process;
mod runner;
mod served_model;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    slice,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

pub use model_files::write_out;

use self::{
    lane::{CallResult, LaneSettings, WorkerLane},
    process::Launch,
    runner::does_not_fit,
    served_model::ServedModel,
};
use super::{
    Call, Classification, InferError, ModelFacts, ModelRole, ModelSet, Models, ModelsInfo, Priority, Prompt, RoleInfo,
    WorkerInfo,
    wire::{self, InferCommand, InferHello, InferReply, VERSION},
    worker::physical_cores,
};

/// The roles of the processes of small models. The language model has a process of its own.
const SMALL: [ModelRole; 2] = [ModelRole::Embedder, ModelRole::Nli];
const LARGE: [ModelRole; 1] = [ModelRole::Llm];

/// The maximum number of texts or pairs in a request: as many as fit into a message.
const MAX_ITEMS: usize = 64;

/// The time after which a request to the small models counts as hung, even on a busy machine. Usual are 5 to 100 ms;
/// the first load from a slow disk takes seconds.
const HANG_SMALL: Duration = Duration::from_secs(15);

/// The time after which a request to the language model counts as hung: it loads gigabytes, and a token may take a
/// second.
const HANG_LARGE: Duration = Duration::from_mins(3);

/// Names of the processes of small models. Their number is also the maximum number of these processes.
const SMALL_NAMES: [&str; 4] = ["small", "small-2", "small-3", "small-4"];

/// The delay before the third start in a row.
const RESTART_DELAY: Duration = Duration::from_millis(500);

/// The niceness (see `nice(1)`) of the language model's process.
const NICE: u8 = 10;

/// The settings of a [`Pool`].
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// The ergo executable, which is started as a worker.
    pub program: PathBuf,
    /// The folder of built-in models and of the prefix cache.
    pub folder: PathBuf,
    /// The number of threads that compute the language model. The processes of the small models share the same number
    /// of further threads.
    pub threads: usize,
    /// The maximum number of processes of the small models; never more than `threads`.
    pub small_workers: usize,
    /// The number of layers of the language model that a GPU computes; `None` for all.
    pub gpu_layers: Option<u32>,
    /// The device that computes these layers, such as `CUDA0`; `CPU` for no GPU; `None` for llama.cpp's choice.
    pub device: Option<String>,
    /// The time without calls after which a process is ended, which frees its memory.
    pub idle: Duration,
    /// The time after which a request counts as hung: for the small models, and for the language model.
    pub hang: [Duration; 2],
}

impl PoolOptions {
    /// Returns the default settings, with built-in models in `folder`: a thread for each physical core but one, a
    /// process of the small models for every two cores, and an idle time of five minutes.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            program: process::this_program(),
            folder: folder.into(),
            threads: default_threads(),
            small_workers: (physical_cores() / 2).clamp(1, SMALL_NAMES.len()),
            gpu_layers: None,
            device: None,
            idle: Duration::from_mins(5),
            hang: [HANG_SMALL, HANG_LARGE],
        }
    }
}

/// Returns the number of physical cores less one, but at least one. With more threads than free cores, inference is
/// many times slower.
pub fn default_threads() -> usize {
    physical_cores().saturating_sub(1).max(1)
}

/// Failed calls, by kind.
#[derive(Debug, Default)]
pub(super) struct FailureCounts(Mutex<BTreeMap<&'static str, u64>>);

impl FailureCounts {
    fn count(&self, kind: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(kind).or_default() += 1;
    }

    fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Models in worker processes. The first call starts a process; dropping the pool ends them.
pub struct Pool {
    options: PoolOptions,
    set: Mutex<ModelSet>,
    /// Never empty.
    small: Vec<WorkerLane>,
    large: WorkerLane,
    failures: Arc<FailureCounts>,
    /// Tokens that the embedder has read.
    embedded_tokens: AtomicU64,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Pool {
    /// Creates a pool whose models are loaded on demand.
    pub fn new(options: PoolOptions, set: ModelSet) -> Self {
        let launch = Arc::new(process::program(options.program.clone()));
        Self::over(launch, options, set)
    }

    fn over(launch: Arc<Launch>, options: PoolOptions, set: ModelSet) -> Self {
        let failures = Arc::new(FailureCounts::default());
        let lane = |name, roles: &[ModelRole], threads: usize, hang, nice| {
            let hello = InferHello {
                version: VERSION,
                threads: u32::try_from(threads).unwrap_or(1).max(1),
                memory: None,
                gpu_layers: options.gpu_layers,
                device: options.device.clone(),
                nice,
                prefixes: roles
                    .contains(&ModelRole::Llm)
                    .then(|| options.folder.join("prefixes").to_string_lossy().into_owned()),
            };
            let settings = LaneSettings { name, hello, idle: options.idle, hang, restart_delay: RESTART_DELAY };
            let models = sources(&set, roles, &options);
            WorkerLane::new(settings, Arc::clone(&launch), Arc::clone(&failures), models)
        };
        let [hang_small, hang_large] = options.hang;
        let workers = options.small_workers.clamp(1, options.threads.max(1));
        let names = SMALL_NAMES.into_iter().take(workers);
        let threads = options.threads.div_ceil(workers);
        let small = names.map(|name| lane(name, &SMALL, threads, hang_small, 0)).collect();
        let large = lane("llm", &LARGE, options.threads, hang_large, NICE);
        Self { options, set: Mutex::new(set), small, large, failures, embedded_tokens: AtomicU64::new(0) }
    }

    /// Replaces the models from the next call on. Running calls finish with the old ones.
    pub fn change(&self, set: ModelSet) {
        for lane in &self.small {
            lane.change(sources(&set, &SMALL, &self.options));
        }
        self.large.change(sources(&set, &LARGE, &self.options));
        *self.set.lock().unwrap_or_else(PoisonError::into_inner) = set;
    }

    pub fn set(&self) -> ModelSet {
        self.set.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loads the model of a role, unless it is in memory, and returns its properties.
    pub fn load(&self, role: ModelRole, call: Call) -> Result<ModelFacts, InferError> {
        let lane = self.lane(role, call.priority);
        self.request(lane, role, None, call)?;
        let (_, facts, _) = lane.role(role);
        facts.ok_or_else(|| InferError::Crashed { role, why: "ended just after its model was loaded".to_owned() })
    }

    /// Returns the lane that would serve a call soonest.
    fn lane(&self, role: ModelRole, priority: Priority) -> &WorkerLane {
        let lanes = self.lanes(role).iter();
        lanes.min_by_key(|lane| lane.calls_ahead(role, priority)).unwrap_or(&self.large)
    }

    fn lanes(&self, role: ModelRole) -> &[WorkerLane] {
        match role {
            ModelRole::Embedder | ModelRole::Nli => &self.small,
            ModelRole::Llm => slice::from_ref(&self.large),
        }
    }

    fn request(&self, lane: &WorkerLane, role: ModelRole, command: Option<InferCommand>, call: Call) -> CallResult {
        let outcome = lane.call(role, command, call);
        if let Err(error) = &outcome
            && !matches!(error, InferError::NoModel { .. })
        {
            self.failures.count(error.kind());
        }
        outcome
    }

    fn ask(&self, role: ModelRole, command: InferCommand, call: Call) -> CallResult {
        self.request(self.lane(role, call.priority), role, Some(command), call)
    }

    /// Splits items into requests of at most [`MAX_ITEMS`], which share one deadline, and joins their results.
    fn ask_each<T: Clone, R>(
        &self,
        role: ModelRole,
        items: &[T],
        call: Call,
        command: impl Fn(Vec<T>) -> InferCommand,
        take: impl Fn(InferReply) -> Option<Vec<R>>,
    ) -> Result<Vec<R>, InferError> {
        let until = Instant::now() + call.deadline;
        let mut out = Vec::with_capacity(items.len());
        for part in items.chunks(MAX_ITEMS) {
            let deadline = until.saturating_duration_since(Instant::now());
            let reply =
                self.ask(role, command(part.to_vec()), Call { deadline, ..call }).map_err(|error| match error {
                    InferError::Timeout { role, .. } => InferError::Timeout { role, after: call.deadline },
                    other => other,
                })?;
            let answers = take(reply).filter(|answers| answers.len() == part.len());
            out.extend(answers.ok_or_else(|| does_not_fit(role))?);
        }
        Ok(out)
    }
}

fn sources(set: &ModelSet, roles: &[ModelRole], options: &PoolOptions) -> BTreeMap<ModelRole, ServedModel> {
    let of = |role: &ModelRole| {
        let source = set.role(*role)?.clone();
        Some((*role, ServedModel::new(*role, source, options.folder.clone())))
    };
    roles.iter().filter_map(of).collect()
}

impl Models for Pool {
    fn embed(&self, texts: &[String], call: Call) -> Result<Vec<Vec<f32>>, InferError> {
        self.ask_each(ModelRole::Embedder, texts, call, InferCommand::Embed, |reply| match reply {
            InferReply::Vectors(vectors, tokens) => {
                self.embedded_tokens.fetch_add(tokens, Ordering::Relaxed);
                vectors.iter().map(wire::unpack).collect()
            }
            _ => None,
        })
    }

    fn classify(&self, pairs: &[(String, String)], call: Call) -> Result<Vec<Classification>, InferError> {
        self.ask_each(ModelRole::Nli, pairs, call, InferCommand::Classify, |reply| match reply {
            InferReply::Classifications(classifications) => Some(classifications),
            _ => None,
        })
    }

    fn generate(&self, prompt: &Prompt, grammar: &str, max_tokens: usize, call: Call) -> Result<String, InferError> {
        let max_tokens = u32::try_from(max_tokens).unwrap_or(u32::MAX);
        let command = InferCommand::Generate { prompt: prompt.clone(), grammar: grammar.to_owned(), max_tokens };
        match self.ask(ModelRole::Llm, command, call)? {
            InferReply::Text(text) => Ok(text),
            _ => Err(does_not_fit(ModelRole::Llm)),
        }
    }

    fn answers(&self, prompt: &Prompt, answers: &[String], call: Call) -> Result<Vec<f32>, InferError> {
        let command = InferCommand::Answers { prompt: prompt.clone(), answers: answers.to_vec() };
        match self.ask(ModelRole::Llm, command, call)? {
            InferReply::Weights(weights) if weights.len() == answers.len() => Ok(weights),
            _ => Err(does_not_fit(ModelRole::Llm)),
        }
    }

    fn likelihood(&self, prompt: &Prompt, answer: &str, call: Call) -> Result<Vec<f32>, InferError> {
        let command = InferCommand::Likelihood { prompt: prompt.clone(), answer: answer.to_owned() };
        match self.ask(ModelRole::Llm, command, call)? {
            InferReply::Weights(weights) if !weights.is_empty() => Ok(weights),
            _ => Err(does_not_fit(ModelRole::Llm)),
        }
    }

    fn info(&self) -> ModelsInfo {
        let set = self.set();
        let roles = ModelRole::ALL.into_iter().filter_map(|role| {
            let source = set.role(role)?;
            let lanes = self.lanes(role).iter().map(|lane| lane.role(role));
            // Prefer the state of a process that has loaded the model, then that of one that failed to load it.
            let state = lanes.min_by_key(|(loaded, _, problem)| (!loaded, problem.is_none()));
            let (loaded, facts, problem) = state.unwrap_or_default();
            Some(RoleInfo {
                role,
                name: source.name().to_owned(),
                sha256: source.sha256().to_owned(),
                loaded,
                dimension: facts.as_ref().filter(|_| role == ModelRole::Embedder).map(|facts| facts.dimension as usize),
                computes: facts.as_ref().map(|facts| facts.computes.clone()),
                gpu_layers: facts.as_ref().map_or(0, |facts| facts.gpu_layers),
                problem,
            })
        });
        ModelsInfo {
            roles: roles.collect(),
            failures: self.failures.counts(),
            embedded_tokens: self.embedded_tokens.load(Ordering::Relaxed),
        }
    }

    fn workers(&self) -> Vec<WorkerInfo> {
        let set = self.set();
        let has = |roles: &[ModelRole]| roles.iter().any(|role| set.role(*role).is_some());
        // List the first process of the small models always, the others while they run.
        let small = self.small.iter().map(|lane| lane.info(&SMALL)).enumerate();
        let small = small.filter(|(at, worker)| *at == 0 || worker.pid.is_some()).map(|(_, worker)| worker);
        let mut workers: Vec<WorkerInfo> = small.filter(|_| has(&SMALL)).collect();
        workers.extend(has(&LARGE).then(|| self.large.info(&LARGE)));
        workers
    }
}
