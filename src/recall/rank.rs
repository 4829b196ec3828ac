//! How well a claim answers: by meaning, by the words of the question that it speaks of, and by what is known of it.

use std::collections::HashSet;

use super::{Question, fuse::idf};
use crate::domain::{ClaimKind, text};

/// What all of a question's words weigh beside a cosine of 1. Measured on the corpus in tests/data/recall: see docs/recall.md.
const WORDS: f64 = 0.65;

/// What the vector of statement and reason together counts beside that of the statement alone, as a share: anything from a third to four fifths did as well.
const WITH_REASON: f64 = 0.5;

/// What a word of the vocabulary weighs beside the word that was asked for.
const OTHER: f64 = 0.8;

/// Words are weighed as if a scope had at least so many claims: among a handful, that a word is known says little.
const FEWEST: usize = 100;

/// What orders claims by words alone among those that have equally many: where and how often they have them.
const DENSITY: f64 = 0.04;

/// The cosine that is supposed where a claim has no vector yet: that of a claim about something near.
const UNKNOWN_COSINE: f64 = 0.2;

/// The age at which a claim's being recent counts half, in milliseconds: a year.
const HALF_LIFE: f64 = 365.25 * 24.0 * 3600.0 * 1000.0;

/// How many claims have the words of one of a question's terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// How many have the term itself.
    pub own: usize,
    /// How many have each of its others.
    pub others: Vec<usize>,
}

/// The terms of a question with their weights.
#[derive(Clone, Debug)]
pub struct Weights<'a> {
    question: &'a Question,
    /// Of each term itself, and of each of its others.
    terms: Vec<(f64, Vec<f64>)>,
    total: f64,
    unknown: f64,
}

/// A claim that may answer.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The statement.
    pub statement: &'a str,
    /// Why.
    pub reason: Option<&'a str>,
    /// Where it comes from.
    pub source: Option<&'a str>,
    /// Its kind.
    pub kind: ClaimKind,
    /// When it was written, in milliseconds since the Unix epoch.
    pub at: u64,
    /// A premise of it fell.
    pub needs_review: bool,
    /// The day until which it holds has passed.
    pub expired: bool,
    /// The cosine between its vector and the question's; `None` where it has none.
    pub cosine: Option<f32>,
    /// The same of statement and reason together.
    pub with_reason: Option<f32>,
}

/// How well a claim answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// By all that counts: the order of the answer.
    pub total: f64,
    /// By meaning and words alone, without what is known of the claim: what the floor is held against.
    pub match_: f64,
    /// The share of the question, weighed by how much each word tells, that it speaks of: 0 to 1.
    pub cover: f64,
    /// The share of the question, weighed likewise, that is names which it does not have itself: 0 to 1.
    pub names_lacked: f64,
    /// The terms of the question that it has, by their place; those found through the vocabulary too.
    pub found: Vec<usize>,
}

impl<'a> Weights<'a> {
    /// Weighs the terms of a question among so many claims. `known` is in the order of the terms.
    pub fn new(question: &'a Question, claims: usize, known: &[Known]) -> Self {
        let claims = claims.max(FEWEST);
        let mut terms = Vec::with_capacity(question.terms.len());
        let mut unknown = 0.0;
        for (place, term) in question.terms.iter().enumerate() {
            let known = known.get(place).cloned().unwrap_or_default();
            let others: Vec<f64> =
                (0..term.others.len()).map(|at| idf(claims, known.others.get(at).copied().unwrap_or(0))).collect();
            // A word that no claim has weighs as much as the rarest that stands for it: how else should it be found?
            let rarest = known.others.iter().filter(|df| **df > 0).min().copied().unwrap_or(0);
            let own = idf(claims, if known.own > 0 { known.own } else { rarest });
            if known.own == 0 && rarest == 0 {
                unknown += own;
            }
            terms.push((own, others.into_iter().map(|other| other.min(own) * OTHER).collect()));
        }
        let total: f64 = terms.iter().map(|(own, _)| own).sum();
        // A question without a word says nothing that could be known.
        let unknown = if total > 0.0 { unknown / total } else { 1.0 };
        Self { question, terms, total, unknown }
    }

    /// The share of the question, 0 to 1, whose words no claim has, nor any that stands for them.
    pub fn unknown(&self) -> f64 {
        self.unknown
    }

    /// How much each term weighs, in their order.
    pub fn own(&self) -> impl Iterator<Item = f64> {
        self.terms.iter().map(|(own, _)| *own)
    }

    /// How much each of a term's others weighs.
    pub fn others(&self, term: usize) -> &[f64] {
        self.terms.get(term).map_or(&[], |(_, others)| others.as_slice())
    }

    /// How well a claim answers at `now`, in milliseconds since the Unix epoch. `by_meaning`: the question has a vector.
    pub fn score(&self, claim: &Candidate<'_>, by_meaning: bool, now: u64) -> Score {
        let statement = text::stems(claim.statement);
        let reason = claim.reason.map(text::stems).unwrap_or_default();
        let source = claim.source.map(text::stems).unwrap_or_default();
        let words: HashSet<&str> = statement.iter().chain(&reason).chain(&source).map(String::as_str).collect();
        let (mut sum, mut lacked, mut found) = (0.0, 0.0, Vec::new());
        for (place, (term, (own, others))) in self.question.terms.iter().zip(&self.terms).enumerate() {
            let has = |stems: &[String]| stems.iter().filter(|stem| words.contains(stem.as_str())).count();
            let there = has(&term.stems);
            if term.name && there < term.stems.len() {
                lacked += own;
            }
            let mut best = if there == term.stems.len() {
                *own
            } else {
                OTHER * own * there as f64 / term.stems.len().max(1) as f64
            };
            for (other, weight) in term.others.iter().zip(others) {
                if *weight > best && has(other) == other.len() {
                    best = *weight;
                }
            }
            if best > 0.0 {
                sum += best;
                found.push(place);
            }
        }
        let share = |part: f64| if self.total > 0.0 { part / self.total } else { 0.0 };
        let cover = share(sum);
        let density = self.density(&statement);
        let meaning = if by_meaning { claim.meaning() } else { 0.0 };
        let match_ = WORDS.mul_add(cover, meaning) + DENSITY * density;
        Score { total: match_ + standing(claim, now), match_, cover, names_lacked: share(lacked), found }
    }

