//! `ergo-bench store --scopes N`: how long calls take in a store of many scopes, as it grows.
//!
//! A tenth of the claims is in one scope, the others are spread evenly over the rest. Recall from the large scope is
//! measured twice: while the scope is alone in the store, and beside the others.

use std::{
    fmt::Write as _,
    ops::Range,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::Serialize;

use crate::{
    daemon::{BenchDaemon, make_home, runtime},
    error::BenchError,
    measure::{self, Quantiles, millis},
    store::{self, WARM_UP_CALLS},
    store_fill::fill_in,
    store_synth as synth,
};
use ergo::{
    api::{ApiError, ClaimsQuery, RecallRequest},
    config::Paths,
    domain::Scope,
    engine::{Engine, EngineConfig},
    guard::StructuralPairCheck,
    store::{Store, StoreOptions, VectorModel},
};

/// The time between the start of a daemon and the reading of its memory.
const IDLE_AFTER_START: Duration = Duration::from_secs(1);

/// Options of `ergo-bench store --scopes`.
#[derive(Clone, Debug)]
pub struct GrowthOptions {
    /// Numbers of claims in the store, ascending; each is a row.
    pub sizes: Vec<usize>,
    /// Number of scopes, at least two.
    pub scopes: usize,
    /// Timed calls of each sort.
    pub samples: usize,
    /// The folder of the homes, which the caller removes. Its path must be short, since sockets are created in it.
    pub folder: PathBuf,
    /// The program to run as the daemon.
    pub program: PathBuf,
}

/// The figures at one size of the store.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GrowthRow {
    /// Claims in the store.
    pub claims: usize,
    /// Claims in the large scope.
    pub in_scope: usize,
    pub scopes: usize,
    /// Seconds that filling the store took.
    pub fill_s: f64,
    /// A guarded write into the large scope, without waiting for the disk.
    pub write_ms: Quantiles,
    /// A guarded write into a small scope.
    pub write_small_ms: Quantiles,
    /// A recall by words from the large scope, while there was no other scope in the store.
    pub recall_alone_ms: Quantiles,
    /// The same recall beside the other scopes.
    pub recall_ms: Quantiles,
    /// All scopes with their counts, as the app's scope tree shows them.
    pub tree_ms: Quantiles,
    /// A page of search results of all scopes.
    pub search_ms: Quantiles,
    /// A page of claims of all scopes.
    pub page_ms: Quantiles,
    /// A page of retracted claims of all scopes, which are few.
    pub rare_page_ms: Quantiles,
    /// The counts of `ergo status`.
    pub counts_ms: Quantiles,
    /// The time from the start of the daemon until it answers.
    pub start_ms: f64,
    /// Peak memory of the daemon until it is idle, in MiB; 0 without `/proc`.
    pub daemon_mib: f64,
    /// Size of the store file with its write-ahead log, in MiB.
    pub file_mib: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GrowthReport {
    /// Ascending by size.
    pub rows: Vec<GrowthRow>,
}

/// Fills a store at each size and measures it.
pub fn run(options: &GrowthOptions, progress: &mut dyn FnMut(&str)) -> Result<GrowthReport, BenchError> {
    let mut report = GrowthReport::default();
    for &claims in &options.sizes {
        report.rows.push(measure(options, claims, progress)?);
    }
    Ok(report)
}

/// Splits the numbers of claims into those of the large scope and those of all other scopes.
pub(super) fn shares(claims: usize) -> [Range<usize>; 2] {
    let large = (claims / 10).max(1);
    [0..large, large..claims.max(large)]
}

/// Returns one of the small scopes.
fn small_scope(number: usize) -> Scope {
    Scope { org_id: "bench".into(), project: format!("project-{number}") }
}

/// Spreads claims evenly over small scopes.
pub(super) fn fill_small_scopes(
    store: &mut Store,
    scopes: usize,
    numbers: Range<usize>,
    model: &VectorModel,
    vector: &dyn Fn(usize) -> Vec<f32>,
) -> Result<(), BenchError> {
    let (scopes, claims) = (scopes.max(1), numbers.len());
    for scope in 0..scopes {
        let first = |scope: usize| numbers.start + claims * scope / scopes;
        fill_in(store, &small_scope(scope), first(scope)..first(scope + 1), model, vector)?;
    }
    Ok(())
}

fn measure(options: &GrowthOptions, claims: usize, progress: &mut dyn FnMut(&str)) -> Result<GrowthRow, BenchError> {
    let (samples, others) = (options.samples, options.scopes.saturating_sub(1));
    let key = store::key();
    let settings = "who = \"bench\"\n[daemon]\ntcp = false\n[models]\nembedder = \"none\"\nnli = \"none\"\nllm = \"none\"\n\
                    [sync]\nmode = \"off\"\n";
    let paths = make_home(options.folder.join(format!("growth-{claims}")), &key, settings)?;
    let model = VectorModel { name: "made up".into(), dimension: synth::DIMENSION };
    let open_store = || {
        Store::open_with(&paths.store(), key.clone(), Arc::new(StructuralPairCheck), StoreOptions { durable: false })
    };
    let vector = |n: usize| synth::vector(n, 0);
    let [large, rest] = shares(claims);
    progress(&format!("filling one scope with {} claims", large.len()));
    let begun = Instant::now();
    fill_in(&mut open_store()?, &store::scope(), large.clone(), &model, &vector)?;
    let mut fill_s = begun.elapsed().as_secs_f64();
    let open_engine = || {
        let mut config = EngineConfig::new(paths.store(), key.clone());
        config.durable = false;
        Engine::open(config)
    };
    let recall_alone_ms = recall(&open_engine()?, large.len(), samples)?;
    progress(&format!("filling {others} more scopes with {} claims", rest.len()));
    let begun = Instant::now();
    fill_small_scopes(&mut open_store()?, others, rest, &model, &vector)?;
    fill_s += begun.elapsed().as_secs_f64();
    progress(&format!("measuring at {claims} claims"));
    let engine = open_engine()?;
    let everywhere = ClaimsQuery::default();
    let search = |n: usize| ClaimsQuery { q: Some(synth::question(n * 7919 % claims)), ..everywhere.clone() };
    let retracted = ClaimsQuery { status: Some("retracted".to_owned()), ..everywhere.clone() };
    let recall_ms = recall(&engine, large.len(), samples)?;
    let tree_ms = store::timed(samples, |_| engine.scopes().map(drop))?;
    let search_ms = store::timed(samples, |n| engine.claims(&search(n)).map(drop))?;
    let page_ms = store::timed(samples, |_| engine.claims(&everywhere).map(drop))?;
    let counts_ms = store::timed(samples, |_| engine.counts().map(drop))?;
    let file_mib = measure::mib(engine.counts()?.store_bytes);
    let write_ms = store::timed_writes(&engine, samples, "stored", |n| {
        store::guarded_write(store::scope(), claims + n, synth::statement(claims + n))
    })?;
    let first = claims + samples + WARM_UP_CALLS;
    let write_small_ms = store::timed_writes(&engine, samples, "stored", |n| {
        store::guarded_write(small_scope(n % others.max(1)), first + n, synth::statement(first + n))
    })?;
    retract(&engine, others, claims + samples, samples)?;
    let rare_page_ms = store::timed(samples, |_| engine.claims(&retracted).map(drop))?;
    drop(engine);
    let (start_ms, daemon_mib) = daemon(paths.clone(), options)?;
    // Makes room for the next size.
    std::fs::remove_dir_all(&paths.data).map_err(BenchError::io(&paths.data))?;
    Ok(GrowthRow {
        claims,
        in_scope: large.len(),
        scopes: options.scopes,
        fill_s,
        write_ms,
        write_small_ms,
        recall_alone_ms,
        recall_ms,
        tree_ms,
        search_ms,
        page_ms,
        rare_page_ms,
        counts_ms,
        start_ms,
        daemon_mib,
        file_mib,
    })
}

fn recall(engine: &Engine, claims: usize, samples: usize) -> Result<Quantiles, BenchError> {
    let Scope { org_id, project } = store::scope();
    let ask = |n: usize| {
        let query = synth::question(n * 7919 % claims);
        let request =
            RecallRequest { org_id: org_id.clone(), project: project.clone(), query, ..RecallRequest::default() };
        engine.recall(&request).map(drop)
    };
    store::timed(samples, ask)
}

/// Retracts one claim in each of at most `samples` small scopes.
fn retract(engine: &Engine, others: usize, first: usize, samples: usize) -> Result<(), ApiError> {
    for n in 0..samples.min(others) {
        let Scope { org_id, project } = small_scope(n);
        let (org_id, project) = (Some(org_id), Some(project));
        let newest = engine.claims(&ClaimsQuery { org_id, project, limit: Some(1), ..ClaimsQuery::default() })?;
        let Some(claim) = newest.items.first() else { continue };
        engine.retract(ergo::api::ActRequest {
            caller: store::caller(small_scope(n)),
            target: claim.id.to_string(),
            reason: synth::reason(first + n),
            ..ergo::api::ActRequest::default()
        })?;
    }
    Ok(())
}

/// Starts a daemon; returns the milliseconds that this takes, and its peak memory in MiB once it is idle.
fn daemon(paths: Paths, options: &GrowthOptions) -> Result<(f64, f64), BenchError> {
    runtime()?.block_on(async {
        let mut daemon = BenchDaemon::new(paths, options.program.clone())?;
        let begun = Instant::now();
        daemon.start().await?;
        let start_ms = millis(begun.elapsed());
        tokio::time::sleep(IDLE_AFTER_START).await;
        let peak = daemon.pid().and_then(measure::peak_memory).unwrap_or_default();
        daemon.stop().await?;
        Ok((start_ms, measure::mib(peak)))
    })
}

/// A column of the table: its heading and its figure in milliseconds.
type Column = (&'static str, fn(&GrowthRow) -> f64);

const COLUMNS: [Column; 10] = [
    ("write", |row| row.write_ms.p95),
    ("write, small scope", |row| row.write_small_ms.p95),
    ("recall, scope alone", |row| row.recall_alone_ms.p95),
    ("recall", |row| row.recall_ms.p95),
    ("scope tree", |row| row.tree_ms.p95),
    ("search, all scopes", |row| row.search_ms.p95),
    ("page, all scopes", |row| row.page_ms.p95),
    ("page of few", |row| row.rare_page_ms.p95),
    ("counts", |row| row.counts_ms.p95),
    ("daemon start", |row| row.start_ms),
];

impl GrowthReport {
    /// Returns a table with a line for each size. Each time is followed by its ratio to that of the size before.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "p95 in ms; in parentheses the factor since the size before\n\n| claims | in the large scope | scopes |",
        );
        for (head, _) in COLUMNS {
            let _ = write!(text, " {head} |");
        }
        text += " daemon MiB | file MiB | filled in s |\n";
        let _ = writeln!(text, "|{}", "---:|".repeat(COLUMNS.len() + 6));
        for (at, row) in self.rows.iter().enumerate() {
            let _ = write!(text, "| {} | {} | {} |", row.claims, row.in_scope, row.scopes);
            let before = at.checked_sub(1).and_then(|before| self.rows.get(before));
            for (_, figure) in COLUMNS {
                let now = figure(row);
                let factor = before
                    .map_or_else(String::new, |before| format!(" ({:.1})", now / figure(before).max(f64::EPSILON)));
                let _ = write!(text, " {now:.1}{factor} |");
            }
            let _ = writeln!(text, " {:.0} | {:.0} | {:.0} |", row.daemon_mib, row.file_mib, row.fill_s);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_claims_is_in_one_scope_and_the_others_are_spread_evenly() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ergo.db");
        let options = StoreOptions { durable: false };
        let mut store = Store::open_with(&path, store::key(), Arc::new(StructuralPairCheck), options).unwrap();
        let model = VectorModel { name: "made up".into(), dimension: synth::DIMENSION };
        let [large, rest] = shares(100);
        fill_in(&mut store, &store::scope(), large, &model, &|n| synth::vector(n, 0)).unwrap();
        fill_small_scopes(&mut store, 4, rest, &model, &|n| synth::vector(n, 0)).unwrap();
        let mut sizes: Vec<_> = store.reader().scopes(0).unwrap().iter().map(|row| row.active).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [10, 22, 22, 23, 23]);
    }

    #[test]
    fn the_table_says_by_how_much_each_figure_grew() {
        let row = |claims, p95| GrowthRow {
            claims,
            in_scope: claims / 10,
            scopes: 10,
            fill_s: 1.0,
            write_ms: Quantiles { p95, ..Quantiles::default() },
            write_small_ms: Quantiles::default(),
            recall_alone_ms: Quantiles::default(),
            recall_ms: Quantiles::default(),
            tree_ms: Quantiles::default(),
            search_ms: Quantiles::default(),
            page_ms: Quantiles::default(),
            rare_page_ms: Quantiles::default(),
            counts_ms: Quantiles::default(),
            start_ms: 3.0 * p95,
            daemon_mib: 30.0,
            file_mib: 8.0,
        };
        let table = GrowthReport { rows: vec![row(1_000, 2.0), row(10_000, 3.0)] }.table();
        let last = table.lines().last().unwrap();
        assert!(
            last.starts_with("| 10000 | 1000 | 10 | 3.0 (1.5) |") && last.contains("| 9.0 (1.5) | 30 |"),
            "{table}"
        );
        let columns: Vec<usize> = table.lines().skip(2).map(|line| line.matches('|').count()).collect();
        assert_eq!(columns, [17; 4], "{table}");
    }
}
