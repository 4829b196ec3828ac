//! `ergo-bench store --models`: how long writes take with models, by the number of active claims in the scope; and what the
//! deep stage's work in the background costs them.
//!
//! Statements are embedded by the real worker for a few thousand claims; the vectors of all others are those of real ones,
//! moved a little, so that every claim has near neighbours. What is written is embedded and inferred as always.

use std::{
    fmt::Write as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{
    store::{self, BenchError, MOST_FOR_LEVELS, Options, Quantiles},
    store_growth, store_synth as synth,
};
use ergo::{
    api::{ApiError, Caller, RememberRequest, UndoRequest, WriteOutcome},
    engine::{Engine, EngineConfig},
    guard::{Guard, StructuralPairCheck},
    infer::{Call, InferError, ModelRole, Models},
    store::{Store, StoreOptions, VectorModel},
};

/// Claims that are embedded; the vectors of the others are made from theirs.
const EMBEDDED: usize = 2_000;

/// Texts that are embedded at once.
const BATCH: usize = 50;

/// Writes that load the models and are not counted.
const WARM: usize = 5;

/// Claims that the deep stage reads at least, unless that takes too long.
const DEEP: usize = 60;

/// How long it may go on with them.
const LONG: Duration = Duration::from_mins(3);

/// How far a made vector lies from the real one that it is made from: their cosine is about 0.9.
const MOVED: f32 = 0.5;

/// A call of these measurements.
pub(super) const CALL: Call = Call::foreground(Duration::from_mins(2));

/// One size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Active claims in the scope before the writes.
    pub claims: usize,
    /// Writes of which the cross-encoder was asked about a pair, the disk waited for.
    pub inferred_ms: Quantiles,
    /// How many those were.
    pub inferred: usize,
    /// Pairs of one such write, on average.
    pub pairs: f64,
    /// `inferred_ms` once the organisation's level has a tenth as many claims as the project.
    pub leveled_ms: Quantiles,
    /// Pairs of one such write, on average.
    pub leveled_pairs: f64,
    /// Writes of which it was not.
    pub plain_ms: Quantiles,
    /// How many those were.
    pub plain: usize,
    /// Writes whose writer was asked about claims in doubt, until the question came; the cross-encoder read pairs for it.
    pub doubt_ms: Quantiles,
    /// How many those were.
    pub doubts: usize,
    /// Pairs of one such write, on average.
    pub doubt_pairs: f64,
    /// Writes while the deep stage works in the background, and the same before it began; absent without a language model.
    pub deep: Option<DeepRow>,
    /// Memory of the workers, in MiB, by what they hold.
    pub workers_mib: Vec<(String, f64)>,
}

/// What the deep stage costs writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeepRow {
    /// Writes while it rests.
    pub resting_ms: Quantiles,
    /// Writes while it works.
    pub working_ms: Quantiles,
    /// Its time for the first claim, with which it reads the examples of its questions.
    pub first_ms: f64,
    /// Claims that it read after the first one, some of them while nothing was written.
    pub read: usize,
    /// Its time for one of them.
    pub claim_ms: Quantiles,
}

