//! `ergo-bench recall`: how well recall finds what is known, on given data; and how long it takes.

mod curve;
mod data;
mod examples;
mod fit;
mod known;
mod report;
pub mod speed;

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
    time::Instant,
};

pub use curve::Point;
pub use data::{DataError, Memory, Query, read};
pub use report::{Report, Row, Tally};

use curve::Seen;

use super::{
    cached_models::CachedModels,
    store::{BenchError as StoreBenchError, key, quantiles, remove},
};
use ergo::{
    api::{ApiError, CalibrateRequest, ClaimsQuery, ErrorCode, RecallAnswer, RecallRequest, RecallVerdict},
    domain::{Body, ClaimId, ClaimKind, EventKind, OpId, Scope, Status},
    engine::{Engine, EngineConfig, RecallMeans},
    guard::{Guard, StructuralPairCheck},
    infer::{ModelRole, Models, NoModels},
    recall::{
        Question, Vocabulary,
        query_likelihood::{self, FitProvenance},
    },
    store::{Act, EventDraft, Store, StoreError, StoreOptions},
};

/// The row that asks with the scope's own bridge, too.
const CALIBRATED: &str = "calibrated";

/// The row in which a language model chooses, and that of the first stage with no more questions than it.
const FILTER: &str = "hybrid + filter";
const SAME_QUESTIONS: &str = "hybrid, the same questions";

/// How often the language model is asked once more where it did not answer in time: that the machine is busy says nothing of its answers.
const AGAIN: usize = 5;

/// How many claims are asked for.
const LIMIT: usize = 10;

/// The time at which the first memory is written: 2026-01-01, in milliseconds since the Unix epoch. Each further one is an hour younger.
const FIRST: u64 = 1_767_225_600_000;
const HOUR: u64 = 3_600_000;

/// What to measure.
pub struct Options {
    /// The folder with memories.jsonl and queries.jsonl.
    pub data: PathBuf,
    /// Where the store is made, and removed afterwards.
    pub folder: PathBuf,
    /// The models; without an embedder only the rows of words are measured.
    pub models: Option<Arc<dyn Models>>,
    /// List what was not found.
    pub explain: bool,
    /// Write each question with what the hybrid found to this file, as JSON lines.
    pub examples: Option<PathBuf>,
    /// Keep what the models say in this file, and believe it the next time: then times mean nothing.
    pub cache: Option<PathBuf>,
    /// Fit what the language model's word counts, instead of measuring.
    pub fit: bool,
    /// Fit when something is known on the questions of this folder and those of `data`, instead of measuring.
    pub fit_known: Option<PathBuf>,
    /// How many questions the language model is asked, spread over all of them: it takes seconds for each.
    pub sample: usize,
}

/// Why a measurement stopped.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The data cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] ApiError),
    /// A file of the store could not be made or removed.
    #[error(transparent)]
    Other(#[from] StoreBenchError),
}

/// How a row finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The full-text search of `GET /claims`, which FTS5 ranks by BM25.
    Bm25,
    /// Recall, by these means.
    Recall(RecallMeans),
    /// Recall by all means, and what a language model chooses of it.
    Filter,
}

/// One answer: the ids of what was found, the best first, and whether it is said to be the answer.
struct Answer {
    ids: Vec<ClaimId>,
    known: bool,
    /// The probability that the best answers; `None` where nothing was found, and where nothing tells.
    probability: Option<f32>,
    /// Claims that are not in force and were shown as if they were.
    stale: usize,
}

