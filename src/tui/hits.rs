//! Where things were painted: what a click hits, and how tall each list is.

use ratatui::layout::{Position, Rect};

use super::{action::Action, state::Screen};

/// A part of the screen that takes clicks or scrolls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A tab.
    Tab(Screen),
    /// A row of a list, by its number in the whole list.
    Row(Pane, usize),
    /// A pane.
    Pane(Pane),
    /// An act, in the footer, on a card or on a button.
    Act(Action),
    /// A field of the form.
    Field(usize),
}

/// The parts of the screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pane {
    /// The list of cards.
    Cards,
    /// The card.
    Card,
    /// The scope tree.
    Scopes,
    /// The list of claims.
    Claims,
    /// A claim in full.
    Detail,
    /// The why-chain.
    Chain,
    /// The list in the palette, the log.
    Picks,
}

/// What a frame put where. Later entries lie over earlier ones.
#[derive(Clone, Debug, Default)]
pub struct HitMap {
    areas: Vec<(Rect, Hit)>,
    overflow: Vec<(Pane, usize)>,
}

impl HitMap {
    /// Notes that `hit` was painted in `area`.
    pub fn add(&mut self, area: Rect, hit: Hit) {
        if !area.is_empty() {
            self.areas.push((area, hit));
        }
    }

    /// Notes by how many lines the text of a pane is longer than the pane.
    pub fn add_overflow(&mut self, pane: Pane, lines: usize) {
        self.overflow.push((pane, lines));
    }

    /// By how many lines the text of a pane is longer than the pane; 0 where it was not painted.
    pub fn overflow(&self, pane: Pane) -> usize {
        self.overflow.iter().rev().find(|(own, _)| *own == pane).map_or(0, |(_, lines)| *lines)
    }

    /// What lies topmost at a column and row.
    pub fn at(&self, column: u16, row: u16) -> Option<Hit> {
        self.areas.iter().rev().find(|(area, _)| area.contains(Position::new(column, row))).map(|(_, hit)| *hit)
    }

    /// The inner area of a pane, where it was painted.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.areas.iter().rev().find(|(_, hit)| *hit == Hit::Pane(pane)).map(|(area, _)| *area)
    }

    /// The rows of a pane; a guess of 10 before the first frame.
    pub fn height(&self, pane: Pane) -> usize {
        self.pane(pane).map_or(10, |area| usize::from(area.height))
    }
}
