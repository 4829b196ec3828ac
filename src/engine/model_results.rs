//! Asks the models about a write before the write lock is taken: vectors, nearby claims, scores of pairs.
//!
//! A model takes milliseconds to seconds, so it is asked while nobody waits for the lock. Its results are kept by pair.
//! Under the lock the nearby claims are read again, and a claim that appeared in the meantime is judged by the rules
//! alone. The search is repeated only if an older claim may have become active since.

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
    guard_result::{IncomingClaim, normed_claim},
    validate,
};
use crate::{
    api::{ApiError, Caller, Warning},
    domain::{ClaimId, Scope, event::key_hash},
    guard::{Guard, JudgeContext, MAX_BY_MEANING, NormedClaim, PairScores, ParsedClaim, Ruling},
    infer::{Call, InferError, ModelRole},
    store::{ClaimRow, NeighbourQuery, Reader, StoreError, VectorModel},
};

/// The deadline of a write for one answer of the small models, including the time to load them. A healthy answer takes
/// a tenth of a second.
pub(super) const SMALL_MODEL_TIMEOUT: Duration = Duration::from_secs(4);

/// The longest time that an act with a waiting client queues for the small models; after that the background compares
/// the claim. A choice: about as long as the pairs of one other write take. With 100 ms, ten agents store an eighth
/// less (`ergo-bench agents`).
const LONGEST_QUEUE: Duration = Duration::from_millis(60);

/// The limits of a model call in an act with a waiting client.
const WRITE_CALL: Call = Call::foreground(SMALL_MODEL_TIMEOUT).queueing_at_most(LONGEST_QUEUE);

/// Results of the models from before the lock was taken.
#[derive(Clone, Debug, Default)]
pub(super) struct ModelResults {
    /// The statement that the models were asked about.
    statement: String,
    /// The statement's vector.
    pub(super) vector: Option<Embedding>,
    /// Claims similar to the statement in meaning, best first.
    near: Vec<ClaimId>,
    /// The claims that the statement was compared with, the likeliest first.
    compared: Vec<ClaimId>,
    /// The end of the log at the time of the search for claims to compare, and the claims that the search excluded;
    /// `None` if there was no search.
    searched: Option<((i64, i64), Vec<ClaimId>)>,
    /// The scores of each compared claim.
    scores: HashMap<ClaimId, PairScores>,
    /// Stages that should have run and did not.
    skipped: Vec<SkippedStage>,
    /// Whether a cross-encoder is available and answers.
    infers: bool,
    /// The statement and the compared claims, parsed.
    parsed: Vec<Arc<ParsedClaim>>,
    /// The rules' findings on pairs of `parsed`.
    rulings: Vec<(Arc<ParsedClaim>, Arc<ParsedClaim>, Ruling)>,
}

/// A vector of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Embedding {
    /// The model that computed the vector.
    pub(super) model: VectorModel,
    pub(super) numbers: Vec<f32>,
}

/// A stage that did not run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SkippedStage {
    /// The stage and why it was skipped, for people.
    pub(super) message: String,
    /// True if a model failed, false if none is installed.
    pub(super) failed: bool,
    /// The call failed because too many calls were queued.
    pub(super) busy: bool,
}

impl Engine {
    /// Asks the models about a write. Never fails: the results name the stages that could not run.
    pub(super) fn ask_models(&self, incoming: &IncomingClaim<'_>) -> ModelResults {
        let deep_call = (self.config.deep == DeepMode::Inline).then_some(Call::foreground(deep_stage::INLINE_TIMEOUT));
        self.ask_models_within(incoming, WRITE_CALL, deep_call)
    }

    /// [`Engine::ask_models`] with the limits of the calls of the small models and of the language model, if it is
    /// asked.
    pub(super) fn ask_models_within(
        &self,
        incoming: &IncomingClaim<'_>,
        call: Call,
        deep_call: Option<Call>,
    ) -> ModelResults {
        let mut results = ModelResults { statement: incoming.statement.to_owned(), ..ModelResults::default() };
        if !incoming.kind.is_guarded() || incoming.normalised.warning.is_some() {
            return results;
        }
        if let Err(error) = self.collect_model_results(incoming, call, deep_call, &mut results) {
            // The store is read again under the lock, and an error is reported there.
            tracing::warn!(%error, "cannot ask the models before the write");
        }
        results
    }

