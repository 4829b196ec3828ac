//! A text to read over the screen: a scope on a page, or what setup would write.

use crate::domain::Scope;

/// What the page is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// What is in force in a scope.
    Snapshot(Scope),
    /// What setup would write into the files of agents, or take out of them.
    Setup {
        /// Whether it takes out.
        remove: bool,
    },
}

/// The page.
#[derive(Clone, Debug)]
pub struct Page {
    /// What it is about.
    pub about: About,
    /// The text; `None` until it was read.
    pub text: Option<String>,
    /// A word in its lower edge.
    pub note: String,
    /// Why it could not be read, and what helps.
    pub trouble: Option<(String, String)>,
    /// The first line shown.
    pub scroll: usize,
}

impl Page {
    /// A page that is still to be read.
    pub fn new(about: About) -> Self {
        Self { about, text: None, note: String::new(), trouble: None, scroll: 0 }
    }

    /// Whether it shows what setup would do.
    pub fn is_setup(&self) -> bool {
        matches!(self.about, About::Setup { .. })
    }

    /// Whether it shows a difference that could be written.
    pub fn changes_files(&self) -> bool {
        let lines = |text: &String| text.lines().any(|line| line.starts_with("@@"));
        self.is_setup() && self.text.as_ref().is_some_and(lines)
    }
}
