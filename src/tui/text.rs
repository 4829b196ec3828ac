//! Text made safe and fitted to columns: sanitised, measured in terminal cells, wrapped at words by grapheme.

use std::{borrow::Cow, ops::Range};

use crate::domain::{
    id::SHORT,
    layout::{self, LongWord},
    text::{sanitize, sanitize_line, without_emoji_joiners},
};
pub use crate::domain::{layout::width, text::writer};
use ratatui::{
    style::Style,
    text::{Line, Span},
};

/// Returns the width of spans in terminal cells.
pub fn spans_width(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| width(&span.content)).sum()
}

/// Returns a line in which no span begins with a combining mark, since a mark alone has no cell and would not be drawn:
/// it goes to the span of the letter before.
pub fn with_marks_joined<'a>(line: &'a Line<'a>) -> Cow<'a, Line<'a>> {
    let is_mark = |c: &char| !c.is_ascii() && width(c.encode_utf8(&mut [0; 4])) == 0;
    let marks = |text: &str| text.chars().take_while(is_mark).map(char::len_utf8).sum::<usize>();
    if line.spans.iter().skip(1).all(|span| marks(&span.content) == 0) {
        return Cow::Borrowed(line);
    }
    let mut spans: Vec<Span<'a>> = Vec::new();
    for span in &line.spans {
        let (mark, rest) = span.content.split_at(marks(&span.content));
        match spans.last_mut() {
            Some(before) => before.content.to_mut().push_str(mark),
            None => spans.push(Span::styled(mark, span.style)),
        }
        spans.push(Span::styled(rest, span.style));
    }
    Cow::Owned(Line { spans, ..line.clone() })
}

/// Quotes the beginning of a statement, to name its claim in a message.
pub fn quoted(statement: &str) -> String {
    format!("“{}”", fit(statement, 50))
}

/// Makes a text one safe line, as [`sanitize_line`] does, and takes joined emoji apart: terminals disagree about their
/// width.
pub fn line(text: &str) -> String {
    without_emoji_joiners(&sanitize_line(text))
}

/// Makes a text one safe line of at most `columns` cells; an ellipsis marks what is cut.
pub fn fit(text: &str, columns: usize) -> String {
    layout::fit(&line(text), columns)
}

/// Like [`fit`], padded with spaces to exactly `columns` cells.
pub fn pad(text: &str, columns: usize) -> String {
    let mut out = fit(text, columns);
    let used = width(&out);
    out.extend(std::iter::repeat_n(' ', columns.saturating_sub(used)));
    out
}

/// Returns the beginning of a text that takes at most `columns` cells.
pub fn first_cells(text: &str, columns: usize) -> String {
    layout::prefix(text, columns).to_owned()
}

/// Returns the letters of which a flag consists, such as `DE`; `None` for other text.
pub fn flag_letters(symbol: &str) -> Option<String> {
    const FIRST: char = '\u{1f1e6}';
    let letter = |c: char| u32::from(c).checked_sub(u32::from(FIRST)).filter(|at| *at < 26);
    let letters = symbol.chars().map(|c| char::from_u32(u32::from('A') + letter(c)?)).collect::<Option<String>>()?;
    Some(letters).filter(|letters| !letters.is_empty())
}

/// Finds `wanted` in a text, ignoring case: each match as a range of bytes, none within another.
pub fn places(text: &str, wanted: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let wanted: Vec<char> = wanted.chars().flat_map(char::to_lowercase).collect();
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(first) = text[from..].chars().next() {
            let start = from;
            if let Some(bytes) = match_length(&text[start..], &wanted) {
                from = start + bytes;
                return Some(start..from);
            }
            from += first.len_utf8();
        }
        None
    })
}

/// Returns how many bytes at the start of a text match `wanted`, which is lower case; `None` if the text does not begin
/// so.
fn match_length(text: &str, wanted: &[char]) -> Option<usize> {
    let mut wanted = wanted.iter();
    for (at, c) in text.char_indices() {
        for lower in c.to_lowercase() {
            match wanted.next() {
                Some(own) if *own == lower => {}
                // A letter whose lower case is several letters matches as a whole or not at all.
                Some(_) => return None,
                None => return (at > 0).then_some(at),
            }
        }
    }
    (wanted.next().is_none() && !text.is_empty()).then_some(text.len())
}

/// Splits a text into runs, with the matches of `wanted` in another style; one run if nothing is wanted.
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

/// Sanitises a text and wraps it at words; paragraphs are kept, words that are too long are broken between graphemes.
pub fn wrap(text: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for paragraph in sanitize(text).split('\n') {
        lines.extend(wrap_runs(&[(paragraph.to_owned(), style)], columns));
    }
    lines
}

/// Wraps a text as [`wrap`] does, into at most `max_lines` lines, at least one; an ellipsis marks what is cut.
pub fn wrap_at_most(text: &str, columns: usize, max_lines: usize, style: Style) -> Vec<Line<'static>> {
    let mut lines = wrap(text, columns, style);
    let last = max_lines.max(1) - 1;
    if lines.len() > last + 1 {
        let rest: Vec<String> = lines.split_off(last).iter().map(ToString::to_string).collect();
        lines.push(Line::from(Span::styled(fit(&rest.join(" "), columns), style)));
    }
    lines
}

/// Wraps runs of styled text as one paragraph. An empty text is one empty line.
pub fn wrap_runs(runs: &[(String, Style)], columns: usize) -> Vec<Line<'static>> {
    let runs: Vec<(String, Style)> = runs.iter().map(|(text, style)| (line(text), *style)).collect();
    let whole: String = runs.iter().map(|(text, _)| text.as_str()).collect();
    layout::wrap(&whole, columns, LongWord::Cut).into_iter().map(|range| part(&runs, range)).collect()
}

/// Returns the part of runs in a range of bytes of all of them together.
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

/// Shortens the full ids in a text.
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
    fn a_flag_is_its_letters() {
        assert_eq!(flag_letters("🇩🇪").as_deref(), Some("DE"));
        assert_eq!((flag_letters("🚀"), flag_letters("A"), flag_letters("")), (None, None, None));
    }

    #[test]
    fn a_mark_stays_with_its_letter_in_another_style() {
        let (plain, found) = (Style::new(), Style::new().bold());
        let line = Line::from(vec![Span::styled("cafe", found), Span::styled("\u{301} au lait", plain)]);
        let texts: Vec<_> = with_marks_joined(&line).spans.iter().map(|span| span.content.to_string()).collect();
        assert_eq!(texts, ["", "cafe\u{301}", " au lait"]);
    }

    #[test]
    fn wraps_into_few_lines_and_marks_the_cut() {
        let few = |lines| plain(&wrap_at_most("use one database for all", 8, lines, Style::new()));
        assert_eq!(few(4), ["use one", "database", "for all"]);
        assert_eq!(few(2), ["use one", "databas…"]);
        assert_eq!(few(0), ["use one…"]);
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
                prop_assert!(spans_width(&line.spans) <= columns.max(widest), "{line:?}");
            }
            prop_assert!(width(&fit(&text, columns)) <= columns);
            prop_assert_eq!(width(&pad(&text, columns)), columns);
        }
    }
}
