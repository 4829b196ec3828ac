//! Overlays: forms, dialogs and pages that cover a screen.

use ratatui_textarea::TextArea;

use super::{
    AppState, Screen,
    form::{ActForm, FormSubject},
    judging::JudgingState,
    page::TextPage,
};
use crate::tui::{
    action::{self, ActionSpec},
    fuzzy,
    key::KeyPress,
    msg::WriteRequest,
};

/// A form, dialog or page that covers the screen and takes the keys.
#[derive(Clone, Debug)]
pub enum Overlay {
    /// A form that is being filled in.
    Form(Box<ActForm>),
    /// The palette: all actions, searchable.
    Palette(Palette),
    /// A question before an act, such as one that cannot be undone.
    Confirm(Confirm),
    /// An input line.
    Prompt(PromptInput),
    /// The log of the session.
    Log {
        /// The number of lines scrolled up from the end.
        up: usize,
    },
    /// A text page.
    Page(Box<TextPage>),
    /// Pairs that wait for a verdict, one after another.
    Judging(Box<JudgingState>),
    /// The tour: what ergo is, in a few cards.
    Tour {
        /// The shown card, from 0.
        page: usize,
    },
}

#[derive(Clone, Debug)]
pub struct Palette {
    pub input: TextArea<'static>,
    /// The row under the cursor.
    pub row: usize,
}

impl Palette {
    pub fn new() -> Self {
        Self { input: super::form::one_line(""), row: 0 }
    }

    /// Returns the search text.
    pub fn wanted(&self) -> String {
        self.input.lines().join(" ").trim().to_owned()
    }

    /// Returns the actions that match the search, the best match first: those of the screen or, if none of these
    /// matches, those of the other screens.
    pub fn acts(&self, state: &AppState) -> Vec<&'static ActionSpec> {
        let wanted = self.wanted();
        let here: Vec<&ActionSpec> = action::in_chain(state.screen_chain()).collect();
        if wanted.is_empty() {
            return here;
        }
        let found = matching_actions(&wanted, here, state);
        if !found.is_empty() {
            return found;
        }
        let elsewhere = action::ACTIONS.iter().filter(|spec| spec.scope.is_on_screens());
        matching_actions(&wanted, elsewhere.collect(), state)
    }
}

/// Returns the actions whose name matches, the best match first; then those whose key or explanation has all the words.
fn matching_actions(wanted: &str, all: Vec<&'static ActionSpec>, state: &AppState) -> Vec<&'static ActionSpec> {
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

/// A question before an act, such as one that cannot be undone. Cancel has the focus at first. The key that opened the
/// question does not answer it while held down, and no key answers it before it has been painted.
#[derive(Clone, Debug)]
pub struct Confirm {
    pub question: String,
    /// What the act will do.
    pub effect: String,
    /// What happens to each item, if there are several.
    pub list: Vec<Listed>,
    /// The first visible line of `list`.
    pub scroll: usize,
    /// The label of the button that confirms.
    pub yes: &'static str,
    /// The request that is sent on confirmation.
    pub write: Box<WriteRequest>,
    /// The form from which the act comes, if its draft ends with the act.
    pub about: Option<FormSubject>,
    /// Whether the button that confirms has the focus.
    pub on_yes: bool,
    /// The key that opened the confirmation, until it is released.
    pub opener: Option<KeyPress>,
    /// When the question was first painted; later, when `opener` was last seen held down. In milliseconds since the
    /// Unix epoch.
    pub painted: Option<u64>,
}

impl Confirm {
    /// Creates a question about one item. `opener` is the key that opened it.
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
            about: None,
            on_yes: false,
            opener,
            painted: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Whether the act will change the item.
    pub done: bool,
    /// What the act will do to the item, or why it will not change it.
    pub text: String,
    /// The item that `text` is about.
    pub about: String,
}

/// The purpose of an input line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPurpose {
    /// A search for claims.
    Search,
    Why,
}

/// An input line.
#[derive(Clone, Debug)]
pub struct PromptInput {
    pub asking: PromptPurpose,
    pub input: TextArea<'static>,
    /// The text before the prompt was opened, which is restored on cancel.
    pub before: String,
    /// The screen from which the prompt was opened, if it is not the one that shows the answer.
    pub from: Option<Screen>,
}
