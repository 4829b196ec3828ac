//! The background pass: stored claims are compared once more, newest first, with more time than a write has.
//!
//! It has four stages, each for what the one before left open. An index finds the claims about the same things, by
//! words and by meaning. The rules judge each pair, including numbers and units. The cross-encoder is asked about the
//! pairs of which the rules are not sure. Pairs that are still uncertain go to judges: in the deep stage, a language
//! model checks the pairs that the cross-encoder found likely and the judge let pass, and opens cards on this device;
//! the gate queues the pairs that nobody was asked about for a later verdict ([`super::doubt_pass`]).

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use super::{
    Engine,
    act_context::WriteScope,
    acts::found_cards::{self, FoundPair},
    guard_calls::{self, NormalisedStatement},
    guard_result::IncomingClaim,
    validate,
};
use crate::{
    api::ApiError,
    domain::{ClaimId, Status, Tier},
    guard::{JudgeContext, deep},
    infer::{Call, InferError, ModelRole, Models, Prompt},
    store::ClaimRow,
};

/// When the language model is asked about pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeepMode {
    /// Never.
    Off,
    /// After the write; a contradiction opens a card.
    #[default]
    Background,
    /// Before the write, which waits for the answer.
    Inline,
}

/// The deadline of a write for the language model if it is asked before the write.
pub(super) const INLINE_TIMEOUT: Duration = Duration::from_secs(10);

/// The deadline of the background for one answer. Long, because a busy machine is not a failure.
const BACKGROUND_TIMEOUT: Duration = Duration::from_mins(2);

/// The greatest number of claims in the queue. If it is full, the oldest one is left to an audit.
const MAX_QUEUE: usize = 10_000;

/// The number of consecutive failures to compare a claim after which it is left to an audit.
const MAX_FAILURES: u32 = 3;

/// The progress of the pass is stored after this many claims, and when the queue is empty.
const PROGRESS_INTERVAL: usize = 16;

/// Claims that arrive from peers join the queue while it is shorter than this: minutes of work. A larger first exchange
/// is left to `ergo audit`.
const MAX_QUEUE_FOR_ARRIVALS: usize = 500;

/// A claim in the queue of the background pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WaitingClaim {
    id: ClaimId,
    /// Whether the writer was asked about likely contradictions and told of less likely ones. Unknown, so false, after
    /// a restart.
    asked: bool,
}

impl WaitingClaim {
    /// Creates an entry for a claim whose writer was not asked, as far as is known.
    fn unasked(id: ClaimId) -> Self {
        Self { id, asked: false }
    }
}

/// The queue of the background pass.
#[derive(Debug, Default)]
pub(super) struct DeepQueue {
    /// Oldest first.
    waiting: Mutex<VecDeque<WaitingClaim>>,
    /// Whether a claim that left the queue is being compared.
    comparing: AtomicBool,
    /// The number of consecutive failures to compare each claim.
    failures: Mutex<HashMap<ClaimId, u32>>,
    /// The number of the newest claim that was compared; 0 for none.
    newest_read: AtomicI64,
    /// Whether the start of the pass is recorded in the store.
    begun: AtomicBool,
}

impl DeepQueue {
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<WaitingClaim>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a claim to the queue after a failure, unless it has failed too often. It becomes the last one to be
    /// compared, so that it does not delay the others.
    fn put_back(&self, claim: WaitingClaim) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = failures.entry(claim.id).or_default();
        *failed += 1;
        if *failed < MAX_FAILURES {
            self.lock().push_front(claim);
        } else {
            failures.remove(&claim.id);
        }
    }

    /// Takes the newest claim out of the queue, to compare it.
    fn take(&self) -> Option<WaitingClaim> {
        let mut waiting = self.lock();
        let claim = waiting.pop_back();
        self.comparing.store(claim.is_some(), Ordering::Relaxed);
        claim
    }

    /// Returns how many claims wait.
    fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns how many claims wait or are being compared.
    pub(super) fn unfinished(&self) -> usize {
        let waiting = self.lock();
        waiting.len() + usize::from(self.comparing.load(Ordering::Relaxed))
    }
}

impl Engine {
    /// Whether there is a language model and the settings allow to ask it at this point.
    fn asks_language_model(&self, when: DeepMode) -> bool {
        self.config.deep == when && self.models.info().role(ModelRole::Llm).is_some()
    }

    /// Fills the queue with the claims that waited when the store was last closed. Claims from before the background
    /// pass existed are left to an audit.
    pub(super) fn resume_deepening(&self) -> Result<(), ApiError> {
        let waiting = self.readers.lend().deep_stage_waits(MAX_QUEUE)?;
        self.deep_queue.lock().extend(waiting.into_iter().map(WaitingClaim::unasked));
        Ok(())
    }

