//! Splits a statement into its words and clauses.

/// The mark after a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Punctuation {
    #[default]
    Nothing,
    Comma,
    /// A mark that ends a clause: a full stop, a semicolon, a bracket or a dash.
    End,
}

/// A word of a statement, or the code between two backquotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatementWord<'a> {
    /// The word as written, without the punctuation around it. A name with hyphens, dots or slashes is one word.
    pub(super) text: &'a str,
    /// The word in lower case; empty for code.
    pub(super) lower: String,
    pub(super) mark: Punctuation,
}

impl StatementWord<'_> {
    /// Whether it stands in backquotes.
    pub(super) fn is_code(&self) -> bool {
        self.lower.is_empty()
    }

    pub(super) fn is_one_of(&self, words: &[&str]) -> bool {
        words.contains(&self.lower.as_str())
    }
}

/// Words that begin a clause after a comma or “and”.
const STARTS: [&str; 21] = [
    "always", "avoid", "can", "choose", "do", "don't", "instead", "it", "may", "must", "never", "no", "not", "only",
    "prefer", "should", "they", "use", "we", "write", "you",
];

/// Words that begin a condition. A clause that starts with one includes what follows the comma.
pub(super) const CONDITIONS: [&str; 14] =
    ["after", "as", "before", "during", "for", "if", "on", "once", "to", "until", "when", "where", "while", "with"];

/// Words before a place.
pub(super) const PLACE_PREPOSITIONS: [&str; 5] = ["in", "inside", "throughout", "under", "within"];

/// Splits a statement into words.
pub(super) fn words(statement: &str) -> Vec<StatementWord<'_>> {
    let mut words: Vec<StatementWord<'_>> = Vec::new();
    let pieces: Vec<&str> = statement.split('`').collect();
    for (number, piece) in pieces.iter().enumerate() {
        // A backquote without a second one quotes nothing.
        if number % 2 == 1 && number + 1 < pieces.len() {
            if !piece.trim().is_empty() {
                words.push(StatementWord { text: piece.trim(), lower: String::new(), mark: Punctuation::Nothing });
            }
            continue;
        }
        let glued = number > 0 && !piece.starts_with(char::is_whitespace);
        for (chunk_number, chunk) in piece.split_whitespace().enumerate() {
            let inside = |c: char| c.is_alphanumeric() || matches!(c, '/' | '@' | '*' | '_');
            // `.env` and `./x` begin with their dot; `-` leads an option.
            let text = chunk.trim_start_matches(|c: char| !(inside(c) || matches!(c, '.' | '-')));
            let before = chunk.strip_suffix(text).unwrap_or_default();
            let core = text.trim_end_matches(|c: char| !inside(c));
            let after = text.strip_prefix(core).unwrap_or_default();
            // Letters directly after code, as in “`unwrap`s”, belong to it.
            let skipped = core.is_empty() || (glued && chunk_number == 0);
            let opens = before.contains(['(', '[', '—', '–']) || (core.is_empty() && matches!(chunk, "-" | "--"));
            if let Some(last) = words.last_mut() {
                if opens {
                    last.mark = Punctuation::End;
                } else if skipped {
                    last.mark = mark(chunk);
                }
            }
            if !skipped {
                words.push(StatementWord {
                    text: core,
                    lower: core.to_lowercase().replace('’', "'"),
                    mark: mark(after),
                });
            }
        }
    }
    words
}

fn mark(punctuation: &str) -> Punctuation {
    if punctuation.contains(['.', ';', ':', '!', '?', ')', ']', '—', '–']) {
        Punctuation::End
    } else if punctuation.contains(',') {
        Punctuation::Comma
    } else {
        Punctuation::Nothing
    }
}

/// A clause, and whether a comma or a word joins it to the one before.
#[derive(Debug)]
pub(super) struct StatementClause<'w, 'a> {
    pub(super) words: &'w [StatementWord<'a>],
    pub(super) is_joined: bool,
}

