//! What a sentence of a rule file asks for, by its words.

use crate::{domain::ClaimKind, interchange::markdown::Block};

/// Words that bind: with one of them a rule is a constraint.
const BINDING: [&str; 22] = [
    "must",
    "never",
    "always",
    "required",
    "requires",
    "require",
    "mandatory",
    "forbidden",
    "prohibited",
    "shall",
    "cannot",
    "can't",
    "don't",
    "do not",
    "not allowed",
    "not permitted",
    "may not",
    "only",
    "at most",
    "at least",
    "no longer",
    "without exception",
];

/// Words that ask for something wherever they stand.
const ASKING: [&str; 12] = [
    "should",
    "shouldn't",
    "prefer",
    "preferred",
    "avoid",
    "favor",
    "favour",
    "recommended",
    "discouraged",
    "ensure",
    "instead of",
    "rather than",
];

/// Verbs with which an instruction begins.
const VERBS: [&str; 128] = [
    "add",
    "adhere",
    "aim",
    "allow",
    "annotate",
    "apply",
    "ask",
    "assign",
    "attach",
    "base",
    "be",
    "begin",
    "build",
    "bump",
    "call",
    "catch",
    "check",
    "choose",
    "clean",
    "comment",
    "commit",
    "configure",
    "confirm",
    "consider",
    "create",
    "declare",
    "define",
    "delete",
    "describe",
    "design",
    "disable",
    "discuss",
    "do",
    "document",
    "edit",
    "enable",
    "end",
    "escape",
    "export",
    "extend",
    "extract",
    "fail",
    "file",
    "find",
    "fix",
    "follow",
    "format",
    "generate",
    "give",
    "group",
    "guard",
    "handle",
    "have",
    "ignore",
    "implement",
    "import",
    "include",
    "indent",
    "inject",
    "install",
    "invoke",
    "isolate",
    "keep",
    "label",
    "leave",
    "let",
    "lint",
    "limit",
    "link",
    "list",
    "log",
    "look",
    "make",
    "mark",
    "match",
    "measure",
    "mention",
    "merge",
    "minimize",
    "mock",
    "move",
    "name",
    "note",
    "omit",
    "open",
    "order",
    "organize",
    "pass",
    "pin",
    "place",
    "propagate",
    "provide",
    "push",
    "put",
    "raise",
    "read",
    "rebase",
    "record",
    "refer",
    "reference",
    "remember",
    "remove",
    "rename",
    "replace",
    "report",
    "respect",
    "return",
    "reuse",
    "review",
    "run",
    "separate",
    "set",
    "sign",
    "skip",
    "sort",
    "specify",
    "split",
    "squash",
    "start",
    "store",
    "structure",
    "submit",
    "test",
    "treat",
    "try",
    "update",
    "use",
    "validate",
];

/// More of them, which are nouns too: they count only where a list item begins with them.
const ITEM_VERBS: [&str; 12] = [
    "address", "cover", "document", "focus", "plan", "reduce", "request", "stick", "support", "verify", "wrap", "write",
];

/// The kind that a rule's words make it.
pub(super) fn kind(statement: &str) -> ClaimKind {
    // What stands in the condition (“If you don't have it, …”) binds nobody.
    let conditional = statement.get(..3).is_some_and(|first| first.eq_ignore_ascii_case("if "));
    let statement = statement.split_once([',', ':']).filter(|_| conditional).map_or(statement, |(_, rest)| rest);
    if BINDING.iter().any(|word| has(statement, word)) { ClaimKind::Constraint } else { ClaimKind::Convention }
}

/// Whether a sentence of running text asks for something.
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
    begins_with_verb(sentence) || strong.iter().any(|word| has(sentence, word))
}

/// Whether a list item is a rule: it asks for something, or is a short statement of how things are.
pub(super) fn is_rule_item(item: &str) -> bool {
    let words = item.split_whitespace().count();
    if item.ends_with('?') || words < 2 {
        return false;
    }
    is_imperative(item)
        || begins_with_verb(item)
        || ITEM_VERBS.contains(&first_word(item).as_str())
        || BINDING.iter().chain(&ASKING).any(|word| has(item, word))
        || (words >= 3 && states(item))
}

