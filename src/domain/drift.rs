//! Checks whether a source still contains a claim, by comparing the words of the named line. The caller reads the file.

use std::collections::BTreeSet;

use super::text::REJECTED;

/// How a source has changed since a claim was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// The named line, or one close to it, still contains the statement.
    Same,
    /// Another line contains the statement now: its number, from 1.
    Moved(usize),
    /// The file exists, but no line contains the statement any more.
    Changed,
    /// The file is gone.
    Gone,
}

/// The number of lines before and after the named one that count as the same place, because text is rewrapped and headings change.
const NEARBY_LINES: usize = 3;

/// The share of a claim's words that lines must contain to count as stating it.
const MIN_WORD_SHARE: f32 = 0.7;

/// Parses a source that names a file of the project: returns its relative path, and the line (from 1) if one is named.
pub fn named(source: &str) -> Option<(&str, Option<usize>)> {
    let source = source.trim();
    let (path, line) = match source.rsplit_once(':') {
        Some((path, line)) => match line.parse() {
            Ok(line) => (path, Some(line)),
            Err(_) => (source, None),
        },
        None => (source, None),
    };
    let plain = !path.is_empty()
        && !path.starts_with(['/', '~'])
        && !path.contains("://")
        && !path.contains(|c: char| c.is_control() || c.is_whitespace())
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    // A single word without a slash or a dot names something else than a file.
    (plain && (path.contains('/') || path.contains('.'))).then_some((path, line))
}

/// Returns a source without the line number at its end.
pub fn without_line(source: &str) -> &str {
    match source.rsplit_once(':') {
        Some((file, line)) if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) => file,
        _ => source,
    }
}

/// Compares a claim's statement with the text of its source, which named `line` (from 1).
pub fn compare(statement: &str, text: &str, line: Option<usize>) -> Drift {
    let wanted = words(statement.strip_prefix(REJECTED).unwrap_or(statement));
    if wanted.is_empty() {
        return Drift::Same;
    }
    let lines: Vec<Vec<String>> = text.lines().map(words).collect();
    if let Some(line) = line {
        let at = line.saturating_sub(1);
        let to = (at + NEARBY_LINES + 1).min(lines.len());
        let nearby = lines.get(at.saturating_sub(NEARBY_LINES).min(to)..to).unwrap_or_default();
        let leads = leads(text, at).into_iter().filter_map(|lead| lines.get(lead));
        if contains_enough(&wanted, nearby.iter().chain(leads)) {
            return Drift::Same;
        }
    }
    // One line, or else two consecutive ones, because text is wrapped.
    let place = |height| lines.windows(height).position(|window| contains_enough(&wanted, window));
    match (place(1).or_else(|| place(2)), line) {
        (Some(at), Some(_)) => Drift::Moved(at + 1),
        (Some(_), None) => Drift::Same,
        (None, None) if contains_enough(&wanted, &lines) => Drift::Same,
        (None, _) => Drift::Changed,
    }
}

/// Returns the headings above a line and the last line above it that ends with a colon, by their indices. A claim can take words from
/// them: a decision record's title, or the “Never:” before a list.
fn leads(text: &str, at: usize) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().take(at).collect();
    let (mut found, mut level, mut colon, mut fenced) = (Vec::new(), usize::MAX, false, false);
    for (index, line) in lines.into_iter().enumerate().rev() {
        let hashes = line.chars().take_while(|c| *c == '#').count();
        let heading = hashes > 0 && line.chars().nth(hashes) == Some(' ');
        fenced ^= line.trim_start().starts_with("```");
        if !fenced && heading && hashes < level {
            level = hashes;
            found.push(index);
        } else if !fenced && !colon && level == usize::MAX && line.trim_end().ends_with(':') {
            colon = true;
            found.push(index);
        }
    }
    found
}

