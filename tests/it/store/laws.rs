//! Property tests: the projection is a function of the set of events alone.

use ergo::{
    domain::{
        Body, CardId, ClaimKind, EventId, EventKind, OpId, ResolveAct, SignedEvent,
        derive::{Projection, local, project},
    },
    store::{EventDraft, Ref},
};
use proptest::prelude::*;

use super::support::{Fixture, Plain, body, claim, fact, local_kind, on, supersede, undo};
use crate::support::random::Random;

/// One act of a random history. Numbers select among the existing things, whatever their state: even acts that nobody
/// would do in this order can arrive from devices that had not synced.
#[derive(Clone, Debug)]
enum Step {
    Assert(u8, u8, bool),
    Fact(u8, u8, bool),
    Supersede(Vec<usize>, u8, u8),
    Replace(usize, usize),
    Retract(usize, bool),
    Reinstate(usize),
    Depend(usize, Vec<usize>),
    Reviewed(usize),
    Resolve(ResolveAct, usize, usize),
    Narrow(usize, usize, u8),
    NarrowHere(usize, u8),
    Exception(u8, u8, usize),
    Undo(usize),
    Redact(usize),
    Refuse(u8, u8, usize),
    RefuseAgain(usize, usize),
    Store(usize, usize),
    Discard(usize),
    Snooze(usize, u64),
    RedactLocal(usize),
    Found(usize, usize),
    SettleFound(usize, usize),
    Propose(usize),
    SettleProposed(usize, bool),
}

