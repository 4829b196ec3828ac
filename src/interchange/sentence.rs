//! Splits prose into sentences and clauses.

pub use crate::domain::text::sentences;

/// Splits a sentence into its statement and its “because” clause. `None` if there is no such clause, or if the rest is too short
/// for a statement.
pub fn split_because(sentence: &str) -> Option<(String, String)> {
    const LEADS: [&str; 3] = [" because ", " due to the fact that ", " given that "];
    let lower = sentence.to_ascii_lowercase();
    let (at, lead) = LEADS.iter().filter_map(|lead| Some((lower.find(lead)?, *lead))).min()?;
    let statement = sentence.get(..at)?.trim().trim_end_matches([',', ';', ':', '-', '–', '—', '(']).trim_end();
    let clause = sentence.get(at + lead.len()..)?.trim().trim_end_matches(['.', ')']).trim_end();
    if statement.split_whitespace().count() < 3 || clause.split_whitespace().count() < 2 || in_code(sentence, at) {
        return None;
    }
    // Do not split inside brackets.
    if statement.matches('(').count() != statement.matches(')').count() {
        return None;
    }
    Some((with_period(statement), with_period(&capital(clause))))
}

fn in_code(text: &str, at: usize) -> bool {
    text.get(..at).is_some_and(|before| before.matches('`').count() % 2 == 1)
}

/// Capitalises the first letter.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Lower-cases the first letter, unless the word is a name or an acronym.
pub fn uncapital(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// Ends a text with a period, unless it ends as a sentence.
pub fn with_period(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() || text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

/// Returns the first sentences that fit in `max` characters, at least one; a longer one is cut at a word.
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

/// Shortens a text at a word to at most `max` characters, including the ellipsis.
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
            let _ = (shorten(&text, max), capital(&text), uncapital(&text), with_period(&text));
        }
    }
}
