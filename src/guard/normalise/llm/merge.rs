//! Merges a language model's reading with the rules' norms.
//!
//! Only words of the statement count. The rules take precedence for what explicit words say (negation, permission, limits, numbers) and for
//! the writer's qualifiers. If the two differ otherwise, or only the model has a norm, the norm is marked as uncertain.

use super::{
    super::{
        Parsed,
        clause::Clause,
        norms::{self, Choice, MAX_NORMS},
        stated_scope,
    },
    reading::Reading,
};
use crate::{
    domain::{
        claim::Qualifiers,
        guard_report::Confidence,
        norm::{Modality, Norm, SubjectKind},
    },
    guard::lexicon::{WordClass, lexicon},
};

/// The maximum number of words of a value. A longer text is a description.
const MAX_VALUE: usize = 2;

/// Returns the norms of a statement, merged with a language model's reading. `known` tells whether claims of the scope have a
/// canonical subject.
pub(in crate::guard) fn merge_reading(
    parsed: &Parsed,
    qualifiers: &Qualifiers,
    reading: &Reading,
    known: &dyn Fn(&str) -> bool,
) -> Vec<Norm> {
    let ruled = norms::norms(parsed, qualifiers);
    if norms::is_no_statement(parsed) {
        return ruled;
    }
    let Some(subject) = &reading.subject else { return without_subject(parsed, ruled) };
    let clauses: Vec<Clause> = norms::stances(parsed).collect();
    let Some(clause) = clause_of(parsed, &clauses, subject, reading.value.as_deref()) else { return ruled };
    let mut frame = norms::frame(parsed, qualifiers);
    let narrowed = narrow(parsed, reading, &mut frame);
    let frame = frame;
    let by_rules = norms::framed(&frame, norms::norm(parsed, clause, &Choice::default()));
    let read = ClauseReading { parsed, clause, reading, known };
    let refined = read.refine(&by_rules);

    let mut out: Vec<Norm> = Vec::new();
    let add = |norm: Norm, out: &mut Vec<Norm>| {
        if !out.contains(&norm) && out.len() < MAX_NORMS {
            out.push(norm);
        }
    };
    for other in &clauses {
        if std::ptr::eq(other, clause) {
            for norm in &refined {
                add(norms::framed(&frame, norm.clone()), &mut out);
            }
        } else {
            add(norms::framed(&frame, norms::norm(parsed, other, &Choice::default())), &mut out);
        }
    }
    if narrowed {
        out.iter_mut().for_each(mark_uncertain);
    }
    out
}

/// Marks a norm as uncertain.
fn mark_uncertain(norm: &mut Norm) {
    norm.confidence = Some(Confidence::Med);
}

/// Returns the rules' norms if the model finds no subject: MISSING if the statement is only an idea, else FUZZY.
fn without_subject(parsed: &Parsed, mut ruled: Vec<Norm>) -> Vec<Norm> {
    let is_idea = parsed.items.iter().any(|item| {
        let stem = lexicon().stem(&item.lower);
        let ideas = lexicon().class(WordClass::Idea);
        ideas.contains(stem.as_str()) || ideas.contains(item.lower.as_str())
    });
    for norm in &mut ruled {
        norm.subject_kind = if is_idea { SubjectKind::Missing } else { SubjectKind::Fuzzy };
    }
    ruled
}

/// Adds the environment or team of the reading to the frame, if the statement names it and the frame has none. Returns whether it
/// added one.
fn narrow(parsed: &Parsed, reading: &Reading, frame: &mut Norm) -> bool {
    let mut narrowed = false;
    if frame.scope.env.is_none()
        && let Some(env) = reading.env.as_deref().map(norms::canonical_env)
        && parsed.stated_scope.envs.is_empty()
        && parsed
            .items
            .iter()
            .zip(stated_scope::left_out(&parsed.items, &parsed.clauses))
            .any(|(item, left_out)| !left_out && lexicon().environment(&item.lower) == Some(env.as_str()))
    {
        frame.scope.env = Some(env);
        narrowed = true;
    }
    if frame.scope.team.is_none()
        && let Some(team) = reading.team.as_deref()
        && !parsed.stated_scope.names_role()
        && let Some(role) = stated_scope::role(&team.to_lowercase())
        && parsed.items.iter().any(|item| stated_scope::role(&item.lower) == Some(role))
    {
        frame.scope.team = Some(role.to_owned());
        narrowed = true;
    }
    narrowed
}

/// Returns the items of a clause that match the words of a text by stem or synonym, in order; none if a word has no match.
fn named(parsed: &Parsed, clause: &Clause, text: &str) -> Vec<usize> {
    let mut all: Vec<usize> = clause.all().collect();
    all.sort_unstable();
    all.dedup();
    let mut found = Vec::new();
    for word in super::super::lex(text).iter().filter(|word| word.is_content()) {
        let there = |at: &&usize| {
            let item = &parsed.items[**at];
            item.id == word.id && item.opposite == word.opposite && !found.contains(*at)
        };
        match all.iter().find(there) {
            Some(at) => found.push(*at),
            None => return Vec::new(),
        }
    }
    found.sort_unstable();
    found
}

/// Returns the clause that a reading is about: the first that contains most of its words, and at least one.
fn clause_of<'a>(parsed: &Parsed, clauses: &'a [Clause], subject: &str, value: Option<&str>) -> Option<&'a Clause> {
    let shared = |clause: &Clause| {
        named(parsed, clause, subject).len() + value.map_or(0, |value| named(parsed, clause, value).len())
    };
    let best = clauses.iter().map(shared).max().filter(|most| *most > 0)?;
    clauses.iter().find(|clause| shared(clause) == best)
}

