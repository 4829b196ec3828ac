//! Property tests: what a team accepts depends on the set of events alone, not on their order or batches.

use std::collections::BTreeMap;

use ergo::{
    domain::{
        EventId, EventKind, SignedEvent, Status,
        roster::{Grant, Granted, Refusal, Role, RosterChange, is_roster_scope},
    },
    store::{ClaimFilter, SyncImport},
};
use proptest::prelude::*;

use super::{
    support::*,
    team::{Peer, all_after},
};
use crate::support::random::Random;

/// One random step: who does something, what, and to whom.
#[derive(Clone, Debug)]
struct Step {
    by: usize,
    what: u8,
    on: usize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0..3usize, 0..15u8, 0..3usize).prop_map(|(by, what, on)| Step { by, what, on }), 5..40)
}

/// Three devices that act, meet now and then, and fall out; two that will be told everything.
struct World {
    actors: Vec<Fixture>,
    team: EventId,
    start: Vec<SignedEvent>,
}

impl World {
    fn new(observers: &[&Fixture]) -> Self {
        let mut actors = vec![Fixture::of(1), Fixture::of(2), Fixture::of(3)];
        actors[0].add(decision("s0", "1"));
        let team = actors[0].found();
        actors[0].adopt(team, "api");
        let (first, others) = actors.split_at_mut(1);
        for other in others.iter() {
            first[0].admit(team, other, Role::Writer);
        }
        for observer in observers {
            first[0].admit(team, observer, Role::Writer);
        }
        for other in others {
            other.join(team, &first[0]);
            other.pull(team, &first[0]);
        }
        let start = actors[0].roster_events(team);
        Self { actors, team, start }
    }

    fn play(&mut self, step: &Step, n: usize) {
        let team = self.team;
        let on = self.actors[step.on].device();
        let cuts = self.actors[step.by].store.reader().cuts_of(&team, &on).unwrap();
        let actor = &mut self.actors[step.by];
        let grant = |role| Grant { role, scopes: Granted::All };
        match step.what {
            0..=3 => {
                actor.add(decision(&format!("s{}", n % 4), &format!("{}", step.what)));
            }
            4 | 5 => {
                let filter =
                    ClaimFilter { scope: Some(scope("api")), status: Some(Status::Active), ..ClaimFilter::default() };
                if let Some(row) = actor.store.reader().claims(&filter, 9, None).unwrap().items.get(n % 3) {
                    let kind = if step.what == 4 { EventKind::Retract } else { EventKind::Redact };
                    actor.act(vec![on_(kind, row.id)]);
                }
            }
            6 => drop(actor.change(Some(team), RosterChange::Grant { device: on, grant: grant(Role::Reader), cuts })),
            7 => drop(
                actor.change(Some(team), RosterChange::Grant { device: on, grant: grant(Role::Admin), cuts: vec![] }),
            ),
            8 => drop(actor.change(Some(team), RosterChange::Revoke { device: on, cuts })),
            9 | 14 => {
                let (person, name) = ("again".into(), "again".into());
                let role = if step.what == 9 { Role::Writer } else { Role::Reader };
                actor.change(Some(team), RosterChange::Add { device: on, person, name, grant: grant(role) });
            }
            10 => {
                let held = actor.store.reader().quarantined(&team, 2, 0).unwrap();
                let events = held.iter().map(|row| row.event.id).collect();
                actor.change(Some(team), RosterChange::Accept { events });
            }
            _ if step.by != step.on => {
                let mut puller = std::mem::replace(&mut self.actors[step.by], Fixture::of(9));
                puller.pull(team, &self.actors[step.on]);
                self.actors[step.by] = puller;
            }
            _ => {}
        }
    }

    /// Everything that anybody wrote for the team, with its words while anybody has them.
    fn everything(&self) -> Vec<SignedEvent> {
        let mut all: BTreeMap<EventId, SignedEvent> = BTreeMap::new();
        for actor in &self.actors {
            let held = actor.store.reader().quarantined(&self.team, 999, 0).unwrap();
            for event in actor.events().into_iter().chain(held.into_iter().map(|row| row.event)) {
                let ours = event.header.team.is_some() || is_roster_scope(&event.header.scope) || event.header.seq == 0;
                if ours && !matches!(event.header.kind, EventKind::Local(_)) {
                    let known = all.entry(event.id).or_insert_with(|| event.clone());
                    if known.body.is_none() {
                        known.body = event.body;
                    }
                }
            }
        }
        all.into_values().collect()
    }
}

