//! Finds contested claims: those that were replaced, or facts that were set, more than once by writers who had not seen
//! each other's act.

use std::collections::BTreeSet;

use super::{
    claim_state::{ClaimState, LiveAct},
    pairs, understood,
};
use crate::domain::{
    event::{EventKind, Header},
    id::ClaimId,
};

/// Access to the successors of claims, for a walk along replacements.
pub trait Lineage {
    /// The error of a read.
    type Error;

    /// Returns the claims that replaced a claim by live acts.
    fn successors(&self, claim: &ClaimId) -> Result<Vec<ClaimId>, Self::Error>;

    /// Returns whether a claim is active; false if it is unknown.
    fn is_active(&self, claim: &ClaimId) -> Result<bool, Self::Error>;

    /// Returns the acts because of which a claim is not active; none if it is unknown.
    fn live_acts(&self, claim: &ClaimId) -> Result<Vec<LiveAct>, Self::Error>;

    /// Returns whether an exception or a dismissal has settled this pair.
    fn is_settled(&self, one: &ClaimId, other: &ClaimId) -> Result<bool, Self::Error>;
}

/// Claims from which a person has to choose, because writers replaced or withdrew them without having seen each other's act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    /// The claims, sorted by id; at least two.
    pub members: Vec<ClaimId>,
    /// Whether every pair of them was settled by an exception or a dismissal.
    pub settled: bool,
}

/// Returns the active claims that hold in place of `from`: those that are active themselves, and those that are reached along live
/// successors.
pub fn active_heads<L: Lineage>(from: &[ClaimId], lineage: &L) -> Result<BTreeSet<ClaimId>, L::Error> {
    let mut heads = BTreeSet::new();
    let mut visited: BTreeSet<ClaimId> = from.iter().copied().collect();
    let mut next: Vec<ClaimId> = from.to_vec();
    while let Some(claim) = next.pop() {
        if lineage.is_active(&claim)? {
            heads.insert(claim);
            continue;
        }
        for successor in lineage.successors(&claim)? {
            if visited.insert(successor) {
                next.push(successor);
            }
        }
    }
    Ok(heads)
}

/// Returns the claims that the event which created a claim replaced by it.
pub fn replaced_at_creation(created: &Header) -> &[ClaimId] {
    match understood(created) {
        EventKind::Supersede => &created.targets,
        _ => &[],
    }
}

/// Returns the contest of a guarded claim, if it is contested. It is if at least two live successors lead to at least two
/// active claims; or if a live retract and a live supersede had not seen each other and the latter leads to an active claim;
/// or if its creation was undone, and both its successors and the claims that it `replaced` lead to active claims; or if all
/// its successors were retracted by writers who had not seen that they took its place.
pub fn contest<L: Lineage>(
    claim: ClaimId,
    replaced: &[ClaimId],
    state: &ClaimState,
    lineage: &L,
) -> Result<Option<Contest>, L::Error> {
    if let Some(found) = contest_of_acts(claim, &state.live, lineage)? {
        return Ok(Some(found));
    }
    if state.undone
        && let Some(found) = contest_of_undone(replaced, &state.live, lineage)?
    {
        return Ok(Some(found));
    }
    contest_of_retracted_successors(claim, &state.live, lineage)
}

/// Whoever undid the replacement had not seen the acts on the new claim, or would have had to undo them first; so what it had
/// `replaced` is active again beside what replaced it.
fn contest_of_undone<L: Lineage>(
    replaced: &[ClaimId],
    live: &[LiveAct],
    lineage: &L,
) -> Result<Option<Contest>, L::Error> {
    let successors: Vec<ClaimId> = live.iter().filter_map(|act| act.successor).collect();
    let mut members = active_heads(&successors, lineage)?;
    let restored = active_heads(replaced, lineage)?;
    if members.is_empty() || restored.is_empty() {
        return Ok(None);
    }
    members.extend(restored);
    of_members(members, lineage)
}

