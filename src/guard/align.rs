//! Clause against clause: which words they share, which oppose each other, and what that makes of the pair.

use super::{
    lexicon::{WordClass, lexicon},
    normalise::{
        Parsed,
        clause::Clause,
        item::{Item, ItemKind},
    },
};
use crate::domain::verdict::RuleId;

/// Clauses of one statement that are compared, at most.
const MAX_CLAUSES: usize = 8;

/// How two words relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Same,
    Opposite,
    Alternative(u16),
    Amount,
    Contrast,
}

/// Whether `part` is the first component of the path or module `whole`: `testing` of `testing/quick`.
fn is_part(whole: &str, part: &str) -> bool {
    part.len() >= 4 && whole.strip_prefix(part).is_some_and(|rest| rest.starts_with('/'))
}

/// How `x` relates to `y`, if at all.
pub(crate) fn link(x: &Item, y: &Item) -> Option<Link> {
    if let (Some(a), Some(b)) = (&x.quantity, &y.quantity) {
        return if a.base != b.base {
            None
        } else if a.value == b.value {
            Some(Link::Same)
        } else {
            Some(Link::Amount)
        };
    }
    if x.kind != ItemKind::Content || y.kind != ItemKind::Content {
        return None;
    }
    if x.id == y.id {
        // `URL` and `Url` are two spellings, and which of them is meant is the point.
        if x.code && y.code && x.surface != y.surface && x.lower == y.lower {
            return None;
        }
        return Some(if x.opposite == y.opposite {
            Link::Same
        } else if x.code && y.code {
            Link::Contrast
        } else {
            Link::Opposite
        });
    }
    if (x.code || y.code) && (is_part(&x.lower, &y.lower) || is_part(&y.lower, &x.lower)) {
        return Some(Link::Same);
    }
    if let (Some(a), Some(b)) = (x.contrast, y.contrast)
        && a.0 == b.0
        && a.1 != b.1
    {
        return Some(Link::Contrast);
    }
    if let (Some(a), Some(b)) = (x.alternative, y.alternative)
        && a.0 == b.0
        && a.1 != b.1
    {
        return Some(Link::Alternative(a.0));
    }
    None
}

/// Whether the number at `at` is a name.
pub(crate) fn names_something(items: &[Item], at: usize) -> bool {
    at.checked_sub(1).and_then(|i| items.get(i)).is_some_and(|before| {
        lexicon().class(WordClass::Numbered).contains(before.lower.trim_end_matches('s'))
            || before.lower.starts_with("rfc")
            || before.lower.starts_with('#')
    })
}

/// Whether the number at `at` is a name in this clause: also that of one among several subjects of a kind, service 0 and service 1,
/// where the noun is no property that has a value.
pub(crate) fn names_in(items: &[Item], clause: &Clause, at: usize) -> bool {
    let numbered =
        |before: &Item| before.kind == ItemKind::Content && !super::normalise::norms::is_attribute(&before.key);
    let bare = || items[at].quantity.as_ref().is_some_and(|quantity| quantity.base.is_empty());
    names_something(items, at)
        || clause.subject.contains(&at) && bare() && at.checked_sub(1).and_then(|i| items.get(i)).is_some_and(numbered)
}

/// Whether it is a name that somebody coined of letters and digits: `s0x9`, `host3`, `k8s`.
fn is_coined(item: &Item) -> bool {
    item.kind == ItemKind::Content
        && item.lower.contains(|c: char| c.is_ascii_digit())
        && item.lower.contains(char::is_alphabetic)
}

/// Whether two statements speak of two things, each by a coined name: "service s0x9", "service s7x0". As a value, such a word is
/// chosen like any other.
fn named_apart(ours: &Parsed, a: &Clause, x: usize, theirs: &Parsed, b: &Clause, y: usize) -> bool {
    let (one, other) = (&ours.items[x], &theirs.items[y]);
    one.id != other.id && a.subject.contains(&x) && b.subject.contains(&y) && is_coined(one) && is_coined(other)
}

