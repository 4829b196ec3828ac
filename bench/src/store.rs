//! `ergo-bench store`: how long writes and reads take, by the number of active claims in the scope.
//!
//! Every write goes through the engine's real path: normalise, nearby claims, judge, commit. Times are wall-clock
//! milliseconds on a store file of its own in a private folder.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use ed25519_dalek::SigningKey;
use serde::Serialize;

use super::store_synth as synth;
use ergo::{
    api::{ApiError, Caller, ClaimsQuery, RememberRequest, WhyRequest, WriteOutcome},
    domain::{Body, ClaimKind, EventKind, OpId, Qualifiers, Scope},
    engine::{Engine, EngineConfig},
    guard::{Guard, StructuralPairCheck},
    store::{Act, EventDraft, NeighbourQuery, Ref, Store, StoreOptions, VectorModel},
};

/// Claims in one act while a store is filled.
const BATCH: usize = 500;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Active claims in the scope, ascending; each size is a row.
    pub sizes: Vec<usize>,
    /// Writes of each sort, and reads of each sort, that are timed.
    pub samples: usize,
    /// Where the store files are made, and removed afterwards; made where it is absent.
    pub folder: PathBuf,
}

impl Options {
    /// 1,000, 10,000 and 100,000 claims, 200 samples each, in `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { sizes: vec![1_000, 10_000, 100_000], samples: 200, folder: folder.into() }
    }
}

/// Why a measurement stopped.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] ergo::store::StoreError),
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] ApiError),
    /// The folder cannot be used.
    #[error("{path}: {error}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A model failed.
    #[error("a model failed: {0}")]
    Model(#[from] ergo::infer::InferError),
    /// A daemon's client failed.
    #[error(transparent)]
    Client(#[from] ergo::client::ClientError),
    /// A home cannot be made.
    #[error(transparent)]
    Home(#[from] ergo::config::ConfigError),
    /// The replication index cannot be made.
    #[error("the replication index cannot be made: {0}")]
    Index(String),
    /// An agent's way in answered otherwise than it should.
    #[error("`ergo {verb}` answered: {message}")]
    Answer { verb: String, message: String },
    /// Something that was waited for did not happen.
    #[error("it was waited in vain until {what}\n{log}")]
    Late {
        /// What was waited for.
        what: String,
        /// The end of the logs.
        log: String,
    },
    /// A write that was meant to be stored, or refused, was not.
    #[error("the write “{statement}” was not {expected}")]
    Unexpected {
        /// The text.
        statement: String,
        /// `stored` or `refused`.
        expected: &'static str,
    },
}

/// Quantiles of a sample, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// Half of them are at most this.
    pub p50: f64,
    /// 95 of 100 are at most this.
    pub p95: f64,
    /// The slowest.
    pub max: f64,
}

/// By how much a write may take longer with the organisation's level in play, in percent.
pub(super) const MOST_FOR_LEVELS: f64 = 10.0;

/// One size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Active claims in the scope before the writes.
    pub claims: usize,
    /// Seconds that filling the store took.
    pub fill_s: f64,
    /// A guarded write that is stored, the disk not waited for.
    pub write_ms: Quantiles,
    /// The same, waiting for the disk (`synchronous=FULL`): what a caller sees.
    pub write_fsync_ms: Quantiles,
    /// `write_ms` once the organisation's level has a tenth as many claims as the project.
    pub write_leveled_ms: Quantiles,
    /// A guarded write that is refused and put on a card, the disk not waited for.
    pub refused_ms: Quantiles,
    /// `why` with a question.
    pub why_ms: Quantiles,
    /// A page of 50 claims.
    pub page_ms: Quantiles,
    /// A page of a search.
    pub search_ms: Quantiles,
    /// The ten claims whose vectors are nearest to one.
    pub neighbours_ms: Quantiles,
    /// The file, its log included, in MiB.
    pub file_mib: f64,
    /// Memory of this process, in MiB; absent where the system does not say.
    pub memory_mib: Option<f64>,
}

/// All sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// By size.
    pub rows: Vec<Row>,
}

/// Fills a store at each size and measures it. `progress` is told in words what goes on.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    std::fs::create_dir_all(&options.folder).map_err(|error| BenchError::Io { path: options.folder.clone(), error })?;
    let mut report = Report::default();
    for &claims in &options.sizes {
        let path = options.folder.join(format!("bench-{claims}.db"));
        remove(&path)?;
        progress(&format!("filling a store with {claims} claims"));
        let begun = Instant::now();
        let store = Store::open_with(&path, key(), Arc::new(StructuralPairCheck), StoreOptions { durable: false })?;
        fill(store, claims, &model(), &|n| synth::vector(n, 0))?;
        let fill_s = begun.elapsed().as_secs_f64();
        progress(&format!("measuring at {claims} claims"));
        report.rows.push(measure(&path, claims, fill_s, options.samples)?);
        remove(&path)?;
    }
    Ok(report)
}

