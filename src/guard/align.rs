//! Aligns the words of two clauses: finds shared, opposite and alternative words, and the strongest opposition.

use std::cell::OnceCell;

use super::{
    lexicon::{WordClass, lexicon},
    normalise::{
        Parsed,
        clause::Clause,
        lexical_item::{Item, ItemKind},
    },
};
use crate::domain::guard_report::RuleId;

/// The maximum number of clauses of one statement that are compared.
pub(crate) const MAX_CLAUSES: usize = 8;

/// The maximum number of words of one clause that are aligned. Each is compared with each word of the other clause.
const MAX_WORDS: usize = 256;

/// The sets of exclusive alternatives whose members can also say where something else holds.
const PLATFORM_SETS: &[&str] = &["language", "os", "shell"];

/// The relation between two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordRelation {
    /// The same word, or a synonym.
    Same,
    /// Antonyms.
    Opposite,
    /// Different members of this set of exclusive alternatives.
    Alternative(u16),
    /// Different amounts in one unit.
    Amount,
    /// Different things, places or times, so that the clauses are about different matters.
    Contrast,
}

impl WordRelation {
    /// Returns the order in which words are paired: a word with several related words is paired by the lowest rank.
    fn rank(self) -> u8 {
        match self {
            Self::Same => 0,
            Self::Opposite => 1,
            Self::Contrast => 2,
            Self::Alternative(_) => 3,
            Self::Amount => 4,
        }
    }
}

