//! Scores how well a claim answers a question: by meaning, by common words, and by kind, age and state.

use std::collections::HashSet;

use super::{Question, fuse::idf};
use crate::domain::{ClaimKind, text};

/// The weight of all words of a question together, relative to a cosine of 1. Measured on the corpus in
/// tests/data/recall: see bench/recall-quality.md.
const WORDS_WEIGHT: f64 = 0.65;

/// The weight, 0 to 1, of the vector of statement and reason together against that of the statement alone. Values from 0.33 to 0.8 gave equally
/// good results.
const REASON_WEIGHT: f64 = 0.5;

/// The weight of a synonym, relative to the word itself.
const SYNONYM_WEIGHT: f64 = 0.8;

/// The minimum number of claims that is assumed for document frequencies, which say little in small scopes.
const MIN_CLAIMS: usize = 100;

/// The weight of the density of common words. It orders claims with equally many common words.
const DENSITY_WEIGHT: f64 = 0.04;

/// The cosine that is assumed for a claim without a vector: that of a related claim.
pub(super) const UNKNOWN_COSINE: f64 = 0.2;

/// The half-life of the recency weight, in milliseconds: a year.
const HALF_LIFE: f64 = 365.25 * 24.0 * 3600.0 * 1000.0;

/// The document frequencies of one term of a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermCounts {
    /// The number of claims that contain the term itself.
    pub own: usize,
    /// The number of claims that contain each of its synonyms.
    pub others: Vec<usize>,
}

/// A question with the weights of its terms.
#[derive(Clone, Debug)]
pub struct QuestionWeights<'a> {
    question: &'a Question,
    /// The weight of each term, and of each of its synonyms.
    terms: Vec<(f64, Vec<f64>)>,
    total: f64,
    unknown: f64,
}

/// A claim that may answer.
#[derive(Clone, Copy, Debug)]
pub struct RankedClaim<'a> {
    /// The statement.
    pub statement: &'a str,
    /// The reason.
    pub reason: Option<&'a str>,
    /// The source.
    pub source: Option<&'a str>,
    /// Its kind.
    pub kind: ClaimKind,
    /// When it was written, in milliseconds since the Unix epoch.
    pub at: u64,
    /// Whether one of its premises is no longer active.
    pub needs_review: bool,
    /// Whether its last day has passed.
    pub expired: bool,
    /// The cosine of its vector and the question's; `None` if it has none.
    pub cosine: Option<f32>,
    /// The cosine for statement and reason together.
    pub with_reason: Option<f32>,
}

/// The score of a claim for a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// The total, by which claims are ordered.
    pub total: f64,
    /// The part from meaning and words, which is compared with the floor.
    pub relevance: f64,
    /// The share of the question that the claim contains, weighted by inverse document frequency, 0 to 1.
    pub cover: f64,
    /// The weighted share of the question that consists of names missing in the claim, 0 to 1.
    pub names_lacked: f64,
    /// The indexes of the question's terms of which it contains the term or a synonym.
    pub found: Vec<usize>,
}

impl<'a> QuestionWeights<'a> {
    /// Weighs the terms of a question by their document frequencies among `claims` claims. `known` is in the order of the terms.
    pub fn new(question: &'a Question, claims: usize, known: &[TermCounts]) -> Self {
        let claims = claims.max(MIN_CLAIMS);
        let mut terms = Vec::with_capacity(question.terms.len());
        let mut unknown = 0.0;
        for (place, term) in question.terms.iter().enumerate() {
            let known = known.get(place).cloned().unwrap_or_default();
            let others: Vec<f64> =
                (0..term.others.len()).map(|at| idf(claims, known.others.get(at).copied().unwrap_or(0))).collect();
            // A word that no claim contains weighs as much as its rarest synonym, so that claims with that synonym are found.
            let rarest = known.others.iter().filter(|df| **df > 0).min().copied().unwrap_or(0);
            let own = idf(claims, if known.own > 0 { known.own } else { rarest });
            if known.own == 0 && rarest == 0 {
                unknown += own;
            }
            terms.push((own, others.into_iter().map(|other| other.min(own) * SYNONYM_WEIGHT).collect()));
        }
        let total: f64 = terms.iter().map(|(own, _)| own).sum();
        // Nothing can be known about a question without words.
        let unknown = if total > 0.0 { unknown / total } else { 1.0 };
        Self { question, terms, total, unknown }
    }

    /// Returns the share of the question, 0 to 1, whose words or synonyms no claim contains.
    pub fn unknown(&self) -> f64 {
        self.unknown
    }

    /// Returns the weight of each term, in order.
    pub fn own(&self) -> impl Iterator<Item = f64> {
        self.terms.iter().map(|(own, _)| *own)
    }

    /// Returns the weight of each synonym of a term.
    pub fn others(&self, term: usize) -> &[f64] {
        self.terms.get(term).map_or(&[], |(_, others)| others.as_slice())
    }