/// The preposition that governs the phrase that the item at `at` stands in.
pub(crate) fn preposition_before(parsed: &Parsed, at: usize) -> Option<&str> {
    for item in parsed.items[..at].iter().rev().take(4) {
        match item.kind {
            ItemKind::Stop
                if matches!(
                    item.lower.as_str(),
                    "the" | "a" | "an" | "our" | "its" | "your" | "their" | "all" | "any" | "every" | "each" | "this"
                ) => {}
            ItemKind::Stop => return Some(&item.lower),
            ItemKind::Content => {}
            _ => return None,
        }
    }
    None
}

/// Whether the item at `at` says for which one of a kind a clause holds: "for service 1", "for w23", "in Go files".
fn says_which(parsed: &Parsed, at: usize) -> bool {
    let item = &parsed.items[at];
    let Some(preposition) = preposition_before(parsed, at) else { return false };
    let before = at.checked_sub(1).and_then(|i| parsed.items.get(i));
    let numbered = item.quantity.as_ref().is_some_and(|quantity| quantity.base.is_empty())
        && before.is_some_and(|noun| {
            noun.kind == ItemKind::Content
                && !super::normalise::norms::is_attribute(&noun.key)
                && noun.quantity.is_none()
        });
    // "in Go files", but not "in Go": there the language is what is chosen.
    let modifies = item.alternative.is_some()
        && parsed.items.get(at + 1).is_some_and(|next| next.kind == ItemKind::Content && next.alternative.is_none());
    match preposition {
        "for" => numbered || is_coined(item) || item.alternative.is_some(),
        "of" | "on" | "at" => numbered || is_coined(item) || modifies,
        "in" | "within" | "inside" | "under" => numbered || modifies,
        _ => false,
    }
}

/// The items by which a clause says which one of a kind it speaks of.
fn labels(parsed: &Parsed, clause: &Clause) -> Vec<usize> {
    let names = |at: &usize| {
        let item = &parsed.items[*at];
        is_coined(item) || item.quantity.is_some() && names_in(&parsed.items, clause, *at)
    };
    let mut labels: Vec<usize> = clause.subject.iter().copied().filter(names).collect();
    labels.extend(clause.core.iter().chain(&clause.context).copied().filter(|at| says_which(parsed, *at)));
    labels
}

/// Whether two statements say different things of two of a kind, each named by a number or a coined name: "worker 3 runs on port 9003",
/// "worker 4 runs on port 9004"; or of two places that are named: "use tabs in Go files", "use spaces in Python files". Where they say the
/// same of both ("Node 18 is used", "Node 20 is used"), the name is the point.
pub(crate) fn told_apart(ours: &Parsed, theirs: &Parsed) -> bool {
    let said = |parsed: &Parsed, clause: &Clause, labels: &[usize]| -> Vec<(u64, bool)> {
        let rest = clause.core.iter().filter(|at| !labels.contains(at));
        rest.map(|at| (parsed.items[*at].id, parsed.items[*at].opposite)).collect()
    };
    let mut labelled = ours
        .clauses
        .iter()
        .flat_map(|a| theirs.clauses.iter().map(move |b| (a, b)))
        .map(|(a, b)| (a, b, labels(ours, a), labels(theirs, b)))
        .filter(|(.., one, other)| !one.is_empty() && !other.is_empty())
        .peekable();
    labelled.peek().is_some()
        && labelled.all(|(a, b, one, other)| {
            let shared = |x: &usize| other.iter().any(|y| ours.items[*x].id == theirs.items[*y].id);
            !one.iter().any(shared) && (a.negative != b.negative || said(ours, a, &one) != said(theirs, b, &other))
        })
}