/// Returns whether `part` is the first component of the path or module `whole`, as `testing` is of `testing/quick`.
fn is_part(whole: &str, part: &str) -> bool {
    part.len() >= 4 && whole.strip_prefix(part).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the relation of `x` to `y`, or `None` if they are unrelated.
pub(crate) fn relation(x: &Item, y: &Item) -> Option<WordRelation> {
    if let (Some(a), Some(b)) = (&x.quantity, &y.quantity) {
        return if a.base != b.base {
            None
        } else if a.value == b.value {
            Some(WordRelation::Same)
        } else if a.number().zip(b.number()).is_some_and(|(a, b)| a.total_cmp(&b).is_eq()) {
            // "0.5" and "0.50" are one number, but two versions.
            None
        } else {
            Some(WordRelation::Amount)
        };
    }
    if x.kind == ItemKind::Number && y.kind == ItemKind::Number {
        // Days of events: that they differ proves nothing.
        return (x.id == y.id).then_some(WordRelation::Same);
    }
    if x.kind != ItemKind::Content || y.kind != ItemKind::Content {
        return None;
    }
    if x.id == y.id {
        // `URL` and `Url` are different identifiers: a rule about spelling may be about the difference.
        if x.code && y.code && x.surface != y.surface && x.lower == y.lower {
            return None;
        }
        return Some(if x.opposite == y.opposite {
            WordRelation::Same
        } else if x.code && y.code {
            WordRelation::Contrast
        } else {
            WordRelation::Opposite
        });
    }
    if (x.code || y.code) && (is_part(&x.lower, &y.lower) || is_part(&y.lower, &x.lower)) {
        return Some(WordRelation::Same);
    }
    if let (Some(a), Some(b)) = (x.contrast, y.contrast)
        && a.0 == b.0
        && a.1 != b.1
    {
        return Some(WordRelation::Contrast);
    }
    if let (Some(a), Some(b)) = (x.alternative, y.alternative)
        && a.0 == b.0
        && a.1 != b.1
    {
        return Some(WordRelation::Alternative(a.0));
    }
    None
}

/// Returns whether the number at `at` is a name, as in "RFC 2119".
pub(crate) fn names_something(items: &[Item], at: usize) -> bool {
    at.checked_sub(1).and_then(|i| items.get(i)).is_some_and(|before| {
        lexicon().class(WordClass::Numbered).contains(before.lower.trim_end_matches('s'))
            || before.lower.starts_with("rfc")
            || before.lower.starts_with('#')
    })
}

/// Returns whether the number at `at` is a name in this clause. Numbers also tell subjects of one kind apart ("service 0",
/// "service 1"), unless the noun is a property that has a value.
pub(crate) fn names_in(items: &[Item], clause: &Clause, at: usize) -> bool {
    let numbered =
        |before: &Item| before.kind == ItemKind::Content && !super::normalise::norms::is_attribute(&before.key);
    let bare = || items[at].quantity.as_ref().is_some_and(|quantity| quantity.base.is_empty());
    names_something(items, at)
        || clause.subject.contains(&at) && bare() && at.checked_sub(1).and_then(|i| items.get(i)).is_some_and(numbered)
}

/// Returns whether an item is a coined name of letters and digits, such as `s0x9`, `host3` or `k8s`.
fn is_coined(item: &Item) -> bool {
    item.kind == ItemKind::Content
        && item.lower.contains(|c: char| c.is_ascii_digit())
        && item.lower.contains(char::is_alphabetic)
}

/// Returns whether both words are coined names in the subjects of their clauses, so that the statements are about different things:
/// "service s0x9", "service s7x0". As a value, a coined name is a word like any other.
fn name_different_things(ours: &Parsed, a: &Clause, x: usize, theirs: &Parsed, b: &Clause, y: usize) -> bool {
    let (one, other) = (&ours.items[x], &theirs.items[y]);
    one.id != other.id && a.subject.contains(&x) && b.subject.contains(&y) && is_coined(one) && is_coined(other)
}

/// Returns the preposition before the phrase that contains the item at `at`.
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

/// Returns whether the item at `at` identifies the instance that a clause is about: "for service 1", "for w23", "in Go files".
fn identifies_instance(parsed: &Parsed, at: usize) -> bool {
    let item = &parsed.items[at];
    let Some(preposition) = preposition_before(parsed, at) else { return false };
    let before = at.checked_sub(1).and_then(|i| parsed.items.get(i));
    let numbered = item.quantity.as_ref().is_some_and(|quantity| quantity.base.is_empty())
        && before.is_some_and(|noun| {
            noun.kind == ItemKind::Content
                && !super::normalise::norms::is_attribute(&noun.key)
                && noun.quantity.is_none()
        });
    // "in Go files", but not "in Go", which chooses a language.
    let modifies = item.alternative.is_some()
        && parsed.items.get(at + 1).is_some_and(|next| next.kind == ItemKind::Content && next.alternative.is_none());
    match preposition {
        "for" => numbered || is_coined(item) || item.alternative.is_some(),
        "of" | "on" | "at" => numbered || is_coined(item) || modifies,
        "in" | "within" | "inside" | "under" => numbered || modifies,
        _ => false,
    }
}

/// Returns the items that identify the instance that a clause is about.
fn labels(parsed: &Parsed, clause: &Clause) -> Vec<usize> {
    let names = |at: &usize| {
        let item = &parsed.items[*at];
        is_coined(item) || item.quantity.is_some() && names_in(&parsed.items, clause, *at)
    };
    let mut labels: Vec<usize> = clause.subject.iter().copied().filter(names).collect();
    labels.extend(clause.core.iter().chain(&clause.context).copied().filter(|at| identifies_instance(parsed, *at)));
    labels
}

/// Returns the first clauses that identify an instance, with the items that do.
fn labelled(parsed: &Parsed) -> Vec<(&Clause, Vec<usize>)> {
    let all = parsed.clauses.iter().map(|clause| (clause, labels(parsed, clause)));
    all.filter(|(_, labels)| !labels.is_empty()).take(MAX_CLAUSES).collect()
}

/// Returns whether two statements are about different instances of one kind, which a number or a coined name identifies ("worker 3
/// runs on port 9003", "worker 4 runs on port 9004"), or about different named places ("use tabs in Go files", "use spaces in Python
/// files"). False if they say the same about both ("Node 18 is used", "Node 20 is used"): then the name is the value.
pub(crate) fn are_distinct_instances(ours: &Parsed, theirs: &Parsed) -> bool {
    let rest_of = |parsed: &Parsed, clause: &Clause, labels: &[usize]| -> Vec<(u64, bool)> {
        let rest = clause.core.iter().filter(|at| !labels.contains(at));
        rest.map(|at| (parsed.items[*at].id, parsed.items[*at].opposite)).collect()
    };
    let (ours_labelled, theirs_labelled) = (labelled(ours), labelled(theirs));
    !ours_labelled.is_empty()
        && !theirs_labelled.is_empty()
        && ours_labelled.iter().all(|(a, one)| {
            theirs_labelled.iter().all(|(b, other)| {
                let shared = |x: &usize| other.iter().any(|y| ours.items[*x].id == theirs.items[*y].id);
                !one.iter().any(shared)
                    && (a.negative != b.negative || rest_of(ours, a, one) != rest_of(theirs, b, other))
            })
        })
}

/// Returns whether one statement forbids one member of an exclusive set, and the other requires or allows a different one: "never deploy
/// on Fridays", "deploy on Thursdays".
pub(crate) fn forbids_another_member(ours: &Parsed, theirs: &Parsed) -> bool {
    let ([a], [b]) = (ours.clauses.as_slice(), theirs.clauses.as_slice()) else { return false };
    if a.negative == b.negative {
        return false;
    }
    let alignment = align(ours, a, theirs, b);
    let forbidden = |pair: &Pair| if a.negative { a.core.contains(&pair.ours) } else { b.core.contains(&pair.theirs) };
    alignment.of(|l| matches!(l, WordRelation::Alternative(_))).any(forbidden)
        && alignment.of(|l| l == WordRelation::Opposite).next().is_none()
}

/// Returns whether two adjacent statements of a document hold under different conditions: a rule and its exception, or limits
/// for two kinds of files.
pub(crate) fn hold_under_different_conditions(ours: &Parsed, theirs: &Parsed) -> bool {
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

/// A related pair of words, as indexes into the items of each statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) ours: usize,
    pub(crate) theirs: usize,
    pub(crate) relation: WordRelation,
}

/// The alignment of two clauses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alignment {
    /// The related words, each with its strongest relation.
    pub(crate) pairs: Vec<Pair>,
    /// The weight of the shared words.
    pub(crate) shared: f32,
    /// The weight of our words without a counterpart.
    pub(crate) our_rest: f32,
    /// The weight of their words without a counterpart.
    pub(crate) their_rest: f32,
}

