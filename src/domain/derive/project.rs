//! The projection of a whole set of events at once: the plain statement of the rules, which the store's incremental
//! work is measured against (tests, `ergo doctor`), and which answers `as_of`.

mod cards;
mod claims;
mod effect;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{CardKind, ClaimState, Settlement, settles, understood};
use crate::domain::{
    Body, CardId, ClaimId, ClaimKind, DeviceId, EventId, EventKind, Flags, Header, OpId, Scope, SignedEvent, Status,
    guard_report::PairCheck,
};

/// What is derived about a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimFacts {
    /// Where it belongs.
    pub scope: Scope,
    /// Its kind.
    pub kind: ClaimKind,
    /// Its status.
    pub status: Status,
    /// Its flags; `expired` is never set here.
    pub flags: Flags,
    /// The acts that keep it out of the active set, earliest first.
    pub live: Vec<EventId>,
    /// The claims that replaced it.
    pub replaced_by: BTreeSet<ClaimId>,
    /// Its premises.
    pub premises: BTreeSet<ClaimId>,
    /// Its active dependents.
    pub dependents: BTreeSet<ClaimId>,
    /// Why it needs, or would need, review.
    pub causes: BTreeSet<EventId>,
}

/// What is derived about a card. Cards that were true once and left no event behind are not part of the projection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardFacts {
    /// Where it comes from.
    pub kind: CardKind,
    /// Where it belongs.
    pub scope: Scope,
    /// Whether it waits.
    pub open: bool,
    /// What it opposed is no longer active.
    pub moot: bool,
    /// The claims on it, and the new claim.
    pub members: BTreeSet<EventId>,
    /// The event that settled it.
    pub settled: Option<EventId>,
    /// Until when it is put off.
    pub snoozed_until: Option<u64>,
}

/// What a set of events means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection {
    /// Events without effect: they were undone.
    pub undone: BTreeSet<EventId>,
    /// Events without a body: it is to be dropped, or never came.
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
    /// What each event is a target of.
    pointing: HashMap<EventId, Vec<EventId>>,
    undone: BTreeSet<EventId>,
    redacted: BTreeSet<EventId>,
    states: BTreeMap<ClaimId, ClaimState>,
    settlements: Vec<Settlement>,
    /// The settlements that concern a claim, by their index in `settlements`.
    settled: HashMap<ClaimId, Vec<usize>>,
    /// The local events that refer to a card.
    notes: HashMap<CardId, Vec<EventId>>,
    /// The narrowings that name a claim as the one for which another stands.
    narrowings: HashMap<ClaimId, Vec<EventId>>,
    /// The claims as which acts stored refused writes here, each with its act.
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
        let mut pointing: HashMap<EventId, Vec<EventId>> = HashMap::new();
        for (id, item) in &items {
            for target in item.header.targets.iter().collect::<BTreeSet<_>>() {
                if items.get(target).is_some_and(|other| other.header.scope == item.header.scope) {
                    pointing.entry(*target).or_default().push(*id);
                }
            }
        }
        Self {
            events: items,
            pointing,
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

    fn pointing_at(&self, id: &EventId) -> impl Iterator<Item = (EventId, &ProjectedEvent<'a>)> {
        self.pointing.get(id).into_iter().flatten().filter_map(|from| self.events.get(from).map(|item| (*from, item)))
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
