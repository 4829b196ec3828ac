//! Finds the claims that need review: those that depend, directly or indirectly, on a premise that is no longer active.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::id::{ClaimId, EventId};

/// A claim on which another depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Premise {
    /// The premise.
    pub id: ClaimId,
    /// Empty while it is active; otherwise the live acts on it, or its own id if its creation was undone.
    pub broken_by: Vec<EventId>,
}

/// The premises of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PremisesOf {
    /// The premises.
    pub premises: Vec<Premise>,
    /// The causes that a reviewer has acknowledged for this claim.
    pub acknowledged: BTreeSet<EventId>,
}

/// Computes why each claim needs review: a set of events, empty for a claim that needs none.
///
/// `known` are the causes of premises that are not among `claims`. The causes of a claim are those of its premises and the
/// acts on these, except the acknowledged ones. The result is the least fixed point, so that premises in a circle do not
/// keep each other's causes alive.
pub fn causes(
    claims: &BTreeMap<ClaimId, PremisesOf>,
    known: &BTreeMap<ClaimId, BTreeSet<EventId>>,
) -> BTreeMap<ClaimId, BTreeSet<EventId>> {
    let mut dependents: BTreeMap<ClaimId, Vec<ClaimId>> = BTreeMap::new();
    for (claim, own) in claims {
        for premise in &own.premises {
            dependents.entry(premise.id).or_default().push(*claim);
        }
    }
    let mut causes: BTreeMap<ClaimId, BTreeSet<EventId>> =
        claims.keys().map(|claim| (*claim, BTreeSet::new())).collect();
    let mut next: Vec<ClaimId> = claims.keys().copied().collect();
    while let Some(claim) = next.pop() {
        let Some(own) = claims.get(&claim) else { continue };
        let mut found = BTreeSet::new();
        for premise in &own.premises {
            found.extend(premise.broken_by.iter().copied());
            if let Some(inherited) = causes.get(&premise.id).or_else(|| known.get(&premise.id)) {
                found.extend(inherited.iter().copied());
            }
        }
        found.retain(|cause| !own.acknowledged.contains(cause));
        if causes.get(&claim) != Some(&found) {
            causes.insert(claim, found);
            next.extend(dependents.get(&claim).into_iter().flatten());
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> EventId {
        EventId([n; 32])
    }

    fn rest(premises: &[(u8, &[u8])], acknowledged: &[u8]) -> PremisesOf {
        PremisesOf {
            premises: premises
                .iter()
                .map(|(n, broken)| Premise { id: id(*n), broken_by: broken.iter().map(|b| id(*b)).collect() })
                .collect(),
            acknowledged: acknowledged.iter().map(|n| id(*n)).collect(),
        }
    }

    fn found(claims: &[(u8, PremisesOf)], claim: u8) -> Vec<u8> {
        let claims = claims.iter().map(|(n, rest)| (id(*n), rest.clone())).collect();
        causes(&claims, &BTreeMap::new())[&id(claim)].iter().map(|cause| cause.0[0]).collect()
    }

    #[test]
    fn a_broken_premise_reaches_what_rests_on_what_rests_on_it() {
        let claims = [(2, rest(&[(1, &[9])], &[])), (3, rest(&[(2, &[])], &[]))];
        assert_eq!(found(&claims, 2), [9]);
        assert_eq!(found(&claims, 3), [9]);
    }

    #[test]
    fn an_acknowledged_cause_is_quiet_there_and_behind_it() {
        let claims = [(2, rest(&[(1, &[9, 8])], &[9])), (3, rest(&[(2, &[])], &[]))];
        assert_eq!(found(&claims, 2), [8]);
        assert_eq!(found(&claims, 3), [8]);
    }

    #[test]
    fn a_circle_holds_nothing_up_by_itself_and_passes_causes_round() {
        let quiet = [(2, rest(&[(3, &[])], &[])), (3, rest(&[(2, &[])], &[]))];
        assert_eq!(found(&quiet, 2), Vec::<u8>::new());
        let broken = [(2, rest(&[(3, &[]), (1, &[9])], &[])), (3, rest(&[(2, &[])], &[]))];
        assert_eq!(found(&broken, 3), [9]);
    }
}
