//! Text that is safe to print: the only kind of text that [`Ui`](super::ui::Ui) prints.
//!
//! Architecture Invariant: a [`SafeText`] consists of literals of this program, of our own colours, and of values that went
//! through [`sanitize`]. No function converts a `String` unsanitised, so that control characters from the store, from a peer
//! or from a file never reach the terminal.

use std::{fmt, ops::Deref};

use crate::domain::text::{sanitize, sanitize_line};

/// Text without control, bidirectional and zero-width characters, except line breaks, joiners of words and emoji, and our
/// own colours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SafeText(String);

/// A value that [`text!`] can put into a gap of its template. Anything that implements `Display` is sanitised.
pub(crate) trait Printable {
    /// Returns the value on one line: line breaks become spaces.
    fn to_line(&self) -> SafeText;
    /// Returns the value with its line breaks.
    fn to_lines(&self) -> SafeText;
}

impl<T: fmt::Display + ?Sized> Printable for T {
    fn to_line(&self) -> SafeText {
        SafeText(sanitize_line(&self.to_string()))
    }

    fn to_lines(&self) -> SafeText {
        SafeText(sanitize(&self.to_string()))
    }
}

// `SafeText` is not `Display`, so that it keeps its colours in a gap, and `format!` cannot unwrap it by accident.
impl Printable for SafeText {
    fn to_line(&self) -> SafeText {
        self.clone()
    }

    fn to_lines(&self) -> SafeText {
        self.clone()
    }
}

impl Printable for &SafeText {
    fn to_line(&self) -> SafeText {
        (*self).clone()
    }

    fn to_lines(&self) -> SafeText {
        (*self).clone()
    }
}

/// Makes a [`SafeText`] from a template: each `{}` takes one argument, which must be [`Printable`].
///
/// `{name}`, `{:>8}` and `{{` do not compile. To format a number: `text!("{} ms", format_args!("{:.1}", span))`.
macro_rules! text {
    ($template:literal $(, $part:expr)* $(,)?) => {
        $crate::cli::safe_text::SafeText::fill::<{ $crate::cli::safe_text::gaps($template) }>($template, [$(&$part),*])
    };
}

/// Counts the gaps of a template, at compile time.
pub(crate) const fn gaps(template: &str) -> usize {
    let (bytes, mut at, mut found) = (template.as_bytes(), 0, 0);
    while at < bytes.len() {
        if bytes[at] == b'{' {
            assert!(at + 1 < bytes.len() && bytes[at + 1] == b'}', "the only braces in a template of text! are empty");
            found += 1;
            at += 1;
        } else {
            assert!(bytes[at] != b'}', "the only braces in a template of text! are empty");
        }
        at += 1;
    }
    found
}

impl SafeText {
    /// Fills the gaps of a template; [`text!`] calls it.
    pub(crate) fn fill<const N: usize>(template: &'static str, parts: [&dyn Printable; N]) -> Self {
        let mut out = String::with_capacity(template.len() + 16 * N);
        let mut parts = parts.into_iter();
        for (at, literal) in template.split("{}").enumerate() {
            if at > 0 {
                out.extend(parts.next().map(|part| part.to_line().0));
            }
            out.push_str(literal);
        }
        Self(out)
    }

    /// Wraps `self` in a colour of this program.
    pub(crate) fn styled(self, begin: &'static str) -> Self {
        Self(format!("{begin}{}\x1b[0m", self.0))
    }

    /// Joins texts with a separator.
    pub(crate) fn join(parts: &[Self], between: &'static str) -> Self {
        let parts: Vec<_> = parts.iter().map(|part| part.0.as_str()).collect();
        Self(parts.join(between))
    }

    /// Sanitises a value of one line; line breaks become spaces.
    pub(crate) fn line(value: impl Printable) -> Self {
        value.to_line()
    }

    /// Sanitises a value of several lines.
    pub(crate) fn lines(value: impl Printable) -> Self {
        value.to_lines()
    }

    /// Returns `self` without trailing white space.
    pub(crate) fn trimmed(mut self) -> Self {
        self.0.truncate(self.0.trim_end().len());
        self
    }

    /// Indents all lines but the first, so that quoted text cannot pass for a line of this program.
    pub(crate) fn hanging(self, indent: usize) -> Self {
        let lead = format!("\n{:indent$}", "");
        Self(self.0.trim_end_matches('\n').replace('\n', &lead))
    }
}

impl From<&'static str> for SafeText {
    fn from(literal: &'static str) -> Self {
        Self(literal.to_owned())
    }
}

impl Deref for SafeText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for SafeText {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_takes_one_line_of_clean_text_and_keeps_our_colours() {
        let bad = "a\u{1b}]52;c;x\u{7}\n\u{202e}b\u{9b}31m".to_owned();
        assert_eq!(text!("<{}> {}", bad, 3), "<a]52;c;x b31m> 3");
        assert_eq!(text!("{}", "می\u{200c}خواهم 👩\u{200d}🚀"), "می\u{200c}خواهم 👩\u{200d}🚀");
        let red = text!("{}", bad).styled("\x1b[31m");
        assert_eq!(text!("{}!", red), "\x1b[31ma]52;c;x b31m\x1b[0m!");
        assert_eq!(text!("{}!", &red), text!("{}!", red));
    }

    /// The proof that `Ui::line` and its kin take no raw text: `f` would be ambiguous, and this would not compile, if `String`, or a
    /// `&str` that was read at run time, could become a [`SafeText`] as it is.
    #[test]
    fn a_raw_string_is_no_safe_text() {
        trait Ambiguous<A> {
            fn f() {}
        }
        struct IfInto;
        impl<T> Ambiguous<()> for T {}
        impl<T: Into<SafeText>> Ambiguous<IfInto> for T {}
        <String as Ambiguous<_>>::f();
        <&String as Ambiguous<_>>::f();
        <fmt::Arguments<'_> as Ambiguous<_>>::f();
    }

    #[test]
    fn a_part_that_holds_a_gap_is_not_filled() {
        assert_eq!(text!("{} {}", "{}", "x"), "{} x");
        assert_eq!(text!("no gap"), "no gap");
    }

    #[test]
    fn further_lines_hang() {
        assert_eq!("a\nHint: b\n".to_lines().hanging(2), "a\n  Hint: b");
    }
}
