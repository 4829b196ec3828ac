//! The connection to the worker process: starts it on demand, sends one command at a time, and restarts it if it exits.
//!
//! Architecture Invariant: the worker has at most one command at a time. So if it exits, the command (and with it the
//! peer) that made it exit is known.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    sync::{Mutex as AsyncMutex, mpsc},
    time::timeout,
};

use super::wire::{MAX_FRAME, VERSION, WorkerCommand, WorkerHello, WorkerReply, WorkerRequest, WorkerResponse};
use crate::{
    domain::replica::DocumentId,
    worker::process::{LaunchWorker, WorkerEvent, WorkerHandle, WorkerProgram, rss, this_program},
};

/// The time in which a new process must answer the greeting.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// The delay before the third start in a row; doubled with each further one, up to [`MAX_RESTART_DELAY`].
const RESTART_DELAY: Duration = Duration::from_millis(500);
const MAX_RESTART_DELAY: Duration = Duration::from_mins(1);

/// The bytes of a frame that are reserved for everything but the bytes that a command carries.
const FRAME_OVERHEAD: usize = 1024 * 1024;

/// The program and the limits of the worker.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// The executable that is started as a worker, which is ergo itself.
    pub program: PathBuf,
    /// The limit of the worker's address space, in bytes.
    pub memory: u64,
    /// The memory that idle documents may take, in bytes.
    pub idle_documents: u64,
    /// The time without work after which the worker is ended, which frees its memory.
    pub idle: Duration,
    /// The timeout of a call, plus one second for each MiB that it carries.
    pub deadline: Duration,
    /// The limit of processor time for one call, in seconds.
    pub seconds: u64,
}

impl WorkerOptions {
    /// Returns the standard limits: 1 GiB of memory, of which 160 MiB for idle documents; 5 minutes idle; 10 s and 60 s
    /// of processor time a call.
    pub fn standard() -> Self {
        Self {
            program: this_program(),
            memory: 1024 * 1024 * 1024,
            idle_documents: 160 * 1024 * 1024,
            idle: Duration::from_mins(5),
            deadline: Duration::from_secs(10),
            seconds: 60,
        }
    }

    fn launch(&self) -> WorkerProgram {
        WorkerProgram { path: self.program.clone(), subcommand: "sync", inherits: &[], sets: &[], max_frame: MAX_FRAME }
    }
}

/// The state of the worker process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentWorkerInfo {
    /// `None` if the worker does not run.
    pub pid: Option<u32>,
    pub rss_bytes: u64,
    /// The number of times that the worker exited by itself, or was killed because it did not answer.
    pub deaths: u64,
}

/// The reason why a command got no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WorkerFailure {
    /// The worker exited during the command; the text says how.
    Died(String),
    /// The worker that held the session was replaced.
    Replaced,
    /// No worker can be started.
    Unavailable(String),
    /// The command does not fit into a frame.
    TooLarge(String),
}

/// The worker process, and the queue of callers.
pub(super) struct WorkerLink {
    options: WorkerOptions,
    launch: Arc<dyn LaunchWorker<WorkerRequest, WorkerResponse>>,
    state: AsyncMutex<LinkState>,
    /// The sessions to drop, each with the number of the worker that it concerns; sent with the next command.
    abandoned: Mutex<Vec<(u64, u64)>>,
    discarded: Mutex<Vec<(u64, DocumentId)>>,
    pid: AtomicU32,
    deaths: AtomicU64,
}

/// The state that only the current caller may change.
#[derive(Default)]
struct LinkState {
    live: Option<RunningWorker>,
    last_id: u64,
    starts: u64,
    /// The number of consecutive exits without a reply between them.
    deaths: u32,
    not_before: Option<Instant>,
    used: Option<Instant>,
}

struct RunningWorker {
    worker: Box<dyn WorkerHandle<WorkerRequest>>,
    events: mpsc::UnboundedReceiver<WorkerEvent<WorkerResponse>>,
    number: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WorkerLink {
    pub(super) fn new(options: WorkerOptions) -> Arc<Self> {
        let launch = Arc::new(options.launch());
        Self::with_launcher(launch, options)
    }

    pub(super) fn with_launcher(
        launch: Arc<dyn LaunchWorker<WorkerRequest, WorkerResponse>>,
        options: WorkerOptions,
    ) -> Arc<Self> {
        Arc::new(Self {
            options,
            launch,
            state: AsyncMutex::default(),
            abandoned: Mutex::default(),
            discarded: Mutex::default(),
            pid: AtomicU32::new(0),
            deaths: AtomicU64::new(0),
        })
    }

    pub(super) fn info(&self) -> DocumentWorkerInfo {
        let pid = Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid > 0);
        DocumentWorkerInfo { pid, rss_bytes: pid.map_or(0, rss), deaths: self.deaths.load(Ordering::Relaxed) }
    }

