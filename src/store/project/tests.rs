//! Checks that acts do not cost more in a store with many related claims, counted in steps of SQLite.

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
    store::{Act, Committed, EventDraft, NearbyQuery, Ref, Store, StoreOptions, project::phrase_key},
};

/// A guard that finds no contradictions.
struct NoContradictions;

impl PairCheck for NoContradictions {
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

/// A store that counts the steps of SQLite.
struct CountingStore {
    store: Store,
    ops: u64,
    /// The number of SQLite's progress callbacks.
    steps: Arc<AtomicU64>,
    _folder: tempfile::TempDir,
}

impl CountingStore {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ergo.db");
        let key = SigningKey::from_bytes(&[7; 32]);
        let mut store =
            Store::open_with(&path, key, Arc::new(NoContradictions), StoreOptions { durable: false }).unwrap();
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

    /// Stores a claim that depends on another, as one act.
    fn dependent(&mut self, premise: ClaimId) -> ClaimId {
        let draft = claim(self.ops);
        self.act(vec![draft, EventDraft::new(EventKind::Depend, [Ref::Draft(0), premise.into()])]).created[0]
    }

    /// Counts the steps of `run`.
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

/// Steps of acts and reads in a store in which many claims depend on one.
#[derive(Debug)]
struct Cost {
    /// Storing one more dependent of the premise.
    another_dependent: u64,
    /// Storing a dependent of one of the dependents.
    indirect_dependent: u64,
    /// Giving the premise a premise.
    premise_of_premise: u64,
    /// Reading the premise.
    read: u64,
    /// Retracting a dependent.
    retract_dependent: u64,
    /// Retracting the premise, per dependent.
    retract_premise: u64,
    /// Reviewing a dependent.
    review: u64,
}

fn cost(siblings: u64) -> Cost {
    let mut all = CountingStore::new();
    let premise = all.claim();
    let rest: Vec<ClaimId> = (0..siblings).map(|_| all.dependent(premise)).collect();
    let (another_dependent, last) = all.count(|all| all.dependent(premise));
    let (indirect_dependent, _) = all.count(|all| all.dependent(rest[0]));
    let other = all.claim();
    let (premise_of_premise, _) =
        all.count(|all| all.act(vec![EventDraft::new(EventKind::Depend, [premise.into(), other.into()])]));
    let (read, row) = all.count(|all| all.store.reader().claim(&premise).unwrap().unwrap());
    assert_eq!(row.dependents as u64, siblings + 1);
    let newest = all.store.reader().dependents(&premise, 2).unwrap();
    assert_eq!(newest.iter().map(|row| row.id).collect::<Vec<_>>(), [last, *rest.last().unwrap()]);
    let (retract_dependent, _) = all.count(|all| all.act(vec![EventDraft::new(EventKind::Retract, [last.into()])]));
    assert_eq!(all.store.reader().claim(&premise).unwrap().unwrap().dependents as u64, siblings);
    let (retract_premise, fallen) =
        all.count(|all| all.act(vec![EventDraft::new(EventKind::Retract, [premise.into()])]));
    assert_eq!(fallen.needs_review.len() as u64, siblings + 1, "what rests on them too");
    let mut looked = EventDraft::new(EventKind::Resolve(ResolveAct::Reviewed), [rest[1].into()]);
    looked.seen = vec![fallen.events[0]];
    let (review, _) = all.count(|all| all.act(vec![looked]));
    assert!(!all.store.reader().claim(&rest[1]).unwrap().unwrap().flags.needs_review);
    assert_eq!(all.store.check().unwrap().problems, Vec::<String>::new());
    Cost {
        another_dependent,
        indirect_dependent,
        premise_of_premise,
        read,
        retract_dependent,
        retract_premise: retract_premise / siblings,
        review,
    }
}

#[test]
fn one_more_claim_that_rests_on_another_costs_what_the_first_did() {
    let (few, many) = (cost(10), cost(400));
    for (what, few, many) in [
        ("one more", few.another_dependent, many.another_dependent),
        ("one behind one of them", few.indirect_dependent, many.indirect_dependent),
        ("another beneath it", few.premise_of_premise, many.premise_of_premise),
        ("a look at it", few.read, many.read),
        ("one less", few.retract_dependent, many.retract_dependent),
        ("its fall, for each", few.retract_premise, many.retract_premise),
        ("a review", few.review, many.review),
    ] {
        assert!(many <= few + few / 5, "{what}: {few} rows beside 10, {many} beside 400");
    }
}

/// Sets the fact `build`, replacing `old`.
fn set(all: &mut CountingStore, old: &[ClaimId]) -> ClaimId {
    let key = Some("build".to_owned());
    let body = Body { statement: Some(format!("The build is {}", all.ops)), key, ..Body::default() };
    let targets = old.iter().copied().map(Ref::Id);
    let draft = EventDraft { claim_kind: Some(ClaimKind::Fact), body, ..EventDraft::new(EventKind::FactSet, targets) };
    all.act(vec![draft]).created[0]
}

#[test]
fn a_fact_costs_the_same_however_often_it_was_written_also_where_one_was_written_twice_at_once() {
    let cost = |times: u64| {
        let mut all = CountingStore::new();
        let first = set(&mut all, &[]);
        // Two concurrent versions, and one that replaces both.
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

/// Returns the steps of a look-up of nearby claims, in a scope in which this many claims contain its words and its
/// phrase.
fn nearby_look_up(claims: u64) -> u64 {
    let mut all = CountingStore::new();
    let db = &all.store.reader.db;
    db.execute_batch(&format!(
        "PRAGMA foreign_keys = OFF;
         INSERT INTO scopes (n, org, project) VALUES (9, 'acme', 'api');
         INSERT INTO lanes VALUES (1, 9, 1, 0, 0, 'ada', '', {claims});
         INSERT INTO terms VALUES (1, 9, 'port', {claims}), (2, 9, 'store', {claims});
         WITH RECURSIVE claim (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM claim WHERE n < {claims})
         INSERT INTO postings SELECT terms.n, claim.n FROM terms, claim;
         INSERT INTO phrases SELECT {phrase}, claim FROM postings WHERE term = 1",
        phrase = phrase_key(9, "port store"),
    ))
    .unwrap();
    let terms = IndexTerms {
        terms: vec!["port".into(), "store".into()],
        phrases: vec!["port store".into()],
        ..IndexTerms::default()
    };
    let scopes = vec![Scope::new("acme", "api").unwrap()];
    let query = NearbyQuery { scopes, terms, exclude: Vec::new(), facts: false, limit: 50 };
    let (steps, found) = all.count(|all| all.store.reader().nearby_places(&query).unwrap());
    assert_eq!(found.len(), query.limit);
    steps
}

#[test]
fn a_look_up_of_nearby_claims_costs_the_same_in_a_larger_scope() {
    assert_eq!(nearby_look_up(4_000), nearby_look_up(16_000));
}
