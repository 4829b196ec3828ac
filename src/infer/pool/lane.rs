//! A lane: a worker process and its queues of calls.
//!
//! Reads are served before writes, and these before background calls. Among the calls of writes, texts to embed are
//! served before pairs to classify. A background generation is cancelled for a read or write. A thread owns the process
//! while there are calls, and until [`LaneSettings::idle`] after the last one.

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
    FailureCounts,
    process::{Event, Launch, cpu_time, rss},
    runner::Runner,
    served_model::ServedModel,
};
use crate::infer::{
    Call, InferError, ModelRole, Priority, WorkerInfo,
    wire::{InferCommand, InferHello, InferReply, ModelFacts},
};

/// The number of waiting calls of reads and writes from which a lane is crowded. A single writer has fewer.
const CROWDED_FROM: usize = 3;

/// The load of a model, in waiting calls, when lanes are compared: starting a process and loading a model takes longer
/// than a few short calls (the embedder alone took 48 ms to load).
const LOAD_AS_CALLS: usize = 3;

/// The interval at which a call that has waited for its `longest_queue` checks whether the lane has become crowded.
const CROWD_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The time for which texts of other writes are served before the pairs of a write. Without a bound, ten busy agents
/// delayed the pairs of one write by seconds.
pub(super) const MAX_OVERTAKING: Duration = Duration::from_millis(150);

/// The settings of a lane.
#[derive(Clone, Debug)]
pub(super) struct LaneSettings {
    /// The name in logs and of the thread.
    pub(super) name: &'static str,
    /// The greeting of a new worker; the memory limit is set from the models.
    pub(super) hello: InferHello,
    /// The time without calls after which the process is ended, which frees its memory.
    pub(super) idle: Duration,
    /// The process is killed if a request takes longer than this and its caller no longer waits.
    pub(super) hang: Duration,
    /// The delay before the third start in a row; doubled with each further one.
    pub(super) restart_delay: Duration,
}

pub(super) type CallResult = Result<InferReply, InferError>;

/// A call in the queue.
pub(super) struct QueuedCall {
    pub(super) role: ModelRole,
    /// `None` only loads the model.
    pub(super) command: Option<InferCommand>,
    pub(super) call: Call,
    /// The caller's deadline.
    pub(super) until: Instant,
    /// True once the caller has stopped waiting.
    pub(super) abandoned_flag: Arc<AtomicBool>,
    pub(super) reply: mpsc::Sender<CallResult>,
}

impl QueuedCall {
    pub(super) fn abandoned(&self) -> bool {
        self.abandoned_flag.load(Ordering::Relaxed)
    }

    /// Returns the texts to embed; `None` for other commands.
    pub(super) fn texts(&self) -> Option<&[String]> {
        match &self.command {
            Some(InferCommand::Embed(texts)) => Some(texts),
            _ => None,
        }
    }

    /// Returns how long ago the call was queued.
    fn waited(&self) -> Duration {
        self.call.deadline.saturating_sub(self.until.saturating_duration_since(Instant::now()))
    }

    pub(super) fn timeout(&self) -> InferError {
        InferError::Timeout { role: self.role, after: self.call.deadline }
    }
}

/// The state that the lane's thread shares with its callers.
pub(super) struct LaneShared {
    pub(super) settings: LaneSettings,
    pub(super) launch: Arc<Launch>,
    pub(super) failures: Arc<FailureCounts>,
    pub(super) wake: Condvar,
    state: Mutex<LaneState>,
}

