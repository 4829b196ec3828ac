//! Vectors: the search by meaning follows the active claims, and no vector outlives a redaction.

use std::{collections::BTreeMap, fs};

use ergo::{
    domain::{ClaimId, ClaimKind, EventKind},
    store::{Act, Neighbour, NeighbourQuery, Ref, RowNumber, StoreError, VectorModel},
};
use proptest::{prelude::*, test_runner::TestCaseResult};

use super::support::{Fixture, decision, fact, on, open, scope, supersede, undo};

fn model(dimension: usize) -> VectorModel {
    VectorModel { name: "made-up".into(), dimension }
}

/// A direction of its own for each number.
fn vector(seed: u64, dimension: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..dimension)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
        })
        .collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn query(place: &str, vector: Vec<f32>, limit: usize) -> NeighbourQuery {
    let model = model(vector.len());
    NeighbourQuery { scopes: vec![scope(place)], model, vector, facts: false, exclude: vec![], limit }
}

fn near(f: &Fixture, query: &NeighbourQuery) -> Vec<ClaimId> {
    f.store.reader().neighbours(query).unwrap().iter().map(|near| near.claim.id).collect()
}

/// Adds a decision with its vector.
fn add(f: &mut Fixture, n: u64, dimension: usize) -> ClaimId {
    let id = f.add(decision(&format!("s{n}"), "1"));
    f.store.put_vectors(&model(dimension), &[(id, vector(n, dimension))]).unwrap();
    id
}

#[test]
fn the_nearest_claims_of_the_scope_come_with_their_cosines() {
    let mut f = Fixture::new();
    assert_eq!(f.store.reader().neighbours(&query("api", vector(1, 384), 5)).unwrap(), []);
    let ids: Vec<ClaimId> = (0..40).map(|n| add(&mut f, n, 384)).collect();
    let known = f.add(fact("db.port", "5432", []));
    let elsewhere = f.act_in("web", vec![decision("s3", "1")]).created[0];
    f.store.put_vectors(&model(384), &[(known, vector(3, 384)), (elsewhere, vector(3, 384))]).unwrap();
    // Between two of them, nearer to the first; its length says nothing.
    let between: Vec<f32> = vector(3, 384).iter().zip(vector(7, 384)).map(|(a, b)| 20.0 * a + 10.0 * b).collect();
    let found = f.store.reader().neighbours(&query("api", between.clone(), 3)).unwrap();
    assert_eq!(found.iter().map(|near| near.claim.id).collect::<Vec<_>>()[..2], [ids[3], ids[7]]);
    assert_eq!(found.len(), 3);
    for (near, n) in found.iter().zip([3, 7]) {
        assert!((near.cosine - cosine(&between, &vector(n, 384))).abs() < 0.002, "{}", near.cosine);
    }
    assert_eq!(found[0].claim.statement, "s3 must be 1");
    let without = NeighbourQuery { exclude: vec![ids[3]], ..query("api", between.clone(), 1) };
    assert_eq!(near(&f, &without), [ids[7]]);
    let with_facts = NeighbourQuery { facts: true, ..query("api", between.clone(), 2) };
    assert_eq!(near(&f, &with_facts), [known, ids[3]], "as near, and newer");
    assert_eq!(near(&f, &query("web", between.clone(), 5)), [elsewhere]);
    assert!(near(&f, &query("unheard-of", between.clone(), 5)).is_empty());
    let cosines = f.store.reader().cosines(&model(384), &vector(3, 384), &[ids[3], known]).unwrap();
    assert!(cosines.iter().all(|cosine| cosine.unwrap() > 0.999));
}

#[test]
fn the_nearest_other_claim_of_each_of_a_sample_is_found() {
    let mut f = Fixture::new();
    assert_eq!(f.store.reader().nearest_others(&scope("api"), 10).unwrap(), Vec::<f32>::new());
    let ids: Vec<ClaimId> = (0..40).map(|n| add(&mut f, n, 384)).collect();
    let nearly: Vec<f32> = vector(3, 384).iter().zip(vector(99, 384)).map(|(a, b)| 10.0 * a + b).collect();
    let double = f.add(fact("db.port", "5432", []));
    f.store.put_vectors(&model(384), &[(double, nearly.clone())]).unwrap();
    f.add(decision("without a vector", "1"));
    // Of all of them, in the order in which they were written: never more than the nearest is near, and the double where there is one.
    let all = f.store.reader().nearest_others(&scope("api"), 100).unwrap();
    assert_eq!(all.len(), 41);
    for (n, found) in (0..40_u64).zip(&all) {
        let others = (0..40).filter(|other| *other != n).map(|other| vector(other, 384)).chain([nearly.clone()]);
        let nearest = others.map(|other| cosine(&vector(n, 384), &other)).fold(-1.0, f32::max);
        assert!(*found <= nearest + 0.003 && *found >= nearest - 0.1, "{n}: {found} of {nearest}");
    }
    assert!(all[3] > 0.99 && all[40] > 0.99 && all[4] < 0.5, "{all:?}");
    assert_eq!(f.store.reader().nearest_others(&scope("api"), 10).unwrap().len(), 10);
    // A claim that is not active is no neighbour of any other.
    f.act(vec![on(EventKind::Retract, &[ids[3]], "wrong")]);
    let rest = f.store.reader().nearest_others(&scope("api"), 100).unwrap();
    assert_eq!((rest.len(), rest[39] < 0.5), (40, true));
}

