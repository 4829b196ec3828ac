//! Items, the units of clauses: content words, numbers, cues, punctuation marks.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{
    cue::Cue,
    date_window::{DateRole, StatedDate},
    quantity::{self, Quantity},
    token::{self, Token, TokenKind},
};
use crate::guard::lexicon::{Lexeme, WordClass, lexicon};

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// A word or phrase with content.
    Content,
    /// A number with or without a unit; also a date that is not a value, which has no quantity.
    Number,
    /// A stop word.
    Stop,
    /// A word or phrase that expresses modality, negation or restriction.
    Cue(Cue),
    /// A punctuation mark.
    Punct(char),
}

/// One unit of a statement.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) kind: ItemKind,
    /// Byte range in the prepared text.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The first word, lower case.
    pub(crate) lower: String,
    /// The canonical key.
    pub(crate) key: String,
    /// A hash of the key, for comparison.
    pub(crate) id: u64,
    /// Whether it is the opposite of its key.
    pub(crate) opposite: bool,
    /// Whether it names an operation that its opposite undoes.
    pub(crate) operation: bool,
    pub(crate) alternative: Option<(u16, u16)>,
    pub(crate) contrast: Option<(u16, u16)>,
    pub(crate) weight: f32,
    pub(crate) quantity: Option<Quantity>,
    /// Whether it is written as code or is an identifier.
    pub(crate) code: bool,
    pub(crate) capital: bool,
    /// The first word as written.
    pub(crate) surface: String,
}

impl Item {
    /// Returns whether it is a content word or a number.
    pub(crate) fn is_content(&self) -> bool {
        matches!(self.kind, ItemKind::Content | ItemKind::Number)
    }

    /// Returns the cue, if it is one.
    pub(crate) fn cue(&self) -> Option<Cue> {
        match self.kind {
            ItemKind::Cue(cue) => Some(cue),
            _ => None,
        }
    }
}

/// Returns a hash of a key, for comparison within one process; never stored.
pub(crate) fn hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Groups tokens into items. A date that is no part of the period in which the statement holds becomes one number.
pub(crate) fn items(tokens: &[Token], dates: &[StatedDate]) -> Vec<Item> {
    let lexicon = lexicon();
    let stems: Vec<String> = tokens
        .iter()
        .map(|token| match token.kind {
            TokenKind::Punct(_) => String::new(),
            TokenKind::Number => token.lower.clone(),
            TokenKind::Word | TokenKind::Code => lexicon.stem(&token.lower),
        })
        .collect();
    let mut items: Vec<Item> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        if let TokenKind::Punct(mark) = token.kind {
            items.push(item(ItemKind::Punct(mark), tokens, at, 1, "", None));
            at += 1;
            continue;
        }
        if let Some(date) = dates.iter().find(|date| date.at == at) {
            items.push(dated(tokens, date));
            at += date.length;
            continue;
        }
        if token.lower == token::FREE_OF
            && let Some(absent) = items.last_mut()
            && absent.kind == ItemKind::Content
        {
            absent.opposite = !absent.opposite;
            absent.end = token.end;
            at += 1;
            continue;
        }
        // "are not only" contains no "are not".
        let word_at = |offset: usize| {
            let ahead = at + 1 + offset;
            tokens
                .get(ahead)
                .filter(|t| t.kind == TokenKind::Word && !is_not_only(tokens, ahead))
                .map(|t| t.lower.as_str())
        };
        let stem_at = |offset: usize| {
            tokens
                .get(at + 1 + offset)
                .filter(|t| !matches!(t.kind, TokenKind::Punct(_)))
                .map(|_| stems[at + 1 + offset].as_str())
        };
        // Words in code are names: `edit` is a command, not a way to change something.
        let quoted = token.kind == TokenKind::Code && !token.capital;
        let phrase = if quoted { None } else { lexicon.phrase(&stems[at], stem_at) };
        let cue = if is_not_only(tokens, at) {
            Some((Cue::NotOnly, 2))
        } else {
            (token.kind == TokenKind::Word)
                .then(|| lexicon.cues(&token.lower, word_at).find(|(cue, length)| cue_holds(*cue, tokens, at, *length)))
                .flatten()
        };
        // An IP address is not an amount.
        let number = (phrase.is_none() && token.kind != TokenKind::Code).then(|| amount(tokens, dates, at)).flatten();
        if let Some((cue, length)) = cue
            && phrase.is_none_or(|(_, words)| words <= length)
            && !dates.iter().any(|date| date.at == at + length)
        {
            items.push(item(ItemKind::Cue(cue), tokens, at, length, "", None));
            at += length;
        } else if let Some((entry, length)) = phrase {
            items.push(item(ItemKind::Content, tokens, at, length, &entry.key, Some(entry)));
            at += length;
        } else if let Some((quantity, length)) = number {
            let mut number =
                item(ItemKind::Number, tokens, at, length, &format!("{} {}", quantity.value, quantity.base), None);
            number.weight = 0.5;
            number.quantity = Some(quantity);
            items.push(number);
            at += length;
        } else if (token.kind == TokenKind::Word || matches!(token.lower.as_str(), "e.g" | "i.e" | "etc"))
            && lexicon.is_stop(&token.lower)
        {
            items.push(item(ItemKind::Stop, tokens, at, 1, "", None));
            at += 1;
        } else {
            let entry = lexicon.word(&stems[at]).filter(|entry| !quoted || entry.alternative.is_some());
            items.push(item(ItemKind::Content, tokens, at, 1, &stems[at], entry));
            at += 1;
        }
    }
    lift_parentheses(items)
}

