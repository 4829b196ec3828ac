//! The rules by which two aligned clauses oppose each other. Each gives a score; the judge holds the thresholds.

use super::{
    align::{Alignment, Link, Opposition, Pair, measures_the_same, preposition_before, weight},
    normalise::{
        Parsed,
        clause::Clause,
        cue::Cue,
        item::{Item, ItemKind},
    },
};
use crate::domain::{norm::Modality, verdict::RuleId};

/// Every rule that fires on a pair of clauses.
pub(crate) fn rules(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> Vec<Opposition> {
    let mut out = Vec::new();
    if other_conditions(ours, a, theirs, b) {
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

/// 0 up to `low`, 1 from `high` on, straight between.
fn ramp(x: f32, low: f32, high: f32) -> f32 {
    ((x - low) / (high - low)).clamp(0.0, 1.0)
}

/// "A rather than B" against "B rather than A".
pub(crate) fn swapped(ours: &Parsed, theirs: &Parsed) -> Option<Opposition> {
    let holds = |parsed: &Parsed, inner: &Clause, other: &Parsed, outer: &Clause| {
        !inner.core.is_empty()
            && inner.core.iter().all(|&x| {
                outer.core.iter().any(|&y| super::align::link(&parsed.items[x], &other.items[y]) == Some(Link::Same))
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

/// Saturating evidence: little shared weight proves little.
fn evidence(alignment: &Alignment) -> f32 {
    let enough = (alignment.shared / 2.0).min(1.0);
    // Where everything but the point at issue is the same, a few plain words are enough.
    let whole = alignment.our_rest < 0.01 && alignment.their_rest < 0.01 && alignment.shared >= 0.7;
    if whole { enough.max(0.8) } else { enough }
}

/// Whether both sides put different names before the same noun ("the Kafka transport", "the Redis transport"): two things of one kind.
fn has_rivals(ours: &Parsed, theirs: &Parsed, alignment: &Alignment) -> bool {
    let free = |parsed: &Parsed, at: usize, paired: &dyn Fn(&Pair) -> usize| {
        let before = at.checked_sub(1).and_then(|i| parsed.items.get(i))?;
        let named = before.is_content() && before.quantity.is_none() && before.weight >= 0.9;
        (named && !alignment.pairs.iter().any(|p| paired(p) == at - 1)).then_some(before.id)
    };
    alignment.of(|l| l == Link::Same).any(|pair| {
        free(ours, pair.ours, &|p| p.ours).zip(free(theirs, pair.theirs, &|p| p.theirs)).is_some_and(|(x, y)| x != y)
    })
}

fn has_contrast(alignment: &Alignment) -> bool {
    alignment.of(|l| l == Link::Contrast).next().is_some()
}

/// Whether both clauses stand under a condition, and the conditions are not the same.
fn other_conditions(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause) -> bool {
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

/// Whether both clauses name a subject, and each is unknown to the other.
fn alien_subjects(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause) -> bool {
    let head = |parsed: &Parsed, clause: &Clause, other: &Parsed, of: &Clause| {
        clause.head.filter(|head| clause.subject.contains(head)).is_some_and(|head| {
            let item = &parsed.items[head];
            !of.all().any(|at| other.items[at].id == item.id)
        })
    };
    head(ours, a, theirs, b) && head(theirs, b, ours, a)
}

/// Whether a clause says something negative without a cue ("remove", "omit", "frozen") that the other side has no counterpart of: then
/// its sign is not known.
fn takes_away(parsed: &Parsed, clause: &Clause, alignment: &Alignment, theirs: bool) -> bool {
    let last = clause.core.last().copied();
    clause.core.iter().any(|&at| {
        let item = &parsed.items[at];
        item.opposite
            && (item.operation || clause.verb == Some(at) || last == Some(at))
            && !alignment.pairs.iter().any(|p| if theirs { p.theirs == at } else { p.ours == at })
    })
}

/// How many words of a clause narrow where it holds ("of the legacy repository", "in Makefiles") without a counterpart.
fn narrowed(parsed: &Parsed, clause: &Clause, alignment: &Alignment, theirs: bool) -> usize {
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

/// Whether the word stands in the very phrase that names an alternative or an amount.
fn beside_choice(alignment: &Alignment, at: usize, theirs: bool) -> bool {
    alignment.pairs.iter().any(|p| {
        let chosen = if theirs { p.theirs } else { p.ours };
        matches!(p.link, Link::Alternative(_) | Link::Amount) && chosen.abs_diff(at) <= 1
    })
}

/// Whether the word at `at` stands in a phrase with "as": the role that something else takes.
fn is_role(parsed: &Parsed, at: usize) -> bool {
    preposition_before(parsed, at) == Some("as")
}

/// What is left of a score where one side speaks of a narrower thing, or each of its own.
fn narrowing(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> f32 {
    let placed = if ours.place.is_one_sided(&theirs.place) || ours.window.is_open() != theirs.window.is_open() {
        0.45
    } else {
        1.0
    };
    placed
        * match (narrowed(ours, a, alignment, false) > 0, narrowed(theirs, b, alignment, true) > 0) {
            (false, false) => 1.0,
            (true, true) => 0.3,
            _ => 0.45,
        }
}

/// One forbids what the other says or allows.
fn polarity(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> Option<Opposition> {
    let (negative, positive, forbidding, flip) = if a.negative { (a, b, ours, false) } else { (b, a, theirs, true) };
    if has_contrast(alignment) || has_rivals(ours, theirs, alignment) {
        return None;
    }
    let strength = match (negative.modality, positive.modality) {
        (Modality::MayNot, Modality::Must) => 0.9,
        (Modality::MayNot, Modality::Should) => 0.6,
        (Modality::MayNot, _) => return None,
        (Modality::ShouldNot, Modality::May) => 0.7,
        // "Humans may …" beside "do not …": leave for some.
        (_, Modality::May) if ours.place.is_one_sided(&theirs.place) => 0.45,
        _ => 1.0,
    };
    let side = |pair: &Pair| if flip { pair.theirs } else { pair.ours };
    let matched = |at: usize| alignment.pairs.iter().find(|pair| side(pair) == at).map(|pair| pair.link);
    let mut turned = 0;
    let (mut covered, mut total) = (0.0, 0.0);
    let conditions = if negative.conditional { negative.context.as_slice() } else { &[] };
    for &at in negative.core.iter().chain(conditions) {
        let w = weight(&forbidding.items[at]);
        total += w;
        match matched(at) {
            Some(Link::Same) => covered += w,
            Some(Link::Opposite) => turned += 1,
            Some(Link::Alternative(_)) => return None,
            _ => {}
        }
    }
    if turned % 2 == 1 || total <= 0.0 {
        return None;
    }
    // "Use X as the name" says what X becomes, "do not use the name" what is done with it: two roles of one word.
    if alignment.of(|l| l == Link::Same).any(|pair| {
        let core = if flip { b.core.contains(&pair.theirs) } else { a.core.contains(&pair.ours) };
        core && is_role(ours, pair.ours) != is_role(theirs, pair.theirs)
    }) {
        return None;
    }
    let coverage = covered / total;
    let (their_parsed, our_parsed) = (if flip { ours } else { theirs }, forbidding);
    // "Not both" leaves either.
    if negative.both && !positive.both {
        return None;
    }
    if alien_subjects(our_parsed, negative, their_parsed, positive)
        || takes_away(their_parsed, positive, alignment, !flip)
    {
        return None;
    }
    let (mut subject, mut subject_total) = (0.0, 0.0);
    for &at in negative.subject.iter().chain(if negative.conditional { [].iter() } else { negative.context.iter() }) {
        let w = weight(&forbidding.items[at]);
        subject_total += w;
        if matched(at) == Some(Link::Same) {
            subject += w;
        }
    }
    let subject = if subject_total > 0.0 { subject / subject_total } else { 1.0 };
    // "Rather than X" is said of the sentence around it: that must be the matter of both.
    let subject = if negative.contrast { ramp(subject, 0.3, 0.7) } else { subject };
    // "X is also forbidden" goes on with another thing.
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

/// The words that a clause is about: its head, and the head of its object with the word before a property said of it.
fn heads(parsed: &Parsed, clause: &Clause) -> Vec<u64> {
    let beside = clause
        .object
        .and_then(|at| at.checked_sub(1))
        .filter(|at| clause.core.contains(at) && clause.verb != Some(*at));
    [clause.head, clause.object, beside].into_iter().flatten().map(|i| parsed.items[i].id).collect()
}

/// Whether the heads of both clauses are the same word.
fn same_head(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause) -> bool {
    let ours = heads(ours, a);
    heads(theirs, b).iter().any(|id| ours.contains(id))
}

/// The noun that an adjective describes: the next word, or the head of the clause where nothing follows.
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

/// Both require, but opposite things.
fn opposites(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> Option<Opposition> {
    let turned: Vec<&Pair> = alignment.of(|l| l == Link::Opposite).collect();
    if turned.len() != 1 || has_contrast(alignment) || has_rivals(ours, theirs, alignment) {
        return None;
    }
    let head = same_head(ours, a, theirs, b);
    if turned.iter().any(|p| ours.items[p.ours].operation || theirs.items[p.theirs].operation) {
        return None;
    }
    let score = evidence(alignment)
        * ramp(alignment.containment(), 0.5, 0.95)
        * ramp(alignment.overlap(), 0.1, 0.4)
        * if head { 1.0 } else { 0.6 };
    // Opposite properties of one noun: the rest of the sentences need not agree.
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
    Some(from_pairs(RuleId::OpposedWords, score, alignment, &turned, &[("head", f32::from(u8::from(head)))]))
}

/// Both choose, but different members of a set of which only one is chosen.
fn alternatives(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> Option<Opposition> {
    let chosen: Vec<&Pair> = alignment.of(|l| matches!(l, Link::Alternative(_))).collect();
    if chosen.is_empty()
        || has_contrast(alignment)
        || has_rivals(ours, theirs, alignment)
        || alignment.of(|l| l == Link::Opposite).next().is_some()
    {
        return None;
    }
    // A statement that names two members itself makes no choice.
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
    // What is merely allowed leaves room for the rest, unless the other side says that nothing else is: "only on green CI".
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
    let score = evidence(alignment)
        * ramp(alignment.containment(), 0.5, 0.95)
        * ramp(alignment.overlap(), 0.1, 0.4)
        * if head { 1.0 } else { 0.8 }
        * narrowing(ours, a, theirs, b, alignment);
    Some(from_pairs(RuleId::ExclusiveAlternative, score, alignment, &chosen, &[("head", f32::from(u8::from(head)))]))
}

/// Both name an amount of the same thing, and the amounts differ.
fn amounts(ours: &Parsed, a: &Clause, theirs: &Parsed, b: &Clause, alignment: &Alignment) -> Option<Opposition> {
    let differing: Vec<&Pair> = alignment.of(|l| l == Link::Amount).collect();
    if differing.is_empty()
        || has_contrast(alignment)
        || has_rivals(ours, theirs, alignment)
        || alignment.of(|l| l == Link::Opposite).next().is_some()
    {
        return None;
    }
    let pair = differing[0];
    let unit = ours.items[pair.ours].quantity.as_ref().is_some_and(|q| !q.base.is_empty());
    let anchored = measures_the_same(ours, pair.ours, theirs, pair.theirs);
    if !unit && !anchored {
        return None;
    }
    let head = same_head(ours, a, theirs, b);
    let score = evidence(alignment)
        * ramp(alignment.containment(), 0.5, 0.95)
        * ramp(alignment.overlap(), 0.1, 0.4)
        * if head { 1.0 } else { 0.7 }
        * narrowing(ours, a, theirs, b, alignment);
    Some(from_pairs(
        RuleId::ValueConflict,
        score,
        alignment,
        &differing,
        &[("head", f32::from(u8::from(head))), ("anchored", f32::from(u8::from(anchored)))],
    ))
}
