//! The loop around the pure core: it owns the terminal, the keys, the clock, the requests and the event stream.

mod calls;
#[cfg(any(test, feature = "testing"))]
mod capture;
#[cfg(any(test, feature = "testing"))]
mod cast;
mod copy;
mod editor;
mod effects;
mod live;
mod memory_file;
#[cfg(any(test, feature = "testing"))]
mod svg;
mod terminal;
mod terminal_background;

use std::{
    io::IsTerminal,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crossterm::{
    event::{Event, EventStream},
    execute, queue,
    terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate},
};
use futures_util::StreamExt;
use jiff::tz::TimeZone;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{Notify, mpsc},
    task::{JoinError, JoinSet},
    time::{Instant, sleep_until},
};

#[cfg(any(test, feature = "testing"))]
pub use capture::{capture, record};

use super::{
    AppOptions, Starter, TuiError,
    key::KeyPress,
    msg::Msg,
    state::{AppSettings, AppState},
    theme::Theme,
    update::{self, Opening},
    view,
};
use crate::{client::Client, config::AppMemory};
use memory_file::MemoryFile;
use terminal::{AppTerminal, TerminalGuard};
use terminal_background::Swallow;

/// The least time between two frames.
const FRAME: Duration = Duration::from_millis(16);

/// How long after the terminal came back an interrupt is taken for one that was meant for the editor: signals and keys are
/// read side by side, so that their order does not tell. With the terminal taken, Ctrl-C is a key and no interrupt.
const ECHO: Duration = Duration::from_secs(1);

/// How long an act that is on its way is waited for when the app is left, or its terminal is closed: it shall not be lost.
const LINGER: Duration = Duration::from_secs(3);

/// Messages that may wait, and the most that are taken before a frame.
const QUEUE: usize = 256;

/// Names the environment variable that makes the app stop by a defect after its first frame: a test looks at what is left.
/// Only in a debug build: the optimised program, which people have, does not know it.
#[cfg(debug_assertions)]
const PANIC: &str = "ERGO_TEST_PANIC";

/// Runs the app until the person leaves it. Makes its own runtime on this thread: call it from outside of one.
pub fn run(options: AppOptions, client: Client, start: Starter) -> Result<(), TuiError> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(TuiError::NoTerminal);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async { Box::pin(App::new(options, client, start)?.run()).await });
    // A request that hangs does not hold up the person who leaves.
    runtime.shutdown_background();
    result
}

/// Milliseconds since the Unix epoch.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn settings(options: &AppOptions, client: &Client) -> Result<AppSettings, TuiError> {
    let mut seed = [0; 16];
    getrandom::fill(&mut seed).map_err(|error| TuiError::Terminal(std::io::Error::other(error.to_string())))?;
    Ok(AppSettings {
        who: options.who.clone(),
        scope: options.home.clone(),
        identities: options.identities.clone(),
        read_only: options.read_only,
        demonstration: options.demonstration,
        zone: TimeZone::system(),
        seed,
        autostart: options.autostart,
        place: client.place(),
        last_here: None,
        tour: options.tour,
    })
}

/// What was kept of earlier sessions on this machine.
fn recall(options: &AppOptions, settings: AppSettings) -> AppSettings {
    let Some(path) = &options.memory else { return settings };
    let kept = AppMemory::read(path);
    // Whoever follows a link wants what it leads to.
    let linked = options.conflict.is_some() || options.claim.is_some();
    AppSettings { last_here: kept.last_here, tour: settings.tour || !(kept.toured || linked), ..settings }
}

fn opening(options: &AppOptions) -> Opening {
    Opening {
        card: options.conflict.clone(),
        claim: options.claim.clone(),
        scope: options.scope.clone(),
        screen: options.screen,
    }
}