fn is_negative(modality: Modality) -> bool {
    matches!(modality, Modality::MustNot | Modality::ShouldNot)
}

fn releases(modality: Modality) -> bool {
    matches!(modality, Modality::May | Modality::MayNot)
}

/// A clause with the model's reading of it.
struct ClauseReading<'a> {
    parsed: &'a Parsed,
    clause: &'a Clause,
    reading: &'a Reading,
    known: &'a dyn Fn(&str) -> bool,
}

impl ClauseReading<'_> {
    /// Returns the norms of the clause, given the rules' norm.
    fn refine(&self, by_rules: &Norm) -> Vec<Norm> {
        let subject = named(self.parsed, self.clause, self.reading.subject.as_deref().unwrap_or_default());
        let value = self.value(&subject);
        let mut ruled = by_rules.clone();
        if self.differs_in_stance(by_rules) {
            mark_uncertain(&mut ruled);
        }
        let has = |at: &[usize]| at.iter().any(|at| self.key(*at) == by_rules.subject);
        if subject.is_empty() {
            // The reading uses words that the statement does not have.
            return vec![ruled];
        }
        if by_rules.subject_kind != SubjectKind::Present {
            return vec![self.alone(&subject, value.as_deref()).unwrap_or(ruled)];
        }
        if has(&subject) {
            return vec![self.with_value(ruled, value.as_deref(), &subject)];
        }
        if value.as_ref().is_some_and(|value| has(value)) {
            // The rules' subject is the model's value: both norms are kept.
            return std::iter::once(ruled).chain(self.alone(&subject, value.as_deref())).collect();
        }
        if let Some(norm) = self.alone(&subject, value.as_deref())
            && (self.known)(&norm.subject)
            && !(self.known)(&by_rules.subject)
        {
            return vec![norm];
        }
        mark_uncertain(&mut ruled);
        vec![ruled]
    }

    /// Returns the canonical key of an item, as in the subject of a norm.
    fn key(&self, at: usize) -> String {
        let item = &self.parsed.items[at];
        if item.opposite { format!("~{}", item.key) } else { item.key.clone() }
    }

    /// Returns whether the model reads another stance in a clause without a cue ("Redis is history") or a limit ("must not exceed 16").
    fn differs_in_stance(&self, by_rules: &Norm) -> bool {
        let read = self.reading.modality;
        self.clause.stance.is_empty()
            && by_rules.limit.is_none()
            && (is_negative(read) != is_negative(by_rules.modality) || releases(read) != releases(by_rules.modality))
    }

    /// Returns the norm with the model's subject and value and the rules' stance; `None` without a definite subject.
    fn alone(&self, subject: &[usize], value: Option<&[usize]>) -> Option<Norm> {
        // The last word of a phrase is its head: "acceptance tests".
        let known = subject.iter().find(|at| (self.known)(&self.key(**at)));
        let head = known.or(subject.last()).copied()?;
        let choice = Choice { head: Some(head), value: value.map(<[usize]>::to_vec) };
        let mut norm = norms::norm(self.parsed, self.clause, &choice);
        mark_uncertain(&mut norm);
        (norm.subject_kind == SubjectKind::Present).then_some(norm)
    }

    /// Returns the rules' norm, with the model's value if the rules found none.
    fn with_value(&self, mut ruled: Norm, value: Option<&[usize]>, subject: &[usize]) -> Norm {
        let Some(value) = value else { return ruled };
        if ruled.limit.is_some() {
            return ruled;
        }
        if let Some(stated) = &ruled.value {
            let same = value.iter().any(|at| {
                let item = &self.parsed.items[*at];
                let amount = item.quantity.as_ref().map(|quantity| quantity.value.as_str());
                stated.split_whitespace().any(|word| word == item.lower || word == item.key || Some(word) == amount)
            });
            if !same {
                mark_uncertain(&mut ruled);
            }
            return ruled;
        }
        let head = subject.iter().copied().find(|at| self.key(*at) == ruled.subject);
        let choice = Choice { head, value: Some(value.to_vec()) };
        let mut refined = norms::norm(self.parsed, self.clause, &choice);
        if refined.subject != ruled.subject {
            return ruled;
        }
        mark_uncertain(&mut refined);
        refined
    }

    /// Returns the items of the model's value: one or two adjacent words, none of them the subject, the verb, an amount or part of a
    /// list.
    fn value(&self, subject: &[usize]) -> Option<Vec<usize>> {
        let (items, clause) = (&self.parsed.items, self.clause);
        let value = named(self.parsed, clause, self.reading.value.as_deref()?);
        let (first, last) = (*value.first()?, *value.last()?);
        let fits = |at: &usize| {
            !subject.contains(at)
                && clause.verb != Some(*at)
                && items[*at].quantity.is_none()
                && !norms::is_attribute(&items[*at].key)
        };
        let together = items.get(first..=last)?.len() == value.len();
        // "X and Y", "X, Y": a list.
        let joins = |at: usize| {
            items.get(at).is_some_and(|i| matches!(i.lower.as_str(), "and" | "or" | "," | "/") || i.kind == COMMA)
        };
        let listed = joins(last + 1) || first.checked_sub(1).is_some_and(joins);
        (value.len() <= MAX_VALUE
            && together
            && !listed
            && value.iter().all(fits)
            && !clause.is_open(items)
            && !clause.also
            && !clause.both)
            .then_some(value)
    }
}

const COMMA: super::super::lexical_item::ItemKind = super::super::lexical_item::ItemKind::Punct(',');
