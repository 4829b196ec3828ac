//! Divides a statement into segments, and finds the role of each in its sentence.

use super::{Cue, Item, ItemKind, is_participle};
use crate::guard::normalise::norms::is_attribute;

/// The role of a segment in its sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentRole {
    Main,
    Condition,
    Reason,
    Exception,
    Contrast,
    /// Where the sentence holds: "In this project, …".
    Setting,
    /// A parenthesis without a stance of its own.
    Aside,
}

/// A run of items of one sentence.
pub(super) struct Segment {
    pub(super) role: SegmentRole,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) sentence: usize,
}

/// Returns whether a mark always ends a segment.
fn is_hard(mark: char) -> bool {
    matches!(mark, '.' | '!' | '?' | ';' | ':' | '(' | ')' | '—' | '–' | '\n')
}

fn role(cue: Option<Cue>) -> SegmentRole {
    match cue {
        Some(Cue::If) => SegmentRole::Condition,
        Some(Cue::Because) => SegmentRole::Reason,
        Some(Cue::Except) => SegmentRole::Exception,
        Some(Cue::Instead | Cue::Without) => SegmentRole::Contrast,
        _ => SegmentRole::Main,
    }
}

fn is_and(item: &Item) -> bool {
    item.kind == ItemKind::Stop && matches!(item.lower.as_str(), "and" | "or" | "then" | "nor")
}

/// Returns whether these words before a colon deny what follows it: "Rejected: X", "Not supported: X".
fn denies(label: &[Item]) -> bool {
    let mut items = label.iter();
    items.next().and_then(Item::cue).is_some_and(|cue| matches!(cue, Cue::Not | Cue::Prohibit))
        && items.all(|item| item.cue().is_some_and(Cue::is_stance) || is_participle(item))
}

/// Returns whether a number alone follows the name of a property and a colon: "Port of the API: 8080".
fn gives_value(label: &[Item], after: &[Item]) -> bool {
    let mut content = after.iter().take_while(|item| !matches!(item.kind, ItemKind::Punct('.' | '\n')));
    label.iter().all(|item| item.cue().is_none() && !matches!(item.kind, ItemKind::Punct(_)))
        && label.iter().any(|item| item.kind == ItemKind::Content && is_attribute(&item.key))
        && content.next().is_some_and(|value| value.quantity.is_some())
        && content.next().is_none()
}

/// Returns whether a comma at `at` separates clauses rather than words of a list.
fn joins_clauses(items: &[Item], at: usize, conditional: bool) -> bool {
    let mut next = at + 1;
    while items.get(next).is_some_and(is_and) {
        next += 1;
    }
    if conditional {
        return true;
    }
    // ", with X and no Y" continues the clause.
    if items.get(next).is_some_and(|i| is_preposition(i) && i.lower != "to") {
        return false;
    }
    for item in items.iter().skip(next).take(6) {
        match item.kind {
            ItemKind::Punct(_) => return false,
            ItemKind::Cue(Cue::AtMost | Cue::AtLeast | Cue::Also | Cue::NotOnly) => {}
            ItemKind::Cue(_) => return true,
            ItemKind::Stop if is_auxiliary(&item.lower) => return true,
            _ => {}
        }
    }
    false
}

fn is_preposition(item: &Item) -> bool {
    item.kind == ItemKind::Stop
        && matches!(
            item.lower.as_str(),
            "in" | "for"
                | "on"
                | "at"
                | "with"
                | "by"
                | "during"
                | "from"
                | "under"
                | "within"
                | "as"
                | "to"
                | "between"
                | "through"
                | "across"
                | "per"
        )
}

pub(super) fn is_auxiliary(word: &str) -> bool {
    matches!(
        word,
        "is" | "are" | "was" | "were" | "has" | "have" | "had" | "will" | "would" | "be" | "does" | "do" | "did"
    )
}

/// Returns whether a contrast cue applies: "over" is one only after "prefer".
fn is_contrast(items: &[Item], from: usize, at: usize) -> bool {
    items[at].lower != "over"
        || items[from..at]
            .iter()
            .any(|i| i.cue() == Some(Cue::Should) || matches!(i.key.as_str(), "favor" | "choos" | "use"))
            && items[from..at].iter().any(|i| {
                matches!(
                    i.lower.as_str(),
                    "prefer" | "favour" | "favor" | "preferred" | "favours" | "choose" | "chose" | "chosen"
                )
            })
}

