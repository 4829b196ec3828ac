//! Classifies sentences of rule files by their words.

use super::rule_words::{ASKING, AUXILIARY, BINDING, ITEM_VERBS, PREPOSITIONS, STATING, VERBS};
use crate::{
    domain::{ClaimKind, stop_words::is_stop_word},
    interchange::markdown::Block,
};

/// Returns the kind of a rule.
pub(super) fn kind(statement: &str) -> ClaimKind {
    // A condition (“If you don't have it, …”) is not binding.
    let conditional = statement.get(..3).is_some_and(|first| first.eq_ignore_ascii_case("if "));
    let statement = statement.split_once([',', ':']).filter(|_| conditional).map_or(statement, |(_, rest)| rest);
    if BINDING.iter().any(|word| has(statement, word)) { ClaimKind::Constraint } else { ClaimKind::Convention }
}

/// Whether a sentence of running text is a rule: it asks for something.
pub(super) fn is_imperative(sentence: &str) -> bool {
    let words = sentence.split_whitespace().count();
    if words < 3 || sentence.ends_with('?') {
        return false;
    }
    let strong = [
        "must",
        "never",
        "always",
        "do not",
        "don't",
        "should",
        "shouldn't",
        "avoid",
        "prefer",
        "forbidden",
        "prohibited",
        "not allowed",
        "mandatory",
        "required",
        "at most",
        "at least",
    ];
    // “Example: …” illustrates another sentence.
    let label = sentence.split(':').next().unwrap_or_default().to_lowercase();
    if matches!(label.as_str(), "example" | "examples" | "e.g" | "for example") {
        return false;
    }
    // A universal statement is a rule: “Every pull request needs an issue.”
    let first = words_outside_code(sentence).into_iter().next().unwrap_or_default();
    let universal = matches!(first.as_str(), "every" | "each" | "all") && states(sentence);
    universal || begins_with_verb(sentence) || strong.iter().any(|word| has(sentence, word))
}

/// Whether a sentence of running text is a rule: it asks for something, or says what is used: “We use PostgreSQL 16.”
pub(super) fn is_rule_sentence(sentence: &str) -> bool {
    is_imperative(sentence) || (sentence.starts_with("We use ") && is_rule_item(sentence))
}

/// Whether a sentence at the beginning of a file is a rule. There, a sentence that may be a noun phrase describes the
/// project: “Order service for the shop.”
pub(super) fn is_opening_rule(sentence: &str) -> bool {
    is_rule_sentence(sentence) && (!may_be_description(sentence) || asks_or_binds(sentence))
}

/// Whether a sentence that begins with a verb may be a noun phrase instead: its second word is a common noun in the
/// singular without an article, and after this noun or further ones it goes on as a noun phrase does. “Order the imports
/// by name”, “Run tests in CI” and “Use Redis for sessions” are none.
fn may_be_description(sentence: &str) -> bool {
    let words: Vec<&str> = sentence.split_whitespace().skip(1).collect();
    let is_noun = |word: &&&str| {
        let plural = word.ends_with('s') && !word.ends_with("ss");
        let is_common = word.chars().all(char::is_lowercase) && !word.ends_with("ly");
        is_common && !plural && !is_stop_word(word) && !listed(PREPOSITIONS, word)
    };
    let nouns = words.iter().take_while(is_noun).count();
    let continues = words.get(nouns).is_some_and(|word| listed(PREPOSITIONS, word));
    listed(VERBS, &first_word(sentence)) && nouns > 0 && continues
}

fn asks_or_binds(sentence: &str) -> bool {
    BINDING.iter().chain(&ASKING).any(|word| has(sentence, word))
}

/// Whether a list item is a rule: it asks for something, or is a short statement.
pub(super) fn is_rule_item(item: &str) -> bool {
    let words = item.split_whitespace().count();
    if item.ends_with('?') || words < 2 {
        return false;
    }
    is_imperative(item)
        || begins_with_verb(item)
        || (listed(ITEM_VERBS, &first_word(item)) && words >= 3 && !states_first(item))
        || (words >= 3 && (unknown_imperative(item) || item.starts_with("No ")))
        || asks_or_binds(item)
        || (words >= 3 && states(item) && first_word(item) != "you")
}

