//! Clauses: what is required, allowed or forbidden of what, and what merely surrounds it.

use super::{
    cue::Cue,
    item::{Item, ItemKind},
};
use crate::domain::norm::Modality;

/// One stance of a statement. The lists are indexes into the items.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clause {
    pub(crate) modality: Modality,
    /// Whether the stance is negative: forbidden, discouraged, not so.
    pub(crate) negative: bool,
    /// The cue items that gave the stance.
    pub(crate) stance: Vec<usize>,
    /// Content before the stance or the finite verb.
    pub(crate) subject: Vec<usize>,
    /// Content under the stance.
    pub(crate) core: Vec<usize>,
    /// Content of the sentence around it: conditions, what a contrast is set against.
    pub(crate) context: Vec<usize>,
    /// The part of the context that is a condition.
    pub(crate) conditions: Vec<usize>,
    /// "both".
    pub(crate) both: bool,
    /// The finite or governed verb.
    pub(crate) verb: Option<usize>,
    /// The thing spoken of: head of the subject, else of the object.
    pub(crate) head: Option<usize>,
    /// The head of what follows the verb.
    pub(crate) object: Option<usize>,
    /// What an exception takes out.
    pub(crate) exceptions: Vec<usize>,
    /// It was set aside: "rather than X".
    pub(crate) contrast: bool,
    /// The clause that it was set aside for, by its number.
    pub(crate) chosen: Option<usize>,
    /// "only".
    pub(crate) only: bool,
    /// "also".
    pub(crate) also: bool,
    /// It stands under a condition.
    pub(crate) conditional: bool,
    /// "never", "any", "all", "always".
    pub(crate) universal: bool,
    /// No subject, verb first.
    pub(crate) imperative: bool,
}

/// Verbs of ability and content: having one does not exclude having another.
const OPEN_VERBS: &[&str] = &[
    "support",
    "accept",
    "includ",
    "contain",
    "provid",
    "offer",
    "read",
    "import",
    "export",
    "allow",
    "handl",
    "know",
    "integr",
    "work",
    "add",
    "connect",
    "have",
    "test",
    "speak",
    "understand",
    "expos",
    "emit",
    "produc",
    "see",
    "follow",
    "consid",
    "list",
    "cover",
    "check",
];

impl Clause {
    /// Whether the clause speaks of an ability or a content, of which there can be several.
    pub(crate) fn is_open(&self, items: &[Item]) -> bool {
        self.verb.is_some_and(|verb| OPEN_VERBS.contains(&items[verb].key.as_str()))
    }

    /// Every content item that belongs to the clause.
    pub(crate) fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.subject.iter().chain(&self.core).chain(&self.context).copied()
    }
}

/// How a segment relates to its sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Main,
    Condition,
    Reason,
    Exception,
    Contrast,
    /// "In this project, …": where the rest holds.
    Setting,
    /// In parentheses, without a stance of its own.
    Aside,
}

struct Segment {
    role: Role,
    from: usize,
    to: usize,
    sentence: usize,
}

/// Marks that end a segment wherever they stand.
fn is_hard(mark: char) -> bool {
    matches!(mark, '.' | '!' | '?' | ';' | ':' | '(' | ')' | '—' | '–' | '\n')
}

fn role(cue: Option<Cue>) -> Role {
    match cue {
        Some(Cue::If) => Role::Condition,
        Some(Cue::Because) => Role::Reason,
        Some(Cue::Except) => Role::Exception,
        Some(Cue::Instead | Cue::Without) => Role::Contrast,
        _ => Role::Main,
    }
}

fn is_and(item: &Item) -> bool {
    item.kind == ItemKind::Stop && matches!(item.lower.as_str(), "and" | "or" | "then" | "nor")
}