/// Fills a store at each size and measures writes with models.
///
/// # Errors
/// Where a file, the store or a model fails.
pub fn run(
    options: &Options,
    models: &Arc<dyn Models>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Row>, BenchError> {
    std::fs::create_dir_all(&options.folder).map_err(|error| BenchError::Io { path: options.folder.clone(), error })?;
    progress(&format!("embedding {EMBEDDED} claims"));
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

/// The vectors of claims that are spread over all of them.
pub(super) fn embed(models: &Arc<dyn Models>, most: usize) -> Result<Vec<Vec<f32>>, BenchError> {
    let count = EMBEDDED.min(most.max(1));
    let step = (most / count).max(1);
    let texts: Vec<String> = (0..count).map(|n| synth::statement(n * step)).collect();
    let mut vectors = Vec::with_capacity(count);
    for texts in texts.chunks(BATCH) {
        vectors.extend(models.embed(texts, CALL)?);
    }
    Ok(vectors)
}

pub(super) fn fill(path: &Path, claims: usize, real: &[Vec<f32>], models: &Arc<dyn Models>) -> Result<(), BenchError> {
    // The first claim is written as always, so that the store knows the model by its name.
    let first = open(path, models)?;
    write(&first, "The first claim says nothing")?;
    drop(first);
    let (store, model) = open_filled(path)?;
    store::fill(store, claims, &model, &|n| moved(n, real))
}

/// A store to fill further, with the model of its vectors.
fn open_filled(path: &Path) -> Result<(Store, VectorModel), BenchError> {
    let options = StoreOptions { durable: false };
    let store = Store::open_with(path, store::key(), Arc::new(StructuralPairCheck), options)?;
    let model = store.reader().vector_model()?.ok_or(InferError::NoModel { role: ModelRole::Embedder })?;
    Ok((store, model))
}

/// Spreads claims over further scopes of a store that [`fill`] made.
pub(super) fn fill_others(
    path: &Path,
    scopes: usize,
    numbers: std::ops::Range<usize>,
    real: &[Vec<f32>],
) -> Result<(), BenchError> {
    let (mut store, model) = open_filled(path)?;
    store_growth::fill_others(&mut store, scopes, numbers, &model, &|n| moved(n, real))
}

/// Adds claims of the organisation's level to a store that [`fill`] made.
fn fill_organisation(path: &Path, numbers: std::ops::Range<usize>, real: &[Vec<f32>]) -> Result<(), BenchError> {
    let (mut store, model) = open_filled(path)?;
    store::fill_in(&mut store, &store::scope().organisation(), numbers, &model, &|n| moved(n, real))
}

/// A vector near a real one.
fn moved(n: usize, real: &[Vec<f32>]) -> Vec<f32> {
    let near = &real[n % real.len()];
    let away = synth::direction(n, near.len());
    near.iter().zip(away).map(|(x, y)| x + MOVED * y).collect()
}

pub(super) fn open(path: &Path, models: &Arc<dyn Models>) -> Result<Engine, BenchError> {
    let config = EngineConfig::new(path, store::key());
    Ok(Engine::open_with_models(config, Guard::default(), Arc::clone(models))?)
}

fn caller() -> Caller {
    let scope = store::scope();
    Caller { org_id: scope.org_id, project: scope.project, who: "bench".into(), ..Caller::default() }
}

/// Writes a statement; answers how long it took.
fn write(engine: &Engine, statement: &str) -> Result<f64, BenchError> {
    let begun = Instant::now();
    let outcome = engine.remember(RememberRequest {
        caller: caller(),
        statement: statement.to_owned(),
        reason: Some("measured".into()),
        force_exception: Some("the measurement goes on".into()),
        ..RememberRequest::default()
    })?;
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    match outcome {
        WriteOutcome::Stored(stored) if !stored.warnings.iter().any(|w| w.code == "stage_skipped") => Ok(took),
        _ => Err(BenchError::Unexpected { statement: statement.to_owned(), expected: "stored" }),
    }
}

/// Writes a statement as an agent does, who answers questions; answers how long it took if a question came. The write is undone.
fn write_as_an_agent(engine: &Engine, statement: &str) -> Result<Option<f64>, BenchError> {
    let begun = Instant::now();
    let outcome = engine.remember(RememberRequest {
        caller: caller(),
        statement: statement.to_owned(),
        reason: Some("measured".into()),
        consider: true,
        ..RememberRequest::default()
    })?;
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    let (op, asked) = match outcome {
        WriteOutcome::Stored(stored) => (stored.op_id, None),
        WriteOutcome::Consider(question) => (question.op_id, Some(took)),
        _ => return Ok(None),
    };
    engine.undo(UndoRequest { caller: caller(), target_op: Some(op) })?;
    Ok(asked)
}

/// The times of writes in milliseconds, by whether the cross-encoder was asked about a pair.
#[derive(Default)]
struct Writes {
    inferred: Vec<f64>,
    plain: Vec<f64>,
    /// The pairs that it read.
    pairs: u64,
}

fn pairs_read(engine: &Engine) -> Result<u64, ApiError> {
    Ok(engine.counts()?.guard.inferred)
}

/// Writes `samples` statements that have near claims, and as many that have none.
fn writes(engine: &Engine, first: usize, samples: usize) -> Result<Writes, BenchError> {
    let mut done = Writes::default();
    for n in 0..2 * samples {
        let text = if n % 2 == 0 { synth::statement(first + n / 2) } else { synth::aside(1 + n / 2) };
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
            // Else the next one would have a neighbour of its sort.
            engine.undo(UndoRequest { caller: caller(), ..UndoRequest::default() })?;
        }
    }
    Ok(done)
}

fn measure(
    path: &Path,
    claims: usize,
    samples: usize,
    models: &Arc<dyn Models>,
    real: &[Vec<f32>],
) -> Result<Row, BenchError> {
    let engine = open(path, models)?;
    let mut next = claims;
    for n in 0..WARM {
        write(&engine, &synth::statement(next + n))?;
    }
    next += WARM;
    let Writes { inferred, plain, pairs } = writes(&engine, next, samples)?;
    next += samples;
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
            (held.join(" and "), worker.rss_bytes as f64 / f64::from(1 << 20))
        })
        .collect();
    drop(engine);
    fill_organisation(path, 10 * claims..10 * claims + claims / 10, real)?;
    let engine = open(path, models)?;
    for n in 0..WARM {
        write(&engine, &synth::statement(next + n))?;
    }
    let leveled = writes(&engine, next + WARM, samples)?;
    Ok(Row {
        claims,
        leveled_pairs: leveled.pairs as f64 / leveled.inferred.len().max(1) as f64,
        leveled_ms: store::quantiles(leveled.inferred),
        pairs: pairs as f64 / inferred.len().max(1) as f64,
        inferred: inferred.len(),
        plain: plain.len(),
        inferred_ms: store::quantiles(inferred),
        plain_ms: store::quantiles(plain),
        doubts: doubted.len(),
        doubt_pairs: doubt_pairs as f64 / doubted.len().max(1) as f64,
        doubt_ms: store::quantiles(doubted),
        deep,
        workers_mib,
    })
}