/// Returns why a list item cannot be a rule; `None` if it may be one. After words that ask for something (`led`), even a single
/// word or command may be one.
pub(super) fn no_rule(block: &Block, text: &str, led: bool) -> Option<&'static str> {
    let linked: String = block.links.iter().map(|link| link.text.as_str()).collect();
    if !linked.is_empty() && text.trim_end_matches('.') == linked.trim_end_matches('.') {
        return Some("a link");
    }
    if let Some((code, after)) = text.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        let after = after.trim_start();
        // “`make test` runs everything”
        let command = code.contains(' ') && after.split_whitespace().next().is_some_and(is_finite);
        if after.is_empty() && !led {
            return Some("a file or a command");
        }
        let describes = command || after.starts_with([':', '-', '–', '—', '(', '→', '=']);
        if describes && !asks_or_binds(after) {
            return Some("describes a file or a command");
        }
    }
    if text.split_once(": `").is_some_and(|(label, code)| {
        label.split_whitespace().count() <= 3
            && !label.contains('`')
            && code.find('`').is_some_and(|end| end + 1 >= code.trim_end_matches('.').len())
    }) {
        return Some("only names a file or a command");
    }
    (text.split_whitespace().count() < 2 && !led).then_some("a single word")
}

/// Whether the words before a list belong to each item: they ask for something, or deny it.
pub(super) fn applies_to_items(lead: &str) -> bool {
    asks_or_binds(lead)
        || first_word(lead) == "when"
        || first_word(lead) == "before"
        || first_word(lead) == "after"
        || first_word(lead) == "if"
        || lead.split_whitespace().last().is_some_and(super::stance::open_word)
        || (begins_with_verb(lead) && lead.split_whitespace().count() > 1)
}

/// Whether a lead introduces a form or an example: “Include:”, “Example:”.
pub(super) fn opens_form(lead: &str) -> bool {
    let word = lead.trim().trim_end_matches(':').to_lowercase();
    matches!(
        word.as_str(),
        "include"
            | "format"
            | "example"
            | "examples"
            | "for example"
            | "describe"
            | "note"
            | "notes"
            | "summary"
            | "see also"
            | "see"
            | "e.g"
            | "such as"
            | "fields"
            | "template"
            | "checklist"
            | "sections"
    )
}

fn begins_with_verb(sentence: &str) -> bool {
    let first = first_word(sentence);
    let opening = words_outside_code(sentence);
    let (one, two) = (opening.first().map_or("", String::as_str), opening.get(1).map_or("", String::as_str));
    // “Tag the commit” asks for something, “Tag names” does not; “Deprecate before removing: …” does.
    let object =
        ["the", "a", "an", "all", "any", "your", "each", "every", "it", "them", "this", "these"].contains(&two);
    if (listed(ITEM_VERBS, one) && object) || (listed(VERBS, one) && sentence.contains(": ") && !states_first(sentence))
    {
        return true;
    }
    let verb = if matches!(first.as_str(), "please" | "then" | "first" | "also") {
        sentence.split_whitespace().nth(1).unwrap_or_default().to_lowercase()
    } else {
        first
    };
    listed(VERBS, &verb) || verb == "write" || verb == "verify" || sentence.to_lowercase().starts_with("remember to ")
}

/// Whether a word is in a space-separated list.
pub(super) fn listed(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|one| one == word)
}

/// Whether a lower-case word is a verb in imperative form.
pub(super) fn is_verb(word: &str) -> bool {
    listed(VERBS, word) || listed(ITEM_VERBS, word)
}

/// Whether a lower-case word is a finite verb.
pub(super) fn is_finite(word: &str) -> bool {
    let known = |stem: &str| listed(VERBS, stem);
    listed(STATING, word)
        || word.strip_suffix('s').is_some_and(known)
        || word.strip_suffix("es").is_some_and(known)
        || word.strip_suffix("ies").is_some_and(|stem| known(&format!("{stem}y")))
}

