//! Finds claims that replaced each other in a circle, for example because two writers kept opposite sides of one card and
//! neither had seen the other's act.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use super::{
    Contest,
    contest::{Lineage, of_members},
};
use crate::domain::id::ClaimId;

/// Maps each claim to its live successors.
type Graph = BTreeMap<ClaimId, Vec<ClaimId>>;

/// Finds the circles that can be reached from `from` along replacements.
///
/// A circle is a set of two or more claims that were replaced by each other, directly or through others of the set, and by
/// no claim outside it. So none of them is active, and no other claim has replaced them.
pub fn circles<L: Lineage>(from: impl IntoIterator<Item = ClaimId>, lineage: &L) -> Result<Vec<Contest>, L::Error> {
    let mut graph = Graph::new();
    let mut next: Vec<ClaimId> = from.into_iter().collect();
    while let Some(claim) = next.pop() {
        if let Entry::Vacant(new) = graph.entry(claim) {
            let successors = lineage.successors(&claim)?;
            next.extend(&successors);
            new.insert(successors);
        }
    }
    let mut found = Vec::new();
    for members in strongly_connected(&graph) {
        if members.iter().all(|claim| successors(&graph, claim).all(|next| members.contains(next))) {
            // `None` for a single claim.
            found.extend(of_members(members, lineage)?);
        }
    }
    Ok(found)
}

fn successors<'a>(graph: &'a Graph, claim: &ClaimId) -> impl Iterator<Item = &'a ClaimId> {
    graph.get(claim).into_iter().flatten()
}

/// Computes the strongly connected components of a graph, by Kosaraju's algorithm without recursion.
fn strongly_connected(graph: &Graph) -> Vec<BTreeSet<ClaimId>> {
    let mut finished = Vec::with_capacity(graph.len());
    let mut visited = BTreeSet::new();
    for root in graph.keys() {
        let mut stack = vec![(*root, false)];
        while let Some((claim, done)) = stack.pop() {
            if done {
                finished.push(claim);
            } else if visited.insert(claim) {
                stack.push((claim, true));
                stack.extend(successors(graph, &claim).map(|next| (*next, false)));
            }
        }
    }
    let mut predecessors = Graph::new();
    for (claim, next) in graph {
        for successor in next {
            predecessors.entry(*successor).or_default().push(*claim);
        }
    }
    let mut components = Vec::new();
    let mut assigned = BTreeSet::new();
    for root in finished.into_iter().rev() {
        let mut members = BTreeSet::new();
        let mut stack = vec![root];
        while let Some(claim) = stack.pop() {
            if assigned.insert(claim) {
                members.insert(claim);
                stack.extend(successors(&predecessors, &claim));
            }
        }
        if !members.is_empty() {
            components.push(members);
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use rstest::rstest;

    use super::*;
    use crate::domain::derive::LiveAct;

    /// Pairs of a replaced claim and its replacement.
    struct Replaced(Vec<(u8, u8)>);

    fn id(n: u8) -> ClaimId {
        crate::domain::EventId([n; 32])
    }

    impl Lineage for Replaced {
        type Error = Infallible;

        fn successors(&self, claim: &ClaimId) -> Result<Vec<ClaimId>, Infallible> {
            Ok(self.0.iter().filter(|(old, _)| id(*old) == *claim).map(|(_, new)| id(*new)).collect())
        }

        fn is_active(&self, claim: &ClaimId) -> Result<bool, Infallible> {
            Ok(self.successors(claim)?.is_empty())
        }

        fn live_acts(&self, _claim: &ClaimId) -> Result<Vec<LiveAct>, Infallible> {
            Ok(Vec::new())
        }

        fn is_settled(&self, one: &ClaimId, other: &ClaimId) -> Result<bool, Infallible> {
            Ok([*one, *other] == [id(8), id(9)])
        }
    }

    #[rstest]
    #[case::each_replaced_the_other(&[(1, 2), (2, 1)], vec![vec![1, 2]])]
    #[case::one_after_another(&[(1, 2), (2, 3), (3, 1)], vec![vec![1, 2, 3]])]
    #[case::a_third_gave_way_to_both(&[(1, 2), (2, 1), (3, 1), (3, 2)], vec![vec![1, 2]])]
    #[case::two_circles_side_by_side(&[(1, 2), (2, 1), (4, 5), (5, 4)], vec![vec![1, 2], vec![4, 5]])]
    #[case::two_circles_that_share_a_claim(&[(1, 2), (2, 1), (2, 3), (3, 2)], vec![vec![1, 2, 3]])]
    #[case::one_circle_leads_to_another(&[(1, 2), (2, 1), (2, 4), (4, 5), (5, 4)], vec![vec![4, 5]])]
    #[case::another_claim_took_the_place_of_one(&[(1, 2), (2, 1), (2, 3)], vec![])]
    #[case::a_line(&[(1, 2), (2, 3)], vec![])]
    #[case::a_fork(&[(1, 2), (1, 3)], vec![])]
    fn a_circle_is_found_if_nothing_took_the_place_of_its_claims(
        #[case] replaced: &[(u8, u8)],
        #[case] expected: Vec<Vec<u8>>,
    ) {
        let lineage = Replaced(replaced.to_vec());
        let Ok(found) = circles((1..6).map(id), &lineage);
        let mut found: Vec<Vec<u8>> =
            found.iter().map(|circle| circle.members.iter().map(|member| member.0[0]).collect()).collect();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_dismissal_of_the_pair_settles_the_circle() {
        let lineage = Replaced(vec![(1, 2), (2, 1), (8, 9), (9, 8)]);
        let Ok(found) = circles([id(1), id(9)], &lineage);
        let settled: Vec<bool> = found.iter().map(|circle| circle.settled).collect();
        assert_eq!(settled.iter().filter(|settled| **settled).count(), 1);
        assert_eq!(settled.len(), 2);
    }
}
