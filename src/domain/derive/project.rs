//! The projection of a whole set of events at once: the plain statement of the rules, which the store's incremental
//! work is measured against (tests, `ergo doctor`), and which answers `as_of`.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    convert::Infallible,
};

use super::{
    Act, CardKind, ClaimState, Contest, Lineage, Premise, Rest, Settlement, card_of, causes, claim_state, contest,
    contest_of_key, group_of, is_effective, is_local, is_local_kind, is_redact, is_undo, local, local_note, pairs,
    settles, state::claim_kind, understood,
};
use crate::domain::{
    Body, CardId, ClaimId, ClaimKind, DeviceId, EventId, EventKind, Flags, Header, Norm, OpId, ResolveAct, Scope,
    SignedEvent, Status,
    verdict::{Carried, PairCheck},
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
    /// The claims that it rests on.
    pub premises: BTreeSet<ClaimId>,
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
    /// The claims on it, and the candidate.
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
    let mut set = Set::new(events);
    set.find_undone();
    set.find_redacted();
    set.find_states();
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

struct Item<'a> {
    header: &'a Header,
    kind: EventKind,
    body: Option<Body>,
}

struct Set<'a> {
    events: BTreeMap<EventId, Item<'a>>,
    /// What each event is a target of.
    pointing: HashMap<EventId, Vec<EventId>>,
    undone: BTreeSet<EventId>,
    redacted: BTreeSet<EventId>,
    states: BTreeMap<ClaimId, ClaimState>,
    settlements: Vec<Settlement>,
    /// The settlements that speak of a claim, by their place in `settlements`.
    settled: HashMap<ClaimId, Vec<usize>>,
    /// The local events that speak of a card.
    notes: HashMap<CardId, Vec<EventId>>,
    /// Acts that stored a refused candidate here: the candidate's card shows them, and no other is made.
    of_candidates: HashSet<(OpId, DeviceId)>,
}

/// The line of succession within one scope.
struct Line<'a> {
    set: &'a Set<'a>,
    scope: &'a Scope,
}

impl Line<'_> {
    fn state(&self, claim: &ClaimId) -> Option<&ClaimState> {
        let state = self.set.states.get(claim)?;
        (self.set.events.get(claim)?.header.scope == *self.scope).then_some(state)
    }
}

impl Lineage for Line<'_> {
    type Error = Infallible;

    fn successors(&self, claim: &ClaimId) -> Result<Vec<ClaimId>, Infallible> {
        Ok(self.state(claim).into_iter().flat_map(|state| &state.live).filter_map(|act| act.successor).collect())
    }

    fn is_active(&self, claim: &ClaimId) -> Result<bool, Infallible> {
        Ok(self.state(claim).is_some_and(|state| state.status == Status::Active))
    }

    fn is_settled(&self, one: &ClaimId, other: &ClaimId) -> Result<bool, Infallible> {
        Ok(self.set.is_settled(one, other))
    }
}