/// Whether a sentence that begins with a possible verb is a statement: “Test files are …”.
pub(super) fn states_first(sentence: &str) -> bool {
    let words = words_outside_code(sentence);
    let first = words.first().map_or("", String::as_str);
    !matches!(first, "ensure" | "make" | "check" | "verify" | "assume" | "assert")
        && words.iter().take(4).skip(1).any(|word| {
            matches!(
                word.as_str(),
                "is" | "are"
                    | "must"
                    | "should"
                    | "may"
                    | "can"
                    | "cannot"
                    | "has"
                    | "have"
                    | "needs"
                    | "need"
                    | "will"
                    | "goes"
                    | "go"
            )
        })
}

/// Whether an item begins with an unlisted word that must be a verb: “Debounce the search field”.
fn unknown_imperative(item: &str) -> bool {
    let words = words_outside_code(item);
    let [first, second, ..] = words.as_slice() else { return false };
    let plain = first.chars().all(|c| c.is_alphabetic() || c == '-');
    let noun = ["s", "ing", "ed", "ly", "tion", "ment", "ness", "ity", "ance", "ence", "ism", "ship"]
        .iter()
        .any(|ending| first.ends_with(ending));
    let object = [
        "the", "a", "an", "all", "any", "your", "our", "each", "every", "no", "its", "their", "this", "these", "at",
        "up", "off", "out",
    ];
    plain && !noun && first.len() > 2 && !is_function_word(first) && object.contains(&second.as_str())
}

fn is_function_word(word: &str) -> bool {
    [
        "not", "only", "all", "both", "half", "such", "what", "with", "from", "for", "and", "but", "than", "then",
        "when", "while", "where", "once", "one",
    ]
    .contains(&word)
}

/// Returns the words of a text in lower case; `code` counts as one word.
pub(super) fn words_outside_code(text: &str) -> Vec<String> {
    let plain: String = text.split('`').enumerate().map(|(at, part)| if at % 2 == 1 { "§" } else { part }).collect();
    plain
        .split_whitespace()
        .map(|word| word.to_lowercase().replace('’', "'"))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '§').to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Whether an item is a noun phrase and no instruction: “Merging with a red build”, “macros”.
pub(super) fn is_noun_phrase(item: &str) -> bool {
    let words = words_outside_code(item);
    let Some(first) = words.first() else { return true };
    let determiner = [
        "a",
        "an",
        "the",
        "any",
        "all",
        "more",
        "new",
        "too",
        "every",
        "direct",
        "large",
        "long",
        "big",
        "hard-coded",
        "§",
    ];
    let known = listed(VERBS, first) || listed(ITEM_VERBS, first);
    let followed = words.get(1).map_or("", String::as_str);
    if first.ends_with("ing") && !matches!(first.as_str(), "bring" | "string" | "ping") {
        return true;
    }
    if determiner.contains(&first.as_str()) {
        // “`enum` for sets” is a noun phrase, “`chmod` the folder” an instruction.
        let continues = followed.is_empty() || listed(PREPOSITIONS, followed) || followed.ends_with('s');
        return first != "§" || continues;
    }
    if known {
        return followed == "of";
    }
    // A plural alone, or a noun before a preposition.
    let preposition =
        matches!(followed, "of" | "between" | "without" | "longer" | "larger" | "that" | "which" | "than");
    preposition || (words.len() <= 2 && words.last().is_some_and(|last| last.ends_with('s') && !last.ends_with("ss")))
}

/// Returns the first word in lower case; of “**Label**: rest”, the first word of the rest.
fn first_word(sentence: &str) -> String {
    let rest = match sentence.split_once(": ") {
        Some((label, rest)) if label.split_whitespace().count() <= 4 && !label.contains('`') => rest,
        _ => sentence,
    };
    let word = rest.split_whitespace().next().unwrap_or_default().to_lowercase();
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'').to_owned()
}

