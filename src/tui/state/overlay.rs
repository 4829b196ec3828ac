//! What covers a screen: a form, the palette, a confirmation, an input line, the log.

use ratatui_textarea::TextArea;

use super::{AppState, Screen, form::ActForm, judging::JudgingState, page::TextPage};
use crate::tui::{
    action::{self, ActionSpec},
    fuzzy,
    key::KeyPress,
    msg::WriteRequest,
};

/// What lies over the screen; it gets the keys.
#[derive(Clone, Debug)]
pub enum Overlay {
    /// An act being filled in.
    Form(Box<ActForm>),
    /// Every act, searchable.
    Palette(Palette),
    /// A question before something that cannot be undone.
    Confirm(Confirm),
    /// One line of text.
    Prompt(PromptInput),
    /// The session's log, scrolled up by this many lines.
    Log {
        /// Lines scrolled up from the end.
        up: usize,
    },
    /// A text to read.
    Page(Box<TextPage>),
    /// Pairs that wait for a verdict, one after another.
    Judging(Box<JudgingState>),
    /// What the app is, in a few cards.
    Tour {
        /// The card shown, from 0.
        page: usize,
    },
}

/// The palette.
#[derive(Clone, Debug)]
pub struct Palette {
    /// What is searched for.
    pub input: TextArea<'static>,
    /// The row under the cursor.
    pub row: usize,
}

impl Palette {
    /// An empty one.
    pub fn new() -> Self {
        Self { input: super::form::one_line(""), row: 0 }
    }

    /// What is searched for.
    pub fn wanted(&self) -> String {
        self.input.lines().join(" ").trim().to_owned()
    }

    /// The acts that fit what is searched for, the best first: those of the screen; if none of them does, those of the others.
    pub fn acts(&self, state: &AppState) -> Vec<&'static ActionSpec> {
        let wanted = self.wanted();
        let here: Vec<&ActionSpec> = action::in_chain(state.screen_chain()).collect();
        if wanted.is_empty() {
            return here;
        }
        let found = fitting(&wanted, here, state);
        if !found.is_empty() {
            return found;
        }
        let elsewhere = action::ACTIONS.iter().filter(|spec| spec.scope.is_on_screens());
        fitting(&wanted, elsewhere.collect(), state)
    }
}

/// The acts that are called so, the best first; then those whose key or explanation has the words.
fn fitting(wanted: &str, all: Vec<&'static ActionSpec>, state: &AppState) -> Vec<&'static ActionSpec> {
    let mut names: Vec<(usize, &str)> = Vec::new();
    for (index, spec) in all.iter().enumerate() {
        names.extend(std::iter::once(spec.title).chain(spec.also.iter().copied()).map(|name| (index, name)));
    }
    let texts: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
    let mut order: Vec<usize> = Vec::new();
    let called =
        fuzzy::find(wanted, &texts).into_iter().filter_map(|(name, _)| names.get(name)).map(|(index, _)| *index);
    let words = wanted.to_lowercase();
    let explained = all.iter().enumerate().filter(|(_, spec)| {
        let text = format!("{} {} {}", spec.title, state.keys.say(spec.help), state.keys.all(spec.id)).to_lowercase();
        words.split_whitespace().all(|word| text.contains(word))
    });
    for index in called.chain(explained.map(|(index, _)| index)) {
        if !order.contains(&index) {
            order.push(index);
        }
    }
    order.into_iter().filter_map(|index| all.get(index).copied()).collect()
}

impl Default for Palette {
    fn default() -> Self {
        Self::new()
    }
}

/// A question before something that cannot be undone. Cancel has the focus, the key that asked does not answer while it is held
/// down, and nothing answers before it has been painted.
#[derive(Clone, Debug)]
pub struct Confirm {
    /// What is asked.
    pub question: String,
    /// What will happen.
    pub effect: String,
    /// What becomes of each item, if there are several.
    pub list: Vec<Listed>,
    /// The first of them that is shown.
    pub scroll: usize,
    /// The word on the button that does it.
    pub yes: &'static str,
    /// What is sent on yes.
    pub write: Box<WriteRequest>,
    /// Whether the button that does it has the focus.
    pub on_yes: bool,
    /// The key that asked, until it has been let go.
    pub opener: Option<KeyPress>,
    /// When the question was painted, and then when the key that asked was last seen held down, in milliseconds since the Unix epoch.
    pub painted: Option<u64>,
}

impl Confirm {
    /// A question about one item. `opener` is the key that asks it.
    pub fn new(
        question: impl Into<String>,
        effect: impl Into<String>,
        yes: &'static str,
        write: WriteRequest,
        opener: Option<KeyPress>,
    ) -> Self {
        Self {
            question: question.into(),
            effect: effect.into(),
            list: Vec::new(),
            scroll: 0,
            yes,
            write: Box::new(write),
            on_yes: false,
            opener,
            painted: None,
        }
    }
}

/// One line of a preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// It is done; else it is left as it is.
    pub done: bool,
    /// What is done, or why not.
    pub text: String,
    /// The thing that `text` is about.
    pub about: String,
}

/// What a typed line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPurpose {
    /// Words to search claims for.
    Search,
    /// A question for the why-chain.
    Why,
}

/// A line to type in.
#[derive(Clone, Debug)]
pub struct PromptInput {
    /// What it is for.
    pub asking: PromptPurpose,
    /// The text.
    pub input: TextArea<'static>,
    /// What stood there before, to go back to.
    pub before: String,
    /// The screen from which it was opened, if that is another than the one on which the answer is shown.
    pub from: Option<Screen>,
}
