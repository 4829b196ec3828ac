//! `recall`: finds what is known about a question, by words and by meaning.

mod filter;
mod means;
mod negation;
mod queries;
mod recall_verdict;
mod references;

use std::{collections::HashMap, time::Duration};

use queries::Queries;

use crate::{
    api::{ApiError, ErrorCode, MAX_QUERY, MAX_RECALL, RecallAnswer, RecallHit, RecallRequest, Reference},
    domain::{ClaimKind, Scope, Status},
    engine::{
        Engine, agreement, beside, guard_calls,
        llm_choice::Fallback,
        model_results::{Embedding, while_embedding},
        past_reads::PastTime,
        validate, view,
    },
    infer::{Call, InferError},
    recall::{
        Question, Vocabulary,
        answer_model::AnswerFeatures,
        filter::MAX_SHOWN,
        fuse,
        rerank::{QuestionWeights, RankedClaim, Score, TermCounts},
    },
    store::{ClaimRow, Reader, RowNumber, StoreError, WordList, WordLists, WordQuery},
};

pub use filter::Weighing;
pub use means::RecallMeans;
pub(in crate::engine) use recall_verdict::recall_features;

/// The default number of claims in an answer.
const DEFAULT_LIMIT: usize = 10;

/// The deadline for the vector of a question. A healthy answer takes 5 ms; the first one also loads the model.
const EMBED_TIMEOUT: Duration = Duration::from_secs(2);

/// The greatest number of claims that are read for all words of a sub-query together.
const MAX_PER_SUB_QUERY: usize = 100;

/// A sub-query is not searched if each of its words is in more claims than this: they are too common.
const COMMON_WORD_CLAIMS: usize = 20_000;

/// How many of the best claims are checked for kind and status at a time, until [`MAX_BY_WORDS`] match.
const STEP_CLAIMS: usize = 512;

/// The greatest number of claims that words bring into the ranking.
const MAX_BY_WORDS: usize = 64;
/// The greatest number of claims that vectors bring into the ranking.
const MAX_BY_MEANING: usize = 48;
/// The greatest number of claims in the ranking.
const MAX_POOL: usize = 64;

/// `POST /recall`.
pub(in crate::engine) fn recall(
    engine: &Engine,
    request: &RecallRequest,
    ways: RecallMeans,
) -> Result<RecallAnswer, ApiError> {
    let mut wanted = RecallQuery { ways, ..RecallQuery::new(request)? };
    let limit = wanted.limit;
    if request.filter {
        // The language model needs a choice.
        wanted.limit = limit.max(MAX_SHOWN);
    }
    let now = request.as_of.unwrap_or_else(|| (engine.config.clock)());
    let asked = RecallRun { engine, wanted: &wanted, now, today: guard_calls::day(now) };
    let mut findings = asked.find()?;
    let chosen = request.filter.then(|| filter::choose(engine, &wanted.query, &mut findings));
    findings.found.truncate(limit);
    let mut answer = asked.answer(findings);
    engine.read_at(asked.wanted.at.as_ref(), |reader| {
        let project = Some(&asked.wanted.scope);
        answer.hits.iter_mut().try_for_each(|hit| beside::fill_in(reader, &mut hit.claim, project))
    })?;
    if let Some(method) = chosen {
        method.clone_into(&mut answer.method);
    }
    Ok(answer)
}

/// Asks the local language model about the claims found; `None` if the first is not in doubt. For measurements.
pub(in crate::engine) fn weigh(engine: &Engine, request: &RecallRequest) -> Result<Option<Weighing>, ApiError> {
    let wanted = RecallQuery::new(request)?;
    let now = request.as_of.unwrap_or_else(|| (engine.config.clock)());
    let findings = RecallRun { engine, wanted: &wanted, now, today: guard_calls::day(now) }.find()?;
    filter::weighing(engine, &wanted.query, &findings)
        .map_err(|Fallback(method, why)| ApiError::new(ErrorCode::Unavailable, format!("{method}: {why}")))
}

