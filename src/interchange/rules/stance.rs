//! Whether a heading, a line before a list, a label or a mark asserts or denies the text that follows.

use super::wording::listed;
use crate::interchange::sentence::capital;

/// The way in which a lead is joined with an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// As part of the sentence: “Never” + “commit secrets”.
    Before,
    /// With a colon: “Not accepted: generated code”.
    Label,
}

/// Words that assert or deny each item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lead {
    /// Empty if the item needs no words before it.
    pub(super) words: String,
    pub(super) join: Join,
    /// Whether the words deny the item.
    pub(super) against: bool,
}

/// The stance of a text towards the text that follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stance {
    /// The text names a topic, and neither asserts nor denies what follows.
    Neutral,
    /// The text asserts or denies what follows.
    Lead(Lead),
    /// The text denies something, but it is unclear what.
    Unclear,
    /// The text that follows contains no rules but, for example, questions, ideas or a template; with the reason.
    NoRules(&'static str),
}

const MARKS_AGAINST: [char; 10] = ['❌', '🚫', '✗', '✘', '⛔', '👎', '✖', '🛑', '⨯', '🙅'];
const MARKS_FOR: [char; 6] = ['✅', '✔', '☑', '👍', '✓', '🟢'];

/// Words that negate the verb after them.
const NEGATED: [&str; 17] = [
    "do not",
    "don't",
    "dont",
    "does not",
    "will not",
    "won't",
    "would not",
    "cannot",
    "can't",
    "can not",
    "should not",
    "shouldn't",
    "must not",
    "mustn't",
    "may not",
    "shall not",
    "never",
];

/// Words that do not affect the stance.
const VAGUE: &str = "\
all any anything changes code contributions ever features following i it maintainers of one patterns please \
practices prs pull requests stuff that the these they thing things this those we what you";

/// First words of a qualifier: “Never *in production*”.
const QUALIFIER_STARTS: &str = "\
in for on when during from with as to at inside within outside without by under here after before while";

/// Words that deny, and the words of the lead that each gives.
const DENIED: [(&str, &str); 36] = [
    ("rejected", "Rejected"),
    ("refused", "Rejected"),
    ("declined", "Rejected"),
    ("closed without review", "Rejected"),
    ("forbidden", "Forbidden"),
    ("prohibited", "Forbidden"),
    ("banned", "Forbidden"),
    ("disallowed", "Not allowed"),
    ("not allowed", "Not allowed"),
    ("not permitted", "Not allowed"),
    ("not ok", "Not allowed"),
    ("not okay", "Not allowed"),
    ("never ok", "Not allowed"),
    ("off limits", "Not allowed"),
    ("off-limits", "Not allowed"),
    ("not accepted", "Not accepted"),
    ("not acceptable", "Not accepted"),
    ("not welcome", "Not accepted"),
    ("not wanted", "Not accepted"),
    ("not merged", "Not accepted"),
    ("unacceptable", "Not accepted"),
    ("unwanted", "Not accepted"),
    ("not supported", "Not supported"),
    ("unsupported", "Not supported"),
    ("not used", "Not used"),
    ("out of scope", "Out of scope"),
    ("not in scope", "Out of scope"),
    ("not planned", "Out of scope"),
    ("non goals", "Out of scope"),
    ("non-goals", "Out of scope"),
    ("nongoals", "Out of scope"),
    ("discouraged", "Avoid"),
    ("not recommended", "Avoid"),
    ("not preferred", "Avoid"),
    ("undesirable", "Avoid"),
    ("not done", "Do not"),
];

/// Words for something wrong: the items below them are to be avoided.
const WRONG: [&str; 25] = [
    "anti-pattern",
    "anti-patterns",
    "antipattern",
    "antipatterns",
    "anti patterns",
    "pitfalls",
    "mistakes",
    "bad",
    "bad practice",
    "bad practices",
    "bad example",
    "bad examples",
    "bad habits",
    "worst practices",
    "wrong",
    "incorrect",
    "no-go",
    "no-gos",
    "red flags",
    "smells",
    "code smells",
    "donts",
    "don'ts",
    "no",
    "poor",
];

