//! The options of the app, and its errors.

use std::{io, sync::Arc};

use futures_util::future::BoxFuture;

use super::{
    action::Keymap,
    state::Screen,
    theme::{ColorDepth, Theme, ThemeBase},
    theme_file::ThemeFile,
};
use crate::domain::Scope;

/// Starts the daemon and waits until it answers; the error is one sentence for people.
pub type Starter = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// The options with which the app is opened.
#[derive(Clone, Debug)]
pub struct AppOptions {
    /// The person at the keyboard.
    pub who: String,
    /// The scope of the folder in which the app is opened: what audits and questions are about unless another is
    /// chosen.
    pub home: Scope,
    /// Identities that distinguish the project from others of the same name, the best first.
    pub identities: Vec<String>,
    /// Show only this scope; `None` shows all.
    pub scope: Option<Scope>,
    /// Open this card, by id or prefix.
    pub conflict: Option<String>,
    /// Open this claim's why-chain, by id or prefix.
    pub claim: Option<String>,
    /// Begin on this screen, unless a card or a claim is opened.
    pub screen: Option<Screen>,
    /// Show the tour even if it was shown before.
    pub tour: bool,
    /// The file with the app's memory of earlier sessions; `None` stores nothing, and shows no tour by itself.
    pub memory: Option<std::path::PathBuf>,
    /// The folder of the project, in which sources are looked up; `None` looks none up.
    pub folder: Option<std::path::PathBuf>,
    /// The folder of this machine's state, with the records of injected claims; `None` shows none of them.
    pub state: Option<std::path::PathBuf>,
    /// Nothing may be changed.
    pub read_only: bool,
    /// A demonstration: no file of the person's own is written.
    pub demonstration: bool,
    /// Start the daemon at once if none answers.
    pub autostart: bool,
    /// No colours, whatever the environment says.
    pub no_color: bool,
    /// The theme, unless the theme file names another.
    pub base: ThemeBase,
    /// The person's own theme file.
    pub theme_file: Option<ThemeFile>,
    /// Whether to draw lines and marks in ASCII; `None` does so outside UTF-8 locales.
    pub ascii: Option<bool>,
    /// The key of each action.
    pub keys: Keymap,
    /// Whether the mouse clicks and scrolls in the app.
    pub mouse: bool,
}

impl AppOptions {
    /// Creates options for this person and scope, with nothing else asked for.
    pub fn new(who: impl Into<String>, home: Scope) -> Self {
        Self {
            who: who.into(),
            home,
            identities: Vec::new(),
            scope: None,
            conflict: None,
            claim: None,
            screen: None,
            tour: false,
            memory: None,
            folder: None,
            state: None,
            read_only: false,
            demonstration: false,
            autostart: false,
            no_color: false,
            base: ThemeBase::default(),
            theme_file: None,
            ascii: None,
            keys: Keymap::default(),
            mouse: true,
        }
    }

    /// Returns the theme, limited to what the terminal and the environment can show. `light` says whether the
    /// background is light, if that is known.
    pub fn theme(&self, light: Option<bool>) -> Theme {
        let unicode = !self.ascii.unwrap_or_else(not_utf8);
        if self.is_colorless() {
            // The theme file is ignored: empty parameters take the place of its colours, and would reset the modifiers.
            return Theme::mono(unicode);
        }
        let mut theme = match (self.base(), light) {
            (ThemeBase::Mono, _) => Theme::mono(unicode),
            (ThemeBase::Light, _) | (ThemeBase::Auto, Some(true)) => Theme::light(unicode),
            (ThemeBase::Dark | ThemeBase::Auto, _) => Theme::ansi(unicode),
        };
        if let Some(file) = &self.theme_file {
            file.apply(&mut theme);
        }
        theme.limited(color_depth())
    }

    /// Whether the theme depends on the terminal's background.
    pub fn asks_background(&self) -> bool {
        self.base() == ThemeBase::Auto && !self.is_colorless()
    }

    /// Whether the app draws without colours, whatever its theme.
    pub(super) fn is_colorless(&self) -> bool {
        self.no_color || is_set("NO_COLOR")
    }

    /// Returns the built-in theme: that of the theme file, else that of the options.
    pub(super) fn base(&self) -> ThemeBase {
        self.theme_file.as_ref().and_then(|file| file.base).unwrap_or(self.base)
    }
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Whether the encoding of the locale is not UTF-8.
fn not_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()).map(|value| value.to_lowercase()));
    locale.is_some_and(|locale| !locale.contains("utf-8") && !locale.contains("utf8"))
}

/// Returns how many colours the terminal shows, as far as the environment says.
fn color_depth() -> ColorDepth {
    let says = |name: &str, words: [&str; 2]| {
        std::env::var(name).is_ok_and(|value| words.iter().any(|word| value.contains(word)))
    };
    if says("COLORTERM", ["truecolor", "24bit"]) {
        ColorDepth::Full
    } else if says("TERM", ["256color", "direct"]) {
        ColorDepth::Indexed
    } else {
        ColorDepth::Sixteen
    }
}

/// Why the app could not run, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    #[error("`ergo tui` needs a terminal: use `ergo tui --plain` for the same review as lines")]
    NoTerminal,
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
    /// A bug in ergo; its message was printed where the terminal was given back.
    #[error("the app stopped because of a bug; the daemon and your claims are not affected")]
    Panicked,
}