    /// Queues a stored claim for the background pass. `asked`: its writer was asked about it, if there was a doubt.
    /// `answered`: the writer answered a question, so claims may have been stored since it was asked.
    pub(super) fn deepen_later(&self, id: ClaimId, asked: bool, answered: bool) {
        if !asked || self.asks_language_model(DeepMode::Background) {
            let mut queue = self.deep_queue.lock();
            if queue.len() == MAX_QUEUE {
                queue.pop_front();
            }
            queue.push_back(WaitingClaim { id, asked: asked || answered });
        }
    }

    /// Queues claims that arrived from peers, because nobody has compared them with the claims of this store.
    pub(super) fn judge_later(&self, claims: impl IntoIterator<Item = ClaimId>) {
        let claims: Vec<ClaimId> = claims.into_iter().collect();
        let mut queue = self.deep_queue.lock();
        let skipped = claims.len().saturating_sub(MAX_QUEUE_FOR_ARRIVALS.saturating_sub(queue.len()));
        queue.extend(claims.into_iter().skip(skipped).map(WaitingClaim::unasked));
    }

    /// Whether claims wait for the background pass.
    pub fn deep_stage_has_work(&self) -> bool {
        self.deep_queue.len() > 0
    }

    /// Compares the newest claim in the queue. Returns whether there was one.
    ///
    /// # Errors
    /// Fails if the store fails; the claim is then tried again a few times.
    pub fn deepen_next(&self) -> Result<bool, ApiError> {
        let DeepQueue { newest_read, begun, .. } = &self.deep_queue;
        if !begun.load(Ordering::Relaxed) {
            let oldest = self.deep_queue.lock().front().map(|claim| claim.id);
            self.writer().begin_deep_stage(oldest.as_ref())?;
            begun.store(true, Ordering::Relaxed);
        }
        let Some(claim) = self.deep_queue.take() else { return Ok(false) };
        let compared = self.deepen(claim);
        if compared.is_err() {
            self.deep_queue.put_back(claim);
        }
        self.deep_queue.comparing.store(false, Ordering::Relaxed);
        compared?;
        self.deep_queue.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(&claim.id);
        let number = self.readers.lend().claim_number(&claim.id)?.unwrap_or_default();
        let newest = newest_read.fetch_max(number, Ordering::Relaxed).max(number);
        let (waiting, next) = {
            let queue = self.deep_queue.lock();
            (queue.len(), queue.back().map(|claim| claim.id))
        };
        // Storing the progress waits for the disk under the write lock. After a crash, a few claims are compared again.
        if waiting.is_multiple_of(PROGRESS_INTERVAL) {
            self.writer().note_deep_stage(newest, next.as_ref())?;
        }
        Ok(true)
    }

