//! Ergo's own marked section in a rule file.
//!
//! Invariant: no byte outside the section is changed. If it is unclear where the section is, nothing is changed.

use std::ops::Range;

pub use crate::domain::marked_section::SectionError;
use crate::domain::marked_section::{self, CLAIMS, CLAIMS_BEGIN_LINE, line_end};

/// Returns the byte range of the section of claims, from its begin marker to the end of the line with its end marker; `None` if there is
/// none.
///
/// # Errors
/// If it is unclear where the section is.
pub fn find(text: &str) -> Result<Option<Range<usize>>, SectionError> {
    marked_section::find(text, CLAIMS)
}

/// Replaces the content of the section of a text, or appends a section. The line endings are those of the text. A text
/// without a final line ending still has none afterwards, so that [`remove`] restores it.
///
/// # Errors
/// If it is unclear where the section is; when appending, also if a code block is never closed.
pub fn put(text: &str, content: &str) -> Result<String, SectionError> {
    let range = find(text)?;
    let end_of_line = line_end(text, range.clone());
    let mut block = String::with_capacity(content.len() + CLAIMS_BEGIN_LINE.len() + CLAIMS.end.len() + 4);
    let content = content.lines().map(without_comments);
    for line in std::iter::once(CLAIMS_BEGIN_LINE.to_owned()).chain(content).chain([CLAIMS.end.to_owned()]) {
        block.push_str(&line);
        block.push_str(end_of_line);
    }
    let without_last_ending = block.trim_end_matches(['\r', '\n']);
    let Some(range) = range else {
        return Ok(match text {
            "" | "\u{feff}" => [text, &block].concat(),
            text if text.ends_with('\n') => [text, end_of_line, &block].concat(),
            _ => [text, end_of_line, end_of_line, without_last_ending].concat(),
        });
    };
    let (before, rest) = (text.get(..range.start).unwrap_or_default(), text.get(range.end..).unwrap_or_default());
    let old = text.get(range).unwrap_or_default();
    // A section at the end of a file may lack the last line ending.
    let block = if old.ends_with('\n') { &*block } else { without_last_ending };
    Ok([before, block, rest].concat())
}

/// Returns the text without the section; at the end of a text also without the line endings that [`put`] adds above it.
///
/// # Errors
/// If it is unclear where the section is.
pub fn remove(text: &str) -> Result<String, SectionError> {
    let range = match find(text) {
        Err(SectionError::OpenFence(_)) => None,
        found => found?,
    };
    let Some(range) = range else { return Ok(text.to_owned()) };
    let (before, after) = (text.get(..range.start).unwrap_or_default(), text.get(range.end..).unwrap_or_default());
    if !after.is_empty() {
        return Ok([before, after].concat());
    }
    let above = if text.ends_with('\n') {
        let above = before.strip_suffix("\r\n").or_else(|| before.strip_suffix('\n'));
        above.filter(|above| above.ends_with('\n'))
    } else {
        before.strip_suffix("\r\n\r\n").or_else(|| before.strip_suffix("\n\n"))
    };
    Ok(above.unwrap_or(before).to_owned())
}

/// Returns the content of the section; `None` if there is no section.
///
/// # Errors
/// If it is unclear where the section is.
pub fn content(text: &str) -> Result<Option<String>, SectionError> {
    let Some(range) = find(text)? else { return Ok(None) };
    let lines: Vec<&str> = text.get(range).unwrap_or_default().lines().collect();
    let inner = lines.get(1..lines.len().saturating_sub(1)).unwrap_or_default();
    Ok(Some(inner.iter().flat_map(|line| [line, "\n"]).collect()))
}

/// Returns the text with the lines of its section empty, so that other lines keep their numbers. Without a section, the text is unchanged.
pub fn without(text: &str) -> String {
    let Ok(Some(range)) = find(text) else { return text.to_owned() };
    let (before, after) = (text.get(..range.start).unwrap_or_default(), text.get(range.end..).unwrap_or_default());
    let lines = text.get(range).unwrap_or_default().matches('\n').count();
    [before, &"\n".repeat(lines), after].concat()
}

/// Returns a hash of the text outside the section, which tells a person's change from ergo's own. Blank lines at the end are ignored, because
/// ergo adds one before its section.
pub fn hash_without(text: &str) -> String {
    let Ok(Some(range)) = find(text) else { return blake3::hash(text.trim_end().as_bytes()).to_hex().to_string() };
    let (before, after) = (text.get(..range.start).unwrap_or_default(), text.get(range.end..).unwrap_or_default());
    let rest = if after.trim().is_empty() { before.trim_end().to_owned() } else { [before, after.trim_end()].concat() };
    blake3::hash(rest.as_bytes()).to_hex().to_string()
}