fn step() -> impl Strategy<Value = Step> {
    use Step::*;
    let n = || 0..64usize;
    prop_oneof![
        6 => (0..3u8, 0..3u8, any::<bool>()).prop_map(|(s, v, must)| Assert(s, v, must)),
        2 => (0..2u8, 0..4u8, any::<bool>()).prop_map(|(k, v, sees)| Fact(k, v, sees)),
        4 => (prop::collection::vec(n(), 1..3), 0..3u8, 0..3u8).prop_map(|(t, s, v)| Supersede(t, s, v)),
        2 => (n(), n()).prop_map(|(a, b)| Replace(a, b)),
        2 => (n(), any::<bool>()).prop_map(|(a, sees)| Retract(a, sees)),
        2 => n().prop_map(Reinstate),
        3 => (n(), prop::collection::vec(n(), 1..3)).prop_map(|(a, b)| Depend(a, b)),
        1 => n().prop_map(Reviewed),
        2 => (prop_oneof![
                Just(ResolveAct::Exception), Just(ResolveAct::Dismiss), Just(ResolveAct::Supersede)
            ], n(), n()).prop_map(|(act, a, b)| Resolve(act, a, b)),
        1 => (n(), n(), 0..3u8).prop_map(|(a, b, v)| Narrow(a, b, v)),
        1 => (n(), 0..3u8).prop_map(|(a, v)| NarrowHere(a, v)),
        1 => (0..3u8, 0..3u8, n()).prop_map(|(s, v, a)| Exception(s, v, a)),
        4 => n().prop_map(Undo),
        1 => n().prop_map(Redact),
        2 => (0..3u8, 0..3u8, n()).prop_map(|(s, v, a)| Refuse(s, v, a)),
        1 => (n(), n()).prop_map(|(r, a)| RefuseAgain(r, a)),
        1 => (n(), n()).prop_map(|(r, a)| Store(r, a)),
        1 => n().prop_map(Discard),
        1 => (n(), 0..3u64).prop_map(|(r, until)| Snooze(r, until)),
        1 => n().prop_map(RedactLocal),
        1 => (n(), n()).prop_map(|(a, b)| Found(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| SettleFound(a, b)),
        2 => n().prop_map(Propose),
        2 => (n(), any::<bool>()).prop_map(|(p, accept)| SettleProposed(p, accept)),
    ]
}

/// A store with a random history, and each event as it was when it was made.
struct History {
    fixture: Fixture,
    claims: Vec<EventId>,
    refusals: Vec<EventId>,
    proposals: Vec<EventId>,
    ops: Vec<OpId>,
    events: Vec<SignedEvent>,
}

fn subject(n: u8) -> String {
    format!("subject{n}")
}

fn value(n: u8) -> String {
    format!("value{n}")
}

impl History {
    fn new(steps: &[Step]) -> Self {
        let mut history = Self {
            fixture: Fixture::new(),
            claims: Vec::new(),
            refusals: Vec::new(),
            proposals: Vec::new(),
            ops: Vec::new(),
            events: Vec::new(),
        };
        for (turn, step) in steps.iter().enumerate() {
            // Every seventh act happens elsewhere, and some at the organisation's level; all may point across.
            let place = match turn % 7 {
                6 => "web",
                1 | 4 => "*",
                _ => "api",
            };
            history.take(step, place);
        }
        history
    }

    fn claim(&self, n: usize) -> Option<EventId> {
        (!self.claims.is_empty()).then(|| self.claims[n % self.claims.len()])
    }

    fn refusal(&self, n: usize) -> Option<EventId> {
        (!self.refusals.is_empty()).then(|| self.refusals[n % self.refusals.len()])
    }

    fn live(&self, claim: EventId) -> Vec<EventId> {
        self.fixture.store.reader().claim(&claim).unwrap().map(|row| row.live_acts).unwrap_or_default()
    }

    fn drafts(&self, step: &Step) -> Option<Vec<EventDraft>> {
        let decision = |s: u8, v: u8| claim(ClaimKind::Decision, body(&subject(s), &value(v), true));
        Some(match step {
            Step::Assert(s, v, must) => vec![claim(ClaimKind::Constraint, body(&subject(*s), &value(*v), *must))],
            Step::Fact(k, v, sees) => {
                let name = format!("key{k}");
                let hash = ergo::domain::event::key_hash(&name);
                let heads = self.fixture.store.reader().fact_heads(&super::support::scope("api"), &hash).unwrap();
                vec![fact(&name, &value(*v), heads.iter().filter(|_| *sees).map(|head| head.id))]
            }
            Step::Supersede(targets, s, v) => {
                let targets: Option<Vec<_>> = targets.iter().map(|n| self.claim(*n)).collect();
                vec![supersede(&targets?, decision(*s, *v))]
            }
            Step::Replace(a, b) => {
                let mut draft = on(EventKind::Supersede, &[self.claim(*a)?], "the other holds");
                draft.successor = Some(Ref::Id(self.claim(*b)?));
                vec![draft]
            }
            Step::Retract(a, sees) => {
                let target = self.claim(*a)?;
                let mut draft = on(EventKind::Retract, &[target], "wrong at birth");
                if *sees {
                    draft.seen = self.live(target);
                }
                vec![draft]
            }
            Step::Reinstate(a) => {
                let target = self.claim(*a)?;
                let mut draft = on(EventKind::Reinstate, &[target], "it holds after all");
                draft.seen = self.live(target);
                vec![draft]
            }
            Step::Depend(a, premises) => {
                let mut targets = vec![self.claim(*a)?];
                targets.extend(premises.iter().filter_map(|n| self.claim(*n)));
                vec![on(EventKind::Depend, &targets, "rests on")]
            }
            Step::Reviewed(a) => {
                let target = self.claim(*a)?;
                let mut draft = on(EventKind::Resolve(ResolveAct::Reviewed), &[target], "still holds");
                draft.seen = self.fixture.store.reader().claim(&target).unwrap()?.causes;
                vec![draft]
            }
            Step::Resolve(act, a, b) => {
                vec![on(EventKind::Resolve(*act), &[self.claim(*a)?, self.claim(*b)?], "settled")]
            }
            Step::Narrow(a, b, v) => {
                let (a, b) = (self.claim(*a)?, self.claim(*b)?);
                vec![
                    supersede(&[a], decision(0, *v)),
                    on(EventKind::Resolve(ResolveAct::Narrow), &[a, b], "only there"),
                ]
            }
            Step::NarrowHere(a, v) => {
                let claim = self.claim(*a)?;
                let mut narrow = on(EventKind::Resolve(ResolveAct::Narrow), &[claim], "only there");
                narrow.targets.insert(0, Ref::Draft(0));
                narrow.body.data = Some(format!(r#"{{"narrows":"{}"}}"#, claim.to_hex()));
                vec![decision(0, *v), narrow]
            }
            Step::Exception(s, v, a) => {
                let mut resolve = on(EventKind::Resolve(ResolveAct::Exception), &[self.claim(*a)?], "for now");
                resolve.targets.push(Ref::Draft(0));
                vec![decision(*s, *v), resolve]
            }
            Step::Undo(n) => {
                let op = self.ops.get(n % self.ops.len().max(1))?;
                undo(&self.fixture.store, op)
            }
            Step::Redact(a) => vec![on(EventKind::Redact, &[self.claim(*a)?], "a secret")],
            Step::Refuse(s, v, a) => {
                let mut draft = on(local_kind(local::REFUSED), &[self.claim(*a)?], "");
                draft.claim_kind = Some(ClaimKind::Decision);
                draft.body = Body { data: Some("{}".into()), ..body(&subject(*s), &value(*v), true) };
                vec![draft]
            }
            Step::RefuseAgain(r, a) => {
                let new_claim = self.refusal(*r)?;
                let mut draft = on(local_kind(local::REFUSED), &[self.claim(*a)?], "");
                draft.claim_kind = Some(ClaimKind::Decision);
                draft.seen = vec![new_claim];
                draft.body = self.fixture.store.reader().event(&new_claim).unwrap()?.body.unwrap_or_default();
                vec![draft]
            }
            Step::Store(r, a) => {
                let new_claim = self.refusal(*r)?;
                let mut resolve = on(EventKind::Resolve(ResolveAct::Dismiss), &[self.claim(*a)?], "no conflict");
                resolve.targets.push(Ref::Draft(0));
                let mut settled = on(local_kind(local::SETTLED), &[new_claim], "no conflict");
                settled.successor = Some(Ref::Draft(0));
                settled.body.data = Some(r#"{"act":"dismiss"}"#.into());
                vec![decision(0, 0), resolve, settled]
            }
            Step::Discard(r) => vec![on(local_kind(local::DISCARD), &[self.refusal(*r)?], "dropped")],
            Step::Snooze(r, until) => {
                let mut draft = on(local_kind(local::SNOOZE), &[self.refusal(*r)?], "");
                draft.body.data = Some(format!(r#"{{"until":{until}}}"#));
                vec![draft]
            }
            Step::RedactLocal(r) => vec![on(local_kind(local::REDACT), &[self.refusal(*r)?], "a secret")],
            Step::Found(a, b) => {
                let mut draft = on(local_kind(local::FOUND), &[self.claim(*a)?, self.claim(*b)?], "");
                draft.body.data = Some("{}".into());
                vec![draft]
            }
            Step::SettleFound(a, b) => {
                vec![on(local_kind(local::SETTLED), &[self.claim(*a)?, self.claim(*b)?], "seen")]
            }
            Step::Propose(a) => vec![on(local_kind(local::PROPOSED), &[self.claim(*a)?], "an agent doubts it")],
            Step::SettleProposed(p, accept) => {
                let proposal = *self.proposals.get(p % self.proposals.len().max(1))?;
                let target = self.fixture.store.reader().event(&proposal).unwrap()?.targets[0];
                let mut settled = on(local_kind(local::SETTLED), &[target], "decided");
                settled.body.data = Some(format!(r#"{{"card":"{}"}}"#, CardId::of_members(&[proposal])));
                let mut drafts = vec![settled];
                if *accept {
                    drafts.push(on(EventKind::Retract, &[target], "an agent doubts it"));
                }
                drafts
            }
        })
    }

    fn take(&mut self, step: &Step, place: &str) {
        let Some(drafts) = self.drafts(step) else { return };
        if drafts.is_empty() {
            return;
        }
        let first_refusal = matches!(step, Step::Refuse(..));
        let proposal = matches!(step, Step::Propose(..));
        let done = self.fixture.act_in(place, drafts);
        self.claims.extend(&done.created);
        if first_refusal {
            self.refusals.push(done.events[0]);
        }
        if proposal {
            self.proposals.push(done.events[0]);
        }
        self.ops.push(done.op);
        for (_, event) in self.fixture.store.reader().signed_events(self.events.len() as u64, 64).unwrap() {
            self.events.push(event);
        }
    }

    fn projection(&self) -> Projection {
        self.fixture.store.reader().projection().unwrap()
    }
}

/// The differences between two projections, short enough to read.
fn difference(ours: &Projection, theirs: &Projection) -> Vec<String> {
    let mut found = Vec::new();
    for id in ours.claims.keys().chain(theirs.claims.keys()) {
        if ours.claims.get(id) != theirs.claims.get(id) {
            found.push(format!("claim {id:?}: {:?} or {:?}", ours.claims.get(id), theirs.claims.get(id)));
        }
    }
    for id in ours.cards.keys().chain(theirs.cards.keys()) {
        if ours.cards.get(id) != theirs.cards.get(id) {
            found.push(format!("card {id:?}: {:?} or {:?}", ours.cards.get(id), theirs.cards.get(id)));
        }
    }
    found.extend(ours.undone.symmetric_difference(&theirs.undone).map(|id| format!("undone {id:?}")));
    found.extend(ours.redacted.symmetric_difference(&theirs.redacted).map(|id| format!("redacted {id:?}")));
    found
}

/// The events of a history as another store has them, that got them in another order, a few at a time, and some of them twice.
fn elsewhere(history: &History, order: &[(prop::sample::Index, usize)], seed: u64) -> Fixture {
    let mut shuffled = history.events.clone();
    Random::new(seed).shuffle(&mut shuffled);
    for (index, _) in order.iter().take(if history.events.is_empty() { 0 } else { 5 }) {
        let again = index.get(&history.events).clone();
        shuffled.push(again);
    }
    let mut other = Fixture::new();
    let mut rest = shuffled.as_slice();
    for (_, size) in order.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (batch, after) = rest.split_at((*size).min(rest.len()));
        other.store.restore(batch, 1).unwrap();
        rest = after;
    }
    other
}

/// A dozen claims, most of which rest on the first; then what may happen to such.
fn crowd() -> impl Strategy<Value = Vec<Step>> {
    use Step::*;
    const CROWD: usize = 12;
    let n = || 0..CROWD;
    let happens = prop_oneof![
        3 => (n(), n()).prop_map(|(a, b)| Depend(a, vec![b])),
        2 => Just(Retract(0, true)),
        1 => n().prop_map(|a| Retract(a, false)),
        2 => Just(Reinstate(0)),
        1 => n().prop_map(Reinstate),
        2 => n().prop_map(Reviewed),
        1 => (n(), 0..3u8).prop_map(|(a, v)| Supersede(vec![a], 0, v)),
        3 => (0..64usize).prop_map(Undo),
    ];
    prop::collection::vec(happens, 1..14).prop_map(|happens| {
        let claims = (0..CROWD).map(|n| Fact(n as u8, 0, false));
        let rest = (1..CROWD).filter(|n| n % 5 != 4).map(|n| Depend(n, vec![0]));
        claims.chain(rest).chain(happens).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_writers_store_is_what_its_events_mean(steps in prop::collection::vec(step(), 1..28)) {
        let history = History::new(&steps);
        prop_assert_eq!(difference(&history.projection(), &project(&history.events, &Plain)), Vec::<String>::new());
    }

    #[test]
    fn any_order_and_any_repeats_mean_the_same(
        (steps, order) in prop::collection::vec(step(), 1..22).prop_flat_map(|steps| {
            (Just(steps), prop::collection::vec((any::<prop::sample::Index>(), 1..4usize), 60))
        }),
        seed in any::<u64>(),
    ) {
        let history = History::new(&steps);
        let other = elsewhere(&history, &order, seed).store.reader().projection().unwrap();
        prop_assert_eq!(difference(&other, &history.projection()), Vec::<String>::new());
    }

    #[test]
    fn many_that_rest_on_one_are_what_their_events_mean_in_any_order(
        steps in crowd(),
        order in prop::collection::vec((any::<prop::sample::Index>(), 1..4usize), 60),
        seed in any::<u64>(),
    ) {
        let history = History::new(&steps);
        let meant = project(&history.events, &Plain);
        prop_assert_eq!(difference(&history.projection(), &meant), Vec::<String>::new());
        let other = elsewhere(&history, &order, seed);
        prop_assert_eq!(difference(&other.store.reader().projection().unwrap(), &meant), Vec::<String>::new());
        prop_assert_eq!(other.store.check().unwrap().problems, Vec::<String>::new());
    }

    #[test]
    fn the_past_is_what_the_events_up_to_then_mean(
        steps in prop::collection::vec(step(), 1..22),
        cut in any::<prop::sample::Index>(),
    ) {
        let history = History::new(&steps);
        let mut events = history.fixture.events();
        if events.is_empty() {
            return Ok(());
        }
        let then = cut.get(&events).header.clock.wall;
        events.retain(|event| event.header.clock.wall <= then);
        let reader = history.fixture.store.reader();
        let whole = reader.past(None, then).unwrap().projection().unwrap();
        prop_assert_eq!(difference(&whole, &project(&events, &Plain)), Vec::<String>::new());
        let api = super::support::scope("api");
        events.retain(|event| api.takes(&event.header.scope));
        let part = reader.past(Some(&api), then).unwrap().projection().unwrap();
        prop_assert_eq!(difference(&part, &project(&events, &Plain)), Vec::<String>::new());
    }

    #[test]
    fn a_rebuild_changes_nothing(steps in prop::collection::vec(step(), 1..28)) {
        let mut history = History::new(&steps);
        let before = history.projection();
        history.fixture.store.rebuild().unwrap();
        prop_assert_eq!(difference(&history.projection(), &before), Vec::<String>::new());
        let report = history.fixture.store.check().unwrap();
        prop_assert_eq!(report.problems, Vec::<String>::new());
        prop_assert_eq!(report.notes, Vec::<String>::new());
    }
}