fn contest_of_acts<L: Lineage>(claim: ClaimId, live: &[LiveAct], lineage: &L) -> Result<Option<Contest>, L::Error> {
    if live.len() < 2 {
        return Ok(None);
    }
    let successors: BTreeSet<ClaimId> = live.iter().filter_map(|act| act.successor).collect();
    if successors.len() >= 2 {
        let heads = active_heads(&Vec::from_iter(successors), lineage)?;
        if heads.len() >= 2 {
            return of_members(heads, lineage);
        }
    }
    let disputed: Vec<ClaimId> = live
        .iter()
        .filter(|act| {
            act.successor.is_some()
                && live.iter().any(|other| other.successor.is_none() && act.is_concurrent_with(other))
        })
        .filter_map(|act| act.successor)
        .collect();
    if disputed.is_empty() {
        return Ok(None);
    }
    let mut members = active_heads(&disputed, lineage)?;
    if members.is_empty() {
        return Ok(None);
    }
    members.insert(claim);
    of_members(members, lineage)
}

/// A successor that was created by the act itself is never among them: whoever retracts it has seen the act.
fn contest_of_retracted_successors<L: Lineage>(
    claim: ClaimId,
    live: &[LiveAct],
    lineage: &L,
) -> Result<Option<Contest>, L::Error> {
    let mut members = BTreeSet::new();
    for act in live {
        let Some(successor) = act.successor.filter(|successor| *successor != act.id) else { return Ok(None) };
        let mut retracts = lineage.live_acts(&successor)?;
        retracts.retain(|other| other.successor.is_none());
        if retracts.is_empty() || retracts.iter().any(|retract| retract.seen.contains(&act.id)) {
            return Ok(None);
        }
        members.insert(successor);
    }
    members.insert(claim);
    of_members(members, lineage)
}

/// Returns the contest of a fact's key, if it is contested: at least two active facts have it.
pub fn contest_of_key<L: Lineage>(
    active: impl IntoIterator<Item = ClaimId>,
    lineage: &L,
) -> Result<Option<Contest>, L::Error> {
    of_members(active.into_iter().collect(), lineage)
}

pub(super) fn of_members<L: Lineage>(members: BTreeSet<ClaimId>, lineage: &L) -> Result<Option<Contest>, L::Error> {
    if members.len() < 2 {
        return Ok(None);
    }
    let members: Vec<ClaimId> = members.into_iter().collect();
    let settled = all_settled(&members, lineage)?;
    Ok(Some(Contest { members, settled }))
}

