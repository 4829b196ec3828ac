//! A lane: a worker process and its queues. Reads go before writes, the texts of writes before their pairs, and writes
//! before the background; a generation in the background gives way to both. A thread owns the process while there is work, and for a while after.

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

/// So many calls of reads and writes that wait are a crowd: a lone writer never meets one.
const CROWD: usize = 3;

/// A process that must load a model first counts as much as so many calls that wait: to start it and load takes longer than a few short calls
/// (the embedder alone took 48 ms to load).
const LOADING: usize = 3;

/// A call that has queued for as long as it may looks for a crowd this often: it may come after the call.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long the pairs of a write let the texts of other writes go first. Without a bound, ten busy agents held one back for seconds.
pub(super) const LONGEST_OVERTAKEN: Duration = Duration::from_millis(150);

/// The settings of a lane.
#[derive(Clone, Debug)]
pub(super) struct LaneSettings {
    /// Its name, for logs and threads.
    pub(super) name: &'static str,
    /// The greeting of a new worker; the memory limit is set from the models.
    pub(super) hello: InferHello,
    /// After this long without work, the process ends and its memory is free.
    pub(super) idle: Duration,
    /// A request that takes longer than this and than its caller waits hangs: the process is killed.
    pub(super) hang: Duration,
    /// The delay before the third start in a row; doubled with each further one.
    pub(super) restart_delay: Duration,
}

/// The result of a call.
pub(super) type CallResult = Result<InferReply, InferError>;

/// A call in the queue.
pub(super) struct QueuedCall {
    pub(super) role: ModelRole,
    /// The command; `None` only loads the model.
    pub(super) command: Option<InferCommand>,
    pub(super) call: Call,
    pub(super) until: Instant,
    /// Set if the caller has stopped waiting.
    pub(super) abandoned_flag: Arc<AtomicBool>,
    pub(super) reply: mpsc::Sender<CallResult>,
}

impl QueuedCall {
    pub(super) fn abandoned(&self) -> bool {
        self.abandoned_flag.load(Ordering::Relaxed)
    }

    /// Returns the texts of a call to embed.
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

    /// Waits until something changes, or the time is over.
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
    /// Whether it serves a call.
    pub(super) serving: bool,
    pub(super) closed: bool,
    pub(super) models: BTreeMap<ModelRole, ServedModel>,
    /// Counts up with every change of `models`.
    pub(super) version: u64,
    pub(super) pid: Option<u32>,
    pub(super) restarts: u64,
    /// The number of processes started so far, by all threads of the lane: it numbers them.
    pub(super) starts: u64,
    /// The models in the worker's memory.
    pub(super) loaded: Vec<ModelRole>,
    /// The properties of each model, once it was loaded.
    pub(super) facts: BTreeMap<ModelRole, ModelFacts>,
    /// How long the pairs of a write took lately, from the first pass to the last, with what went between them.
    pairs_took: Duration,
}

impl LaneState {
    /// Returns the calls of a priority that wait.
    pub(super) fn queue(&mut self, priority: Priority) -> &mut VecDeque<QueuedCall> {
        match priority {
            Priority::Interactive => &mut self.interactive,
            Priority::Foreground => &mut self.foreground,
            Priority::Background => &mut self.background,
        }
    }

    /// Takes the next call: the oldest of the highest priority. Of writes, those that embed go first, unless pairs have waited for long: a text
    /// takes a fraction of the time that the pairs of a write take, and whoever waits for it has these still to come.
    pub(super) fn pop(&mut self) -> Option<QueuedCall> {
        let next =
            self.interactive.pop_front().or_else(|| self.pop_overdue_pairs()).or_else(|| self.pop_text_of_write());
        next.or_else(|| self.foreground.pop_front()).or_else(|| self.background.pop_front())
    }

    fn pop_overdue_pairs(&mut self) -> Option<QueuedCall> {
        let at = self.foreground.iter().position(|call| call.texts().is_none())?;
        if self.foreground[at].waited() > LONGEST_OVERTAKEN { self.foreground.remove(at) } else { None }
    }