fn on_(kind: EventKind, id: EventId) -> ergo::store::EventDraft {
    on(kind, &[id], "since")
}

/// Imports everything into a store, in an order and in batches that follow from `seed`.
fn tell(observer: &mut Fixture, world: &World, mut events: Vec<SignedEvent>, seed: u64) {
    observer.store.join_team(world.team, &world.start, None, 1).unwrap();
    let mut random = Random::new(seed);
    random.shuffle(&mut events);
    let (whole, team, now) = (events.clone(), world.team, 1 << 44);
    let mut take = |events| {
        observer
            .store
            .import_synced(&SyncImport { team, from: None, events, document: None, peer: None, now })
            .unwrap();
    };
    while !events.is_empty() {
        let size = 1 + random.below(events.len().min(9));
        take(events.split_off(events.len() - size));
    }
    // A redaction that was taken first and put aside later has dropped words, which are asked for again.
    take(whole);
}

fn refused(f: &Fixture, team: EventId) -> BTreeMap<EventId, Refusal> {
    let held = f.store.reader().quarantined(&team, 999, 0).unwrap();
    held.into_iter().map(|row| (row.event.id, row.refusal)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_a_team_takes_depends_on_the_events_alone(steps in steps(), seeds in any::<(u64, u64)>()) {
        let (mut d, mut e) = (Fixture::of(4), Fixture::of(5));
        let mut world = World::new(&[&d, &e]);
        for (n, step) in steps.iter().enumerate() {
            world.play(step, n);
        }
        let events = world.everything();
        tell(&mut d, &world, events.clone(), seeds.0);
        tell(&mut e, &world, events, seeds.1);
        let team = world.team;
        let (ours, theirs) = (d.store.reader(), e.store.reader());
        prop_assert_eq!(ours.roster(&team).unwrap(), theirs.roster(&team).unwrap());
        prop_assert_eq!(refused(&d, team), refused(&e, team));
        prop_assert_eq!(d.shared(team, "api"), e.shared(team, "api"));
        prop_assert_eq!(ours.vector(&team, &scope("api")).unwrap(), theirs.vector(&team, &scope("api")).unwrap());
        prop_assert_eq!(ours.projection().unwrap(), theirs.projection().unwrap());
        prop_assert_eq!(d.store.check().unwrap().problems, Vec::<String>::new());
        // Withdrawing events one by one gives the same as a rebuild from the remaining events.
        for store in [&mut d, &mut e] {
            let before = seen(store);
            store.store.rebuild().unwrap();
            prop_assert_eq!(before, seen(store));
        }
    }
}

#[test]
fn a_device_that_joins_with_its_clock_far_behind_has_the_whole_roster_in_its_log() {
    let (mut a, mut b) = (Fixture::of(1), Fixture::of(2));
    let team = a.found();
    a.adopt(team, "api");
    a.admit(team, &b, Role::Writer);
    a.add(decision("port", "80"));
    // Its clock is at the beginning of time: whatever anybody wrote lies ahead of it.
    b.store.join_team(team, &a.roster_events(team), Some(a.device()), 1).unwrap();
    assert_eq!(refused(&b, team), BTreeMap::new());
    assert_eq!(b.store.reader().roster(&team).unwrap(), a.store.reader().roster(&team).unwrap());
    // Then it is set right, and claims come before anything of the roster does again.
    b.take(team, all_after(&a, team, &scope("api"), &[]));
    assert_eq!(refused(&b, team), BTreeMap::new());
    assert_eq!((b.shared(team, "api").0, b.shared(team, "api")), (1, a.shared(team, "api")));
    assert_eq!(b.store.check().unwrap().problems, Vec::<String>::new());
}

/// All that reads show of a store: what is derived, the lists and their counts, the text index, what is compared with a write.
fn seen(f: &Fixture) -> impl PartialEq + std::fmt::Debug + use<> {
    let reader = f.store.reader();
    let filter = ClaimFilter { scope: Some(scope("api")), ..ClaimFilter::default() };
    let list = reader.claims(&filter, 200, None).unwrap();
    let found = |word: &str| {
        let page = reader.search(&filter, word, 200, None).unwrap();
        page.items.iter().map(|row| row.id).collect::<std::collections::BTreeSet<_>>()
    };
    let words: Vec<_> = ["s0", "s1", "s2", "s3"].into_iter().map(found).collect();
    let ids: Vec<_> = list.items.iter().map(|row| (row.id, row.status, row.flags, row.replaced_by.clone())).collect();
    (reader.projection().unwrap(), ids, list.total, words, reader.scopes(0).unwrap())
}
