//! Projects the claims: their states, premises, contests and contradictions.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    convert::Infallible,
};

use super::{ClaimFacts, EventSet};
use crate::domain::{
    ClaimId, DeviceId, EventId, EventKind, Flags, Header, Norm, OpId, ResolveAct, Scope, Status,
    derive::{
        ActOnClaim, ClaimState, Contest, Lineage, LiveAct, Premise, PremisesOf, Settlement, causes, circles,
        claim_state, claim_state::claim_kind, contest, contest_of_key, local_note, pairs, replaced_at_creation,
    },
    guard_report::{ComparedClaim, PairCheck},
};

/// The replacements among the claims of one scope.
struct SuccessionLine<'a> {
    set: &'a EventSet<'a>,
    scope: &'a Scope,
}

impl SuccessionLine<'_> {
    fn state(&self, claim: &ClaimId) -> Option<&ClaimState> {
        let state = self.set.states.get(claim)?;
        (self.set.events.get(claim)?.header.scope == *self.scope).then_some(state)
    }
}

impl Lineage for SuccessionLine<'_> {
    type Error = Infallible;

    fn successors(&self, claim: &ClaimId) -> Result<Vec<ClaimId>, Infallible> {
        Ok(self.state(claim).into_iter().flat_map(|state| &state.live).filter_map(|act| act.successor).collect())
    }

    fn is_active(&self, claim: &ClaimId) -> Result<bool, Infallible> {
        Ok(self.state(claim).is_some_and(|state| state.status == Status::Active))
    }

    fn live_acts(&self, claim: &ClaimId) -> Result<Vec<LiveAct>, Infallible> {
        Ok(self.state(claim).map(|state| state.live.clone()).unwrap_or_default())
    }

    fn is_settled(&self, one: &ClaimId, other: &ClaimId) -> Result<bool, Infallible> {
        Ok(self.set.is_settled(one, other))
    }
}