impl LaneShared {
    pub(super) fn state(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until [`LaneShared::wake`] is notified, at most for `longest`.
    pub(super) fn wait<'a>(&self, state: MutexGuard<'a, LaneState>, longest: Duration) -> MutexGuard<'a, LaneState> {
        self.wake.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The queues, and the state of the worker.
#[derive(Default)]
pub(super) struct LaneState {
    pub(super) interactive: VecDeque<QueuedCall>,
    pub(super) foreground: VecDeque<QueuedCall>,
    pub(super) background: VecDeque<QueuedCall>,
    /// Events of workers, each with the number of its process.
    pub(super) inbox: VecDeque<(u64, Event)>,
    /// Whether the lane's thread runs.
    pub(super) running: bool,
    /// Whether the thread is serving a call.
    pub(super) serving: bool,
    pub(super) closed: bool,
    pub(super) models: BTreeMap<ModelRole, ServedModel>,
    /// Increases with every change of `models`.
    pub(super) version: u64,
    pub(super) pid: Option<u32>,
    pub(super) restarts: u64,
    /// The number of processes that all threads of the lane have started so far. The latest process has this number.
    pub(super) starts: u64,
    /// The models in the worker's memory.
    pub(super) loaded: Vec<ModelRole>,
    /// The properties of each model, once it was loaded.
    pub(super) facts: BTreeMap<ModelRole, ModelFacts>,
    /// The moving average of the time from the first pass over the pairs of a write to the last, with all calls between.
    mean_pairs_time: Duration,
}

impl LaneState {
    /// Returns the queue of a priority.
    pub(super) fn queue(&mut self, priority: Priority) -> &mut VecDeque<QueuedCall> {
        match priority {
            Priority::Interactive => &mut self.interactive,
            Priority::Foreground => &mut self.foreground,
            Priority::Background => &mut self.background,
        }
    }

    /// Takes the next call: the oldest one of the highest priority. Among the calls of writes, texts are taken before
    /// pairs unless the pairs have waited longer than [`MAX_OVERTAKING`]: a text takes a fraction of the time of the
    /// pairs of a write, and the write that waits for the text has its own pairs still to come.
    pub(super) fn pop(&mut self) -> Option<QueuedCall> {
        let next =
            self.interactive.pop_front().or_else(|| self.pop_overdue_pairs()).or_else(|| self.pop_text_of_write());
        next.or_else(|| self.foreground.pop_front()).or_else(|| self.background.pop_front())
    }

    fn pop_overdue_pairs(&mut self) -> Option<QueuedCall> {
        let at = self.foreground.iter().position(|call| call.texts().is_none())?;
        if self.foreground[at].waited() > MAX_OVERTAKING { self.foreground.remove(at) } else { None }
    }

    /// Takes a call to serve between two passes of a call with this priority. `texts`: whether the texts of other
    /// writes are served between passes over the pairs of a write.
    pub(super) fn pop_between_passes(&mut self, priority: Priority, texts: bool) -> Option<QueuedCall> {
        match priority {
            Priority::Interactive => None,
            Priority::Foreground => {
                self.interactive.pop_front().or_else(|| texts.then(|| self.pop_text_of_write()).flatten())
            }
            Priority::Background if self.has_urgent_calls() => self.pop(),
            Priority::Background => None,
        }
    }

    /// Counts the calls that [`LaneState::pop_between_passes`] would take.
    pub(super) fn waiting_between_passes(&self, priority: Priority, texts: bool) -> usize {
        match priority {
            Priority::Interactive => 0,
            Priority::Foreground if texts => {
                self.interactive.len() + self.foreground.iter().filter(|call| call.texts().is_some()).count()
            }
            Priority::Foreground => self.interactive.len(),
            Priority::Background => self.interactive.len() + self.foreground.len(),
        }
    }

    /// Takes calls of a priority that embed texts, the oldest first, with at most `left` texts in all.
    pub(super) fn take_texts(&mut self, priority: Priority, mut left: usize) -> Vec<QueuedCall> {
        let queue = self.queue(priority);
        let mut taken = Vec::new();
        while left > 0 {
            let fits = |call: &QueuedCall| call.texts().is_some_and(|texts| texts.len() <= left);
            let Some(call) = queue.iter().position(fits).and_then(|at| queue.remove(at)) else { break };
            left -= call.texts().map_or(0, <[String]>::len);
            taken.push(call);
        }
        taken
    }

