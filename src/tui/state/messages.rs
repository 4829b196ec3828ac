//! Short messages over the screen, and the session's log.

use super::AppState;
use crate::tui::msg::Effect;

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// For information.
    Info,
    /// Something succeeded.
    Done,
    /// Something needs attention.
    Warn,
    /// Something failed.
    Bad,
}

/// A short message over the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    pub tone: Tone,
    pub text: String,
    /// The next key to press. It is shown only while that key works, so not while an overlay covers the screen.
    pub hint: String,
    /// When the message disappears, in milliseconds since the Unix epoch.
    pub until: u64,
}

/// One line of the session's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The time in milliseconds since the Unix epoch.
    pub at: u64,
    pub tone: Tone,
    pub text: String,
}

/// How long a toast is shown, in milliseconds.
pub const TOAST_MS: u64 = 6_000;

/// Lines kept in the session's log.
const MAX_LOG_LINES: usize = 500;

impl AppState {
    /// Shows a short message and adds it to the log. The effect wakes the app when the message disappears.
    pub fn toast(&mut self, tone: Tone, text: impl Into<String>) -> Effect {
        self.toast_with(tone, text, "")
    }

    /// [`AppState::toast`] with a hint at the next key, written as for
    /// [`Keymap::say`](crate::tui::action::Keymap::say).
    pub fn toast_with(&mut self, tone: Tone, text: impl Into<String>, hint: &str) -> Effect {
        let text = text.into();
        let hint = self.keys.say(hint);
        self.add_log_line(tone, text.clone());
        let until = self.now + TOAST_MS;
        // A message about a success or for information replaces the earlier ones; a warning or an error stays for its
        // time.
        let replaceable = |tone| matches!(tone, Tone::Done | Tone::Info);
        self.toasts.retain(|toast| toast.text != text && !(replaceable(tone) && replaceable(toast.tone)));
        self.toasts.push(Toast { tone, text, hint, until });
        if self.toasts.len() > 3 {
            self.toasts.remove(0);
        }
        Effect::Wake(until)
    }

    /// Adds a line to the session's log.
    pub fn add_log_line(&mut self, tone: Tone, text: impl Into<String>) {
        if self.log.len() == MAX_LOG_LINES {
            self.log.pop_front();
        }
        self.log.push_back(LogLine { at: self.now, tone, text: text.into() });
    }
}
