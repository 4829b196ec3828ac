//! The thread of a lane: takes calls from the queues, and starts and restarts the worker process that serves them.
//!
//! A request of many texts or pairs is computed in passes. Calls of a higher priority are served between two passes, so
//! a read never waits for more than one. Short requests to embed that wait at the same time share a pass.

use std::{
    mem,
    path::Path,
    sync::{Arc, atomic::AtomicBool, mpsc},
    time::{Duration, Instant},
};

use super::{
    lane::{CallResult, LaneShared, LaneState, MAX_OVERTAKING, QueuedCall},
    process::{Event, OUT_OF_MEMORY, Worker},
    served_model::ServedModel,
};
use crate::infer::{
    InferError, ModelRole, Priority,
    wire::{FailureReason, InferCommand, InferHello, InferReply, InferRequest, InferResponse, VERSION},
};

/// How long a new process may take to answer the greeting.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a cancelled request may continue after its caller has gone.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest delay before a restart.
const MAX_RESTART_DELAY: Duration = Duration::from_mins(1);

/// The maximum number of texts to embed in one pass: as many as the worker reads at once (128 tokens).
const TEXTS_PER_PASS: usize = 8;

/// The maximum number of pairs to classify in one pass. A pair takes as long in a batch of eight as alone
/// (`ergo models bench nli`), so short passes cost nothing, and a read waits for at most 30 to 40 ms of one core.
const PAIRS_PER_PASS: usize = 3;

/// Private memory, in bytes, that a worker may use besides twice its models' files: buffers, caches, threads.
const EXTRA_MEMORY: u64 = 1024 * 1024 * 1024;

/// The state of the thread.
pub(super) struct Runner {
    shared: Arc<LaneShared>,
    live: Option<RunningWorker>,
    /// Deaths of the process since the last reply.
    deaths: u32,
    /// The earliest time of the next start.
    not_before: Option<Instant>,
    /// The number of processes that this and earlier threads of the lane have started.
    starts: u64,
}

struct RunningWorker {
    worker: Box<Worker>,
    number: u64,
    /// [`LaneState::version`] of the models for which it was started.
    version: u64,
    last_id: u64,
}

/// Why a request got no reply.
enum ExchangeError {
    /// The background request was cancelled for a call of a read or write.
    Preempted,
    Failed(InferError),
    /// The process exited. The text says how.
    Died(String),
    /// The pool is being closed.
    Closed,
}

impl From<InferError> for ExchangeError {
    fn from(error: InferError) -> Self {
        Self::Failed(error)
    }
}

impl Runner {
    /// `starts` is how many processes earlier threads of the lane have started.
    pub(super) fn new(shared: Arc<LaneShared>, starts: u64) -> Self {
        Self { shared, live: None, deaths: 0, not_before: None, starts }
    }

    pub(super) fn run(mut self) {
        while let Some(job) = self.next() {
            self.serve_with_others(job);
        }
    }

    fn serve(&mut self, job: QueuedCall) {
        if job.abandoned() || Instant::now() >= job.until {
            answer(&job, Err(job.timeout()));
            return;
        }
        match self.perform(&job) {
            Ok(reply) => {
                self.deaths = 0;
                answer(&job, Ok(reply));
            }
            Err(ExchangeError::Failed(error)) => answer(&job, Err(error)),
            Err(ExchangeError::Died(why)) => {
                tracing::warn!(lane = self.shared.settings.name, "the inference worker {why}");
                answer(&job, Err(exit_error(job.role, why)));
            }
            Err(ExchangeError::Preempted) => self.shared.state().background.push_front(job),
            Err(ExchangeError::Closed) => {}
        }
    }

    /// Serves a call together with other waiting calls to embed whose texts fit into the same pass. Returns the number
    /// of calls served.
    fn serve_with_others(&mut self, job: QueuedCall) -> usize {
        // A call that embeds nothing leaves no room for others.
        let left = TEXTS_PER_PASS.saturating_sub(job.texts().map_or(TEXTS_PER_PASS, <[String]>::len));
        let more = self.shared.state().take_texts(job.call.priority, left);
        let served = 1 + more.len();
        if more.is_empty() {
            self.serve(job);
        } else {
            self.serve_together(job, more);
        }
        served
    }

