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

/// The terminal as it is drawn on: one write a frame.
pub(super) type AppTerminal = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// Whether the terminal is ours.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Holds the terminal; gives it back when dropped.
#[derive(Debug)]
pub(super) struct TerminalGuard {
    /// Whether the mouse is taken too.
    pub(super) mouse: bool,
}

impl TerminalGuard {
    /// Takes the terminal. From here on a defect gives it back before its message is printed.
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
        guard.again()?;
        Ok(guard)
    }

    /// Takes the terminal again after it was given away.
    pub(super) fn again(&self) -> io::Result<()> {
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

/// The screen to draw on.
pub(super) fn screen() -> io::Result<AppTerminal> {
    Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(64 * 1024, io::stdout())))
}

/// Gives the terminal back as it was: mouse, paste, focus, cursor, screen, line mode. Doing it twice does nothing more.
pub(super) fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // The terminal may be gone: there is nobody left to tell.
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