/// Reads the amount or the range of amounts that begins at `at`; returns it with the number of its tokens.
fn amount(tokens: &[Token], dates: &[StatedDate], at: usize) -> Option<(Quantity, usize)> {
    let word = |offset: usize| {
        tokens.get(at + offset).filter(|t| !matches!(t.kind, TokenKind::Punct(_))).map(|t| t.lower.as_str())
    };
    let first = quantity::read(word(0)?, word(1))?;
    let before = at.checked_sub(1).and_then(|before| tokens.get(before)).map_or("", |token| token.lower.as_str());
    let dated = |length: usize| dates.iter().any(|date| (at..at + length).contains(&date.at));
    let range = quantity::range_in_words(&first, before, word).filter(|(_, length)| !dated(*length));
    range.or(Some(first))
}

/// Moves parenthesised items behind their sentence.
fn lift_parentheses(items: Vec<Item>) -> Vec<Item> {
    if !items.iter().any(|i| i.kind == ItemKind::Punct('(')) {
        return items;
    }
    let (mut out, mut lifted) = (Vec::with_capacity(items.len()), Vec::new());
    let mut depth = 0_usize;
    for item in items {
        match item.kind {
            ItemKind::Punct('(') => {
                depth += 1;
                lifted.push(item);
            }
            ItemKind::Punct(')') => {
                depth = depth.saturating_sub(1);
                lifted.push(item);
            }
            ItemKind::Punct('.' | '!' | '?' | '\n') if depth == 0 => {
                out.append(&mut lifted);
                out.push(item);
            }
            _ if depth > 0 => lifted.push(item),
            _ => out.push(item),
        }
    }
    out.append(&mut lifted);
    out
}

/// Returns whether a "not" that negates nothing begins at `at`: "not only", "don't just".
fn is_not_only(tokens: &[Token], at: usize) -> bool {
    let word = |at: usize| tokens.get(at).filter(|t| t.kind == TokenKind::Word).map_or("", |t| t.lower.as_str());
    (word(at) == "not" || word(at).ends_with("n't")) && matches!(word(at + 1), "only" | "just" | "merely")
}

/// Returns whether a token is a word with content.
fn is_content_word(token: &Token) -> bool {
    token.kind == TokenKind::Word && !lexicon().is_stop(&token.lower)
}