    /// Serves several calls to embed in one pass, and answers each with its own vectors.
    fn serve_together(&mut self, first: QueuedCall, more: Vec<QueuedCall>) {
        let mut calls = vec![first];
        calls.extend(more);
        let (reply, replied) = mpsc::channel();
        let texts = calls.iter().filter_map(QueuedCall::texts).flatten().cloned().collect();
        let together = QueuedCall {
            role: calls[0].role,
            command: Some(InferCommand::Embed(texts)),
            call: calls[0].call,
            until: calls.iter().map(|call| call.until).max().unwrap_or_else(Instant::now),
            abandoned_flag: Arc::new(AtomicBool::new(false)),
            reply,
        };
        self.serve(together);
        // There is no reply if the pool is closing. Then the callers' channels close, too.
        let Ok(outcome) = replied.try_recv() else { return };
        let (mut vectors, mut tokens) = match outcome {
            Ok(InferReply::Vectors(vectors, tokens)) => (vectors.into_iter(), tokens),
            // One of the texts was refused: serve each call alone, so that only the call with this text fails.
            Err(InferError::Refused(_)) => return calls.into_iter().for_each(|call| self.serve(call)),
            other => {
                for call in &calls {
                    answer(call, other.clone());
                }
                return;
            }
        };
        for call in calls {
            let share = vectors.by_ref().take(call.texts().map_or(0, <[String]>::len)).collect();
            // Tokens are only counted in total: the first call gets the number for all.
            answer(&call, Ok(InferReply::Vectors(share, mem::take(&mut tokens))));
        }
    }

    /// Serves the waiting calls that have precedence over the next pass of a call with this priority, which began at
    /// `begun`. Calls that arrive meanwhile wait until the next pass is done: otherwise, clients that immediately send
    /// another call could block this one for as long as they wish.
    fn serve_between_passes(&mut self, priority: Priority, begun: Instant) {
        let texts = begun.elapsed() < MAX_OVERTAKING;
        let mut waiting = self.shared.state().waiting_between_passes(priority, texts);
        while waiting > 0 {
            let next = self.shared.state().pop_between_passes(priority, texts);
            let Some(call) = next else { return };
            waiting = waiting.saturating_sub(self.serve_with_others(call));
        }
    }