impl Alignment {
    /// Returns the pairs with a certain relation.
    pub(crate) fn of(&self, relation: fn(WordRelation) -> bool) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(move |pair| relation(pair.relation))
    }

    /// Makes different platforms a contrast if the clauses differ in something else, too: "two spaces in TypeScript", "four
    /// spaces in Python".
    fn contrast_platforms(&mut self) {
        let is_platform = |pair: &Pair| matches!(pair.relation, WordRelation::Alternative(set) if PLATFORM_SETS.contains(&lexicon().set_name(set)));
        if self.pairs.iter().any(|pair| pair.relation != WordRelation::Same && !is_platform(pair)) {
            for pair in self.pairs.iter_mut().filter(|pair| is_platform(pair)) {
                pair.relation = WordRelation::Contrast;
            }
        }
    }

    /// Returns the shared weight as a share of the shorter clause.
    pub(crate) fn containment(&self) -> f32 {
        self.shared / (self.shared + self.our_rest.min(self.their_rest)).max(0.01)
    }

    /// Returns the shared weight as a share of both clauses together.
    pub(crate) fn overlap(&self) -> f32 {
        self.shared / (self.shared + self.our_rest + self.their_rest).max(0.01)
    }
}

/// Returns the weight of an item; code weighs more than prose.
pub(crate) fn weight(item: &Item) -> f32 {
    if item.code { item.weight.max(0.8) * 1.3 } else { item.weight }
}

/// Returns the content word next to the item at `at` in one direction, within its phrase.
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

/// Returns whether two numbers measure the same thing, by the word before or after each of them.
pub(crate) fn measures_the_same(ours: &Parsed, x: usize, theirs: &Parsed, y: usize) -> bool {
    let same = |step: isize| {
        anchor(ours, x, step)
            .zip(anchor(theirs, y, step))
            .is_some_and(|(x, y)| x.id == y.id && x.opposite == y.opposite)
    };
    same(-1) || same(1)
}