    /// Scores a claim at `now`, in milliseconds since the Unix epoch. `by_meaning` tells whether the question has a vector.
    pub fn score(&self, claim: &RankedClaim<'_>, by_meaning: bool, now: u64) -> Score {
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
                SYNONYM_WEIGHT * own * there as f64 / term.stems.len().max(1) as f64
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
        let relevance = WORDS_WEIGHT.mul_add(cover, meaning) + DENSITY_WEIGHT * density;
        Score { total: relevance + prior(claim, now), relevance, cover, names_lacked: share(lacked), found }
    }

    /// Returns the share of a statement's words that are in the question, 0 to 1. Of two claims with the same common words, the shorter one
    /// is more about them.
    fn density(&self, statement: &[String]) -> f64 {
        let asked = statement.iter().filter(|word| self.question.terms.iter().any(|term| term.stems.contains(word)));
        (asked.count() as f64 / statement.len().max(4) as f64).min(1.0)
    }
}

impl RankedClaim<'_> {
    /// Returns its similarity to the question: a weighted mean of the statement alone and with its reason.
    fn meaning(&self) -> f64 {
        let alone = self.cosine.map_or(UNKNOWN_COSINE, f64::from);
        self.with_reason.map_or(alone, |both| REASON_WEIGHT.mul_add(f64::from(both) - alone, alone))
    }
}

/// Returns the part of a score that depends on kind, age and state. It is small compared with differences of words or meaning.
fn prior(claim: &RankedClaim<'_>, now: u64) -> f64 {
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

    fn claim(statement: &'static str) -> RankedClaim<'static> {
        RankedClaim {
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

    fn known(question: &Question) -> Vec<TermCounts> {
        question.terms.iter().map(|term| TermCounts { own: 3, others: vec![3; term.others.len()] }).collect()
    }

    fn total(question: &str, claim: &RankedClaim<'_>) -> f64 {
        let question = Question::new(question, &Vocabulary::parse("message broker > kafka"));
        QuestionWeights::new(&question, 1000, &known(&question)).score(claim, claim.cosine.is_some(), NOW).total
    }

    #[test]
    fn with_equal_words_a_constraint_outranks_a_fact_and_a_new_claim_an_old_one() {
        let fact = claim("The port is 5432");
        let constraint = RankedClaim { kind: ClaimKind::Constraint, ..fact };
        let old = RankedClaim { at: 0, ..fact };
        let doubted = RankedClaim { needs_review: true, ..fact };
        let reasoned = RankedClaim { reason: Some("so it was"), ..fact };
        assert!(total("which port", &constraint) > total("which port", &fact));
        assert!(total("which port", &fact) > total("which port", &old));
        assert!(total("which port", &old) > total("which port", &doubted));
        assert!(total("which port", &reasoned) > total("which port", &fact));
    }

    #[test]
    fn kind_age_and_state_never_outweigh_a_word_of_the_question() {
        let worst = RankedClaim { at: 0, needs_review: true, expired: true, ..claim("The staging port is 5432") };
        let best = RankedClaim { kind: ClaimKind::Constraint, reason: Some("x"), ..claim("The port is 5432") };
        assert!(total("the staging port", &worst) > total("the staging port", &best));
    }

    #[test]
    fn a_synonym_weighs_less_than_the_word_itself() {
        let question = Question::new("Which message broker?", &Vocabulary::parse("message broker > kafka"));
        let weights = QuestionWeights::new(&question, 1000, &known(&question));
        let score = |statement| weights.score(&claim(statement), false, NOW);
        let (own, other) = (score("The message broker is old"), score("Events go through Kafka"));
        assert!(own.cover > other.cover && other.cover > 0.5);
        assert_eq!(other.found, [0]);
        assert_eq!(score("Doors are blue").found, Vec::<usize>::new());
    }

    #[test]
    fn a_question_about_the_reason_finds_the_claim() {
        let near = RankedClaim { cosine: Some(0.3), with_reason: Some(0.5), ..claim("Nothing in common") };
        let alone = RankedClaim { with_reason: None, ..near };
        let far = RankedClaim { with_reason: Some(0.2), ..near };
        let [near, alone, far] = [near, alone, far].map(|claim| total("other words entirely", &claim));
        assert!(near > alone && alone > far, "{near} {alone} {far}");
    }

    #[test]
    fn a_claim_without_a_vector_outranks_one_with_a_low_cosine() {
        let near = RankedClaim { cosine: Some(0.7), ..claim("Nothing in common") };
        let far = RankedClaim { cosine: Some(0.05), ..near };
        assert!(total("other words entirely", &near) > total("other words entirely", &far));
        let question = Question::new("other words", &Vocabulary::default());
        let weights = QuestionWeights::new(&question, 10, &known(&question));
        let without = weights.score(&claim("Nothing in common"), true, NOW).total;
        assert!(without > weights.score(&far, true, NOW).total);
    }
}