/// Words that assert, and the words of the lead that each gives.
const ASSERTED: [(&str, &str); 24] = [
    ("do", ""),
    ("dos", ""),
    ("do's", ""),
    ("right", "Good"),
    ("good", "Good"),
    ("good practices", "Good"),
    ("good example", "Good"),
    ("better", "Good"),
    ("correct", "Good"),
    ("yes", "Good"),
    ("best practices", "Good"),
    ("required", "Required"),
    ("mandatory", "Required"),
    ("allowed", "Allowed"),
    ("permitted", "Allowed"),
    ("ok", "Allowed"),
    ("accepted", "Accepted"),
    ("accept", "Accepted"),
    ("welcome", "Accepted"),
    ("acceptable", "Accepted"),
    ("in scope", "In scope"),
    ("recommended", "Recommended"),
    ("preferred", "Preferred"),
    ("prefer", "Preferred"),
];

/// Words that are put before the verb of an item as they are: “You must” + “run the tests”.
const BINDING: [&str; 8] =
    ["always", "must", "should", "please", "you must", "you should", "we always", "please always"];

/// Parses a heading or a line before a list.
pub(super) fn read(text: &str) -> Stance {
    let (sign, rest) = split_mark(text);
    if rest.ends_with('?') {
        return Stance::NoRules("asks a question");
    }
    let plain = normalised(rest);
    if plain.is_empty() {
        return sign.map_or(Stance::Neutral, of_mark);
    }
    if let Some(why) = why_no_rules(&plain) {
        return Stance::NoRules(why);
    }
    if mixed(&plain) {
        return Stance::Unclear;
    }
    if let Some(lead) = denies(&plain).or_else(|| asserts(&plain)) {
        return Stance::Lead(lead);
    }
    // A mark before a topic may be an ornament, but not one that denies.
    if sign == Some(false) || hints_at_denial(&plain) { Stance::Unclear } else { Stance::Neutral }
}

/// Splits the marks at the start of a text: returns whether they assert or deny, and the rest.
pub(super) fn split_mark(text: &str) -> (Option<bool>, &str) {
    let rest = text.trim_start_matches(|c: char| {
        // Emoji with their joiners and variation selectors; letters, digits, `code` and brackets begin words.
        !c.is_alphanumeric() && !c.is_ascii() && !matches!(c, '“' | '‘' | '«' | '§' | '…') || c.is_whitespace()
    });
    let marks = text.get(..text.len() - rest.len()).unwrap_or_default();
    let sign = marks.chars().find_map(|c| match c {
        _ if MARKS_AGAINST.contains(&c) => Some(false),
        _ if MARKS_FOR.contains(&c) => Some(true),
        _ => None,
    });
    (sign, rest)
}

/// Returns the stance of a mark without words, such as ✅ (`holds`) or ❌.
pub(super) fn of_mark(holds: bool) -> Stance {
    let words = if holds { "Good" } else { "Avoid" };
    let join = if holds { Join::Label } else { Join::Before };
    Stance::Lead(Lead { words: words.to_owned(), join, against: !holds })
}

/// Returns the words of a text in lower case, without its number and punctuation.
fn normalised(text: &str) -> String {
    let text = super::clean::unnumbered(text).to_lowercase().replace('’', "'");
    let words: Vec<_> = text
        .split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '"' | '“' | '”' | '*' | '_'))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '&' | '/' | '`')))
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

/// Returns why the text below such a heading contains no rules; `None` if it may contain some.
fn why_no_rules(plain: &str) -> Option<&'static str> {
    let words: Vec<_> = plain.split(' ').collect();
    let (first, last) = (words.first().copied().unwrap_or_default(), words.last().copied().unwrap_or_default());
    let ends = |names: &[&str]| names.contains(&first) || (names.contains(&last) && words.len() <= 4);
    let whole = |names: &[&str]| names.contains(&plain);
    if ends(&["template", "templates"]) {
        Some("a template")
    } else if ends(&["example", "examples"]) || plain == "for example" {
        Some("an example")
    } else if whole(&[
        "open questions",
        "questions",
        "discussion",
        "considered",
        "under discussion",
        "faq",
        "frequently asked questions",
    ]) || ends(&["ideas", "proposals", "proposed", "alternatives", "brainstorm", "wishlist"])
    {
        Some("undecided")
    } else if whole(&[
        "before",
        "before old way",
        "old way",
        "the old way",
        "old",
        "history",
        "changelog",
        "legacy",
        "previously",
    ]) {
        Some("outdated")
    } else if whole(&[
        "glossary",
        "terminology",
        "terms",
        "definitions",
        "see also",
        "further reading",
        "links",
        "resources",
    ]) {
        Some("a glossary or links")
    } else {
        None
    }
}