struct App {
    state: AppState,
    opening: Opening,
    memory: Option<Arc<MemoryFile>>,
    folder: Option<PathBuf>,
    /// The folder of this machine's state.
    kept: Option<Arc<PathBuf>>,
    theme: Theme,
    /// How the app was to look, for another theme.
    look: AppOptions,
    /// Whether the terminal's background is light, if it is known.
    light: Option<bool>,
    client: Client,
    start: Starter,
    screen: AppTerminal,
    guard: TerminalGuard,
    events: Option<EventStream>,
    swallow: Swallow,
    /// What was typed before the terminal answered.
    typed: Vec<KeyPress>,
    tasks: JoinSet<()>,
    /// Acts on their way, to the daemon or to the clipboard.
    acts: JoinSet<()>,
    sender: mpsc::Sender<Msg>,
    receiver: mpsc::Receiver<Msg>,
    again: Arc<Notify>,
    wakes: Vec<u64>,
    dirty: bool,
    drawn: Option<Instant>,
    leave: bool,
    /// When the terminal came back: an interrupt that arrives within [`ECHO`] of it was typed at the editor.
    back: Option<Instant>,
}

impl App {
    fn new(options: AppOptions, client: Client, start: Starter) -> Result<Self, TuiError> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let settings = recall(&options, settings(&options, &client)?);
        let guard = TerminalGuard::enter(options.mouse)?;
        let asked = if options.asks_background() {
            terminal_background::look()
        } else {
            terminal_background::BackgroundAnswer::default()
        };
        let theme = options.theme(asked.light);
        let screen = terminal::screen()?;
        let size = screen.size()?;
        let mut state = AppState::new(settings, (size.width, size.height), now());
        state.mouse = options.mouse;
        state.keys = options.keys.clone();
        state.theme = options.base();
        let look = options.clone();
        Ok(Self {
            state,
            opening: opening(&options),
            memory: options.memory.map(|path| Arc::new(MemoryFile::at(path))),
            folder: options.folder,
            kept: options.state.map(Arc::new),
            theme,
            look,
            light: asked.light,
            client,
            start,
            screen,
            guard,
            events: Some(EventStream::new()),
            swallow: Swallow::new(asked.late, Instant::now()),
            typed: asked.typed,
            tasks: JoinSet::new(),
            acts: JoinSet::new(),
            sender,
            receiver,
            again: Arc::new(Notify::new()),
            wakes: Vec::new(),
            dirty: true,
            drawn: None,
            leave: false,
            back: None,
        })
    }

    async fn run(mut self) -> Result<(), TuiError> {
        let mut end =
            [signal(SignalKind::terminate())?, signal(SignalKind::hangup())?, signal(SignalKind::interrupt())?];
        self.tasks.spawn(live::follow(self.client.clone(), self.sender.clone(), self.again.clone()));
        let effects = update::open(&mut self.state, std::mem::take(&mut self.opening));
        self.execute(effects)?;
        let typed = std::mem::take(&mut self.typed);
        self.take(typed.into_iter().map(Msg::Key).collect())?;
        let result = self.turn(&mut end).await;
        // The person has the terminal back while what they did last arrives.
        terminal::restore();
        let arrived = async { while self.acts.join_next().await.is_some() {} };
        let _late = tokio::time::timeout(LINGER, arrived).await;
        if let Some(memory) = &self.memory {
            memory.note(|kept| kept.last_here = Some(now()));
            memory.write();
        }
        result
    }

    /// Until the person leaves, or the terminal is gone.
    async fn turn(&mut self, end: &mut [Signal; 3]) -> Result<(), TuiError> {
        while !self.leave {
            self.draw_if_due()?;
            match self.next(end).await {
                Next::Messages(messages) => self.take(messages)?,
                Next::Time => {}
                Next::Ended(Err(error)) if error.is_panic() => return Err(TuiError::Panicked),
                Next::Ended(_) => {}
                Next::Leave => break,
            }
        }
        Ok(())
    }

    /// Waits for the next thing to happen: nothing runs meanwhile.
    async fn next(&mut self, end: &mut [Signal; 3]) -> Next {
        let deadline = self.deadline();
        let [terminate, hangup, interrupt] = end;
        let events = async {
            match &mut self.events {
                Some(events) => events.next().await,
                None => std::future::pending().await,
            }
        };
        let event = tokio::select! {
            event = events => event,
            message = self.receiver.recv() => {
                let mut messages: Vec<Msg> = message.into_iter().collect();
                while messages.len() < QUEUE && let Ok(message) = self.receiver.try_recv() {
                    messages.push(message);
                }
                return Next::Messages(messages);
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => return Next::Time,
            Some(ended) = self.tasks.join_next(), if !self.tasks.is_empty() => return Next::Ended(ended),
            Some(ended) = self.acts.join_next(), if !self.acts.is_empty() => return Next::Ended(ended),
            _ = terminate.recv() => return Next::Leave,
            _ = hangup.recv() => return Next::Leave,
            _ = interrupt.recv() => {
                let echo = self.back.is_some_and(|back| back.elapsed() < ECHO);
                return if echo { Next::Time } else { Next::Leave };
            }
        };
        let mut messages = Vec::new();
        let mut event = event;
        loop {
            match event {
                Some(Ok(event)) if self.swallow.takes(&event, Instant::now()) => {}
                Some(Ok(event)) => messages.extend(message(event)),
                // The terminal is gone.
                Some(Err(_)) | None => return Next::Leave,
            }
            if messages.len() >= QUEUE {
                break;
            }
            // With the task's own waker: the stream keeps the first one it is polled with until it fires.
            let ready = std::future::poll_fn(|context| {
                std::task::Poll::Ready(match &mut self.events {
                    Some(events) => events.poll_next_unpin(context),
                    None => std::task::Poll::Pending,
                })
            });
            let std::task::Poll::Ready(next) = ready.await else { break };
            event = next;
        }
        Next::Messages(messages)
    }

    /// When something must happen although nothing arrives: a frame that is owed, a message that goes.
    fn deadline(&self) -> Option<Instant> {
        let frame = self.dirty.then(|| self.drawn.map_or_else(Instant::now, |drawn| drawn + FRAME));
        let now = now();
        let wake = self.wakes.iter().min().map(|at| Instant::now() + Duration::from_millis(at.saturating_sub(now)));
        frame.into_iter().chain(wake).min()
    }

    fn take(&mut self, messages: Vec<Msg>) -> Result<(), TuiError> {
        for message in messages {
            if matches!(message, Msg::Started(Ok(()))) {
                self.again.notify_one();
            }
            if let Msg::Copied(_, Some(rest)) = &message {
                self.tell_terminal(rest)?;
            }
            update::update(&mut self.state, Msg::Clock(now()));
            let effects = update::update(&mut self.state, message);
            self.dirty = true;
            self.execute(effects)?;
        }
        Ok(())
    }

    fn draw_if_due(&mut self) -> Result<(), TuiError> {
        let at = now();
        if self.wakes.iter().any(|wake| *wake <= at) {
            self.wakes.retain(|wake| *wake > at);
            self.take(vec![Msg::Woken])?;
        }
        if !self.dirty || self.drawn.is_some_and(|drawn| drawn.elapsed() < FRAME) {
            return Ok(());
        }
        let (state, theme) = (&self.state, &self.theme);
        let mut hits = None;
        queue!(self.screen.backend_mut(), BeginSynchronizedUpdate)?;
        self.screen.draw(|frame| {
            let area = frame.area();
            hits = Some(view::draw(state, theme, area, frame.buffer_mut()));
        })?;
        execute!(self.screen.backend_mut(), EndSynchronizedUpdate)?;
        self.state.painted(hits.unwrap_or_default());
        self.dirty = false;
        self.drawn = Some(Instant::now());
        #[cfg(debug_assertions)]
        if std::env::var_os(PANIC).is_some() {
            #[allow(clippy::panic, reason = "a test asks for it")]
            std::panic::panic_any("asked to stop by a defect");
        }
        Ok(())
    }
}

enum Next {
    Messages(Vec<Msg>),
    Time,
    Ended(Result<(), JoinError>),
    Leave,
}

/// A terminal event as a message; those that mean nothing here are none.
fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) => KeyPress::from_event(key).map(Msg::Key),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Resize(columns, rows) => Some(Msg::Resize(columns, rows)),
        Event::Mouse(mouse) => match mouse.kind {
            crossterm::event::MouseEventKind::Moved => None,
            kind => Some(Msg::Mouse { kind, column: mouse.column, row: mouse.row }),
        },
        Event::FocusGained | Event::FocusLost => None,
    }
}
