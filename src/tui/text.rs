//! Text made safe and fitted to columns: sanitised, measured in terminal cells, wrapped at words by grapheme.

use ratatui::{
    style::Style,
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::{
    id::SHORT,
    text::{sanitize, sanitize_line},
};

/// A person, and the agent through which they act.
pub fn writer(who: &str, agent: Option<&str>) -> String {
    // An agent that acts for nobody else gives its own name as that of the person.
    let agent = agent.filter(|agent| *agent != who);
    agent.map_or_else(|| who.to_owned(), |agent| format!("{who} via {agent}"))
}

/// Width in terminal cells.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// One safe line: control, bidirectional and zero-width characters dropped, line breaks made spaces.
pub fn line(text: &str) -> String {
    sanitize_line(text)
}

/// `text` as one safe line of at most `columns` cells; what is cut is marked by an ellipsis.
pub fn fit(text: &str, columns: usize) -> String {
    let text = line(text);
    if width(&text) <= columns {
        return text;
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let cells = width(grapheme);
        if used + cells + 1 > columns {
            break;
        }
        out.push_str(grapheme);
        used += cells;
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// [`fit`], then padded with spaces to exactly `columns` cells.
pub fn pad(text: &str, columns: usize) -> String {
    let mut out = fit(text, columns);
    let used = width(&out);
    out.extend(std::iter::repeat_n(' ', columns.saturating_sub(used)));
    out
}

/// Where `wanted` stands in a text, whatever the case of its letters: each place as a range of bytes, none within another.
pub fn places(text: &str, wanted: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let wanted: Vec<char> = wanted.chars().flat_map(char::to_lowercase).collect();
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(first) = text[from..].chars().next() {
            let start = from;
            if let Some(cells) = leads(&text[start..], &wanted) {
                from = start + cells;
                return Some(start..from);
            }
            from += first.len_utf8();
        }
        None
    })
}

/// How many bytes of a text are `wanted`, which is lower case, where it begins so.
fn leads(text: &str, wanted: &[char]) -> Option<usize> {
    let mut wanted = wanted.iter();
    for (at, c) in text.char_indices() {
        for lower in c.to_lowercase() {
            match wanted.next() {
                Some(own) if *own == lower => {}
                // A letter whose lower case is several is whole, or not there.
                Some(_) => return None,
                None => return (at > 0).then_some(at),
            }
        }
    }
    (wanted.next().is_none() && !text.is_empty()).then_some(text.len())
}

/// A text in runs, those that are `wanted` in another style; all in one if nothing is wanted.
pub fn marked(text: &str, wanted: Option<&str>, style: Style, found: Style) -> Vec<(String, Style)> {
    let mut runs = Vec::new();
    let mut from = 0;
    for place in wanted.into_iter().flat_map(|wanted| places(text, wanted)) {
        runs.push((text[from..place.start].to_owned(), style));
        runs.push((text[place.clone()].to_owned(), style.patch(found)));
        from = place.end;
    }
    runs.push((text[from..].to_owned(), style));
    runs
}

/// Wraps safe text at words; paragraphs are kept, words that are too long are broken between graphemes.
pub fn wrap(text: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for paragraph in sanitize(text).split('\n') {
        lines.extend(wrap_runs(&[(paragraph.to_owned(), style)], columns));
    }
    lines
}

/// Wraps runs of styled text as one paragraph. Never returns nothing: an empty text is one empty line.
pub fn wrap_runs(runs: &[(String, Style)], columns: usize) -> Vec<Line<'static>> {
    let columns = columns.max(1);
    let mut lines: Vec<Cells> = Vec::new();
    let mut current = Cells::default();
    let mut word = Cells::default();
    for (text, style) in runs {
        for grapheme in line(text).graphemes(true) {
            let space = grapheme == " ";
            if space {
                current.take(&mut word, columns, &mut lines);
                if current.width > 0 && current.width < columns {
                    current.push(grapheme, *style);
                } else if current.width >= columns {
                    lines.push(std::mem::take(&mut current));
                }
            } else {
                word.push(grapheme, *style);
            }
        }
    }
    current.take(&mut word, columns, &mut lines);
    if current.width > 0 || lines.is_empty() {
        lines.push(current);
    }
    lines.into_iter().map(Cells::into_line).collect()
}

/// Styled graphemes on one line.
#[derive(Default)]
struct Cells {
    cells: Vec<(String, usize, Style)>,
    width: usize,
}

impl Cells {
    fn push(&mut self, grapheme: &str, style: Style) {
        let cells = width(grapheme);
        self.width += cells;
        self.cells.push((grapheme.to_owned(), cells, style));
    }

    /// Appends `word`, on a new line if it does not fit, in pieces if it fits on none.
    fn take(&mut self, word: &mut Self, columns: usize, lines: &mut Vec<Self>) {
        if word.width == 0 {
            word.cells.clear();
            return;
        }
        if self.width + word.width > columns && self.width > 0 {
            lines.push(std::mem::take(self));
        }
        for (grapheme, cells, style) in std::mem::take(word).cells {
            if self.width + cells > columns && self.width > 0 {
                lines.push(std::mem::take(self));
            }
            self.width += cells;
            self.cells.push((grapheme, cells, style));
        }
    }

    fn into_line(mut self) -> Line<'static> {
        while self.cells.last().is_some_and(|(grapheme, ..)| grapheme == " ") {
            self.cells.pop();
        }
        let mut spans: Vec<Span<'static>> = Vec::new();
        for (grapheme, _, style) in self.cells {
            match spans.last_mut() {
                Some(span) if span.style == style => span.content.to_mut().push_str(&grapheme),
                _ => spans.push(Span::styled(grapheme, style)),
            }
        }
        Line::from(spans)
    }
}

/// A text in which whole ids are as short as ids are shown.
pub fn short_ids(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(|c: char| !c.is_ascii_hexdigit()) {
        let (digits, rest) = part.split_at(part.trim_end_matches(|c: char| !c.is_ascii_hexdigit()).len());
        out.push_str(if digits.len() == 64 { digits.get(..SHORT).unwrap_or(digits) } else { digits });
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn wraps_at_words_and_breaks_what_is_too_long() {
        assert_eq!(plain(&wrap("use one database", 8, Style::new())), ["use one", "database"]);
        assert_eq!(plain(&wrap("abcdefghij", 4, Style::new())), ["abcd", "efgh", "ij"]);
        assert_eq!(plain(&wrap("a\n\nb", 4, Style::new())), ["a", "", "b"]);
        assert_eq!(plain(&wrap("決定は重要", 4, Style::new())), ["決定", "は重", "要"]);
    }

    #[test]
    fn fits_by_cells_and_marks_the_cut() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("決定事項", 5), "決定…");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(width(&pad("決", 5)), 5);
    }

    #[test]
    fn what_could_lie_never_reaches_a_line() {
        assert_eq!(plain(&wrap("a\u{1b}[31mb\u{202e}c\u{200b}d", 40, Style::new())), ["a[31mbcd"]);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked(text in "\\PC{0,120}", columns in 2usize..40) {
            // A grapheme that is wider than the line by itself stands alone.
            let widest = super::line(&text).graphemes(true).map(width).max().unwrap_or(0);
            for line in wrap(&text, columns, Style::new()) {
                prop_assert!(line.width() <= columns.max(widest), "{line:?}");
            }
            prop_assert!(width(&fit(&text, columns)) <= columns);
            prop_assert_eq!(width(&pad(&text, columns)), columns);
        }
    }
}
