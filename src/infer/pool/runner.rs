//! The thread of a lane: takes calls from the queue, and keeps the worker process for them.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    lane::{Job, Outcome, Shared, State},
    process::{Event, OUT_OF_MEMORY, Worker},
    source::Source,
};
use crate::infer::{
    InferError, Priority, Role,
    wire::{Answer, Ask, Failure, Hello, Said, VERSION, What},
};

/// How long a new process may take to say that it is there.
const BIRTH: Duration = Duration::from_secs(20);

/// How long a request may go on after its caller has gone and it was asked to stop.
const GRACE: Duration = Duration::from_secs(2);

/// The longest wait before another start.
const LONGEST_REST: Duration = Duration::from_mins(1);

/// Private memory that a worker may have besides twice its models' files: buffers, caches, threads.
const MEMORY: u64 = 1024 * 1024 * 1024;

/// The thread's own state.
pub(super) struct Runner {
    shared: Arc<Shared>,
    live: Option<Live>,
    /// Deaths in a row, without an answer between them.
    deaths: u32,
    /// No start before this.
    not_before: Option<Instant>,
    starts: u64,
}

/// The process that runs now.
struct Live {
    worker: Box<Worker>,
    number: u64,
    /// Of the models that it was started for.
    version: u64,
    last_id: u64,
}

/// Why an exchange with the worker brought no answer.
enum Stop {
    /// A call in the foreground needs the worker.
    Preempted,
    /// The call failed.
    Failed(InferError),
    /// The process ended, in words.
    Died(String),
    /// The pool is being closed.
    Closed,
}

impl From<InferError> for Stop {
    fn from(error: InferError) -> Self {
        Self::Failed(error)
    }
}

impl Runner {
    /// `starts` is how many processes earlier threads of the lane have started.
    pub(super) fn new(shared: Arc<Shared>, starts: u64) -> Self {
        Self { shared, live: None, deaths: 0, not_before: None, starts }
    }

    pub(super) fn run(mut self) {
        while let Some(job) = self.next() {
            if job.abandoned() || Instant::now() >= job.until {
                answer(&job, Err(job.timeout()));
                continue;
            }
            match self.perform(&job) {
                Ok(said) => {
                    self.deaths = 0;
                    answer(&job, Ok(said));
                }
                Err(Stop::Failed(error)) => answer(&job, Err(error)),
                Err(Stop::Died(why)) => {
                    tracing::warn!(lane = self.shared.settings.name, "the inference worker {why}");
                    answer(&job, Err(dead(job.role, why)));
                }
                Err(Stop::Preempted) => self.shared.state().background.push_front(job),
                Err(Stop::Closed) => {}
            }
        }
    }

    /// The next call; `None` when there was none for long, or the pool closes. Then the process has been ended.
    fn next(&mut self) -> Option<Job> {
        let shared = Arc::clone(&self.shared);
        let mut idle_since = Instant::now();
        let mut state = shared.state();
        loop {
            if state.closed {
                break;
            }
            if let Some(why) = self.gone(&mut state) {
                drop(state);
                tracing::warn!(lane = shared.settings.name, "the inference worker {why}");
                self.bury();
                state = shared.state();
                idle_since = Instant::now();
                continue;
            }
            if let Some(job) = state.foreground.pop_front().or_else(|| state.background.pop_front()) {
                return Some(job);
            }
            let rest = shared.settings.idle.saturating_sub(idle_since.elapsed());
            if rest.is_zero() {
                break;
            }
            state = shared.wait(state, rest);
        }
        // Not while a caller could see it half ended: the process goes first, with the queue held.
        self.live = None;
        state.pid = None;
        state.loaded.clear();
        state.inbox.clear();
        state.starts = self.starts;
        state.running = false;
        drop(state);
        shared.wake.notify_all();
        None
    }

    /// Whether the process that runs has ended by itself; drops what came from earlier ones.
    fn gone(&self, state: &mut State) -> Option<String> {
        let number = self.live.as_ref().map_or(0, |live| live.number);
        while let Some((from, event)) = state.inbox.pop_front() {
            if let (true, Event::Exited(why)) = (from == number, event) {
                return Some(why);
            }
        }
        None
    }