/// Whether two statements that stand next to each other in one document each hold for something of their own: a rule and its exception,
/// one limit for one kind of file and another for another.
pub(crate) fn under_other_conditions(ours: &Parsed, theirs: &Parsed) -> bool {
    let chosen = |item: &Item| item.quantity.is_some() || item.alternative.is_some();
    let own = |a: &Parsed, b: &Parsed| {
        let has = |item: &Item| b.items.iter().any(|other| other.is_content() && other.id == item.id);
        a.items.iter().filter(|item| item.is_content() && item.weight >= 0.9 && !chosen(item)).any(|item| !has(item))
    };
    let restricted = |parsed: &Parsed| {
        parsed.clauses.iter().any(|clause| clause.conditional || !clause.exceptions.is_empty() || clause.only)
    };
    own(ours, theirs) && own(theirs, ours) || restricted(ours) != restricted(theirs)
}

/// One linked pair of words: indexes into the items of each statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) ours: usize,
    pub(crate) theirs: usize,
    pub(crate) link: Link,
}

/// Two clauses laid side by side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alignment {
    /// Linked words, the strongest link of each.
    pub(crate) pairs: Vec<Pair>,
    /// Weight of what is shared.
    pub(crate) shared: f32,
    /// Weight of our words without a counterpart; of theirs.
    pub(crate) our_rest: f32,
    pub(crate) their_rest: f32,
}

impl Alignment {
    /// The links of one kind.
    pub(crate) fn of(&self, link: fn(Link) -> bool) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(move |pair| link(pair.link))
    }

    /// Shared weight over the smaller side.
    pub(crate) fn containment(&self) -> f32 {
        self.shared / (self.shared + self.our_rest.min(self.their_rest)).max(0.01)
    }

    /// Shared weight over everything.
    pub(crate) fn overlap(&self) -> f32 {
        self.shared / (self.shared + self.our_rest + self.their_rest).max(0.01)
    }
}

/// The weight of an item: code says more than prose.
pub(crate) fn weight(item: &Item) -> f32 {
    if item.code { item.weight.max(0.8) * 1.3 } else { item.weight }
}

/// The content word next to the item at `at`, in one direction, within its phrase.
pub(crate) fn anchor(parsed: &Parsed, at: usize, step: isize) -> Option<&Item> {
    let mut at = at as isize + step;
    for _ in 0..3 {
        let item = parsed.items.get(usize::try_from(at).ok()?)?;
        if item.is_content() {
            return item.quantity.is_none().then_some(item);
        }
        if matches!(item.kind, ItemKind::Punct(_)) {
            return None;
        }
        at += step;
    }
    None
}

/// Whether two figures measure the same thing, by the word before or after each of them.
pub(crate) fn measures_the_same(ours: &Parsed, x: usize, theirs: &Parsed, y: usize) -> bool {
    let same = |step: isize| {
        anchor(ours, x, step)
            .zip(anchor(theirs, y, step))
            .is_some_and(|(x, y)| x.id == y.id && x.opposite == y.opposite)
    };
    same(-1) || same(1)
}

