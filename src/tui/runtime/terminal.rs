//! Takes over the terminal, and restores it on every way out: quitting, an error, a panic, a signal.

use std::{
    io::{self, BufWriter, Stdout, Write},
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use crossterm::{
    cursor::{Hide, Show},
    event::{DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture},
    queue,
    terminal::{EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
};
use ratatui::{Terminal, backend::CrosstermBackend};

/// The terminal to draw on, buffered: one write per frame.
pub(super) type AppTerminal = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// Whether the app has taken the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Holds the terminal, and gives it back when it is dropped.
#[derive(Debug)]
pub(super) struct TerminalGuard {
    /// Whether the mouse is captured too.
    pub(super) mouse: bool,
}

impl TerminalGuard {
    /// Takes the terminal. From here on, a panic gives it back before its message is printed.
    pub(super) fn enter(mouse: bool) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                restore();
                before(info);
            }));
        });
        let guard = Self { mouse };
        guard.retake()?;
        Ok(guard)
    }

    /// Takes the terminal again after it was given away.
    pub(super) fn retake(&self) -> io::Result<()> {
        TAKEN.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        let mut out = io::stdout();
        queue!(out, EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        if self.mouse {
            queue!(out, EnableMouseCapture)?;
        }
        out.flush()
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// Creates the screen to draw on.
pub(super) fn screen() -> io::Result<AppTerminal> {
    Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(64 * 1024, io::stdout())))
}

/// Gives the terminal back as it was: mouse, paste, focus, cursor, screen, line mode. A second call does nothing.
pub(super) fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // Errors are ignored: the terminal may be gone.
    let _gone = queue!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        DisableFocusChange,
        LeaveAlternateScreen,
        Show
    );
    let _gone = out.flush();
    let _gone = disable_raw_mode();
}
