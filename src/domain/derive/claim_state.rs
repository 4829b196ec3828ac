//! Derives the state of a claim from the acts on it.

use std::collections::BTreeSet;

use super::understood;
use crate::domain::{
    claim::{ClaimKind, Status},
    clock::Hlc,
    event::{EventKind, Header},
    id::{ClaimId, EventId},
};

/// The effect of an act on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActKind {
    /// The claim is replaced by this one.
    Supersede(ClaimId),
    /// The claim is withdrawn.
    Retract,
    /// The claim becomes active again: cancels the acts in the event's `seen`.
    Reinstate,
}

/// An event that acts on a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActOnClaim {
    /// The event.
    pub id: EventId,
    /// The event's clock.
    pub clock: Hlc,
    /// The effect.
    pub kind: ActKind,
    /// The acts that its writer had seen.
    pub seen: Vec<EventId>,
}

impl ActOnClaim {
    /// Returns the act of the event `id` on the claim that `claim` created; `None` if it does not act on it. The two must be of one
    /// scope of this device: a header may contain the team's name of it.
    ///
    /// A fact is only replaced by a fact of the same key, and no claim is replaced by itself.
    pub fn of(claim_id: ClaimId, claim: &Header, id: EventId, event: &Header) -> Option<Self> {
        if !event.targets.contains(&claim_id) {
            return None;
        }
        let kind = match understood(event) {
            EventKind::Supersede => ActKind::Supersede(event.successor.unwrap_or(id)),
            EventKind::FactSet if claim_kind(claim) == ClaimKind::Fact && event.key_hash == claim.key_hash => {
                ActKind::Supersede(id)
            }
            EventKind::Retract => ActKind::Retract,
            EventKind::Reinstate => ActKind::Reinstate,
            _ => return None,
        };
        if kind == ActKind::Supersede(claim_id) {
            return None;
        }
        Some(Self { id, clock: event.clock, kind, seen: event.seen.clone() })
    }
}

/// Returns the kind of the claim that an event creates.
pub(super) fn claim_kind(header: &Header) -> ClaimKind {
    match header.kind {
        EventKind::FactSet => ClaimKind::Fact,
        _ => header.claim_kind.unwrap_or_default(),
    }
}

/// An act because of which a claim is not active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveAct {
    /// The event.
    pub id: EventId,
    /// The event's clock.
    pub clock: Hlc,
    /// The claim that replaces it; `None` for a retract.
    pub successor: Option<ClaimId>,
    /// The acts that its writer had seen.
    pub seen: Vec<EventId>,
}

impl LiveAct {
    /// Returns whether neither writer had seen the other's act.
    pub fn is_concurrent_with(&self, other: &Self) -> bool {
        !self.seen.contains(&other.id) && !other.seen.contains(&self.id)
    }
}

/// The state of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimState {
    /// Its status.
    pub status: Status,
    /// Whether the act that created it was undone.
    pub undone: bool,
    /// The acts because of which it is not active, earliest first by event clock, whatever the order in which they arrived.
    pub live: Vec<LiveAct>,
}

impl ClaimState {
    /// Returns why the dependents of this claim need review: the acts because of which it is not active, or its own id if its
    /// creation was undone. Empty while it is active.
    pub fn broken_by(&self, id: ClaimId) -> Vec<EventId> {
        match self.status {
            Status::Active => Vec::new(),
            _ if self.live.is_empty() => vec![id],
            _ => self.live.iter().map(|act| act.id).collect(),
        }
    }
}

/// Computes the state of a claim from the effective acts on it, given in any order. `created` tells whether its creation has effect.
///
/// A retract has precedence over a supersede; a reinstate cancels exactly the acts that its writer had seen.
pub fn claim_state(created: bool, acts: &[ActOnClaim]) -> ClaimState {
    let cancelled: BTreeSet<EventId> =
        acts.iter().filter(|act| act.kind == ActKind::Reinstate).flat_map(|act| act.seen.iter().copied()).collect();
    let mut live: Vec<LiveAct> = acts
        .iter()
        .filter(|act| !cancelled.contains(&act.id))
        .filter_map(|act| {
            let successor = match act.kind {
                ActKind::Supersede(successor) => Some(successor),
                ActKind::Retract => None,
                ActKind::Reinstate => return None,
            };
            Some(LiveAct { id: act.id, clock: act.clock, successor, seen: act.seen.clone() })
        })
        .collect();
    live.sort_by_key(|act| (act.clock, act.id));
    live.dedup_by_key(|act| act.id);
    let status = if !created || live.iter().any(|act| act.successor.is_none()) {
        Status::Retracted
    } else if live.is_empty() {
        Status::Active
    } else {
        Status::Superseded
    };
    ClaimState { status, undone: !created, live }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(id: u8, kind: ActKind, seen: &[u8]) -> ActOnClaim {
        ActOnClaim {
            id: EventId([id; 32]),
            clock: Hlc { wall: u64::from(id), count: 0 },
            kind,
            seen: seen.iter().map(|n| EventId([*n; 32])).collect(),
        }
    }

    fn replaced(by: u8) -> ActKind {
        ActKind::Supersede(EventId([by; 32]))
    }

    #[test]
    fn a_claim_without_acts_is_active_and_an_undone_one_is_retracted() {
        assert_eq!(claim_state(true, &[]).status, Status::Active);
        let undone = claim_state(false, &[]);
        assert_eq!((undone.status, undone.undone), (Status::Retracted, true));
    }

    #[test]
    fn a_retract_outweighs_a_supersede_whatever_the_order() {
        let acts = [act(2, ActKind::Retract, &[]), act(3, replaced(3), &[])];
        let state = claim_state(true, &acts);
        assert_eq!(state.status, Status::Retracted);
        assert_eq!(state, claim_state(true, &[acts[1].clone(), acts[0].clone(), acts[1].clone()]));
        assert!(state.live[0].is_concurrent_with(&state.live[1]));
    }

    #[test]
    fn a_reinstate_cancels_what_it_has_seen_and_nothing_else() {
        let acts = [act(2, replaced(2), &[]), act(3, ActKind::Reinstate, &[2])];
        assert_eq!(claim_state(true, &acts).status, Status::Active);
        let late = [acts[0].clone(), acts[1].clone(), act(4, replaced(9), &[])];
        let state = claim_state(true, &late);
        assert_eq!(state.status, Status::Superseded);
        assert_eq!(state.live.len(), 1);
        assert_eq!(state.live[0].successor, Some(EventId([9; 32])));
    }
}
