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

use super::{
    error::BenchError,
    measure::{self, Quantiles, millis},
    store_fill::{fill, fill_in},
    store_synth as synth,
};
use ergo::{
    api::{ApiError, Caller, ClaimsQuery, RememberRequest, WhyRequest, WriteOutcome},
    domain::Scope,
    engine::{Engine, EngineConfig},
    guard::StructuralPairCheck,
    store::{NeighbourQuery, Store, StoreOptions, VectorModel},
};

/// Calls of each sort before those that are timed: they load models and fill caches.
pub(super) const WARM_UP_CALLS: usize = 20;

/// Options of `ergo-bench store`.
#[derive(Clone, Debug)]
pub struct StoreBenchOptions {
    /// Numbers of active claims in the scope, ascending; each is a row.
    pub sizes: Vec<usize>,
    /// Timed calls of each sort of write and read.
    pub samples: usize,
    /// The folder of the temporary store files. It is created if it does not exist.
    pub folder: PathBuf,
}

impl StoreBenchOptions {
    /// Measures 200 samples at 1,000, 10,000 and 100,000 claims.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { sizes: vec![1_000, 10_000, 100_000], samples: 200, folder: folder.into() }
    }
}

/// The most that claims of the organisation's level may add to the time of a write, in percent.
pub(super) const MAX_LEVEL_COST_PERCENT: f64 = 10.0;

/// Returns by how many percent a write with claims of the organisation's level takes longer than one without.
pub(super) fn level_cost_percent(leveled_ms: f64, one_level_ms: f64) -> f64 {
    100.0 * (leveled_ms / one_level_ms.max(f64::EPSILON) - 1.0)
}

/// The figures at one size of the store.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StoreRow {
    /// Active claims in the scope before the writes.
    pub claims: usize,
    /// Seconds that filling the store took.
    pub fill_s: f64,
    /// A guarded write that is stored, without waiting for the disk.
    pub write_ms: Quantiles,
    /// `write_ms` with waiting for the disk (`synchronous=FULL`): what a caller sees.
    pub write_fsync_ms: Quantiles,
    /// `write_ms` right before the claims of the organisation's level: the scope has also got further writes since.
    pub write_one_level_ms: Quantiles,
    /// `write_one_level_ms` after the organisation's level got a tenth as many claims as the project.
    pub write_leveled_ms: Quantiles,
    /// A guarded write that is refused and put on a card, without waiting for the disk.
    pub refused_ms: Quantiles,
    /// `why` with a question.
    pub why_ms: Quantiles,
    /// A page of 50 claims.
    pub page_ms: Quantiles,
    /// A page of search results.
    pub search_ms: Quantiles,
    /// The ten claims with the vectors nearest to a given one.
    pub neighbours_ms: Quantiles,
    /// Size of the store file with its write-ahead log, in MiB.
    pub file_mib: f64,
    /// Resident memory of this process, in MiB; absent without `/proc`.
    pub memory_mib: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StoreReport {
    /// Ascending by size.
    pub rows: Vec<StoreRow>,
}