impl<'a> Set<'a> {
    fn new(events: &'a [SignedEvent]) -> Self {
        let mut items: BTreeMap<EventId, Item<'a>> = BTreeMap::new();
        for event in events {
            let body = event.body.as_ref().and_then(|body| body.open().ok());
            let item = items.entry(event.id).or_insert_with(|| Item {
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
            of_candidates: HashSet::new(),
        }
    }

    fn pointing_at(&self, id: &EventId) -> impl Iterator<Item = (EventId, &Item<'a>)> {
        self.pointing.get(id).into_iter().flatten().filter_map(|from| self.events.get(from).map(|item| (*from, item)))
    }

    fn effective(&self, id: &EventId) -> bool {
        !self.undone.contains(id)
    }

    fn settlements_of(&self, claim: &ClaimId) -> impl Iterator<Item = &Settlement> {
        self.settled.get(claim).into_iter().flatten().filter_map(|index| self.settlements.get(*index))
    }

    fn is_settled(&self, one: &ClaimId, other: &ClaimId) -> bool {
        self.settlements_of(one).any(|settlement| settles(settlement, one, other))
    }

    fn active(&self, claim: &ClaimId) -> bool {
        self.states.get(claim).is_some_and(|state| state.status == Status::Active)
    }

    fn find_undone(&mut self) {
        let mut memo: HashMap<EventId, bool> = HashMap::new();
        // Undo events are few: each is decided after those that undo it, without recursion.
        for root in self.events.keys() {
            let mut stack = vec![*root];
            while let Some(id) = stack.last().copied() {
                let undoers: Vec<EventId> = self
                    .pointing_at(&id)
                    .filter(|(_, item)| is_undo(&item.kind) && self.same_log(&id, item))
                    .map(|(from, _)| from)
                    .collect();
                let unknown: Vec<EventId> = undoers.iter().filter(|from| !memo.contains_key(from)).copied().collect();
                if unknown.is_empty() {
                    let undone = undoers.iter().map(|from| memo.get(from).copied().unwrap_or(true));
                    memo.insert(id, is_effective(&self.events[&id].kind, undone));
                    stack.pop();
                } else {
                    stack.extend(unknown);
                }
            }
        }
        self.undone = memo.into_iter().filter(|(_, effective)| !effective).map(|(id, _)| id).collect();
    }

    fn same_log(&self, id: &EventId, item: &Item<'_>) -> bool {
        self.events.get(id).is_some_and(|other| is_local(other.header) == is_local(item.header))
    }

    fn find_redacted(&mut self) {
        let mut named = BTreeSet::new();
        for (id, item) in &self.events {
            let mut redactions = self.pointing_at(id).filter(|(_, from)| is_redact(&from.kind));
            if redactions.any(|(_, from)| is_local(from.header) == is_local(item.header)) {
                named.insert(*id);
            }
        }
        let mut all = named.clone();
        for (id, item) in &self.events {
            let EventKind::Local(kind) = &item.kind else { continue };
            let copies = match kind.as_str() {
                // What the guard said quotes the claims that it compared.
                local::EVIDENCE | local::FOUND => {
                    item.header.targets.iter().any(|target| self.redacts(&named, item.header, target))
                }
                // A candidate that became a claim, or was refused again, has the same words.
                local::REFUSED => self.candidate_redacted(&named, item.header, group_of(*id, item.header)),
                _ => false,
            };
            if copies {
                all.insert(*id);
            }
        }
        for id in &all {
            if let Some(item) = self.events.get_mut(id) {
                item.body = None;
            }
        }
        all.extend(self.events.iter().filter(|(_, item)| item.body.is_none()).map(|(id, _)| *id));
        self.redacted = all;
    }

    fn redacts(&self, named: &BTreeSet<EventId>, header: &Header, target: &EventId) -> bool {
        self.events.get(target).is_some_and(|item| {
            item.header.scope == header.scope
                && (named.contains(target)
                    || is_local_kind(&item.kind, local::REFUSED)
                        && self.candidate_redacted(named, item.header, group_of(*target, item.header)))
        })
    }

    fn candidate_redacted(&self, named: &BTreeSet<EventId>, header: &Header, candidate: EventId) -> bool {
        let became = self
            .pointing_at(&candidate)
            .filter(|(_, item)| is_local_kind(&item.kind, local::SETTLED) && item.header.scope == header.scope);
        let mut same = std::iter::once(candidate).chain(became.filter_map(|(_, item)| item.header.successor));
        same.any(|id| named.contains(&id) && self.events.get(&id).is_some_and(|item| item.header.scope == header.scope))
    }

    fn is_claim(item: &Item<'_>) -> bool {
        item.header.creates_claim() && !matches!(item.kind, EventKind::Unknown(_))
    }

    fn find_states(&mut self) {
        let mut created: HashMap<(OpId, DeviceId), Vec<ClaimId>> = HashMap::new();
        for (id, item) in &self.events {
            if !Self::is_claim(item) {
                continue;
            }
            let acts: Vec<Act> = self
                .pointing_at(id)
                .filter(|(from, _)| self.effective(from))
                .filter_map(|(from, by)| Act::of(*id, item.header, from, by.header))
                .collect();
            self.states.insert(*id, claim_state(self.effective(id), &acts));
            created.entry((item.header.op, item.header.author)).or_default().push(*id);
        }
        for (id, item) in &self.events {
            if let EventKind::Resolve(act) = item.kind
                && self.effective(id)
            {
                let with = created.get(&(item.header.op, item.header.author));
                let with = with.into_iter().flatten().copied();
                let settlement = Settlement {
                    event: *id,
                    act,
                    targets: self.members(item.header),
                    created: with.filter(|claim| self.events[claim].header.scope == item.header.scope).collect(),
                };
                for claim in settlement.targets.iter().chain(&settlement.created).collect::<BTreeSet<_>>() {
                    self.settled.entry(*claim).or_default().push(self.settlements.len());
                }
                self.settlements.push(settlement);
            }
        }
    }

    /// The targets that are claims of the same scope.
    fn members(&self, header: &Header) -> Vec<ClaimId> {
        let mut members = header.targets.clone();
        members.retain(|id| self.states.contains_key(id) && self.events[id].header.scope == header.scope);
        members
    }

    fn claims(&self) -> BTreeMap<ClaimId, ClaimFacts> {
        let rests = self.rests();
        let mut causes = causes(&rests, &BTreeMap::new());
        self.states
            .iter()
            .map(|(id, state)| {
                let item = &self.events[id];
                let causes = causes.remove(id).unwrap_or_default();
                let active = state.status == Status::Active;
                let excepted = active
                    && self.settlements_of(id).any(|settlement| {
                        settlement.act == ResolveAct::Exception
                            && settlement.targets.contains(id)
                            && settlement.targets.iter().any(|other| other != id && self.active(other))
                    });
                let facts = ClaimFacts {
                    scope: item.header.scope.clone(),
                    kind: claim_kind(item.header),
                    status: state.status,
                    flags: Flags {
                        contested: false,
                        needs_review: active && !causes.is_empty(),
                        excepted,
                        expired: false,
                        undone: state.undone,
                        redacted: self.redacted.contains(id),
                    },
                    live: state.live.iter().map(|act| act.id).collect(),
                    replaced_by: state.live.iter().filter_map(|act| act.successor).collect(),
                    premises: rests.get(id).into_iter().flat_map(|rest| &rest.premises).map(|p| p.id).collect(),
                    causes,
                };
                (*id, facts)
            })
            .collect()
    }

    fn rests(&self) -> BTreeMap<ClaimId, Rest> {
        let mut rests: BTreeMap<ClaimId, Rest> = BTreeMap::new();
        for (id, item) in &self.events {
            if !self.effective(id) {
                continue;
            }
            let claim_of = |target: &EventId| {
                self.states.contains_key(target) && self.events[target].header.scope == item.header.scope
            };
            match item.kind {
                EventKind::Depend => {
                    let Some((claim, premises)) = item.header.targets.split_first() else { continue };
                    if !claim_of(claim) {
                        continue;
                    }
                    let rest = rests.entry(*claim).or_default();
                    for premise in premises.iter().filter(|premise| *premise != claim && claim_of(premise)) {
                        if rest.premises.iter().all(|known| known.id != *premise) {
                            rest.premises.push(Premise { id: *premise, broken_by: self.broken_by(premise) });
                        }
                    }
                }
                EventKind::Resolve(ResolveAct::Reviewed) => {
                    for claim in item.header.targets.iter().filter(|target| claim_of(target)) {
                        rests.entry(*claim).or_default().acknowledged.extend(&item.header.seen);
                    }
                }
                _ => {}
            }
        }
        rests
    }

    fn broken_by(&self, premise: &ClaimId) -> Vec<EventId> {
        self.states.get(premise).map(|state| state.broken_by(*premise)).unwrap_or_default()
    }

    /// Each contest with its origin: a claim, or `None` for a fact's key.
    fn contests(&self) -> Vec<(Option<ClaimId>, Scope, Contest)> {
        let mut found = Vec::new();
        let mut keys: BTreeMap<(&Scope, EventId), Vec<ClaimId>> = BTreeMap::new();
        for (id, state) in &self.states {
            let header = self.events[id].header;
            if claim_kind(header).is_guarded() {
                let Ok(contest) = contest(*id, &state.live, &Line { set: self, scope: &header.scope });
                found.extend(contest.map(|contest| (Some(*id), header.scope.clone(), contest)));
            } else if let (Status::Active, Some(key)) = (state.status, header.key_hash) {
                keys.entry((&header.scope, key)).or_default().push(*id);
            }
        }
        for ((scope, _), facts) in keys {
            let Ok(contest) = contest_of_key(facts, &Line { set: self, scope });
            found.extend(contest.map(|contest| (None, scope.clone(), contest)));
        }
        found
    }

    fn contradictions(&self, check: &dyn PairCheck) -> Vec<[ClaimId; 2]> {
        let mut sharing: BTreeMap<(&Scope, String), Vec<ClaimId>> = BTreeMap::new();
        for id in self.states.keys() {
            let header = self.events[id].header;
            if !self.active(id) || !claim_kind(header).is_guarded() {
                continue;
            }
            let Some(body) = &self.events[id].body else { continue };
            let terms = check.index_terms(self.norms(id), body.statement.as_deref().unwrap_or_default());
            for key in terms.pairs {
                sharing.entry((&header.scope, key)).or_default().push(*id);
            }
        }
        let mut found = BTreeSet::new();
        for claims in sharing.values() {
            for (one, other) in pairs(claims) {
                let pair = [one.min(other), one.max(other)];
                if one != other
                    && !self.is_settled(&one, &other)
                    && check.contradiction(self.carried(&one), self.carried(&other)).is_some()
                {
                    found.insert(pair);
                }
            }
        }
        found.into_iter().collect()
    }

    fn carried(&self, id: &EventId) -> Carried<'_> {
        let Some(item) = self.events.get(id) else { return Carried::default() };
        let statement = item.body.as_ref().and_then(|body| body.statement.as_deref()).unwrap_or_default();
        Carried { kind: claim_kind(item.header), statement, norms: self.norms(id), written: item.header.clock.wall }
    }

    fn norms(&self, id: &EventId) -> &[Norm] {
        self.events.get(id).and_then(|item| item.body.as_ref()?.norms.as_deref()).unwrap_or_default()
    }

    fn find_notes(&mut self) {
        for (id, item) in &self.events {
            let EventKind::Local(kind) = &item.kind else { continue };
            if self.undone.contains(id) || ![local::SETTLED, local::DISCARD, local::SNOOZE].contains(&kind.as_str()) {
                continue;
            }
            if let Some(card) = card_of(*id, item.header, item.body.as_ref()) {
                self.notes.entry(card).or_default().push(*id);
            }
            if kind == local::SETTLED && item.header.successor.is_some() {
                self.of_candidates.insert((item.header.op, item.header.author));
            }
        }
    }

    fn cards(
        &self,
        contests: &[(Option<ClaimId>, Scope, Contest)],
        check: &dyn PairCheck,
    ) -> BTreeMap<CardId, CardFacts> {
        let mut cards: BTreeMap<CardId, CardFacts> = BTreeMap::new();
        let mut add = |kind: CardKind, scope: &Scope, members: BTreeSet<EventId>, open: bool, id: CardId| {
            let card = cards.entry(id).or_insert_with(|| CardFacts {
                kind,
                scope: scope.clone(),
                open: false,
                moot: false,
                members: BTreeSet::new(),
                settled: None,
                snoozed_until: None,
            });
            card.kind = card.kind.max(kind);
            card.open |= open;
            card.members.extend(members);
        };
        for [one, other] in self.contradictions(check) {
            let scope = &self.events[&one].header.scope;
            add(CardKind::Contradiction, scope, [one, other].into(), true, CardId::of_members(&[one, other]));
        }
        for (_, scope, contest) in contests {
            let id = CardId::of_members(&contest.members);
            add(CardKind::Contested, scope, contest.members.iter().copied().collect(), !contest.settled, id);
        }
        for (id, item) in self.events.iter().filter(|(id, _)| self.effective(id)) {
            let Some(card) = card_of(*id, item.header, item.body.as_ref()) else { continue };
            let scope = &item.header.scope;
            let members: BTreeSet<ClaimId> = self.members(item.header).into_iter().collect();
            match &item.kind {
                EventKind::Local(kind) if kind == local::REFUSED => {
                    let candidate = group_of(*id, item.header);
                    if self.events.get(&candidate).is_some_and(|first| is_candidate(first, scope)) {
                        add(CardKind::Refused, scope, members.into_iter().chain([candidate]).collect(), true, card);
                    }
                }
                EventKind::Local(kind) if kind == local::PROPOSED && !members.is_empty() => {
                    add(CardKind::Proposed, scope, members, true, card);
                }
                EventKind::Local(kind) if kind == local::FOUND && members.len() >= 2 => {
                    let open = self.is_found_open(card, &members);
                    add(CardKind::Found, scope, members, open, card);
                }
                EventKind::Resolve(_)
                    if members.len() >= 2 && !self.of_candidates.contains(&(item.header.op, item.header.author)) =>
                {
                    let kind = if self.opposed(&members, check) { CardKind::Contradiction } else { CardKind::Found };
                    add(kind, scope, members, false, card);
                }
                _ => {}
            }
        }
        for (id, card) in &mut cards {
            self.finish(*id, card);
        }
        cards
    }

    fn is_found_open(&self, card: CardId, members: &BTreeSet<ClaimId>) -> bool {
        let active: Vec<ClaimId> = members.iter().copied().filter(|id| self.active(id)).collect();
        pairs(&active).any(|(one, other)| !self.is_settled(&one, &other))
            && !self.notes(card).any(|(_, item)| is_settling(item))
    }

    /// Whether any two of them cannot both hold.
    fn opposed(&self, members: &BTreeSet<ClaimId>, check: &dyn PairCheck) -> bool {
        let members: Vec<ClaimId> = members.iter().copied().collect();
        pairs(&members).any(|(one, other)| check.contradiction(self.carried(&one), self.carried(&other)).is_some())
    }

    fn notes(&self, card: CardId) -> impl Iterator<Item = (EventId, &Item<'a>)> {
        self.notes.get(&card).into_iter().flatten().map(|id| (*id, &self.events[id]))
    }

    /// Settlement, mootness and snooze, which apply to cards of every kind.
    fn finish(&self, id: CardId, card: &mut CardFacts) {
        let notes = || self.notes(id).filter(|(_, item)| item.header.scope == card.scope);
        let key = |(event, item): (EventId, &Item<'_>)| (item.header.clock, event);
        let mut settled = notes().filter(|(_, item)| is_settling(item)).map(key).max();
        let active = card.members.iter().filter(|member| self.active(member)).count();
        if card.kind == CardKind::Refused {
            card.open &= settled.is_none();
        } else if card.kind == CardKind::Proposed {
            card.open &= settled.is_none() && active > 0;
        } else if let Some(first) = card.members.first() {
            let resolves = self.pointing_at(first).filter(|(event, item)| {
                matches!(item.kind, EventKind::Resolve(act) if act != ResolveAct::Reviewed)
                    && self.effective(event)
                    && card.members.iter().all(|member| item.header.targets.contains(member))
            });
            settled = settled.max(resolves.map(key).max());
        }
        let snoozed =
            notes().filter(|(_, item)| is_local_kind(&item.kind, local::SNOOZE)).max_by_key(|note| key(*note));
        card.snoozed_until = snoozed.and_then(|(_, item)| local_note(item.body.as_ref()).until);
        card.moot = match card.kind {
            CardKind::Refused | CardKind::Proposed => active == 0,
            _ => !card.open && active < 2,
        };
        card.settled = if card.open { None } else { settled.map(|(_, event)| event) };
    }
}

fn is_candidate(item: &Item<'_>, scope: &Scope) -> bool {
    is_local_kind(&item.kind, local::REFUSED) && item.header.scope == *scope && item.header.seen.is_empty()
}

fn is_settling(item: &Item<'_>) -> bool {
    is_local_kind(&item.kind, local::SETTLED) || is_local_kind(&item.kind, local::DISCARD)
}
