//! The worker process: started when there is something to do, asked one thing at a time, replaced when it ends.
//!
//! One at a time, so that it is known on whose account it ended.

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

use super::wire::{Answer, Ask, Hello, MAX_FRAME, Said, VERSION, What};
use crate::{
    domain::replica::DocumentId,
    worker::process::{Event, Launch, Program, Worker, rss, this_program},
};

/// How long a new process may take to say that it is there.
const BIRTH: Duration = Duration::from_secs(20);

/// The wait before a third start in a row; doubled with every further one, up to [`LONGEST_REST`].
const REST: Duration = Duration::from_millis(500);
const LONGEST_REST: Duration = Duration::from_mins(1);

/// Room in a frame for all but the bytes that it carries.
const AROUND: usize = 1024 * 1024;

/// How the worker is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program that is started as a worker: ergo.
    pub program: PathBuf,
    /// Its address space, in bytes.
    pub memory: u64,
    /// How much of it documents may take that nobody works on, in bytes.
    pub loaded: u64,
    /// After so long without work it ends, and its memory is free.
    pub idle: Duration,
    /// How long a call may take, besides a second for every MiB that it carries.
    pub deadline: Duration,
    /// The most seconds of processor time for one call.
    pub seconds: u64,
}

impl Options {
    /// The usual ones: this program, 1 GiB, of which 160 MiB for documents at rest, 5 minutes, 10 s, 60 s.
    pub fn usual() -> Self {
        Self {
            program: this_program(),
            memory: 1024 * 1024 * 1024,
            loaded: 160 * 1024 * 1024,
            idle: Duration::from_mins(5),
            deadline: Duration::from_secs(10),
            seconds: 60,
        }
    }

    fn launch(&self) -> Program {
        Program { path: self.program.clone(), part: "sync", inherits: &[], sets: &[], longest: MAX_FRAME }
    }
}

/// What is known of the worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerInfo {
    /// Its process, while there is one.
    pub pid: Option<u32>,
    /// Memory that it holds, in bytes.
    pub rss_bytes: u64,
    /// How often it ended by itself, or was ended because it hung.
    pub deaths: u64,
}

/// Why a call brought no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// The worker ended on it, in words.
    Died(String),
    /// Another worker than the one that was meant.
    Replaced,
    /// None can be started.
    Unavailable(String),
    /// More than a message holds.
    TooLarge(String),
}

/// The worker, and the line before it.
pub(super) struct Link {
    options: Options,
    launch: Arc<dyn Launch<Ask, Answer>>,
    turn: AsyncMutex<Turn>,
    /// Told with the next call, each with the number of the worker that it is for.
    left: Mutex<Vec<(u64, u64)>>,
    undone: Mutex<Vec<(u64, DocumentId)>>,
    pid: AtomicU32,
    deaths: AtomicU64,
}

/// What belongs to whoever asks.
#[derive(Default)]
struct Turn {
    live: Option<Live>,
    last_id: u64,
    starts: u64,
    /// Deaths without an answer between them.
    deaths: u32,
    not_before: Option<Instant>,
    used: Option<Instant>,
}

struct Live {
    worker: Box<dyn Worker<Ask>>,
    events: mpsc::UnboundedReceiver<Event<Answer>>,
    number: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    pub(super) fn new(options: Options) -> Arc<Self> {
        let launch = Arc::new(options.launch());
        Self::over(launch, options)
    }

    pub(super) fn over(launch: Arc<dyn Launch<Ask, Answer>>, options: Options) -> Arc<Self> {
        Arc::new(Self {
            options,
            launch,
            turn: AsyncMutex::default(),
            left: Mutex::default(),
            undone: Mutex::default(),
            pid: AtomicU32::new(0),
            deaths: AtomicU64::new(0),
        })
    }

