//! A text page over the screen, with its search matches: a scope on a page, or a preview of setup.

use crossterm::event::KeyEvent;
use ratatui_textarea::TextArea;

use super::form::{clear_line, one_line};
use crate::{
    domain::{Scope, text::sanitize_line},
    tui::key::KeyPress,
};

/// What the page is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageSubject {
    /// What is in force in a scope.
    Snapshot(Scope),
    /// What setup would write into the files of agents, or take out of them.
    Setup {
        /// Whether it takes out.
        remove: bool,
    },
    /// What would be written into ergo's section of a file of rules.
    Notes {
        /// The file.
        path: String,
        /// The scope of its claims.
        scope: Scope,
    },
    /// The words to compare while a team is joined.
    Join,
}

/// The page.
#[derive(Clone, Debug)]
pub struct TextPage {
    /// What it is about.
    pub about: PageSubject,
    /// The text; `None` until it was read.
    pub text: Option<String>,
    /// A word in its lower edge.
    pub note: String,
    /// Why it could not be read, and what helps.
    pub error: Option<(String, String)>,
    /// What is searched for on it.
    pub find: Option<Find>,
    /// The first line shown, unless a match is.
    scroll: usize,
}

/// What is searched for on a page.
#[derive(Clone, Debug)]
pub struct Find {
    /// The line to type in.
    pub input: TextArea<'static>,
    /// It is being typed.
    typing: bool,
    /// Which of the matches is shown, from 0.
    pub at: usize,
    /// The page stands where that match is; else where it was scrolled to.
    follows: bool,
}

impl Find {
    /// What is searched for: empty before anything was typed.
    pub fn text(&self) -> String {
        self.input.lines().join(" ").trim().to_owned()
    }
}

impl TextPage {
    /// A page that is still to be read.
    pub fn new(about: PageSubject) -> Self {
        Self { about, text: None, note: String::new(), error: None, find: None, scroll: 0 }
    }

    /// Whether it shows what would be written into files.
    pub fn is_preview(&self) -> bool {
        matches!(self.about, PageSubject::Setup { .. } | PageSubject::Notes { .. })
    }

    /// Whether it shows a difference that could be written.
    pub fn changes_files(&self) -> bool {
        let lines = |text: &String| text.lines().any(|line| line.starts_with("@@"));
        self.is_preview() && self.text.as_ref().is_some_and(lines)
    }

    /// Whether what is searched for is being typed.
    pub fn is_typing(&self) -> bool {
        self.find.as_ref().is_some_and(|find| find.typing)
    }

    /// What is searched for; `None` for nothing.
    pub fn wanted(&self) -> Option<String> {
        self.find.as_ref().map(Find::text).filter(|text| !text.is_empty())
    }

    /// The lines of the text that have what is searched for, by their numbers from 0.
    pub fn matches(&self) -> Vec<usize> {
        let (Some(text), Some(wanted)) = (&self.text, self.wanted()) else { return Vec::new() };
        let has = |line: &str| crate::tui::text::places(&sanitize_line(line), &wanted).next().is_some();
        text.lines().enumerate().filter(|(_, line)| has(line)).map(|(number, _)| number).collect()
    }

    /// The match that is to be in view, from 0 among [`TextPage::matches`]; `None` if the page stands as it was scrolled.
    pub fn shown_match(&self) -> Option<usize> {
        self.find.as_ref().filter(|find| find.follows).map(|find| find.at)
    }

    /// The first line shown; `painted` if a match is followed, which the last frame placed.
    pub fn scroll(&self, painted: usize) -> usize {
        if self.shown_match().is_some() { painted } else { self.scroll }
    }

    /// Scrolls to a line.
    pub fn scroll_to(&mut self, line: usize) {
        self.scroll = line;
        if let Some(find) = &mut self.find {
            find.follows = false;
        }
    }

    /// Begins to type what is searched for.
    pub fn begin_find(&mut self) {
        self.find = Some(Find { input: one_line(""), typing: true, at: 0, follows: false });
    }

    /// A key goes into what is searched for; the first match is shown.
    pub fn typed(&mut self, key: KeyPress) {
        self.change(|input| {
            input.input(KeyEvent::new(key.code, key.mods));
        });
    }

    /// What was typed is taken away.
    pub fn clear(&mut self) {
        self.change(clear_line);
    }

    /// Pasted text goes in as one line.
    pub fn paste(&mut self, text: &str) {
        self.change(|input| {
            input.insert_str(sanitize_line(text));
        });
    }

    fn change(&mut self, change: impl FnOnce(&mut TextArea<'static>)) {
        let Some(find) = self.find.as_mut().filter(|find| find.typing) else { return };
        change(&mut find.input);
        (find.at, find.follows) = (0, true);
    }

    /// What is searched for is typed; nothing is searched for if nothing was.
    pub fn end_typing(&mut self) {
        if let Some(find) = &mut self.find {
            find.typing = false;
        }
        if self.wanted().is_none() {
            self.find = None;
        }
    }

    /// To the next match or the one before, and round.
    pub fn step(&mut self, forward: bool) {
        let count = self.matches().len();
        let Some(find) = self.find.as_mut().filter(|_| count > 0) else { return };
        let by = if forward { 1 } else { count - 1 };
        find.at = (find.at + by) % count;
        find.follows = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_lines_and_go_round() {
        let mut page = TextPage::new(PageSubject::Setup { remove: false });
        page.text = Some("One\ntwo one\nthree\nÖne ONE".into());
        page.step(true);
        assert_eq!((page.wanted(), page.shown_match()), (None, None), "nothing is searched for yet");
        page.begin_find();
        assert!(page.is_typing());
        page.paste("one");
        assert_eq!((page.matches(), page.shown_match()), (vec![0, 1, 3], Some(0)));
        page.end_typing();
        page.step(false);
        assert_eq!(page.shown_match(), Some(2));
        page.step(true);
        assert_eq!(page.shown_match(), Some(0));
        assert_eq!(page.scroll(7), 7);
        page.scroll_to(9);
        assert_eq!((page.scroll(7), page.shown_match()), (9, None));
        page.begin_find();
        page.end_typing();
        assert!(page.find.is_none(), "nothing was typed");
    }
}
