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
use terminal_background::LateAnswerFilter;

const MIN_FRAME_INTERVAL: Duration = Duration::from_millis(16);

/// How long after the terminal came back from the editor an interrupt is still taken for one that was meant for the
/// editor.
///
/// Signals and keys are read concurrently, so their order does not tell. While the app has the terminal, Ctrl-C is a
/// key and not an interrupt.
const EDITOR_INTERRUPT_WINDOW: Duration = Duration::from_secs(1);

/// How long the app waits for acts on their way when it is left, or its terminal is closed, so that they are not lost.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// The capacity of the message queue, and the most messages that are handled before a frame.
const QUEUE_SIZE: usize = 256;

/// The environment variable that makes the app panic after its first frame, so that a test can look at what is left.
/// Only debug builds know it.
#[cfg(debug_assertions)]
const PANIC_VARIABLE: &str = "ERGO_TEST_PANIC";

/// Runs the app until the person leaves it. Creates its own runtime on this thread, so it must not be called within
/// one.
pub fn run(options: AppOptions, client: Client, start: Starter) -> Result<(), TuiError> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(TuiError::NoTerminal);
    }
    let runtime = runtime()?;
    let result = runtime.block_on(async { Box::pin(App::new(options, client, start)?.run()).await });
    // A request that hangs must not delay the person who leaves.
    runtime.shutdown_background();
    result
}

/// Creates the runtime. Requests run on a thread of their own, so that they go on while an editor has the terminal and
/// blocks this one: a write under way would exceed its deadline otherwise.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// Milliseconds since the Unix epoch.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn settings(options: &AppOptions) -> Result<AppSettings, TuiError> {
    let mut seed = [0; 16];
    getrandom::fill(&mut seed).map_err(|error| TuiError::Terminal(std::io::Error::other(error.to_string())))?;
    Ok(AppSettings {
        who: options.who.clone(),
        scope: options.home.clone(),
        identities: options.identities.clone(),
        read_only: options.read_only,
        no_color: options.is_colorless(),
        demonstration: options.demonstration,
        zone: TimeZone::system(),
        seed,
        autostart: options.autostart,
        last_here: None,
        tour: options.tour,
    })
}

/// Adds what earlier sessions on this machine have stored.
fn with_memory(options: &AppOptions, settings: AppSettings) -> AppSettings {
    let Some(path) = &options.memory else { return settings };
    let kept = AppMemory::read(path);
    // A person who opens a link wants to see its target, not the tour.
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
    /// The folder of the project.
    folder: Option<PathBuf>,
    /// The folder of this machine's state.
    state_folder: Option<Arc<PathBuf>>,
    theme: Theme,
    /// The options, from which another theme is computed.
    options: AppOptions,
    /// Whether the terminal's background is light, if it is known.
    light: Option<bool>,
    client: Client,
    start: Starter,
    screen: AppTerminal,
    guard: TerminalGuard,
    events: Option<EventStream>,
    late_answers: LateAnswerFilter,
    /// The keys that were typed before the terminal answered.
    typed: Vec<KeyPress>,
    tasks: JoinSet<()>,
    /// Tasks of acts that are on their way, to the daemon or to the clipboard.
    acts: JoinSet<()>,
    sender: mpsc::Sender<Msg>,
    receiver: mpsc::Receiver<Msg>,
    /// Makes the event stream reconnect at once.
    reconnect: Arc<Notify>,
    /// Times at which the app asked to be woken, in milliseconds since the Unix epoch.
    wakes: Vec<u64>,
    dirty: bool,
    last_drawn: Option<Instant>,
    leaving: bool,
    /// When the terminal came back from another program. See [`EDITOR_INTERRUPT_WINDOW`].
    terminal_back: Option<Instant>,
}