/// Returns whether every pair of `members` was settled by an exception or a dismissal.
pub fn all_settled<L: Lineage>(members: &[ClaimId], lineage: &L) -> Result<bool, L::Error> {
    for (one, other) in pairs(members) {
        if !lineage.is_settled(&one, &other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, convert::Infallible};

    use super::*;
    use crate::domain::{claim::Status, clock::Hlc};

    #[derive(Default)]
    struct Map {
        successors: BTreeMap<u8, Vec<u8>>,
        active: Vec<u8>,
        acts: BTreeMap<u8, Vec<LiveAct>>,
        settled: Vec<(u8, u8)>,
    }

    fn id(n: u8) -> ClaimId {
        crate::domain::EventId([n; 32])
    }

    impl Lineage for Map {
        type Error = Infallible;

        fn successors(&self, claim: &ClaimId) -> Result<Vec<ClaimId>, Infallible> {
            Ok(self.successors.get(&claim.0[0]).into_iter().flatten().map(|n| id(*n)).collect())
        }

        fn is_active(&self, claim: &ClaimId) -> Result<bool, Infallible> {
            Ok(self.active.contains(&claim.0[0]))
        }

        fn live_acts(&self, claim: &ClaimId) -> Result<Vec<LiveAct>, Infallible> {
            Ok(self.acts.get(&claim.0[0]).cloned().unwrap_or_default())
        }

        fn is_settled(&self, one: &ClaimId, other: &ClaimId) -> Result<bool, Infallible> {
            Ok(self.settled.contains(&(one.0[0], other.0[0])) || self.settled.contains(&(other.0[0], one.0[0])))
        }
    }

    fn act(n: u8, successor: Option<u8>, seen: &[u8]) -> LiveAct {
        LiveAct {
            id: id(n),
            clock: Hlc::default(),
            successor: successor.map(id),
            seen: seen.iter().map(|n| id(*n)).collect(),
        }
    }

    fn state(live: &[LiveAct]) -> ClaimState {
        ClaimState { status: Status::Superseded, undone: false, live: live.to_vec() }
    }

    fn members(map: &Map, live: &[LiveAct]) -> Option<Vec<u8>> {
        let Ok(contest) = contest(id(1), &[], &state(live), map);
        contest.map(|found| found.members.iter().map(|member| member.0[0]).collect())
    }

    #[test]
    fn two_live_successors_with_two_heads_are_contested_until_one_replaces_both() {
        let live = [act(2, Some(2), &[]), act(3, Some(3), &[])];
        let mut map = Map { active: vec![2, 3], ..Map::default() };
        assert_eq!(members(&map, &live), Some(vec![2, 3]));
        map = Map { active: vec![4], successors: [(2, vec![4]), (3, vec![4])].into(), ..Map::default() };
        assert_eq!(members(&map, &live), None);
    }

    #[test]
    fn heads_are_found_far_along_and_a_circle_ends() {
        let live = [act(2, Some(2), &[]), act(3, Some(3), &[])];
        let successors = [(2, vec![5]), (5, vec![2, 6]), (6, vec![7]), (3, vec![8])].into();
        let map = Map { successors, active: vec![7, 8], ..Map::default() };
        assert_eq!(members(&map, &live), Some(vec![7, 8]));
    }

    #[test]
    fn a_retract_against_an_unseen_supersede_is_contested() {
        let map = Map { active: vec![2], ..Map::default() };
        assert_eq!(members(&map, &[act(2, Some(2), &[]), act(3, None, &[])]), Some(vec![1, 2]));
        assert_eq!(members(&map, &[act(2, Some(2), &[]), act(3, None, &[2])]), None);
    }

    #[test]
    fn a_successor_that_was_retracted_by_one_who_did_not_know_that_it_is_one_is_contested() {
        let retracted = |seen: &[u8]| Map { acts: [(2, vec![act(4, None, seen)])].into(), ..Map::default() };
        let kept = [act(3, Some(2), &[])];
        assert_eq!(members(&retracted(&[]), &kept), Some(vec![1, 2]));
        assert_eq!(members(&retracted(&[3]), &kept), None, "its writer knew");
        let mut both = retracted(&[]);
        both.acts.entry(2).or_default().push(act(5, None, &[3]));
        assert_eq!(members(&both, &kept), None, "a second one knew");
        assert_eq!(members(&Map::default(), &kept), None, "it is active, or was replaced");
        assert_eq!(members(&retracted(&[]), &[act(2, Some(2), &[])]), None, "the act created it");
        let elsewhere = [act(3, Some(2), &[]), act(6, Some(6), &[])];
        assert_eq!(members(&retracted(&[]), &elsewhere), None, "another took its place, too");
        let withdrawn = [act(3, Some(2), &[]), act(6, None, &[])];
        assert_eq!(members(&retracted(&[]), &withdrawn), None, "it was withdrawn itself");
    }

    #[test]
    fn an_undone_replacement_that_was_replaced_is_contested_while_what_it_replaced_holds_again() {
        let live = [act(2, Some(2), &[])];
        let undone = ClaimState { undone: true, ..state(&live) };
        let members = |map: &Map, state: &ClaimState| {
            let Ok(found) = contest(id(1), &[id(9)], state, map);
            found.map(|found| found.members)
        };
        let both = Map { active: vec![2, 9], ..Map::default() };
        assert_eq!(members(&both, &undone), Some(vec![id(2), id(9)]));
        assert_eq!(members(&both, &state(&live)), None, "it was not undone");
        let one = Map { active: vec![2], successors: [(9, vec![2])].into(), ..Map::default() };
        assert_eq!(members(&one, &undone), None, "the successor replaced both");
        assert_eq!(members(&Map { active: vec![9], ..Map::default() }, &undone), None, "the successor was retracted");
    }

    #[test]
    fn a_settled_pair_settles_the_contest() {
        let map = Map { active: vec![2, 3], settled: vec![(3, 2)], ..Map::default() };
        let live = [act(2, Some(2), &[]), act(3, Some(3), &[])];
        let Ok(found) = contest(id(1), &[], &state(&live), &map);
        assert!(found.unwrap().settled);
        let Ok(key) = contest_of_key([id(2), id(3), id(4)], &map);
        assert!(!key.unwrap().settled);
        let Ok(alone) = contest_of_key([id(2)], &map);
        assert_eq!(alone, None);
    }
}
