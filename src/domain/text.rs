//! Sanitises untrusted text, from the store, peers and models, for display; splits text into words and sentences.

use std::fmt::Write;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::char::is_combining_mark;

/// Zero-width non-joiner: keeps two letters apart that would join.
const NON_JOINER: char = '\u{200c}';
/// Zero-width joiner: joins two letters, or emoji to one.
const JOINER: char = '\u{200d}';
/// Variation selector 16: shows the character before it as an emoji.
const AS_EMOJI: char = '\u{fe0f}';
/// The combining key that makes a digit, `#` or `*` an emoji.
const KEYCAP: char = '\u{20e3}';

/// Formats a number with the singular or the plural of its noun.
pub fn count(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// Returns “both”, or for example “all 3”, for a number of things.
pub fn both_or_all(count: usize) -> String {
    if count > 2 { format!("all {count}") } else { "both".to_owned() }
}

/// Makes text safe for a terminal: drops control, bidirectional and zero-width characters, replaces tabs by spaces, and
/// keeps line breaks. Keeps the joiners and variation selectors that belong to a word or an emoji.
pub fn sanitize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            '\t' => out.push(' '),
            NON_JOINER | JOINER if !joiner_has_effect(c, out.chars().next_back(), chars.peek().copied()) => {}
            NON_JOINER | JOINER => out.push(c),
            AS_EMOJI if shown_as_emoji(out.chars().next_back(), chars.peek().copied()) => out.push(c),
            c if is_unprintable(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Sanitises text for one line, as [`sanitize`] does, and replaces line breaks by spaces.
pub fn sanitize_line(text: &str) -> String {
    sanitize(text).replace('\n', " ")
}

/// Returns whether a joiner shapes what stands around it: it follows a letter or a mark of a script that has joiners,
/// or it stands between two emoji. Elsewhere, it only makes two texts differ that look the same.
fn joiner_has_effect(joiner: char, before: Option<char>, after: Option<char>) -> bool {
    let shapes = |c: char| has_joiners(c) && (c.is_alphabetic() || is_combining_mark(c));
    let emoji = |c: char| is_picture(c) || c == AS_EMOJI;
    before.is_some_and(shapes) || (joiner == JOINER && before.is_some_and(emoji) && after.is_some_and(is_picture))
}

/// Returns whether a variation selector 16 between two characters has an effect.
fn shown_as_emoji(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(|c| match c {
        '0'..='9' | '#' | '*' => after == Some(KEYCAP),
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙' => true,
        c => is_picture(c),
    })
}

/// Returns whether a character is of a block whose letters change with a joiner: Arabic to Myanmar, Khmer and Mongolian
/// to Vedic, the later blocks of both groups, and Arabic presentation forms.
fn has_joiners(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{109f}' | '\u{1700}'..='\u{1cff}' | '\u{a800}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' | '\u{10a00}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
}

/// Returns whether a character is of a block that has emoji.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Takes joined emoji apart, without their variation selectors, and keeps the joiners of words.
pub fn without_emoji_joiners(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| *c != AS_EMOJI) {
        if c != JOINER || !out.chars().next_back().is_some_and(is_picture) {
            out.push(c);
        }
    }
    out
}

/// Names a person, and the agent through which they act: “ada via claude”.
pub fn writer(who: &str, agent: Option<&str>) -> String {
    // An agent that acts for no person gives its own name as the person's.
    let agent = agent.filter(|agent| *agent != who);
    agent.map_or_else(|| who.to_owned(), |agent| format!("{who} via {agent}"))
}

/// Cleans what a person typed or pasted: drops the characters that [`sanitize`] drops, but keeps tabs, and the
/// joiners and variation selectors of which words and emoji consist.
pub fn clean_input(text: &str) -> String {
    let belongs = |c: char| matches!(c, '\n' | '\t' | NON_JOINER | JOINER | '\u{fe0e}' | AS_EMOJI);
    text.chars().filter(|c| belongs(*c) || !is_unprintable(*c)).collect()
}

/// Escapes the characters that [`sanitize`] drops, and line breaks, as `\u{202e}`. For names, so that two that differ only in such
/// characters can be told apart.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unprintable(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Returns the first control, bidirectional or zero-width character of a text; a name must have none.
pub fn unprintable(text: &str) -> Option<char> {
    text.chars().find(|c| is_unprintable(*c))
}

/// Says why a text cannot be a name: “contains the invisible character U+202E”. `None` if it can.
pub fn name_problem(text: &str) -> Option<String> {
    unprintable(text).map(|c| format!("contains the invisible character U+{:04X}", u32::from(c)))
}

/// Quotes a text as one word of a POSIX shell, in single quotes if it needs them. Drops invisible characters.
pub fn quote(text: &str) -> String {
    let text = sanitize_line(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | ':' | '=' | ',' | '@');
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Escapes in a JSON document (`\u202e`) the characters that serde_json leaves unescaped but that affect a terminal. The
/// parsed document stays the same.
pub fn escape_json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for c in document.chars() {
        // Outside of strings, JSON contains none of these except line breaks; within strings, line breaks are escaped already.
        if c != '\n' && is_unprintable(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _fine = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn is_unprintable(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// Returns whether a text contains a letter or a digit of any script.
pub fn has_word(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// Cuts a text to `most` characters, and adds an ellipsis if it is longer.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Sanitises a text for one line and cuts it: [`sanitize_line`], then [`cut`].
pub fn cut_line(text: &str, most: usize) -> String {
    cut(&sanitize_line(text), most)
}

/// Returns whether a character is invisible or changes how others are shown: Unicode category Cf and similar ones,
/// variation selectors, tags and fillers.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{070f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The beginning of the sentence by which an import says where a claim is stated. It is the last or only sentence of the claim's reason.
pub const STATED: &str = "Stated in ";

/// Begins the statement of a rejection whose source names only what was rejected. The source need not contain the word.
pub const REJECTED: &str = "Rejected: ";

/// Returns the reason of a claim that was imported from a file which gives none.
pub fn reason_of_import(file: &str) -> String {
    format!("{IMPORTED}{file}{NO_REASON}")
}

const IMPORTED: &str = "Imported from ";
const NO_REASON: &str = ", which gives no reason.";

/// Returns the reason of a decision whose record gives none.
pub fn reason_of_record(title: &str, file: &str) -> String {
    format!("{RECORDED}{title}{IN_RECORD}{file}.")
}

const RECORDED: &str = "Recorded as “";
const IN_RECORD: &str = "” in ";

/// Returns a reason without the sentence that an import adds, which names a place and is no reason: one that begins with [`STATED`],
/// or that of [`reason_of_import`] or [`reason_of_record`]. Returns `None` if nothing is left.
pub fn without_place(reason: &str) -> Option<&str> {
    let imported = reason.starts_with(IMPORTED) && reason.ends_with(NO_REASON);
    // A date may follow in brackets.
    let undated = reason.strip_suffix(')').and_then(|reason| reason.rsplit_once(" (")).map_or(reason, |(own, _)| own);
    let file = undated.strip_prefix(RECORDED).and_then(|own| own.strip_suffix('.')?.rsplit_once(IN_RECORD));
    if imported || file.is_some_and(|(_, file)| !file.contains(". ")) {
        return None;
    }
    let own = reason.rsplit_once(STATED).map_or(reason, |(before, place)| {
        let heading = place.contains(" under “") && place.ends_with("”.");
        let is_place = heading || (place.ends_with('.') && !place.contains(' '));
        if is_place && (before.is_empty() || before.ends_with(' ')) { before } else { reason }
    });
    Some(own.trim_end()).filter(|own| !own.is_empty())
}

/// Estimates the number of tokens of a text for a language model, usually 5 to 25 % too high.
///
/// Runs of letters count as one token per six letters, runs of digits as one per three, other characters as one each, and
/// spaces as none. Compared with the tokenizer o200k, the estimate is 23 % too high in total on 954 rules and decisions,
/// and 16 % on this project's documentation; it is too low for one rule in thirty.
pub fn estimated_tokens(text: &str) -> usize {
    const LETTERS: usize = 6;
    const DIGITS: usize = 3;
    let (mut tokens, mut letters, mut digits) = (0, 0, 0);
    let mut after_lowercase = false;
    for c in text.chars() {
        if c.is_ascii_alphabetic() {
            let word_begins = after_lowercase && c.is_ascii_uppercase();
            tokens += usize::from(word_begins || letters % LETTERS == 0);
            letters = if word_begins { 1 } else { letters + 1 };
        } else {
            letters = 0;
        }
        if c.is_ascii_digit() {
            tokens += usize::from(digits % DIGITS == 0);
            digits += 1;
        } else {
            digits = 0;
        }
        if !c.is_ascii_alphanumeric() && c != ' ' {
            tokens += c.len_utf8().saturating_sub(1).max(1);
        }
        after_lowercase = c.is_ascii_lowercase();
    }
    tokens
}

/// Returns the stems of the words of a text, in lower case and in order (Porter, "Snowball: a language for stemming algorithms",
/// 2001). The text index and recall both use it, because they must split texts in the same way.
pub fn stems(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    words(text).map(|word| stemmer.stem(&word).into_owned()).collect()
}

/// Returns the words of a text in lower case, in order.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Abbreviations, after which a period does not end a sentence.
const ABBREVIATIONS: [&str; 14] =
    ["e.g", "i.e", "etc", "vs", "cf", "no", "nr", "approx", "resp", "incl", "fig", "sec", "dept", "st"];

/// Splits a text into its sentences, trimmed and not empty. A mark ends a sentence if a space and the possible beginning of another
/// sentence follow, but not within `code` or brackets, nor after an abbreviation.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut code, mut depth) = (0, false, 0_usize);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '`' => code = !code,
            '(' | '[' if !code => depth += 1,
            ')' | ']' if !code => depth = depth.saturating_sub(1),
            '.' | '!' | '?' if !code && depth == 0 => {
                let mut end = at + c.len_utf8();
                while let Some((next, mark)) = chars.peek().copied()
                    && matches!(mark, '.' | '!' | '?' | '"' | '”' | '\'' | '’' | ')')
                {
                    end = next + mark.len_utf8();
                    chars.next();
                }
                let rest = text.get(end..).unwrap_or_default();
                let before = text.get(start..at).unwrap_or_default();
                if (rest.is_empty() || rest.starts_with(char::is_whitespace))
                    && begins_sentence(rest.trim_start())
                    && !(c == '.' && ends_in_abbreviation(before))
                {
                    push(&mut out, text.get(start..end));
                    start = end;
                }
            }
            _ => {}
        }
    }
    push(&mut out, text.get(start..));
    out
}

fn push<'a>(out: &mut Vec<&'a str>, sentence: Option<&'a str>) {
    if let Some(sentence) = sentence.map(str::trim)
        && !sentence.is_empty()
    {
        out.push(sentence);
    }
}

fn begins_sentence(rest: &str) -> bool {
    rest.chars().next().is_none_or(|c| !c.is_lowercase())
}

fn ends_in_abbreviation(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    // A single capital letter is an initial. Digits at the beginning are the number of a list item ("2. Use X").
    let numbered = word.len() == before.trim_start().len() && word.chars().all(|c| c.is_ascii_digit());
    numbered
        || ABBREVIATIONS.contains(&word.to_ascii_lowercase().as_str())
        || (word.chars().count() == 1 && word.chars().all(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_claim_is_stated_is_no_reason() {
        for (reason, own) in [
            ("Stated in CLAUDE.md under “Shop > Rules”.", None),
            ("Stated in .cursorrules.", None),
            ("They take a minute. Stated in AGENTS.md under “Tests”.", Some("They take a minute.")),
            ("Stated in the contract, and we signed it.", Some("Stated in the contract, and we signed it.")),
            ("It is fast.", Some("It is fast.")),
            (reason_of_import("memories.json").as_str(), None),
            (reason_of_record("Use Rust", "0001-use-rust.md").as_str(), None),
            ("Recorded as “Use Rust” in 0001-use-rust.md. (2026-01-01)", None),
            ("Imported from Spain, as Zoe wants.", Some("Imported from Spain, as Zoe wants.")),
            ("Recorded as “x” in a.md. It is fast.", Some("Recorded as “x” in a.md. It is fast.")),
        ] {
            assert_eq!(without_place(reason), own);
        }
    }

    #[test]
    fn stops_that_end_nothing() {
        assert_eq!(
            sentences("Use v1.2, e.g. in CI. Then stop! Really?"),
            ["Use v1.2, e.g. in CI.", "Then stop!", "Really?"]
        );
        assert_eq!(sentences("Call `a. B` (see X. Y) now. End"), ["Call `a. B` (see X. Y) now.", "End"]);
        assert_eq!(sentences("1. Use it. 2. Not"), ["1. Use it.", "2. Not"]);
        assert_eq!(sentences("Wait... what. Ok"), ["Wait... what.", "Ok"]);
    }

    #[test]
    fn words_are_reduced_to_their_stems() {
        assert_eq!(stems("Deployments, deployed: deploy-once!"), ["deploy", "deploy", "deploy", "onc"]);
        assert_eq!(stems(" -- "), Vec::<String>::new());
    }

    #[test]
    fn a_shell_sees_one_word() {
        assert_eq!(quote("docs/a.md:12"), "docs/a.md:12");
        assert_eq!(quote("it's $HOME `x`\n"), "'it'\\''s $HOME `x` '");
        assert_eq!(quote("lap$(touch x)"), "'lap$(touch x)'");
        assert_eq!(quote(""), "''");
    }

    #[test]
    fn names_show_what_would_not_be_seen() {
        assert_eq!(escape("a\u{1b}b\u{202e}\n決"), "a\\u{1b}b\\u{202e}\\u{a}決");
        assert_eq!((unprintable("l\u{200b}ap"), unprintable("lap 決 🚀")), (Some('\u{200b}'), None));
        let text = "\u{9b}\u{202e}\u{e0041}\u{7f}\n\u{1b}é";
        let json = escape_json(&serde_json::to_string_pretty(&[text]).unwrap());
        assert!(json.contains("\\u009b\\u202e\\udb40\\udc41\\u007f\\n\\u001bé"), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [text]);
    }

    #[test]
    fn strips_what_can_lie_and_keeps_what_speaks() {
        assert_eq!(sanitize("a\u{1b}[31mb\u{202e}c\u{200b}d\te\nf"), "a[31mbcd e\nf");
        assert_eq!(sanitize_line("a\nb"), "a b");
        assert_eq!(
            clean_input("a\u{1b}[31m\u{202e}\tb\n👨\u{200d}💻 می\u{200c}خواهم\r"),
            "a[31m\tb\n👨\u{200d}💻 می\u{200c}خواهم"
        );
        assert_eq!((cut("決定は", 3), cut("決定は", 2), cut("", 0)), ("決定は".into(), "決定…".into(), String::new()));
        assert_eq!(cut_line("a\u{202e}b\ncd", 3), "ab …", "what is not shown is not counted");
        assert_eq!(sanitize("naïve 決定 🚀 שלום"), "naïve 決定 🚀 שלום");
    }

    #[test]
    fn joiners_stay_where_they_shape_letters_and_emoji() {
        for kept in [
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "ന\u{d4d}\u{200d} ഇത്",
            "👩🏽\u{200d}🚀 👨\u{200d}👩\u{200d}👧",
            "▶\u{fe0f} ☺\u{fe0f} ©\u{fe0f} 1\u{fe0f}\u{20e3}",
            "🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f}\u{200d}🔥",
        ] {
            assert_eq!((sanitize(kept), sanitize_line(kept)), (kept.to_owned(), kept.to_owned()));
        }
        for (text, shown) in [
            ("pass\u{200c}wo\u{200d}rd", "password"),
            ("\u{200c}می\u{200c}\u{200c}خ \u{200d}", "می\u{200c}خ "),
            ("می\u{202e}\u{200c}خ\u{2066}", "می\u{200c}خ"),
            ("👩\u{200c}🚀\u{200d}", "👩🚀"),
            ("pass\u{fe0f}word 1\u{fe0f} ☺\u{fe0f}\u{fe0f}\u{200d}x\u{fe0e}", "password 1 ☺\u{fe0f}x"),
        ] {
            assert_eq!(sanitize(text), shown, "{}", text.escape_unicode());
            assert_eq!(sanitize(shown), shown);
        }
        assert_eq!(
            without_emoji_joiners("👩\u{200d}🚀 🏳\u{fe0f}\u{200d}🌈 می\u{200c}خ क\u{94d}\u{200d}ष"),
            "👩🚀 🏳🌈 می\u{200c}خ क\u{94d}\u{200d}ष"
        );
    }
}
