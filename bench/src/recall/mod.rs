//! `ergo-bench recall`: how well recall answers questions about given memories, and how long it takes.

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

pub use curve::ThresholdPoint;
pub use data::{MemoryRow, QueryRow, RecallDataError, read};
pub use report::{RecallReport, RecallRow, Tally};

use curve::ScoredAnswer;

use super::{
    cached_models::CachedModels,
    error::BenchError,
    measure::{Quantiles, millis},
    store::{key, remove},
    store_fill::numbered_op,
};
use ergo::{
    api::{ApiError, CalibrateRequest, ClaimsQuery, ErrorCode, RecallAnswer, RecallRequest, RecallVerdict},
    domain::{Body, ClaimId, ClaimKind, EventKind, Qualifiers, Scope, Status},
    engine::{Engine, EngineConfig, RecallMeans},
    guard::{Guard, StructuralPairCheck},
    infer::{ModelRole, Models, NoModels},
    recall::{
        Question, Vocabulary,
        query_likelihood::{self, FitProvenance},
    },
    store::{Act, EventDraft, Store, StoreOptions},
};

/// The row with the calibration of the scope.
const CALIBRATED: &str = "calibrated";

/// The row in which a language model chooses among the results, and the row `hybrid` on the same questions.
const FILTER: &str = "hybrid + filter";
const SAME_QUESTIONS: &str = "hybrid, the same questions";

/// How often a question is repeated if the language model did not answer in time, since a busy machine says nothing about
/// its answers.
const RETRIES: usize = 5;

/// Results per question.
const LIMIT: usize = 10;

/// The time of the first memory: 2026-01-01, in milliseconds since the Unix epoch. Each further one is an hour later.
const FIRST_MEMORY: u64 = 1_767_225_600_000;
const HOUR: u64 = 3_600_000;

/// Options of `ergo-bench recall`.
pub struct RecallOptions {
    /// The folder with memories.jsonl and queries.jsonl.
    pub data: PathBuf,
    /// The folder of the temporary store.
    pub folder: PathBuf,
    /// The models; without an embedder only the rows of words are measured.
    pub models: Option<Arc<dyn Models>>,
    /// List the wrong answers.
    pub explain: bool,
    /// Write each question with the results of `hybrid` to this file, as JSON lines.
    pub examples: Option<PathBuf>,
    /// Keep the answers of the models in this file and reuse them (timings are then invalid).
    pub cache: Option<PathBuf>,
    /// Fit the weight of the language model instead of measuring.
    pub fit: bool,
    /// Fit the probability of an answer on the questions of this folder and those of `data`, instead of measuring.
    pub fit_known: Option<PathBuf>,
    /// The number of questions that the language model is asked, spread over all of them.
    pub sample: usize,
}

/// How a row searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchWay {
    /// The full-text search of `GET /claims`, which FTS5 ranks by BM25.
    Bm25,
    /// Recall, by these means.
    Recall(RecallMeans),
    /// Recall by all means, with a language model that chooses among the results.
    Filter,
}

/// The answer to one question.
struct FoundClaims {
    /// The best first.
    ids: Vec<ClaimId>,
    /// Whether the verdict is `known`.
    known: bool,
    /// The probability that the first claim answers; `None` if nothing was found, or without a verdict.
    probability: Option<f32>,
    /// Results that are not in force although only those in force were asked for.
    stale: usize,
}