/// Whether a text names both stances: “Do's and don'ts”, “Good and bad”, “Pros and cons”.
fn mixed(plain: &str) -> bool {
    let sides: Vec<_> = plain
        .split(['/', '&'])
        .flat_map(|part| part.split(" and "))
        .flat_map(|part| part.split(" vs "))
        .flat_map(|part| part.split(" or "))
        .map(str::trim)
        .collect();
    let signs: Vec<_> =
        sides.iter().filter_map(|side| denies(side).or_else(|| asserts(side)).map(|lead| lead.against)).collect();
    plain == "pros and cons" || (signs.contains(&true) && signs.contains(&false))
}

fn denies(plain: &str) -> Option<Lead> {
    let words = strip_vague(plain);
    let words = strip_copula(words.as_str());
    // “Common mistakes”, “The usual anti-patterns in React”.
    let named = ["common ", "typical ", "known ", "our ", "some ", "classic ", "usual ", "frequent "]
        .iter()
        .fold(words, |words, adjective| words.strip_prefix(adjective).unwrap_or(words));
    for wrong in WRONG {
        if let Some(lead) = lead_if_denied(named, wrong, "Avoid", Join::Before) {
            return Some(lead);
        }
    }
    for (denied, lead) in DENIED {
        let join = if matches!(lead, "Avoid" | "Do not") { Join::Before } else { Join::Label };
        if let Some(lead) = lead_if_denied(words, denied, lead, join) {
            return Some(lead);
        }
        // “Forbidden functions”: the whole text is the label.
        if let Some(noun) =
            words.strip_prefix(denied).filter(|noun| noun.starts_with(' ') && noun.split_whitespace().count() <= 2)
            && lead != "Avoid"
        {
            return Some(Lead { words: format!("{}{noun}", capital(denied)), join: Join::Label, against: true });
        }
    }
    for prefix in
        ["avoid doing", "avoid using", "avoid", "to avoid", "we avoid", "not to do", "to never do", "never to do"]
    {
        if let Some(lead) =
            lead_if_denied(words, prefix, if prefix.contains("avoid") { "Avoid" } else { "Do not" }, Join::Before)
        {
            return Some(lead);
        }
    }
    NEGATED.iter().find_map(|negated| {
        let rest = words.strip_prefix(negated)?;
        let who = if plain.starts_with("you ") { "You " } else { "" };
        let lead = match *negated {
            "never" => "Never".to_owned(),
            "must not" | "mustn't" | "cannot" | "can't" | "can not" | "may not" | "shall not" => {
                capital(&format!("{who}must not").to_lowercase())
            }
            "should not" | "shouldn't" => capital(&format!("{who}should not").to_lowercase()),
            _ => "Do not".to_owned(),
        };
        let verb = rest.split_whitespace().next().unwrap_or_default();
        let after = rest.trim_start().strip_prefix(verb).unwrap_or_default();
        let (words, join, after) = match verb {
            "" => (lead, Join::Before, rest),
            "do" | "ever" => (lead, Join::Before, after),
            "accept" | "merge" | "take" | "want" | "consider" | "review" => {
                ("Not accepted".to_owned(), Join::Label, after)
            }
            "allow" | "permit" | "tolerate" => ("Not allowed".to_owned(), Join::Label, after),
            "support" | "provide" | "offer" => ("Not supported".to_owned(), Join::Label, after),
            "implement" | "fix" | "build" | "plan" => ("Out of scope".to_owned(), Join::Label, after),
            "use" => ("Not used".to_owned(), Join::Label, after),
            _ if listed(VAGUE, verb) || listed(QUALIFIER_STARTS, verb) => (lead, Join::Before, rest),
            _ => return None,
        };
        qualified(after, &words, join, true)
    })
}

fn asserts(plain: &str) -> Option<Lead> {
    let words = strip_vague(plain);
    let rest = strip_copula(&words);
    for binding in BINDING {
        if plain == binding {
            let lead = capital(binding.trim_start_matches("we ").trim_start_matches("please "));
            if lead == "Please" {
                return Some(Lead { words: String::new(), join: Join::Label, against: false });
            }
            return Some(Lead { words: lead, join: Join::Before, against: false });
        }
    }
    ASSERTED.iter().find_map(|(asserted, lead)| {
        let after = rest.strip_prefix(asserted)?;
        if !after.is_empty() && !after.starts_with(' ') {
            return None;
        }
        let label = if lead.is_empty() { "Do" } else { lead };
        // “Do in tests” is a topic; “Accepted in pull requests” asserts.
        if *asserted == "do" && !after.is_empty() && !after.split_whitespace().all(|word| listed(VAGUE, word)) {
            return None;
        }
        qualified(after, label, Join::Label, false)
    })
}