/// Fills a store with the memories and asks it every question, by each means. `progress` is told in words what goes on.
///
/// # Errors
/// Where the data, the store or the engine fails.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let (memories, queries) = data::read(&options.data)?;
    std::fs::create_dir_all(&options.folder)
        .map_err(|error| StoreBenchError::Io { path: options.folder.clone(), error })?;
    let path = options.folder.join("bench-recall.db");
    let mut models = options.models.clone().unwrap_or_else(|| Arc::new(NoModels));
    if let Some(path) = &options.cache {
        let cache =
            CachedModels::new(models, Some(path)).map_err(|error| StoreBenchError::Io { path: path.clone(), error })?;
        models = Arc::new(cache).cached();
    }
    let (engine, ids) = remembering(&path, &memories, &models, progress)?;
    let embeds = models.info().role(ModelRole::Embedder).is_some();
    let mut report = Report { memories: memories.len(), queries: queries.len(), ..Report::default() };
    if let Some(folder) = &options.fit_known {
        report.fitted = Some(known::fitted(folder, (engine, ids), &queries, &path, &models, progress)?);
        return Ok(report);
    }
    let names: HashMap<ClaimId, &str> = ids.iter().map(|(name, id)| (*id, name.as_str())).collect();
    let words = RecallMeans { words: true, vocabulary: true, meaning: false };
    let mut ways = vec![
        ("BM25", Way::Bm25),
        ("words", Way::Recall(RecallMeans { vocabulary: false, ..words })),
        ("words + vocabulary", Way::Recall(words)),
    ];
    if embeds {
        let meaning = RecallMeans { words: false, vocabulary: false, meaning: true };
        ways.push(("vector", Way::Recall(meaning)));
        ways.push(("hybrid without vocabulary", Way::Recall(RecallMeans { words: true, ..meaning })));
        ways.push(("hybrid", Way::Recall(RecallMeans::default())));
    }
    if let Some(path) = &options.examples {
        examples::write(path, &engine, &queries, &names)?;
    }
    let some = spread(&queries, options.sample);
    if models.info().role(ModelRole::Llm).is_some() {
        if some.len() < queries.len() {
            ways.push((SAME_QUESTIONS, Way::Recall(RecallMeans { meaning: embeds, ..RecallMeans::default() })));
        }
        ways.push((FILTER, Way::Filter));
    }
    // The last one: what it keeps would be asked with in every other row.
    ways.push((CALIBRATED, Way::Recall(RecallMeans { meaning: embeds, ..RecallMeans::default() })));
    if options.fit {
        progress("asking the language model");
        report.fitted = Some(fitted(&engine, &*models, &some, &names)?);
        ways.clear();
    }
    for (name, way) in ways {
        let queries = if [SAME_QUESTIONS, FILTER].contains(&name) { &some } else { &queries };
        progress(&format!("asking by {name}"));
        if name == CALIBRATED {
            let Scope { org_id, project } = scope();
            engine.calibrate(&CalibrateRequest { org_id, project, ..CalibrateRequest::default() })?;
        }
        let misses = if options.explain && name == "hybrid" { Some(&mut report.misses) } else { None };
        report.rows.push(measure(&engine, name, way, queries, &names, misses)?);
    }
    drop(engine);
    remove(&path)?;
    Ok(report)
}

/// A store with the memories and their vectors, and an engine over it; and their ids by their names.
fn remembering(
    path: &std::path::Path,
    memories: &[Memory],
    models: &Arc<dyn Models>,
    progress: &mut dyn FnMut(&str),
) -> Result<(Engine, BTreeMap<String, ClaimId>), BenchError> {
    remove(path)?;
    progress(&format!("writing {} memories", memories.len()));
    let ids = fill(path, memories)?;
    let mut config = EngineConfig::new(path, key());
    config.durable = false;
    let now = FIRST + HOUR * (memories.len() as u64 + 24);
    config.clock = Arc::new(move || now);
    let engine = Engine::open_with_models(config, Guard::default(), Arc::clone(models))?;
    if models.info().role(ModelRole::Embedder).is_some() {
        progress("embedding the memories");
        while engine.fill_vectors()? > 0 {}
        engine.refresh_unrelated_baseline()?;
        while engine.fill_reasons()? {}
    }
    Ok((engine, ids))
}

