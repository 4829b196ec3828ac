//! Parses a segment as a clause: its stance, verb, subject and core.

use super::{Clause, Cue, Item, ItemKind, segment::is_auxiliary};
use crate::{domain::norm::Modality, guard::lexicon::lexicon};

/// Returns whether an item, such as a preposition, ends a noun phrase.
fn ends_phrase(item: &Item) -> bool {
    matches!(item.kind, ItemKind::Cue(_) | ItemKind::Punct(_))
        || item.kind == ItemKind::Stop
            && !matches!(
                item.lower.as_str(),
                "the"
                    | "a"
                    | "an"
                    | "and"
                    | "or"
                    | "our"
                    | "all"
                    | "any"
                    | "each"
                    | "every"
                    | "your"
                    | "its"
                    | "own"
                    | "no"
                    | "this"
                    | "that"
                    | "these"
                    | "those"
            )
}

/// Returns the last content word of the phrase that starts at `from`.
pub(super) fn phrase_head(items: &[Item], from: usize, to: usize) -> Option<usize> {
    let mut head = None;
    for (at, item) in items.iter().enumerate().take(to).skip(from) {
        if ends_phrase(item) {
            if head.is_some() {
                break;
            }
        } else if item.is_content() {
            head = Some(at);
        }
    }
    head
}

fn is_determiner(item: &Item) -> bool {
    item.kind == ItemKind::Stop
        && matches!(
            item.lower.as_str(),
            "the"
                | "a"
                | "an"
                | "our"
                | "your"
                | "its"
                | "this"
                | "these"
                | "those"
                | "each"
                | "every"
                | "all"
                | "any"
                | "their"
                | "some"
        )
}

/// Returns whether it can be a finite verb.
pub(super) fn is_verb(item: &Item) -> bool {
    let lexicon = lexicon();
    item.kind == ItemKind::Content && lexicon.is_verb(&lexicon.stem(&item.lower))
}

/// Returns whether it ends like a participle.
pub(super) fn is_participle(item: &Item) -> bool {
    item.lower.ends_with("ed") || item.lower.ends_with("en")
}

/// Returns whether only stop words precede the stance of a segment.
pub(super) fn begins_with_stance(items: &[Item], from: usize, to: usize) -> bool {
    (from..to)
        .find(|at| items[*at].kind != ItemKind::Stop)
        .is_some_and(|at| items[at].cue().is_some_and(Cue::is_stance))
}

/// Returns the index of the finite verb of a clause without a stance, if it can be determined.
fn finite_verb(items: &[Item], from: usize, to: usize) -> Option<usize> {
    let lexicon = lexicon();
    let first = (from..to).find(|i| {
        items[*i].kind != ItemKind::Stop
            || !matches!(
                items[*i].lower.as_str(),
                "please"
                    | "then"
                    | "also"
                    | "we"
                    | "you"
                    | "to"
                    | "and"
                    | "will"
                    | "let"
                    | "lets"
                    | "let's"
                    | "they"
                    | "now"
                    | "it"
            )
    })?;
    let looks_verbal =
        |at: usize| items[at].kind == ItemKind::Content && lexicon.is_verb(&lexicon.stem(&items[at].lower));
    if looks_verbal(first) {
        let next_ends = items.get(first + 1).is_none_or(|n| n.kind == ItemKind::Stop && is_auxiliary(&n.lower));
        // "Log rotates daily", but "use mocks": "use" is no subject.
        let noun = (items[first].lower.ends_with('s') && !items[first].lower.ends_with("ss"))
            || (items[first].lower != "use"
                && first + 1 < to
                && looks_verbal(first + 1)
                && items[first + 1].lower.ends_with('s'));
        if !next_ends && !noun {
            return Some(first);
        }
    }
    let looks_finite = |at: &usize, participles: bool| {
        let (item, before) = (&items[*at], &items[*at - 1]);
        let governed = before.kind == ItemKind::Stop
            && matches!(before.lower.as_str(), "to" | "of" | "for" | "in" | "on" | "and" | "or" | "with" | "by");
        (item.kind == ItemKind::Stop && is_auxiliary(&item.lower))
            || (looks_verbal(*at)
                && !is_determiner(before)
                && !governed
                && items[from..*at].iter().any(Item::is_content)
                && if participles {
                    item.lower.ends_with("ed")
                } else {
                    item.lower.ends_with('s')
                        || before.lower.ends_with('s') && !item.lower.ends_with("ed")
                        || before.kind == ItemKind::Punct(',') && !item.lower.ends_with("ed")
                })
    };
    (first + 1..to).find(|at| looks_finite(at, false)).or_else(|| (first + 1..to).find(|at| looks_finite(at, true)))
}