/// Returns a lead if `words` begin with `denied` and continue with at most a qualifier.
fn lead_if_denied(words: &str, denied: &str, lead: &str, join: Join) -> Option<Lead> {
    let after = words.strip_prefix(denied)?;
    if !after.is_empty() && !after.starts_with(' ') {
        return None;
    }
    let after = after.strip_prefix(" to avoid").unwrap_or(after);
    qualified(after, lead, join, true)
}

/// Returns a lead that includes the qualifier in `after`; `None` if `after` is no qualifier.
fn qualified(after: &str, lead: &str, join: Join, against: bool) -> Option<Lead> {
    let words: Vec<_> = after.split_whitespace().collect();
    let from = words.iter().position(|word| !listed(VAGUE, word)).unwrap_or(words.len());
    let qualifier = words.get(from..).unwrap_or_default();
    match qualifier.first() {
        None | Some(&"here") => Some(Lead { words: lead.to_owned(), join, against }),
        // An open clause continues in the items: “rejected if they”.
        Some(_) if qualifier.last().is_some_and(|last| open_word(last)) => None,
        Some(first) if listed(QUALIFIER_STARTS, first) && words.len() <= 8 => {
            // Joined with a colon, since the qualifier does not belong to the item's verb.
            if qualifier.contains(&"reviews") || qualifier.contains(&"review") {
                return Some(Lead { words: lead.to_owned(), join, against });
            }
            Some(Lead { words: format!("{lead} {}", qualifier.join(" ")), join: Join::Label, against })
        }
        Some(_) => None,
    }
}

/// Whether a text that ends with this word continues in the items.
pub(super) fn open_word(word: &str) -> bool {
    let word = word.trim_end_matches(':').to_lowercase();
    [
        "they", "it", "you", "we", "to", "if", "when", "that", "which", "must", "should", "not", "never", "always",
        "be", "is", "are", "can", "may", "will", "cannot", "don't", "and", "or", "by", "with", "for", "of",
    ]
    .contains(&word.as_str())
}

/// Removes vague words at the start: “things that we”, “pull requests that will be”.
fn strip_vague(plain: &str) -> String {
    let mut words: Vec<_> = plain.split(' ').collect();
    while words.len() > 1 && words.first().is_some_and(|word| listed(VAGUE, word) || matches!(*word, "will" | "would"))
    {
        // “will not”, “would not” deny.
        if matches!(words.first(), Some(&("will" | "would"))) && words.get(1) == Some(&"not") {
            break;
        }
        words.remove(0);
    }
    words.join(" ")
}

/// Removes “is”, “are”, “be” and adverbs at the start.
fn strip_copula(words: &str) -> &str {
    let mut words = words;
    loop {
        let first = words.split(' ').next().unwrap_or_default();
        let passed = [
            "is",
            "are",
            "be",
            "get",
            "gets",
            "will",
            "strictly",
            "explicitly",
            "usually",
            "immediately",
            "simply",
            "also",
            "always",
        ];
        match words.strip_prefix(first).and_then(|rest| rest.strip_prefix(' ')) {
            Some(rest) if passed.contains(&first) => words = rest,
            _ => return words,
        }
    }
}

/// Whether a heading contains a word of denial that the parser did not understand.
fn hints_at_denial(plain: &str) -> bool {
    const STEMS: [&str; 9] =
        ["avoid", "reject", "forbid", "prohibit", "disallow", "anti-pattern", "antipattern", "deprecated", "unaccept"];
    // Only the first two words of a long heading count: later ones belong to a topic, “Use types, not strings, for states”.
    let words: Vec<_> = plain.split(' ').collect();
    let near = if words.len() <= 4 { words.len() } else { 2 };
    words.into_iter().take(near).any(|word| {
        matches!(
            word,
            "not"
                | "never"
                | "don't"
                | "dont"
                | "won't"
                | "can't"
                | "cannot"
                | "shouldn't"
                | "mustn't"
                | "bad"
                | "wrong"
                | "worst"
                | "mistakes"
                | "pitfalls"
                | "smells"
                | "banned"
                | "exceptions"
                | "exception"
        ) || STEMS.iter().any(|stem| word.starts_with(stem))
    })
}

#[cfg(test)]
mod tests;
