//! Decides which pairs of claims are settled, so that they get no further card.

use crate::domain::{
    event::ResolveAct,
    id::{ClaimId, EventId},
};

/// An effective `resolve` event and the claims that its act created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The event.
    pub event: EventId,
    /// How the card was settled.
    pub act: ResolveAct,
    /// The members of the card.
    pub targets: Vec<EventId>,
    /// The claims that the same act on the same device created.
    pub created: Vec<ClaimId>,
}

/// Returns whether a settlement settles a pair of claims, so that no further card opposes them.
///
/// An exception and a dismissal settle every pair of members; a claim that they store is itself a member. One act may
/// settle many cards, so other claims that it created do not concern this card. A narrowing settles each pair of a claim
/// that its act created and a member. The other acts settle no pair: they make claims inactive.
pub fn settles(settlement: &Settlement, one: &ClaimId, other: &ClaimId) -> bool {
    let target = |id| settlement.targets.contains(id);
    let created = |id| settlement.created.contains(id);
    match settlement.act {
        ResolveAct::Exception | ResolveAct::Dismiss => target(one) && target(other),
        ResolveAct::Narrow => (created(one) && target(other)) || (target(one) && created(other)),
        ResolveAct::Supersede | ResolveAct::Retract | ResolveAct::Reviewed => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_settles_its_members_alone_and_a_narrowing_only_what_it_made() {
        let [a, b, c, d] = [1, 2, 3, 4].map(|n| EventId([n; 32]));
        let mut settlement = Settlement { event: d, act: ResolveAct::Exception, targets: vec![a, b], created: vec![c] };
        assert!(settles(&settlement, &a, &b) && !settles(&settlement, &c, &b) && !settles(&settlement, &a, &d));
        settlement.act = ResolveAct::Narrow;
        assert!(settles(&settlement, &c, &b) && settles(&settlement, &b, &c) && !settles(&settlement, &a, &b));
        settlement.act = ResolveAct::Supersede;
        assert!(!settles(&settlement, &c, &b));
    }
}