    /// Compares one stored claim. Returns how many cards it opened.
    fn deepen(&self, claim: WaitingClaim) -> Result<usize, ApiError> {
        let call = Call::background(BACKGROUND_TIMEOUT);
        let Some(row) = self.readers.lend().claim(&claim.id)? else { return Ok(0) };
        if row.status != Status::Active || !row.kind.is_guarded() {
            return Ok(0);
        }
        let _reading = self.timers.deep.start();
        self.refine_later(&row, call);
        let read = self.as_read(&self.readers.lend(), std::slice::from_ref(&row))?;
        let Some(ours) = read.into_iter().next() else { return Ok(0) };
        let normalised =
            NormalisedStatement { norms: ours.norms.clone(), version: ours.normaliser.clone(), warning: None };
        let mut exclude = vec![row.id];
        exclude.extend(&row.replaces);
        let incoming = IncomingClaim {
            scope: &row.scope,
            kind: row.kind,
            statement: &row.statement,
            source: row.source.as_deref(),
            normalised: &normalised,
            exclude: &exclude,
            consider: true,
        };
        let deeply = self.asks_language_model(DeepMode::Background) || self.asks_language_model(DeepMode::Inline);
        let mut results = self.ask_models_within(&incoming, call, deeply.then_some(call));
        let mut rows = self.nearby_claims_now(&incoming, &results)?;
        if rows.is_empty() {
            // Without models, nearby claims are found by words only.
            rows = incoming.by_words(&self.readers.lend())?;
        }
        let Ok(ours) = results.parse(incoming.normed_claim()) else { return Ok(0) };
        let Ok(against) = results.parse_all(self.as_read(&self.readers.lend(), &rows)?) else { return Ok(0) };
        let Ok(rulings) = results.rulings(&self.guard, &ours, &against) else { return Ok(0) };
        let scores = results.scores_of(&rows);
        let today = guard_calls::day((self.config.clock)());
        let under = JudgeContext {
            today: &today,
            scores: &scores,
            rulings: &rulings,
            cross_encoder: self.cross_encoder_of(&results),
            ask_shift: 0.0,
        };
        let Ok(report) = self.judge_in((&self.readers.lend(), &row.scope), &ours, &against, under)? else {
            return Ok(0);
        };
        // If the writer was only told of a claim, because earlier questions were in vain, nobody else is asked about it
        // either.
        let doubts = if claim.asked {
            let written_by = (&row.scope, row.agent.as_deref());
            self.doubts_to_ask(&self.readers.lend(), written_by, &ours, &against, under)?
        } else {
            guard_calls::doubts(&self.guard, &ours, &against, under)
        };
        let found: Vec<ClaimId> =
            report.findings.iter().filter(|one| one.tier == Tier::Block).map(|one| one.claim).collect();
        let doubts = doubts.iter().map(|pair| (&row, &rows[pair.at], pair.band));
        let doubts: Vec<_> = doubts.filter(|(_, other, _)| !found.contains(&other.id)).collect();
        self.queue_doubts(&row.scope, &doubts)?;
        let mut pairs = Vec::new();
        for mut finding in report.findings.into_iter().filter(|finding| finding.tier == Tier::Block) {
            let Some(theirs) = rows.iter().find(|other| other.id == finding.claim) else { continue };
            let evidence = &mut finding.evidence;
            evidence.sentence = format!("Found after the write was stored. {}", evidence.sentence);
            pairs.push(FoundPair { ours: row.clone(), theirs: theirs.clone(), finding });
        }
        if pairs.is_empty() {
            return Ok(0);
        }
        self.act(&validate::on_behalf(&row.scope, &row.who), None, |context| {
            let pairs = found_cards::still_missing(context, pairs)?;
            if pairs.is_empty() {
                return Ok(0);
            }
            let drafts = pairs.iter().map(FoundPair::draft).collect();
            let summary = "Found after the write: a contradiction".to_owned();
            context.commit(&WriteScope::at(&row.scope), drafts, "found", summary)?;
            Ok(pairs.len())
        })
    }

    /// Returns the nearby claims of a write as they are now.
    fn nearby_claims_now(
        &self,
        incoming: &IncomingClaim<'_>,
        results: &super::model_results::ModelResults,
    ) -> Result<Vec<ClaimRow>, ApiError> {
        let mut rows = self.readers.lend().bare_claims_with_ids(results.compared())?;
        rows.retain(|row| incoming.may_compare_guarded(row));
        Ok(rows)
    }

    /// [`odds`] of a pair, counted for `GET /diagnose`.
    pub(super) fn ask_deeply(&self, stored: &str, incoming: &str, call: Call) -> Result<f32, InferError> {
        let odds = odds(&*self.models, stored, incoming, call)?;
        self.counters.deepened.fetch_add(1, Ordering::Relaxed);
        Ok(odds)
    }
}

/// Returns the language model's log-odds of a contradiction: the mean over all questions, each in both orders. A pair
/// is (stored, incoming).
pub fn odds(models: &dyn Models, stored: &str, incoming: &str, call: Call) -> Result<f32, InferError> {
    let (mut sum, mut count) = (0.0, 0);
    for question in deep::questions() {
        for (a, b) in [(stored, incoming), (incoming, stored)] {
            let prompt = Prompt::few_shot(&question.system, question.examples(), question.about(a, b));
            sum += question.log_odds(&models.answers(&prompt, &question.answers, call)?);
            count += 1;
        }
    }
    Ok(if count == 0 { 0.0 } else { sum / count as f32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_cannot_be_read_waits_again_behind_the_others_and_not_for_ever() {
        let [broken, other] = [1, 2].map(|n| WaitingClaim::unasked(crate::domain::EventId([n; 32])));
        let queue = DeepQueue::default();
        queue.lock().push_back(other);
        for _ in 1..MAX_FAILURES {
            queue.put_back(broken);
            assert_eq!(queue.lock().pop_front(), Some(broken));
        }
        queue.put_back(broken);
        assert_eq!(*queue.lock(), [other]);
        assert!(queue.failures.lock().unwrap().is_empty());
    }

    #[test]
    fn a_claim_that_is_being_compared_is_unfinished() {
        let claim = WaitingClaim::unasked(crate::domain::EventId([1; 32]));
        let queue = DeepQueue::default();
        queue.lock().push_back(claim);
        assert_eq!((queue.take(), queue.len(), queue.unfinished()), (Some(claim), 0, 1));
        assert_eq!((queue.take(), queue.unfinished()), (None, 0));
    }
}