    /// Notes a session that its owner dropped.
    pub(super) fn abandon_session(&self, worker: u64, session: u64) {
        lock(&self.abandoned).push((worker, session));
    }

    /// Notes a staged document that was not stored.
    pub(super) fn discard_staged(&self, worker: u64, document: DocumentId) {
        lock(&self.discarded).push((worker, document));
    }

    /// Sends a command and returns the reply, with the number of the worker that gave it. If `of` is given, only that
    /// worker may answer, since the command refers to one of its sessions.
    ///
    /// Runs to completion even if the caller is cancelled, so that an exit is always attributed to the command that
    /// caused it.
    pub(super) async fn ask(
        self: &Arc<Self>,
        command: WorkerCommand,
        of: Option<u64>,
    ) -> Result<(WorkerReply, u64), WorkerFailure> {
        let link = Arc::clone(self);
        let asked = tokio::spawn(async move { link.ask_locked(command, of).await });
        asked.await.unwrap_or_else(|gone| Err(WorkerFailure::Unavailable(gone.to_string())))
    }

    async fn ask_locked(
        self: &Arc<Self>,
        command: WorkerCommand,
        of: Option<u64>,
    ) -> Result<(WorkerReply, u64), WorkerFailure> {
        let size = size(&command);
        if size + FRAME_OVERHEAD > MAX_FRAME {
            return Err(WorkerFailure::TooLarge(format!(
                "{size} bytes at once; at most {}",
                MAX_FRAME - FRAME_OVERHEAD
            )));
        }
        let mut state = self.state.lock().await;
        self.check_for_exit(&mut state);
        let current = state.live.as_ref().map(|live| live.number);
        if of.is_some() && of != current {
            return Err(WorkerFailure::Replaced);
        }
        if state.live.is_none() {
            self.start(&mut state).await?;
        }
        let number = state.starts;
        let deadline = self.options.deadline + Duration::from_secs((size / FRAME_OVERHEAD) as u64);
        let reply = self.exchange(&mut state, command, deadline).await?;
        state.deaths = 0;
        state.used = Some(Instant::now());
        Ok((reply, number))
    }

    /// Records the exit of a worker between two commands, which the next command did not cause.
    fn check_for_exit(&self, state: &mut LinkState) {
        while let Some(live) = &mut state.live {
            match live.events.try_recv() {
                Ok(WorkerEvent::Answer(_)) => {}
                Err(mpsc::error::TryRecvError::Empty) => return,
                Ok(WorkerEvent::Exited(why)) => drop(self.record_death(state, &why)),
                Err(mpsc::error::TryRecvError::Disconnected) => drop(self.record_death(state, "ended")),
            }
        }
    }

    async fn start(self: &Arc<Self>, state: &mut LinkState) -> Result<(), WorkerFailure> {
        let rest = state.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
        if !rest.is_zero() {
            let why = format!(
                "the worker exited {} times in a row and is restarted in {} s",
                state.deaths,
                rest.as_secs() + 1
            );
            return Err(WorkerFailure::Unavailable(why));
        }
        let (tell, events) = mpsc::unbounded_channel();
        // A closed receiver means that this worker was dropped.
        let sink = Box::new(move |event| drop(tell.send(event)));
        let worker = self.launch.launch(sink).map_err(|error| {
            drop(self.record_death(state, "cannot be started"));
            WorkerFailure::Unavailable(format!("the worker cannot be started: {error}"))
        })?;
        state.starts += 1;
        let number = state.starts;
        self.pid.store(worker.pid(), Ordering::Relaxed);
        state.live = Some(RunningWorker { worker, events, number });
        let WorkerOptions { memory, idle_documents, seconds, .. } = self.options;
        let hello = WorkerCommand::Hello(WorkerHello { version: VERSION, memory, idle_documents, seconds });
        let reply = self.exchange(state, hello, START_TIMEOUT).await.map_err(|failure| match failure {
            WorkerFailure::Died(why) => WorkerFailure::Unavailable(format!("the worker {why}")),
            other => other,
        })?;
        if reply != WorkerReply::Ready(VERSION) {
            drop(self.record_death(state, "has another version"));
            let why = "the worker and the daemon have different versions: run `ergo daemon stop`; the next command \
                starts the new daemon";
            return Err(WorkerFailure::Unavailable(why.to_owned()));
        }
        state.used = Some(Instant::now());
        tokio::spawn(stop_when_idle(Arc::downgrade(self), number, self.options.idle));
        Ok(())
    }

