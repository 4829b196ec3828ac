//! What acts cost beside many others, counted in the rows that SQLite goes on to.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use ed25519_dalek::SigningKey;

use crate::{
    domain::{
        Body, ClaimId, ClaimKind, EventKind, Norm, OpId, ResolveAct, Scope,
        guard_report::{ComparedClaim, Evidence, PairCheck},
        norm::IndexTerms,
    },
    store::{Act, Committed, EventDraft, Ref, Store, StoreOptions},
};

/// Nothing contradicts anything.
struct Blind;

impl PairCheck for Blind {
    fn version(&self) -> u32 {
        1
    }

    fn contradiction(&self, _: ComparedClaim<'_>, _: ComparedClaim<'_>) -> Option<Evidence> {
        None
    }

    fn index_terms(&self, _: &[Norm], _: &str) -> IndexTerms {
        IndexTerms::default()
    }
}

/// A store that counts.
struct Counting {
    store: Store,
    ops: u64,
    /// How often SQLite went on to another row, or to another statement.
    steps: Arc<AtomicU64>,
    _folder: tempfile::TempDir,
}

impl Counting {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ergo.db");
        let key = SigningKey::from_bytes(&[7; 32]);
        let mut store = Store::open_with(&path, key, Arc::new(Blind), StoreOptions { durable: false }).unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let counted = steps.clone();
        let count = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            false
        };
        store.reader.db.progress_handler(1, Some(count)).unwrap();
        Self { store, ops: 0, steps, _folder: folder }
    }

    fn act(&mut self, drafts: Vec<EventDraft>) -> Committed {
        self.ops += 1;
        let mut op = [0; 16];
        op[..8].copy_from_slice(&self.ops.to_be_bytes());
        let scope = Scope::new("acme", "api").unwrap();
        let now = 1_700_000_000_000 + self.ops * 1_000;
        let (who, op) = ("ada".to_owned(), OpId(op));
        self.store.commit(Act { scope, identity: None, who, agent: None, op, now, drafts }).unwrap()
    }

    fn claim(&mut self) -> ClaimId {
        let draft = claim(self.ops);
        self.act(vec![draft]).created[0]
    }

    /// Stores a claim that rests on another, as one act.
    fn dependent(&mut self, premise: ClaimId) -> ClaimId {
        let draft = claim(self.ops);
        self.act(vec![draft, EventDraft::new(EventKind::Depend, [Ref::Draft(0), premise.into()])]).created[0]
    }

    /// The rows that `run` costs.
    fn count<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> (u64, T) {
        let before = self.steps.load(Ordering::Relaxed);
        let done = run(self);
        (self.steps.load(Ordering::Relaxed) - before, done)
    }
}

fn claim(n: u64) -> EventDraft {
    let body = Body { statement: Some(format!("statement {n}")), reason: Some("r".into()), ..Body::default() };
    EventDraft { claim_kind: Some(ClaimKind::Decision), body, ..EventDraft::new(EventKind::Assert, []) }
}

/// What things cost beside so many claims that rest on one.
#[derive(Debug)]
struct Cost {
    /// One more that rests on it.
    one_more: u64,
    /// One that rests on one of those.
    behind_one: u64,
    /// The one that they rest on rests on another.
    beneath: u64,
    /// To read it.
    read: u64,
    /// To take back one that rests on it.
    one_less: u64,
    /// It gives way, for each that rests on it.
    fall: u64,
    /// To have looked at one of those.
    reviewed: u64,
}

fn cost(siblings: u64) -> Cost {
    let mut all = Counting::new();
    let premise = all.claim();
    let rest: Vec<ClaimId> = (0..siblings).map(|_| all.dependent(premise)).collect();
    let (one_more, last) = all.count(|all| all.dependent(premise));
    let (behind_one, _) = all.count(|all| all.dependent(rest[0]));
    let other = all.claim();
    let (beneath, _) =
        all.count(|all| all.act(vec![EventDraft::new(EventKind::Depend, [premise.into(), other.into()])]));
    let (read, row) = all.count(|all| all.store.reader().claim(&premise).unwrap().unwrap());
    assert_eq!(row.dependents as u64, siblings + 1);
    let newest = all.store.reader().dependents(&premise, 2).unwrap();
    assert_eq!(newest.iter().map(|row| row.id).collect::<Vec<_>>(), [last, *rest.last().unwrap()]);
    let (one_less, _) = all.count(|all| all.act(vec![EventDraft::new(EventKind::Retract, [last.into()])]));
    assert_eq!(all.store.reader().claim(&premise).unwrap().unwrap().dependents as u64, siblings);
    let (fall, fallen) = all.count(|all| all.act(vec![EventDraft::new(EventKind::Retract, [premise.into()])]));
    assert_eq!(fallen.needs_review.len() as u64, siblings + 1, "what rests on them too");
    let mut looked = EventDraft::new(EventKind::Resolve(ResolveAct::Reviewed), [rest[1].into()]);
    looked.seen = vec![fallen.events[0]];
    let (reviewed, _) = all.count(|all| all.act(vec![looked]));
    assert!(!all.store.reader().claim(&rest[1]).unwrap().unwrap().flags.needs_review);
    assert_eq!(all.store.check().unwrap().problems, Vec::<String>::new());
    Cost { one_more, behind_one, beneath, read, one_less, fall: fall / siblings, reviewed }
}

#[test]
fn one_more_claim_that_rests_on_another_costs_what_the_first_did() {
    let (few, many) = (cost(10), cost(400));
    for (what, few, many) in [
        ("one more", few.one_more, many.one_more),
        ("one behind one of them", few.behind_one, many.behind_one),
        ("another beneath it", few.beneath, many.beneath),
        ("a look at it", few.read, many.read),
        ("one less", few.one_less, many.one_less),
        ("its fall, for each", few.fall, many.fall),
        ("a review", few.reviewed, many.reviewed),
    ] {
        assert!(many <= few + few / 5, "{what}: {few} rows beside 10, {many} beside 400");
    }
}

/// Sets the fact `build`, in the place of `old`.
fn set(all: &mut Counting, old: &[ClaimId]) -> ClaimId {
    let key = Some("build".to_owned());
    let body = Body { statement: Some(format!("The build is {}", all.ops)), key, ..Body::default() };
    let targets = old.iter().copied().map(Ref::Id);
    let draft = EventDraft { claim_kind: Some(ClaimKind::Fact), body, ..EventDraft::new(EventKind::FactSet, targets) };
    all.act(vec![draft]).created[0]
}

#[test]
fn a_fact_costs_the_same_however_often_it_was_written_also_where_one_was_written_twice_at_once() {
    let cost = |times: u64| {
        let mut all = Counting::new();
        let first = set(&mut all, &[]);
        // Two devices that had not seen each other, and a third that had seen both.
        let (one, other) = (set(&mut all, &[first]), set(&mut all, &[first]));
        let mut head = set(&mut all, &[one, other]);
        for _ in 0..times {
            head = set(&mut all, &[head]);
        }
        let (rows, _) = all.count(|all| set(all, &[head]));
        assert_eq!(all.store.check().unwrap().problems, Vec::<String>::new());
        rows
    };
    let (few, many) = (cost(10), cost(400));
    assert!(many <= few + few / 5, "{few} rows after 10, {many} after 400");
}
