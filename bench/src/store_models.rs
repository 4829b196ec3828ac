//! `ergo-bench store --models`: how long writes take with models, by the number of active claims in the scope, and what
//! the deep stage's work in the background costs them.
//!
//! The real worker embeds the statements of some claims. The vectors of all other claims are those of embedded ones,
//! moved a little, so that every claim has near neighbours. Timed writes are embedded and inferred as always.

use std::{
    fmt::Write as _,
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{
    error::BenchError,
    measure::{Quantiles, mib, millis},
    store::{self, MAX_LEVEL_COST_PERCENT, StoreBenchOptions, level_cost_percent},
    store_fill, store_growth, store_synth as synth,
};
use ergo::{
    api::{ApiError, RememberRequest, UndoRequest, WriteOutcome},
    engine::{Engine, EngineConfig},
    guard::{Guard, StructuralPairCheck},
    infer::{Call, InferError, ModelRole, Models},
    store::{Store, StoreOptions, VectorModel},
};

/// Claims that are embedded; the vectors of the others are made from theirs.
const EMBEDDED_CLAIMS: usize = 2_000;

/// Texts per call of the embedder.
const TEXTS_PER_CALL: usize = 50;

/// Writes that load the models and are not timed.
const WARM_UP_WRITES: usize = 5;

/// The least number of claims that the deep stage reads, unless that takes longer than [`DEEP_TIMEOUT`].
const MIN_DEEP_CLAIMS: usize = 60;

const DEEP_TIMEOUT: Duration = Duration::from_mins(3);

/// The length of the random direction that is added to a real vector of length 1: the cosine of the sum and the real
/// vector is about 0.9.
const MOVED_BY: f32 = 0.5;

/// The deadline of the calls of these measurements.
pub(super) const CALL: Call = Call::foreground(Duration::from_mins(2));

/// The figures at one size of the scope.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelWritesRow {
    /// Active claims in the scope before the writes.
    pub claims: usize,
    /// Writes for which the cross-encoder read a pair, including the wait for the disk.
    pub inferred_ms: Quantiles,
    /// The number of these writes.
    pub inferred: usize,
    /// Pairs per such write, on average.
    pub pairs: f64,
    /// `inferred_ms` right before the claims of the organisation's level: the scope has also got what was written
    /// meanwhile.
    pub one_level_ms: Quantiles,
    /// `one_level_ms` after the organisation's level got a tenth as many claims as the project.
    pub leveled_ms: Quantiles,
    /// Pairs per such write, on average.
    pub leveled_pairs: f64,
    /// Writes for which the cross-encoder read nothing.
    pub plain_ms: Quantiles,
    /// The number of these writes.
    pub plain: usize,
    /// Writes that are answered by a question about claims in doubt, until the question came.
    pub doubt_ms: Quantiles,
    /// The number of these writes.
    pub doubts: usize,
    /// Pairs per such write, on average.
    pub doubt_pairs: f64,
    /// What the deep stage costs writes; absent without a language model.
    pub deep: Option<DeepRow>,
    /// Memory of the workers, in MiB, by the roles of their models.
    pub workers_mib: Vec<(String, f64)>,
}

/// What the deep stage costs writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeepRow {
    /// Writes while the deep stage rests.
    pub resting_ms: Quantiles,
    /// Writes while it works.
    pub working_ms: Quantiles,
    /// Its time for the first claim, which includes reading the examples of its prompt.
    pub first_ms: f64,
    /// Claims that it read after the first one, some of them while nothing was written.
    pub read: usize,
    /// Its time for one of these.
    pub claim_ms: Quantiles,
}

