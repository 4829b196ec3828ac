//! Bounds-checked drawing into the buffer, panes, and the record of painted areas.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
    widgets::{Block, Clear, Widget},
};

use crate::tui::{
    hits::{Hit, HitMap, Pane},
    search_words::SearchWords,
    state::AppState,
    text,
    theme::Theme,
};

/// Everything that the parts of a view need to draw.
pub(super) struct Paint<'a> {
    pub(super) state: &'a AppState,
    pub(super) theme: &'a Theme,
    pub(super) buffer: &'a mut Buffer,
    /// The size of the whole drawn area in columns and rows. [`AppState::size`] may still be another one, since the
    /// terminal is measured again before each frame.
    pub(super) size: (u16, u16),
    /// The areas painted so far.
    pub(super) hits: HitMap,
}

impl<'a> Paint<'a> {
    pub(super) fn new(state: &'a AppState, theme: &'a Theme, area: Rect, buffer: &'a mut Buffer) -> Self {
        Self { state, theme, buffer, size: (area.width, area.height), hits: HitMap::default() }
    }

    /// Writes one line into row `row` of `area`, cut at its edge.
    pub(super) fn line(&mut self, area: Rect, row: usize, line: &Line<'_>) {
        let area = area.intersection(self.buffer.area);
        let Some(row) = u16::try_from(row).ok().filter(|row| *row < area.height) else { return };
        self.buffer.set_line(area.x, area.y + row, &text::with_marks_joined(line), area.width);
    }

    /// Writes lines into an area, without the first `skip`.
    pub(super) fn lines(&mut self, area: Rect, lines: &[Line<'_>], skip: usize) {
        for (row, line) in lines.iter().skip(skip).take(usize::from(area.height)).enumerate() {
            self.line(area, row, line);
        }
    }

    /// Changes the style of a whole area.
    pub(super) fn style(&mut self, area: Rect, style: Style) {
        self.buffer.set_style(area.intersection(self.buffer.area), style);
    }

    /// Empties an area.
    pub(super) fn clear(&mut self, area: Rect) {
        Clear.render(area.intersection(self.buffer.area), self.buffer);
    }

    /// Draws a bordered pane with a title and, in its lower edge, a note. Returns the area inside, without a column of
    /// padding on each side.
    pub(super) fn pane(&mut self, area: Rect, title: &str, note: &str, focused: bool) -> Rect {
        let area = area.intersection(self.buffer.area);
        let theme = self.theme;
        let (border, heading) = if focused { (theme.border_focus, theme.accent) } else { (theme.border, theme.title) };
        let room = usize::from(area.width.saturating_sub(4));
        let mut block = Block::bordered().border_set(theme.glyphs.border).border_style(border);
        if !title.is_empty() {
            block = block.title(Span::styled(format!(" {} ", text::fit(title, room)), heading));
        }
        if !note.is_empty() {
            let note = Span::styled(format!(" {} ", text::fit(note, room)), theme.dim);
            block = block.title_bottom(Line::from(note).right_aligned());
        }
        let inner = block.inner(area);
        block.render(area, self.buffer);
        Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }.intersection(inner)
    }

    /// Draws a text that may be longer than its pane, from line `scroll` on; the lower edge says how many lines are
    /// hidden. Returns the area of the text and the first line that is shown.
    pub(super) fn document(
        &mut self,
        area: Rect,
        pane: Pane,
        title: &str,
        lines: &[Line<'_>],
        scroll: usize,
        focused: bool,
    ) -> (Rect, usize) {
        let height = usize::from(area.height.saturating_sub(2));
        let overflow = lines.len().saturating_sub(height);
        let scroll = scroll.min(overflow);
        let [up, down] = self.theme.glyphs.more;
        let note = match (scroll, overflow - scroll) {
            (0, 0) => String::new(),
            (0, below) => format!("{down} {below} more"),
            (above, 0) => format!("{up} {above} above"),
            (above, below) => format!("{up} {above} {down} {below}"),
        };
        let inner = self.pane(area, title, &note, focused);
        self.hits.add_pane(inner, pane, height);
        self.hits.add_overflow(pane, overflow);
        self.hits.add_scroll(pane, scroll);
        self.lines(inner, lines, scroll);
        (inner, scroll)
    }

    /// Splits a text into spans, with the words of a search highlighted.
    pub(super) fn highlight(&self, words: &SearchWords, text: &str, style: Style) -> Vec<Span<'static>> {
        let mark = |(run, hit)| span(run, if hit { style.patch(self.theme.found) } else { style });
        words.runs(text).into_iter().map(mark).collect::<Vec<_>>()
    }

    /// Records the area of a list row, and styles it if it is under the cursor.
    pub(super) fn row(&mut self, area: Rect, pane: Pane, index: usize, current: bool, focused: bool) {
        if current {
            let style = if focused { self.theme.selected } else { self.theme.selected_idle };
            self.style(area, style);
            self.hits.add_current(pane, index, area);
        }
        self.hits.add(area, Hit::Row(pane, index));
    }
}

pub(super) fn span(text: impl Into<String>, style: Style) -> Span<'static> {
    Span::styled(text.into(), style)
}

/// Returns the rows `from` up to `from + count` of an area, as far as they exist.
pub(super) fn rows(area: Rect, from: usize, count: usize) -> Rect {
    let from = u16::try_from(from).unwrap_or(u16::MAX).min(area.height);
    let count = u16::try_from(count).unwrap_or(u16::MAX).min(area.height - from);
    Rect { y: area.y + from, height: count, ..area }
}

/// Returns a rectangle of at most this size in the middle of an area.
pub(super) fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// Puts a label column before wrapped text. A label that fills its column has a line of its own, so that it never
/// touches the text.
pub(super) fn labelled(label: &str, body: Vec<Line<'static>>, column: usize, style: Style) -> Vec<Line<'static>> {
    if !label.ends_with(' ') && text::width(label) >= column {
        let mut lines = vec![Line::from(span(label.to_owned(), style))];
        lines.extend(labelled("", body, column, style));
        return lines;
    }
    body.into_iter()
        .enumerate()
        .map(|(row, line)| {
            let mut spans = vec![span(text::pad(if row == 0 { label } else { "" }, column), style)];
            spans.extend(line.spans);
            Line::from(spans)
        })
        .collect()
}

/// Puts two texts side by side, the left one padded to `width`, with a separator between.
pub(super) fn side_by_side(
    left: Vec<Line<'static>>,
    right: Vec<Line<'static>>,
    width: usize,
    separator: Span<'static>,
) -> Vec<Line<'static>> {
    let count = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    (0..count)
        .map(|_| {
            let mut spans = left.next().map(|line| line.spans).unwrap_or_default();
            let used: usize = text::spans_width(&spans);
            spans.push(Span::raw(" ".repeat(width.saturating_sub(used))));
            spans.push(separator.clone());
            spans.extend(right.next().map(|line| line.spans).unwrap_or_default());
            Line::from(spans)
        })
        .collect()
}