/// Whether a comma at `at` joins clauses rather than words of a list.
fn joins_clauses(items: &[Item], at: usize, conditional: bool) -> bool {
    let mut next = at + 1;
    while items.get(next).is_some_and(is_and) {
        next += 1;
    }
    if conditional {
        return true;
    }
    // ", with X and no Y" goes on with the clause.
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

fn is_auxiliary(word: &str) -> bool {
    matches!(
        word,
        "is" | "are" | "was" | "were" | "has" | "have" | "had" | "will" | "would" | "be" | "does" | "do" | "did"
    )
}

/// "over" sets aside only after "prefer".
fn sets_aside(items: &[Item], from: usize, at: usize) -> bool {
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

fn segments(items: &[Item]) -> Vec<Segment> {
    let mut out = Vec::new();
    let (mut from, mut sentence) = (0, 0);
    let mut lead = None;
    let close = |from: usize, to: usize, lead: Option<Cue>, sentence: usize, out: &mut Vec<Segment>| {
        if items[from..to].iter().any(|i| !matches!(i.kind, ItemKind::Punct(_))) {
            let mut role = role(lead);
            let stance = items[from..to].iter().any(|i| i.cue().is_some_and(Cue::is_stance));
            if role == Role::Main && !stance {
                if from > 0 && items[from - 1].kind == ItemKind::Punct('(') {
                    role = Role::Aside;
                } else if items.get(to).is_some_and(|i| i.kind == ItemKind::Punct(','))
                    && items[from..to]
                        .iter()
                        .find(|i| !matches!(i.kind, ItemKind::Punct(_)))
                        .is_some_and(is_preposition)
                {
                    role = Role::Setting;
                }
            }
            out.push(Segment { role, from, to, sentence });
        }
    };
    for (at, item) in items.iter().enumerate() {
        match item.kind {
            ItemKind::Punct(mark) if is_hard(mark) => {
                close(from, at, lead, sentence, &mut out);
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
                if cue == Cue::Instead && !sets_aside(items, from, at) {
                    continue;
                }
                if items[from..at].iter().any(Item::is_content) || lead.is_some() {
                    close(from, at, lead, sentence, &mut out);
                }
                // "Although it is slow, …": granted, not stated.
                let granted = matches!(item.lower.as_str(), "although" | "though" | "whereas");
                (from, lead) = (at + 1, Some(if granted { Cue::Because } else { cue }));
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
    out
}

/// The label of a statement that defines a thing or a case: what stands before its first colon or dash.
pub(crate) fn label(items: &[Item]) -> Vec<u64> {
    let Some(end) = items.iter().position(|i| matches!(i.kind, ItemKind::Punct(':' | '—' | '–'))) else {
        return Vec::new();
    };
    let label = &items[..end];
    let words = label.iter().filter(|i| i.is_content()).count();
    let plain = label.iter().all(|i| !matches!(i.kind, ItemKind::Punct(_)) && !i.cue().is_some_and(Cue::is_stance));
    if words == 0 || words > 5 || !plain || items[end..].iter().filter(|i| i.is_content()).count() < 2 {
        return Vec::new();
    }
    label.iter().filter(|i| i.is_content()).map(|i| i.id ^ u64::from(i.opposite)).collect()
}

/// The clauses of a statement.
pub(crate) fn clauses(items: &[Item]) -> Vec<Clause> {
    let segments = segments(items);
    let content =
        |segment: &Segment| -> Vec<usize> { (segment.from..segment.to).filter(|i| items[*i].is_content()).collect() };
    let mut out: Vec<Clause> = Vec::new();
    let mut last_main: Option<(usize, usize)> = None;
    for (index, segment) in segments.iter().enumerate() {
        match segment.role {
            Role::Main => {
                let mut clause = main_clause(items, segment.from, segment.to);
                if clause.core.is_empty() && clause.subject.is_empty() {
                    continue;
                }
                for other in segments.iter().filter(|s| s.sentence == segment.sentence) {
                    if matches!(other.role, Role::Condition | Role::Setting) {
                        clause.context.extend(content(other));
                        if other.role == Role::Condition {
                            clause.conditions.extend(content(other));
                            clause.conditional = true;
                        }
                    }
                }
                for other in segments[index + 1..].iter().take_while(|s| s.role != Role::Main) {
                    if other.role == Role::Exception {
                        clause.exceptions.extend(content(other));
                    }
                }
                // "and cannot be pushed to": the subject stands in the clause before; "(never committed)": everything does.
                if let Some((previous, sentence)) = last_main
                    && sentence == segment.sentence
                    && clause.subject.is_empty()
                {
                    let before = &out[previous];
                    let elliptic = clause.core.len() == 1
                        || clause.core.len() == 2 && !clause.core.first().is_some_and(|at| is_verb(&items[*at]));
                    let bare = before.subject.is_empty() && before.stance.is_empty() && before.verb.is_none();
                    if bare && before.context.is_empty() && begins_with_stance(items, segment.from, segment.to) {
                        // "Maps, …, are forbidden."
                        clause.core.extend(before.core.iter().copied());
                    } else if !before.subject.is_empty()
                        && !clause.stance.is_empty()
                        && begins_with_stance(items, segment.from, segment.to)
                    {
                        clause.subject.clone_from(&before.subject);
                        clause.head = before.head;
                        clause.imperative = false;
                        if elliptic && clause.negative && before.core.iter().all(|at| !is_participle(&items[*at])) {
                            clause.context.extend(before.core.iter().copied());
                        }
                    } else if elliptic {
                        clause.context.extend(before.all());
                    }
                }
                // "…, are forbidden" without its subject: nobody can say of what.
                if clause.subject.is_empty()
                    && clause.core.iter().all(|at| clause.stance.first().is_some_and(|stance| stance < at))
                    && clause.stance.first().is_some_and(|at| {
                        let impersonal =
                            at.checked_sub(1).is_some_and(|i| matches!(items[i].lower.as_str(), "it" | "there"));
                        !impersonal && matches!(items[*at].lower.as_str(), "is" | "are" | "has" | "have")
                    })
                {
                    continue;
                }
                // "…, not X": set aside, as "rather than X" is.
                if clause.negative
                    && !clause.context.is_empty()
                    && clause.core.iter().all(|at| !is_verb(&items[*at]) && !is_participle(&items[*at]))
                {
                    clause.contrast = true;
                }
                if clause.negative && !clause.context.is_empty() {
                    clause.chosen =
                        last_main.filter(|(_, sentence)| *sentence == segment.sentence).map(|(main, _)| main);
                }
                last_main = Some((out.len(), segment.sentence));
                out.push(clause);
            }
            Role::Contrast => {
                let core = content(segment);
                let Some((chosen, _)) = last_main.filter(|(_, sentence)| *sentence == segment.sentence) else {
                    continue;
                };
                if core.is_empty() || out[chosen].negative {
                    // "Do not merge without review": a restriction of what is forbidden.
                    let restricted = &mut out[chosen];
                    restricted.core.extend(core);
                    restricted.conditional = true;
                    continue;
                }
                let main = &out[chosen];
                out.push(Clause {
                    modality: if main.modality == Modality::Should { Modality::ShouldNot } else { Modality::MustNot },
                    negative: true,
                    stance: segment.from.checked_sub(1).into_iter().collect(),
                    head: core.last().copied(),
                    context: main.subject.iter().chain(&main.core).copied().collect(),
                    core,
                    contrast: true,
                    chosen: Some(chosen),
                    ..Clause::default()
                });
            }
            Role::Condition | Role::Reason | Role::Exception | Role::Setting | Role::Aside => {}
        }
    }
    out
}

/// Prepositions and the like: they end a noun phrase.
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

/// The last content word of the phrase that starts at `from`.
fn phrase_head(items: &[Item], from: usize, to: usize) -> Option<usize> {
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

fn is_verb(item: &Item) -> bool {
    let lexicon = crate::guard::lexicon::lexicon();
    item.kind == ItemKind::Content && lexicon.is_verb(&lexicon.stem(&item.lower))
}

fn is_participle(item: &Item) -> bool {
    item.lower.ends_with("ed") || item.lower.ends_with("en")
}

/// Whether nothing but small words stands before the stance of a segment.
fn begins_with_stance(items: &[Item], from: usize, to: usize) -> bool {
    (from..to)
        .find(|at| items[*at].kind != ItemKind::Stop)
        .is_some_and(|at| items[at].cue().is_some_and(Cue::is_stance))
}

/// Where the finite verb of a clause without a stance stands, if it can be told.
fn finite_verb(items: &[Item], from: usize, to: usize) -> Option<usize> {
    let lexicon = crate::guard::lexicon::lexicon();
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
        let noun = (items[first].lower.ends_with('s') && !items[first].lower.ends_with("ss"))
            || (first + 1 < to && looks_verbal(first + 1) && items[first + 1].lower.ends_with('s'));
        if !next_ends && !noun {
            return Some(first);
        }
    }
    let candidate = |at: &usize, participles: bool| {
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
    (first + 1..to).find(|at| candidate(at, false)).or_else(|| (first + 1..to).find(|at| candidate(at, true)))
}

fn main_clause(items: &[Item], from: usize, to: usize) -> Clause {
    let mut clause = Clause::default();
    let (mut required, mut preferred, mut allowed, mut released, mut negations) = (false, false, false, false, 0_u32);
    let mut governor: Option<usize> = None;
    let mut predicate = false;
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

/// Whether a cue is said of its subject: "is forbidden", "are allowed", "off limits".
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