    fn pop_text_of_write(&mut self) -> Option<QueuedCall> {
        let at = self.foreground.iter().position(|call| call.texts().is_some())?;
        self.foreground.remove(at)
    }

    /// Returns how many calls a new call would have to wait for. Loading a model counts as [`LOAD_AS_CALLS`].
    fn calls_ahead(&self, role: ModelRole, priority: Priority) -> usize {
        let queued = match priority {
            Priority::Interactive => self.interactive.len(),
            Priority::Foreground => self.interactive.len() + self.foreground.len(),
            Priority::Background => self.interactive.len() + self.foreground.len() + self.background.len(),
        };
        // A call that is being served already counts, and it may be loading the model itself.
        let loading = if self.loaded.contains(&role) || self.serving { 0 } else { LOAD_AS_CALLS };
        queued + usize::from(self.serving) + loading
    }

    /// Whether a model with this many waiting calls is crowded. While it loads, it is not: the machine may just be slow.
    fn is_crowded(&self, role: ModelRole, calls: usize) -> bool {
        self.loaded.contains(&role) && calls >= CROWDED_FROM
    }

    /// Whether a call would wait in a crowded queue for longer than it may. Checked before it is queued, since a write
    /// whose call leaves the queue unserved has waited in vain.
    fn would_queue_too_long(&self, job: &QueuedCall) -> bool {
        let Some(longest) = job.call.longest_queue else { return false };
        let pairs = self.foreground.iter().filter(|call| call.texts().is_none()).count() as u32;
        // Texts of writes are served before pairs, so they wait only briefly.
        job.texts().is_none()
            && self.is_crowded(job.role, self.interactive.len() + self.foreground.len() + 1)
            && self.mean_pairs_time * pairs > longest
    }

    /// Adds the time of a call, if it has pairs of a write, to their average. The last four values make up two thirds.
    pub(super) fn note_duration(&mut self, job: &QueuedCall, took: Duration) {
        if job.call.priority == Priority::Foreground && job.texts().is_none() {
            self.mean_pairs_time = (self.mean_pairs_time * 3 + took) / 4;
        }
    }

    /// Whether calls of reads or writes wait, for which a background call must give way.
    pub(super) fn has_urgent_calls(&self) -> bool {
        !(self.interactive.is_empty() && self.foreground.is_empty())
    }
}

/// A worker process and its queues.
pub(super) struct WorkerLane {
    shared: Arc<LaneShared>,
}

impl WorkerLane {
    pub(super) fn new(
        settings: LaneSettings,
        launch: Arc<Launch>,
        failures: Arc<FailureCounts>,
        models: BTreeMap<ModelRole, ServedModel>,
    ) -> Self {
        let state = Mutex::new(LaneState { models, ..LaneState::default() });
        Self { shared: Arc::new(LaneShared { settings, launch, failures, wake: Condvar::new(), state }) }
    }

    /// Waits for the result of a call, at most as long as the call allows.
    pub(super) fn call(&self, role: ModelRole, command: Option<InferCommand>, call: Call) -> CallResult {
        let now = Instant::now();
        let (reply, answer) = mpsc::channel();
        let abandoned_flag = Arc::new(AtomicBool::new(false));
        let until = now + call.deadline;
        let job = QueuedCall { role, command, call, until, abandoned_flag: Arc::clone(&abandoned_flag), reply };
        let timeout = job.timeout();
        self.submit(job)?;
        let mut crowd_check_after = call.longest_queue;
        let outcome = loop {
            let left = until.saturating_duration_since(Instant::now());
            match answer.recv_timeout(crowd_check_after.map_or(left, |after| after.min(left))) {
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                outcome => break outcome,
            }
            if crowd_check_after.is_some() {
                if self.leave_crowded_queue(role, call.priority, &abandoned_flag) {
                    return Err(InferError::Busy { role });
                }
                crowd_check_after = Some(CROWD_CHECK_INTERVAL);
            }
        };
        match outcome {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => {
                abandoned_flag.store(true, Ordering::Relaxed);
                drop(self.shared.state());
                self.shared.wake.notify_all();
                Err(timeout)
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(InferError::Crashed { role, why: "is shutting down".to_owned() })
            }
        }
    }

