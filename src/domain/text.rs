//! Text that comes from memory, peers or models is untrusted: this is where it is made safe to show.

/// Makes text safe for a terminal: control, bidirectional and zero-width characters are dropped (a tab becomes a space),
/// line breaks are kept. The stored bytes stay as they were written.
pub fn sanitize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push('\n'),
            '\t' => out.push(' '),
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// [`sanitize`] for one line: line breaks become spaces.
pub fn sanitize_line(text: &str) -> String {
    sanitize(text).replace('\n', " ")
}

/// Characters that change how others are shown, or show nothing: Unicode category Cf and its kin, variation selectors,
/// tags and fillers.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{070f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_what_can_lie_and_keeps_what_speaks() {
        assert_eq!(sanitize("a\u{1b}[31mb\u{202e}c\u{200b}d\te\nf"), "a[31mbcd e\nf");
        assert_eq!(sanitize_line("a\nb"), "a b");
        assert_eq!(sanitize("naïve 決定 🚀 שלום"), "naïve 決定 🚀 שלום");
    }
}
