//! A text page over the screen, such as the snapshot of a scope or a preview of setup, and the search on it.

use ratatui_textarea::TextArea;

use super::form::{clear_line, one_line, type_in_line};
use crate::{
    domain::{Scope, text::sanitize_line},
    tui::key::KeyPress,
};

/// The subject of a text page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageSubject {
    /// The active claims of a scope.
    Snapshot(Scope),
    /// What setup would write into the files of agents, or remove from them.
    Setup {
        /// Whether setup removes its entries.
        remove: bool,
    },
    /// What would be written into ergo's section of a rule file.
    Notes {
        path: String,
        /// The scope of the file's claims.
        scope: Scope,
    },
    /// The words to compare while this device joins a team.
    Join,
}

/// A text page over the screen.
#[derive(Clone, Debug)]
pub struct TextPage {
    pub about: PageSubject,
    /// The text; `None` before it was read.
    pub text: Option<String>,
    /// A short note in the lower border.
    pub note: String,
    /// The error message and a hint, if reading failed.
    pub error: Option<(String, String)>,
    /// The search on the page, if there is one.
    pub find: Option<Find>,
    /// The first visible line, unless the page follows a match.
    scroll: usize,
}

/// A search on a page.
#[derive(Clone, Debug)]
pub struct Find {
    pub input: TextArea<'static>,
    /// Whether the search text is still being typed.
    typing: bool,
    /// The index of the current match, among [`TextPage::matches`].
    pub at: usize,
    /// Whether the page is scrolled to the current match; otherwise it stays where it was scrolled by hand.
    follows_match: bool,
}

impl Find {
    /// Returns the search text; empty before anything was typed.
    pub fn text(&self) -> String {
        self.input.lines().join(" ").trim().to_owned()
    }
}

impl TextPage {
    /// Creates a page whose text is not read yet.
    pub fn new(about: PageSubject) -> Self {
        Self { about, text: None, note: String::new(), error: None, find: None, scroll: 0 }
    }

    /// Returns whether the page shows what would be written into files.
    pub fn is_preview(&self) -> bool {
        matches!(self.about, PageSubject::Setup { .. } | PageSubject::Notes { .. })
    }

    /// Returns whether the page shows changes that can be written: its text has the header of a diff hunk.
    pub fn changes_files(&self) -> bool {
        let lines = |text: &String| text.lines().any(|line| line.starts_with("@@"));
        self.is_preview() && self.text.as_ref().is_some_and(lines)
    }

    /// Returns whether the search text is being typed.
    pub fn is_typing(&self) -> bool {
        self.find.as_ref().is_some_and(|find| find.typing)
    }

    /// Returns the search text; `None` if it is empty.
    pub fn wanted(&self) -> Option<String> {
        self.find.as_ref().map(Find::text).filter(|text| !text.is_empty())
    }

    /// Returns the numbers of the lines that contain the search text, from 0.
    pub fn matches(&self) -> Vec<usize> {
        let (Some(text), Some(wanted)) = (&self.text, self.wanted()) else { return Vec::new() };
        let has = |line: &str| crate::tui::text::places(&sanitize_line(line), &wanted).next().is_some();
        text.lines().enumerate().filter(|(_, line)| has(line)).map(|(number, _)| number).collect()
    }

    /// Returns the index of the match to keep in view, among [`TextPage::matches`]; `None` if the page stays where it
    /// was scrolled by hand.
    pub fn shown_match(&self) -> Option<usize> {
        self.find.as_ref().filter(|find| find.follows_match).map(|find| find.at)
    }

    /// Returns the first visible line. While the page follows a match, that is `painted`, the line that the last frame
    /// chose.
    pub fn scroll(&self, painted: usize) -> usize {
        if self.shown_match().is_some() { painted } else { self.scroll }
    }

    /// Scrolls to a line.
    pub fn scroll_to(&mut self, line: usize) {
        self.scroll = line;
        if let Some(find) = &mut self.find {
            find.follows_match = false;
        }
    }

    /// Starts a search.
    pub fn begin_find(&mut self) {
        self.find = Some(Find { input: one_line(""), typing: true, at: 0, follows_match: false });
    }

    /// Types a key into the search text, and shows the first match.
    pub fn typed(&mut self, key: KeyPress) {
        self.change(|input| type_in_line(input, key));
    }

    /// Deletes the search text.
    pub fn clear(&mut self) {
        self.change(clear_line);
    }

    /// Pastes text into the search text, as one line.
    pub fn paste(&mut self, text: &str) {
        self.change(|input| input.insert_str(sanitize_line(text)));
    }

    fn change(&mut self, change: impl FnOnce(&mut TextArea<'static>) -> bool) {
        let Some(find) = self.find.as_mut().filter(|find| find.typing) else { return };
        change(&mut find.input);
        (find.at, find.follows_match) = (0, true);
    }

    /// Ends the typing of the search text. An empty search is closed.
    pub fn end_typing(&mut self) {
        if let Some(find) = &mut self.find {
            find.typing = false;
        }
        if self.wanted().is_none() {
            self.find = None;
        }
    }

    /// Goes to the next or previous match, in a cycle.
    pub fn step(&mut self, forward: bool) {
        let count = self.matches().len();
        let Some(find) = self.find.as_mut().filter(|_| count > 0) else { return };
        let by = if forward { 1 } else { count - 1 };
        find.at = (find.at + by) % count;
        find.follows_match = true;
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
