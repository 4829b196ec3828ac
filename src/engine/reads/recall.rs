//! `recall`: what is known about a question, by words and by meaning.

mod filter;
mod means;
mod negation;
mod queries;
mod recall_verdict;
mod references;

use std::{collections::HashMap, time::Duration};

use queries::Queries;

use crate::{
    api::{ApiError, ErrorCode, MAX_RECALL, RecallAnswer, RecallHit, RecallRequest, Reference},
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
pub(in crate::engine) use recall_verdict::figures;

/// How many claims are answered with unless a number is asked for.
const LIMIT: usize = 10;

/// The longest question, in bytes.
const MAX_QUERY: usize = 1000;

/// How long a question waits for its vector: a healthy answer takes 5 ms, and the first one loads the model.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most claims that are read for words that stand together.
const TOGETHER: usize = 100;

/// Beyond this many claims a word is too common to be looked for beside another one.
const COMMON: usize = 20_000;

/// How many of the best by words are looked at together to find some of the wanted kind and status; then as many again, while
/// fewer than [`BY_WORDS`] are found.
const LOOKED_AT: usize = 512;

/// How many the words, the vectors and both together bring into the ranking.
const BY_WORDS: usize = 64;
const BY_MEANING: usize = 48;
const POOL: usize = 64;

/// `POST /recall`.
pub(in crate::engine) fn recall(
    engine: &Engine,
    request: &RecallRequest,
    ways: RecallMeans,
) -> Result<RecallAnswer, ApiError> {
    let mut wanted = RecallQuery { ways, ..RecallQuery::new(request)? };
    let limit = wanted.limit;
    if request.filter {
        // Who chooses has something to choose from.
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

/// What the local language model says of what a question finds; `None` if the first claim is not to be doubted. For measurements.
pub(in crate::engine) fn weigh(engine: &Engine, request: &RecallRequest) -> Result<Option<Weighing>, ApiError> {
    let wanted = RecallQuery::new(request)?;
    let now = request.as_of.unwrap_or_else(|| (engine.config.clock)());
    let findings = RecallRun { engine, wanted: &wanted, now, today: guard_calls::day(now) }.find()?;
    filter::weighing(engine, &wanted.query, &findings)
        .map_err(|Fallback(method, why)| ApiError::new(ErrorCode::Unavailable, format!("{method}: {why}")))
}

/// The claims in force that may answer a question, of these kinds (all if there are none), the best first.
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
        limit: POOL,
        kinds: kinds.to_vec(),
        history: false,
        at: PastTime::of(scope, as_of),
        // What nobody said is no answer to why.
        references: false,
        ways: RecallMeans::default(),
    };
    RecallRun { engine, wanted: &wanted, now, today: guard_calls::day(now) }.find()
}

/// What is wanted, checked.
struct RecallQuery {
    scope: Scope,
    query: String,
    limit: usize,
    kinds: Vec<ClaimKind>,
    history: bool,
    /// Where it is read; `None` for the present.
    at: Option<PastTime>,
    /// Whether chunks are looked for too.
    references: bool,
    ways: RecallMeans,
}

impl RecallQuery {
    fn new(request: &RecallRequest) -> Result<Self, ApiError> {
        let scope = validate::named(&request.org_id, &request.project)
            .map_err(|error| ApiError::field(error.field, error.to_string()))?;
        let query = validate::required("query", &request.query)?;
        if query.len() > MAX_QUERY {
            return Err(ApiError::field("query", format!("`query` is longer than {MAX_QUERY} bytes"))
                .hint("ask in one sentence"));
        }
        let limit = match request.limit {
            None => LIMIT,
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

/// A claim that was found, and how well it answers.
pub(super) struct FoundClaim {
    pub(super) row: ClaimRow,
    cosine: Option<f32>,
    with_reason: Option<f32>,
    pub(super) score: Score,
    /// How high it stands in the lists that were fused.
    fused: f64,
    /// What is known of it beside the question.
    figures: AnswerFeatures,
    /// How far its match stands above the floor of the second stage.
    above: f64,
    /// The probability that it answers.
    pub(super) probability: f64,
    /// That is enough.
    pub(super) answers: bool,
}

/// What a question found.
pub(super) struct RecallFindings {
    pub(super) question: Question,
    by_meaning: bool,
    pub(super) found: Vec<FoundClaim>,
    references: Vec<Reference>,
    /// The best of these is said to answer.
    reference_answers: bool,
    notes: Vec<String>,
}

/// A question to the store.
struct RecallRun<'a> {
    engine: &'a Engine,
    wanted: &'a RecallQuery,
    now: u64,
    today: String,
}

/// What the words of a question found, while its vector was computed.
struct ByWords {
    /// Claims of the scope.
    claims: usize,
    /// How many of them have each word.
    known: Vec<TermCounts>,
    /// Those that are wanted: the best by all words, then the best of each sub-query.
    ranked: Vec<Vec<RowNumber>>,
    /// The best of them as they are, read while the embedder computes.
    rows: HashMap<RowNumber, ClaimRow>,
}

/// Claims near a vector, each with its cosine.
type Near = Vec<(RowNumber, f32)>;

impl RecallRun<'_> {
    /// The best claims for the question: those in force first, as many as are wanted.
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
                self.engine.embed(&self.wanted.query, Call::interactive(PATIENCE))
            } else {
                Err(InferError::Refused("vectors were not used".to_owned()))
            }
        };
        // No connection waits for the embedder, so the words are of an earlier state of the store than the rest if somebody writes meanwhile.
        let (vector, words) = while_embedding(embed, || self.words(&question, &queries));
        let ByWords { claims, known, ranked, rows } = words?;
        let raise = match &vector {
            // Those of today, whenever it is asked about.
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

    /// Who has the words of the question: the best of them, then those of each sub-query.
    fn words(&self, question: &Question, queries: &Queries) -> Result<ByWords, ApiError> {
        self.engine.read_at(self.wanted.at.as_ref(), |reader| {
            let mut lists = reader.word_lists(&self.wanted.scope.in_force(), &queries.all)?;
            self.together(reader, question, queries, &mut lists)?;
            let known = queries.known(question, &lists);
            let weights = QuestionWeights::new(question, lists.claims, &known);
            let all = fuse::by_weight(queries.weighed(&lists, &weights));
            let (mut best, mut parts) = (Vec::new(), all.chunks(LOOKED_AT));
            while let Some(part) = parts.next().filter(|_| best.len() < BY_WORDS) {
                best.extend(self.wanted_of(reader, part.iter().map(|(spot, _)| *spot).collect())?);
            }
            let order: HashMap<RowNumber, usize> = best.iter().enumerate().map(|(at, spot)| (*spot, at)).collect();
            let mut ranked: Vec<Vec<RowNumber>> = vec![best.into_iter().take(BY_WORDS).collect()];
            for mut list in queries.sub_lists(&lists) {
                list.retain(|spot| order.contains_key(spot));
                list.sort_unstable_by_key(|spot| order.get(spot).copied());
                list.truncate(BY_WORDS);
                ranked.push(list);
            }
            let best: Vec<RowNumber> = fuse::reciprocal(ranked.iter().map(Vec::as_slice))
                .into_iter()
                .take(POOL)
                .map(|(spot, _)| spot)
                .collect();
            let rows = best.iter().copied().zip(reader.bare_at(&best)?).collect();
            Ok(ByWords { claims: lists.claims, known, ranked, rows })
        })
    }

    /// Looks for words that stand together, if their own lists were not read to the end: else they say it already.
    fn together(
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
            let tells = own.iter().any(|list| list.complete) || own.iter().all(|list| list.claims > COMMON);
            if places.len() < 2 || tells {
                continue;
            }
            let stems =
                places.iter().filter_map(|place| question.terms.get(*place)).flat_map(|term| term.stems.clone());
            further.push(WordQuery { stems: stems.collect(), limit: TOGETHER });
        }
        if further.is_empty() {
            return Ok(());
        }
        lists.lists.extend(reader.word_lists(&self.wanted.scope.in_force(), &further)?.lists);
        Ok(())
    }

    /// The claims near in meaning, and the vector, if there is one that the store can be asked with.
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
        match reader.near(&scopes, kinds, &vector.model, &vector.numbers, BY_MEANING) {
            Ok(near) => Ok((near, Some(vector))),
            Err(error @ (StoreError::VectorModel { .. } | StoreError::BadVector(_))) => {
                notes.push(format!("Searched by words only: {error}."));
                Ok((Vec::new(), None))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The claims that are worth ranking: the lists of all sub-queries and of the vectors, fused.
    /// Each with how high it stands in them.
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
        Ok(fused.into_iter().take(POOL).map(|(spot, sum)| (spot, sum / top)).collect())
    }

    /// Those of the claims that are wanted, in their order.
    fn wanted_of(&self, reader: &Reader, spots: Vec<RowNumber>) -> Result<Vec<RowNumber>, StoreError> {
        let standing = reader.standing(&self.wanted.scope.in_force(), &spots)?;
        let fits = |standing: Option<crate::store::KindAndStatus>| {
            standing.is_some_and(|standing| self.wanted.takes(standing.kind, standing.status))
        };
        Ok(spots.into_iter().zip(standing).filter(|(_, standing)| fits(*standing)).map(|(spot, _)| spot).collect())
    }

    /// The claims of the pool, read and ranked: those in force first.
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
                figures: AnswerFeatures::default(),
                above: 0.0,
                probability: 0.0,
                answers: false,
            }
        };
        // A redacted claim says nothing; and what the words found may have been retired since.
        let fits = |row: &ClaimRow| !row.statement.is_empty() && self.wanted.takes(row.kind, row.status);
        let rows = rows.into_iter().zip(pool).zip(reasons).filter(|((row, _), _)| fits(row));
        let mut found: Vec<FoundClaim> = Vec::with_capacity(pool.len());
        for ranked in rows {
            let (row, _) = &ranked.0;
            // What a project made of a claim of its organisation stands in its place.
            if row.scope == self.wanted.scope || !reader.is_narrowed(&row.id, &self.wanted.scope)? {
                found.push(score(ranked));
            }
        }
        found.sort_by(|a, b| {
            let retired = |found: &FoundClaim| found.row.status != Status::Active;
            let order = retired(a).cmp(&retired(b)).then(b.score.total.total_cmp(&a.score.total));
            order.then(b.row.id.cmp(&a.row.id))
        });
        agreement::once(reader, &self.wanted.scope, &mut found, |found| &found.row)?;
        Ok(found)
    }

    /// Leaves as many as are wanted; where history is wanted, up to half of them are history.
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

/// The claims of a pool in its order: those that were read already, and the others.
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