/// Fills a store at each size and measures writes with models.
pub fn run(
    options: &StoreBenchOptions,
    models: &Arc<dyn Models>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<ModelWritesRow>, BenchError> {
    std::fs::create_dir_all(&options.folder).map_err(BenchError::io(&options.folder))?;
    progress(&format!("embedding {EMBEDDED_CLAIMS} claims"));
    let most = options.sizes.iter().copied().max().unwrap_or_default();
    let real = embed(models, most)?;
    let mut rows = Vec::new();
    for &claims in &options.sizes {
        let path = options.folder.join(format!("bench-models-{claims}.db"));
        store::remove(&path)?;
        progress(&format!("filling a store with {claims} claims"));
        fill(&path, claims, &real, models)?;
        progress(&format!("measuring writes with models at {claims} claims"));
        rows.push(measure(&path, claims, options.samples, models, &real)?);
        store::remove(&path)?;
    }
    Ok(rows)
}

/// Embeds claims that are spread evenly over the first `most` ones.
pub(super) fn embed(models: &Arc<dyn Models>, most: usize) -> Result<Vec<Vec<f32>>, BenchError> {
    let count = EMBEDDED_CLAIMS.min(most.max(1));
    let step = (most / count).max(1);
    let texts: Vec<String> = (0..count).map(|n| synth::statement(n * step)).collect();
    let mut vectors = Vec::with_capacity(count);
    for texts in texts.chunks(TEXTS_PER_CALL) {
        vectors.extend(models.embed(texts, CALL)?);
    }
    Ok(vectors)
}

/// Creates a store with this number of claims, whose vectors are near those in `real`.
pub(super) fn fill(path: &Path, claims: usize, real: &[Vec<f32>], models: &Arc<dyn Models>) -> Result<(), BenchError> {
    // A first claim is written through the engine, so that the store knows the name of the model.
    let first = open(path, models)?;
    write(&first, "The first claim says nothing")?;
    drop(first);
    let (store, model) = open_filled(path)?;
    store_fill::fill(store, claims, &model, &|n| moved(n, real))
}

/// Opens a store that [`fill`] made, and returns the model of its vectors.
fn open_filled(path: &Path) -> Result<(Store, VectorModel), BenchError> {
    let options = StoreOptions { durable: false };
    let store = Store::open_with(path, store::key(), Arc::new(StructuralPairCheck), options)?;
    let model = store.reader().vector_model()?.ok_or(InferError::NoModel { role: ModelRole::Embedder })?;
    Ok((store, model))
}

/// Spreads claims over small scopes of a store that [`fill`] made.
pub(super) fn fill_small_scopes(
    path: &Path,
    scopes: usize,
    numbers: Range<usize>,
    real: &[Vec<f32>],
) -> Result<(), BenchError> {
    let (mut store, model) = open_filled(path)?;
    store_growth::fill_small_scopes(&mut store, scopes, numbers, &model, &|n| moved(n, real))
}

/// Adds claims of the organisation's level to a store that [`fill`] made.
fn fill_organisation(path: &Path, numbers: Range<usize>, real: &[Vec<f32>]) -> Result<(), BenchError> {
    let (mut store, model) = open_filled(path)?;
    store_fill::fill_in(&mut store, &store::scope().organisation(), numbers, &model, &|n| moved(n, real))
}

/// Returns a vector near one of the real ones.
fn moved(n: usize, real: &[Vec<f32>]) -> Vec<f32> {
    let near = &real[n % real.len()];
    let away = synth::direction(n, near.len());
    near.iter().zip(away).map(|(x, y)| x + MOVED_BY * y).collect()
}

pub(super) fn open(path: &Path, models: &Arc<dyn Models>) -> Result<Engine, BenchError> {
    let config = EngineConfig::new(path, store::key());
    Ok(Engine::open_with_models(config, Guard::default(), Arc::clone(models))?)
}

/// Writes a statement; returns the time in milliseconds.
fn write(engine: &Engine, statement: &str) -> Result<f64, BenchError> {
    let begun = Instant::now();
    let outcome = engine.remember(RememberRequest {
        caller: store::caller(store::scope()),
        statement: statement.to_owned(),
        reason: Some("measured".into()),
        force_exception: Some("the measurement goes on".into()),
        ..RememberRequest::default()
    })?;
    let took = millis(begun.elapsed());
    match outcome {
        WriteOutcome::Stored(stored) if !stored.warnings.iter().any(|w| w.code == "stage_skipped") => Ok(took),
        _ => Err(BenchError::Unexpected { statement: statement.to_owned(), expected: "stored" }),
    }
}

/// Writes a statement as an agent that can answer questions. Returns the time in milliseconds if the answer is a
/// question. The write is undone.
fn write_as_an_agent(engine: &Engine, statement: &str) -> Result<Option<f64>, BenchError> {
    let begun = Instant::now();
    let outcome = engine.remember(RememberRequest {
        caller: store::caller(store::scope()),
        statement: statement.to_owned(),
        reason: Some("measured".into()),
        consider: true,
        ..RememberRequest::default()
    })?;
    let took = millis(begun.elapsed());
    let (op, time) = match outcome {
        WriteOutcome::Stored(stored) => (stored.op_id, None),
        WriteOutcome::Consider(question) => (question.op_id, Some(took)),
        _ => return Ok(None),
    };
    engine.undo(UndoRequest {
        caller: store::caller(store::scope()),
        target_op: Some(op),
        ..UndoRequest::default()
    })?;
    Ok(time)
}

/// Times of writes in milliseconds, by whether the cross-encoder read a pair for them.
#[derive(Default)]
struct WriteTimes {
    inferred: Vec<f64>,
    plain: Vec<f64>,
    /// Pairs that the cross-encoder read.
    pairs: u64,
}

fn pairs_read(engine: &Engine) -> Result<u64, ApiError> {
    Ok(engine.counts()?.guard.inferred)
}

/// Writes `samples` statements that have near claims, and as many that have none.
fn writes(engine: &Engine, first: usize, samples: usize) -> Result<WriteTimes, BenchError> {
    let mut done = WriteTimes::default();
    for n in 0..2 * samples {
        let text = if n % 2 == 0 { synth::statement(first + n / 2) } else { synth::unrelated(1 + n / 2) };
        let before = pairs_read(engine)?;
        let took = write(engine, &text)?;
        match pairs_read(engine)? - before {
            0 => done.plain.push(took),
            some => {
                done.pairs += some;
                done.inferred.push(took);
            }
        }
        if n % 2 == 1 {
            // Otherwise the next statement of this kind would have a near claim.
            engine.undo(UndoRequest { caller: store::caller(store::scope()), ..UndoRequest::default() })?;
        }
    }
    Ok(done)
}

/// Loads the models, then times writes as [`writes`] does. `next` is the number of the first claim not used yet.
fn warm_writes(engine: &Engine, next: &mut usize, samples: usize) -> Result<WriteTimes, BenchError> {
    for n in 0..WARM_UP_WRITES {
        write(engine, &synth::statement(*next + n))?;
    }
    let first = *next + WARM_UP_WRITES;
    *next = first + samples;
    writes(engine, first, samples)
}

fn measure(
    path: &Path,
    claims: usize,
    samples: usize,
    models: &Arc<dyn Models>,
    real: &[Vec<f32>],
) -> Result<ModelWritesRow, BenchError> {
    let engine = open(path, models)?;
    let mut next = claims;
    let WriteTimes { inferred, plain, pairs } = warm_writes(&engine, &mut next, samples)?;
    let (mut doubted, mut doubt_pairs) = (Vec::new(), 0);
    for n in 0..samples {
        let before = pairs_read(&engine)?;
        if let Some(took) = write_as_an_agent(&engine, &synth::doubtful(n))? {
            doubt_pairs += pairs_read(&engine)? - before;
            doubted.push(took);
        }
    }
    let deep = match models.info().role(ModelRole::Llm) {
        Some(_) => Some(beside_the_deep_stage(&engine, next, samples)?),
        None => None,
    };
    next += 2 * samples;
    let workers_mib = models
        .workers()
        .iter()
        .filter(|worker| worker.rss_bytes > 0)
        .map(|worker| {
            let held: Vec<&str> = worker.roles.iter().map(|role| role.name()).collect();
            (held.join(" and "), mib(worker.rss_bytes))
        })
        .collect();
    drop(engine);
    // What two levels are compared with: the same store without the claims of the organisation's level.
    let one_level = warm_writes(&open(path, models)?, &mut next, samples)?;
    fill_organisation(path, 10 * claims..10 * claims + claims / 10, real)?;
    let leveled = warm_writes(&open(path, models)?, &mut next, samples)?;
    Ok(ModelWritesRow {
        claims,
        one_level_ms: Quantiles::of(one_level.inferred),
        leveled_pairs: leveled.pairs as f64 / leveled.inferred.len().max(1) as f64,
        leveled_ms: Quantiles::of(leveled.inferred),
        pairs: pairs as f64 / inferred.len().max(1) as f64,
        inferred: inferred.len(),
        plain: plain.len(),
        inferred_ms: Quantiles::of(inferred),
        plain_ms: Quantiles::of(plain),
        doubts: doubted.len(),
        doubt_pairs: doubt_pairs as f64 / doubted.len().max(1) as f64,
        doubt_ms: Quantiles::of(doubted),
        deep,
        workers_mib,
    })
}

/// Times writes while the deep stage rests, and while it works through what was written.
fn beside_the_deep_stage(engine: &Engine, first: usize, samples: usize) -> Result<DeepRow, BenchError> {
    let writes = |first: usize| -> Result<Vec<f64>, BenchError> {
        (first..first + samples).map(|n| write(engine, &synth::statement(n))).collect()
    };
    let resting = writes(first)?;
    let writes_done = AtomicBool::new(false);
    let (working, claim_ms) = std::thread::scope(|threads| {
        let background = threads.spawn(|| {
            let mut took = Vec::new();
            while !writes_done.load(Ordering::Relaxed) {
                let begun = Instant::now();
                if !engine.deepen_next()? {
                    break;
                }
                took.push(millis(begun.elapsed()));
            }
            Ok::<_, ApiError>(took)
        });
        let working = writes(first + samples);
        writes_done.store(true, Ordering::Relaxed);
        let stopped = background.join().unwrap_or_else(|_| Err(ApiError::internal("the deep stage panicked")));
        Ok::<_, BenchError>((working?, stopped?))
    })?;
    // The language model reads the examples of its prompt once, with the first claim.
    let first_ms = claim_ms.first().copied().unwrap_or_default();
    let mut claim_ms = claim_ms.get(1..).unwrap_or_default().to_vec();
    let begun = Instant::now();
    while claim_ms.len() < MIN_DEEP_CLAIMS && begun.elapsed() < DEEP_TIMEOUT {
        let claim = Instant::now();
        if !engine.deepen_next()? {
            break;
        }
        claim_ms.push(millis(claim.elapsed()));
    }
    Ok(DeepRow {
        resting_ms: Quantiles::of(resting),
        working_ms: Quantiles::of(working),
        first_ms,
        read: claim_ms.len(),
        claim_ms: Quantiles::of(claim_ms),
    })
}

/// Returns a table with a line for each size.
pub fn table(rows: &[ModelWritesRow]) -> String {
    let pair = |times: Quantiles| format!("{:.1}/{:.1}", times.p50, times.p95);
    let mut text = String::from(
        "    claims   inferred p50/p95   writes   pairs   one level again p50/p95   two levels p50/p95   pairs   not inferred p50/p95   writes   asked p50/p95   writes   pairs   beside the deep stage p50/p95   resting   \
         a claim of it\n",
    );
    for row in rows {
        let of = |deep: fn(&DeepRow) -> Quantiles| row.deep.as_ref().map_or_else(|| "-".into(), |d| pair(deep(d)));
        let _ = writeln!(
            text,
            "{:>10}   {:>16}   {:>6}   {:>5.1}   {:>23}   {:>18}   {:>5.1}   {:>20}   {:>6}   {:>13}   {:>6}   {:>5.1}   {:>29}   {:>7}   {:>13}",
            row.claims,
            pair(row.inferred_ms),
            row.inferred,
            row.pairs,
            pair(row.one_level_ms),
            pair(row.leveled_ms),
            row.leveled_pairs,
            pair(row.plain_ms),
            row.plain,
            pair(row.doubt_ms),
            row.doubts,
            row.doubt_pairs,
            of(|deep| deep.working_ms),
            of(|deep| deep.resting_ms),
            of(|deep| deep.claim_ms),
        );
        if let Some(deep) = &row.deep {
            let _ = writeln!(
                text,
                "{:>10}   the deep stage read the first claim in {:.0} ms, then {} more",
                "", deep.first_ms, deep.read
            );
        }
        let _ = writeln!(
            text,
            "{:>10}   two levels cost a write {:+.1} % at p50 and {:+.1} % at p95 (bar: {MAX_LEVEL_COST_PERCENT:.0} %)",
            "",
            level_cost_percent(row.leveled_ms.p50, row.one_level_ms.p50),
            level_cost_percent(row.leveled_ms.p95, row.one_level_ms.p95),
        );
        for (held, mib) in &row.workers_mib {
            let _ = writeln!(text, "{:>10}   the worker with {held}: {mib:.0} MiB", "");
        }
    }
    text
}