/// Fills a store at each size and measures it.
pub fn run(options: &StoreBenchOptions, progress: &mut dyn FnMut(&str)) -> Result<StoreReport, BenchError> {
    std::fs::create_dir_all(&options.folder).map_err(BenchError::io(&options.folder))?;
    let mut report = StoreReport::default();
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

/// Removes a store file and the files beside it.
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

fn open(path: &Path, durable: bool) -> Result<Engine, BenchError> {
    let mut config = EngineConfig::new(path, key());
    config.durable = durable;
    Ok(Engine::open(config)?)
}

fn measure(path: &Path, claims: usize, fill_s: f64, samples: usize) -> Result<StoreRow, BenchError> {
    // Each measurement of stored writes uses claims of its own.
    let mut unused_claims = (claims..).step_by(samples + WARM_UP_CALLS);
    let mut stored_writes = |engine: &Engine| {
        let first = unused_claims.next().unwrap_or(claims);
        timed_writes(engine, samples, "stored", |n| guarded_write(scope(), first + n, synth::statement(first + n)))
    };
    let fast = open(path, false)?;
    let write_ms = stored_writes(&fast)?;
    let refused = |n: usize| guarded_write(scope(), n % claims, synth::contrary(n % claims));
    let refused_ms = timed_writes(&fast, samples.min(claims), "refused", refused)?;
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
    let file_mib = measure::mib(fast.counts()?.store_bytes);
    let memory_mib = measure::resident_memory(std::process::id()).map(measure::mib);
    drop(fast);
    let neighbours_ms = neighbours(path, claims, samples)?;
    let durable = open(path, true)?;
    let write_fsync_ms = stored_writes(&durable)?;
    drop(durable);
    // What two levels are compared with: the same store without the claims of the organisation's level.
    let write_one_level_ms = stored_writes(&open(path, false)?)?;
    let mut store = Store::open_with(path, key(), Arc::new(StructuralPairCheck), StoreOptions { durable: false })?;
    fill_in(&mut store, &scope.organisation(), 10 * claims..10 * claims + claims / 10, &model(), &|n| {
        synth::vector(n, 0)
    })?;
    drop(store);
    let write_leveled_ms = stored_writes(&open(path, false)?)?;
    Ok(StoreRow {
        claims,
        fill_s,
        write_ms,
        write_fsync_ms,
        write_one_level_ms,
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
    let queries: Vec<NeighbourQuery> = (0..samples + WARM_UP_CALLS)
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

/// Returns who makes the calls of a measurement in a scope.
pub(super) fn caller(scope: Scope) -> Caller {
    let Scope { org_id, project } = scope;
    Caller { org_id, project, who: "bench".into(), ..Caller::default() }
}

/// Returns a guarded write of a statement with the reason of a numbered claim.
pub(super) fn guarded_write(scope: Scope, number: usize, statement: String) -> RememberRequest {
    let reason = Some(synth::reason(number));
    RememberRequest { caller: caller(scope), statement, reason, ..RememberRequest::default() }
}

/// Times the writes that `request` returns.
///
/// # Errors
/// Also if a write has another outcome than `expected`: `stored` or `refused`.
pub(super) fn timed_writes(
    engine: &Engine,
    samples: usize,
    expected: &'static str,
    request: impl Fn(usize) -> RememberRequest,
) -> Result<Quantiles, BenchError> {
    let mut unexpected = None;
    let times = timed(samples, |n| {
        let request = request(n);
        let statement = request.statement.clone();
        let outcome = engine.remember(request)?;
        let actual = if matches!(outcome, WriteOutcome::Stored(_)) { "stored" } else { "refused" };
        if actual != expected {
            unexpected.get_or_insert(statement);
        }
        Ok(())
    })?;
    match unexpected {
        Some(statement) => Err(BenchError::Unexpected { statement, expected }),
        None => Ok(times),
    }
}

/// Times the calls with the numbers below `samples`, after [`WARM_UP_CALLS`] calls with the numbers that follow.
pub(super) fn timed(
    samples: usize,
    mut call: impl FnMut(usize) -> Result<(), ApiError>,
) -> Result<Quantiles, BenchError> {
    (samples..samples + WARM_UP_CALLS).try_for_each(&mut call)?;
    let mut times = Vec::with_capacity(samples);
    for n in 0..samples {
        let begun = Instant::now();
        call(n)?;
        times.push(millis(begun.elapsed()));
    }
    Ok(Quantiles::of(times))
}

impl StoreReport {
    /// Returns a table with a line for each size.
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
            let (leveled, one) = (row.write_leveled_ms.p95, row.write_one_level_ms.p95);
            let more = level_cost_percent(leveled, one);
            let held = if more <= MAX_LEVEL_COST_PERCENT { "" } else { ", missed" };
            let _ = writeln!(
                text,
                "{} claims: two levels cost a write {more:+.1} % at p95, {leveled:.2} ms instead of {one:.2} (bar: \
                 {MAX_LEVEL_COST_PERCENT:.0} %{held})",
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
    fn calls_that_warm_up_come_first_and_are_not_timed() {
        let mut calls = Vec::new();
        timed(3, |n| {
            calls.push(n);
            Ok(())
        })
        .unwrap();
        let expected: Vec<usize> = (3..3 + WARM_UP_CALLS).chain(0..3).collect();
        assert_eq!(calls, expected);
    }

    #[test]
    fn two_levels_are_compared_with_the_same_store_of_one_level() {
        let p95 = |p95| Quantiles { p95, ..Quantiles::default() };
        let row = StoreRow {
            claims: 1_000,
            write_ms: p95(1.0),
            write_one_level_ms: p95(2.0),
            write_leveled_ms: p95(2.1),
            ..StoreRow::default()
        };
        let table = StoreReport { rows: vec![row] }.table();
        let cost = "1000 claims: two levels cost a write +5.0 % at p95, 2.10 ms instead of 2.00 (bar: 10 %)\n";
        assert!(table.ends_with(cost), "{table}");
    }

    #[test]
    fn a_small_store_is_measured_end_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreBenchOptions { sizes: vec![40], samples: 10, folder: folder.path().join("new") };
        let mut lines = Vec::new();
        let report = run(&options, &mut |line| lines.push(line.to_owned())).unwrap();
        assert_eq!((report.rows.len(), report.rows[0].claims, lines.len()), (1, 40, 2));
        // The head, the row, and what two levels cost.
        assert!(report.table().lines().count() == 3 && report.rows[0].file_mib > 0.0);
        assert!(report.rows[0].write_one_level_ms.p50 > 0.0);
        // Nothing is left behind.
        assert_eq!(std::fs::read_dir(folder.path().join("new")).unwrap().count(), 0);
    }
}