/// Returns the active claims of some kinds (all if empty) that may answer a question, best first.
pub(super) fn find(
    engine: &Engine,
    scope: &Scope,
    question: &str,
    kinds: &[ClaimKind],
    as_of: Option<u64>,
) -> Result<RecallFindings, ApiError> {
    let now = as_of.unwrap_or_else(|| (engine.config.clock)());
    let wanted = RecallQuery {
        scope: scope.clone(),
        query: question.to_owned(),
        limit: MAX_POOL,
        kinds: kinds.to_vec(),
        history: false,
        at: PastTime::of(scope, as_of),
        // Nobody stated a reference, so it cannot answer why.
        references: false,
        ways: RecallMeans::default(),
    };
    RecallRun { engine, wanted: &wanted, now, today: guard_calls::day(now) }.find()
}

struct RecallQuery {
    scope: Scope,
    query: String,
    limit: usize,
    kinds: Vec<ClaimKind>,
    history: bool,
    /// The time in the past to read; `None` for the present.
    at: Option<PastTime>,
    /// Whether chunks of ingested files are searched too.
    references: bool,
    ways: RecallMeans,
}

impl RecallQuery {
    fn new(request: &RecallRequest) -> Result<Self, ApiError> {
        let scope = validate::named(&request.org_id, &request.project)?;
        let query = validate::required("query", &request.query)?;
        if query.len() > MAX_QUERY {
            return Err(ApiError::field("query", format!("`query` is longer than {MAX_QUERY} bytes"))
                .hint("ask in one sentence"));
        }
        let limit = match request.limit {
            None => DEFAULT_LIMIT,
            Some(0) => return Err(ApiError::field("limit", "`limit` is 0: ask for at least one")),
            Some(many) if many > MAX_RECALL => {
                return Err(ApiError::field(
                    "limit",
                    format!("`limit` is {many}; recall returns at most {MAX_RECALL} claims"),
                )
                .hint("`GET /claims` with `q` pages through all that match"));
            }
            Some(some) => some,
        };
        Ok(Self {
            query,
            limit,
            kinds: request.kinds.clone(),
            history: request.include_history,
            at: PastTime::of(&scope, request.as_of),
            scope,
            references: true,
            ways: RecallMeans::default(),
        })
    }

    fn takes(&self, kind: ClaimKind, status: Status) -> bool {
        (self.history || status == Status::Active) && (self.kinds.is_empty() || self.kinds.contains(&kind))
    }
}

/// A claim that was found, with the evidence that it answers.
pub(super) struct FoundClaim {
    pub(super) row: ClaimRow,
    cosine: Option<f32>,
    with_reason: Option<f32>,
    pub(super) score: Score,
    /// Its relative position in the fused lists; 1 if it is first in all of them.
    fused: f64,
    /// The features from which the probability is computed.
    features: AnswerFeatures,
    /// The margin of its match above the floor.
    above: f64,
    /// The probability that it answers the question.
    pub(super) probability: f64,
    /// Whether the probability is high enough to count as an answer.
    pub(super) answers: bool,
}

/// The results of a question.
pub(super) struct RecallFindings {
    pub(super) question: Question,
    by_meaning: bool,
    pub(super) found: Vec<FoundClaim>,
    references: Vec<Reference>,
    /// Whether the best reference counts as an answer.
    reference_answers: bool,
    notes: Vec<String>,
}

struct RecallRun<'a> {
    engine: &'a Engine,
    wanted: &'a RecallQuery,
    now: u64,
    today: String,
}

/// The results of the search by words, which runs while the embedder computes.
struct ByWords {
    /// The number of claims in the scope.
    claims: usize,
    /// The number of claims that have each word.
    known: Vec<TermCounts>,
    /// The claims of the wanted kind and status: the best by all words, then the best of each sub-query.
    ranked: Vec<Vec<RowNumber>>,
    /// The rows of the best of them, read while the embedder computes.
    rows: HashMap<RowNumber, ClaimRow>,
}

/// Claims similar to a vector, each with its cosine.
type Near = Vec<(RowNumber, f32)>;

