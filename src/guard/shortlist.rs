//! Which of the claims that an index found a write is compared with.
//!
//! Two rankings, by words and by meaning, are fused by reciprocal ranks: Cormack, Clarke, Büttcher, "Reciprocal Rank Fusion
//! outperforms Condorcet and individual rank learning methods", 2009.

use super::{NormedClaim, PairScores, judge};
use crate::domain::verdict::Relation;

/// How many claims a write is compared with, at most: by the rules, and by models.
pub const MAX_CANDIDATES: usize = 10;

/// How many claims are ranked that share words with a write, at most. Beyond this the shared words are few.
pub const MAX_BY_WORDS: usize = 64;

/// How many claims are ranked that lie near a write in meaning, at most.
pub const MAX_BY_MEANING: usize = 10;

/// What is added to a rank, so that the first few do not outweigh all others: the value of the paper.
const SOFTENED: f32 = 60.0;

/// The places in `found` of the claims to compare `incoming` with, the likeliest first, at most [`MAX_CANDIDATES`]. The first
/// `by_words` of them come ranked by shared words; the cosines in `said` rank by meaning. Claims whose norms contradict those of
/// `incoming` come before all others, so that none of them is cut off for its rank.
pub fn shortlist(incoming: &NormedClaim, found: &[NormedClaim], by_words: usize, said: &[PairScores]) -> Vec<usize> {
    let cosine = |at: usize| said.get(at).and_then(|said| said.cosine);
    let mut near: Vec<(f32, usize)> = (0..found.len()).filter_map(|at| Some((cosine(at)?, at))).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let worth = |rank: usize| 1.0 / (SOFTENED + 1.0 + rank as f32);
    let mut ranked: Vec<(bool, f32, usize)> = found
        .iter()
        .enumerate()
        .map(|(at, candidate)| {
            let opposed = judge::strongest(&incoming.norms, &candidate.norms)
                .is_some_and(|(comparison, ..)| comparison.relation == Relation::Contradiction);
            (opposed, if at < by_words { worth(at) } else { 0.0 }, at)
        })
        .collect();
    for (rank, (_, at)) in near.into_iter().take(MAX_BY_MEANING).enumerate() {
        ranked[at].1 += worth(rank);
    }
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    ranked.into_iter().take(MAX_CANDIDATES).map(|(.., at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Qualifiers, guard::Guard};

    fn candidate(statement: &str) -> NormedClaim {
        let norms = Guard::default().normalise(statement, &Qualifiers::default()).norms;
        NormedClaim { statement: statement.to_owned(), norms, ..NormedClaim::default() }
    }

    fn near(cosines: &[Option<f32>]) -> Vec<PairScores> {
        cosines.iter().map(|cosine| PairScores { cosine: *cosine, ..PairScores::default() }).collect()
    }

    #[test]
    fn both_rankings_have_their_say() {
        let found: Vec<NormedClaim> = (0..20).map(|n| candidate(&format!("Log lines of job {n} are short"))).collect();
        // Ten by words, ten that only lie near; the last one nearest, the first of all in both.
        let mut said: Vec<PairScores> = near(&[Some(0.1); 20]);
        said[19].cosine = Some(0.9);
        said[0].cosine = Some(0.8);
        let chosen = shortlist(&candidate("Builds are cached"), &found, 10, &said);
        assert_eq!(chosen.len(), MAX_CANDIDATES);
        assert_eq!(chosen[0], 0);
        assert!(chosen.contains(&19) && chosen.contains(&1), "{chosen:?}");
    }

    #[test]
    fn without_vectors_the_rank_by_words_stands() {
        let found: Vec<NormedClaim> = (0..30).map(|n| candidate(&format!("Log lines of job {n} are short"))).collect();
        let chosen = shortlist(&candidate("Builds are cached"), &found, 30, &[]);
        assert_eq!(chosen, (0..MAX_CANDIDATES).collect::<Vec<_>>());
    }

    #[test]
    fn norms_that_contradict_are_never_cut_off_for_their_rank() {
        let mut found: Vec<NormedClaim> =
            (0..MAX_BY_WORDS).map(|n| candidate(&format!("The billing api logs case {n}"))).collect();
        found[MAX_BY_WORDS - 1] = candidate("The billing api must use a blue canary");
        let chosen = shortlist(&candidate("The billing api must use a red canary"), &found, MAX_BY_WORDS, &[]);
        assert_eq!((chosen[0], chosen.len()), (MAX_BY_WORDS - 1, MAX_CANDIDATES));
    }
}
