//! Chooses the claims to write into a file, by meaning, rank and domain, within a budget of tokens.

/// The weights of a score: similarity to the file's content, rank, whether the domain is one of the file's.
pub const WEIGHTS: [f64; 3] = [0.5, 0.3, 0.2];

/// A claim that may be written into a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NoteCandidate {
    /// The similarity of its meaning to that of the file, 0 to 1.
    pub meaning: f64,
    /// Its rank, 0 to 1.
    pub rank: f64,
    /// Whether its domain is one of the file's.
    pub in_domain: bool,
    /// Whether it contradicts the file. Conflicts are chosen before all others, so that nobody misses them.
    pub is_conflict: bool,
    /// Its length in tokens.
    pub tokens: usize,
}

impl NoteCandidate {
    /// Returns its weighted score, 0 to 1.
    pub fn score(&self) -> f64 {
        let parts = [self.meaning.clamp(0.0, 1.0), self.rank.clamp(0.0, 1.0), f64::from(self.in_domain)];
        WEIGHTS.iter().zip(parts).map(|(weight, part)| weight * part).sum()
    }
}

/// Returns the indexes of the chosen candidates, the best first, with at most `budget` tokens in total. A candidate that does not fit is
/// skipped.
pub fn choose(candidates: &[NoteCandidate], budget: usize) -> Vec<usize> {
    let mut order: Vec<(bool, f64, usize, usize)> =
        candidates.iter().enumerate().map(|(at, one)| (one.is_conflict, one.score(), one.tokens, at)).collect();
    // The sort is stable: equal candidates keep their order.
    order.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut left = budget;
    let mut chosen = Vec::new();
    for (_, _, tokens, at) in order {
        if tokens <= left {
            left -= tokens;
            chosen.push(at);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_meaning_then_rank_then_domain_and_conflicts_come_first() {
        let one = |meaning, rank, in_domain| NoteCandidate {
            meaning,
            rank,
            in_domain,
            tokens: 10,
            ..NoteCandidate::default()
        };
        let near = one(1.0, 0.0, false);
        assert!((near.score() - 0.5).abs() < 1e-9 && (one(0.0, 1.0, true).score() - 0.5).abs() < 1e-9);
        let mut all = vec![one(0.1, 0.2, false), one(0.9, 0.9, true), one(0.5, 0.5, true), near];
        assert_eq!(choose(&all, 25), [1, 2]);
        all[0].is_conflict = true;
        assert_eq!(choose(&all, 25), [0, 1]);
        all[0].tokens = 26;
        assert_eq!(choose(&all, 25), [1, 2], "what does not fit is passed over");
        assert!(choose(&all, 0).is_empty());
    }
}