/// Returns whether the lines contain enough of the wanted words.
fn contains_enough<'a>(wanted: &[String], lines: impl IntoIterator<Item = &'a Vec<String>>) -> bool {
    let own: BTreeSet<&str> = lines.into_iter().flatten().map(String::as_str).collect();
    let found = wanted.iter().filter(|word| own.contains(word.as_str())).count();
    found as f32 >= MIN_WORD_SHARE * wanted.len() as f32
}

/// Returns the words of at least three letters, and the numbers, in lower case, sorted and without repeats.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 2 || word.chars().any(|c| c.is_ascii_digit()))
        .map(str::to_lowercase)
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# Rules\n\nUse PostgreSQL 16 for the main store.\n\n\n\n\n\nNever deploy\non Fridays.\n";

    #[test]
    fn only_a_number_at_the_end_of_a_source_is_its_line() {
        for (source, file) in [
            ("docs/a.md:12", "docs/a.md"),
            ("https://wiki/a", "https://wiki/a"),
            ("doc:ADR-12", "doc:ADR-12"),
            ("a:", "a:"),
        ] {
            assert_eq!(without_line(source), file);
        }
    }

    #[test]
    fn only_files_of_the_project_are_looked_at() {
        assert_eq!(named("docs/adr/0004.md:12"), Some(("docs/adr/0004.md", Some(12))));
        assert_eq!(named("CLAUDE.md"), Some(("CLAUDE.md", None)));
        for other in ["", "/etc/passwd:1", "~/x.md", "../up.md", "a/../b.md", "https://x.org/a.md", "a meeting", "Zoe"]
        {
            assert_eq!(named(other), None, "{other}");
        }
    }

    #[test]
    fn a_line_says_the_same_or_another_does_or_none() {
        let statement = "Use PostgreSQL 16 for the main store";
        assert_eq!(compare(statement, FILE, Some(3)), Drift::Same);
        assert_eq!(compare(statement, FILE, Some(9)), Drift::Moved(3));
        assert_eq!(compare("Never deploy on Fridays", FILE, Some(9)), Drift::Same, "wrapped text");
        assert_eq!(compare("Use PostgreSQL 17 for every store", FILE, Some(3)), Drift::Changed);
        assert_eq!(compare(statement, "", Some(3)), Drift::Changed);
        assert_eq!(compare("", FILE, Some(3)), Drift::Same);
        assert_eq!(compare("Rejected: Use GraphQL.", "# 3. Use GraphQL\n\nNo.\n", Some(3)), Drift::Same);
    }

    #[test]
    fn a_claim_can_take_words_from_the_headings_and_the_lead_above_its_line() {
        let record = "# 5. Choose a database for orders\n\n## Context\n\nOrders must survive.\n\n```sh\n# A comment.\n```\n\n## Decision\n\nPostgreSQL.\n";
        assert_eq!(compare("Choose a database for orders: PostgreSQL.", record, Some(13)), Drift::Same);
        let other = record.replace("PostgreSQL", "A thing that was chosen by nobody");
        assert_eq!(compare("Orders use MongoDB", &other, Some(13)), Drift::Changed);
        let list = "# Rules\n\nNever commit any of these files:\n\n- one\n- two\n- three\n- four\n- secrets\n";
        assert_eq!(compare("Never commit any of these files: secrets.", list, Some(9)), Drift::Same);
        let moved = "# Rules\n\n## Old\n\nUse tabs here.\n\n\n\n\n## New\n\nText.\n";
        assert_eq!(compare("Use tabs here", moved, Some(12)), Drift::Moved(5), "another heading's text");
    }

    #[test]
    fn without_a_line_the_whole_text_counts() {
        assert_eq!(compare("Never deploy on Fridays", FILE, None), Drift::Same);
        assert_eq!(compare("Rules say: never use PostgreSQL for Fridays", FILE, None), Drift::Same);
        assert_eq!(compare("Always ship on Mondays with cake", FILE, None), Drift::Changed);
    }
}
