//! The areas that were painted: what a click hits, and the height of each list.

use ratatui::layout::{Position, Rect};

use super::{action::Action, state::Screen};

/// A part of the screen that takes clicks or scrolls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    Tab(Screen),
    /// A row of a list, by its number in the whole list.
    Row(Pane, usize),
    Pane(Pane),
    /// An act, in the footer, on a card or on a button.
    Act(Action),
    Field(usize),
}

/// The parts of the screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pane {
    /// The list of cards.
    Cards,
    Card,
    Scopes,
    /// The list of claims.
    Claims,
    /// A claim in full.
    Detail,
    /// The why-chain.
    Chain,
    /// The list of teams and devices.
    Peers,
    /// A team or a device in full.
    Peer,
    /// The list of what needs attention.
    Inbox,
    /// An item of it in full, unless it is a card.
    Item,
    /// The list of acts.
    Acts,
    /// An act in full.
    Act,
    /// The list of rule files, or of insights.
    Notes,
    /// A file of rules or an insight in full.
    Note,
    /// The rows of the story.
    Story,
    /// A mark or a claim of the story in full.
    StoryItem,
    /// Models and the daemon.
    Models,
    /// The list of agents.
    Agents,
    /// The acts of an agent, or the claims injected for it.
    AgentActs,
    /// A text over the screen.
    Page,
    /// A pair that waits for a verdict.
    Pair,
    /// The list in the palette, in the log, or in a confirmation.
    Picks,
}

/// The painted areas of a frame. Later entries lie over earlier ones.
#[derive(Clone, Debug, Default)]
pub struct HitMap {
    areas: Vec<(Rect, Hit)>,
    rows: Vec<(Pane, usize)>,
    overflow: Vec<(Pane, usize)>,
    scroll: Vec<(Pane, usize)>,
    current: Vec<(Pane, usize, Rect)>,
}

impl HitMap {
    /// Records that `hit` was painted in `area`.
    pub fn add(&mut self, area: Rect, hit: Hit) {
        if !area.is_empty() {
            self.areas.push((area, hit));
        }
    }

    /// Records by how many lines the text of a pane is longer than the pane.
    pub fn add_overflow(&mut self, pane: Pane, lines: usize) {
        self.overflow.push((pane, lines));
    }

    /// Returns by how many lines the text of a pane is longer than the pane; 0 if it was not painted.
    pub fn overflow(&self, pane: Pane) -> usize {
        self.overflow.iter().rev().find(|(own, _)| *own == pane).map_or(0, |(_, lines)| *lines)
    }

    /// Records the first line of a pane's text that was painted.
    pub fn add_scroll(&mut self, pane: Pane, line: usize) {
        self.scroll.push((pane, line));
    }

    /// Returns the first line of a pane's text that was painted; 0 if the pane was not.
    pub fn scroll(&self, pane: Pane) -> usize {
        self.scroll.iter().rev().find(|(own, _)| *own == pane).map_or(0, |(_, line)| *line)
    }

    /// Records that a row was painted in `area` as the one under the cursor.
    pub fn add_current(&mut self, pane: Pane, row: usize, area: Rect) {
        self.current.push((pane, row, area));
    }

    /// Returns the areas of the rows under a cursor.
    pub fn current_areas(&self) -> impl Iterator<Item = Rect> {
        self.current.iter().map(|(.., area)| *area)
    }

    /// Returns the rows of a pane that were painted as the one under the cursor: never more than one.
    pub fn current(&self, pane: Pane) -> Vec<usize> {
        self.current.iter().filter(|(own, ..)| *own == pane).map(|(_, row, _)| *row).collect()
    }

    /// Returns the topmost area at a column and row.
    pub fn at(&self, column: u16, row: u16) -> Option<Hit> {
        self.areas.iter().rev().find(|(area, _)| area.contains(Position::new(column, row))).map(|(_, hit)| *hit)
    }

    /// Records that a pane was painted in `area`, and how many rows of its list fit.
    pub fn add_pane(&mut self, area: Rect, pane: Pane, rows: usize) {
        self.add(area, Hit::Pane(pane));
        self.rows.push((pane, rows));
    }

    /// Returns how many rows of a pane's list fit; a guess of 10 if the pane was not painted.
    pub fn height(&self, pane: Pane) -> usize {
        self.rows.iter().rev().find(|(own, _)| *own == pane).map_or(10, |(_, rows)| *rows)
    }
}