    /// The share of a statement's words that were asked for, 0 to 1: of two claims that have the same words, the shorter one is about them.
    fn density(&self, statement: &[String]) -> f64 {
        let asked = statement.iter().filter(|word| self.question.terms.iter().any(|term| term.stems.contains(word)));
        (asked.count() as f64 / statement.len().max(4) as f64).min(1.0)
    }
}

impl Candidate<'_> {
    /// How near it is to the question: as a statement, and with its reason.
    fn meaning(&self) -> f64 {
        let alone = self.cosine.map_or(UNKNOWN_COSINE, f64::from);
        self.with_reason.map_or(alone, |both| WITH_REASON.mul_add(f64::from(both) - alone, alone))
    }
}

/// What is known of a claim besides its words: small beside any difference of words or meaning.
fn standing(claim: &Candidate<'_>, now: u64) -> f64 {
    let kind = match claim.kind {
        ClaimKind::Constraint => 0.012,
        ClaimKind::Decision => 0.010,
        ClaimKind::Rejection | ClaimKind::Convention => 0.008,
        ClaimKind::Fact => 0.0,
    };
    let age = now.saturating_sub(claim.at) as f64;
    let recency = 0.01 * (-age / HALF_LIFE).exp2();
    let reasoned = if claim.reason.is_some_and(|reason| !reason.trim().is_empty()) { 0.005 } else { 0.0 };
    let doubted = if claim.needs_review { 0.02 } else { 0.0 } + if claim.expired { 0.03 } else { 0.0 };
    kind + recency + reasoned - doubted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::Vocabulary;

    const NOW: u64 = 1_800_000_000_000;

    fn claim(statement: &'static str) -> Candidate<'static> {
        Candidate {
            statement,
            reason: None,
            source: None,
            kind: ClaimKind::Fact,
            at: NOW,
            needs_review: false,
            expired: false,
            cosine: None,
            with_reason: None,
        }
    }

    fn known(question: &Question) -> Vec<Known> {
        question.terms.iter().map(|term| Known { own: 3, others: vec![3; term.others.len()] }).collect()
    }

    fn total(question: &str, claim: &Candidate<'_>) -> f64 {
        let question = Question::new(question, &Vocabulary::parse("message broker > kafka"));
        Weights::new(&question, 1000, &known(&question)).score(claim, claim.cosine.is_some(), NOW).total
    }

    #[test]
    fn at_equal_words_a_constraint_outranks_a_fact_and_the_new_the_old() {
        let fact = claim("The port is 5432");
        let constraint = Candidate { kind: ClaimKind::Constraint, ..fact };
        let old = Candidate { at: 0, ..fact };
        let doubted = Candidate { needs_review: true, ..fact };
        let reasoned = Candidate { reason: Some("so it was"), ..fact };
        assert!(total("which port", &constraint) > total("which port", &fact));
        assert!(total("which port", &fact) > total("which port", &old));
        assert!(total("which port", &old) > total("which port", &doubted));
        assert!(total("which port", &reasoned) > total("which port", &fact));
    }

    #[test]
    fn what_is_known_of_a_claim_never_outweighs_a_word_of_the_question() {
        let worst = Candidate { at: 0, needs_review: true, expired: true, ..claim("The staging port is 5432") };
        let best = Candidate { kind: ClaimKind::Constraint, reason: Some("x"), ..claim("The port is 5432") };
        assert!(total("the staging port", &worst) > total("the staging port", &best));
    }

    #[test]
    fn the_vocabulary_finds_less_than_the_word_itself() {
        let question = Question::new("Which message broker?", &Vocabulary::parse("message broker > kafka"));
        let weights = Weights::new(&question, 1000, &known(&question));
        let score = |statement| weights.score(&claim(statement), false, NOW);
        let (own, other) = (score("The message broker is old"), score("Events go through Kafka"));
        assert!(own.cover > other.cover && other.cover > 0.5);
        assert_eq!(other.found, [0]);
        assert_eq!(score("Doors are blue").found, Vec::<usize>::new());
    }

    #[test]
    fn a_question_about_the_reason_finds_the_claim() {
        let near = Candidate { cosine: Some(0.3), with_reason: Some(0.5), ..claim("Nothing in common") };
        let alone = Candidate { with_reason: None, ..near };
        let far = Candidate { with_reason: Some(0.2), ..near };
        let [near, alone, far] = [near, alone, far].map(|claim| total("other words entirely", &claim));
        assert!(near > alone && alone > far, "{near} {alone} {far}");
    }

    #[test]
    fn meaning_counts_where_there_is_a_vector_and_a_claim_without_one_is_not_lost() {
        let near = Candidate { cosine: Some(0.7), ..claim("Nothing in common") };
        let far = Candidate { cosine: Some(0.05), ..near };
        assert!(total("other words entirely", &near) > total("other words entirely", &far));
        let question = Question::new("other words", &Vocabulary::default());
        let weights = Weights::new(&question, 10, &known(&question));
        let without = weights.score(&claim("Nothing in common"), true, NOW).total;
        assert!(without > weights.score(&far, true, NOW).total);
    }
}
