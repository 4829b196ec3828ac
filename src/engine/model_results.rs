//! Asks the models about a write before the write lock is taken: vectors, nearby claims, scores of pairs.
//!
//! A model takes milliseconds to seconds, so it is asked while nobody waits for the lock. Its results are passed on by pair; under the
//! lock the nearby claims are read again, and a claim that appeared meanwhile is judged by the rules alone. They are looked for again only
//! where an older claim may have become active since.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{
    Engine,
    act_context::WriteScope,
    deep_stage::{self, DeepMode},
    find,
    guard_calls::{self, NormalisedStatement},
    guard_result::{IncomingClaim, new_claim},
    validate,
};
use crate::{
    api::{ApiError, Caller, Warning},
    domain::{ClaimId, Scope, event::key_hash},
    guard::{Guard, JudgeContext, MAX_BY_MEANING, NormedClaim, PairScores, ParsedClaim, Ruling},
    infer::{Call, InferError, ModelRole},
    store::{ClaimRow, NeighbourQuery, Reader, StoreError, VectorModel},
};

/// How long a write waits for one answer of the small models, loading included. A healthy answer takes a tenth of a second.
pub(super) const INLINE: Duration = Duration::from_secs(4);

/// How long an act that a client waits for queues with others for the small models; after that the background compares the claim. A choice:
/// about as long as the pairs of one other write take. With 100 ms, ten agents store an eighth less (`ergo-bench agents`).
const LONGEST_QUEUE: Duration = Duration::from_millis(60);

/// A call of an act that a client waits for.
const WRITE: Call = Call::foreground(INLINE).queueing_at_most(LONGEST_QUEUE);

/// What the models returned before the lock was taken.
#[derive(Clone, Debug, Default)]
pub(super) struct ModelResults {
    /// The statement that it is about.
    statement: String,
    /// The statement as a vector.
    pub(super) vector: Option<Embedding>,
    /// Claims near the statement, best first.
    near: Vec<ClaimId>,
    /// The claims that it was compared with, the likeliest first.
    compared: Vec<ClaimId>,
    /// Where the log ended when these were looked for, and the claims that were left out: `None` if they were not.
    searched: Option<((i64, i64), Vec<ClaimId>)>,
    /// The scores of each claim that was compared.
    scores: HashMap<ClaimId, PairScores>,
    /// Stages that were to run and did not.
    skipped: Vec<SkippedStage>,
    /// Whether there is a cross-encoder that answers.
    infers: bool,
    /// The statement and the claims that it was compared with, parsed.
    parsed: Vec<Arc<ParsedClaim>>,
    /// What the rules find of pairs of these.
    rulings: Vec<(Arc<ParsedClaim>, Arc<ParsedClaim>, Ruling)>,
}

/// A statement as a vector.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Embedding {
    /// What made it.
    pub(super) model: VectorModel,
    /// Its numbers.
    pub(super) numbers: Vec<f32>,
}

/// A stage that did not run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SkippedStage {
    /// In words.
    pub(super) message: String,
    /// A model failed, as opposed to: none is installed.
    pub(super) failed: bool,
    /// It failed since too many calls waited for it.
    pub(super) busy: bool,
}

impl Engine {
    /// Asks the models about a write. Never fails: what could not be asked is named in the answer.
    pub(super) fn ask_models(&self, incoming: &IncomingClaim<'_>) -> ModelResults {
        let deeply = (self.config.deep == DeepMode::Inline).then_some(Call::foreground(deep_stage::BEFORE));
        self.ask_models_within(incoming, WRITE, deeply)
    }

    /// [`Engine::ask_models`] with what the small models get, and the language model, if it is asked at all.
    pub(super) fn ask_models_within(
        &self,
        incoming: &IncomingClaim<'_>,
        call: Call,
        deeply: Option<Call>,
    ) -> ModelResults {
        let mut results = ModelResults { statement: incoming.statement.to_owned(), ..ModelResults::default() };
        if !incoming.kind.is_guarded() || incoming.normalised.warning.is_some() {
            return results;
        }
        if let Err(error) = self.collect_model_results(incoming, call, deeply, &mut results) {
            // The store is asked again under the lock, which answers for it.
            tracing::warn!(%error, "cannot ask the models before the write");
        }
        results
    }

