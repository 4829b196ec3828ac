//! The guard over a project in memory: candidates by shared subjects and terms, as the store's index gives them.

use std::time::{Duration, Instant};

use super::path::{Answer, GuardPath, Opposed};
use crate::{
    domain::{ClaimKind, Tier, claim::Qualifiers, norm::IndexTerms},
    guard::{Candidate, Guard, MAX_CANDIDATES},
};

struct Stored {
    candidate: Candidate,
    terms: IndexTerms,
    active: bool,
}

/// A project in memory.
pub(super) struct Memory {
    guard: Guard,
    stored: Vec<Stored>,
}

impl Memory {
    pub(super) fn new(guard: Guard) -> Self {
        Self { guard, stored: Vec::new() }
    }

    fn read(&self, kind: ClaimKind, statement: &str) -> Stored {
        let norms = self.guard.normalise_claim(kind, statement, &Qualifiers::default()).norms;
        let terms = Guard::index_terms(&norms, statement);
        Stored { candidate: Candidate { id: None, kind, statement: statement.to_owned(), norms }, terms, active: true }
    }

    /// The numbers of the active claims that share most with `terms`.
    fn candidates(&self, terms: &IndexTerms) -> Vec<usize> {
        let shared = |a: &[String], b: &[String]| a.iter().filter(|term| b.binary_search(term).is_ok()).count();
        let mut found: Vec<(usize, usize)> = self
            .stored
            .iter()
            .enumerate()
            .filter(|(_, stored)| stored.active)
            .map(|(number, stored)| {
                (
                    shared(&terms.terms, &stored.terms.terms) + 2 * shared(&terms.subjects, &stored.terms.subjects),
                    number,
                )
            })
            .filter(|(count, _)| *count > 0)
            .collect();
        found.sort_by(|a, b| b.cmp(a));
        found.into_iter().take(MAX_CANDIDATES).map(|(_, number)| number).collect()
    }

    fn compare(&self, stored: &Stored) -> Vec<Opposed> {
        let mut opposed: Vec<Opposed> = self
            .candidates(&stored.terms)
            .into_iter()
            .map(|number| {
                let ruling = self.guard.compare(&stored.candidate, &self.stored[number].candidate);
                Opposed {
                    number,
                    tier: ruling.tier,
                    score: ruling.score,
                    why: format!("{}: {}", ruling.evidence.rule, ruling.evidence.sentence),
                }
            })
            .filter(|opposed| opposed.score > 0.0)
            .collect();
        opposed.sort_by(|a, b| b.score.total_cmp(&a.score));
        opposed
    }
}

impl GuardPath for Memory {
    fn fresh(&mut self) {
        self.stored.clear();
    }

    fn write(&mut self, kind: ClaimKind, statement: &str) -> Answer {
        let start = Instant::now();
        let stored = self.read(kind, statement);
        let opposed = self.compare(&stored);
        let took = start.elapsed();
        self.stored.push(stored);
        Answer { opposed, took }
    }

    fn write_or_supersede(&mut self, statement: &str, _reason: &str) -> (bool, Duration) {
        let answer = self.write(ClaimKind::Decision, statement);
        let blocking: Vec<usize> = answer.opposed.iter().filter(|o| o.tier == Tier::Block).map(|o| o.number).collect();
        for number in &blocking {
            self.stored[*number].active = false;
        }
        (!blocking.is_empty(), answer.took)
    }

    fn answer(&mut self, question: &str) -> Option<String> {
        let asked = Guard::index_terms(&[], question).terms;
        self.stored
            .iter()
            .filter(|stored| stored.active)
            .enumerate()
            .map(|(number, stored)| {
                (asked.iter().filter(|t| stored.terms.terms.binary_search(t).is_ok()).count(), number, stored)
            })
            .max_by_key(|(shared, number, _)| (*shared, *number))
            .map(|(.., stored)| stored.candidate.statement.clone())
    }
}
