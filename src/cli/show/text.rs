//! Prose: wrapping, labels in a column, quoting for a shell.

use crate::{
    cli::ui::{SafeText, Style, Ui},
    domain::{
        layout::{self, LongWord, fit},
        text::{sanitize, sanitize_line},
    },
};

pub(crate) use crate::domain::text::{count, quote};

/// The column in which labelled text begins.
const FIELD_COLUMN: usize = 14;

impl Ui {
    /// Prints `text` after a label, with a hanging indent.
    pub(crate) fn field(&mut self, label: &str, text: &str) {
        // A label that fills the column keeps one space before its text.
        let head = format!("  {label:<width$} ", width = FIELD_COLUMN - 3);
        let used = layout::width(&head).max(FIELD_COLUMN);
        let head = self.paint(Style::Dim, head);
        let lines = wrap(&sanitize(text), self.width.map(|width| width.saturating_sub(used)));
        for (at, line) in lines.iter().enumerate() {
            let lead = if at == 0 { head.clone() } else { SafeText::line(" ".repeat(FIELD_COLUMN)) };
            self.line(text!("{}{}", lead, line).trimmed());
        }
    }

    /// Prints `text` in a style, every line after `indent` spaces.
    pub(crate) fn prose(&mut self, indent: usize, style: Option<Style>, text: &str) {
        let room = self.width.map(|width| width.saturating_sub(indent));
        for line in wrap(&sanitize(text), room) {
            let line = style.map_or_else(|| SafeText::line(&line), |style| self.paint(style, &line));
            self.line(text!("{}{}", " ".repeat(indent), line));
        }
    }

    /// Returns `text` on one line, shortened to fit beside `used` columns; unchanged if the width is unlimited.
    pub(crate) fn fit(&self, text: &str, used: usize) -> String {
        let text = sanitize_line(text);
        match self.width {
            Some(width) => fit(&text, width.saturating_sub(used).max(16)),
            None => text,
        }
    }
}

/// Wraps a text into lines of at most `width` columns, between words; a longer word gets a line of its own. Line breaks of the text
/// stay. Without a width, returns the lines of the text.
pub(crate) fn wrap(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return text.lines().map(str::to_owned).collect() };
    let wrapped = |line| layout::wrap(line, width, LongWord::Keep).into_iter().map(move |range| line[range].to_owned());
    text.lines().flat_map(wrapped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_wide_letters_count_double() {
        assert_eq!(wrap("one two three", Some(7)), ["one two", "three"]);
        assert_eq!(wrap("決定 決定", Some(5)), ["決定", "決定"]);
        assert_eq!(wrap("a b\nc", None), ["a b", "c"]);
    }
}
