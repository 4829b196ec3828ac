//! The view: draws the state into cells and returns the painted areas.
//!
//! Invariant: no I/O and no clock here. Every text that comes from memory passes [`super::text`], which sanitises it.
#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::indexing_slicing)]

mod acts;
mod agents;
mod card;
mod chrome;
mod claim;
mod claim_pair;
mod claims;
mod conflicts;
mod dialog;
mod empty;
mod evidence;
mod form;
mod inbox;
mod inbox_detail;
mod inbox_item;
mod judging;
mod log;
mod models;
mod norms;
mod note_files;
mod page;
mod paint;
mod palette;
mod peer;
mod peers;
mod progress;
mod story;
mod story_card;
mod timeline;
mod toasts;
mod tour;
mod tree;
mod verdict_fields;
mod why;

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    hits::HitMap,
    state::{AppState, Overlay, Screen, is_narrow},
    text,
    theme::Theme,
};
use crate::domain::text::unprintable;
use paint::Paint;

/// The smallest terminal on which the app is usable, in columns and rows.
pub const MIN_SIZE: (u16, u16) = (40, 10);

/// How the parts of a screen are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Parts side by side.
    Wide,
    /// Two or three parts at a time, some below others.
    Mid,
    /// One part at a time.
    Single,
}

impl Shape {
    /// Returns the shape for the size of the whole drawn area.
    fn of(paint: &Paint<'_>) -> Self {
        if is_narrow(paint.size) {
            Self::Single
        } else if paint.size.0 >= 100 {
            Self::Wide
        } else {
            Self::Mid
        }
    }
}

/// Returns the width of a list beside the item under the cursor.
fn list_width(area: Rect) -> u16 {
    (area.width * 3 / 8).clamp(28, 64)
}

/// Draws the app into `area` of `buffer` and returns the painted areas.
///
/// Architecture Invariant: no cell holds a control, bidirectional or zero-width character afterwards, except a joiner
/// of letters, whatever a view forgot: the buffer goes to the terminal as it is.
pub fn draw(state: &AppState, theme: &Theme, area: Rect, buffer: &mut Buffer) -> HitMap {
    let hits = draw_parts(state, theme, area, buffer);
    for cell in &mut buffer.content {
        if unprintable(cell.symbol()).is_some() {
            // Without its joiners, an emoji of several parts would be wider than its cells.
            let shown = text::first_cells(&text::line(cell.symbol()), text::width(cell.symbol()));
            cell.set_symbol(if shown.is_empty() { " " } else { &shown });
        }
        // Terminals disagree about the width of a flag, and then leave parts of it behind.
        if let Some(letters) = text::flag_letters(cell.symbol()) {
            cell.set_symbol(&letters);
        }
        if theme.glyphs.is_ascii() {
            cell.set_symbol(match cell.symbol() {
                // `_` has no other meaning on the screens, and paths do not begin with it.
                "…" => "_",
                "“" | "”" => "\"",
                "‘" | "’" => "'",
                _ => continue,
            });
        }
    }
    hits
}

fn draw_parts(state: &AppState, theme: &Theme, area: Rect, buffer: &mut Buffer) -> HitMap {
    let area = area.intersection(buffer.area);
    let mut paint = Paint::new(state, theme, area, buffer);
    if area.width < MIN_SIZE.0 || area.height < MIN_SIZE.1 {
        too_small(&mut paint, area);
        return paint.hits;
    }
    let (top, body, bottom) = chrome::split(area);
    chrome::top(&mut paint, top);
    if empty::offline(&mut paint, body) {
        // Only how to start the daemon is shown.
    } else {
        match state.screen {
            Screen::Cards => conflicts::draw(&mut paint, body),
            Screen::Claims => claims::draw(&mut paint, body),
            Screen::Why => why::draw(&mut paint, body),
            Screen::Peers => peers::draw(&mut paint, body),
            Screen::Inbox => inbox::draw(&mut paint, body),
            Screen::Timeline => match &state.timeline.story {
                Some(shown) => story::draw(&mut paint, body, shown),
                None => acts::draw(&mut paint, body),
            },
            Screen::Models => models::draw(&mut paint, body),
            Screen::Agents => agents::draw(&mut paint, body),
            Screen::Notes => note_files::draw(&mut paint, body),
        }
    }
    chrome::bottom(&mut paint, bottom);
    if let Some(Overlay::Judging(open)) = &state.overlay {
        judging::draw(&mut paint, body, open);
    }
    // While pairs are judged, the keys must stay visible.
    let is_judging = matches!(state.overlay, Some(Overlay::Judging(_)));
    let answers = if is_judging { judging::answers_height(body) } else { 0 };
    let above = Rect { height: body.height.saturating_sub(answers), ..body };
    toasts::draw(&mut paint, above);
    match &state.overlay {
        Some(Overlay::Form(open)) => form::draw(&mut paint, area, open),
        Some(Overlay::Palette(open)) => palette::draw(&mut paint, area, open),
        Some(Overlay::Confirm(open)) => dialog::draw(&mut paint, area, open),
        Some(Overlay::Prompt(open)) => palette::prompt(&mut paint, bottom, open),
        Some(Overlay::Log { up }) => log::draw(&mut paint, area, *up),
        Some(Overlay::Page(open)) => {
            page::draw(&mut paint, body, open);
            page::draw_find(&mut paint, bottom, open);
        }
        Some(Overlay::Tour { page }) => tour::draw(&mut paint, area, *page),
        Some(Overlay::Judging(_)) | None => {}
    }
    paint.hits
}

fn too_small(paint: &mut Paint<'_>, area: Rect) {
    let sentence = format!("ergo needs at least {} x {} cells: make the window larger.", MIN_SIZE.0, MIN_SIZE.1);
    let lines = text::wrap(&sentence, usize::from(area.width), paint.theme.text);
    paint.lines(area, &lines, 0);
}