pub(super) fn remove(path: &Path) -> Result<(), BenchError> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let file = PathBuf::from(name);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(BenchError::Io { path: file, error });
            }
            _ => {}
        }
    }
    Ok(())
}

fn model() -> VectorModel {
    VectorModel { name: "made up".into(), dimension: synth::DIMENSION }
}

pub(super) fn key() -> SigningKey {
    SigningKey::from_bytes(&[42; 32])
}

pub(super) fn scope() -> Scope {
    Scope { org_id: "bench".into(), project: "store".into() }
}

/// Fills a store with claims that do not contradict each other, and with their vectors.
pub(super) fn fill(
    mut store: Store,
    claims: usize,
    model: &VectorModel,
    vector: &dyn Fn(usize) -> Vec<f32>,
) -> Result<(), BenchError> {
    fill_in(&mut store, &scope(), 0..claims, model, vector)
}

/// [`fill`] with the claims of these numbers, in a scope.
pub(super) fn fill_in(
    store: &mut Store,
    scope: &Scope,
    numbers: std::ops::Range<usize>,
    model: &VectorModel,
    vector: &dyn Fn(usize) -> Vec<f32>,
) -> Result<(), BenchError> {
    let guard = Guard::default();
    let numbers: Vec<usize> = numbers.collect();
    for (batch, numbers) in numbers.chunks(BATCH).enumerate() {
        let drafts = numbers
            .iter()
            .map(|n| {
                let statement = synth::statement(*n);
                let normed = guard.normalise(&statement, &Qualifiers::default());
                let mut draft = EventDraft::new(EventKind::Assert, []);
                draft.claim_kind = Some(ClaimKind::Decision);
                draft.body = Body {
                    reason: Some(synth::reason(*n)),
                    norms: Some(normed.norms),
                    normaliser: Some(normed.version),
                    statement: Some(statement),
                    ..Body::default()
                };
                draft
            })
            .collect();
        let mut op = [0; 16];
        op[..8].copy_from_slice(&(numbers[0] as u64 + 1).to_be_bytes());
        let act = Act {
            scope: scope.clone(),
            identity: None,
            who: "bench".into(),
            agent: None,
            op: OpId(op),
            now: 1_700_000_000_000 + batch as u64,
            drafts,
        };
        let vectors: Vec<_> = numbers.iter().enumerate().map(|(draft, n)| (Ref::Draft(draft), vector(*n))).collect();
        store.commit_with_vectors(act, model, &vectors)?;
        // As the daemon does when nothing changes any more.
        let mut reasons = numbers.iter().map(|n| vector(*n));
        loop {
            let waiting = store.look_at_reasons(BATCH)?.waiting;
            if waiting.is_empty() {
                break;
            }
            let vectors: Vec<_> = waiting.into_iter().map(|(id, _)| (id, reasons.next())).collect();
            store.put_reason_vectors(model, &vectors)?;
        }
    }
    Ok(())
}

fn open(path: &Path, durable: bool) -> Result<Engine, BenchError> {
    let mut config = EngineConfig::new(path, key());
    config.durable = durable;
    Ok(Engine::open(config)?)
}

fn measure(path: &Path, claims: usize, fill_s: f64, samples: usize) -> Result<Row, BenchError> {
    let fast = open(path, false)?;
    let write_ms = writes(&fast, claims, samples, "stored", synth::statement)?;
    let refused_ms = writes(&fast, 0, samples.min(claims), "refused", synth::contrary)?;
    let scope = scope();
    let question = |n: usize| WhyRequest {
        org_id: scope.org_id.clone(),
        project: scope.project.clone(),
        question: synth::question(n * 7919 % claims),
        ..WhyRequest::default()
    };
    let why_ms = timed(samples, |n| fast.why(&question(n)).map(drop))?;
    let query = ClaimsQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        ..ClaimsQuery::default()
    };
    let page_ms = timed(samples, |_| fast.claims(&query).map(drop))?;
    let search = |n: usize| ClaimsQuery { q: Some(synth::question(n * 7919 % claims)), ..query.clone() };
    let search_ms = timed(samples, |n| fast.claims(&search(n)).map(drop))?;
    let file_mib = fast.counts()?.store_bytes as f64 / f64::from(1 << 20);
    let memory_mib = memory_mib();
    drop(fast);
    let neighbours_ms = neighbours(path, claims, samples)?;
    let durable = open(path, true)?;
    let write_fsync_ms = writes(&durable, claims + samples, samples, "stored", synth::statement)?;
    drop(durable);
    let mut store = Store::open_with(path, key(), Arc::new(StructuralPairCheck), StoreOptions { durable: false })?;
    fill_in(&mut store, &scope.organisation(), 10 * claims..10 * claims + claims / 10, &model(), &|n| {
        synth::vector(n, 0)
    })?;
    drop(store);
    let fast = open(path, false)?;
    let write_leveled_ms = writes(&fast, claims + 2 * samples, samples, "stored", synth::statement)?;
    drop(fast);
    Ok(Row {
        claims,
        fill_s,
        write_ms,
        write_fsync_ms,
        write_leveled_ms,
        refused_ms,
        why_ms,
        page_ms,
        search_ms,
        neighbours_ms,
        file_mib,
        memory_mib,
    })
}

