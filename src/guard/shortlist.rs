//! Selects the claims with which a new one is compared from those that the indexes found.
//!
//! Two rankings, by words and by meaning, are fused by reciprocal ranks: Cormack, Clarke, Büttcher, "Reciprocal Rank Fusion
//! outperforms Condorcet and individual rank learning methods", 2009.

use super::{NormedClaim, PairScores, judge};
use crate::domain::guard_report::Relation;

/// The maximum number of claims with which a new one is compared, by rules and by models.
pub const MAX_CANDIDATES: usize = 10;

/// The maximum number of ranked claims with common words. The others have few words in common.
pub const MAX_BY_WORDS: usize = 64;

/// The maximum number of ranked claims with similar vectors.
pub const MAX_BY_MEANING: usize = 10;

/// The constant of reciprocal rank fusion, as in the paper. It prevents the first few from outweighing all others.
const RANK_OFFSET: f32 = 60.0;

/// Returns the indexes in `found` of the claims to compare `incoming` with, the likeliest first, at most [`MAX_CANDIDATES`]. The
/// first `by_words` of `found` are ranked by common words; the cosines in `scores` rank by meaning. Claims whose norms contradict
/// those of `incoming` come first, so that a low rank never drops them.
pub fn shortlist(incoming: &NormedClaim, found: &[NormedClaim], by_words: usize, scores: &[PairScores]) -> Vec<usize> {
    let cosine = |at: usize| scores.get(at).and_then(|pair| pair.cosine);
    let mut near: Vec<(f32, usize)> = (0..found.len()).filter_map(|at| Some((cosine(at)?, at))).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let rank_score = |rank: usize| 1.0 / (RANK_OFFSET + 1.0 + rank as f32);
    let mut ranked: Vec<(bool, f32, usize)> = found
        .iter()
        .enumerate()
        .map(|(at, stored)| {
            let opposed = judge::strongest(&incoming.norms, &stored.norms)
                .is_some_and(|(comparison, ..)| comparison.relation == Relation::Contradiction);
            (opposed, if at < by_words { rank_score(at) } else { 0.0 }, at)
        })
        .collect();
    for (rank, (_, at)) in near.into_iter().take(MAX_BY_MEANING).enumerate() {
        ranked[at].1 += rank_score(rank);
    }
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    ranked.into_iter().take(MAX_CANDIDATES).map(|(.., at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Qualifiers, guard::Guard};

    fn new_claim(statement: &str) -> NormedClaim {
        let norms = Guard::default().normalise(statement, &Qualifiers::default()).norms;
        NormedClaim { statement: statement.to_owned(), norms, ..NormedClaim::default() }
    }

    fn near(cosines: &[Option<f32>]) -> Vec<PairScores> {
        cosines.iter().map(|cosine| PairScores { cosine: *cosine, ..PairScores::default() }).collect()
    }

    #[test]
    fn both_rankings_count() {
        let found: Vec<NormedClaim> = (0..20).map(|n| new_claim(&format!("Log lines of job {n} are short"))).collect();
        // Ten claims are found by words and ten by meaning alone; the last is the most similar, and the first is in both rankings.
        let mut scores: Vec<PairScores> = near(&[Some(0.1); 20]);
        scores[19].cosine = Some(0.9);
        scores[0].cosine = Some(0.8);
        let chosen = shortlist(&new_claim("Builds are cached"), &found, 10, &scores);
        assert_eq!(chosen.len(), MAX_CANDIDATES);
        assert_eq!(chosen[0], 0);
        assert!(chosen.contains(&19) && chosen.contains(&1), "{chosen:?}");
    }

    #[test]
    fn without_vectors_the_rank_by_words_counts() {
        let found: Vec<NormedClaim> = (0..30).map(|n| new_claim(&format!("Log lines of job {n} are short"))).collect();
        let chosen = shortlist(&new_claim("Builds are cached"), &found, 30, &[]);
        assert_eq!(chosen, (0..MAX_CANDIDATES).collect::<Vec<_>>());
    }

    #[test]
    fn claims_with_contradicting_norms_are_never_dropped() {
        let mut found: Vec<NormedClaim> =
            (0..MAX_BY_WORDS).map(|n| new_claim(&format!("The billing api logs case {n}"))).collect();
        found[MAX_BY_WORDS - 1] = new_claim("The billing api must use a blue canary");
        let chosen = shortlist(&new_claim("The billing api must use a red canary"), &found, MAX_BY_WORDS, &[]);
        assert_eq!((chosen[0], chosen.len()), (MAX_BY_WORDS - 1, MAX_CANDIDATES));
    }
}
