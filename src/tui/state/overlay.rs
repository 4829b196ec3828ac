//! What lies over a screen: a form, the palette, a question, a line to type in, the log.

use ratatui_textarea::TextArea;

use super::{Screen, State, form::Form, page::Page};
use crate::tui::{
    action::{self, ActionSpec},
    key::KeyPress,
    msg::Write,
};

/// What lies over the screen; it gets the keys.
#[derive(Clone, Debug)]
pub enum Overlay {
    /// An act being filled in.
    Form(Box<Form>),
    /// Every act, searchable.
    Palette(Palette),
    /// A question before something that cannot be taken back.
    Confirm(Confirm),
    /// One line of text.
    Prompt(Prompt),
    /// The session's log, scrolled up by this many lines.
    Log {
        /// Lines scrolled up from the end.
        up: usize,
    },
    /// A text to read.
    Page(Box<Page>),
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

    /// The acts that fit what is searched for, those of the screen first.
    pub fn acts(&self, state: &State) -> Vec<&'static ActionSpec> {
        let wanted = self.input.lines().join(" ").to_lowercase();
        action::in_chain(state.screen_chain())
            .filter(|spec| {
                let help = state.keys.say(spec.help);
                let text = format!("{} {help} {}", spec.title, state.keys.all(spec.id)).to_lowercase();
                wanted.split_whitespace().all(|word| text.contains(word))
            })
            .collect()
    }
}

impl Default for Palette {
    fn default() -> Self {
        Self::new()
    }
}

/// A question before something that cannot be taken back. Cancel has the focus, the key that asked does not answer, and
/// nothing answers before it has been painted.
#[derive(Clone, Debug)]
pub struct Confirm {
    /// What is asked.
    pub question: String,
    /// What will happen.
    pub effect: String,
    /// What becomes of each thing, where there are several.
    pub list: Vec<Listed>,
    /// The first of them that is shown.
    pub scroll: usize,
    /// The word on the button that does it.
    pub yes: &'static str,
    /// What is sent on yes.
    pub write: Box<Write>,
    /// Whether the button that does it has the focus.
    pub on_yes: bool,
    /// The key that asked.
    pub opener: Option<KeyPress>,
    /// Whether the question has been painted.
    pub painted: bool,
}

impl Confirm {
    /// A question about one thing. `opener` is the key that asks it.
    pub fn new(
        question: impl Into<String>,
        effect: impl Into<String>,
        yes: &'static str,
        write: Write,
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
            painted: false,
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
    /// Of what this is said.
    pub about: String,
}

/// What a typed line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// Words to search claims for.
    Search,
    /// A question for the why-chain.
    Why,
}

/// A line to type in.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What it is for.
    pub asking: Asking,
    /// The text.
    pub input: TextArea<'static>,
    /// What stood there before, to go back to.
    pub before: String,
    /// The screen from which it was opened, where that is another than the one on which the answer is shown.
    pub from: Option<Screen>,
}
