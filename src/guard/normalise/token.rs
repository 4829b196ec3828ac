//! Words, numbers, code and punctuation of a statement. One pass over the characters.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A word of prose.
    Word,
    /// A word inside backticks, or one that looks like an identifier, a path or a flag.
    Code,
    /// A number, with or without a unit attached to it.
    Number,
    /// A punctuation mark that ends or joins clauses.
    Punct(char),
}

/// A token with its byte range in the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Byte range in the text.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The word in lower case, with straight apostrophes and without a possessive `'s`. A name that differs from a common word only by its
    /// capital is replaced: see [`BY_CAPITAL`].
    pub(crate) lower: String,
    /// Whether it starts with a capital.
    pub(crate) capital: bool,
    /// The text as written, without surrounding punctuation.
    pub(crate) surface: String,
}

/// The maximum number of bytes of a statement that are read. It is far beyond any norm, and bounds the time of a comparison.
pub(crate) const MAX_READ: usize = 4096;

/// Returns the text in composed form (NFC), cut to [`MAX_READ`] bytes.
pub(crate) fn prepare(text: &str) -> String {
    let mut end = text.len().min(MAX_READ);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    if is_nfc_quick(text.chars()) == IsNormalized::Yes { text.to_owned() } else { text.nfc().collect() }
}

fn is_joiner(c: char) -> bool {
    matches!(c, '_' | '.' | '/' | '\'' | '’' | ':' | '+' | '#' | '@' | '$' | '%' | '&' | '\\' | '~' | '=' | '*')
}

/// Splits `text` into tokens.
pub(crate) fn tokenise(text: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 5 + 1);
    let mut chars = text.char_indices().peekable();
    let mut in_code = false;
    // A backtick without a second one, as in "Don`t", begins no code.
    let mut backticks_left = text.matches('`').count();
    while let Some(&(start, c)) = chars.peek() {
        if c == '`' {
            backticks_left -= 1;
            in_code = !in_code && backticks_left > 0;
            chars.next();
        } else if let Some((length, bound)) = bound_sign(text, start).filter(|_| !in_code) {
            let surface = text[start..start + length].to_owned();
            let (end, lower) = (start + length, bound.to_owned());
            tokens.push(Token { kind: TokenKind::Word, start, end, lower, capital: false, surface });
            while chars.next_if(|(at, _)| *at < end).is_some() {}
        } else if let Some((length, compared)) =
            begins_value(text, start, c).then(|| super::value::read(&text[start..], is_versioned(&tokens))).flatten()
        {
            let surface = text[start..start + length].to_owned();
            let capital = !in_code && c.is_uppercase();
            tokens.push(Token { kind: TokenKind::Code, start, end: start + length, lower: compared, capital, surface });
            while chars.next_if(|(at, _)| *at < start + length).is_some() {}
        } else if c.is_alphanumeric() || (in_code && !c.is_whitespace()) || leads_word(text, start, c) {
            let mut end = start;
            let mut previous = c;
            while let Some(&(at, c)) = chars.peek() {
                let next = text[at + c.len_utf8()..].chars().next();
                let goes_on = if in_code {
                    !c.is_whitespace() && c != '`'
                } else {
                    c.is_alphanumeric()
                        || at == start
                        || (is_joiner(c)
                            && (next.is_some_and(|n| {
                                n.is_alphanumeric() || (c == '/' && matches!(n, '.' | '_' | '@' | '$'))
                            }) || matches!(c, '+' | '#' | '%')))
                        || (c == '-' && text[start..].starts_with("--"))
                        || (c == ',' && previous.is_ascii_digit() && thousands(&text[at..]))
                        || (c == '-' || c == '–' && text[start..at].bytes().all(|b| b.is_ascii_digit() || b == b'.'))
                            && previous.is_ascii_digit()
                            && next.is_some_and(|n| n.is_ascii_digit())
                };
                if !goes_on {
                    break;
                }
                end = at + c.len_utf8();
                previous = c;
                chars.next();
            }
            push_word(&mut tokens, text, start, end, in_code);
        } else {
            chars.next();
            let mark = match c {
                ':' if chars.peek().is_some_and(|(_, n)| !n.is_whitespace()) => None,
                // A quoted question ends no sentence: "answers “why?” in a comment".
                '?' if chars.peek().is_some_and(|(_, n)| matches!(n, '"' | '”')) => None,
                '.' | '!' | '?' | ';' | ':' | ',' | '(' | ')' | '—' | '–' | '\n' => Some(c),
                '…' => Some('.'),
                '-' if text[start + 1..].starts_with(' ') && text[..start].ends_with(' ') => Some('—'),
                '-' if text[start + 1..].starts_with('-') => Some('—'),
                _ => None,
            };
            if let Some(mark) = mark {
                tokens.push(Token {
                    kind: TokenKind::Punct(mark),
                    start,
                    end: start + c.len_utf8(),
                    lower: String::new(),
                    capital: false,
                    surface: String::new(),
                });
            }
        }
    }
    tokens
}

