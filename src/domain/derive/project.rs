//! Projects a whole set of events at once. This is the reference implementation of the rules: tests and `ergo doctor` compare
//! the store's incremental projection with it, and reads with `as_of` use it.

mod cards;
mod claims;
mod effect;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{CardKind, ClaimState, Settlement, settles, understood};
use crate::domain::{
    Body, CardId, ClaimId, ClaimKind, DeviceId, EventId, EventKind, Flags, Header, OpId, Scope, SignedEvent, Status,
    guard_report::PairCheck,
};

/// The derived state of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimFacts {
    /// Its scope.
    pub scope: Scope,
    /// Its kind.
    pub kind: ClaimKind,
    /// Its status.
    pub status: Status,
    /// Its flags; `expired` is never set here.
    pub flags: Flags,
    /// The acts because of which it is not active, earliest first.
    pub live: Vec<EventId>,
    /// The claims that replaced it.
    pub replaced_by: BTreeSet<ClaimId>,
    /// Its premises.
    pub premises: BTreeSet<ClaimId>,
    /// Its active dependents.
    pub dependents: BTreeSet<ClaimId>,
    /// The events because of which it needs review, or would if it were active.
    pub causes: BTreeSet<EventId>,
}

/// The derived state of a card. Cards that are no longer valid and have no event are not part of the projection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardFacts {
    /// Its origin.
    pub kind: CardKind,
    /// Its scope.
    pub scope: Scope,
    /// Whether it is open.
    pub open: bool,
    /// Whether its claims are no longer active, so that nothing is left to settle.
    pub moot: bool,
    /// Its claims, including the new claim of a write that was not stored.
    pub members: BTreeSet<EventId>,
    /// The event that settled it.
    pub settled: Option<EventId>,
    /// The end of its snooze, in milliseconds since the Unix epoch.
    pub snoozed_until: Option<u64>,
}

/// The derived state of a set of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection {
    /// Events without effect, because they were undone.
    pub undone: BTreeSet<EventId>,
    /// Events without a body, because it must be dropped or was never received.
    pub redacted: BTreeSet<EventId>,
    /// The claims.
    pub claims: BTreeMap<ClaimId, ClaimFacts>,
    /// The cards.
    pub cards: BTreeMap<CardId, CardFacts>,
}

/// Projects a set of verified events, given in any order, with or without repeats.
pub fn project(events: &[SignedEvent], check: &dyn PairCheck) -> Projection {
    let mut set = EventSet::new(events);
    set.find_undone();
    set.find_redacted();
    set.find_states();
    set.find_narrowings();
    set.find_notes();
    let mut claims = set.claims();
    let contests = set.contests();
    let cards = set.cards(&contests, check);
    for (origin, _, contest) in contests.iter().filter(|(_, _, contest)| !contest.settled) {
        for claim in contest.members.iter().chain(origin) {
            if let Some(facts) = claims.get_mut(claim) {
                facts.flags.contested = true;
            }
        }
    }
    Projection { undone: set.undone, redacted: set.redacted, claims, cards }
}

struct ProjectedEvent<'a> {
    header: &'a Header,
    kind: EventKind,
    body: Option<Body>,
}

struct EventSet<'a> {
    events: BTreeMap<EventId, ProjectedEvent<'a>>,
    /// The events of the same scope that have an event among their targets.
    targeted_by: HashMap<EventId, Vec<EventId>>,
    undone: BTreeSet<EventId>,
    redacted: BTreeSet<EventId>,
    states: BTreeMap<ClaimId, ClaimState>,
    settlements: Vec<Settlement>,
    /// The settlements that concern a claim, by their index in `settlements`.
    settled: HashMap<ClaimId, Vec<usize>>,
    /// The local events that refer to a card.
    notes: HashMap<CardId, Vec<EventId>>,
    /// The narrowings of a claim of the organisation's level.
    narrowings: HashMap<ClaimId, Vec<EventId>>,
    /// The claims as which acts on this device stored refused writes, each with its act.
    stored: HashSet<(OpId, DeviceId, ClaimId)>,
}

impl<'a> EventSet<'a> {
    fn new(events: &'a [SignedEvent]) -> Self {
        let mut items: BTreeMap<EventId, ProjectedEvent<'a>> = BTreeMap::new();
        for event in events {
            let body = event.body.as_ref().and_then(|body| body.open().ok());
            let item = items.entry(event.id).or_insert_with(|| ProjectedEvent {
                header: &event.header,
                kind: understood(&event.header),
                body: None,
            });
            item.body = item.body.take().or(body);
        }
        let mut targeted_by: HashMap<EventId, Vec<EventId>> = HashMap::new();
        for (id, item) in &items {
            for target in item.header.targets.iter().collect::<BTreeSet<_>>() {
                if items.get(target).is_some_and(|other| other.header.scope == item.header.scope) {
                    targeted_by.entry(*target).or_default().push(*id);
                }
            }
        }
        Self {
            events: items,
            targeted_by,
            undone: BTreeSet::new(),
            redacted: BTreeSet::new(),
            states: BTreeMap::new(),
            settlements: Vec::new(),
            settled: HashMap::new(),
            notes: HashMap::new(),
            narrowings: HashMap::new(),
            stored: HashSet::new(),
        }
    }

    fn events_targeting(&self, id: &EventId) -> impl Iterator<Item = (EventId, &ProjectedEvent<'a>)> {
        self.targeted_by
            .get(id)
            .into_iter()
            .flatten()
            .filter_map(|from| self.events.get(from).map(|item| (*from, item)))
    }

    fn effective(&self, id: &EventId) -> bool {
        !self.undone.contains(id)
    }

    fn settlements_of(&self, claim: &ClaimId) -> impl Iterator<Item = &Settlement> {
        self.settled.get(claim).into_iter().flatten().filter_map(|index| self.settlements.get(*index))
    }

    fn is_settled(&self, one: &ClaimId, other: &ClaimId) -> bool {
        let scopes = self.scopes_of_pair(one, other);
        self.settlements_of(one)
            .filter(|settlement| scopes.contains(&&self.events[&settlement.event].header.scope))
            .any(|settlement| settles(settlement, one, other))
    }

    fn active(&self, claim: &ClaimId) -> bool {
        self.states.get(claim).is_some_and(|state| state.status == Status::Active)
    }
}