impl App {
    fn new(options: AppOptions, client: Client, start: Starter) -> Result<Self, TuiError> {
        let (sender, receiver) = mpsc::channel(QUEUE_SIZE);
        let settings = with_memory(&options, settings(&options)?);
        let guard = TerminalGuard::enter(options.mouse)?;
        let asked = if options.asks_background() {
            terminal_background::detect()
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
        let all_options = options.clone();
        Ok(Self {
            state,
            opening: opening(&options),
            memory: options.memory.map(|path| Arc::new(MemoryFile::read(path))),
            folder: options.folder,
            state_folder: options.state.map(Arc::new),
            theme,
            options: all_options,
            light: asked.light,
            client,
            start,
            screen,
            guard,
            events: Some(EventStream::new()),
            late_answers: LateAnswerFilter::new(asked.late, Instant::now()),
            typed: asked.typed,
            tasks: JoinSet::new(),
            acts: JoinSet::new(),
            sender,
            receiver,
            reconnect: Arc::new(Notify::new()),
            wakes: Vec::new(),
            dirty: true,
            last_drawn: None,
            leaving: false,
            terminal_back: None,
        })
    }

    async fn run(mut self) -> Result<(), TuiError> {
        let mut end =
            [signal(SignalKind::terminate())?, signal(SignalKind::hangup())?, signal(SignalKind::interrupt())?];
        self.tasks.spawn(live::follow(self.client.clone(), self.sender.clone(), self.reconnect.clone()));
        let effects = update::open(&mut self.state, std::mem::take(&mut self.opening));
        self.execute(effects)?;
        let typed = std::mem::take(&mut self.typed);
        self.handle(typed.into_iter().map(Msg::Key).collect())?;
        let result = self.run_loop(&mut end).await;
        // Give the terminal back before waiting for the last acts.
        terminal::restore();
        let arrived = async { while self.acts.join_next().await.is_some() {} };
        let _late = tokio::time::timeout(EXIT_TIMEOUT, arrived).await;
        if let Some(memory) = &self.memory {
            memory.change(|kept| kept.last_here = Some(now()));
            memory.write();
        }
        result
    }

    /// Runs until the person leaves, or the terminal is gone.
    async fn run_loop(&mut self, end: &mut [Signal; 3]) -> Result<(), TuiError> {
        while !self.leaving {
            self.draw_if_due()?;
            match self.next(end).await {
                Next::Messages(messages) => self.handle(messages)?,
                Next::Deadline => {}
                Next::Ended(Err(error)) if error.is_panic() => return Err(TuiError::Panicked),
                Next::Ended(_) => {}
                Next::Leave => break,
            }
        }
        Ok(())
    }

    /// Waits for what happens next: messages, a deadline, the end of a task, or a signal.
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
                while messages.len() < QUEUE_SIZE && let Ok(message) = self.receiver.try_recv() {
                    messages.push(message);
                }
                return Next::Messages(messages);
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => return Next::Deadline,
            Some(ended) = self.tasks.join_next(), if !self.tasks.is_empty() => return Next::Ended(ended),
            Some(ended) = self.acts.join_next(), if !self.acts.is_empty() => return Next::Ended(ended),
            _ = terminate.recv() => return Next::Leave,
            _ = hangup.recv() => return Next::Leave,
            _ = interrupt.recv() => {
                let is_for_editor = self.terminal_back.is_some_and(|back| back.elapsed() < EDITOR_INTERRUPT_WINDOW);
                return if is_for_editor { Next::Deadline } else { Next::Leave };
            }
        };
        let mut messages = Vec::new();
        let mut event = event;
        loop {
            match event {
                Some(Ok(event)) if self.late_answers.drops(&event, Instant::now()) => {}
                Some(Ok(event)) => messages.extend(message(event)),
                // The terminal is gone.
                Some(Err(_)) | None => return Next::Leave,
            }
            if messages.len() >= QUEUE_SIZE {
                break;
            }
            // Polled with the task's own waker: the stream keeps the first one it is polled with until that fires.
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

    /// Returns when the loop must go on although nothing arrives: for the next frame, or because the app asked to be
    /// woken.
    fn deadline(&self) -> Option<Instant> {
        let frame = self.dirty.then(|| self.last_drawn.map_or_else(Instant::now, |drawn| drawn + MIN_FRAME_INTERVAL));
        let now = now();
        let wake = self.wakes.iter().min().map(|at| Instant::now() + Duration::from_millis(at.saturating_sub(now)));
        frame.into_iter().chain(wake).min()
    }

    fn handle(&mut self, messages: Vec<Msg>) -> Result<(), TuiError> {
        for message in messages {
            if matches!(message, Msg::Started(Ok(()))) {
                self.reconnect.notify_one();
            }
            if let Msg::Copied(_, Some(rest)) = &message {
                self.copy_by_terminal(rest)?;
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
            self.handle(vec![Msg::Woken])?;
        }
        if !self.dirty || self.last_drawn.is_some_and(|drawn| drawn.elapsed() < MIN_FRAME_INTERVAL) {
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
        self.last_drawn = Some(Instant::now());
        #[cfg(debug_assertions)]
        if std::env::var_os(PANIC_VARIABLE).is_some() {
            #[allow(clippy::panic, reason = "a test asks for it")]
            std::panic::panic_any("asked to stop by a defect");
        }
        Ok(())
    }
}

/// Why [`App::next`] returned.
enum Next {
    Messages(Vec<Msg>),
    Deadline,
    Ended(Result<(), JoinError>),
    Leave,
}

/// Converts a terminal event into a message; `None` if the app does not use it.
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

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    #[test]
    fn requests_go_on_while_an_editor_blocks_the_thread_of_the_app() {
        let (sender, receiver) = mpsc::channel();
        super::runtime().unwrap().block_on(async {
            drop(tokio::spawn(async move { sender.send(()) }));
            assert_eq!(receiver.recv_timeout(Duration::from_secs(10)), Ok(()));
        });
    }
}
