//! How long recall takes, the embedder included, by the number of claims in the scope.

use std::{fmt::Write as _, path::Path, sync::Arc, time::Instant};

use serde::Serialize;

use crate::{
    error::BenchError,
    measure::{Quantiles, millis},
    store::{self, StoreBenchOptions, WARM_UP_CALLS},
    store_growth::shares,
    store_models, store_synth as synth,
};
use ergo::{api::RecallRequest, infer::Models};

/// The figures at one size of the scope.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecallSpeedRow {
    /// Active claims in the store.
    pub claims: usize,
    /// One question, from the request to the answer.
    pub recall_ms: Quantiles,
    /// The embedder alone, on another question.
    pub embed_ms: Quantiles,
    /// With further scopes: one question while the scope was alone in the store.
    pub alone_ms: Option<Quantiles>,
}

/// Fills a store at each size and asks it. With several scopes, a tenth of the claims is in the one that is asked.
pub fn run(
    options: &StoreBenchOptions,
    scopes: usize,
    models: &Arc<dyn Models>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<RecallSpeedRow>, BenchError> {
    std::fs::create_dir_all(&options.folder).map_err(BenchError::io(&options.folder))?;
    let most = options.sizes.iter().copied().max().unwrap_or_default();
    progress("embedding claims");
    let real = store_models::embed(models, most)?;
    let mut rows = Vec::new();
    for &claims in &options.sizes {
        let path = options.folder.join(format!("bench-recall-{claims}.db"));
        store::remove(&path)?;
        let [large, rest] = if scopes > 1 { shares(claims) } else { [0..claims, claims..claims] };
        progress(&format!("filling a scope with {} claims", large.len()));
        store_models::fill(&path, large.len(), &real, models)?;
        progress(&format!("asking {} claims", large.len()));
        let [recall_ms, embed_ms] = ask(&path, large.len(), options.samples, models)?;
        let row = if rest.is_empty() {
            RecallSpeedRow { claims, recall_ms, embed_ms, alone_ms: None }
        } else {
            progress(&format!("filling {} more scopes with {} claims", scopes - 1, rest.len()));
            store_models::fill_small_scopes(&path, scopes - 1, rest, &real)?;
            progress("asking the same scope beside the others");
            let alone_ms = Some(recall_ms);
            let [recall_ms, embed_ms] = ask(&path, large.len(), options.samples, models)?;
            RecallSpeedRow { claims, recall_ms, embed_ms, alone_ms }
        };
        store::remove(&path)?;
        rows.push(row);
    }
    Ok(rows)
}

/// Asks a scope with this number of claims; returns the times of recall, and of the embedder alone.
fn ask(path: &Path, claims: usize, samples: usize, models: &Arc<dyn Models>) -> Result<[Quantiles; 2], BenchError> {
    let scope = store::scope();
    let engine = store_models::open(path, models)?;
    let (mut recall, mut embed) = (Vec::new(), Vec::new());
    for n in 0..WARM_UP_CALLS + samples {
        let query = synth::question(n * 7919 % claims.max(1));
        let begun = Instant::now();
        models.embed(std::slice::from_ref(&query), store_models::CALL)?;
        let embedded = begun.elapsed();
        // Another question, since this one is in the caches now.
        let query = synth::question((n * 7919 + claims / 2) % claims.max(1));
        let request = RecallRequest {
            org_id: scope.org_id.clone(),
            project: scope.project.clone(),
            query,
            ..RecallRequest::default()
        };
        let begun = Instant::now();
        engine.recall(&request)?;
        let took = begun.elapsed();
        if n >= WARM_UP_CALLS {
            recall.push(millis(took));
            embed.push(millis(embedded));
        }
    }
    Ok([Quantiles::of(recall), Quantiles::of(embed)])
}

/// Returns a table with a line for each size, and the ratio of its p95 to that of the size before.
pub fn table(rows: &[RecallSpeedRow]) -> String {
    let mut text = String::from(
        "    claims   recall p50/p95/max ms   embedder p50/p95 ms   times the size before   scope alone p95 ms\n",
    );
    for (at, row) in rows.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| rows.get(before));
        let times = before.map_or_else(|| "-".to_owned(), |b| format!("{:.2}", row.recall_ms.p95 / b.recall_ms.p95));
        let recall = format!("{:.1}/{:.1}/{:.1}", row.recall_ms.p50, row.recall_ms.p95, row.recall_ms.max);
        let embed = format!("{:.1}/{:.1}", row.embed_ms.p50, row.embed_ms.p95);
        let alone = row.alone_ms.map_or_else(|| "-".to_owned(), |alone| format!("{:.1}", alone.p95));
        let _ = writeln!(text, "{:>10}   {recall:>21}   {embed:>19}   {times:>21}   {alone:>18}", row.claims);
    }
    text
}