fn neighbours(path: &Path, claims: usize, samples: usize) -> Result<Quantiles, BenchError> {
    let options = StoreOptions { durable: false };
    let store = Store::open_with(path, key(), Arc::new(StructuralPairCheck), options)?;
    let queries: Vec<NeighbourQuery> = (0..samples)
        .map(|n| NeighbourQuery {
            scopes: vec![scope()],
            model: model(),
            vector: synth::vector(n * 7919 % claims, 1),
            facts: false,
            exclude: Vec::new(),
            limit: 10,
        })
        .collect();
    timed(samples, |n| Ok(store.reader().neighbours(&queries[n]).map(drop)?))
}

fn writes(
    engine: &Engine,
    first: usize,
    samples: usize,
    expected: &'static str,
    text: fn(usize) -> String,
) -> Result<Quantiles, BenchError> {
    let scope = scope();
    let mut failed = None;
    let times = timed(samples, |n| {
        let statement = text(first + n);
        let outcome = engine.remember(RememberRequest {
            caller: Caller {
                org_id: scope.org_id.clone(),
                project: scope.project.clone(),
                who: "bench".into(),
                ..Caller::default()
            },
            statement: statement.clone(),
            reason: Some(synth::reason(first + n)),
            ..RememberRequest::default()
        })?;
        let was = if matches!(outcome, WriteOutcome::Stored(_)) { "stored" } else { "refused" };
        if was != expected {
            failed.get_or_insert(statement);
        }
        Ok(())
    })?;
    match failed {
        Some(statement) => Err(BenchError::Unexpected { statement, expected }),
        None => Ok(times),
    }
}

/// Times a call, a few calls after the first ones, which warm the caches.
pub(super) fn timed(
    samples: usize,
    mut call: impl FnMut(usize) -> Result<(), ApiError>,
) -> Result<Quantiles, BenchError> {
    let mut times = Vec::with_capacity(samples);
    for n in 0..samples {
        let begun = Instant::now();
        call(n)?;
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(quantiles(times))
}

pub(super) fn quantiles(mut times: Vec<f64>) -> Quantiles {
    times.sort_by(f64::total_cmp);
    // Nearest rank.
    let at = |share: f64| {
        let rank = (share * times.len() as f64).ceil() as usize;
        times.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    };
    Quantiles { p50: at(0.5), p95: at(0.95), max: at(1.0) }
}

/// Resident memory of this process, where `/proc` says.
fn memory_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

impl Report {
    /// As a table for people, one line a size.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "    claims   write p50/p95   two levels p50/p95   with fsync p50/p95   refused p50/p95     why p50/p95    page p50/p95  \
             search p50/p95   neighbours p50/p95   file MiB   memory MiB\n",
        );
        for row in &self.rows {
            let memory = row.memory_mib.map_or_else(|| "-".to_owned(), |mib| format!("{mib:.0}"));
            let pair = |times: Quantiles| format!("{:.2}/{:.2}", times.p50, times.p95);
            let _ = writeln!(
                text,
                "{:>10}   {:>13}   {:>18}   {:>18}   {:>15}   {:>13}   {:>13}   {:>14}   {:>18}   {:>8.1}   {memory:>10}",
                row.claims,
                pair(row.write_ms),
                pair(row.write_leveled_ms),
                pair(row.write_fsync_ms),
                pair(row.refused_ms),
                pair(row.why_ms),
                pair(row.page_ms),
                pair(row.search_ms),
                pair(row.neighbours_ms),
                row.file_mib,
            );
        }
        for row in &self.rows {
            let more = 100.0 * (row.write_leveled_ms.p95 / row.write_ms.p95.max(f64::EPSILON) - 1.0);
            let held = if more <= MOST_FOR_LEVELS { "" } else { ", missed" };
            let _ = writeln!(
                text,
                "{} claims: two levels cost a write {more:+.1} % at p95 (bar: {MOST_FOR_LEVELS:.0} %{held})",
                row.claims
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let all = quantiles((1..=100).map(f64::from).rev().collect());
        assert_eq!(all, Quantiles { p50: 50.0, p95: 95.0, max: 100.0 });
        assert_eq!(quantiles(vec![]), Quantiles::default());
    }

    #[test]
    fn a_small_store_is_measured_end_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { sizes: vec![40], samples: 10, folder: folder.path().join("new") };
        let mut lines = Vec::new();
        let report = run(&options, &mut |line| lines.push(line.to_owned())).unwrap();
        assert_eq!((report.rows.len(), report.rows[0].claims, lines.len()), (1, 40, 2));
        // The head, the row, and what two levels cost.
        assert!(report.table().lines().count() == 3 && report.rows[0].file_mib > 0.0);
        // Nothing is left behind.
        assert_eq!(std::fs::read_dir(folder.path().join("new")).unwrap().count(), 0);
    }
}