/// Parses a segment: its stance, and the content before and after it.
pub(super) fn main_clause(items: &[Item], from: usize, to: usize) -> Clause {
    let mut clause = Clause::default();
    let (mut required, mut preferred, mut allowed, mut released, mut negations) = (false, false, false, false, 0_u32);
    let mut governor: Option<usize> = None;
    let mut predicate = false;
    // "Requests without a token are denied."
    let without = (from..to).filter(|at| items[*at].cue() == Some(Cue::Without));
    clause.lacking = without.filter_map(|at| phrase_head(items, at + 1, to)).collect();
    for at in from..to {
        let Some(cue) = items[at].cue() else {
            clause.both |= items[at].lower == "both";
            if matches!(items[at].lower.as_str(), "any" | "all" | "every" | "each" | "anywhere")
                && items[at].kind == ItemKind::Stop
            {
                clause.universal = true;
            }
            continue;
        };
        if matches!(
            items[at].lower.as_str(),
            "never" | "always" | "under" | "in" | "no" | "nobody" | "nothing" | "nowhere" | "none"
        ) {
            clause.universal = true;
        }
        match cue {
            Cue::Must => required = true,
            Cue::Should => preferred = true,
            Cue::May => allowed = true,
            Cue::MayNot => released = true,
            // "Neither X nor Y": one negation.
            Cue::Not if items[at].lower == "nor" && negations > 0 => {}
            Cue::Not => negations += 1,
            Cue::Prohibit => negations += 1,
            Cue::Only => clause.only = true,
            Cue::Also if items[at].lower == "both" => clause.both = true,
            Cue::Also => clause.also = true,
            _ => {}
        }
        if matches!(cue, Cue::Must | Cue::Should | Cue::May | Cue::MayNot | Cue::Not | Cue::Prohibit) {
            clause.stance.push(at);
            let negative = matches!(cue, Cue::Not | Cue::Prohibit | Cue::MayNot);
            let governs = governor.is_none() || (negative && !governor.is_some_and(|g| is_negative(&items[g])));
            if governs {
                governor = Some(at);
            }
            if matches!(cue, Cue::Prohibit | Cue::May | Cue::MayNot | Cue::Must | Cue::Should)
                && is_predicate(&items[at])
            {
                predicate = true;
            }
        }
    }
    clause.negative = negations % 2 == 1;
    // "Not optional" is mandatory.
    if released && clause.negative {
        (released, clause.negative, required) = (false, false, true);
    }
    clause.modality = if released && !clause.negative {
        Modality::MayNot
    } else if clause.negative {
        if preferred && !required { Modality::ShouldNot } else { Modality::MustNot }
    } else if negations > 0 || required {
        Modality::Must
    } else if preferred {
        Modality::Should
    } else if allowed {
        Modality::May
    } else {
        Modality::Must
    };
    if released {
        clause.negative = !clause.negative;
    }
    let verb_at = governor.or_else(|| finite_verb(items, from, to));
    let split = verb_at.unwrap_or(from);
    let (before, under): (Vec<usize>, Vec<usize>) =
        (from..to).filter(|at| items[*at].is_content()).partition(|at| *at < split);
    (clause.subject, clause.core) = (before, under);
    clause.imperative = clause.subject.is_empty();
    clause.verb = match verb_at {
        Some(at) if items[at].is_content() => Some(at),
        Some(at) => (at + 1..to).find(|i| items[*i].is_content()),
        None => None,
    };
    let after = clause.verb.map_or(split, |verb| verb + 1);
    clause.object = phrase_head(items, after, to);
    clause.head = clause
        .subject
        .first()
        .and_then(|first| phrase_head(items, *first, split))
        .or(clause.object)
        .or(clause.core.last().copied());
    let subject_after = clause.core.first().is_none_or(|first| {
        items[split..*first].iter().any(|i| {
            i.kind == ItemKind::Stop
                && matches!(i.lower.as_str(), "in" | "for" | "on" | "by" | "with" | "during" | "at" | "from")
        })
    });
    if (predicate && subject_after) || clause.core.is_empty() {
        let core = std::mem::take(&mut clause.core);
        clause.core = std::mem::take(&mut clause.subject);
        clause.core.extend(core);
    }
    clause
}

fn is_negative(item: &Item) -> bool {
    matches!(item.cue(), Some(Cue::Not | Cue::Prohibit | Cue::MayNot))
}

/// Returns whether a cue is a predicate of the subject: "is forbidden", "are allowed", "off limits".
fn is_predicate(item: &Item) -> bool {
    matches!(
        item.lower.as_str(),
        "is" | "are"
            | "be"
            | "forbidden"
            | "prohibited"
            | "banned"
            | "disallowed"
            | "off"
            | "deprecated"
            | "optional"
            | "not"
            | "unnecessary"
            | "taboo"
            | "discouraged"
            | "unacceptable"
            | "required"
            | "mandatory"
            | "recommended"
    )
}