    /// [`Engine::ask_models`] for a request. Asks nothing if the act is a retry, if the claim is already stored, or if
    /// the request will be refused anyway. With the deep stage inline, the language model refines the norms first;
    /// `keep` stores its answer, and is false if nothing will be stored. `consider`: the writer answers questions.
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
            let duplicate = reader.duplicate(&write_scope.scope, kind, &draft.statement, qualifiers, key.as_ref())?;
            let exclude = targets
                .iter()
                .map(|target| find::claim(&reader, "targets", target).map(|row| row.id))
                .collect::<Result<Vec<_>, _>>()?;
            Ok((!done && duplicate.is_none()).then_some((write_scope.scope, exclude)))
        };
        // The same error occurs again under the lock, and is reported there.
        let Ok(Some((scope, exclude))) = plan() else { return Vec::new() };
        let _asking = self.timers.models.start();
        let statement = &draft.statement;
        let mut refine_error = None;
        if self.config.deep == DeepMode::Inline && draft.kind.is_guarded() {
            let claim = (draft.kind, statement.as_str(), &draft.qualifiers);
            refine_error =
                self.refine(&scope, claim, keep, normalised, Call::foreground(deep_stage::INLINE_TIMEOUT)).err();
        }
        let deep_call = (self.config.deep == DeepMode::Inline).then_some(Call::foreground(deep_stage::INLINE_TIMEOUT));
        let incoming = IncomingClaim {
            scope: &scope,
            kind: draft.kind,
            statement,
            source: draft.source.as_deref(),
            normalised,
            exclude: &exclude,
            consider,
        };
        let mut results = self.ask_models_within(&incoming, WRITE_CALL, deep_call);
        if let Some(error) = refine_error {
            results.skip(self, "the language model's parse of the statement", &error);
        }
        vec![results]
    }

    fn collect_model_results(
        &self,
        incoming: &IncomingClaim<'_>,
        call: Call,
        deep_call: Option<Call>,
        into: &mut ModelResults,
    ) -> Result<(), ApiError> {
        if self.models.info().roles.is_empty() {
            into.skip(self, "cross-encoder", &InferError::NoModel { role: ModelRole::Nli });
            return Ok(());
        }
        let begun = Instant::now();
        let position = self.readers.lend().log_position()?;
        let embed = || self.vector(incoming.statement, call);
        let search = || {
            let _permit = self.write_permits.take();
            incoming.by_words(&self.readers.lend())
        };
        let (vector, by_words) = if call.longest_queue.is_some() && self.writes_in_progress.are_crowded() {
            (Err(InferError::Busy { role: ModelRole::Embedder }), search())
        } else {
            while_embedding(embed, search)
        };
        let busy = matches!(vector, Err(InferError::Busy { .. }));
        match vector {
            Ok(vector) => into.vector = Some(vector),
            Err(error) if busy => into.skip(self, "the comparison by models", &error),
            Err(error) => into.skip(self, "the search for similar claims", &error),
        }
        let permit = self.write_permits.take();
        // The reader is returned before the cross-encoder is asked.
        let rows = self.nearby_claims(&self.readers.lend(), incoming, by_words?, into)?;
        into.searched = Some((position, incoming.exclude.to_vec()));
        // Parse errors are reported under the lock.
        let Ok(ours) = into.parse(incoming.normed_claim()) else { return Ok(()) };
        let Ok(against) = into.parse_all(self.as_read(&self.readers.lend(), &rows)?) else { return Ok(()) };
        let scores = into.scores_of(&rows);
        let today = guard_calls::day((self.config.clock)());
        let Ok(rulings) = into.rulings(&self.guard, &ours, &against) else { return Ok(()) };
        if busy {
            return Ok(());
        }
        let under = JudgeContext { today: &today, scores: &scores, rulings: &rulings, ..JudgeContext::default() };
        let selected = guard_calls::select_for_inference(&self.guard, &ours, &against, under);
        // The gate uses more pairs than the judge. The judge ignores their scores.
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
                // If the models are busy, the background compares the gate's pairs; the judge's pairs are done.
                match self.inferences_in_one_order(&for_gate, call.having_queued(begun.elapsed())) {
                    Ok(gated) => {
                        for (at, inference) in more.into_iter().zip(gated) {
                            into.scores.entry(rows[at].id).or_default().gate_inference = Some(inference);
                        }
                    }
                    Err(error) => into.skip(self, "the search for claims that it may contradict", &error),
                }
            }
            Err(error) => into.skip(self, "cross-encoder", &error),
        }
        if let Some(call) = deep_call.filter(|_| into.infers && self.models.info().role(ModelRole::Llm).is_some()) {
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

    /// Computes the vector of one text.
    pub(super) fn embed(&self, text: &str, call: Call) -> Result<Embedding, InferError> {
        let vectors = self.models.embed(&[text.to_owned()], call)?;
        let numbers = vectors.into_iter().next().unwrap_or_default();
        Ok(Embedding { model: self.vector_model(numbers.len()), numbers })
    }

    /// Returns the embedding model as the store identifies it: by the hash of its file, because the same file under
    /// another name computes the same vectors.
    pub(super) fn vector_model(&self, dimension: usize) -> VectorModel {
        let info = self.models.info();
        let name = info.role(ModelRole::Embedder).map_or_else(String::new, |role| match role.sha256.as_str() {
            "" => role.name.clone(),
            hash => format!("sha256:{hash}"),
        });
        VectorModel { name, dimension }
    }

    /// Returns the claims to compare a write with: the likeliest of `rows`, which share words with it, and of those
    /// similar to it in meaning.
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

    /// Adds to `rows` the claims similar to a write in meaning, and records their similarity.
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
            // The store has vectors of another model, or the vector is zero: only words are compared, and the vector
            // must not be stored.
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

/// Searches while the embedder, which is another process, computes; one after the other if the system starts no thread.
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

    /// Parses a claim once: before the lock or, if the claim appeared or changed since, under it.
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

    /// Returns the rules' findings between a claim and others. The rules are applied once to each pair, before the lock
    /// or under it.
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

    /// Whether the results are about this statement.
    pub(super) fn is_of(&self, statement: &str) -> bool {
        self.statement == statement
    }

    /// The claims that the statement was compared with, the likeliest first.
    pub(super) fn compared(&self) -> &[ClaimId] {
        &self.compared
    }

    /// Returns the end of the log at the time of the search for claims to compare; `None` if the search excluded other
    /// claims than `exclude`.
    pub(super) fn searched_at(&self, exclude: &[ClaimId]) -> Option<(i64, i64)> {
        self.searched.as_ref().filter(|(_, left_out)| left_out == exclude).map(|(position, _)| *position)
    }

    /// Chooses from `rows`, the first `by_words` of which are ranked by words, the claims to compare a write with.
    pub(super) fn shortlist(
        &self,
        incoming: &IncomingClaim<'_>,
        rows: Vec<ClaimRow>,
        by_words: usize,
    ) -> Vec<ClaimRow> {
        let found: Vec<NormedClaim> = rows.iter().map(normed_claim).collect();
        let chosen = guard_calls::shortlist(&incoming.normed_claim(), &found, by_words, &self.scores_of(&rows));
        let mut rows: Vec<Option<ClaimRow>> = rows.into_iter().map(Some).collect();
        chosen.into_iter().filter_map(|at| rows.get_mut(at)?.take()).collect()
    }

    /// Returns the claims of similar meaning that are not in `rows`.
    pub(super) fn missing(&self, rows: &[ClaimRow]) -> Vec<ClaimId> {
        let present: HashSet<ClaimId> = rows.iter().map(|row| row.id).collect();
        self.near.iter().copied().filter(|id| !present.contains(id)).collect()
    }

    /// Returns the scores of each of `rows`, in their order.
    pub(super) fn scores_of(&self, rows: &[ClaimRow]) -> Vec<PairScores> {
        rows.iter().map(|row| self.scores.get(&row.id).copied().unwrap_or_default()).collect()
    }

    /// Whether a cross-encoder answered, or no pair was selected for it.
    pub(super) fn infers(&self) -> bool {
        self.infers
    }

    pub(super) fn failed(&self) -> bool {
        self.skipped.iter().any(|skipped| skipped.failed)
    }

    /// Whether a claim was found before the lock was taken, so that the models could score it.
    pub(super) fn has_scores_of(&self, id: &ClaimId) -> bool {
        self.scores.contains_key(id)
    }

    /// Returns the messages of the stages that did not run.
    pub(super) fn skipped(&self) -> Vec<String> {
        self.skipped.iter().map(|skipped| skipped.message.clone()).collect()
    }

    /// Returns the warning to the writer if a model failed. The write is stored all the same.
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
