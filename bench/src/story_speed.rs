//! `ergo-bench story --speed`: how long the story pass takes after one write, and an audit of a whole scope without
//! models.

use std::{fmt, path::Path, sync::Arc, time::Instant};

use ergo::{
    api::{AuditRequest, RememberRequest, StoryQuery},
    domain::{ClaimKind, Scope},
    engine::{Engine, EngineConfig},
    guard::StructuralPairCheck,
    store::{Store, StoreOptions, VectorModel},
};
use serde::Serialize;

use crate::{
    error::BenchError,
    measure::{Quantiles, millis},
    store, store_fill, store_synth as synth,
};

/// The largest scope of which an audit is measured.
const MAX_AUDITED_CLAIMS: usize = 5_000;

/// The figures at one size of the scope.
#[derive(Clone, Debug, Serialize)]
pub struct StorySpeedRow {
    /// Claims in the scope.
    pub claims: usize,
    /// Reading the whole story for the first time, in seconds.
    pub first_s: f64,
    /// The pass after one write, in milliseconds.
    pub pass_ms: Quantiles,
    /// Returning the story with its marks, in milliseconds.
    pub story_ms: f64,
    /// An audit of the scope without models, in seconds; absent above [`MAX_AUDITED_CLAIMS`].
    pub audit_s: Option<f64>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct StorySpeedReport {
    pub rows: Vec<StorySpeedRow>,
}

/// Measures scopes of these sizes, in temporary stores in a folder.
pub fn run(
    folder: &Path,
    sizes: &[usize],
    samples: usize,
    progress: &mut dyn FnMut(&str),
) -> Result<StorySpeedReport, BenchError> {
    std::fs::create_dir_all(folder).map_err(BenchError::io(folder))?;
    let mut report = StorySpeedReport::default();
    for claims in sizes.iter().copied() {
        progress(&format!("writing {claims} claims"));
        let path = folder.join(format!("story-{claims}.db"));
        let options = StoreOptions { durable: false };
        let made = Store::open_with(&path, store::key(), Arc::new(StructuralPairCheck), options)?;
        let model = VectorModel { name: "made up".into(), dimension: synth::DIMENSION };
        store_fill::fill(made, claims, &model, &|n| synth::vector(n, 0))?;
        let mut config = EngineConfig::new(&path, store::key());
        config.durable = false;
        let engine = Engine::open(config)?;
        progress(&format!("reading the story of {claims} claims"));
        let begun = Instant::now();
        read_all_stories(&engine)?;
        let first_s = begun.elapsed().as_secs_f64();
        let mut pass = Vec::with_capacity(samples);
        for n in 0..samples {
            engine.remember(RememberRequest {
                caller: store::caller(store::scope()),
                kind: Some(ClaimKind::Decision),
                statement: synth::statement(claims + n),
                reason: Some(synth::reason(n)),
                ..RememberRequest::default()
            })?;
            let begun = Instant::now();
            read_all_stories(&engine)?;
            pass.push(millis(begun.elapsed()));
        }
        let begun = Instant::now();
        let Scope { org_id, project } = store::scope();
        engine.story(&StoryQuery { org_id, project, ..StoryQuery::default() })?;
        let story_ms = millis(begun.elapsed());
        let audit_s = if claims <= MAX_AUDITED_CLAIMS {
            let begun = Instant::now();
            engine.audit(AuditRequest { caller: store::caller(store::scope()), dry_run: true })?;
            Some(begun.elapsed().as_secs_f64())
        } else {
            None
        };
        report.rows.push(StorySpeedRow { claims, first_s, pass_ms: Quantiles::of(pass), story_ms, audit_s });
        drop(engine);
        store::remove(&path)?;
    }
    Ok(report)
}

fn read_all_stories(engine: &Engine) -> Result<(), BenchError> {
    while engine.read_stories()? {}
    Ok(())
}

impl fmt::Display for StorySpeedReport {
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