/// Whether an item is a statement, with a verb after its subject. A title has none: “Full integration architecture.”
pub(super) fn states(item: &str) -> bool {
    let words = words_outside_code(item);
    words.iter().enumerate().skip(1).any(|(at, word)| {
        if listed(AUXILIARY, word) {
            return true;
        }
        let before = words.get(at - 1).map_or("", String::as_str);
        let after = words.get(at + 1).map_or("", String::as_str);
        let plural = before.ends_with('s') && !before.ends_with("ss");
        let noun_before = !matches!(
            before,
            "a" | "an" | "the" | "of" | "in" | "for" | "with" | "and" | "or" | "to" | "by" | "on" | "new"
        );
        let third = word.ends_with('s') && !word.ends_with("ss");
        let opens = [
            "a", "an", "the", "its", "their", "no", "every", "each", "all", "one", "two", "only", "never", "always",
            "through", "to", "out", "after", "at", "from", "§", "it", "them", "into",
        ];
        noun_before
            && ((is_finite(word) && (third != plural || listed(STATING, word)))
                || (third && !plural && opens.contains(&after))
                || (plural
                    && !third
                    && opens.contains(&after)
                    && word.len() > 2
                    && !is_function_word(word)
                    && !matches!(after, "§" | "to" | "from" | "at")))
    })
}

/// Whether a sentence says explicitly that something must or must not be.
pub(super) fn is_explicit(sentence: &str) -> bool {
    const WORDS: [&str; 13] = [
        "must",
        "never",
        "always",
        "do not",
        "don't",
        "should",
        "shouldn't",
        "cannot",
        "may not",
        "not allowed",
        "forbidden",
        "mandatory",
        "avoid",
    ];
    WORDS.iter().any(|word| has(sentence, word))
}

/// Whether a sentence contains its own denial.
pub(super) fn denies_itself(sentence: &str) -> bool {
    const WORDS: [&str; 9] = [
        "must not",
        "mustn't",
        "should not",
        "shouldn't",
        "may not",
        "not allowed",
        "forbidden",
        "is prohibited",
        "never",
    ];
    let lower = sentence.to_lowercase().replace('’', "'");
    ["don't ", "do not ", "never ", "avoid ", "no ", "not "].iter().any(|first| lower.starts_with(first))
        || WORDS.iter().any(|word| has(sentence, word))
}

/// Whether a sentence begins with “no” or “not”.
pub(super) fn begins_with_no(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    lower.starts_with("no ") || lower.starts_with("not ")
}

/// Whether an item begins with a verb that has its subject elsewhere: “must add tests”.
pub(super) fn begins_with_auxiliary(item: &str) -> bool {
    let first = words_outside_code(item).into_iter().next().unwrap_or_default();
    listed(AUXILIARY, &first) && !listed(VERBS, &first)
}

/// Whether an item is an instruction: “add a global variable”.
pub(super) fn is_instruction(item: &str) -> bool {
    let words = words_outside_code(item);
    let Some(first) = words.first() else { return false };
    (listed(VERBS, first) || listed(ITEM_VERBS, first) || unknown_imperative(item))
        && !is_noun_phrase(item)
        && !states_first(item)
}

/// Whether the subject of an earlier sentence may be inserted into this one: only if this one asks for something itself.
pub(super) fn may_be_resolved(sentence: &str) -> bool {
    let words = words_outside_code(sentence);
    let first = words.first().map_or("", String::as_str);
    if matches!(first, "it" | "they") {
        return words
            .get(1)
            .is_some_and(|second| matches!(second.as_str(), "must" | "should" | "may" | "cannot" | "can" | "never"));
    }
    is_imperative(sentence)
}

/// Removes a label that only emphasises: “IMPORTANT: never …”.
pub(super) fn without_emphasis(statement: &str) -> &str {
    match statement.split_once(": ") {
        Some((label, rest))
            if matches!(
                label.to_lowercase().as_str(),
                "important" | "note" | "warning" | "critical" | "attention" | "caution" | "nb"
            ) =>
        {
            rest
        }
        _ => statement,
    }
}

/// Whether a text contains a phrase as whole words outside `code`, ignoring case.
fn has(text: &str, phrase: &str) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    let outside: String = lower.split('`').step_by(2).collect::<Vec<_>>().join(" ` ");
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '\'');
    outside.match_indices(phrase).any(|(at, _)| {
        let (before, after) =
            (outside.get(..at).unwrap_or_default(), outside.get(at + phrase.len()..).unwrap_or_default());
        edge(before.chars().next_back()) && edge(after.chars().next())
    })
}

#[cfg(test)]
mod tests;