/// Reads a sign such as `<=` before a number. Returns its length in bytes, and a word with the same meaning.
fn bound_sign(text: &str, start: usize) -> Option<(usize, &'static str)> {
    const SIGNS: [(&str, &str); 6] =
        [("<=", "below"), ("≤", "below"), (">=", "above"), ("≥", "above"), ("<", "below"), (">", "above")];
    let (sign, word) = SIGNS.into_iter().find(|(sign, _)| text[start..].starts_with(sign))?;
    let number = text[start + sign.len()..].trim_start_matches(' ').trim_start_matches(['-', '−']);
    let before = text[..start].chars().next_back();
    // `->`, `=>`, `Vec<3>` and the quotation mark `>` at the beginning of a line are not bounds.
    let apart = before.is_some_and(|c| c == ' ' || c == '(')
        || matches!(sign, "<=" | "≤" | ">=" | "≥") && before.is_none_or(|c| c.is_alphanumeric() || c == '\n');
    (apart && number.starts_with(|c: char| c.is_ascii_digit())).then_some((sign.len(), word))
}

/// Returns whether a value may begin here: with a letter, a digit or `#`, after white space or an opening mark.
fn begins_value(text: &str, start: usize, c: char) -> bool {
    let outside =
        |before: char| before.is_whitespace() || matches!(before, '`' | '"' | '“' | '(' | '[' | '<' | '\'' | '*');
    (c.is_ascii_alphanumeric() || c == '#') && text[..start].chars().next_back().is_none_or(outside)
}

/// Returns whether the last token is a word like "version".
fn is_versioned(tokens: &[Token]) -> bool {
    tokens.last().is_some_and(|last| matches!(last.lower.as_str(), "version" | "versions" | "release" | "v"))
}

/// Returns whether a punctuation mark begins a word: a dotted file name, a path, a flag, a variable, a negative number.
fn leads_word(text: &str, start: usize, c: char) -> bool {
    let mut next = text[start + c.len_utf8()..].chars();
    let before = text[..start].chars().next_back().is_none_or(|p| p.is_whitespace() || matches!(p, '(' | '"' | '“'));
    before
        && match c {
            '.' | '/' | '$' | '@' | '#' | '_' | '~' | '%' | ':' => next.next().is_some_and(char::is_alphabetic),
            '-' | '−' => match next.next() {
                Some('-') => next.next().is_some_and(char::is_alphabetic),
                next => next.is_some_and(|n| n.is_ascii_digit()),
            },
            _ => false,
        }
}

/// Returns whether the text begins with `,ddd` and no further digit.
fn thousands(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 4 && bytes[1..4].iter().all(u8::is_ascii_digit) && !bytes.get(4).is_some_and(u8::is_ascii_digit)
}

/// Names that differ from common words only by the capital inside a sentence, each with an unambiguous name.
const BY_CAPITAL: [(&str, &str); 1] = [("go", "golang")];

/// The token for "free" after a hyphen, which means that the thing before it is absent.
pub(crate) const FREE_OF: &str = "-free";

/// Returns whether the next word begins a sentence, so that its capital has no meaning.
fn begins_sentence(tokens: &[Token]) -> bool {
    tokens.last().is_none_or(|last| matches!(last.kind, TokenKind::Punct('.' | '!' | '?' | ':' | '\n')))
}