    async fn exchange(
        &self,
        state: &mut LinkState,
        command: WorkerCommand,
        longest: Duration,
    ) -> Result<WorkerReply, WorkerFailure> {
        state.last_id += 1;
        let id = state.last_id;
        let Some(live) = &mut state.live else { return Err(WorkerFailure::Died("is not running".to_owned())) };
        let number = live.number;
        let abandoned = std::mem::take(&mut *lock(&self.abandoned)).into_iter().filter(|(of, _)| *of == number);
        let discarded = std::mem::take(&mut *lock(&self.discarded)).into_iter().filter(|(of, _)| *of == number);
        let (abandoned, discarded) = (abandoned.map(|(_, it)| it).collect(), discarded.map(|(_, it)| it).collect());
        if let Err(error) = live.worker.send(WorkerRequest { id, abandoned, discarded, command }) {
            // This worker will not be told what to drop, so it must not continue.
            drop(self.record_death(state, &format!("was stopped: it cannot be sent {error}")));
            return Err(WorkerFailure::TooLarge(error.to_string()));
        }
        let answered = timeout(longest, async {
            loop {
                match live.events.recv().await {
                    Some(WorkerEvent::Answer(answer)) if answer.id == id => return Ok(answer.reply),
                    Some(WorkerEvent::Answer(_)) => {}
                    Some(WorkerEvent::Exited(why)) => return Err(why),
                    None => return Err("ended".to_owned()),
                }
            }
        });
        let why = match answered.await {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(why)) => why,
            Err(_) => format!("did not answer for {} s and was killed", longest.as_secs()),
        };
        Err(WorkerFailure::Died(self.record_death(state, &why)))
    }

    /// Drops the worker, counts its exit, and returns how it ended.
    fn record_death(&self, state: &mut LinkState, why: &str) -> String {
        let how = state.live.take().and_then(|mut live| live.worker.ended());
        self.pid.store(0, Ordering::Relaxed);
        self.deaths.fetch_add(1, Ordering::Relaxed);
        state.deaths += 1;
        // One exit may be accidental: the next call restarts the worker at once. From the third on, each restart waits
        // longer.
        let doubled = 2_u32.pow(state.deaths.saturating_sub(3).min(16));
        let rest = if state.deaths < 3 { Duration::ZERO } else { RESTART_DELAY * doubled };
        state.not_before = Some(Instant::now() + rest.min(MAX_RESTART_DELAY));
        let message = how.map_or_else(|| why.to_owned(), |how| format!("{why} ({how})"));
        tracing::warn!("the worker of the replication index {message}");
        message
    }
}

/// Ends the worker with this number once it was idle for the given time.
async fn stop_when_idle(link: Weak<WorkerLink>, number: u64, idle: Duration) {
    loop {
        tokio::time::sleep(idle).await;
        let Some(link) = link.upgrade() else { return };
        let mut state = link.state.lock().await;
        if state.live.as_ref().is_none_or(|live| live.number != number) {
            return;
        }
        if state.used.is_none_or(|used| used.elapsed() >= idle) {
            state.live = None;
            link.pid.store(0, Ordering::Relaxed);
            return;
        }
    }
}

/// Estimates the bytes that a command carries.
fn size(command: &WorkerCommand) -> usize {
    match command {
        WorkerCommand::Load { chunks, .. } => chunks.iter().map(|chunk| chunk.len()).sum(),
        WorkerCommand::Receive { bytes, .. } => bytes.len(),
        WorkerCommand::Append { entries, .. } | WorkerCommand::Rebuild { entries, .. } => {
            entries.iter().map(|entry| entry.header.len() + 128).sum()
        }
        _ => 0,
    }
}