/// Returns the related words of two clauses as indexes into the two lists, the strongest relations first.
fn related_words(
    (ours, a, left): (&Parsed, &Clause, &[usize]),
    (theirs, b, right): (&Parsed, &Clause, &[usize]),
) -> Vec<(usize, usize, WordRelation)> {
    let amounts = |items: &[Item], all: &[usize]| all.iter().filter(|at| items[**at].quantity.is_some()).count();
    let several = amounts(&ours.items, left) > 1 || amounts(&theirs.items, right) > 1;
    let related = |x: usize, y: usize| {
        let apart = || name_different_things(ours, a, x, theirs, b, y).then_some(WordRelation::Contrast);
        match relation(&ours.items[x], &theirs.items[y]).or_else(apart)? {
            WordRelation::Amount if several && !measures_the_same(ours, x, theirs, y) => None,
            WordRelation::Amount if names_in(&ours.items, a, x) || names_in(&theirs.items, b, y) => {
                Some(WordRelation::Contrast)
            }
            // Opposites in subjects ("small files …", "large files …") identify different things and are no contradiction.
            WordRelation::Opposite if a.subject.contains(&x) && b.subject.contains(&y) => Some(WordRelation::Contrast),
            relation => Some(relation),
        }
    };
    let mut found = Vec::new();
    for (i, &x) in left.iter().enumerate() {
        found.extend(right.iter().enumerate().filter_map(|(j, &y)| Some((i, j, related(x, y)?))));
    }
    found.sort_by_key(|(.., relation)| relation.rank());
    found
}

/// Aligns the words of two clauses.
pub(crate) fn align(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause) -> Alignment {
    let words = |clause: &Clause| {
        let mut words: Vec<usize> = clause.all().take(MAX_WORDS).collect();
        words.sort_unstable();
        words.dedup();
        words
    };
    let (left, right) = (words(a), words(b));
    let related = related_words((ours, a, &left), (theirs, b, &right));
    let (same, differing) = related.split_at(related.partition_point(|(.., relation)| *relation == WordRelation::Same));
    let mut out = Alignment::default();
    let (mut left_done, mut right_done) = (vec![false; left.len()], vec![false; right.len()]);
    let mut first_same = vec![None; right.len()];
    for &(i, j, relation) in same {
        first_same[j].get_or_insert(i);
        if !left_done[i] {
            if !right_done[j] {
                out.shared += f32::midpoint(weight(&ours.items[left[i]]), weight(&theirs.items[right[j]]));
            }
            (left_done[i], right_done[j]) = (true, true);
            out.pairs.push(Pair { ours: left[i], theirs: right[j], relation });
        }
    }
    // If the other clause repeats a word, each occurrence is a counterpart.
    for (j, i) in first_same.into_iter().enumerate() {
        if let Some(i) = i.filter(|_| !right_done[j]) {
            right_done[j] = true;
            out.pairs.push(Pair { ours: left[i], theirs: right[j], relation: WordRelation::Same });
        }
    }
    for &(i, j, relation) in differing {
        if !left_done[i] && !right_done[j] {
            (left_done[i], right_done[j]) = (true, true);
            out.pairs.push(Pair { ours: left[i], theirs: right[j], relation });
        }
    }
    let rest = |items: &[Item], all: &[usize], done: &[bool]| {
        all.iter().zip(done).filter(|(_, done)| !**done).map(|(i, _)| weight(&items[*i])).sum()
    };
    out.our_rest = rest(&ours.items, &left, &left_done);
    out.their_rest = rest(&theirs.items, &right, &right_done);
    out.contrast_platforms();
    out
}