/// Splits words into clauses and leaves out reasons (“because …”).
pub(super) fn clauses<'w, 'a>(words: &'w [StatementWord<'a>]) -> Vec<StatementClause<'w, 'a>> {
    let mut clauses = Vec::new();
    let (mut start, mut in_reason, mut is_joined) = (0, false, false);
    for at in 0..words.len() {
        let rest = words.get(at..).unwrap_or_default();
        let ended = at > start && words.get(at - 1).is_some_and(|last| last.mark == Punctuation::End);
        let reason = begins_reason(rest);
        if ended || reason || begins_clause(words, start, at) {
            if !in_reason && at > start {
                clauses.push(StatementClause { words: words.get(start..at).unwrap_or_default(), is_joined });
            }
            (start, in_reason, is_joined) = (at, reason || (in_reason && !ended), !ended && at > 0);
        }
    }
    if !in_reason && start < words.len() {
        clauses.push(StatementClause { words: words.get(start..).unwrap_or_default(), is_joined });
    }
    clauses
}

fn begins_clause(words: &[StatementWord<'_>], start: usize, at: usize) -> bool {
    let (Some(first), Some(word), true) = (words.get(start), words.get(at), at > start) else { return false };
    let rest = words.get(at..).unwrap_or_default();
    if word.lower == "but" || begins_exemption(rest).is_some() || begins_replaced(rest).is_some() {
        return true;
    }
    let Some(last) = words.get(at - 1) else { return false };
    // “In tests, never …” is one clause.
    let leads = first.is_one_of(&CONDITIONS) || first.is_one_of(&PLACE_PREPOSITIONS);
    !leads && word.is_one_of(&STARTS) && (last.mark == Punctuation::Comma || last.is_one_of(&["and", "or"]))
}

fn begins_reason(rest: &[StatementWord<'_>]) -> bool {
    match rest {
        [word, ..] if word.is_one_of(&["because", "since", "so", "therefore", "which"]) => true,
        [word, next, ..] if word.lower == "as" => next.is_one_of(&["it", "they", "this", "these"]),
        [word, next, ..] if word.lower == "due" => next.lower == "to",
        [word, next, ..] if word.lower == "to" => {
            next.is_one_of(&["allow", "avoid", "ensure", "improve", "keep", "make", "prevent", "reduce", "simplify"])
        }
        _ => false,
    }
}

/// Returns the number of words of “except”, “outside” or “other than” at the beginning.
pub(super) fn begins_exemption(rest: &[StatementWord<'_>]) -> Option<usize> {
    match rest {
        [word, ..] if word.is_one_of(&["except", "excepting", "excluding", "outside", "unless"]) => Some(1),
        [word, next, ..] if word.is_one_of(&["apart", "aside"]) && next.lower == "from" => Some(2),
        [word, next, ..] if word.lower == "other" && next.lower == "than" => Some(2),
        _ => None,
    }
}

/// Returns the number of words of “instead of” or “rather than” at the beginning.
pub(super) fn begins_replaced(rest: &[StatementWord<'_>]) -> Option<usize> {
    match rest {
        [word, next, ..] if word.lower == "instead" && next.lower == "of" => Some(2),
        [word, next, ..] if word.lower == "rather" && next.lower == "than" => Some(2),
        [word, next, last, ..] if word.lower == "in" && next.lower == "place" && last.lower == "of" => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("Never use left-pad.", "Never use left-pad")]
    #[case("Never use @scope/pkg (it is gone).", "Never use @scope/pkg | it is gone")]
    #[case("Use `thiserror`, never `anyhow`", "Use thiserror | never anyhow")]
    #[case("Don’t write `a`, `b` or `c`; write `d`", "Don’t write a b or c | write d")]
    #[case("Use `tracing` instead of `println!`.", "Use tracing | instead of println!")]
    #[case("Never use `unwrap`s, because `panic` is bad. Use `?`.", "Never use unwrap | Use ?")]
    #[case("In tests, never use `sleep` – except in benches", "In tests never use sleep | except in benches")]
    #[case("Files under ./gen/ – never edit", "Files under ./gen/ | never edit")]
    #[case("a ` b", "a b")]
    #[case("", "")]
    fn a_statement_in_clauses(#[case] statement: &str, #[case] expected: &str) {
        let words = words(statement);
        let clauses: Vec<String> = clauses(&words)
            .iter()
            .map(|clause| clause.words.iter().map(|word| word.text).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(clauses.join(" | "), expected);
    }
}