    /// [`Engine::ask_models`] for a request: nothing if it was done before or stands there already, or if it will be refused anyhow. If the
    /// language model may be waited for, it refines the norms first; `keep` its answer, unless nothing is to be stored. `consider`: the writer
    /// answers questions.
    pub(super) fn ask_models_for_write(
        &self,
        caller: &Caller,
        draft: &validate::ClaimDraft,
        normalised: &mut NormalisedStatement,
        targets: &[String],
        keep: bool,
        consider: bool,
    ) -> Vec<ModelResults> {
        let plan = || -> Result<Option<(Scope, Vec<ClaimId>)>, ApiError> {
            let reader = self.readers.lend();
            let write_scope = WriteScope::of(&reader, caller)?;
            let done = match &caller.op_id {
                Some(op) => !reader.op(op)?.is_empty(),
                None => false,
            };
            let key = draft.key.as_deref().map(key_hash);
            let (kind, qualifiers) = (draft.kind, &draft.qualifiers);
            let there = reader.duplicate(&write_scope.scope, kind, &draft.statement, qualifiers, key.as_ref())?;
            let exclude = targets
                .iter()
                .map(|target| find::claim(&reader, "targets", target).map(|row| row.id))
                .collect::<Result<Vec<_>, _>>()?;
            Ok((!done && there.is_none()).then_some((write_scope.scope, exclude)))
        };
        // An error here comes again under the lock, where it is answered.
        let Ok(Some((scope, exclude))) = plan() else { return Vec::new() };
        let _asking = self.timers.models.start();
        let statement = &draft.statement;
        let mut unread = None;
        if self.config.deep == DeepMode::Inline && draft.kind.is_guarded() {
            let claim = (draft.kind, statement.as_str(), &draft.qualifiers);
            unread = self.refine(&scope, claim, keep, normalised, Call::foreground(deep_stage::BEFORE)).err();
        }
        let deeply = (self.config.deep == DeepMode::Inline).then_some(Call::foreground(deep_stage::BEFORE));
        let incoming = IncomingClaim {
            scope: &scope,
            kind: draft.kind,
            statement,
            source: draft.source.as_deref(),
            normalised,
            exclude: &exclude,
            consider,
        };
        let mut results = self.ask_models_within(&incoming, WRITE, deeply);
        if let Some(error) = unread {
            results.skip(self, "the language model's parse of the statement", &error);
        }
        vec![results]
    }