    /// Removes a call from its queue if the lane is crowded. Returns whether it was removed.
    fn leave_crowded_queue(&self, role: ModelRole, priority: Priority, flag: &Arc<AtomicBool>) -> bool {
        let mut state = self.shared.state();
        if !state.is_crowded(role, state.interactive.len() + state.foreground.len()) {
            return false;
        }
        let queue = state.queue(priority);
        let Some(at) = queue.iter().position(|queued| Arc::ptr_eq(&queued.abandoned_flag, flag)) else { return false };
        queue.remove(at).is_some()
    }

    pub(super) fn calls_ahead(&self, role: ModelRole, priority: Priority) -> usize {
        self.shared.state().calls_ahead(role, priority)
    }

    fn submit(&self, job: QueuedCall) -> Result<(), InferError> {
        let mut state = self.shared.state();
        let role = job.role;
        if !state.models.contains_key(&role) {
            return Err(InferError::NoModel { role });
        }
        if state.closed {
            return Err(InferError::Crashed { role, why: "is shutting down".to_owned() });
        }
        if state.would_queue_too_long(&job) {
            return Err(InferError::Busy { role });
        }
        if !state.running {
            let runner = Runner::new(Arc::clone(&self.shared), state.starts);
            let name = format!("infer-{}", self.shared.settings.name);
            thread::Builder::new()
                .name(name)
                .spawn(move || runner.run())
                .map_err(|error| InferError::Crashed { role, why: format!("cannot get a thread: {error}") })?;
            state.running = true;
        }
        let queue = state.queue(job.call.priority);
        if job.call.resumes {
            queue.push_front(job);
        } else {
            queue.push_back(job);
        }
        drop(state);
        self.shared.wake.notify_all();
        Ok(())
    }

    /// Replaces the models from the next call on.
    pub(super) fn change(&self, models: BTreeMap<ModelRole, ServedModel>) {
        let mut state = self.shared.state();
        if state.models != models {
            state.models = models;
            state.version += 1;
            state.facts.clear();
        }
    }

    pub(super) fn info(&self, roles: &[ModelRole]) -> WorkerInfo {
        let state = self.shared.state();
        let (pid, restarts) = (state.pid, state.restarts);
        drop(state);
        let cpu = pid.map_or(Some(Duration::ZERO), cpu_time);
        WorkerInfo { roles: roles.to_vec(), pid, rss_bytes: pid.map_or(0, rss), cpu, restarts }
    }

    /// Returns the number of waiting calls of each priority, the highest first.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> [usize; 3] {
        let state = self.shared.state();
        [state.interactive.len(), state.foreground.len(), state.background.len()]
    }

    /// Returns whether a role's model is in memory, its properties, and why it cannot be used.
    pub(super) fn role(&self, role: ModelRole) -> (bool, Option<ModelFacts>, Option<String>) {
        let state = self.shared.state();
        let problem = state.models.get(&role).and_then(ServedModel::problem).map(ToString::to_string);
        (state.loaded.contains(&role), state.facts.get(&role).cloned(), problem)
    }
}

impl Drop for WorkerLane {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closed = true;
        state.interactive.clear();
        state.foreground.clear();
        state.background.clear();
        self.shared.wake.notify_all();
        // Wait until the lane's thread has killed the worker: the caller relies on that.
        let begin = Instant::now();
        while state.running && begin.elapsed() < Duration::from_secs(5) {
            state = self.shared.wait(state, Duration::from_millis(100));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, priority: Call, command: InferCommand) -> (String, QueuedCall) {
        let job = QueuedCall {
            role: ModelRole::Nli,
            command: Some(command),
            call: priority,
            until: Instant::now() + priority.deadline,
            abandoned_flag: Arc::default(),
            reply: mpsc::channel().0,
        };
        (name.to_owned(), job)
    }

