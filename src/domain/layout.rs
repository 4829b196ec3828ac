//! Lays out text in terminal columns: measures its display width, wraps it at spaces, cuts it between graphemes. Pure.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Returns the width of a text in terminal cells: the sum of those of its graphemes, since each is drawn into cells of
/// its own.
///
/// The width of the whole text can be smaller, because it takes ligatures into account: terminals draw the Arabic
/// letters lam and alef in two cells, although they form one sign. ratatui-core 0.1.2 reserves one more cell for each
/// halfwidth sound mark (`ﾞ`, `ﾟ`) than unicode-width 0.2.3 counts, so the app would otherwise cut off the last letters.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let sound_marks = |text: &str| text.chars().filter(|c| matches!(c, '\u{ff9e}' | '\u{ff9f}')).count();
    text.graphemes(true).map(|grapheme| UnicodeWidthStr::width(grapheme) + sound_marks(grapheme)).sum()
}

/// Cuts a text to `columns` cells, including the ellipsis.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    format!("{}…", prefix(text, columns - 1).trim_end())
}

/// Returns the longest beginning of a text that takes at most `columns` cells.
pub fn prefix(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += width(grapheme);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// How to wrap a word that is longer than a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongWord {
    /// Cut it between graphemes.
    Cut,
    /// Keep it whole, on a line of its own, so that ids and paths can be copied.
    Keep,
}

/// Wraps one paragraph to lines of at most `columns` cells, and returns the lines as ranges of bytes, without the spaces between them.
/// An empty text is one empty line.
pub fn wrap(text: &str, columns: usize, long: LongWord) -> Vec<Range<usize>> {
    let columns = columns.max(1);
    let (mut lines, mut current, mut start) = (Vec::new(), 0..0, 0);
    for word in text.split(' ') {
        let end = start + word.len();
        if !word.is_empty() {
            if current.is_empty() || width(&text[current.start..end]) > columns {
                if !current.is_empty() {
                    lines.push(current);
                }
                current = start..end;
                if long == LongWord::Cut {
                    loop {
                        let rest = &text[current.clone()];
                        // A grapheme that is wider than the line gets a line of its own.
                        let first = rest.graphemes(true).next().map_or(0, str::len);
                        let cut = current.start + prefix(rest, columns).len().max(first);
                        if cut == end {
                            break;
                        }
                        lines.push(current.start..cut);
                        current.start = cut;
                    }
                }
            }
            current.end = end;
        }
        start = end + 1;
    }
    if !current.is_empty() || lines.is_empty() {
        lines.push(current);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, columns: usize, long: LongWord) -> Vec<&str> {
        wrap(text, columns, long).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn lines_break_at_spaces_by_display_width() {
        assert_eq!(lines("one two three", 7, LongWord::Cut), ["one two", "three"]);
        assert_eq!(lines("決定 決定", 5, LongWord::Cut), ["決定", "決定"]);
        // Without the ligatures of lam and alef, this is one line of 9 cells.
        assert_eq!(lines("لا الآلات", 8, LongWord::Cut), ["لا", "الآلات"]);
        assert_eq!((width("لا"), width("ｶﾞ"), width("e\u{301}"), width("👨\u{200d}💻")), (2, 3, 1, 2));
        assert_eq!(lines("", 5, LongWord::Cut), [""]);
        assert_eq!(lines("  a  b ", 9, LongWord::Cut), ["a  b"]);
    }

    #[test]
    fn a_long_word_is_cut_or_kept() {
        assert_eq!(lines("a abcdefg b", 3, LongWord::Cut), ["a", "abc", "def", "g b"]);
        assert_eq!(lines("a abcdefg b", 3, LongWord::Keep), ["a", "abcdefg", "b"]);
        assert_eq!(lines("決定", 1, LongWord::Cut), ["決", "定"]);
    }

    #[test]
    fn what_is_cut_ends_in_an_ellipsis() {
        assert_eq!([fit("決定決定", 5), fit("abc", 3), fit("ab cd", 4), fit("ab", 0)], ["決定…", "abc", "ab…", ""]);
    }
}
