//! Short messages over the screen, and the session's log.

use super::AppState;
use crate::tui::msg::Effect;

/// How a toast is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// For information.
    Info,
    /// Something is done.
    Done,
    /// Something wants attention.
    Warn,
    /// Something failed.
    Bad,
}

/// A short message over the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    /// How it is meant.
    pub tone: Tone,
    /// The message.
    pub text: String,
    /// The key with which one goes on from it; shown where that key works: not while something lies over the screen.
    pub hint: String,
    /// When it goes, in milliseconds since the Unix epoch.
    pub until: u64,
}

/// One line of the session's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// How it is meant.
    pub tone: Tone,
    /// What happened.
    pub text: String,
}

/// Milliseconds for which a toast stays.
pub const TOAST_MS: u64 = 6_000;

/// Lines kept in the session's log.
const LOG: usize = 500;

impl AppState {
    /// Shows a short message, keeps it in the log, and asks to be woken when it goes.
    pub fn toast(&mut self, tone: Tone, text: impl Into<String>) -> Effect {
        self.toast_with(tone, text, "")
    }

    /// [`AppState::toast`] with a key to go on by, written as for [`Keymap::say`](crate::tui::action::Keymap::say).
    pub fn toast_with(&mut self, tone: Tone, text: impl Into<String>, hint: &str) -> Effect {
        let text = text.into();
        let hint = self.keys.say(hint);
        self.note(tone, text.clone());
        let until = self.now + TOAST_MS;
        // News of one kind replaces the news before it; what went wrong stays its time.
        let last_change = |tone| matches!(tone, Tone::Done | Tone::Info);
        self.toasts.retain(|toast| toast.text != text && !(last_change(tone) && last_change(toast.tone)));
        self.toasts.push(Toast { tone, text, hint, until });
        if self.toasts.len() > 3 {
            self.toasts.remove(0);
        }
        Effect::Wake(until)
    }

    /// Keeps a line in the session's log.
    pub fn note(&mut self, tone: Tone, text: impl Into<String>) {
        if self.log.len() == LOG {
            self.log.pop_front();
        }
        self.log.push_back(LogLine { at: self.now, tone, text: text.into() });
    }
}