    /// Waits for the next call. Ends the process and returns `None` after a long idle time, or if the pool closes.
    fn next(&mut self) -> Option<QueuedCall> {
        let shared = Arc::clone(&self.shared);
        let mut idle_since = Instant::now();
        let mut state = shared.state();
        state.serving = false;
        loop {
            if state.closed {
                break;
            }
            if let Some(why) = self.take_exit(&mut state) {
                drop(state);
                tracing::warn!(lane = shared.settings.name, "the inference worker {why}");
                self.record_death();
                state = shared.state();
                idle_since = Instant::now();
                continue;
            }
            if let Some(job) = state.pop() {
                state.serving = true;
                return Some(job);
            }
            let remaining = shared.settings.idle.saturating_sub(idle_since.elapsed());
            if remaining.is_zero() {
                break;
            }
            state = shared.wait(state, remaining);
        }
        // Under the lock, so that no caller sees a process that is ending.
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

    /// Returns how the running process exited, if it did. Discards events of earlier processes.
    fn take_exit(&self, state: &mut LaneState) -> Option<String> {
        let number = self.live.as_ref().map_or(0, |live| live.number);
        while let Some((from, event)) = state.inbox.pop_front() {
            if let (true, Event::Exited(why)) = (from == number, event) {
                return Some(why);
            }
        }
        None
    }

    /// Ends the process and counts a death.
    fn record_death(&mut self) {
        self.end();
        self.deaths += 1;
        let doubled = self.deaths.saturating_sub(2).min(16);
        // A single death may be chance: the next call restarts the process at once. After more, the delay doubles each
        // time.
        let restart_delay =
            if self.deaths < 2 { Duration::ZERO } else { self.shared.settings.restart_delay * 2_u32.pow(doubled) };
        self.not_before = Some(Instant::now() + restart_delay.min(MAX_RESTART_DELAY));
    }

    fn end(&mut self) {
        self.live = None;
        let mut state = self.shared.state();
        state.pid = None;
        state.loaded.clear();
    }

    fn perform(&mut self, job: &QueuedCall) -> Result<InferReply, ExchangeError> {
        let Some(command) = &job.command else {
            self.prepare(job)?;
            return Ok(InferReply::Text(String::new()));
        };
        let begun = Instant::now();
        let mut all: Option<InferReply> = None;
        for pass in passes(command) {
            if all.is_some() {
                self.serve_between_passes(job.call.priority, begun);
            }
            self.prepare(job)?;
            let reply = self.pass(job, pass)?;
            all = Some(match all {
                Some(before) => joined(before, reply).ok_or_else(|| does_not_fit(job.role))?,
                None => reply,
            });
        }
        self.shared.state().note_duration(job, begun.elapsed());
        all.ok_or_else(|| does_not_fit(job.role).into())
    }

    /// Ensures that a process runs and has loaded the model of a call.
    fn prepare(&mut self, job: &QueuedCall) -> Result<(), ExchangeError> {
        let path = self.served(job.role, ServedModel::ready)?.map_err(ExchangeError::Failed)?;
        self.start(job)?;
        let loaded = self.shared.state().loaded.contains(&job.role);
        if loaded { Ok(()) } else { self.load(job, &path) }
    }

    fn pass(&mut self, job: &QueuedCall, command: InferCommand) -> Result<InferReply, ExchangeError> {
        match self.exchange(command, Some(job))? {
            InferReply::Failed { failure: FailureReason::Cancelled, .. } if job.abandoned() => {
                Err(job.timeout().into())
            }
            InferReply::Failed { failure: FailureReason::Cancelled, .. } => Err(ExchangeError::Preempted),
            InferReply::Failed { failure: FailureReason::OutOfMemory, why } => {
                Err(InferError::OutOfMemory { role: job.role, why }.into())
            }
            InferReply::Failed { failure: FailureReason::Refused | FailureReason::BadModel, why } => {
                Err(InferError::Refused(why).into())
            }
            reply => Ok(reply),
        }
    }

    /// Applies `work` to the model of a role. Fails if the role no longer has a model.
    fn served<T>(&self, role: ModelRole, work: impl FnOnce(&mut ServedModel) -> T) -> Result<T, ExchangeError> {
        // File I/O under the lock would block every caller.
        let (mut served, version) = {
            let state = self.shared.state();
            let served = state.models.get(&role).cloned().ok_or(InferError::NoModel { role })?;
            (served, state.version)
        };
        let result = work(&mut served);
        let mut state = self.shared.state();
        if state.version == version {
            state.models.insert(role, served);
        }
        Ok(result)
    }

    /// Ensures that a process runs that was started for the current models.
    fn start(&mut self, job: &QueuedCall) -> Result<(), ExchangeError> {
        let (version, bytes) = {
            let state = self.shared.state();
            (state.version, state.models.values().map(ServedModel::size).sum::<u64>())
        };
        if self.live.as_ref().is_some_and(|live| live.version == version) {
            return Ok(());
        }
        self.end();
        let restart_delay = self.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
        if !restart_delay.is_zero() {
            let why =
                format!("exited {} times in a row and is restarted in {} s", self.deaths, restart_delay.as_secs() + 1);
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
            self.record_death();
            InferError::Crashed { role: job.role, why: format!("cannot be started: {error}") }
        })?;
        {
            let mut state = self.shared.state();
            state.pid = Some(worker.pid());
            state.restarts += u64::from(self.deaths > 0);
        }
        self.live = Some(RunningWorker { worker, number, version, last_id: 0 });
        let gpu = cfg!(any(feature = "cuda", feature = "vulkan", feature = "metal"));
        // A GPU driver maps far more memory than it uses, and would not start with a limit.
        let memory = (!gpu).then(|| EXTRA_MEMORY + 2 * bytes);
        let hello = InferHello { memory, ..self.shared.settings.hello.clone() };
        if self.exchange(InferCommand::Hello(hello), None)? == InferReply::Ready(VERSION) {
            return Ok(());
        }
        self.record_death();
        let why =
            "and the daemon have different versions: run `ergo daemon stop`; the next command starts the new daemon";
        Err(InferError::Crashed { role: job.role, why: why.to_owned() }.into())
    }

    fn load(&mut self, job: &QueuedCall, path: &Path) -> Result<(), ExchangeError> {
        let role = job.role;
        let command = InferCommand::Load { role, path: path.to_string_lossy().into_owned() };
        let begin = Instant::now();
        let reply = match self.exchange(command, None) {
            Ok(reply) => reply,
            Err(ExchangeError::Died(why)) => {
                self.served(role, |served| {
                    if why.starts_with(OUT_OF_MEMORY) {
                        drop(served.record_out_of_memory(&why));
                    } else {
                        served.record_crash(&why);
                    }
                })?;
                return Err(ExchangeError::Died(why));
            }
            Err(stop) => return Err(stop),
        };
        match reply {
            InferReply::Loaded(facts) => {
                tracing::info!(%role, path = %path.display(), computes = facts.computes, ms = begin.elapsed().as_millis() as u64, "model loaded");
                let mut state = self.shared.state();
                state.loaded.push(role);
                state.facts.insert(role, facts);
                Ok(())
            }
            InferReply::Failed { failure: FailureReason::OutOfMemory, why } => {
                Err(self.served(role, |served| served.record_out_of_memory(&why))?.into())
            }
            InferReply::Failed { why, .. } => {
                tracing::warn!(%role, path = %path.display(), "the model cannot be used: {why}");
                Err(self.served(role, |served| served.record_unusable(&why))?.into())
            }
            _ => Err(does_not_fit(role).into()),
        }
    }

