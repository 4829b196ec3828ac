//! Text that comes from memory, peers or models is untrusted: this is where it is made safe to show. And what a word is.

use rust_stemmers::{Algorithm, Stemmer};

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

/// The text, with at most `most` characters and a mark where more were left out.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// [`cut`] of [`sanitize_line`]: a text of the store's as a part of a line.
pub fn cut_line(text: &str, most: usize) -> String {
    cut(&sanitize_line(text), most)
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

/// The words of a text in lower case, reduced to their stems, in order (Porter, "Snowball: a language for stemming algorithms",
/// 2001). What the text index holds and what recall compares: both must divide a text alike.
pub fn stems(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    words(text).map(|word| stemmer.stem(&word).into_owned()).collect()
}

/// The words of a text in lower case, in order.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_reduced_to_their_stems() {
        assert_eq!(stems("Deployments, deployed: deploy-once!"), ["deploy", "deploy", "deploy", "onc"]);
        assert_eq!(stems(" -- "), Vec::<String>::new());
    }

    #[test]
    fn strips_what_can_lie_and_keeps_what_speaks() {
        assert_eq!(sanitize("a\u{1b}[31mb\u{202e}c\u{200b}d\te\nf"), "a[31mbcd e\nf");
        assert_eq!(sanitize_line("a\nb"), "a b");
        assert_eq!((cut("決定は", 3), cut("決定は", 2), cut("", 0)), ("決定は".into(), "決定…".into(), String::new()));
        assert_eq!(cut_line("a\u{202e}b\ncd", 3), "ab …", "what is not shown is not counted");
        assert_eq!(sanitize("naïve 決定 🚀 שלום"), "naïve 決定 🚀 שלום");
    }
}