/// Lays the words of two clauses side by side.
pub(crate) fn align(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause) -> Alignment {
    let mut left: Vec<usize> = a.all().collect();
    let mut right: Vec<usize> = b.all().collect();
    left.sort_unstable();
    left.dedup();
    right.sort_unstable();
    right.dedup();
    let mut out = Alignment::default();
    let (mut left_done, mut right_done) = (vec![false; left.len()], vec![false; right.len()]);
    let figures = |items: &[Item], all: &[usize]| all.iter().filter(|at| items[**at].quantity.is_some()).count();
    let several = figures(&ours.items, &left) > 1 || figures(&theirs.items, &right) > 1;
    for wanted in 0..5 {
        if wanted == 1 {
            // A word that the other side says twice has its counterpart both times.
            for (j, &y) in right.iter().enumerate() {
                if !right_done[j]
                    && let Some(&x) = left.iter().find(|&&x| link(&ours.items[x], &theirs.items[y]) == Some(Link::Same))
                {
                    right_done[j] = true;
                    out.pairs.push(Pair { ours: x, theirs: y, link: Link::Same });
                }
            }
        }
        for (i, &x) in left.iter().enumerate() {
            if left_done[i] {
                continue;
            }
            let found = right.iter().enumerate().find_map(|(j, &y)| {
                if right_done[j] && wanted != 0 {
                    return None;
                }
                let apart = || named_apart(ours, a, x, theirs, b, y).then_some(Link::Contrast);
                let mut link = link(&ours.items[x], &theirs.items[y]).or_else(apart)?;
                if link == Link::Amount && several && !measures_the_same(ours, x, theirs, y) {
                    return None;
                }
                if link == Link::Amount && (names_in(&ours.items, a, x) || names_in(&theirs.items, b, y)) {
                    link = Link::Contrast;
                }
                // "small files …", "large files …": which thing is meant, not what is said of it.
                if link == Link::Opposite && a.subject.contains(&x) && b.subject.contains(&y) {
                    link = Link::Contrast;
                }
                let rank = match link {
                    Link::Same => 0,
                    Link::Opposite => 1,
                    Link::Contrast => 2,
                    Link::Alternative(_) => 3,
                    Link::Amount => 4,
                };
                (rank == wanted).then_some((j, y, link))
            });
            if let Some((j, y, link)) = found {
                if link == Link::Same && !right_done[j] {
                    out.shared += f32::midpoint(weight(&ours.items[x]), weight(&theirs.items[y]));
                }
                left_done[i] = true;
                right_done[j] = true;
                out.pairs.push(Pair { ours: x, theirs: y, link });
            }
        }
    }
    let rest = |items: &[Item], all: &[usize], done: &[bool]| {
        all.iter().zip(done).filter(|(_, done)| !**done).map(|(i, _)| weight(&items[*i])).sum()
    };
    out.our_rest = rest(&ours.items, &left, &left_done);
    out.their_rest = rest(&theirs.items, &right, &right_done);
    out
}

/// Why two clauses cannot both hold, and how surely.
#[derive(Clone, Debug)]
pub(crate) struct Opposition {
    pub(crate) rule: RuleId,
    /// 0 to 1.
    pub(crate) score: f32,
    /// Indexes of the clauses.
    pub(crate) clauses: (usize, usize),
    /// The items that oppose each other.
    pub(crate) ours: Vec<usize>,
    pub(crate) theirs: Vec<usize>,
    /// The figures behind the score.
    pub(crate) features: Vec<(&'static str, f32)>,
}

/// Whether the other statement says a negative clause too: then it does not contradict it.
fn echoed(ours: &Parsed, clause: &Clause, theirs: &Parsed) -> bool {
    clause.negative
        && theirs.clauses.iter().take(MAX_CLAUSES).any(|other| {
            other.negative && {
                let alignment = align(ours, clause, theirs, other);
                alignment.overlap() >= 0.7 && alignment.of(|l| l != Link::Same).next().is_none()
            }
        })
}

/// The strongest opposition between two statements.
pub(crate) fn oppose(ours: &Parsed, theirs: &Parsed) -> Option<Opposition> {
    let mut best: Option<Opposition> = None;
    // Entries of a list of settings or cases: each speaks of its own label.
    if !ours.label.is_empty() && !theirs.label.is_empty() && ours.label != theirs.label {
        return None;
    }
    if ours.place.is_disjoint(&theirs.place) || ours.window.is_disjoint(theirs.window) {
        return None;
    }
    if let Some(found) = super::oppose::swapped(ours, theirs) {
        return Some(found);
    }
    for (i, a) in ours.clauses.iter().take(MAX_CLAUSES).enumerate() {
        for (j, b) in theirs.clauses.iter().take(MAX_CLAUSES).enumerate() {
            let alignment = align(ours, a, theirs, b);
            if a.negative != b.negative && (echoed(ours, a, theirs) || echoed(theirs, b, ours)) {
                continue;
            }
            for mut found in super::oppose::rules(ours, a, theirs, b, &alignment) {
                found.clauses = (i, j);
                if best.as_ref().is_none_or(|b| found.score > b.score) {
                    best = Some(found);
                }
            }
        }
    }
    best
}