    pub(super) fn info(&self) -> WorkerInfo {
        let pid = Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid > 0);
        WorkerInfo { pid, rss_bytes: pid.map_or(0, rss), deaths: self.deaths.load(Ordering::Relaxed) }
    }

    /// A session that nobody wants to go on with.
    pub(super) fn leave(&self, worker: u64, session: u64) {
        lock(&self.left).push((worker, session));
    }

    /// A document's next state that was not stored.
    pub(super) fn undo(&self, worker: u64, document: DocumentId) {
        lock(&self.undone).push((worker, document));
    }

    /// Asks the worker, and waits for its answer; with the number of the worker that gave it. `of` is the worker that must
    /// still be there, where the question means nothing to another one.
    ///
    /// Runs to its end also where nobody waits for it any more, so that one call's death is not another's.
    pub(super) async fn ask(self: &Arc<Self>, what: What, of: Option<u64>) -> Result<(Said, u64), Silence> {
        let link = Arc::clone(self);
        let asked = tokio::spawn(async move { link.ask_in_turn(what, of).await });
        asked.await.unwrap_or_else(|gone| Err(Silence::Unavailable(gone.to_string())))
    }

    async fn ask_in_turn(self: &Arc<Self>, what: What, of: Option<u64>) -> Result<(Said, u64), Silence> {
        let size = size(&what);
        if size + AROUND > MAX_FRAME {
            return Err(Silence::TooLarge(format!("{size} bytes at once; at most {}", MAX_FRAME - AROUND)));
        }
        let mut turn = self.turn.lock().await;
        self.notice_end(&mut turn);
        let current = turn.live.as_ref().map(|live| live.number);
        if of.is_some() && of != current {
            return Err(Silence::Replaced);
        }
        if turn.live.is_none() {
            self.start(&mut turn).await?;
        }
        let number = turn.starts;
        let deadline = self.options.deadline + Duration::from_secs((size / AROUND) as u64);
        let said = self.exchange(&mut turn, what, deadline).await?;
        turn.deaths = 0;
        turn.used = Some(Instant::now());
        Ok((said, number))
    }

    /// Sees that a worker has ended meanwhile; that is nobody's fault who asks now.
    fn notice_end(&self, turn: &mut Turn) {
        while let Some(live) = &mut turn.live {
            match live.events.try_recv() {
                Ok(Event::Answer(_)) => {}
                Err(mpsc::error::TryRecvError::Empty) => return,
                Ok(Event::Gone(why)) => drop(self.bury(turn, &why)),
                Err(mpsc::error::TryRecvError::Disconnected) => drop(self.bury(turn, "ended")),
            }
        }
    }

    async fn start(self: &Arc<Self>, turn: &mut Turn) -> Result<(), Silence> {
        let rest = turn.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
        if !rest.is_zero() {
            let why = format!(
                "its process ended {} times in a row and is started again in {} s",
                turn.deaths,
                rest.as_secs() + 1
            );
            return Err(Silence::Unavailable(why));
        }
        let (tell, events) = mpsc::unbounded_channel();
        // Whoever no longer listens has given the worker up.
        let sink = Box::new(move |event| drop(tell.send(event)));
        let worker = self.launch.launch(sink).map_err(|error| {
            drop(self.bury(turn, "cannot be started"));
            Silence::Unavailable(format!("its process cannot be started: {error}"))
        })?;
        turn.starts += 1;
        let number = turn.starts;
        self.pid.store(worker.pid(), Ordering::Relaxed);
        turn.live = Some(Live { worker, events, number });
        let Options { memory, loaded, seconds, .. } = self.options;
        let hello = What::Hello(Hello { version: VERSION, memory, loaded, seconds });
        let said = self.exchange(turn, hello, BIRTH).await.map_err(|silence| match silence {
            Silence::Died(why) => Silence::Unavailable(format!("its process {why}")),
            other => other,
        })?;
        if said != Said::Ready(VERSION) {
            drop(self.bury(turn, "is of another version"));
            let why =
                "its process is of another version than the daemon: `ergo daemon stop` and the next command mend that";
            return Err(Silence::Unavailable(why.to_owned()));
        }
        turn.used = Some(Instant::now());
        tokio::spawn(rest_when_idle(Arc::downgrade(self), number, self.options.idle));
        Ok(())
    }

    async fn exchange(&self, turn: &mut Turn, what: What, longest: Duration) -> Result<Said, Silence> {
        turn.last_id += 1;
        let id = turn.last_id;
        let Some(live) = &mut turn.live else { return Err(Silence::Died("is not there".to_owned())) };
        let number = live.number;
        let left = std::mem::take(&mut *lock(&self.left)).into_iter().filter(|(of, _)| *of == number);
        let undone = std::mem::take(&mut *lock(&self.undone)).into_iter().filter(|(of, _)| *of == number);
        let (left, undone) = (left.map(|(_, it)| it).collect(), undone.map(|(_, it)| it).collect());
        live.worker.send(Ask { id, left, undone, what });
        let answered = timeout(longest, async {
            loop {
                match live.events.recv().await {
                    Some(Event::Answer(answer)) if answer.id == id => return Ok(answer.said),
                    Some(Event::Answer(_)) => {}
                    Some(Event::Gone(why)) => return Err(why),
                    None => return Err("ended".to_owned()),
                }
            }
        });
        let why = match answered.await {
            Ok(Ok(said)) => return Ok(said),
            Ok(Err(why)) => why,
            Err(_) => format!("did not answer for {} s and was ended", longest.as_secs()),
        };
        Err(Silence::Died(self.bury(turn, &why)))
    }

    /// Ends the worker, notes that it did not end by our will, and says how it ended.
    fn bury(&self, turn: &mut Turn, why: &str) -> String {
        let how = turn.live.take().and_then(|mut live| live.worker.ended());
        self.pid.store(0, Ordering::Relaxed);
        self.deaths.fetch_add(1, Ordering::Relaxed);
        turn.deaths += 1;
        // Once may be chance: the next call starts it again. After that, every start waits longer.
        let doubled = 2_u32.pow(turn.deaths.saturating_sub(3).min(16));
        let rest = if turn.deaths < 3 { Duration::ZERO } else { REST * doubled };
        turn.not_before = Some(Instant::now() + rest.min(LONGEST_REST));
        let told = how.map_or_else(|| why.to_owned(), |how| format!("{why} ({how})"));
        tracing::warn!("the process that reads the index of the team {told}");
        told
    }
}

/// Ends a worker that had nothing to do for long.
async fn rest_when_idle(link: Weak<Link>, number: u64, idle: Duration) {
    loop {
        tokio::time::sleep(idle).await;
        let Some(link) = link.upgrade() else { return };
        let mut turn = link.turn.lock().await;
        if turn.live.as_ref().is_none_or(|live| live.number != number) {
            return;
        }
        if turn.used.is_none_or(|used| used.elapsed() >= idle) {
            turn.live = None;
            link.pid.store(0, Ordering::Relaxed);
            return;
        }
    }
}

/// About how many bytes a request carries.
fn size(what: &What) -> usize {
    match what {
        What::Load { chunks, .. } => chunks.iter().map(|chunk| chunk.len()).sum(),
        What::Receive { bytes, .. } => bytes.len(),
        What::Append { entries, .. } | What::Rebuild { entries, .. } => {
            entries.iter().map(|entry| entry.header.len() + 128).sum()
        }
        _ => 0,
    }
}