impl RecallRun<'_> {
    /// Returns the best claims for the question, active ones first.
    fn find(&self) -> Result<RecallFindings, ApiError> {
        let ways = self.wanted.ways;
        let question = match ways {
            RecallMeans { words: false, .. } => Question::default(),
            RecallMeans { vocabulary: false, .. } => Question::new(&self.wanted.query, &Vocabulary::default()),
            RecallMeans { .. } => {
                let own = self.engine.vocabulary(&self.engine.readers.lend(), &self.wanted.scope)?;
                Question::new(&self.wanted.query, own.as_deref().unwrap_or(Vocabulary::built_in()))
            }
        };
        let queries = Queries::of(&question);
        let embed = || {
            if ways.meaning {
                self.engine.embed(&self.wanted.query, Call::interactive(EMBED_TIMEOUT))
            } else {
                Err(InferError::Refused("vectors were not used".to_owned()))
            }
        };
        // No connection is held while the embedder computes: a concurrent write may be missing among the words only.
        let (vector, words) = while_embedding(embed, || self.search_words(&question, &queries));
        let ByWords { claims, known, ranked, rows } = words?;
        let raise = match &vector {
            // The present baseline, also for the past.
            Ok(vector) => self.engine.floor_shift(&self.engine.readers.lend(), &self.wanted.scope, &vector.model)?,
            Err(_) => 0.0,
        };
        let mut notes = Vec::new();
        self.engine.read_at(self.wanted.at.as_ref(), |reader| {
            let (near, vector) = self.near(reader, vector, &mut notes)?;
            let weights = QuestionWeights::new(&question, claims, &known);
            let pool = self.pool(reader, ranked, &near)?;
            let rows = rows_of(reader, &pool, rows)?;
            let mut found = self.ranked(reader, (&pool, rows), vector.as_ref(), &near, &weights)?;
            let by_meaning = vector.is_some();
            let unknown = if ways.words { weights.unknown() } else { 0.0 };
            let crowd = recall_verdict::crowd(&near);
            recall_verdict::weigh_up(&mut found, by_meaning, unknown, crowd, raise);
            negation::positive_first(&self.engine.guard, &self.wanted.query, &mut found);
            self.cut(&mut found);
            let (references, reference_answers) = if self.wanted.references {
                self.references(reader, &question, &queries, (vector.as_ref(), raise))?
            } else {
                (Vec::new(), false)
            };
            Ok(RecallFindings { question: question.clone(), by_meaning, found, references, reference_answers, notes })
        })
    }

    /// Searches by words: the best claims for all words, then those for each sub-query.
    fn search_words(&self, question: &Question, queries: &Queries) -> Result<ByWords, ApiError> {
        self.engine.read_at(self.wanted.at.as_ref(), |reader| {
            let mut lists = reader.word_lists(&self.wanted.scope.in_force(), &self.wanted.kinds, &queries.all)?;
            self.search_sub_queries(reader, question, queries, &mut lists)?;
            let known = queries.known(question, &lists);
            let weights = QuestionWeights::new(question, lists.claims, &known);
            let all = fuse::by_weight(queries.weighed(&lists, &weights));
            let (mut best, mut parts) = (Vec::new(), all.chunks(STEP_CLAIMS));
            while let Some(part) = parts.next().filter(|_| best.len() < MAX_BY_WORDS) {
                best.extend(self.wanted_of(reader, part.iter().map(|(spot, _)| *spot).collect())?);
            }
            let order: HashMap<RowNumber, usize> = best.iter().enumerate().map(|(at, spot)| (*spot, at)).collect();
            let mut ranked: Vec<Vec<RowNumber>> = vec![best.into_iter().take(MAX_BY_WORDS).collect()];
            for mut list in queries.sub_lists(&lists) {
                list.retain(|spot| order.contains_key(spot));
                list.sort_unstable_by_key(|spot| order.get(spot).copied());
                list.truncate(MAX_BY_WORDS);
                ranked.push(list);
            }
            let best: Vec<RowNumber> = fuse::reciprocal(ranked.iter().map(Vec::as_slice))
                .into_iter()
                .take(MAX_POOL)
                .map(|(spot, _)| spot)
                .collect();
            let rows = best.iter().copied().zip(reader.bare_at(&best)?).collect();
            Ok(ByWords { claims: lists.claims, known, ranked, rows })
        })
    }

    /// Searches for claims with all words of a sub-query, if the lists of the single words are truncated.
    fn search_sub_queries(
        &self,
        reader: &Reader,
        question: &Question,
        queries: &Queries,
        lists: &mut WordLists,
    ) -> Result<(), StoreError> {
        let mut further = Vec::new();
        for places in question.adjacent() {
            let own: Vec<&WordList> =
                places.iter().filter_map(|place| lists.lists.get(*queries.own.get(*place)?)).collect();
            let is_enough =
                own.iter().any(|list| list.complete) || own.iter().all(|list| list.claims > COMMON_WORD_CLAIMS);
            if places.len() < 2 || is_enough {
                continue;
            }
            let stems =
                places.iter().filter_map(|place| question.terms.get(*place)).flat_map(|term| term.stems.clone());
            further.push(WordQuery { stems: stems.collect(), limit: MAX_PER_SUB_QUERY });
        }
        if further.is_empty() {
            return Ok(());
        }
        let (scopes, kinds) = (self.wanted.scope.in_force(), &self.wanted.kinds);
        lists.lists.extend(reader.word_lists(&scopes, kinds, &further)?.lists);
        Ok(())
    }

    /// Searches by meaning. Also returns the vector, if the store can be searched with it.
    fn near(
        &self,
        reader: &Reader,
        vector: Result<Embedding, InferError>,
        notes: &mut Vec<String>,
    ) -> Result<(Near, Option<Embedding>), ApiError> {
        let vector = match vector {
            Ok(vector) => vector,
            Err(error) => {
                notes.push(format!("Searched by words only: {error}."));
                return Ok((Vec::new(), None));
            }
        };
        let (scopes, kinds) = (self.wanted.scope.in_force(), &self.wanted.kinds);
        match reader.near(&scopes, kinds, &vector.model, &vector.numbers, MAX_BY_MEANING) {
            Ok(near) => Ok((near, Some(vector))),
            Err(error @ (StoreError::VectorModel { .. } | StoreError::BadVector(_))) => {
                notes.push(format!("Searched by words only: {error}."));
                Ok((Vec::new(), None))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Fuses the lists of sub-queries and vectors into the claims to rank, each with its relative position.
    fn pool(
        &self,
        reader: &Reader,
        mut ranked: Vec<Vec<RowNumber>>,
        near: &[(RowNumber, f32)],
    ) -> Result<Vec<(RowNumber, f64)>, StoreError> {
        let near = self.wanted_of(reader, near.iter().map(|(spot, _)| *spot).collect())?;
        ranked.push(near);
        ranked.retain(|list| !list.is_empty());
        let top = fuse::reciprocal(ranked.iter().map(|_| [()].as_slice())).first().map_or(1.0, |((), sum)| *sum);
        let fused = fuse::reciprocal(ranked.iter().map(Vec::as_slice));
        Ok(fused.into_iter().take(MAX_POOL).map(|(spot, sum)| (spot, sum / top)).collect())
    }

    /// Keeps the claims of the wanted kind and status, in their order.
    fn wanted_of(&self, reader: &Reader, spots: Vec<RowNumber>) -> Result<Vec<RowNumber>, StoreError> {
        let standing = reader.standing(&self.wanted.scope.in_force(), &spots)?;
        let fits = |standing: Option<crate::store::KindAndStatus>| {
            standing.is_some_and(|standing| self.wanted.takes(standing.kind, standing.status))
        };
        Ok(spots.into_iter().zip(standing).filter(|(_, standing)| fits(*standing)).map(|(spot, _)| spot).collect())
    }

    /// Reads and ranks the claims of the pool, active ones first.
    fn ranked(
        &self,
        reader: &Reader,
        (pool, rows): (&[(RowNumber, f64)], Vec<ClaimRow>),
        vector: Option<&Embedding>,
        near: &[(RowNumber, f32)],
        weights: &QuestionWeights<'_>,
    ) -> Result<Vec<FoundClaim>, ApiError> {
        let mut cosines: HashMap<RowNumber, f32> = near.iter().copied().collect();
        let spots: Vec<RowNumber> = pool.iter().map(|(spot, _)| *spot).collect();
        if let Some(vector) = vector {
            let rest: Vec<RowNumber> = spots.iter().filter(|spot| !cosines.contains_key(spot)).copied().collect();
            let found = reader.spot_cosines(&vector.model, &vector.numbers, &rest)?;
            cosines.extend(rest.into_iter().zip(found).filter_map(|(spot, cosine)| Some((spot, cosine?))));
        }
        let reasons = match vector {
            Some(vector) => reader.reason_cosines(&vector.model, &vector.numbers, &spots)?,
            None => vec![None; pool.len()],
        };
        let score = |((row, &(spot, fused)), with_reason): ((ClaimRow, &(RowNumber, f64)), Option<f32>)| {
            let cosine = cosines.get(&spot).copied();
            let candidate = RankedClaim {
                statement: &row.statement,
                reason: row.reason.as_deref(),
                source: row.source.as_deref(),
                kind: row.kind,
                at: row.clock.wall,
                needs_review: row.flags.needs_review,
                expired: row.expired_on(&self.today),
                cosine,
                with_reason,
            };
            let score = weights.score(&candidate, vector.is_some(), self.now);
            FoundClaim {
                row,
                cosine,
                with_reason,
                score,
                fused,
                features: AnswerFeatures::default(),
                above: 0.0,
                probability: 0.0,
                answers: false,
            }
        };
        // A redacted claim has no text, and a claim found by words may have been superseded or retracted since.
        let fits = |row: &ClaimRow| !row.statement.is_empty() && self.wanted.takes(row.kind, row.status);
        let rows = rows.into_iter().zip(pool).zip(reasons).filter(|((row, _), _)| fits(row));
        let mut found: Vec<FoundClaim> = Vec::with_capacity(pool.len());
        for ranked in rows {
            let (row, _) = &ranked.0;
            // If the project narrowed a claim of its organisation, its own claim counts instead.
            if row.scope == self.wanted.scope || !reader.is_narrowed(&row.id, &self.wanted.scope)? {
                found.push(score(ranked));
            }
        }
        found.sort_by(|a, b| {
            let retired = |found: &FoundClaim| found.row.status != Status::Active;
            let order = retired(a).cmp(&retired(b)).then(b.score.total.total_cmp(&a.score.total));
            order.then(b.row.id.cmp(&a.row.id))
        });
        agreement::drop_covered_by_level(reader, &self.wanted.scope, &mut found, |found| &found.row)?;
        Ok(found)
    }

    /// Truncates the results to the limit. If inactive claims are wanted, they are up to half of the results.
    fn cut(&self, found: &mut Vec<FoundClaim>) {
        let active = found.iter().filter(|found| found.row.status == Status::Active).count();
        let retired = (found.len() - active).min(self.wanted.limit / 2);
        let active = active.min(self.wanted.limit - retired);
        let mut left = [active, self.wanted.limit - active];
        found.retain(|found| {
            let part = usize::from(found.row.status != Status::Active);
            let keep = left[part] > 0;
            left[part] = left[part].saturating_sub(1);
            keep
        });
    }

    fn answer(&self, findings: RecallFindings) -> RecallAnswer {
        let RecallFindings { question, by_meaning, found, references, reference_answers, mut notes } = findings;
        let probability = found.iter().map(|found| found.probability).fold(0.0, f64::max);
        let verdict = recall_verdict::of(&found, reference_answers, by_meaning);
        notes.extend(recall_verdict::note(verdict, &self.wanted.scope, found.is_empty()));
        let asked = |place: &usize| question.terms.get(*place).map(|term| term.asked.clone());
        let hits = found.into_iter().map(|found| RecallHit {
            verdict: Some(recall_verdict::of_claim(&found, by_meaning)),
            words: found.score.found.iter().filter_map(asked).collect(),
            score: found.score.total as f32,
            cosine: found.cosine,
            claim: view::claim(found.row, &self.today),
        });
        RecallAnswer {
            method: question.method(),
            by_meaning,
            verdict,
            probability: probability as f32,
            hits: hits.collect(),
            references,
            notes,
        }
    }
}

/// Returns the claims of a pool in its order: those in `read`, and the others from the store.
fn rows_of(
    reader: &Reader,
    pool: &[(RowNumber, f64)],
    mut read: HashMap<RowNumber, ClaimRow>,
) -> Result<Vec<ClaimRow>, StoreError> {
    let spots = pool.iter().map(|(spot, _)| *spot);
    let lacking: Vec<RowNumber> = spots.clone().filter(|spot| !read.contains_key(spot)).collect();
    let rows = reader.bare_at(&lacking)?;
    read.extend(lacking.into_iter().zip(rows));
    Ok(spots.filter_map(|spot| read.remove(&spot)).collect())
}