/// Today in UTC.
fn today() -> String {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

/// Asks the language model about every question, and fits what its word counts.
fn fitted(
    engine: &Engine,
    models: &dyn Models,
    queries: &[Query],
    names: &HashMap<ClaimId, &str>,
) -> Result<String, BenchError> {
    let mut cases = Vec::with_capacity(queries.len());
    for query in queries {
        let request = request(query);
        let mut weighing = engine.weigh_recall(&request);
        for _ in 0..AGAIN {
            if weighing.is_ok() {
                break;
            }
            weighing = engine.weigh_recall(&request);
        }
        let answer = engine.recall(&request)?;
        let names = answer.hits.iter().map(|hit| names.get(&hit.claim.id).copied());
        let right = names.map(|name| query.expected.iter().any(|expected| Some(expected.as_str()) == name)).collect();
        let (answerable, known) = (!query.expected.is_empty(), answer.verdict == RecallVerdict::Known);
        cases.push(fit::Case { answerable, right, weighing: weighing?, known });
    }
    let model = models.info().role(ModelRole::Llm).map_or_else(String::new, |role| role.name.clone());
    let provenance = FitProvenance {
        command: "ergo-bench recall --fit".to_owned(),
        date: today(),
        questions: format!("{} of tests/data/recall, {model}", queries.len()),
    };
    fit::fit_file(&cases, query_likelihood::built_in(), provenance)
        .map_err(|error| BenchError::Engine(ApiError::internal(error.to_string())))
}

fn request(query: &Query) -> RecallRequest {
    let scope = scope();
    RecallRequest {
        org_id: scope.org_id,
        project: scope.project,
        query: query.question.clone(),
        limit: Some(LIMIT),
        include_history: query.include_history,
        ..RecallRequest::default()
    }
}

/// So many of the questions, or all, spread evenly over them.
fn spread(queries: &[Query], many: usize) -> Vec<Query> {
    let many = many.min(queries.len());
    (0..many).filter_map(|n| queries.get(n * queries.len() / many)).cloned().collect()
}

/// Writes the memories as they are, without the guard: it is not what is measured.
fn fill(path: &std::path::Path, memories: &[Memory]) -> Result<BTreeMap<String, ClaimId>, BenchError> {
    let options = StoreOptions { durable: false };
    let mut store = Store::open_with(path, key(), Arc::new(StructuralPairCheck), options)?;
    let guard = Guard::default();
    let mut ids: BTreeMap<String, ClaimId> = BTreeMap::new();
    for (at, memory) in memories.iter().enumerate() {
        let targets: Vec<ClaimId> = memory.replaces.iter().filter_map(|old| ids.get(old).copied()).collect();
        let kind = match memory.kind {
            _ if !targets.is_empty() => EventKind::Supersede,
            ClaimKind::Fact => EventKind::FactSet,
            _ => EventKind::Assert,
        };
        let normed = guard.normalise(&memory.text, &ergo::domain::Qualifiers::default());
        let mut draft = EventDraft::new(kind, targets.into_iter().map(Into::into));
        draft.claim_kind = Some(memory.kind);
        draft.body = Body {
            statement: Some(memory.text.clone()),
            reason: memory.reason.clone(),
            source: memory.source.clone(),
            key: (memory.kind == ClaimKind::Fact).then(|| memory.id.clone()),
            norms: Some(normed.norms),
            normaliser: Some(normed.version),
            ..Body::default()
        };
        let now = FIRST + HOUR * at as u64;
        let committed = store.commit(act(2 * at as u64 + 1, now, draft))?;
        let Some(id) = committed.created.first() else { continue };
        ids.insert(memory.id.clone(), *id);
        if let Some(reason) = &memory.retracted {
            let mut draft = EventDraft::new(EventKind::Retract, [(*id).into()]);
            draft.body.reason = Some(reason.clone());
            store.commit(act(2 * at as u64 + 2, now + 1, draft))?;
        }
    }
    Ok(ids)
}

fn act(n: u64, now: u64, draft: EventDraft) -> Act {
    let mut op = [0; 16];
    op[..8].copy_from_slice(&n.to_be_bytes());
    Act { scope: scope(), identity: None, who: "bench".into(), agent: None, op: OpId(op), now, drafts: vec![draft] }
}

fn scope() -> Scope {
    Scope { org_id: "bench".into(), project: "recall".into() }
}

fn measure(
    engine: &Engine,
    name: &str,
    way: Way,
    queries: &[Query],
    names: &HashMap<ClaimId, &str>,
    mut misses: Option<&mut Vec<String>>,
) -> Result<Row, BenchError> {
    let mut row = Row { name: name.to_owned(), questions: queries.len(), ..Row::default() };
    let mut times = Vec::with_capacity(queries.len());
    let mut seen = Vec::with_capacity(queries.len());
    if let Some(first) = queries.first() {
        // Loads the model and fills the caches.
        ask(engine, way, first)?;
    }
    for query in queries {
        let begun = Instant::now();
        let answer = ask(engine, way, query)?;
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
        let found: Vec<&str> = answer.ids.iter().filter_map(|id| names.get(id).copied()).collect();
        let place = found.iter().position(|name| query.expected.iter().any(|expected| expected == name));
        row.stale += answer.stale;
        seen.push(Seen {
            answerable: !query.expected.is_empty(),
            first: place == Some(0),
            probability: answer.probability,
        });
        let sort = row.sorts.entry(query.sort.clone()).or_default();
        sort.add(query, place, answer.known);
        row.all.add(query, place, answer.known);
        if let Some(misses) = misses.as_deref_mut()
            && (place != Some(0) || !answer.known) != query.expected.is_empty()
        {
            let place = place.map_or_else(|| "not found".to_owned(), |place| format!("place {}", place + 1));
            misses.push(format!(
                "{:<12} {:<10} {} “{}” expected {:?}, found {:?}",
                query.sort,
                place,
                if answer.known { "said to be known" } else { "said to be unknown" },
                query.question,
                query.expected,
                found.get(..found.len().min(3)).unwrap_or_default()
            ));
        }
    }
    row.ms = quantiles(times);
    row.curve = curve::curve(&seen);
    row.held_out = curve::held_out(&seen);
    Ok(row)
}

fn ask(engine: &Engine, way: Way, query: &Query) -> Result<Answer, ApiError> {
    let scope = scope();
    match way {
        Way::Bm25 => {
            let question = Question::new(&query.question, &Vocabulary::default());
            // White space at the end: the last word is whole.
            let words = question.terms.iter().flat_map(|term| [term.asked.as_str(), " "]).collect::<String>();
            let status = query.include_history.then(|| "all".to_owned());
            let page = engine.claims(&ClaimsQuery {
                org_id: Some(scope.org_id),
                project: Some(scope.project),
                q: Some(words.clone()),
                status,
                limit: Some(LIMIT),
                ..ClaimsQuery::default()
            })?;
            let found = if words.is_empty() { Vec::new() } else { page.items };
            Ok(Answer {
                known: !found.is_empty(),
                probability: None,
                ids: found.iter().map(|claim| claim.id).collect(),
                stale: 0,
            })
        }
        Way::Recall(_) | Way::Filter => {
            let ways = if let Way::Recall(ways) = way { ways } else { RecallMeans::default() };
            let request = RecallRequest { filter: way == Way::Filter, ..request(query) };
            let mut answer = engine.recall_by(&request, ways)?;
            for _ in 0..AGAIN {
                if answer.method != "fallback_unreachable" {
                    break;
                }
                answer = engine.recall_by(&request, ways)?;
            }
            let RecallAnswer { hits, verdict, probability, method, notes, .. } = answer;
            if method.starts_with("fallback") {
                // A row that is silently another one would be no measurement.
                return Err(ApiError::new(ErrorCode::Unavailable, format!("{method}: {}", notes.join(" "))));
            }
            let retired = |hit: &&ergo::api::RecallHit| hit.claim.status != Status::Active;
            let stale = if query.include_history { 0 } else { hits.iter().filter(retired).count() };
            let ids: Vec<ClaimId> = hits.iter().map(|hit| hit.claim.id).collect();
            let probability = (!ids.is_empty()).then_some(probability);
            Ok(Answer { known: verdict == RecallVerdict::Known, probability, ids, stale })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ergo::infer::FakeModels;

    fn corpus() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data/recall")
    }

    #[test]
    fn the_corpus_is_as_large_and_as_hard_as_it_says() {
        let (memories, queries) = data::read(&corpus()).unwrap();
        let none = queries.iter().filter(|query| query.expected.is_empty()).count();
        assert!(memories.len() >= 200 && queries.len() >= 120 && none >= 30);
        // A third of the questions name no word of the statement that answers them.
        let stems = |text: &str| -> std::collections::HashSet<String> {
            Question::new(text, &Vocabulary::default()).terms.into_iter().flat_map(|term| term.stems).collect()
        };
        let wordless = queries.iter().filter(|query| {
            let answer = query.expected.first().and_then(|id| memories.iter().find(|memory| memory.id == *id));
            answer.is_some_and(|answer| stems(&query.question).is_disjoint(&stems(&answer.text)))
        });
        let wordless = wordless.count();
        assert!(wordless * 3 >= queries.len(), "{wordless} of {}", queries.len());
    }

    #[test]
    fn every_row_is_measured_and_nothing_retired_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let models =
            FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))).expecting(|_, _| Ok(vec![-1.0]));
        // A part of the questions: each is asked six times.
        let queries = std::fs::read_to_string(corpus().join("queries.jsonl")).unwrap();
        let some = queries.lines().step_by(4).collect::<Vec<_>>().join("\n");
        std::fs::write(folder.path().join("queries.jsonl"), some).unwrap();
        std::fs::copy(corpus().join("memories.jsonl"), folder.path().join("memories.jsonl")).unwrap();
        let options = Options {
            data: folder.path().to_owned(),
            folder: folder.path().join("new"),
            models: Some(Arc::new(models)),
            explain: true,
            examples: Some(folder.path().join("examples.jsonl")),
            sample: 6,
            cache: None,
            fit: false,
            fit_known: None,
        };
        let report = run(&options, &mut |_| {}).unwrap();
        let questions: Vec<usize> = report.rows.iter().map(|row| row.questions).collect();
        assert_eq!(questions, [66, 66, 66, 66, 66, 66, 6, 6, 66]);
        assert!(report.rows.iter().all(|row| row.stale == 0));
        let row = |name: &str| report.rows.iter().find(|row| row.name == name).unwrap();
        let plain = &row("words + vocabulary").sorts["plain"];
        assert!(plain.first * 10 >= plain.answerable * 8, "{plain:?}");
        assert!(row("words + vocabulary").all.share(|tally| tally.five) > row("BM25").all.share(|tally| tally.five));
        assert!(report.table().contains("hybrid") && !report.misses.is_empty());
        // Where the floor is, the curve is what was counted.
        let hybrid = row("hybrid");
        let from = ergo::recall::answer_model::built_in().by_meaning.known_from;
        let here = hybrid.curve.iter().find(|point| (point.from - from).abs() < 1e-9).unwrap();
        assert_eq!((here.abstains, here.withheld), (hybrid.all.abstention(), hybrid.all.withheld()));
    }
}