/// Writes while nothing waits for the language model, and while it works through what was written.
fn beside_the_deep_stage(engine: &Engine, first: usize, samples: usize) -> Result<DeepRow, BenchError> {
    let writes = |first: usize| -> Result<Vec<f64>, BenchError> {
        (first..first + samples).map(|n| write(engine, &synth::statement(n))).collect()
    };
    let resting = writes(first)?;
    let over = AtomicBool::new(false);
    let (working, claim_ms) = std::thread::scope(|threads| {
        let background = threads.spawn(|| {
            let mut took = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                if !engine.deepen_next()? {
                    break;
                }
                took.push(begun.elapsed().as_secs_f64() * 1000.0);
            }
            Ok::<_, ApiError>(took)
        });
        let working = writes(first + samples);
        over.store(true, Ordering::Relaxed);
        let stopped = background.join().unwrap_or_else(|_| Err(ApiError::internal("the deep stage panicked")));
        Ok::<_, BenchError>((working?, stopped?))
    })?;
    // The model reads the examples of its questions once, with the first claim; the others wait for nobody.
    let first_ms = claim_ms.first().copied().unwrap_or_default();
    let mut claim_ms = claim_ms.get(1..).unwrap_or_default().to_vec();
    let begun = Instant::now();
    while claim_ms.len() < DEEP && begun.elapsed() < LONG {
        let claim = Instant::now();
        if !engine.deepen_next()? {
            break;
        }
        claim_ms.push(claim.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(DeepRow {
        resting_ms: store::quantiles(resting),
        working_ms: store::quantiles(working),
        first_ms,
        read: claim_ms.len(),
        claim_ms: store::quantiles(claim_ms),
    })
}

/// As a table for people, one line a size.
pub fn table(rows: &[Row]) -> String {
    let pair = |times: Quantiles| format!("{:.1}/{:.1}", times.p50, times.p95);
    let mut text = String::from(
        "    claims   inferred p50/p95   writes   pairs   two levels p50/p95   pairs   not inferred p50/p95   writes   asked p50/p95   writes   pairs   beside the deep stage p50/p95   resting   \
         a claim of it\n",
    );
    for row in rows {
        let of = |deep: fn(&DeepRow) -> Quantiles| row.deep.as_ref().map_or_else(|| "-".into(), |d| pair(deep(d)));
        let _ = writeln!(
            text,
            "{:>10}   {:>16}   {:>6}   {:>5.1}   {:>18}   {:>5.1}   {:>20}   {:>6}   {:>13}   {:>6}   {:>5.1}   {:>29}   {:>7}   {:>13}",
            row.claims,
            pair(row.inferred_ms),
            row.inferred,
            row.pairs,
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
        let more = |leveled: f64, one: f64| 100.0 * (leveled / one.max(f64::EPSILON) - 1.0);
        let _ = writeln!(
            text,
            "{:>10}   two levels cost a write {:+.1} % at p50 and {:+.1} % at p95 (bar: {MOST_FOR_LEVELS:.0} %)",
            "",
            more(row.leveled_ms.p50, row.inferred_ms.p50),
            more(row.leveled_ms.p95, row.inferred_ms.p95),
        );
        for (held, mib) in &row.workers_mib {
            let _ = writeln!(text, "{:>10}   the worker with {held}: {mib:.0} MiB", "");
        }
    }
    text
}