/// Returns whether a phrase that can be a cue is one in this context.
fn cue_holds(cue: Cue, tokens: &[Token], at: usize, length: usize) -> bool {
    let next = tokens.get(at + length);
    let labels = next.is_some_and(|t| t.kind == TokenKind::Punct(':'));
    // "Optional: `note`" and "Deprecated: use X" deny nothing; "Never: force-push" does.
    let denies = matches!(cue, Cue::Not | Cue::Prohibit) && tokens[at].lower != "deprecated";
    if length == 1 && labels && !denies {
        return false;
    }
    match cue {
        // "Rejected: Kafka", but not "rejected requests".
        Cue::Prohibit if length == 1 && tokens[at].lower == "rejected" => labels,
        // "is approved by two reviewers" requires; "is approved" allows.
        Cue::May if length == 2 && matches!(tokens[at + 1].lower.as_str(), "approved" | "granted" | "accepted") => {
            next.is_none_or(|t| t.lower != "by")
        }
        // "under 10 ms" bounds; "under the hood" does not.
        Cue::AtMost | Cue::AtLeast => {
            (at + length..at + length + 2)
                .filter_map(|i| tokens.get(i))
                .any(|t| t.kind == TokenKind::Number || quantity::read(&t.lower, None).is_some())
                || tokens[at].lower == "or" && at > 0
        }
        // "May 2026" is a month.
        Cue::May if tokens[at].lower == "may" && tokens[at].capital && at > 0 => {
            !next.is_some_and(|t| t.kind == TokenKind::Number)
        }
        // "required fields": an adjective before its noun.
        Cue::Must if length == 1 && matches!(tokens[at].lower.as_str(), "required" | "mandatory") => {
            !next.is_some_and(is_content_word)
        }
        Cue::May | Cue::MayNot | Cue::Prohibit
            if length == 1
                && matches!(tokens[at].lower.as_str(), "optional" | "deprecated" | "unnecessary" | "forbidden") =>
        {
            !next.is_some_and(is_content_word)
        }
        Cue::Because if tokens[at].lower == "to" => is_purpose(tokens, at),
        _ => true,
    }
}

/// Returns whether "to keep …" expresses a purpose, unlike in "decided to keep".
fn is_purpose(tokens: &[Token], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|at| tokens.get(at)) else { return true };
    let word = |at: usize| tokens.get(at).map_or("", |token| token.lower.as_str());
    let about = lexicon().class(WordClass::PurposeAfterComma).contains(word(at + 1)) && word(at + 2) != "sure";
    match before.kind {
        TokenKind::Punct(_) => true,
        _ => !about && !lexicon().class(WordClass::TakesInfinitive).contains(before.lower.as_str()),
    }
}

/// Returns the item of a date.
fn dated(tokens: &[Token], date: &StatedDate) -> Item {
    if date.role == DateRole::Period {
        return item(ItemKind::Stop, tokens, date.at, date.length, "", None);
    }
    let value = (date.role == DateRole::Value).then(|| Quantity { value: date.name.clone(), base: "date" });
    let key = value.as_ref().map_or_else(|| date.name.clone(), |value| format!("{} {}", value.value, value.base));
    Item {
        lower: date.name.clone(),
        weight: 0.5,
        quantity: value,
        code: false,
        capital: false,
        ..item(ItemKind::Number, tokens, date.at, date.length, &key, None)
    }
}

fn item(kind: ItemKind, tokens: &[Token], at: usize, length: usize, key: &str, entry: Option<&Lexeme>) -> Item {
    let lexicon = lexicon();
    let first = &tokens[at];
    let key = entry.map_or(key, |entry| entry.key.as_str()).to_owned();
    let code = tokens[at..at + length].iter().any(|t| t.kind == TokenKind::Code);
    Item {
        kind,
        start: first.start,
        end: tokens[at + length - 1].end,
        lower: first.lower.clone(),
        id: hash(&key),
        opposite: entry.is_some_and(|e| e.opposite),
        operation: entry.is_some_and(|e| e.operation),
        alternative: entry.and_then(|e| e.alternative),
        contrast: entry.and_then(|e| e.contrast),
        weight: lexicon.weight(&key) * if length > 1 && kind == ItemKind::Content { 1.4 } else { 1.0 },
        quantity: None,
        code,
        capital: first.capital,
        surface: first.surface.clone(),
        key,
    }
}
