//! The tour: three pages over the screen.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::paint::{Paint, centred, rows, span};
use crate::tui::{action::Action, hits::Hit, text};

/// A page: its heading, its paragraphs, and keys with what they do. Texts name keys as for
/// [`Keymap::say`](crate::tui::action::Keymap::say).
type TourPage = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const PAGES: [TourPage; 3] = [
    (
        "Memory that refuses contradictions",
        &[
            "Agents and people write claims: what was decided, what must hold, what was rejected, and why.",
            "A new claim that contradicts an existing one is refused until you decide.",
        ],
        &[
            ("{show_inbox}", "the Inbox: everything that needs your attention"),
            ("{down} {up}", "down and up"),
            ("{open}", "open what is under the cursor"),
        ],
    ),
    (
        "A conflict card is settled with one key and a reason",
        &["The new claim and the existing one stand next to each other, the words that differ highlighted. \
             {card_details} shows the guard's evidence."],
        &[
            ("{keep_new} {keep_existing}", "keep the new claim, or the existing one"),
            ("{merge} {narrow} {exception}", "merge both, narrow one, or keep both as an exception"),
            ("{mark} {mark_all}", "mark several to settle them together"),
            ("{undo}", "undo; {redo} redoes"),
        ],
    ),
    (
        "Every change is kept, and most can be undone",
        &[
            "A replaced claim stays in the history with its reason: {claim_why} shows it. Press {show_timeline} to see what \
             happened while you were away, and to undo changes.",
        ],
        &[
            ("{palette}", "every command by name, with its key"),
            ("{log}", "what you did in this session, as command lines"),
            ("{quit}", "quit"),
        ],
    ),
];

pub(super) fn is_last(page: usize) -> bool {
    page + 1 == PAGES.len()
}

/// Draws a page of the tour in the middle of the screen.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, page: usize) {
    let theme = paint.theme;
    let Some((heading, paragraphs, keys)) = PAGES.get(page) else { return };
    let width = area.width.saturating_sub(4).min(68);
    let inner = usize::from(width.saturating_sub(4));
    let mut lines: Vec<Line<'static>> = Vec::new();
    let map = &paint.state.keys;
    for paragraph in *paragraphs {
        lines.extend(text::wrap(&map.say(paragraph), inner, theme.text));
        lines.push(Line::default());
    }
    let keys: Vec<(String, String)> = keys.iter().map(|(key, does)| (map.say(key), map.say(does))).collect();
    let column = keys.iter().map(|(key, _)| text::width(key)).max().unwrap_or(0).max(5) + 2;
    for (key, does) in &keys {
        for (row, line) in text::wrap(does, inner.saturating_sub(column + 2), theme.text).into_iter().enumerate() {
            let key = text::pad(if row == 0 { key } else { "" }, column);
            let mut spans = vec![Span::raw("  "), span(key, theme.key)];
            spans.extend(line.spans);
            lines.push(Line::from(spans));
        }
    }
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(4);
    let place = centred(area, width, height);
    paint.clear(place);
    let dots: String = (0..PAGES.len())
        .map(|at| if at == page { theme.glyphs.live } else { theme.glyphs.dead })
        .collect::<Vec<_>>()
        .join(" ");
    let body = paint.pane(place, heading, &dots, true);
    paint.lines(rows(body, 0, usize::from(body.height).saturating_sub(1)), &lines, 0);
    let last = is_last(page);
    let go = map.say(if last { " {tour_next} begin " } else { " {tour_next} next " });
    let skip = if last { String::new() } else { map.say("{tour_end} skip") };
    let go_width = u16::try_from(text::width(&go)).unwrap_or(0);
    let row = rows(body, usize::from(body.height.saturating_sub(1)), 1);
    paint.line(row, 0, &Line::from(vec![span(go, theme.selected), Span::raw("  "), span(skip, theme.dim)]));
    paint.hits.add(Rect { width: go_width.min(row.width), ..row }, Hit::Act(Action::TourNext));
    let go_width = go_width.min(row.width);
    let rest = Rect { x: row.x + go_width, width: row.width.saturating_sub(go_width), ..row };
    paint.hits.add(rest, Hit::Act(Action::TourEnd));
}
