//! The queries of the store for the words of a question, and their result lists.

use std::collections::HashMap;

use crate::{
    recall::{
        Question,
        rerank::{QuestionWeights, TermCounts},
    },
    store::{RowNumber, WordLists, WordQuery},
};

/// The greatest number of claims that are read for one word of the question.
const MAX_PER_WORD: usize = 1000;
/// The greatest number of claims that are read for a word that stands for one of the question.
const MAX_PER_OTHER: usize = 200;

/// The queries for one question, and which of their result lists belongs to which term.
pub(super) struct Queries {
    pub(super) all: Vec<WordQuery>,
    /// For each term: the index of its own list.
    pub(super) own: Vec<usize>,
    /// For each term: the indices of the lists of the words that stand for it.
    others: Vec<Vec<usize>>,
    /// The terms of each sub-query; a claim must contain all of them.
    term_groups: Vec<Vec<usize>>,
}

impl Queries {
    pub(super) fn of(question: &Question) -> Self {
        let mut all = Vec::new();
        let mut add = |stems: &[String], limit| {
            all.push(WordQuery { stems: stems.to_vec(), limit });
            all.len() - 1
        };
        let own = question.terms.iter().map(|term| add(&term.stems, MAX_PER_WORD)).collect();
        let others = question
            .terms
            .iter()
            .map(|term| term.others.iter().map(|other| add(other, MAX_PER_OTHER)).collect())
            .collect();
        Self { all, own, others, term_groups: question.adjacent().to_vec() }
    }

    pub(super) fn known(&self, question: &Question, lists: &WordLists) -> Vec<TermCounts> {
        let claims = |at: &usize| lists.lists.get(*at).map_or(0, |list| list.claims);
        let known = |place: usize| TermCounts {
            own: self.own.get(place).map_or(0, claims),
            others: self.others.get(place).map_or_else(Vec::new, |others| others.iter().map(claims).collect()),
        };
        (0..question.terms.len()).map(known).collect()
    }

    /// Returns every list with the weight of its word.
    pub(super) fn weighed<'a>(
        &'a self,
        lists: &'a WordLists,
        weights: &'a QuestionWeights<'_>,
    ) -> Vec<(f64, &'a [RowNumber])> {
        let list = |at: usize| lists.lists.get(at).map_or(&[][..], |list| list.spots.as_slice());
        let mut all: Vec<(f64, &[RowNumber])> =
            self.own.iter().zip(weights.own()).map(|(at, own)| (own, list(*at))).collect();
        for (term, others) in self.others.iter().enumerate() {
            all.extend(others.iter().zip(weights.others(term)).map(|(at, other)| (*other, list(*at))));
        }
        // The queries for whole sub-queries add claims that the truncated lists of the single words lack.
        let further = lists.lists.iter().skip(self.all.len());
        all.extend(further.map(|list| (0.0, list.spots.as_slice())));
        all
    }

    /// Returns, for each sub-query, the claims that contain all of its terms.
    pub(super) fn sub_lists(&self, lists: &WordLists) -> Vec<Vec<RowNumber>> {
        let own = |place: &usize| self.own.get(*place).and_then(|at| lists.lists.get(*at));
        let mut all: Vec<Vec<RowNumber>> = Vec::new();
        for places in &self.term_groups {
            let mut counts: HashMap<RowNumber, usize> = HashMap::new();
            for spot in places.iter().filter_map(own).flat_map(|list| &list.spots) {
                *counts.entry(*spot).or_default() += 1;
            }
            all.push(counts.into_iter().filter(|(_, count)| *count == places.len()).map(|(spot, _)| spot).collect());
        }
        all.extend(lists.lists.iter().skip(self.all.len()).map(|list| list.spots.clone()));
        all
    }
}