fn push_word(tokens: &mut Vec<Token>, text: &str, start: usize, end: usize, in_code: bool) {
    let marks = |c: char| matches!(c, '"' | '\'' | '’' | ',' | ';' | '(' | ')' | '[' | ']' | ':');
    let whole = &text[start..end];
    let word = if in_code || whole.starts_with(':') { whole.trim_matches(marks) } else { whole };
    let word = if word.is_empty() { whole } else { word };
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).filter(|w| !w.is_empty()).unwrap_or(word);
    let digits = word.trim_start_matches(['-', '−']).bytes().next().is_some_and(|b| b.is_ascii_digit());
    let identifier = in_code
        || word.contains(['_', '/', '$', '@', '\\', '=', '*'])
        || (word.contains('.') && !digits)
        || word.starts_with(['.', '#', '-'])
        || (word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase));
    let kind = if digits {
        TokenKind::Number
    } else if identifier {
        TokenKind::Code
    } else {
        TokenKind::Word
    };
    let capital = !in_code && word.chars().next().is_some_and(char::is_uppercase);
    let mut lower = word.to_lowercase().replace('’', "'").replace(['−', '–'], "-");
    // "lock-free" negates the word before the hyphen.
    if lower == "free" && tokens.last().is_some_and(|last| last.end + 1 == start) && text[..start].ends_with('-') {
        FREE_OF.clone_into(&mut lower);
    }
    if capital
        && !begins_sentence(tokens)
        && let Some((_, name)) = BY_CAPITAL.iter().find(|(word, _)| *word == lower)
    {
        (*name).clone_into(&mut lower);
    }
    tokens.push(Token { kind, start, end, lower, capital, surface: word.to_owned() });
}

/// Returns the lower-case words of a lexicon entry, as [`tokenise`] splits them.
pub(crate) fn plain_words(phrase: &str) -> Vec<String> {
    tokenise(phrase).into_iter().filter(|t| !matches!(t.kind, TokenKind::Punct(_))).map(|t| t.lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        plain_words(text)
    }

    #[test]
    fn words_code_numbers_and_hyphens() {
        assert_eq!(
            words("Don't use `bd dolt push` on net8.0!"),
            ["don't", "use", "bd", "dolt", "push", "on", "net8.0"]
        );
        assert_eq!(words("third-party, 3-node"), ["third", "party", "3", "node"]);
        assert_eq!(
            words("1,000 requests at 02:00 on 2026-01-05"),
            ["1,000", "requests", "at", "02:00", "on", "2026-01-05"]
        );
        assert_eq!(
            words("team’s src/.env c++ C# 5% --no-spawn"),
            ["team", "src/.env", "c++", "c#", "5%", "--no-spawn"]
        );
    }

    #[test]
    fn a_sign_before_a_number_is_a_word_or_a_part_of_the_number() {
        assert_eq!(
            words("Node >= 18, p ≤0.5, x>=3 (< 5 ms)"),
            ["node", "above", "18", "p", "below", "0.5", "x", "above", "3", "below", "5", "ms"]
        );
        assert_eq!(words("from -10 to −5"), ["from", "-10", "to", "-5"]);
        assert_eq!(words("> 5 lines\n> 3 lines, a -> 5, Vec<3>"), ["5", "lines", "3", "lines", "a", "5", "vec", "3"]);
    }

    #[test]
    fn a_single_backtick_begins_no_code() {
        let code = |text: &str| tokenise(text).iter().filter(|token| token.kind == TokenKind::Code).count();
        assert_eq!((code("Don`t use Redis"), code("use `bd` or `dolt push`"), code("a `b` c ` d")), (0, 3, 1));
    }

    #[test]
    fn a_capital_inside_a_sentence_tells_a_name_from_a_word() {
        assert_eq!(words("It is written in Go."), ["it", "is", "written", "in", "golang"]);
        assert_eq!(words("Go back. Go on: we go"), ["go", "back", "go", "on", "we", "go"]);
    }
}
