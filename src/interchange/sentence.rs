//! Cutting prose into sentences and clauses.

/// Words after which a full stop ends no sentence.
const ABBREVIATIONS: [&str; 14] =
    ["e.g", "i.e", "etc", "vs", "cf", "no", "nr", "approx", "resp", "incl", "fig", "sec", "dept", "st"];

/// The sentences of a text, trimmed, none of them empty. A stop ends a sentence where a space and something that can begin
/// one follow; not within `code`, not within brackets, not after an abbreviation.
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
    // A single letter is an initial; digits before the stop are a numbered point ("2. Use X") where nothing precedes them.
    let numbered = word.len() == before.trim_start().len() && word.chars().all(|c| c.is_ascii_digit());
    numbered
        || ABBREVIATIONS.contains(&word.to_ascii_lowercase().as_str())
        || (word.chars().count() == 1 && word.chars().all(char::is_uppercase))
}

/// Splits a sentence at the clause that gives its reason: the statement, and the clause without the word that led to it.
/// `None` where no such clause stands at the end, or too little is left before it to be a statement.
pub fn split_because(sentence: &str) -> Option<(String, String)> {
    const LEADS: [&str; 3] = [" because ", " due to the fact that ", " given that "];
    let lower = sentence.to_ascii_lowercase();
    let (at, lead) = LEADS.iter().filter_map(|lead| Some((lower.find(lead)?, *lead))).min()?;
    let statement = sentence.get(..at)?.trim().trim_end_matches([',', ';', ':', '-', '–', '—', '(']).trim_end();
    let clause = sentence.get(at + lead.len()..)?.trim().trim_end_matches(['.', ')']).trim_end();
    if statement.split_whitespace().count() < 3 || clause.split_whitespace().count() < 2 || in_code(sentence, at) {
        return None;
    }
    // What is not told apart by a bracket that the cut tore open stays one sentence.
    if statement.matches('(').count() != statement.matches(')').count() {
        return None;
    }
    Some((stop(statement), stop(&capital(clause))))
}

fn in_code(text: &str, at: usize) -> bool {
    text.get(..at).is_some_and(|before| before.matches('`').count() % 2 == 1)
}

/// `text` with its first letter in upper case; words in `code` stay as they are.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `text` with its first letter in lower case, unless the word is a name or an acronym.
pub fn uncapital(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// `text` that ends as a sentence does.
pub fn stop(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() || text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

/// The first sentences of `text` that fit in `max` characters, at least one; one that is longer is cut at a word.
pub fn shorten(text: &str, max: usize) -> String {
    let mut out = String::new();
    for sentence in sentences(text) {
        let length = out.chars().count() + sentence.chars().count() + 1;
        if length > max && !out.is_empty() {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(sentence);
        if length > max {
            break;
        }
    }
    cut(&out, max)
}

/// `text` cut at a word so that it has at most `max` characters, the mark of omission included.
pub fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let head: String = text.chars().take(max.saturating_sub(1)).collect();
    let head = head.rsplit_once(' ').map_or(head.as_str(), |(words, _)| words);
    format!("{}…", head.trim_end_matches([',', ';', ':', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn the_reason_is_cut_from_the_rule() {
        assert_eq!(
            split_because("Never edit migrations, because they have shipped."),
            Some(("Never edit migrations.".into(), "They have shipped.".into()))
        );
        assert_eq!(split_because("Not because of X and Y"), None);
        assert_eq!(split_because("Use `a because b` here"), None);
    }

    #[test]
    fn cutting_keeps_words_whole() {
        assert_eq!(cut("one two three", 9), "one two…");
        assert_eq!(shorten("First one. Second one.", 12), "First one.");
    }

    proptest! {
        #[test]
        fn no_text_is_lost_or_invented(text in "[a-zA-Z .!?`()]{0,120}") {
            let joined: String = sentences(&text).concat().split_whitespace().collect();
            let whole: String = text.split_whitespace().collect();
            prop_assert_eq!(joined, whole);
        }

        #[test]
        fn nothing_panics(text in "\\PC{0,80}", max in 0_usize..40) {
            let _ = split_because(&text);
            prop_assert!(cut(&text, max).chars().count() <= max.max(1));
            let _ = (shorten(&text, max), capital(&text), uncapital(&text), stop(&text));
        }
    }
}