/// A contradiction between two clauses that one rule found.
#[derive(Clone, Debug)]
pub(crate) struct Opposition {
    pub(crate) rule: RuleId,
    /// Its strength, 0 to 1.
    pub(crate) score: f32,
    /// The indexes of both clauses.
    pub(crate) clauses: (usize, usize),
    /// The items that oppose each other.
    pub(crate) ours: Vec<usize>,
    pub(crate) theirs: Vec<usize>,
    /// The features behind the score.
    pub(crate) features: Vec<(&'static str, f32)>,
}

/// Returns whether the other statement repeats a negative clause, so that the statements do not contradict each other.
fn is_repeated_in(ours: &Parsed, clause: &Clause, theirs: &Parsed) -> bool {
    clause.negative
        && theirs.clauses.iter().take(MAX_CLAUSES).any(|other| {
            other.negative && {
                let alignment = align(ours, clause, theirs, other);
                alignment.overlap() >= 0.7 && alignment.of(|l| l != WordRelation::Same).next().is_none()
            }
        })
}

/// Returns the strongest opposition between two statements.
pub(crate) fn oppose(ours: &Parsed, theirs: &Parsed) -> Option<Opposition> {
    let mut best: Option<Opposition> = None;
    // Each entry of a list of settings or cases is about its own label.
    if !ours.label.is_empty() && !theirs.label.is_empty() && ours.label != theirs.label {
        return None;
    }
    if ours.stated_scope.is_disjoint(&theirs.stated_scope) || ours.window.is_disjoint(theirs.window) {
        return None;
    }
    if let Some(found) = super::oppose::swapped(ours, theirs) {
        return Some(found);
    }
    // Whether the other statement repeats a clause, computed at most once for each.
    let repeated: [[OnceCell<bool>; MAX_CLAUSES]; 2] = Default::default();
    for (i, a) in ours.clauses.iter().take(MAX_CLAUSES).enumerate() {
        for (j, b) in theirs.clauses.iter().take(MAX_CLAUSES).enumerate() {
            let alignment = align(ours, a, theirs, b);
            if a.negative != b.negative
                && (*repeated[0][i].get_or_init(|| is_repeated_in(ours, a, theirs))
                    || *repeated[1][j].get_or_init(|| is_repeated_in(theirs, b, ours)))
            {
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

#[cfg(test)]
mod tests {
    use super::{MAX_CLAUSES, MAX_WORDS, WordRelation, align, are_distinct_instances, labelled};
    use crate::guard::normalise::parse;

    #[test]
    fn the_words_that_are_aligned_do_not_grow_with_the_clause() {
        let ours = parse(&format!("Use the box {}", "b ".repeat(1_000)));
        let theirs = parse(&format!("Use the box {}", "c ".repeat(1_000)));
        let alignment = align(&ours, &ours.clauses[0], &theirs, &theirs.clauses[0]);
        assert!(!alignment.pairs.is_empty() && alignment.pairs.len() <= 2 * MAX_WORDS);
        // Each word weighs at most a little over one.
        assert!(alignment.our_rest <= 400.0, "{}", alignment.our_rest);
    }

    #[test]
    fn a_repeated_word_has_a_counterpart_each_time_but_counts_once() {
        let aligned = |theirs: &str| {
            let (ours, theirs) = (parse("Use Redis for the tickets"), parse(theirs));
            let alignment = align(&ours, &ours.clauses[0], &theirs, &theirs.clauses[0]);
            let same = alignment.of(|relation| relation == WordRelation::Same).count();
            (same, alignment.pairs.len() - same, alignment.shared, alignment.their_rest)
        };
        let (same, other, shared, rest) = aligned("Use Memcached for the tickets");
        assert_eq!((same, other, rest), (2, 1, 0.0));
        assert_eq!(aligned("Use Memcached for the tickets of the tickets"), (3, 1, shared, 0.0));
    }

    #[test]
    fn the_clauses_that_identify_instances_are_compared_up_to_a_limit() {
        let workers = |first: usize| {
            let sentences = (first..first + 40).map(|n| format!("Worker {n} runs on port {}. ", 9_000 + n));
            parse(&sentences.collect::<String>())
        };
        let (ours, theirs) = (workers(100), workers(200));
        assert!(ours.clauses.len() > MAX_CLAUSES);
        assert_eq!(labelled(&ours).len(), MAX_CLAUSES);
        assert!(are_distinct_instances(&ours, &theirs));
    }
}
