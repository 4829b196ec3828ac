//! The rules that find oppositions between two aligned clauses. Each returns a score; the thresholds are the judge's.

use std::borrow::Cow;

use super::{
    align::{Alignment, Opposition, Pair, WordRelation, measures_the_same, preposition_before, weight},
    amounts::{allow_the_same, is_limit},
    lexicon::lexicon,
    normalise::{
        Parsed,
        clause::Clause,
        cue::Cue,
        lexical_item::{Item, ItemKind},
        stated_scope::is_outside,
    },
};
use crate::domain::{guard_report::RuleId, norm::Modality};

/// Returns the oppositions that the rules find between two clauses.
pub(crate) fn rules(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> Vec<Opposition> {
    let mut out = Vec::new();
    if conditions_differ(ours, a, theirs, b) || is_excepted(ours, a, theirs, b) || is_excepted(theirs, b, ours, a) {
        return out;
    }
    // "Outside production" against "in production".
    let elsewhere = |pair: &Pair| is_outside(&ours.items, pair.ours) != is_outside(&theirs.items, pair.theirs);
    if alignment.of(|l| l == WordRelation::Same).any(elsewhere) {
        return out;
    }
    if a.negative != b.negative {
        out.extend(polarity(ours, a, theirs, b, alignment));
    } else if !a.negative {
        out.extend(opposites(ours, a, theirs, b, alignment));
        out.extend(alternatives(ours, a, theirs, b, alignment));
        out.extend(amounts(ours, a, theirs, b, alignment));
    }
    out
}

/// Returns 0 up to `low`, 1 from `high` on, and interpolates in between.
fn ramp(x: f32, low: f32, high: f32) -> f32 {
    ((x - low) / (high - low)).clamp(0.0, 1.0)
}

/// Finds "A rather than B" against "B rather than A".
pub(crate) fn swapped(ours: &Parsed, theirs: &Parsed) -> Option<Opposition> {
    let holds = |parsed: &Parsed, inner: &Clause, other: &Parsed, outer: &Clause| {
        !inner.core.is_empty()
            && inner.core.iter().all(|&x| {
                outer
                    .core
                    .iter()
                    .any(|&y| super::align::relation(&parsed.items[x], &other.items[y]) == Some(WordRelation::Same))
            })
    };
    for (i, a) in ours.clauses.iter().enumerate() {
        let Some(chosen_a) = a.chosen.and_then(|main| ours.clauses.get(main)) else { continue };
        for (j, b) in theirs.clauses.iter().enumerate() {
            let Some(chosen_b) = b.chosen.and_then(|main| theirs.clauses.get(main)) else { continue };
            if holds(ours, a, theirs, chosen_b)
                && holds(theirs, b, ours, chosen_a)
                && !holds(ours, a, theirs, b)
                && !has_contrast(&super::align::align(ours, chosen_a, theirs, chosen_b))
            {
                return Some(Opposition {
                    rule: RuleId::SwappedChoice,
                    score: 0.9,
                    clauses: (i, j),
                    ours: chosen_a.core.iter().chain(&a.stance).chain(&a.core).copied().collect(),
                    theirs: chosen_b.core.iter().chain(&b.stance).chain(&b.core).copied().collect(),
                    features: Vec::new(),
                });
            }
        }
    }
    None
}

/// Returns how much the shared words support a finding, 0 to 1. Few common words prove little.
fn support(alignment: &Alignment) -> f32 {
    let enough = (alignment.shared / 2.0).min(1.0);
    // If all other words are the same, a few generic ones are enough.
    let whole = alignment.our_rest < 0.01 && alignment.their_rest < 0.01 && alignment.shared >= 0.7;
    if whole { enough.max(0.8) } else { enough }
}

/// Returns whether both have different names before the same noun ("the Kafka transport", "the Redis transport"), so that they are about
/// two things of one kind.
fn name_rivals(ours: &Parsed, theirs: &Parsed, alignment: &Alignment) -> bool {
    let free = |parsed: &Parsed, at: usize, paired: &dyn Fn(&Pair) -> usize| {
        let before = at.checked_sub(1).and_then(|i| parsed.items.get(i))?;
        let named = before.is_content() && before.quantity.is_none() && before.weight >= 0.9;
        (named && !alignment.pairs.iter().any(|p| paired(p) == at - 1)).then_some(before.id)
    };
    alignment.of(|l| l == WordRelation::Same).any(|pair| {
        free(ours, pair.ours, &|p| p.ours).zip(free(theirs, pair.theirs, &|p| p.theirs)).is_some_and(|(x, y)| x != y)
    })
}

fn has_contrast(alignment: &Alignment) -> bool {
    alignment.of(|l| l == WordRelation::Contrast).next().is_some()
}

/// Returns whether both clauses have conditions and these differ.
fn conditions_differ(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause) -> bool {
    if a.conditions.is_empty() || b.conditions.is_empty() {
        return false;
    }
    let held = |xs: &Parsed, x: usize, ys: &Parsed, conditions: &[usize]| {
        conditions.iter().any(|&y| {
            let (x, y) = (&xs.items[x], &ys.items[y]);
            x.id == y.id && x.opposite == y.opposite
        })
    };
    let differ = |xs: &Parsed, x: &Clause, ys: &Parsed, y: &Clause| {
        let lacking: Vec<usize> = x.conditions.iter().copied().filter(|&at| !held(xs, at, ys, &y.conditions)).collect();
        lacking.len() * 4 > x.conditions.len() || lacking.iter().any(|&at| xs.items[at].code)
    };
    differ(ours, a, theirs, b) || differ(theirs, b, ours, a)
}

/// Returns whether a clause is about a case that the other one excepts: "do not use mocks except in integration tests", "use mocks
/// in integration tests".
fn is_excepted(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause) -> bool {
    let mentions = |at: &&usize| b.all().any(|other| theirs.items[other].id == ours.items[**at].id);
    let weigh = |at: &usize| weight(&ours.items[*at]);
    let all: f32 = a.exceptions.iter().map(weigh).sum();
    let shared: f32 = a.exceptions.iter().filter(mentions).map(weigh).sum();
    shared > 0.0 && shared * 2.0 >= all
}

/// Returns whether both clauses have a subject that the other does not mention.
fn subjects_differ(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause) -> bool {
    let head = |parsed: &Parsed, clause: &Clause, other: &Parsed, of: &Clause| {
        clause.head.filter(|head| clause.subject.contains(head)).is_some_and(|head| {
            let item = &parsed.items[head];
            !of.all().any(|at| other.items[at].id == item.id)
        })
    };
    head(ours, a, theirs, b) && head(theirs, b, ours, a)
}

/// Returns whether the polarity of a clause is unknown, because it has a negative word that is no cue ("remove", "omit", "frozen") and
/// has no counterpart in the other clause.
fn has_unmatched_negation(parsed: &Parsed, clause: &Clause, alignment: &Alignment, theirs: bool) -> bool {
    let last = clause.core.last().copied();
    clause.core.iter().any(|&at| {
        let item = &parsed.items[at];
        item.opposite
            && (item.operation || clause.verb == Some(at) || last == Some(at))
            && !alignment.pairs.iter().any(|p| if theirs { p.theirs == at } else { p.ours == at })
    })
}

/// Counts the words that limit a clause ("of the legacy repository", "in Makefiles") and have no counterpart.
pub(crate) fn count_limits(parsed: &Parsed, clause: &Clause, alignment: &Alignment, theirs: bool) -> usize {
    clause
        .all()
        .filter(|&at| {
            let item = &parsed.items[at];
            item.weight >= 0.9
                && item.quantity.is_none()
                && !alignment.pairs.iter().any(|p| if theirs { p.theirs == at } else { p.ours == at })
                && !beside_choice(alignment, at, theirs)
                && preposition_before(parsed, at).is_some_and(|word| {
                    matches!(
                        word,
                        "of" | "for" | "in" | "on" | "within" | "inside" | "under" | "during" | "at" | "from"
                    )
                })
        })
        .count()
}

/// Returns whether the word is in the phrase that names an alternative or an amount.
fn beside_choice(alignment: &Alignment, at: usize, theirs: bool) -> bool {
    alignment.pairs.iter().any(|p| {
        let chosen = if theirs { p.theirs } else { p.ours };
        matches!(p.relation, WordRelation::Alternative(_) | WordRelation::Amount) && chosen.abs_diff(at) <= 1
    })
}

/// Returns whether the word at `at` follows "as", and so names a role of something else.
fn is_role(parsed: &Parsed, at: usize) -> bool {
    preposition_before(parsed, at) == Some("as")
}

/// Returns the factor that lowers a score if one clause is more limited than the other, or if both are limited differently.
fn narrowing(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> f32 {
    let placed =
        if ours.stated_scope.is_one_sided(&theirs.stated_scope) || ours.window.is_open() != theirs.window.is_open() {
            0.45
        } else {
            1.0
        };
    placed
        * match (count_limits(ours, a, alignment, false) > 0, count_limits(theirs, b, alignment, true) > 0) {
            (false, false) => 1.0,
            (true, true) => 0.3,
            _ => 0.45,
        }
}

/// Returns the verb "use" of the positive clause if the negative one only names a thing, whose use it forbids: "no Kafka".
fn implied_verb(forbidding: &Parsed, negative: &Clause, other: &Parsed, positive: &Clause) -> Option<usize> {
    let verb = positive.verb.filter(|verb| negative.subject.is_empty() && other.items[*verb].key == "use")?;
    let lexicon = lexicon();
    // A verb that is forbidden has no ending: "mocks" in "no mocks" is a noun.
    let plural = |word: &str| word.ends_with('s') && !word.ends_with("ss");
    let is_verb = |at: usize| {
        let word = &forbidding.items[at].lower;
        !plural(word) && lexicon.is_verb(&lexicon.stem(word))
    };
    (!negative.verb.is_some_and(is_verb)).then_some(verb)
}

/// The maximum number of options of a list that are considered on each side of a word.
const MAX_OPTIONS: usize = 8;

/// Returns the options of a list joined by "or" or "nor" that contains the word at `at`: "Redis, Memcached or Valkey".
fn options(items: &[Item], at: usize) -> impl Iterator<Item = usize> {
    let joins =
        |at: &usize| items[*at].kind == ItemKind::Punct(',') || matches!(items[*at].lower.as_str(), "or" | "nor");
    let next = |at: usize| {
        (at + 1..items.len()).find(|at| !joins(at)).filter(|next| *next > at + 1 && items[*next].is_content())
    };
    let before =
        |at: usize| (0..at).rev().find(|at| !joins(at)).filter(|last| *last + 1 < at && items[*last].is_content());
    let first = std::iter::successors(Some(at), |at| before(*at)).take(MAX_OPTIONS).last().unwrap_or(at);
    let last = std::iter::successors(Some(at), |at| next(*at)).take(MAX_OPTIONS).last().unwrap_or(at);
    let joined = items[first..last].iter().any(|item| matches!(item.lower.as_str(), "or" | "nor"));
    (first..=last).filter(move |_| joined)
}

/// Finds that one clause forbids what the other states or allows.
fn polarity(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> Option<Opposition> {
    let (negative, positive, forbidding, flip) = if a.negative { (a, b, ours, false) } else { (b, a, theirs, true) };
    if has_contrast(alignment) || name_rivals(ours, theirs, alignment) {
        return None;
    }
    let strength = match (negative.modality, positive.modality) {
        (Modality::MayNot, Modality::Must) => 0.9,
        (Modality::MayNot, Modality::Should) => 0.6,
        (Modality::MayNot, _) => return None,
        (Modality::ShouldNot, Modality::May) => 0.7,
        // "Humans may …" against "do not …" is a permission for some.
        (_, Modality::May) if ours.stated_scope.is_one_sided(&theirs.stated_scope) => 0.45,
        _ => 1.0,
    };
    let side = |pair: &Pair| if flip { pair.theirs } else { pair.ours };
    let matched = |at: usize| alignment.pairs.iter().find(|pair| side(pair) == at).map(|pair| pair.relation);
    let mut turned = 0;
    let (mut covered, mut total) = (0.0, 0.0);
    let conditions = if negative.conditional { negative.context.as_slice() } else { &[] };
    for &at in negative.core.iter().chain(conditions) {
        let w = weight(&forbidding.items[at]);
        total += w;
        match matched(at) {
            Some(WordRelation::Same) => covered += w,
            Some(WordRelation::Opposite) => turned += 1,
            Some(WordRelation::Alternative(_)) => return None,
            // "Neither X nor Y" forbids each of the two.
            None if options(&forbidding.items, at).any(|other| matched(other) == Some(WordRelation::Same)) => {
                total -= w;
            }
            _ => {}
        }
    }
    if turned % 2 == 1 || total <= 0.0 {
        return None;
    }
    // "Use X as the name" and "do not use the name" have "name" in two roles.
    if alignment.of(|l| l == WordRelation::Same).any(|pair| {
        let core = if flip { b.core.contains(&pair.theirs) } else { a.core.contains(&pair.ours) };
        core && is_role(ours, pair.ours) != is_role(theirs, pair.theirs)
    }) {
        return None;
    }
    let coverage = covered / total;
    let (their_parsed, our_parsed) = (if flip { ours } else { theirs }, forbidding);
    let unmatched = |verb: &usize| !alignment.pairs.iter().any(|p| *verb == if flip { p.ours } else { p.theirs });
    let alignment = match implied_verb(our_parsed, negative, their_parsed, positive).filter(unmatched) {
        Some(verb) => {
            let mut alignment = alignment.clone();
            let implied = weight(&their_parsed.items[verb]);
            alignment.shared += implied;
            *if flip { &mut alignment.our_rest } else { &mut alignment.their_rest } -= implied;
            Cow::Owned(alignment)
        }
        None => Cow::Borrowed(alignment),
    };
    // "Not both" allows each of the two.
    if negative.both && !positive.both {
        return None;
    }
    if subjects_differ(our_parsed, negative, their_parsed, positive)
        || has_unmatched_negation(their_parsed, positive, &alignment, !flip)
    {
        return None;
    }
    let (mut subject, mut subject_total) = (0.0, 0.0);
    for &at in negative.subject.iter().chain(if negative.conditional { [].iter() } else { negative.context.iter() }) {
        let w = weight(&forbidding.items[at]);
        subject_total += w;
        if matched(at) == Some(WordRelation::Same) {
            subject += w;
        }
    }
    let subject = if subject_total > 0.0 { subject / subject_total } else { 1.0 };
    // "Rather than X" depends on its sentence, so both must have the same subject.
    let subject = if negative.contrast { ramp(subject, 0.3, 0.7) } else { subject };
    // "X is also forbidden" is about a further thing.
    let strength = if negative.also { 0.5 * strength } else { strength };
    let score = strength
        * if negative.contrast && subject < 0.5 { 0.5 } else { 1.0 }
        * ramp(coverage, 0.65, 0.9)
        * (0.4 + 0.6 * subject)
        * ramp(alignment.shared, 0.5, 2.0)
        * ramp(alignment.containment(), 0.5, 0.9)
        * ramp(alignment.overlap(), 0.15, 0.45);
    Some(Opposition {
        rule: RuleId::OpposingModality,
        score,
        clauses: (0, 0),
        ours: a.stance.iter().chain(&a.core).copied().collect(),
        theirs: b.stance.iter().chain(&b.core).copied().collect(),
        features: vec![
            ("coverage", coverage),
            ("subject", subject),
            ("shared", alignment.shared),
            ("containment", alignment.containment()),
            ("overlap", alignment.overlap()),
            ("strength", strength),
        ],
    })
}

fn from_pairs(
    rule: RuleId,
    score: f32,
    alignment: &Alignment,
    pairs: &[&Pair],
    more: &[(&'static str, f32)],
) -> Opposition {
    let mut features =
        vec![("shared", alignment.shared), ("containment", alignment.containment()), ("overlap", alignment.overlap())];
    features.extend_from_slice(more);
    Opposition {
        rule,
        score,
        clauses: (0, 0),
        ours: pairs.iter().map(|p| p.ours).collect(),
        theirs: pairs.iter().map(|p| p.theirs).collect(),
        features,
    }
}

/// Returns the words that a clause is about: its head, and its object with the preceding word.
fn heads(parsed: &Parsed, clause: &Clause) -> Vec<u64> {
    let beside = clause
        .object
        .and_then(|at| at.checked_sub(1))
        .filter(|at| clause.core.contains(at) && clause.verb != Some(*at));
    [clause.head, clause.object, beside].into_iter().flatten().map(|i| parsed.items[i].id).collect()
}

/// Returns whether the two clauses have a head in common.
fn same_head(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause) -> bool {
    let ours = heads(ours, a);
    heads(theirs, b).iter().any(|id| ours.contains(id))
}

/// Returns the noun that an adjective describes: the next word, or else the head of the clause.
fn described<'a>(parsed: &'a Parsed, clause: &Clause, at: usize) -> Option<&'a Item> {
    match parsed.items.get(at + 1) {
        Some(next) if next.kind == ItemKind::Content => Some(next),
        _ if clause.subject.contains(&at) => None,
        _ => match clause.head {
            // "Keep functions short."
            Some(head) if head == at => parsed.items.get(at.checked_sub(1)?).filter(|before| before.is_content()),
            head => parsed.items.get(head?),
        },
    }
}

/// Finds that both clauses require opposite things.
fn opposites(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> Option<Opposition> {
    let turned: Vec<&Pair> = alignment.of(|l| l == WordRelation::Opposite).collect();
    if turned.len() != 1 || has_contrast(alignment) || name_rivals(ours, theirs, alignment) {
        return None;
    }
    let head = same_head(ours, a, theirs, b);
    if turned.iter().any(|p| ours.items[p.ours].operation || theirs.items[p.theirs].operation) {
        return None;
    }
    let score = support(alignment)
        * ramp(alignment.containment(), 0.5, 0.95)
        * ramp(alignment.overlap(), 0.1, 0.4)
        * if head { 1.0 } else { 0.6 };
    // If one noun has opposite properties, the rest of the sentences does not matter.
    let noun = described(ours, a, turned[0].ours)
        .zip(described(theirs, b, turned[0].theirs))
        .is_some_and(|(x, y)| x.id == y.id && heads(ours, a).contains(&x.id) && heads(theirs, b).contains(&y.id));
    let verbal = a.imperative && a.verb == Some(turned[0].ours) || b.imperative && b.verb == Some(turned[0].theirs);
    let noun = noun && !verbal;
    let score = if noun && a.modality != Modality::May && b.modality != Modality::May {
        score.max(0.75 * narrowing(ours, a, theirs, b, alignment))
    } else {
        score
    };
    Some(from_pairs(RuleId::OpposedWords, score, alignment, &turned, &[("head", f32::from(head))]))
}

/// Finds that both clauses choose different members of a set of exclusive alternatives.
fn alternatives(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> Option<Opposition> {
    let chosen: Vec<&Pair> = alignment.of(|l| matches!(l, WordRelation::Alternative(_))).collect();
    if chosen.is_empty()
        || has_contrast(alignment)
        || name_rivals(ours, theirs, alignment)
        || alignment.of(|l| l == WordRelation::Opposite).next().is_some()
    {
        return None;
    }
    // A statement that names two members does not choose.
    let lists = |parsed: &Parsed, clause: &Clause, at: usize| {
        clause.all().any(|i| {
            i != at
                && parsed.items[i]
                    .alternative
                    .zip(parsed.items[at].alternative)
                    .is_some_and(|(x, y)| x.0 == y.0 && x.1 != y.1)
        })
    };
    if a.also || b.also || chosen.iter().any(|p| lists(ours, a, p.ours) || lists(theirs, b, p.theirs)) {
        return None;
    }
    // Allowing one member does not exclude the others, unless the other clause says so: "only on green CI".
    let excludes = |parsed: &Parsed, at: usize| {
        parsed.items[..at]
            .iter()
            .rev()
            .take(3)
            .take_while(|item| !item.is_content())
            .any(|item| item.cue() == Some(Cue::Only))
    };
    let allowed = a.modality == Modality::May && !chosen.iter().all(|p| excludes(theirs, p.theirs))
        || b.modality == Modality::May && !chosen.iter().all(|p| excludes(ours, p.ours));
    if allowed || a.is_open(&ours.items) || b.is_open(&theirs.items) {
        return None;
    }
    let head = same_head(ours, a, theirs, b);
    let score = support(alignment)
        * ramp(alignment.containment(), 0.5, 0.95)
        * ramp(alignment.overlap(), 0.1, 0.4)
        * if head { 1.0 } else { 0.8 }
        * narrowing(ours, a, theirs, b, alignment);
    Some(from_pairs(RuleId::ExclusiveAlternative, score, alignment, &chosen, &[("head", f32::from(head))]))
}

/// Finds that the clauses give different amounts of the same thing.
fn amounts(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> Option<Opposition> {
    let differing: Vec<&Pair> = alignment.of(|l| l == WordRelation::Amount).collect();
    if differing.is_empty()
        || has_contrast(alignment)
        || name_rivals(ours, theirs, alignment)
        || alignment.of(|l| l == WordRelation::Opposite).next().is_some()
    {
        return None;
    }
    let pair = differing[0];
    let limits = |parsed: &Parsed, clause: &Clause| clause.all().any(|at| is_limit(&parsed.items[at]));
    if !limits(ours, a) && !limits(theirs, b) && allow_the_same(&ours.items, pair.ours, &theirs.items, pair.theirs) {
        return None;
    }
    let unit = ours.items[pair.ours].quantity.as_ref().is_some_and(|q| !q.base.is_empty());
    let anchored = measures_the_same(ours, pair.ours, theirs, pair.theirs);
    if !unit && !anchored {
        return None;
    }
    let head = same_head(ours, a, theirs, b);
    let score = support(alignment)
        * ramp(alignment.containment(), 0.5, 0.95)
        * ramp(alignment.overlap(), 0.1, 0.4)
        * if head { 1.0 } else { 0.7 }
        * narrowing(ours, a, theirs, b, alignment);
    Some(from_pairs(
        RuleId::ValueConflict,
        score,
        alignment,
        &differing,
        &[("head", f32::from(head)), ("anchored", f32::from(anchored))],
    ))
}
