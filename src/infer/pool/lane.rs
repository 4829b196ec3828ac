//! One worker process and the queue before it. Calls wait in two lines, and the foreground goes first; a generation in the
//! background gives way to it. A thread owns the process for as long as there is something to do, and some time after.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    Failures,
    process::{Event, Launch, rss},
    runner::Runner,
    source::Source,
};
use crate::infer::{
    Call, InferError, Priority, Role, WorkerInfo,
    wire::{Hello, ModelFacts, Said, What},
};

/// How a lane behaves.
#[derive(Clone, Debug)]
pub(super) struct LaneSettings {
    /// For logs and threads.
    pub(super) name: &'static str,
    /// What a new worker is told; the memory limit is set from the models.
    pub(super) hello: Hello,
    /// Without work for so long, the process ends and its memory is free.
    pub(super) idle: Duration,
    /// A request that takes longer, and longer than its caller waits, hangs: the process is killed.
    pub(super) hang: Duration,
    /// The wait before a third start in a row; doubled with every further one.
    pub(super) rest: Duration,
}

/// What a call came to.
pub(super) type Outcome = Result<Said, InferError>;

/// A call in the queue.
pub(super) struct Job {
    pub(super) role: Role,
    /// `None` only loads the model.
    pub(super) what: Option<What>,
    pub(super) call: Call,
    pub(super) until: Instant,
    /// Its caller has gone.
    pub(super) given_up: Arc<AtomicBool>,
    pub(super) reply: mpsc::Sender<Outcome>,
}

impl Job {
    pub(super) fn abandoned(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    pub(super) fn timeout(&self) -> InferError {
        InferError::Timeout { role: self.role, after: self.call.deadline }
    }
}

/// What the lane's thread and its callers share.
pub(super) struct Shared {
    pub(super) settings: LaneSettings,
    pub(super) launch: Arc<Launch>,
    pub(super) failures: Arc<Failures>,
    pub(super) wake: Condvar,
    state: Mutex<State>,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something changes, or the time is over.
    pub(super) fn wait<'a>(&self, state: MutexGuard<'a, State>, longest: Duration) -> MutexGuard<'a, State> {
        self.wake.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The queue, and what is known of the worker.
#[derive(Default)]
pub(super) struct State {
    pub(super) foreground: VecDeque<Job>,
    pub(super) background: VecDeque<Job>,
    /// What came from workers, each with the number of its start.
    pub(super) inbox: VecDeque<(u64, Event)>,
    /// Whether the lane's thread lives.
    pub(super) running: bool,
    pub(super) closed: bool,
    pub(super) models: BTreeMap<Role, Source>,
    /// Counts up with every change of `models`.
    pub(super) version: u64,
    pub(super) pid: Option<u32>,
    pub(super) restarts: u64,
    /// How many processes were started: their numbers never repeat, whichever thread of the lane starts them.
    pub(super) starts: u64,
    /// What is in the worker's memory.
    pub(super) loaded: Vec<Role>,
    /// What was learnt of each model when it was loaded.
    pub(super) facts: BTreeMap<Role, ModelFacts>,
}

/// One worker process and the queue before it.
pub(super) struct Lane {
    shared: Arc<Shared>,
}

impl Lane {
    pub(super) fn new(
        settings: LaneSettings,
        launch: Arc<Launch>,
        failures: Arc<Failures>,
        models: BTreeMap<Role, Source>,
    ) -> Self {
        let state = Mutex::new(State { models, ..State::default() });
        Self { shared: Arc::new(Shared { settings, launch, failures, wake: Condvar::new(), state }) }
    }

    /// Waits for the answer to a request, at most as long as the call allows.
    pub(super) fn call(&self, role: Role, what: Option<What>, call: Call) -> Outcome {
        let now = Instant::now();
        let (reply, answer) = mpsc::channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let until = now + call.deadline;
        let job = Job { role, what, call, until, given_up: Arc::clone(&given_up), reply };
        let timeout = job.timeout();
        self.submit(job)?;
        match answer.recv_timeout(call.deadline) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => {
                given_up.store(true, Ordering::Relaxed);
                drop(self.shared.state());
                self.shared.wake.notify_all();
                Err(timeout)
            }
            Err(RecvTimeoutError::Disconnected) => Err(InferError::Crashed { role, why: "is being ended".to_owned() }),
        }
    }

    fn submit(&self, job: Job) -> Result<(), InferError> {
        let mut state = self.shared.state();
        let role = job.role;
        if !state.models.contains_key(&role) {
            return Err(InferError::NoModel { role });
        }
        if state.closed {
            return Err(InferError::Crashed { role, why: "is being ended".to_owned() });
        }
        if !state.running {
            let runner = Runner::new(Arc::clone(&self.shared), state.starts);
            let name = format!("infer-{}", self.shared.settings.name);
            thread::Builder::new()
                .name(name)
                .spawn(move || runner.run())
                .map_err(|error| InferError::Crashed { role, why: format!("cannot be looked after: {error}") })?;
            state.running = true;
        }
        match job.call.priority {
            Priority::Foreground => state.foreground.push_back(job),
            Priority::Background => state.background.push_back(job),
        }
        drop(state);
        self.shared.wake.notify_all();
        Ok(())
    }

    /// Serves other models from the next call on.
    pub(super) fn change(&self, models: BTreeMap<Role, Source>) {
        let mut state = self.shared.state();
        if state.models != models {
            state.models = models;
            state.version += 1;
            state.facts.clear();
        }
    }

    pub(super) fn info(&self, roles: &[Role]) -> WorkerInfo {
        let state = self.shared.state();
        let (pid, restarts) = (state.pid, state.restarts);
        drop(state);
        WorkerInfo { roles: roles.to_vec(), pid, rss_bytes: pid.map_or(0, rss), restarts }
    }

    /// How many calls wait in the foreground and in the background.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> (usize, usize) {
        let state = self.shared.state();
        (state.foreground.len(), state.background.len())
    }

    /// Whether a role's model is in memory, what is known of it, and why it is not used.
    pub(super) fn role(&self, role: Role) -> (bool, Option<ModelFacts>, Option<String>) {
        let state = self.shared.state();
        let problem = state.models.get(&role).and_then(Source::problem).map(ToString::to_string);
        (state.loaded.contains(&role), state.facts.get(&role).cloned(), problem)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closed = true;
        state.foreground.clear();
        state.background.clear();
        self.shared.wake.notify_all();
        // The thread kills the worker; whoever drops the pool may rely on that.
        let begin = Instant::now();
        while state.running && begin.elapsed() < Duration::from_secs(5) {
            state = self.shared.wait(state, Duration::from_millis(100));
        }
    }
}