    /// Sends a request and waits for the reply. `job` is the call that the request belongs to; without it, the request
    /// cannot be cancelled.
    fn exchange(&mut self, command: InferCommand, job: Option<&QueuedCall>) -> Result<InferReply, ExchangeError> {
        let shared = Arc::clone(&self.shared);
        let longest = if matches!(command, InferCommand::Hello(_)) { START_TIMEOUT } else { shared.settings.hang };
        let preemptible = matches!(
            command,
            InferCommand::Generate { .. } | InferCommand::Answers { .. } | InferCommand::Likelihood { .. }
        );
        let Some(live) = self.live.as_mut() else { return Err(ExchangeError::Died("is not running".to_owned())) };
        live.last_id += 1;
        let (id, number) = (live.last_id, live.number);
        live.worker.send(InferRequest { id, command }).map_err(|error| InferError::Refused(error.to_string()))?;
        let begin = Instant::now();
        let kill_at = job.map_or(begin + longest, |job| (job.until + CANCEL_TIMEOUT).max(begin + longest));
        let mut cancelled = false;
        let mut state = shared.state();
        loop {
            if state.closed {
                return Err(ExchangeError::Closed);
            }
            while let Some((from, event)) = state.inbox.pop_front() {
                match event {
                    Event::Answer(InferResponse { id: to, reply }) if (from, to) == (number, id) => return Ok(reply),
                    Event::Exited(why) if from == number => {
                        drop(state);
                        let how = self.live.as_mut().and_then(|live| live.worker.ended());
                        self.record_death();
                        return Err(ExchangeError::Died(
                            how.map_or_else(|| why.clone(), |how| format!("{why} ({how})")),
                        ));
                    }
                    // An event of an earlier process, or the reply to an abandoned request.
                    _ => {}
                }
            }
            let unwanted = job.is_some_and(|job| {
                let preempted = preemptible && job.call.priority == Priority::Background && state.has_urgent_calls();
                preempted || job.abandoned()
            });
            if unwanted && !cancelled {
                cancelled = true;
                drop(state);
                if let Some(live) = self.live.as_mut() {
                    drop(live.worker.send(InferRequest { id, command: InferCommand::Cancel }));
                }
                state = shared.state();
                continue;
            }
            let left = kill_at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                shared.failures.count("hung");
                self.record_death();
                return Err(ExchangeError::Died(format!(
                    "did not answer for {} s and was killed",
                    begin.elapsed().as_secs()
                )));
            }
            state = shared.wait(state, left);
        }
    }
}

/// Splits a command into passes: parts that the model computes at once.
fn passes(command: &InferCommand) -> Vec<InferCommand> {
    match command {
        InferCommand::Embed(texts) if texts.len() > TEXTS_PER_PASS => {
            texts.chunks(TEXTS_PER_PASS).map(|part| InferCommand::Embed(part.to_vec())).collect()
        }
        InferCommand::Classify(pairs) if pairs.len() > PAIRS_PER_PASS => {
            pairs.chunks(PAIRS_PER_PASS).map(|part| InferCommand::Classify(part.to_vec())).collect()
        }
        whole => vec![whole.clone()],
    }
}

/// Joins the replies of two passes; `None` if they are of different kinds.
fn joined(before: InferReply, after: InferReply) -> Option<InferReply> {
    match (before, after) {
        (InferReply::Vectors(mut vectors, tokens), InferReply::Vectors(more, further)) => {
            vectors.extend(more);
            Some(InferReply::Vectors(vectors, tokens + further))
        }
        (InferReply::Classifications(mut all), InferReply::Classifications(more)) => {
            all.extend(more);
            Some(InferReply::Classifications(all))
        }
        _ => None,
    }
}

/// Returns the error for a reply that does not fit the request.
pub(super) fn does_not_fit(role: ModelRole) -> InferError {
    InferError::Crashed { role, why: "sent a reply that does not fit the request".to_owned() }
}

/// Returns the error of a call whose process exited.
fn exit_error(role: ModelRole, why: String) -> InferError {
    if why.starts_with(OUT_OF_MEMORY) {
        InferError::OutOfMemory { role, why: format!("its process {why}") }
    } else {
        InferError::Crashed { role, why }
    }
}

fn answer(job: &QueuedCall, outcome: CallResult) {
    // Sending fails if the caller has stopped waiting.
    drop(job.reply.send(outcome));
}
