//! Measures the store by the number of active claims in the scope: a commit, its candidates, pages, search.
//! The wait for the disk is not included; `ergo-bench store` reports it.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{hint::black_box, sync::Arc, time::Duration};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use ed25519_dalek::SigningKey;
use ergo::{
    domain::{Scope, guard_report::PairCheck},
    guard::StructuralPairCheck,
    store::{Act, ClaimFilter, EventDraft, NearbyQuery, Store, StoreOptions},
};
use ergo_bench::{
    store_fill::numbered_op,
    synth::{Synth, Synthetic},
};

/// Numbers of active claims in the scope.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Claims per act while a store is filled.
const CLAIMS_PER_ACT: usize = 1_000;

struct FilledStore {
    store: Store,
    synth: Synth,
    next: usize,
    _folder: tempfile::TempDir,
}

fn scope() -> Scope {
    Scope { org_id: "bench".into(), project: "store".into() }
}

fn act(n: usize, drafts: Vec<EventDraft>) -> Act {
    let now = 1_700_000_000_000 + n as u64;
    Act { scope: scope(), identity: None, who: "ada".into(), agent: None, op: numbered_op(n as u64 + 1), now, drafts }
}

impl FilledStore {
    fn new(claims: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = SigningKey::from_bytes(&[7; 32]);
        let path = folder.path().join("ergo.db");
        let store =
            Store::open_with(&path, key, Arc::new(StructuralPairCheck), StoreOptions { durable: false }).unwrap();
        let mut filled = Self { store, synth: Synth::new(1), next: 0, _folder: folder };
        while filled.next < claims {
            let first = filled.next;
            let drafts = (0..CLAIMS_PER_ACT.min(claims - first)).map(|_| filled.claim().draft()).collect();
            filled.store.commit(act(first, drafts)).unwrap();
        }
        filled
    }

    fn claim(&mut self) -> Synthetic {
        self.next += 1;
        self.synth.claim(self.next)
    }

    fn query(&mut self) -> NearbyQuery {
        let body = self.claim().body;
        let norms = body.norms.unwrap_or_default();
        let terms = StructuralPairCheck.index_terms(&norms, body.statement.as_deref().unwrap_or_default());
        NearbyQuery { scopes: vec![scope()], terms, exclude: Vec::new(), facts: false, limit: 24 }
    }
}

fn store(c: &mut Criterion) {
    for claims in SIZES {
        let mut filled = FilledStore::new(claims);
        let mut group = c.benchmark_group(format!("store/{claims}"));
        group.sample_size(60).measurement_time(Duration::from_secs(4));
        let filter =
            ClaimFilter { scope: Some(scope()), status: Some(ergo::domain::Status::Active), ..ClaimFilter::default() };
        group.bench_function("candidates", |b| {
            let queries: Vec<NearbyQuery> = (0..200).map(|_| filled.query()).collect();
            let mut turn = queries.iter().cycle();
            b.iter(|| turn.next().map(|query| filled.store.reader().nearby_claims(black_box(query)).unwrap().len()));
        });
        group.bench_function("page of 50", |b| {
            b.iter(|| filled.store.reader().claims(black_box(&filter), 50, None).unwrap().items.len());
        });
        group.bench_function("search of four words", |b| {
            let words: Vec<String> = (0..200).map(|_| filled.synth.text(4)).collect();
            let mut turn = words.iter().cycle();
            b.iter(|| {
                turn.next().map(|q| filled.store.reader().search(&filter, black_box(q), 20, None).unwrap().total)
            });
        });
        group.bench_function("search of the commonest word", |b| {
            b.iter(|| filled.store.reader().search(&filter, black_box("service "), 20, None).unwrap().total);
        });
        group.bench_function("commit", |b| {
            let claims: Vec<Synthetic> = (0..4_000).map(|_| filled.claim()).collect();
            let mut n = filled.next;
            let mut turn = claims.into_iter();
            b.iter_batched(
                || {
                    n += 1;
                    (n, turn.next().unwrap_or_else(|| Synth::new(n as u64).claim(n + 1_000_000)))
                },
                |(n, claim)| filled.store.commit(act(1_000_000_000 + n, vec![claim.draft()])).unwrap(),
                BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, store);
criterion_main!(benches);