    /// Queues calls. Returns also a function that returns the name of a taken call.
    fn queued(calls: Vec<(String, QueuedCall)>) -> (LaneState, impl Fn(Option<QueuedCall>) -> Option<String>) {
        let mut state = LaneState::default();
        let mut names = Vec::new();
        for (name, call) in calls {
            names.push((name, Arc::clone(&call.abandoned_flag)));
            state.queue(call.call.priority).push_back(call);
        }
        let name = move |taken: Option<QueuedCall>| {
            let flag = taken?.abandoned_flag;
            names.iter().find(|(_, known)| Arc::ptr_eq(known, &flag)).map(|(name, _)| name.clone())
        };
        (state, name)
    }

    fn calls() -> Vec<(String, QueuedCall)> {
        let minute = Duration::from_mins(1);
        let pairs = || InferCommand::Classify(vec![("a".into(), "b".into())]);
        let text = || InferCommand::Embed(vec!["a".into()]);
        vec![
            call("text in the background", Call::background(minute), text()),
            call("pairs of a write", Call::foreground(minute), pairs()),
            call("text of a write", Call::foreground(minute), text()),
            call("pairs of a read", Call::interactive(minute), pairs()),
        ]
    }

    #[test]
    fn reads_go_before_writes_and_texts_of_writes_before_their_pairs() {
        let (mut state, name) = queued(calls());
        let order: Vec<String> = std::iter::from_fn(|| name(state.pop())).collect();
        assert_eq!(order, ["pairs of a read", "text of a write", "pairs of a write", "text in the background"]);
    }

    #[test]
    fn between_two_passes_goes_what_would_go_before_them() {
        for (priority, expected) in [
            (Priority::Interactive, vec![]),
            (Priority::Foreground, vec!["pairs of a read", "text of a write"]),
            (Priority::Background, vec!["pairs of a read", "text of a write", "pairs of a write"]),
        ] {
            let (mut state, name) = queued(calls());
            assert_eq!(state.waiting_between_passes(priority, true), expected.len(), "{priority:?}");
            let taken: Vec<String> = std::iter::from_fn(|| name(state.pop_between_passes(priority, true))).collect();
            assert_eq!(taken, expected, "{priority:?}");
        }
    }

    #[test]
    fn pairs_that_queued_for_long_go_before_texts_and_after_reads() {
        let (mut state, name) = queued(calls());
        for call in &mut state.foreground {
            call.until -= MAX_OVERTAKING * 2;
        }
        let order: Vec<String> = std::iter::from_fn(|| name(state.pop())).collect();
        assert_eq!(order, ["pairs of a read", "pairs of a write", "text of a write", "text in the background"]);
    }

    #[test]
    fn pairs_that_waited_long_let_only_reads_go_first() {
        let (mut state, name) = queued(calls());
        assert_eq!(state.waiting_between_passes(Priority::Foreground, false), 1);
        let taken: Vec<String> =
            std::iter::from_fn(|| name(state.pop_between_passes(Priority::Foreground, false))).collect();
        assert_eq!(taken, ["pairs of a read"]);
    }

    #[test]
    fn texts_that_share_a_pass_are_found_behind_pairs_and_no_more_are_taken_than_fit() {
        let minute = Call::foreground(Duration::from_mins(1));
        let texts = |many: usize| InferCommand::Embed(vec!["a".into(); many]);
        let (mut state, name) = queued(vec![
            call("pairs", minute, InferCommand::Classify(vec![("a".into(), "b".into())])),
            call("two texts", minute, texts(2)),
            call("seven texts", minute, texts(7)),
            call("one text", minute, texts(1)),
        ]);
        let taken = state.take_texts(Priority::Foreground, 3);
        let taken: Vec<String> = taken.into_iter().filter_map(|call| name(Some(call))).collect();
        assert_eq!(taken, ["two texts", "one text"]);
        assert_eq!(state.foreground.len(), 2);
        assert!(state.take_texts(Priority::Foreground, 0).is_empty());
    }
}