    /// Takes a call that goes between two passes of one with this priority; `texts`: those of writes go before pairs of one.
    pub(super) fn pop_between_passes(&mut self, priority: Priority, texts: bool) -> Option<QueuedCall> {
        match priority {
            Priority::Interactive => None,
            Priority::Foreground => {
                self.interactive.pop_front().or_else(|| texts.then(|| self.pop_text_of_write()).flatten())
            }
            Priority::Background if self.is_wanted() => self.pop(),
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

    /// Takes calls of a priority that embed, the oldest first, of those that have at most as many texts as are left.
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

    /// Counts what a new call of a priority would wait for.
    fn ahead(&self, role: ModelRole, priority: Priority) -> usize {
        let queued = match priority {
            Priority::Interactive => self.interactive.len(),
            Priority::Foreground => self.interactive.len() + self.foreground.len(),
            Priority::Background => self.interactive.len() + self.foreground.len() + self.background.len(),
        };
        // What is served now loads a model itself.
        let loading = if self.loaded.contains(&role) || self.serving { 0 } else { LOADING };
        queued + usize::from(self.serving) + loading
    }

    /// Whether so many calls are a crowd for a model: not while it loads, and not on a machine that is only slow.
    fn is_crowd(&self, role: ModelRole, calls: usize) -> bool {
        self.loaded.contains(&role) && calls >= CROWD
    }

    /// Whether a call would queue in a crowd for longer than it may. Known before it queues, since a write that left the queue unserved has
    /// waited in vain.
    fn would_queue_too_long(&self, job: &QueuedCall) -> bool {
        let Some(longest) = job.call.longest_queue else { return false };
        let pairs = self.foreground.iter().filter(|call| call.texts().is_none()).count() as u32;
        // Texts of writes go before their pairs, and wait for little.
        job.texts().is_none()
            && self.is_crowd(job.role, self.interactive.len() + self.foreground.len() + 1)
            && self.pairs_took * pairs > longest
    }

    /// Notes how long a call took, if it was about the pairs of a write: in the mean, the last four count for two thirds.
    pub(super) fn note_duration(&mut self, job: &QueuedCall, took: Duration) {
        if job.call.priority == Priority::Foreground && job.texts().is_none() {
            self.pairs_took = (self.pairs_took * 3 + took) / 4;
        }
    }

    /// Whether the background must give way.
    pub(super) fn is_wanted(&self) -> bool {
        !(self.interactive.is_empty() && self.foreground.is_empty())
    }
}

/// A worker process and its queue.
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
        let mut look_after = call.longest_queue;
        let outcome = loop {
            let left = until.saturating_duration_since(Instant::now());
            match answer.recv_timeout(look_after.map_or(left, |look_after| look_after.min(left))) {
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                outcome => break outcome,
            }
            if look_after.is_some() {
                if self.leave_crowd(role, call.priority, &abandoned_flag) {
                    return Err(InferError::Busy { role });
                }
                look_after = Some(LOOK_AGAIN);
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

    /// Takes a call out of the queue if it waits there in a crowd.
    fn leave_crowd(&self, role: ModelRole, priority: Priority, flag: &Arc<AtomicBool>) -> bool {
        let mut state = self.shared.state();
        if !state.is_crowd(role, state.interactive.len() + state.foreground.len()) {
            return false;
        }
        let queue = state.queue(priority);
        let Some(at) = queue.iter().position(|queued| Arc::ptr_eq(&queued.abandoned_flag, flag)) else { return false };
        queue.remove(at).is_some()
    }

    /// Counts what a new call of a priority would wait for, in calls.
    pub(super) fn ahead(&self, role: ModelRole, priority: Priority) -> usize {
        self.shared.state().ahead(role, priority)
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

    /// Returns how many calls of each priority wait, the highest first.
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
        // The thread kills the worker, and the caller relies on that.
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

    /// Queues calls, and returns the function that names what is taken.
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
            call.until -= LONGEST_OVERTAKEN * 2;
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