#[test]
fn what_is_not_active_is_no_neighbour_until_it_is_again() {
    let mut f = Fixture::new();
    let [a, b] = [1, 2].map(|n| add(&mut f, n, 16));
    let like_a = query("api", vector(1, 16), 9);
    let replaced = f.act(vec![supersede(&[a], decision("s3", "1"))]);
    assert_eq!(near(&f, &like_a), [b]);
    let drafts = undo(&f.store, &replaced.op);
    let undone = f.act(drafts);
    assert_eq!(near(&f, &like_a), [a, b], "back by an undo");
    let retracted = f.act(vec![on(EventKind::Retract, &[a], "wrong")]);
    assert_eq!(near(&f, &like_a), [b]);
    let mut back = on(EventKind::Reinstate, &[a], "right after all");
    back.seen = retracted.events;
    f.act(vec![back]);
    assert_eq!(near(&f, &like_a), [a, b], "back by a reinstate");
    let drafts = undo(&f.store, &undone.op);
    f.act(drafts);
    assert_eq!(near(&f, &like_a), [b], "gone by the undoing of an undo");
    // A vector that comes while a claim is out waits for it.
    let c = f.add(decision("s4", "1"));
    let out = f.act(vec![on(EventKind::Retract, &[c], "wrong")]);
    assert_eq!(f.store.put_vectors(&model(16), &[(c, vector(4, 16))]).unwrap(), 1);
    assert_eq!(near(&f, &query("api", vector(4, 16), 9)), [b]);
    let drafts = undo(&f.store, &out.op);
    f.act(drafts);
    assert_eq!(near(&f, &query("api", vector(4, 16), 1)), [c]);
    assert_eq!(f.store.check().unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_rebuild_keeps_vectors_and_a_broken_index_is_found() {
    let mut f = Fixture::new();
    let [a, b] = [1, 2].map(|n| add(&mut f, n, 12));
    f.act(vec![on(EventKind::Retract, &[b], "wrong")]);
    let asked = query("api", vector(1, 12), 9);
    let before = f.store.reader().neighbours(&asked).unwrap();
    f.store.rebuild().unwrap();
    assert_eq!(near(&f, &asked), [a]);
    assert_eq!(f.store.reader().neighbours(&asked).unwrap()[0].cosine.to_bits(), before[0].cosine.to_bits());
    assert!(f.store.reader().claims_without_vector(9).unwrap().is_empty());
    rusqlite::Connection::open(f.dir.path().join("ergo.db")).unwrap().execute("DELETE FROM vector_index", []).unwrap();
    let problems = f.store.check().unwrap().problems;
    assert!(problems.iter().any(|line| line.contains("vector index") && line.contains("--rebuild")), "{problems:?}");
    f.store.rebuild().unwrap();
    assert_eq!((f.store.check().unwrap().problems, near(&f, &asked)), (vec![], vec![a]));
}

#[test]
fn claims_of_the_wanted_kinds_are_found_behind_nearer_ones_of_others() {
    let mut f = Fixture::new();
    let decision = add(&mut f, 1, 384);
    let facts: Vec<ClaimId> = (0..5).map(|n| f.add(fact(&format!("key{n}"), "1", []))).collect();
    let vectors: Vec<_> = facts.iter().map(|id| (*id, vector(2, 384))).collect();
    f.store.put_vectors(&model(384), &vectors).unwrap();
    let near = |kinds: &[ClaimKind]| {
        let found = f.store.reader().near(&[scope("api")], kinds, &model(384), &vector(2, 384), 3).unwrap();
        let rows = f.store.reader().bare_at(&found.iter().map(|(spot, _)| *spot).collect::<Vec<_>>()).unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(near(&[]).len(), 3);
    assert!(!near(&[]).contains(&decision));
    assert_eq!((near(&[ClaimKind::Decision]).len(), near(&[ClaimKind::Decision])[3]), (4, decision));
    assert_eq!(near(&[ClaimKind::Fact]).len(), 3);
}

/// A decision that gives a reason, with its vector.
fn reasoned(f: &mut Fixture, n: u64, reason: &str) -> ClaimId {
    let mut draft = decision(&format!("s{n}"), "1");
    draft.body.reason = Some(reason.into());
    let id = f.add(draft);
    f.store.put_vectors(&model(384), &[(id, vector(n, 384))]).unwrap();
    id
}

fn spots(f: &Fixture, ids: &[ClaimId]) -> Vec<RowNumber> {
    let near = f.store.reader().near(&[scope("api")], &[], &model(384), &vector(1, 384), 99).unwrap();
    let rows = f.store.reader().bare_at(&near.iter().map(|(spot, _)| *spot).collect::<Vec<_>>()).unwrap();
    ids.iter().map(|id| near[rows.iter().position(|row| row.id == *id).unwrap()].0).collect()
}

#[test]
fn a_reason_gets_a_vector_of_its_own_once() {
    let mut f = Fixture::new();
    assert!(!f.store.reader().reasons_wait().unwrap());
    let [a, b] = ["the port is open", "the port is free"].map(|reason| reasoned(&mut f, reason.len() as u64, reason));
    let port = f.add(fact("db.port", "5432", []));
    f.store.put_vectors(&model(384), &[(port, vector(3, 384))]).unwrap();
    assert!(f.store.reader().reasons_wait().unwrap());
    // The newest first: the fact gives none, and is not looked at again.
    let looked = f.store.look_at_reasons(1).unwrap();
    assert_eq!((looked.done, &looked.waiting[..]), (1, &[(b, "s16 must be 1 the port is free".to_owned())][..]));
    let other = VectorModel { name: "another".into(), dimension: 384 };
    let refused = f.store.put_reason_vectors(&other, &[(b, Some(vector(50, 384)))]);
    assert!(matches!(refused, Err(StoreError::VectorModel { .. })));
    assert_eq!(f.store.put_reason_vectors(&model(384), &[(b, Some(vector(50, 384)))]).unwrap(), 1);
    assert_eq!(f.store.look_at_reasons(9).unwrap().waiting.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [a]);
    assert_eq!(f.store.put_reason_vectors(&model(384), &[(a, None)]).unwrap(), 0, "refused");
    assert!(!f.store.reader().reasons_wait().unwrap(), "and not asked about again");
    let cosines = |f: &Fixture| {
        let spots = spots(f, &[a, b, port]);
        f.store.reader().reason_cosines(&model(384), &vector(50, 384), &spots).unwrap()
    };
    let found = cosines(&f);
    assert!(found[1].unwrap() > 0.999 && found[0].is_none() && found[2].is_none(), "{found:?}");
    // A rebuild keeps it, and asks for it only of those that have none.
    f.store.rebuild().unwrap();
    assert_eq!(cosines(&f)[1].map(f32::to_bits), found[1].map(f32::to_bits));
    let looked = f.store.look_at_reasons(9).unwrap();
    assert_eq!((looked.done, looked.waiting.len(), looked.waiting[0].0), (2, 1, a));
    // What is out is not asked about, and has it still when it is back.
    let out = f.act(vec![on(EventKind::Retract, &[b], "wrong")]);
    assert_eq!(f.store.look_at_reasons(9).unwrap().waiting.len(), 1);
    let drafts = undo(&f.store, &out.op);
    f.act(drafts);
    assert!(cosines(&f)[1].unwrap() > 0.999);
    assert_eq!(f.store.look_at_reasons(9).unwrap().waiting.len(), 1);
}

#[test]
fn the_first_vector_locks_the_model() {
    let mut f = Fixture::new();
    let id = f.add(decision("port", "80"));
    assert_eq!(f.store.reader().vector_model().unwrap(), None);
    for bad in [model(0), model(10_000), VectorModel { name: " ".into(), dimension: 4 }] {
        let vectors = [(id, vec![1.0; bad.dimension])];
        let error = f.store.put_vectors(&bad, &vectors).unwrap_err();
        assert!(matches!(error, StoreError::BadModel(_)), "{bad}");
        let why = if bad.dimension == 4 { "no name" } else { "dimensions, and 1 to 8192 are supported" };
        assert!(error.to_string().contains(why), "{error}");
    }
    for bad in [vec![1.0; 3], vec![0.0; 4], vec![f32::NAN; 4]] {
        assert!(matches!(f.store.put_vectors(&model(4), &[(id, bad)]), Err(StoreError::BadVector(_))));
    }
    assert_eq!(f.store.reader().vector_model().unwrap(), None, "what failed locks nothing");
    assert_eq!(f.store.put_vectors(&model(4), &[(id, vec![1.0; 4])]).unwrap(), 1);
    assert_eq!(f.store.reader().vector_model().unwrap(), Some(model(4)));
    let other = VectorModel { name: "another".into(), dimension: 4 };
    let error = f.store.put_vectors(&other, &[(id, vec![1.0; 4])]).unwrap_err();
    assert!(matches!(&error, StoreError::VectorModel { stored, .. } if **stored == model(4)));
    assert!(error.to_string().contains("made-up") && error.to_string().contains("another"), "{error}");
    assert!(f.store.put_vectors(&model(8), &[(id, vec![1.0; 8])]).is_err());
    let asked = NeighbourQuery { model: other.clone(), ..query("api", vec![1.0; 4], 1) };
    assert!(matches!(f.store.reader().neighbours(&asked), Err(StoreError::VectorModel { .. })));
    assert!(matches!(f.store.reader().cosines(&other, &[1.0; 4], &[id]), Err(StoreError::VectorModel { .. })));
}

#[test]
fn a_vector_comes_with_the_act_that_makes_its_claim_or_neither_does() {
    let mut f = Fixture::new();
    let act = |f: &mut Fixture, name: &str| Act {
        scope: scope("api"),
        identity: None,
        who: "ada".into(),
        agent: None,
        op: f.op(),
        now: f.now(),
        drafts: vec![decision(name, "80")],
    };
    let first = act(&mut f, "port");
    let done = f.store.commit_with_vectors(first.clone(), &model(4), &[(Ref::Draft(0), vec![1.0; 4])]).unwrap();
    assert_eq!(near(&f, &query("api", vec![1.0; 4], 9)), done.created);
    assert!(f.store.commit_with_vectors(first, &model(4), &[(Ref::Draft(0), vec![1.0; 4])]).unwrap().replayed);
    let before = f.store.reader().counts(0).unwrap();
    let second = act(&mut f, "host");
    assert!(f.store.commit_with_vectors(second, &model(5), &[(Ref::Draft(0), vec![1.0; 5])]).is_err());
    let third = act(&mut f, "cache");
    assert!(f.store.commit_with_vectors(third, &model(4), &[(Ref::Draft(1), vec![1.0; 4])]).is_err());
    assert_eq!(f.store.reader().counts(0).unwrap(), before);
}

#[test]
fn what_has_no_vector_is_listed_until_it_has() {
    let mut f = Fixture::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| f.add(decision(name, "1")));
    let gone = f.add(decision("password", "secret"));
    f.act(vec![on(EventKind::Redact, &[gone], "a secret")]);
    f.act(vec![on(EventKind::Retract, &[b], "wrong")]);
    let listed = |f: &Fixture| f.store.reader().claims_without_vector(9).unwrap();
    assert_eq!(listed(&f), [(c, "c must be 1".to_owned()), (a, "a must be 1".to_owned())]);
    assert_eq!(f.store.reader().claims_without_vector(1).unwrap().len(), 1);
    let unknown = ergo::domain::EventId([9; 32]);
    let vectors = [(a, vec![1.0, 0.0]), (gone, vec![1.0, 0.0]), (unknown, vec![1.0, 0.0])];
    assert_eq!(f.store.put_vectors(&model(2), &vectors).unwrap(), 1, "what is unknown or redacted is passed over");
    assert_eq!(listed(&f), [(c, "c must be 1".to_owned())]);
    f.store.rebuild().unwrap();
    assert_eq!(listed(&f), [(c, "c must be 1".to_owned())]);
}

#[test]
fn a_redacted_vector_is_in_no_byte_of_the_file_or_its_log() {
    let mut f = Fixture::new();
    let secret = add(&mut f, 5, 384);
    add(&mut f, 6, 384);
    f.store.put_reason_vectors(&model(384), &[(secret, Some(vector(7, 384)))]).unwrap();
    let code = |seed| -> Vec<u8> {
        let largest = vector(seed, 384).iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        vector(seed, 384).iter().map(|x| ((x / largest * 127.0).round() as i8).cast_unsigned()).collect()
    };
    let (exact, reason) = (code(5), code(7));
    let signs: Vec<u8> = exact
        .chunks(8)
        .map(|part| part.iter().enumerate().fold(0, |bits, (at, x)| bits | u8::from(x.cast_signed() > 0) << at))
        .collect();
    let folder = f.dir.path().to_owned();
    let bytes = || -> Vec<u8> {
        let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        files
            .filter(|file| !file.to_string_lossy().ends_with("-shm"))
            .flat_map(|file| fs::read(file).unwrap())
            .collect()
    };
    // A part of each: enough to be no accident, short enough to lie within one page.
    let found = || {
        let bytes = bytes();
        [&exact[..24], &exact[360..], &signs[..24], &signs[24..], &reason[..24]]
            .map(|part| bytes.windows(part.len()).any(|window| window == part))
    };
    assert_eq!(found(), [true; 5], "it is there before");
    f.act(vec![on(EventKind::Redact, &[secret], "a secret")]);
    assert_eq!(found(), [false; 5]);
    assert_eq!(near(&f, &query("api", vector(5, 384), 9)).len(), 1);
    assert_eq!(f.store.check().unwrap().problems, Vec::<String>::new());
    drop(f.store);
    drop(open(&folder.join("ergo.db")));
    assert_eq!(found(), [false; 5]);
}

#[derive(Clone, Debug)]
enum Step {
    Add,
    Fact,
    Supersede(usize),
    Retract(usize),
    Undo(usize),
    Redact(usize),
    Rebuild,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Add),
        1 => Just(Step::Fact),
        2 => (0..40_usize).prop_map(Step::Supersede),
        2 => (0..40_usize).prop_map(Step::Retract),
        2 => (0..40_usize).prop_map(Step::Undo),
        1 => (0..40_usize).prop_map(Step::Redact),
        1 => Just(Step::Rebuild),
    ];
    prop::collection::vec(step, 1..25)
}

