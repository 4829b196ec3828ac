//! Finds the pairs of claims that have been settled and get no further card.

use crate::domain::{
    event::ResolveAct,
    id::{ClaimId, EventId},
};

/// An effective `resolve` event, with the claims that its act created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The event.
    pub event: EventId,
    /// How the card was settled.
    pub act: ResolveAct,
    /// The members of the card.
    pub targets: Vec<EventId>,
    /// The claims that events of the same act, by the same device, created.
    pub created: Vec<ClaimId>,
}

/// Whether this settlement keeps two claims from being opposed again.
///
/// An exception and a dismissal settle every pair of members; what they store is a member itself. One act may settle many
/// cards, so what it created besides says nothing about this card. A narrowing settles the pairs of the claims that were
/// stored along with it and the members. The other acts settle by taking claims away.
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
