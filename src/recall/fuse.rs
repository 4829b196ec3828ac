//! Fuses ranked lists into one.
//!
//! Reciprocal rank fusion: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
//! 2009. Inverse document frequency: Spärck Jones, "A statistical interpretation of term specificity and its application in retrieval", 1972.

use std::collections::HashMap;
use std::hash::Hash;

/// The constant of reciprocal rank fusion, as in the paper.
const RANK_OFFSET: f64 = 60.0;

/// Returns the inverse document frequency of a word that `df` of `claims` claims contain.
pub fn idf(claims: usize, df: usize) -> f64 {
    let (claims, df) = (claims.max(df) as f64, df as f64);
    (1.0 + (claims - df + 0.5) / (df + 0.5)).ln()
}

/// Fuses weighted lists by the sum of the weights of each item. The best item is first; among equals, the greater one.
pub fn by_weight<'a, T: Copy + Ord + Hash + 'a>(lists: impl IntoIterator<Item = (f64, &'a [T])>) -> Vec<(T, f64)> {
    let mut sums: HashMap<T, f64> = HashMap::new();
    for (weight, list) in lists {
        for item in list {
            *sums.entry(*item).or_default() += weight;
        }
    }
    ranked(sums)
}

/// Fuses lists by reciprocal ranks: an item at rank r, from 1, scores 1 / (60 + r) in each list. The best item is first; among equals, the
/// greater one.
pub fn reciprocal<'a, T: Copy + Ord + Hash + 'a>(lists: impl IntoIterator<Item = &'a [T]>) -> Vec<(T, f64)> {
    let mut sums: HashMap<T, f64> = HashMap::new();
    for list in lists {
        for (place, item) in list.iter().enumerate() {
            *sums.entry(*item).or_default() += 1.0 / (RANK_OFFSET + 1.0 + place as f64);
        }
    }
    ranked(sums)
}

fn ranked<T: Copy + Ord>(sums: HashMap<T, f64>) -> Vec<(T, f64)> {
    let mut all: Vec<(T, f64)> = sums.into_iter().collect();
    all.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rare_words_weigh_more() {
        assert!(idf(1000, 1) > idf(1000, 10) && idf(1000, 10) > idf(1000, 900));
        assert!(idf(10, 20) > 0.0 && idf(0, 0) > 0.0, "an estimate may exceed the number of claims");
    }

    #[test]
    fn a_high_rank_in_two_lists_beats_the_top_of_one() {
        let fused = reciprocal([&[1, 2][..], &[3, 2][..]]);
        assert_eq!(fused[0].0, 2);
        assert!((fused[0].1 - 2.0 / 62.0).abs() < 1e-12);
        assert_eq!(by_weight([(1.0, &[1, 2][..]), (0.5, &[2][..])]), [(2, 1.5), (1, 1.0)]);
    }

    proptest! {
        #[test]
        fn the_result_has_each_item_once(lists in prop::collection::vec(prop::collection::btree_set(0_u8..40, 0..20), 0..6)) {
            let lists: Vec<Vec<u8>> = lists.into_iter().map(|list| list.into_iter().collect()).collect();
            let mut fused: Vec<u8> = reciprocal(lists.iter().map(Vec::as_slice)).into_iter().map(|(item, _)| item).collect();
            let mut all: Vec<u8> = lists.concat();
            fused.sort_unstable();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(fused, all);
        }
    }
}