    fn collect_model_results(
        &self,
        incoming: &IncomingClaim<'_>,
        call: Call,
        deeply: Option<Call>,
        into: &mut ModelResults,
    ) -> Result<(), ApiError> {
        if self.models.info().roles.is_empty() {
            into.skip(self, "NLI model", &InferError::NoModel { role: ModelRole::Nli });
            return Ok(());
        }
        let begun = Instant::now();
        let position = self.readers.lend().log_position()?;
        let embed = || self.vector(incoming.statement, call);
        let (vector, by_words) = while_embedding(embed, || {
            let _permit = self.write_permits.take();
            incoming.by_words(&self.readers.lend())
        });
        let busy = matches!(vector, Err(InferError::Busy { .. }));
        match vector {
            Ok(vector) => into.vector = Some(vector),
            Err(error) if busy => into.skip(self, "the comparison by models", &error),
            Err(error) => into.skip(self, "the search for similar claims", &error),
        }
        let permit = self.write_permits.take();
        // The reader goes back before the cross-encoder is asked.
        let rows = self.nearby_claims(&self.readers.lend(), incoming, by_words?, into)?;
        into.searched = Some((position, incoming.exclude.to_vec()));
        // What cannot be parsed is answered under the lock.
        let Ok(ours) = into.parse(incoming.new_claim()) else { return Ok(()) };
        let Ok(against) = into.parse_all(self.as_read(&self.readers.lend(), &rows)?) else { return Ok(()) };
        let scores = into.scores_of(&rows);
        let today = guard_calls::day((self.config.clock)());
        let Ok(rulings) = into.rulings(&self.guard, &ours, &against) else { return Ok(()) };
        if busy {
            return Ok(());
        }
        let under = JudgeContext { today: &today, scores: &scores, rulings: &rulings, ..JudgeContext::default() };
        let selected = guard_calls::select_for_inference(&self.guard, &ours, &against, under);
        // The gate looks at more pairs than the judge, which goes on as if they had not been asked about.
        let more = if incoming.consider && self.nli_is_fitted() {
            guard_calls::select_for_gate(&self.guard, &ours, &against, under, &selected)
        } else {
            Vec::new()
        };
        drop(permit);
        if selected.is_empty() && more.is_empty() {
            into.infers = true;
            return Ok(());
        }
        let pair = |at: &usize| (against[*at].claim().statement.as_str(), incoming.statement);
        let (for_judge, for_gate): (Vec<_>, Vec<_>) =
            (selected.iter().map(pair).collect(), more.iter().map(pair).collect());
        match self.inferences(&for_judge, call.having_queued(begun.elapsed())) {
            Ok(judged) => {
                into.infers = true;
                for (at, inference) in selected.into_iter().zip(judged) {
                    into.scores.entry(rows[at].id).or_default().inference = Some(inference);
                }
                // If the models are busy, these wait for the background, and the judge's do not.
                match self.inferences_in_one_order(&for_gate, call.having_queued(begun.elapsed())) {
                    Ok(gated) => {
                        for (at, inference) in more.into_iter().zip(gated) {
                            into.scores.entry(rows[at].id).or_default().gate_inference = Some(inference);
                        }
                    }
                    Err(error) => into.skip(self, "the search for claims that it may contradict", &error),
                }
            }
            Err(error) => into.skip(self, "NLI model", &error),
        }
        if let Some(call) = deeply.filter(|_| into.infers && self.models.info().role(ModelRole::Llm).is_some()) {
            let scores = into.scores_of(&rows);
            let under = JudgeContext { today: &today, scores: &scores, rulings: &rulings, ..JudgeContext::default() };
            for at in guard_calls::select_for_deep_stage(&self.guard, &ours, &against, under) {
                match self.ask_deeply(&against[at].claim().statement, incoming.statement, call) {
                    Ok(odds) => into.scores.entry(rows[at].id).or_default().deep = Some(odds),
                    Err(error) => {
                        into.skip(self, "the language model's judgement", &error);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// One text as a vector, with the model that made it.
    pub(super) fn embed(&self, text: &str, call: Call) -> Result<Embedding, InferError> {
        let vectors = self.models.embed(&[text.to_owned()], call)?;
        let numbers = vectors.into_iter().next().unwrap_or_default();
        Ok(Embedding { model: self.vector_model(numbers.len()), numbers })
    }

    /// The embedding model as the store knows it. A file that is the same under another name makes the same vectors.
    pub(super) fn vector_model(&self, dimension: usize) -> VectorModel {
        let info = self.models.info();
        let name = info.role(ModelRole::Embedder).map_or_else(String::new, |role| match role.sha256.as_str() {
            "" => role.name.clone(),
            hash => format!("sha256:{hash}"),
        });
        VectorModel { name, dimension }
    }

    /// The claims that a write is compared with: the likeliest of `rows`, which share words with it, and of those near it in meaning.
    fn nearby_claims(
        &self,
        reader: &Reader,
        incoming: &IncomingClaim<'_>,
        mut rows: Vec<ClaimRow>,
        into: &mut ModelResults,
    ) -> Result<Vec<ClaimRow>, ApiError> {
        let by_words = rows.len();
        for row in &rows {
            into.scores.entry(row.id).or_default();
        }
        if let Some(vector) = into.vector.clone() {
            self.near_in_meaning(reader, incoming, &vector, &mut rows, into)?;
        }
        let mut rows = into.shortlist(incoming, rows, by_words);
        for row in incoming.facts(reader)? {
            into.scores.entry(row.id).or_default();
            rows.push(row);
        }
        into.compared = rows.iter().map(|row| row.id).collect();
        Ok(rows)
    }

    /// Adds to `rows` the claims near a write in meaning, and notes how near each of them lies.
    fn near_in_meaning(
        &self,
        reader: &Reader,
        incoming: &IncomingClaim<'_>,
        vector: &Embedding,
        rows: &mut Vec<ClaimRow>,
        into: &mut ModelResults,
    ) -> Result<(), ApiError> {
        let query = NeighbourQuery {
            scopes: incoming.scope.in_force(),
            model: vector.model.clone(),
            vector: vector.numbers.clone(),
            exclude: incoming.exclude.to_vec(),
            facts: false,
            limit: MAX_BY_MEANING,
        };
        let neighbours = match reader.neighbours(&query) {
            Ok(neighbours) => neighbours,
            // Vectors of another model, or a vector without a direction: words are left, and this one must not be stored.
            Err(error @ (StoreError::VectorModel { .. } | StoreError::BadVector(_))) => {
                into.vector = None;
                into.skip(self, "the search for similar claims", &InferError::Refused(error.to_string()));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let ids: Vec<ClaimId> = rows.iter().map(|row| row.id).collect();
        for (id, cosine) in ids.iter().zip(reader.cosines(&vector.model, &vector.numbers, &ids)?) {
            into.scores.entry(*id).or_default().cosine = cosine;
        }
        for neighbour in neighbours {
            let id = neighbour.claim.id;
            into.near.push(id);
            into.scores.entry(id).or_default().cosine = Some(neighbour.cosine);
            if !ids.contains(&id) {
                rows.extend(incoming.in_force(reader, vec![neighbour.claim])?);
            }
        }
        Ok(())
    }
}

/// Looks words up while the embedder, which is another process, computes: one after the other if the system gives no thread.
pub(super) fn while_embedding<T>(
    embed: impl Fn() -> Result<Embedding, InferError> + Sync,
    search: impl FnOnce() -> T,
) -> (Result<Embedding, InferError>, T) {
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, &embed) {
        Ok(embedding) => {
            let found = search();
            (embedding.join().unwrap_or_else(|_| Err(InferError::Refused("the embedder panicked".into()))), found)
        }
        Err(error) => {
            tracing::warn!(%error, "no thread can be started for the embedder");
            (embed(), search())
        }
    })
}

impl ModelResults {
    fn skip(&mut self, engine: &Engine, stage: &str, error: &InferError) {
        let failed = !matches!(error, InferError::NoModel { .. });
        if failed {
            engine.counters.skipped.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%error, stage, "a stage of the guard was skipped");
        }
        let busy = matches!(error, InferError::Busy { .. });
        self.skipped.push(SkippedStage { message: format!("{stage} was skipped: {error}"), failed, busy });
    }

    /// Parses a claim once: before the lock or, if it appeared or changed since, under it.
    pub(super) fn parse(&mut self, claim: NormedClaim) -> Result<Arc<ParsedClaim>, Box<Warning>> {
        if let Some(known) = self.parsed.iter().find(|known| *known.claim() == claim) {
            return Ok(Arc::clone(known));
        }
        let parsed = guard_calls::parse(claim)?;
        self.parsed.push(Arc::clone(&parsed));
        Ok(parsed)
    }

    /// [`ModelResults::parse`] of several claims.
    pub(super) fn parse_all(&mut self, claims: Vec<NormedClaim>) -> Result<Vec<Arc<ParsedClaim>>, Box<Warning>> {
        claims.into_iter().map(|claim| self.parse(claim)).collect()
    }

    /// What the rules find between a claim and others: applied once to each pair, before the lock or under it.
    pub(super) fn rulings(
        &mut self,
        guard: &Guard,
        ours: &Arc<ParsedClaim>,
        against: &[Arc<ParsedClaim>],
    ) -> Result<Vec<Ruling>, Box<Warning>> {
        let mut rulings = Vec::with_capacity(against.len());
        for theirs in against {
            let known = self.rulings.iter().find(|(a, b, _)| Arc::ptr_eq(a, ours) && Arc::ptr_eq(b, theirs));
            if let Some((.., ruling)) = known {
                rulings.push(ruling.clone());
                continue;
            }
            let fresh = guard_calls::rulings(guard, ours, std::slice::from_ref(theirs))?;
            for ruling in fresh {
                self.rulings.push((Arc::clone(ours), Arc::clone(theirs), ruling.clone()));
                rulings.push(ruling);
            }
        }
        Ok(rulings)
    }

    /// Whether it is about this statement.
    pub(super) fn is_of(&self, statement: &str) -> bool {
        self.statement == statement
    }

    /// The claims that it was compared with, the likeliest first.
    pub(super) fn compared(&self) -> &[ClaimId] {
        &self.compared
    }

    /// Where the log ended when the claims that it was compared with were looked for, unless others were left out than are now.
    pub(super) fn searched_at(&self, exclude: &[ClaimId]) -> Option<(i64, i64)> {
        self.searched.as_ref().filter(|(_, left_out)| left_out == exclude).map(|(position, _)| *position)
    }

    /// Those of `rows`, the first `by_words` of which come ranked by words, that a write is compared with.
    pub(super) fn shortlist(
        &self,
        incoming: &IncomingClaim<'_>,
        rows: Vec<ClaimRow>,
        by_words: usize,
    ) -> Vec<ClaimRow> {
        let found: Vec<NormedClaim> = rows.iter().map(new_claim).collect();
        let chosen = guard_calls::shortlist(&incoming.new_claim(), &found, by_words, &self.scores_of(&rows));
        let mut rows: Vec<Option<ClaimRow>> = rows.into_iter().map(Some).collect();
        chosen.into_iter().filter_map(|at| rows.get_mut(at)?.take()).collect()
    }

    /// Claims of like meaning that `rows` lack.
    pub(super) fn missing(&self, rows: &[ClaimRow]) -> Vec<ClaimId> {
        let there: HashSet<ClaimId> = rows.iter().map(|row| row.id).collect();
        self.near.iter().copied().filter(|id| !there.contains(id)).collect()
    }

    /// Returns the scores of each of `rows`, in their order.
    pub(super) fn scores_of(&self, rows: &[ClaimRow]) -> Vec<PairScores> {
        rows.iter().map(|row| self.scores.get(&row.id).copied().unwrap_or_default()).collect()
    }

    /// Whether a cross-encoder answered, or had nothing to answer.
    pub(super) fn infers(&self) -> bool {
        self.infers
    }

    /// Whether a model failed.
    pub(super) fn failed(&self) -> bool {
        self.skipped.iter().any(|skipped| skipped.failed)
    }

    /// Whether a model scored a claim.
    pub(super) fn has_scores_of(&self, id: &ClaimId) -> bool {
        self.scores.contains_key(id)
    }

    /// What the report says of stages that did not run.
    pub(super) fn skipped(&self) -> Vec<String> {
        self.skipped.iter().map(|skipped| skipped.message.clone()).collect()
    }

    /// The warning to the writer if a model failed: the write is stored all the same.
    pub(super) fn warning(&self) -> Option<Warning> {
        let failed: Vec<&SkippedStage> = self.skipped.iter().filter(|stage| stage.failed).collect();
        let message = if failed.is_empty() {
            return None;
        } else if failed.iter().all(|stage| stage.busy) && self.infers {
            "stored, but the models were too busy to look for every claim that it may contradict; the background does"
                .to_owned()
        } else if failed.iter().all(|stage| stage.busy) {
            "stored, but compared by rules alone, since the models are busy; the background compares it again"
                .to_owned()
        } else {
            let messages: Vec<&str> = failed.iter().map(|stage| stage.message.as_str()).collect();
            format!("stored; these checks did not run: {}", messages.join("; "))
        };
        Some(Warning::new("stage_skipped", message))
    }
}