    /// Ends the process, and notes that it did not end by our will.
    fn bury(&mut self) {
        self.end();
        self.deaths += 1;
        let doubled = self.deaths.saturating_sub(2).min(16);
        // Once may be chance: the next call starts it again. After that, every start waits longer.
        let rest = if self.deaths < 2 { Duration::ZERO } else { self.shared.settings.rest * 2_u32.pow(doubled) };
        self.not_before = Some(Instant::now() + rest.min(LONGEST_REST));
    }

    fn end(&mut self) {
        self.live = None;
        let mut state = self.shared.state();
        state.pid = None;
        state.loaded.clear();
    }

    fn perform(&mut self, job: &Job) -> Result<Said, Stop> {
        let path = self.source(job.role, Source::ready)?.map_err(Stop::Failed)?;
        self.start(job)?;
        let loaded = self.shared.state().loaded.contains(&job.role);
        if !loaded {
            self.load(job, &path)?;
        }
        let Some(what) = &job.what else { return Ok(Said::Text(String::new())) };
        match self.exchange(what.clone(), Some(job))? {
            Said::Failed { failure: Failure::Cancelled, .. } if job.abandoned() => Err(job.timeout().into()),
            Said::Failed { failure: Failure::Cancelled, .. } => Err(Stop::Preempted),
            Said::Failed { failure: Failure::OutOfMemory, why } => {
                Err(InferError::OutOfMemory { role: job.role, why }.into())
            }
            Said::Failed { failure: Failure::Refused | Failure::BadModel, why } => Err(InferError::Refused(why).into()),
            said => Ok(said),
        }
    }

    /// Works on the model of a role; an error where it has none any more.
    fn source<T>(&self, role: Role, work: impl FnOnce(&mut Source) -> T) -> Result<T, Stop> {
        // Reading and writing files with the lock held would hold up every caller.
        let (mut source, version) = {
            let state = self.shared.state();
            let source = state.models.get(&role).cloned().ok_or(InferError::NoModel { role })?;
            (source, state.version)
        };
        let result = work(&mut source);
        let mut state = self.shared.state();
        if state.version == version {
            state.models.insert(role, source);
        }
        Ok(result)
    }

    /// Makes sure that a process runs which was started for the models that are chosen now.
    fn start(&mut self, job: &Job) -> Result<(), Stop> {
        let (version, bytes) = {
            let state = self.shared.state();
            (state.version, state.models.values().map(Source::size).sum::<u64>())
        };
        if self.live.as_ref().is_some_and(|live| live.version == version) {
            return Ok(());
        }
        self.end();
        let rest = self.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
        if !rest.is_zero() {
            let why = format!("ended {} times in a row and is started again in {} s", self.deaths, rest.as_secs() + 1);
            return Err(InferError::Crashed { role: job.role, why }.into());
        }
        self.starts += 1;
        let number = self.starts;
        let sink = {
            let shared = Arc::clone(&self.shared);
            Box::new(move |event| {
                shared.state().inbox.push_back((number, event));
                shared.wake.notify_all();
            })
        };
        let worker = self.shared.launch.launch(sink).map_err(|error| {
            self.bury();
            InferError::Crashed { role: job.role, why: format!("cannot be started: {error}") }
        })?;
        {
            let mut state = self.shared.state();
            state.pid = Some(worker.pid());
            state.restarts += u64::from(self.deaths > 0);
        }
        self.live = Some(Live { worker, number, version, last_id: 0 });
        let gpu = cfg!(any(feature = "cuda", feature = "vulkan", feature = "metal"));
        // A GPU's driver maps far more than it uses, so that a limit would only keep it from starting.
        let memory = (!gpu).then(|| MEMORY + 2 * bytes);
        let hello = Hello { memory, ..self.shared.settings.hello.clone() };
        if self.exchange(What::Hello(hello), None)? == Said::Ready(VERSION) {
            return Ok(());
        }
        self.bury();
        let why = "is of another version than the daemon: `ergo daemon stop` and the next command mend that";
        Err(InferError::Crashed { role: job.role, why: why.to_owned() }.into())
    }