impl EventSet<'_> {
    pub(super) fn find_states(&mut self) {
        let mut created: HashMap<(OpId, DeviceId), Vec<ClaimId>> = HashMap::new();
        for (id, item) in &self.events {
            if !item.header.creates_claim() {
                continue;
            }
            let acts: Vec<ActOnClaim> = self
                .events_targeting(id)
                .filter(|(from, _)| self.effective(from))
                .filter_map(|(from, by)| ActOnClaim::of(*id, item.header, from, by.header))
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
                    targets: item.header.targets.clone(),
                    created: with.filter(|claim| self.events[claim].header.scope == item.header.scope).collect(),
                };
                for claim in settlement.targets.iter().chain(&settlement.created).collect::<BTreeSet<_>>() {
                    self.settled.entry(*claim).or_default().push(self.settlements.len());
                }
                self.settlements.push(settlement);
            }
        }
    }

    /// Collects the narrowings of claims of the organisation's level. Redacted ones are ignored, because their data is gone.
    pub(super) fn find_narrowings(&mut self) {
        for (id, item) in &self.events {
            if item.kind == EventKind::Resolve(ResolveAct::Narrow)
                && let Some(claim) = local_note(item.body.as_ref()).narrows
                && item.header.targets.contains(&claim)
            {
                self.narrowings.entry(claim).or_default().push(*id);
            }
        }
    }

    /// Returns the targets that are claims of the same scope or of its organisation's level.
    pub(super) fn members(&self, header: &Header) -> Vec<ClaimId> {
        let mut members = header.targets.clone();
        members.retain(|id| self.states.contains_key(id) && header.scope.takes(&self.events[id].header.scope));
        members
    }

    /// Returns the scopes whose events can settle a pair of claims: their common scope; or the project, if one claim is its organisation's;
    /// or both projects of one organisation. Empty if they are of two organisations, or unknown.
    pub(super) fn scopes_of_pair(&self, one: &ClaimId, other: &ClaimId) -> Vec<&Scope> {
        let scope_of = |id: &ClaimId| self.states.contains_key(id).then(|| &self.events[id].header.scope);
        let (Some(one), Some(other)) = (scope_of(one), scope_of(other)) else { return Vec::new() };
        match (one.takes(other), other.takes(one)) {
            (true, _) => vec![one],
            (false, true) => vec![other],
            (false, false) if one.org_id == other.org_id => vec![one, other],
            (false, false) => Vec::new(),
        }
    }

    /// Returns the scope of a derived card of two claims: their common scope, or the project, if one claim is its organisation's.
    pub(super) fn scope_of_pair(&self, one: &ClaimId, other: &ClaimId) -> Option<&Scope> {
        let [scope]: [&Scope; 1] = self.scopes_of_pair(one, other).try_into().ok()?;
        Some(scope)
    }

    pub(super) fn claims(&self) -> BTreeMap<ClaimId, ClaimFacts> {
        let premises_of = self.premises_of();
        let mut dependents: BTreeMap<ClaimId, BTreeSet<ClaimId>> = BTreeMap::new();
        for (claim, own) in premises_of.iter().filter(|(claim, _)| self.active(claim)) {
            for premise in &own.premises {
                dependents.entry(premise.id).or_default().insert(*claim);
            }
        }
        let mut causes = causes(&premises_of, &BTreeMap::new());
        self.states
            .iter()
            .map(|(id, state)| {
                let item = &self.events[id];
                let causes = causes.remove(id).unwrap_or_default();
                let active = state.status == Status::Active;
                let excepted = active
                    && self.settlements_of(id).any(|settlement| {
                        settlement.act == ResolveAct::Exception
                            && self.events[&settlement.event].header.scope == item.header.scope
                            && settlement.targets.contains(id)
                            && self
                                .members(self.events[&settlement.event].header)
                                .iter()
                                .any(|other| other != id && self.active(other))
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
                    premises: premises_of.get(id).into_iter().flat_map(|own| &own.premises).map(|p| p.id).collect(),
                    dependents: dependents.remove(id).unwrap_or_default(),
                    causes,
                };
                (*id, facts)
            })
            .collect()
    }

    fn premises_of(&self) -> BTreeMap<ClaimId, PremisesOf> {
        let mut premises_of: BTreeMap<ClaimId, PremisesOf> = BTreeMap::new();
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
                    let own = premises_of.entry(*claim).or_default();
                    for premise in premises.iter().filter(|premise| *premise != claim && claim_of(premise)) {
                        if own.premises.iter().all(|known| known.id != *premise) {
                            own.premises.push(Premise { id: *premise, broken_by: self.broken_by(premise) });
                        }
                    }
                }
                EventKind::Resolve(ResolveAct::Reviewed) => {
                    for claim in item.header.targets.iter().filter(|target| claim_of(target)) {
                        premises_of.entry(*claim).or_default().acknowledged.extend(&item.header.seen);
                    }
                }
                _ => {}
            }
        }
        premises_of
    }

    fn broken_by(&self, premise: &ClaimId) -> Vec<EventId> {
        self.states.get(premise).map(|state| state.broken_by(*premise)).unwrap_or_default()
    }

    /// Returns the contests, each with its origin: a claim, or `None` for a fact's key and for a circle.
    pub(super) fn contests(&self) -> Vec<(Option<ClaimId>, Scope, Contest)> {
        let mut found = Vec::new();
        let mut keys: BTreeMap<(&Scope, EventId), Vec<ClaimId>> = BTreeMap::new();
        let mut replaced: BTreeMap<&Scope, Vec<ClaimId>> = BTreeMap::new();
        for (id, state) in &self.states {
            let header = self.events[id].header;
            if state.live.iter().any(|act| act.successor.is_some()) {
                replaced.entry(&header.scope).or_default().push(*id);
            }
            if claim_kind(header).is_guarded() {
                let line = SuccessionLine { set: self, scope: &header.scope };
                let Ok(contest) = contest(*id, replaced_at_creation(header), state, &line);
                found.extend(contest.map(|contest| (Some(*id), header.scope.clone(), contest)));
            } else if let (Status::Active, Some(key)) = (state.status, header.key_hash) {
                keys.entry((&header.scope, key)).or_default().push(*id);
            }
        }
        for ((scope, _), facts) in keys {
            let Ok(contest) = contest_of_key(facts, &SuccessionLine { set: self, scope });
            found.extend(contest.map(|contest| (None, scope.clone(), contest)));
        }
        for (scope, claims) in replaced {
            let Ok(circles) = circles(claims, &SuccessionLine { set: self, scope });
            found.extend(circles.into_iter().map(|circle| (None, scope.clone(), circle)));
        }
        found
    }

    pub(super) fn contradictions(&self, check: &dyn PairCheck) -> Vec<[ClaimId; 2]> {
        let mut sharing: BTreeMap<(&str, String), Vec<ClaimId>> = BTreeMap::new();
        for id in self.states.keys() {
            let header = self.events[id].header;
            if !self.active(id) || !claim_kind(header).is_guarded() {
                continue;
            }
            let Some(body) = &self.events[id].body else { continue };
            let terms = check.index_terms(self.norms(id), body.statement.as_deref().unwrap_or_default());
            for key in terms.pairs {
                sharing.entry((header.scope.org_id.as_str(), key)).or_default().push(*id);
            }
        }
        let mut found = BTreeSet::new();
        for claims in sharing.values() {
            for (one, other) in pairs(claims) {
                let pair = [one.min(other), one.max(other)];
                if one != other
                    && self.scope_of_pair(&one, &other).is_some()
                    && !self.is_narrowed(&one, &other)
                    && !self.is_narrowed(&other, &one)
                    && !self.is_settled(&one, &other)
                    && check.contradiction(self.carried(&one), self.carried(&other)).is_some()
                {
                    found.insert(pair);
                }
            }
        }
        found.into_iter().collect()
    }

    /// Returns whether the first claim is of the organisation's level, and the project of the second one has narrowed it for itself.
    fn is_narrowed(&self, claim: &ClaimId, beside: &ClaimId) -> bool {
        let (level, project) = (&self.events[claim].header.scope, &self.events[beside].header.scope);
        level != project
            && project.takes(level)
            && self.narrowings.get(claim).into_iter().flatten().any(|event| {
                let header = self.events[event].header;
                let stands = header.targets.first().is_some_and(|instead| {
                    self.states.get(instead).is_some_and(|state| state.status != Status::Retracted)
                        && self.events[instead].header.scope == *project
                });
                header.scope == *project && self.effective(event) && stands
            })
    }

    pub(super) fn carried(&self, id: &EventId) -> ComparedClaim<'_> {
        let Some(item) = self.events.get(id) else { return ComparedClaim::default() };
        let statement = item.body.as_ref().and_then(|body| body.statement.as_deref()).unwrap_or_default();
        ComparedClaim {
            kind: claim_kind(item.header),
            statement,
            norms: self.norms(id),
            written: item.header.clock.wall,
        }
    }

    fn norms(&self, id: &EventId) -> &[Norm] {
        self.events.get(id).and_then(|item| item.body.as_ref()?.norms.as_deref()).unwrap_or_default()
    }
}