/// Fills a store with the memories and asks it every question in each way; or fits weights.
pub fn run(options: &RecallOptions, progress: &mut dyn FnMut(&str)) -> Result<RecallReport, BenchError> {
    let (memories, queries) = data::read(&options.data)?;
    std::fs::create_dir_all(&options.folder).map_err(BenchError::io(&options.folder))?;
    let path = options.folder.join("bench-recall.db");
    let mut models = options.models.clone().unwrap_or_else(|| Arc::new(NoModels));
    if let Some(path) = &options.cache {
        let cache = CachedModels::new(models, Some(path)).map_err(BenchError::io(path))?;
        models = Arc::new(cache).cached();
    }
    let (engine, ids) = open_engine(&path, &memories, &models, progress)?;
    let embeds = models.info().role(ModelRole::Embedder).is_some();
    let mut report = RecallReport { memories: memories.len(), queries: queries.len(), ..RecallReport::default() };
    if let Some(folder) = &options.fit_known {
        report.fitted = Some(known::fit_folders(folder, (engine, ids), &queries, &path, &models, progress)?);
        return Ok(report);
    }
    let names: HashMap<ClaimId, &str> = ids.iter().map(|(name, id)| (*id, name.as_str())).collect();
    let words = RecallMeans { words: true, vocabulary: true, meaning: false };
    let mut ways = vec![
        ("BM25", SearchWay::Bm25),
        ("words", SearchWay::Recall(RecallMeans { vocabulary: false, ..words })),
        ("words + vocabulary", SearchWay::Recall(words)),
    ];
    if embeds {
        let meaning = RecallMeans { words: false, vocabulary: false, meaning: true };
        ways.push(("vector", SearchWay::Recall(meaning)));
        ways.push(("hybrid without vocabulary", SearchWay::Recall(RecallMeans { words: true, ..meaning })));
        ways.push(("hybrid", SearchWay::Recall(RecallMeans::default())));
    }
    if let Some(path) = &options.examples {
        examples::write(path, &engine, &queries, &names)?;
    }
    let sample = spread(&queries, options.sample);
    if models.info().role(ModelRole::Llm).is_some() {
        if sample.len() < queries.len() {
            ways.push((SAME_QUESTIONS, SearchWay::Recall(RecallMeans { meaning: embeds, ..RecallMeans::default() })));
        }
        ways.push((FILTER, SearchWay::Filter));
    }
    // The last row, since the calibration that it stores would be used in every other one.
    ways.push((CALIBRATED, SearchWay::Recall(RecallMeans { meaning: embeds, ..RecallMeans::default() })));
    if options.fit {
        progress("asking the language model");
        report.fitted = Some(fit_likelihood(&engine, &*models, &sample, &names)?);
        ways.clear();
    }
    for (name, way) in ways {
        let queries = if [SAME_QUESTIONS, FILTER].contains(&name) { &sample } else { &queries };
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

/// Fills a store with the memories and their vectors, and opens an engine over it. Returns the claim ids by the ids in the
/// data.
fn open_engine(
    path: &std::path::Path,
    memories: &[MemoryRow],
    models: &Arc<dyn Models>,
    progress: &mut dyn FnMut(&str),
) -> Result<(Engine, BTreeMap<String, ClaimId>), BenchError> {
    remove(path)?;
    progress(&format!("writing {} memories", memories.len()));
    let ids = fill(path, memories)?;
    let mut config = EngineConfig::new(path, key());
    config.durable = false;
    let now = FIRST_MEMORY + HOUR * (memories.len() as u64 + 24);
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

/// Returns the current date in UTC.
fn today() -> String {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

/// Asks the language model about every question, and returns the file of the fitted weight.
fn fit_likelihood(
    engine: &Engine,
    models: &dyn Models,
    queries: &[QueryRow],
    names: &HashMap<ClaimId, &str>,
) -> Result<String, BenchError> {
    let mut cases = Vec::with_capacity(queries.len());
    for query in queries {
        let request = request(query);
        let mut weighing = engine.weigh_recall(&request);
        for _ in 0..RETRIES {
            if weighing.is_ok() {
                break;
            }
            weighing = engine.weigh_recall(&request);
        }
        let answer = engine.recall(&request)?;
        let names = answer.hits.iter().map(|hit| names.get(&hit.claim.id).copied());
        let right = names.map(|name| query.expected.iter().any(|expected| Some(expected.as_str()) == name)).collect();
        let (answerable, known) = (!query.expected.is_empty(), answer.verdict == RecallVerdict::Known);
        cases.push(fit::WeighedQuestion { answerable, right, weighing: weighing?, known });
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

fn request(query: &QueryRow) -> RecallRequest {
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

/// Selects at most `count` questions, spread evenly over all.
fn spread(queries: &[QueryRow], count: usize) -> Vec<QueryRow> {
    let count = count.min(queries.len());
    (0..count).filter_map(|n| queries.get(n * queries.len() / count)).cloned().collect()
}

/// Stores the memories without the guard, which is not measured here.
fn fill(path: &std::path::Path, memories: &[MemoryRow]) -> Result<BTreeMap<String, ClaimId>, BenchError> {
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
        let normed = guard.normalise(&memory.text, &Qualifiers::default());
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
        let now = FIRST_MEMORY + HOUR * at as u64;
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
    Act {
        scope: scope(),
        identity: None,
        who: "bench".into(),
        agent: None,
        op: numbered_op(n),
        now,
        drafts: vec![draft],
    }
}

fn scope() -> Scope {
    Scope { org_id: "bench".into(), project: "recall".into() }
}

fn measure(
    engine: &Engine,
    name: &str,
    way: SearchWay,
    queries: &[QueryRow],
    names: &HashMap<ClaimId, &str>,
    mut misses: Option<&mut Vec<String>>,
) -> Result<RecallRow, BenchError> {
    let mut row = RecallRow { name: name.to_owned(), questions: queries.len(), ..RecallRow::default() };
    let mut times = Vec::with_capacity(queries.len());
    let mut answers = Vec::with_capacity(queries.len());
    if let Some(first) = queries.first() {
        // Loads the model and fills the caches.
        ask(engine, way, first)?;
    }
    for query in queries {
        let begun = Instant::now();
        let answer = ask(engine, way, query)?;
        times.push(millis(begun.elapsed()));
        let found: Vec<&str> = answer.ids.iter().filter_map(|id| names.get(id).copied()).collect();
        let place = found.iter().position(|name| query.expected.iter().any(|expected| expected == name));
        row.stale += answer.stale;
        answers.push(ScoredAnswer {
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
    row.ms = Quantiles::of(times);
    row.curve = curve::curve(&answers);
    row.held_out = curve::held_out(&answers);
    Ok(row)
}

fn ask(engine: &Engine, way: SearchWay, query: &QueryRow) -> Result<FoundClaims, ApiError> {
    let scope = scope();
    match way {
        SearchWay::Bm25 => {
            let question = Question::new(&query.question, &Vocabulary::default());
            // White space at the end says that the last word is complete.
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
            Ok(FoundClaims {
                known: !found.is_empty(),
                probability: None,
                ids: found.iter().map(|claim| claim.id).collect(),
                stale: 0,
            })
        }
        SearchWay::Recall(_) | SearchWay::Filter => {
            let means = if let SearchWay::Recall(means) = way { means } else { RecallMeans::default() };
            let request = RecallRequest { filter: way == SearchWay::Filter, ..request(query) };
            let mut answer = engine.recall_by(&request, means)?;
            for _ in 0..RETRIES {
                if answer.method != "fallback_unreachable" {
                    break;
                }
                answer = engine.recall_by(&request, means)?;
            }
            let RecallAnswer { hits, verdict, probability, method, notes, .. } = answer;
            if method.starts_with("fallback") {
                // Otherwise the row would silently measure something else.
                return Err(ApiError::new(ErrorCode::Unavailable, format!("{method}: {}", notes.join(" "))));
            }
            let retired = |hit: &&ergo::api::RecallHit| hit.claim.status != Status::Active;
            let stale = if query.include_history { 0 } else { hits.iter().filter(retired).count() };
            let ids: Vec<ClaimId> = hits.iter().map(|hit| hit.claim.id).collect();
            let probability = (!ids.is_empty()).then_some(probability);
            Ok(FoundClaims { known: verdict == RecallVerdict::Known, probability, ids, stale })
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
        let options = RecallOptions {
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
        // At the threshold in use, the curve agrees with the counts.
        let hybrid = row("hybrid");
        let from = ergo::recall::answer_model::built_in().by_meaning.known_from;
        let here = hybrid.curve.iter().find(|point| (point.from - from).abs() < 1e-9).unwrap();
        assert_eq!((here.abstains, here.withheld), (hybrid.all.abstention(), hybrid.all.withheld()));
    }
}
