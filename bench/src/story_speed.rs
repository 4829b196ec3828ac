//! `ergo-bench story --speed`: how long the pass over a story takes after one write, and an audit of a whole scope without models.

use std::{fmt, path::Path, time::Instant};

use ergo::{
    api::{AuditRequest, Caller, RememberRequest},
    domain::ClaimKind,
    engine::{Engine, EngineConfig},
    store::{Store, VectorModel},
};
use serde::Serialize;

use crate::{
    store::{self, BenchError, Quantiles},
    store_synth as synth,
};

/// What was measured of one size.
#[derive(Clone, Debug, Serialize)]
pub struct SpeedRow {
    /// Claims of the scope.
    pub claims: usize,
    /// Reading the whole story for the first time, in seconds.
    pub first_s: f64,
    /// The pass after one write, in milliseconds.
    pub pass_ms: Quantiles,
    /// The story with its marks, in milliseconds.
    pub story_ms: f64,
    /// An audit of the scope without models, in seconds; not measured above 5,000 claims.
    pub audit_s: Option<f64>,
}

/// What was measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SpeedReport {
    /// One for each size.
    pub rows: Vec<SpeedRow>,
}

/// Measures scopes of these sizes in a folder.
///
/// # Errors
/// If a store cannot be made or read.
pub fn run(
    folder: &Path,
    sizes: &[usize],
    samples: usize,
    progress: &mut dyn FnMut(&str),
) -> Result<SpeedReport, BenchError> {
    let failed = |error: std::io::Error| BenchError::Io { path: folder.to_owned(), error };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut report = SpeedReport::default();
    for claims in sizes.iter().copied() {
        progress(&format!("writing {claims} claims"));
        let path = folder.join(format!("story-{claims}.db"));
        let check = std::sync::Arc::new(ergo::guard::StructuralPairCheck);
        let made = Store::open_with(&path, store::key(), check, ergo::store::StoreOptions { durable: false })?;
        let model = VectorModel { name: "made up".into(), dimension: synth::DIMENSION };
        store::fill(made, claims, &model, &|n| synth::vector(n, 0))?;
        let mut config = EngineConfig::new(&path, store::key());
        config.durable = false;
        let engine = Engine::open(config)?;
        progress(&format!("reading the story of {claims} claims"));
        let begun = Instant::now();
        drain(&engine)?;
        let first_s = begun.elapsed().as_secs_f64();
        let mut pass = Vec::with_capacity(samples);
        for n in 0..samples {
            engine.remember(RememberRequest {
                caller: caller(),
                kind: Some(ClaimKind::Decision),
                statement: synth::statement(claims + n),
                reason: Some(synth::reason(n)),
                ..RememberRequest::default()
            })?;
            let begun = Instant::now();
            drain(&engine)?;
            pass.push(begun.elapsed().as_secs_f64() * 1000.0);
        }
        let begun = Instant::now();
        let Caller { org_id, project, .. } = caller();
        engine.story(&ergo::api::StoryQuery { org_id, project, ..Default::default() })?;
        let story_ms = begun.elapsed().as_secs_f64() * 1000.0;
        let audit_s = if claims <= 5_000 {
            let begun = Instant::now();
            engine.audit(AuditRequest { caller: caller(), dry_run: true })?;
            Some(begun.elapsed().as_secs_f64())
        } else {
            None
        };
        report.rows.push(SpeedRow { claims, first_s, pass_ms: store::quantiles(pass), story_ms, audit_s });
        drop(engine);
        store::remove(&path)?;
    }
    Ok(report)
}

fn drain(engine: &Engine) -> Result<(), BenchError> {
    while engine.read_stories()? {}
    Ok(())
}

fn caller() -> Caller {
    let scope = store::scope();
    Caller { org_id: scope.org_id, project: scope.project, who: "bench".into(), ..Caller::default() }
}

impl fmt::Display for SpeedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>9} {:>12} {:>12} {:>12} {:>12} {:>9}",
            "claims", "first, s", "p50, ms", "p95, ms", "story, ms", "audit, s"
        )?;
        for row in &self.rows {
            let audit = row.audit_s.map_or_else(String::new, |seconds| format!("{seconds:.2}"));
            writeln!(
                f,
                "{:>9} {:>12.2} {:>12.2} {:>12.2} {:>12.1} {audit:>9}",
                row.claims, row.first_s, row.pass_ms.p50, row.pass_ms.p95, row.story_ms
            )?;
        }
        Ok(())
    }
}