    fn load(&mut self, job: &Job, path: &Path) -> Result<(), Stop> {
        let role = job.role;
        let what = What::Load { role, path: path.to_string_lossy().into_owned() };
        let begin = Instant::now();
        let said = match self.exchange(what, None) {
            Ok(said) => said,
            Err(Stop::Died(why)) => {
                self.source(role, |source| {
                    if why.starts_with(OUT_OF_MEMORY) {
                        drop(source.too_large(&why));
                    } else {
                        source.deadly(&why);
                    }
                })?;
                return Err(Stop::Died(why));
            }
            Err(stop) => return Err(stop),
        };
        match said {
            Said::Loaded(facts) => {
                tracing::info!(%role, path = %path.display(), computes = facts.computes, ms = begin.elapsed().as_millis() as u64, "model loaded");
                let mut state = self.shared.state();
                state.loaded.push(role);
                state.facts.insert(role, facts);
                Ok(())
            }
            Said::Failed { failure: Failure::OutOfMemory, why } => {
                Err(self.source(role, |source| source.too_large(&why))?.into())
            }
            Said::Failed { why, .. } => {
                tracing::warn!(%role, path = %path.display(), "the model cannot be used: {why}");
                Err(self.source(role, |source| source.refused(&why))?.into())
            }
            _ => Err(InferError::Crashed { role, why: "gave an answer to another question".to_owned() }.into()),
        }
    }

    /// Sends a request and waits for its answer. `job` is whose request it is, where it may be ended early.
    fn exchange(&mut self, what: What, job: Option<&Job>) -> Result<Said, Stop> {
        let shared = Arc::clone(&self.shared);
        let longest = if matches!(what, What::Hello(_)) { BIRTH } else { shared.settings.hang };
        let yields = matches!(what, What::Generate { .. } | What::Answers { .. } | What::Likelihood { .. });
        let Some(live) = self.live.as_mut() else { return Err(Stop::Died("is not there".to_owned())) };
        live.last_id += 1;
        let (id, number) = (live.last_id, live.number);
        live.worker.send(Ask { id, what });
        let begin = Instant::now();
        let killed = job.map_or(begin + longest, |job| (job.until + GRACE).max(begin + longest));
        let mut cancelled = false;
        let mut state = shared.state();
        loop {
            if state.closed {
                return Err(Stop::Closed);
            }
            while let Some((from, event)) = state.inbox.pop_front() {
                match event {
                    Event::Answer(Answer { id: to, said }) if (from, to) == (number, id) => return Ok(said),
                    Event::Exited(why) if from == number => {
                        drop(state);
                        let how = self.live.as_mut().and_then(|live| live.worker.ended());
                        self.bury();
                        return Err(Stop::Died(how.map_or_else(|| why.clone(), |how| format!("{why} ({how})"))));
                    }
                    // From an earlier process, or to a request that nobody waits for any more.
                    _ => {}
                }
            }
            let unwanted = job.is_some_and(|job| {
                let yields = yields && job.call.priority == Priority::Background && !state.foreground.is_empty();
                yields || job.abandoned()
            });
            if unwanted && !cancelled {
                cancelled = true;
                drop(state);
                if let Some(live) = self.live.as_mut() {
                    live.worker.send(Ask { id, what: What::Cancel });
                }
                state = shared.state();
                continue;
            }
            let left = killed.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                shared.failures.count("hung");
                self.bury();
                return Err(Stop::Died(format!("did not answer for {} s and was ended", begin.elapsed().as_secs())));
            }
            state = shared.wait(state, left);
        }
    }
}

/// What a call hears of the death of its process.
fn dead(role: Role, why: String) -> InferError {
    if why.starts_with(OUT_OF_MEMORY) {
        InferError::OutOfMemory { role, why: format!("its process {why}") }
    } else {
        InferError::Crashed { role, why }
    }
}

fn answer(job: &Job, outcome: Outcome) {
    // A caller that has gone hears nothing.
    drop(job.reply.send(outcome));
}
