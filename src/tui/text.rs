//! Text made safe and fitted to columns: sanitised, measured in terminal cells, wrapped at words by grapheme.

use std::ops::Range;

pub use crate::domain::layout::width;
use crate::domain::{
    id::SHORT,
    layout::{self, LongWord},
    text::{sanitize, sanitize_line},
};
use ratatui::{
    style::Style,
    text::{Line, Span},
};

/// A person, and the agent through which they act.
pub fn writer(who: &str, agent: Option<&str>) -> String {
    // An agent that acts for nobody else gives its own name as that of the person.
    let agent = agent.filter(|agent| *agent != who);
    agent.map_or_else(|| who.to_owned(), |agent| format!("{who} via {agent}"))
}

/// One safe line: control, bidirectional and zero-width characters dropped, line breaks made spaces.
pub fn line(text: &str) -> String {
    sanitize_line(text)
}

/// `text` as one safe line of at most `columns` cells; what is cut is marked by an ellipsis.
pub fn fit(text: &str, columns: usize) -> String {
    layout::fit(&line(text), columns)
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
    let runs: Vec<(String, Style)> = runs.iter().map(|(text, style)| (line(text), *style)).collect();
    let whole: String = runs.iter().map(|(text, _)| text.as_str()).collect();
    layout::wrap(&whole, columns, LongWord::Cut).into_iter().map(|range| part(&runs, range)).collect()
}

/// The part of runs that is in a range of bytes of all of them together.
fn part(runs: &[(String, Style)], range: Range<usize>) -> Line<'static> {
    let (mut spans, mut start) = (Vec::<Span<'static>>::new(), 0);
    for (text, style) in runs {
        let (from, to) = (range.start.max(start), range.end.min(start + text.len()));
        if from < to {
            let text = &text[from - start..to - start];
            match spans.last_mut() {
                Some(span) if span.style == *style => span.content.to_mut().push_str(text),
                _ => spans.push(Span::styled(text.to_owned(), *style)),
            }
        }
        start += text.len();
    }
    Line::from(spans)
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
    use unicode_segmentation::UnicodeSegmentation;

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