/// Whatever happened, the neighbours are the active claims that have their words, by their cosines.
fn neighbours_are_what_is_active(steps: Vec<Step>) -> TestCaseResult {
    let mut f = Fixture::new();
    let (mut claims, mut ops): (Vec<ClaimId>, Vec<_>) = (Vec::new(), Vec::new());
    for (n, step) in steps.into_iter().enumerate() {
        let pick = |at: usize| claims.get(at % claims.len().max(1)).copied();
        let drafts = match step {
            Step::Add => vec![decision(&format!("s{n}"), "1")],
            Step::Fact => vec![fact("db.port", &n.to_string(), pick(0))],
            Step::Supersede(at) => match pick(at) {
                Some(id) => vec![supersede(&[id], decision(&format!("s{n}"), "2"))],
                None => continue,
            },
            Step::Retract(at) => match pick(at) {
                Some(id) => vec![on(EventKind::Retract, &[id], "wrong")],
                None => continue,
            },
            Step::Redact(at) => match pick(at) {
                Some(id) => vec![on(EventKind::Redact, &[id], "a secret")],
                None => continue,
            },
            Step::Undo(at) => match ops.get(at % ops.len().max(1)) {
                Some(op) => undo(&f.store, op),
                None => continue,
            },
            Step::Rebuild => {
                f.store.rebuild().unwrap();
                continue;
            }
        };
        let done = f.act(drafts);
        ops.push(done.op);
        for id in done.created {
            f.store.put_vectors(&model(16), &[(id, vector(claims.len() as u64, 16))]).unwrap();
            claims.push(id);
        }
    }
    let asked = NeighbourQuery { facts: true, ..query("api", vector(1000, 16), 100) };
    let found: BTreeMap<ClaimId, f32> = f
        .store
        .reader()
        .neighbours(&asked)
        .unwrap()
        .into_iter()
        .map(|Neighbour { claim, cosine }| (claim.id, cosine))
        .collect();
    let mut wanted = BTreeMap::new();
    for (n, id) in claims.iter().enumerate() {
        let row = f.store.reader().claim(id).unwrap().unwrap();
        if row.status == ergo::domain::Status::Active && !row.flags.redacted {
            wanted.insert(*id, cosine(&vector(n as u64, 16), &asked.vector));
        }
    }
    prop_assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    prop_assert!(found.iter().all(|(id, cosine)| (cosine - wanted[id]).abs() < 0.02));
    prop_assert_eq!(f.store.check().unwrap().problems, Vec::<String>::new());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn vectors_follow_what_is_active(steps in steps()) {
        neighbours_are_what_is_active(steps)?;
    }
}