/// Why a list item is no rule whatever its words; `None` where it may be one. After words that ask for something (`led`) a
/// bare command or word is one.
pub(super) fn no_rule(block: &Block, led: bool) -> Option<&'static str> {
    let text = block.text.as_str();
    let linked: String = block.links.iter().map(|link| link.text.as_str()).collect();
    if !linked.is_empty() && text.trim_end_matches('.') == linked.trim_end_matches('.') {
        return Some("a link");
    }
    if let Some((_, after)) = text.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        let after = after.trim_start();
        if after.is_empty() && !led {
            return Some("a file or a command");
        }
        let describes = after.starts_with([':', '-', '–', '—', '(', '→', '=']);
        if describes && !BINDING.iter().chain(&ASKING).any(|word| has(after, word)) {
            return Some("describes a file or a command");
        }
    }
    (text.split_whitespace().count() < 2 && !led).then_some("a word alone")
}

/// The negation that a heading puts before its items: “Don't” and “Never do” do, “Testing” does not.
pub(super) fn negative_heading(heading: &str) -> Option<String> {
    let plain: String = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '\'' | '’')).collect();
    let plain = plain.trim().to_lowercase().replace('’', "'");
    match plain.as_str() {
        "don't" | "don'ts" | "donts" | "do not" | "dont" | "what not to do" => Some("Do not".to_owned()),
        "never" | "never do" | "never do this" => Some("Never".to_owned()),
        "avoid" | "things to avoid" => Some("Avoid".to_owned()),
        "forbidden" | "prohibited" | "not allowed" => Some("Forbidden".to_owned()),
        _ => None,
    }
}

/// Whether a lead is one word of negation that an item can follow without a colon.
pub(super) fn is_bare_negation(lead: &str) -> bool {
    matches!(lead, "Do not" | "Never")
}

/// Whether the words that open a list are part of each of its items: they ask for something, or deny it.
pub(super) fn carries(lead: &str) -> bool {
    is_bare_negation(lead)
        || matches!(lead, "Avoid" | "Forbidden")
        || BINDING.iter().chain(&ASKING).any(|word| has(lead, word))
        || first_word(lead) == "when"
        || first_word(lead) == "before"
        || first_word(lead) == "after"
        || (begins_with_verb(lead) && first_word(lead) != "note")
}

fn begins_with_verb(sentence: &str) -> bool {
    let first = first_word(sentence);
    let verb = if matches!(first.as_str(), "please" | "then" | "first" | "also") {
        sentence.split_whitespace().nth(1).unwrap_or_default().to_lowercase()
    } else {
        first
    };
    VERBS.contains(&verb.as_str()) || verb == "write" || verb == "verify"
}

/// The first word in lower case; of “**Label**: rest” and “When x, rest”, the first word of the rest.
fn first_word(sentence: &str) -> String {
    let rest = match sentence.split_once(": ") {
        Some((label, rest)) if label.split_whitespace().count() <= 4 => rest,
        _ => sentence,
    };
    let word = rest.split_whitespace().next().unwrap_or_default().to_lowercase();
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'').to_owned()
}

/// Whether an item states how things are: it has a verb of being, or ends as a sentence does.
fn states(item: &str) -> bool {
    [
        "is", "are", "has", "have", "uses", "use", "goes", "go", "lives", "live", "belongs", "belong", "needs", "need",
        "stays",
    ]
    .iter()
    .any(|verb| has(item, verb))
        || (item.ends_with('.') && item.split_whitespace().count() >= 4)
}

/// Whether a word or phrase stands in a text as whole words, whatever the case, outside `code`.
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
mod tests {
    use super::*;

    #[test]
    fn words_count_whole_and_outside_code() {
        assert!(has("You must not.", "must"));
        assert!(!has("mustard", "must") && !has("run `must`", "must"));
        assert!(has("Don’t do it", "don't"));
    }

    #[rstest::rstest]
    #[case("Never commit secrets.", ClaimKind::Constraint)]
    #[case("Tests must pass before a merge.", ClaimKind::Constraint)]
    #[case("Prefer small functions.", ClaimKind::Convention)]
    #[case("Use tabs.", ClaimKind::Convention)]
    #[case("If you don't have it, install it.", ClaimKind::Convention)]
    fn the_wording_makes_the_kind(#[case] rule: &str, #[case] expected: ClaimKind) {
        assert_eq!(kind(rule), expected);
    }

    #[rstest::rstest]
    #[case("Use tabs for indentation.", true)]
    #[case("Please run the tests first.", true)]
    #[case("Errors: wrap them with context.", false)]
    #[case("The project began in 2019.", false)]
    #[case("You should write a test.", true)]
    #[case("Do you need help?", false)]
    fn running_text_asks_or_tells(#[case] sentence: &str, #[case] asks: bool) {
        assert_eq!(is_imperative(sentence), asks, "{sentence}");
    }
}