/// Returns a line of the section's content without comment marks, so that a claim that contains a marker does not end the section.
fn without_comments(line: &str) -> String {
    line.replace('\r', " ").replace("<!--", "<! --").replace("-->", "-- >")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BEGIN: &str = CLAIMS.begin;
    const END: &str = CLAIMS.end;

    /// Returns the text before and after the section.
    fn outside(text: &str) -> (String, String) {
        match find(text).unwrap() {
            Some(range) => (text[..range.start].to_owned(), text[range.end..].to_owned()),
            None => (text.to_owned(), String::new()),
        }
    }

    #[test]
    fn a_section_is_appended_once_and_then_replaced() {
        let once = put("# Rules\n\nBe kind.", "- one").unwrap();
        assert!(once.starts_with("# Rules\n\nBe kind.\n\n<!-- ergo:claims:begin"), "{once}");
        assert_eq!(put(&once, "- one").unwrap(), once);
        let longer = once.clone() + "\n\nAfter.\n";
        let other = put(&longer, "- two").unwrap();
        assert!(other.ends_with("\n\nAfter.\n") && !other.contains("- one"), "{other}");
        assert_eq!(hash_without(&once), hash_without("# Rules\n\nBe kind."));
        assert_ne!(hash_without(&longer), hash_without(&once));
        assert_eq!(without(&longer).lines().count(), longer.lines().count());
        assert!(!without(&longer).contains("one"));
    }

    #[test]
    fn odd_files_keep_what_a_person_wrote() {
        let crlf = put("a\r\nb\r\n", "- x\n- y").unwrap();
        assert!(crlf.starts_with("a\r\nb\r\n\r\n<!--") && !crlf.replace("\r\n", "").contains('\n'), "{crlf:?}");
        assert_eq!(put("\u{feff}", "- x").unwrap().matches('\u{feff}').count(), 1);
        let fenced = format!("```\n{CLAIMS_BEGIN_LINE}\n{END}\n```\n");
        let with = put(&fenced, "- x").unwrap();
        assert!(with.starts_with(&fenced) && with.matches(BEGIN).count() == 2, "markers in code are text: {with}");
        assert_eq!(put("a\n~~~\ncode\n", "x"), Err(SectionError::OpenFence(2)));
        assert_eq!(put(&format!("{CLAIMS_BEGIN_LINE}\nx\n"), "x"), Err(SectionError::Unended(1, END)));
        assert_eq!(put(&format!("x\n{END}\n"), "x"), Err(SectionError::Unbegun(2, BEGIN)));
        let nested = format!("{CLAIMS_BEGIN_LINE}\n{CLAIMS_BEGIN_LINE}\n{END}\n{END}\n");
        assert_eq!(put(&nested, "x"), Err(SectionError::Second(2)));
        let twice = put(&put("", "x").unwrap().repeat(2), "x");
        assert_eq!(twice, Err(SectionError::Second(4)));
    }

    #[test]
    fn a_removed_section_leaves_the_other_text_as_it_was() {
        for text in ["", "\u{feff}", "\n", "a\n", "a\n\n\n", "a\r\nb\r\n", "a", "a\n\nb", "a\r\nb", "a\r", "```\nopen"]
        {
            assert_eq!(remove(text).unwrap(), text, "nothing to remove");
            if let Ok(with) = put(text, "- x") {
                assert_eq!(remove(&with).unwrap(), text);
                let below = format!("{with}\nAfter.\n");
                assert!(remove(&below).unwrap().ends_with("\nAfter.\n"), "{below}");
            }
        }
        let again = put(&put("a", "- x").unwrap(), "- y").unwrap();
        assert_eq!(remove(&again).unwrap(), "a", "also after the section was written again");
        let (above, below) = ("a\n\n", "\n\nb");
        let section = put("", "- x").unwrap();
        assert_eq!(remove(&[above, &section, below].concat()).unwrap(), [above, below].concat());
        assert_eq!(remove(&format!("x\n{END}\n")), Err(SectionError::Unbegun(2, BEGIN)));
    }

    #[test]
    fn no_claim_ends_the_section() {
        let text = put("mine\n", &format!("- {END}\n{END}\n```\nopen")).unwrap();
        assert_eq!(outside(&text).0, "mine\n\n");
        assert_eq!(put(&text, "- x").unwrap(), put("mine\n", "- x").unwrap());
    }

    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            Just(CLAIMS_BEGIN_LINE.to_owned()),
            Just(END.to_owned()),
            Just("```".to_owned()),
            Just("~~~~ sh".to_owned()),
            Just(format!("    {END}")),
            "[ a-z#ä`-]{0,8}",
        ]
    }

    proptest! {
        #[test]
        fn what_a_person_wrote_stays_byte_for_byte(
            bom in any::<bool>(),
            parts in prop::collection::vec((line(), prop_oneof![Just("\n"), Just("\r\n"), Just("\r")]), 0..12),
            last in "[a-z]{0,3}",
            content in "([ a-z<!>`-]{0,9}\n){0,4}",
        ) {
            let mut text = if bom { "\u{feff}".to_owned() } else { String::new() };
            for (line, end) in &parts {
                text.push_str(line);
                text.push_str(end);
            }
            text.push_str(&last);
            let Ok(new) = put(&text, &content) else { return Ok(()) };
            let (before, after) = outside(&text);
            let (new_before, new_after) = outside(&new);
            prop_assert!(new_before.starts_with(&before));
            prop_assert!(new_before[before.len()..].trim().is_empty());
            prop_assert_eq!(new_after, after);
            prop_assert_eq!(put(&new, &content).unwrap(), new.clone(), "again");
            prop_assert_eq!(hash_without(&new), hash_without(&text));
        }
    }
}