/// Returns whether the "without" at `at` belongs to a subject, whose verb follows: "requests without a token are denied".
fn is_in_subject(items: &[Item], from: usize, at: usize) -> bool {
    let is_verb = |item: &Item| {
        item.cue().is_some_and(Cue::is_stance) || item.kind == ItemKind::Stop && is_auxiliary(&item.lower)
    };
    let goes_on = |item: &Item| {
        !matches!(
            item.kind,
            ItemKind::Punct(_) | ItemKind::Cue(Cue::If | Cue::Because | Cue::Except | Cue::Instead | Cue::But)
        )
    };
    // "Write it without state and do not panic": another clause.
    let verb = (at + 1..items.len()).take_while(|i| goes_on(&items[*i])).find(|i| is_verb(&items[*i]));
    items[from..at].iter().any(Item::is_content)
        && !items[from..at].iter().any(is_verb)
        && verb.is_some_and(|verb| !is_and(&items[verb - 1]))
}

/// Returns the segments of a statement in order, without questions that follow an assertion ("Use Postgres. Any objections?").
pub(super) fn segments(items: &[Item]) -> Vec<Segment> {
    let mut out = Vec::new();
    let (mut from, mut sentence) = (0, 0);
    let mut lead = None;
    let mut questions = Vec::new();
    let close = |from: usize, to: usize, lead: Option<Cue>, sentence: usize, out: &mut Vec<Segment>| {
        if items[from..to].iter().any(|i| !matches!(i.kind, ItemKind::Punct(_))) {
            let mut role = role(lead);
            let stance = items[from..to].iter().any(|i| i.cue().is_some_and(Cue::is_stance));
            if role == SegmentRole::Main && !stance {
                if from > 0 && items[from - 1].kind == ItemKind::Punct('(') {
                    role = SegmentRole::Aside;
                } else if items.get(to).is_some_and(|i| i.kind == ItemKind::Punct(','))
                    && items[from..to]
                        .iter()
                        .find(|i| !matches!(i.kind, ItemKind::Punct(_)))
                        .is_some_and(is_preposition)
                {
                    role = SegmentRole::Setting;
                }
            }
            out.push(Segment { role, from, to, sentence });
        }
    };
    for (at, item) in items.iter().enumerate() {
        match item.kind {
            ItemKind::Punct(':') if denies(&items[from..at]) || gives_value(&items[from..at], &items[at + 1..]) => {}
            ItemKind::Punct(mark) if is_hard(mark) => {
                close(from, at, lead, sentence, &mut out);
                if mark == '?' {
                    questions.push(sentence);
                }
                if matches!(mark, '.' | '!' | '?' | '\n') {
                    sentence += 1;
                }
                (from, lead) = (at + 1, None);
            }
            ItemKind::Punct(_) if joins_clauses(items, at, matches!(lead, Some(Cue::If | Cue::Because))) => {
                close(from, at, lead, sentence, &mut out);
                (from, lead) = (at + 1, None);
            }
            ItemKind::Cue(cue @ (Cue::If | Cue::Because | Cue::Except | Cue::Instead | Cue::But | Cue::Without)) => {
                if cue == Cue::Instead && !is_contrast(items, from, at)
                    || cue == Cue::Without && is_in_subject(items, from, at)
                {
                    continue;
                }
                if items[from..at].iter().any(Item::is_content) || lead.is_some() {
                    close(from, at, lead, sentence, &mut out);
                }
                // "Although it is slow, …" concedes something; it is not the statement.
                let concessive = matches!(item.lower.as_str(), "although" | "though" | "whereas");
                (from, lead) = (at + 1, Some(if concessive { Cue::Because } else { cue }));
            }
            ItemKind::Stop
                if is_and(item)
                    && items.get(at + 1).and_then(Item::cue).is_some_and(Cue::is_stance)
                    && items[from..at].iter().any(Item::is_content) =>
            {
                close(from, at, lead, sentence, &mut out);
                (from, lead) = (at + 1, None);
            }
            _ => {}
        }
    }
    close(from, items.len(), lead, sentence, &mut out);
    if let Some(stated) = out.iter().rposition(|segment| !questions.contains(&segment.sentence)) {
        out.truncate(stated + 1);
    }
    out
}
