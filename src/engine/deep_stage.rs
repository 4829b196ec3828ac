//! The background pass: claims that were stored are compared once more, the newest first, with more time than a write has.
//!
//! It has four tiers, each for what the one before left open. An index finds the claims about the same things, by their words and their meaning. The
//! rules judge each pair, numbers and units included. The cross-encoder is asked about the pairs of which the rules are not sure. What is still
//! uncertain goes to judges: the deep stage, in which a language model checks the pairs that the cross-encoder found likely and the judge let pass,
//! opens cards on this machine, and the gate queues the pairs that nobody was asked about, for whoever judges them ([`super::doubt_pass`]).

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

/// When the language model judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeepMode {
    /// Never.
    Off,
    /// After the write; what it finds opens a card.
    #[default]
    Background,
    /// Before the write, which waits for it.
    Inline,
}

/// How long a write waits for the language model if it is asked before the write.
pub(super) const BEFORE: Duration = Duration::from_secs(10);

/// How long the background waits for one answer: a busy machine is no failure.
const AFTER: Duration = Duration::from_mins(2);

/// Claims that wait for the deep stage, at most; beyond this the oldest is left to an audit.
const QUEUE: usize = 10_000;

/// After so many failures in a row to read a claim, it is left to an audit.
const TRIES: u32 = 3;

/// After so many claims it is noted how far the background pass has come, and whenever none waits.
const MARK_EACH: usize = 16;

/// Up to this many waiting claims, those that arrive from peers join the queue: minutes of work. A larger first exchange is left to
/// `ergo audit`.
const ARRIVED: usize = 500;

/// A claim that waits for the background pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WaitingClaim {
    id: ClaimId,
    /// Its writer was asked, and told of what is less likely. Not known after a restart.
    asked: bool,
}

impl WaitingClaim {
    /// A claim whose writer was asked nothing, as far as is known.
    fn unasked(id: ClaimId) -> Self {
        Self { id, asked: false }
    }
}

/// Claims that wait for the background pass.
#[derive(Debug, Default)]
pub(super) struct DeepQueue {
    /// The oldest first.
    waiting: Mutex<VecDeque<WaitingClaim>>,
    /// How often in a row the reading of a claim has failed.
    failures: Mutex<HashMap<ClaimId, u32>>,
    /// The number of the newest claim that was read; 0 for none.
    newest_read: AtomicI64,
    /// Whether the store knows that the pass has begun.
    begun: AtomicBool,
}

impl DeepQueue {
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<WaitingClaim>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a claim back whose reading failed, unless that happened too often. It is read after all others, which it does not hold up.
    fn put_back(&self, claim: WaitingClaim) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = failures.entry(claim.id).or_default();
        *failed += 1;
        if *failed < TRIES {
            self.lock().push_front(claim);
        } else {
            failures.remove(&claim.id);
        }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }
}

impl Engine {
    /// Whether there is a language model to ask, and the settings let it be asked.
    fn deepens(&self, when: DeepMode) -> bool {
        self.config.deep == when && self.models.info().role(ModelRole::Llm).is_some()
    }

    /// What waited when the store was last closed waits again; claims from before the background pass was there are left to an audit.
    pub(super) fn resume_deepening(&self) -> Result<(), ApiError> {
        let waiting = self.readers.lend().deep_stage_waits(QUEUE)?;
        self.deep_queue.lock().extend(waiting.into_iter().map(WaitingClaim::unasked));
        Ok(())
    }

    /// Notes a claim that was stored, for the background pass. `asked`: its writer was asked about it, if there was a doubt. `answered`: that
    /// was earlier, and claims may have been stored since.
    pub(super) fn deepen_later(&self, id: ClaimId, asked: bool, answered: bool) {
        if !asked || self.deepens(DeepMode::Background) {
            let mut queue = self.deep_queue.lock();
            if queue.len() == QUEUE {
                queue.pop_front();
            }
            queue.push_back(WaitingClaim { id, asked: asked || answered });
        }
    }

    /// Notes claims that arrived from peers: nobody judged them against what is here.
    pub(super) fn judge_later(&self, claims: impl IntoIterator<Item = ClaimId>) {
        let claims: Vec<ClaimId> = claims.into_iter().collect();
        let mut queue = self.deep_queue.lock();
        let skipped = claims.len().saturating_sub(ARRIVED.saturating_sub(queue.len()));
        queue.extend(claims.into_iter().skip(skipped).map(WaitingClaim::unasked));
    }

    /// Whether claims wait for the background pass.
    pub fn deep_stage_has_work(&self) -> bool {
        self.deep_queue.len() > 0
    }

    /// Reads the newest claim that waits for the background pass. Returns whether there was one.
    ///
    /// # Errors
    /// If the store cannot be read or written; the claim waits again, a few times.
    pub fn deepen_next(&self) -> Result<bool, ApiError> {
        let DeepQueue { newest_read, begun, .. } = &self.deep_queue;
        if !begun.load(Ordering::Relaxed) {
            let oldest = self.deep_queue.lock().front().map(|claim| claim.id);
            self.writer.lock().unwrap_or_else(PoisonError::into_inner).begin_deep_stage(oldest.as_ref())?;
            begun.store(true, Ordering::Relaxed);
        }
        let Some(claim) = self.deep_queue.lock().pop_back() else { return Ok(false) };
        if let Err(error) = self.deepen(claim) {
            self.deep_queue.put_back(claim);
            return Err(error);
        }
        self.deep_queue.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(&claim.id);
        let number = self.readers.lend().claim_number(&claim.id)?.unwrap_or_default();
        let newest = newest_read.fetch_max(number, Ordering::Relaxed).max(number);
        let (waiting, next) = {
            let queue = self.deep_queue.lock();
            (queue.len(), queue.back().map(|claim| claim.id))
        };
        // The mark waits for the disk under the write lock: after a crash, a few claims are looked at again.
        if waiting.is_multiple_of(MARK_EACH) {
            self.writer.lock().unwrap_or_else(PoisonError::into_inner).note_deep_stage(newest, next.as_ref())?;
        }
        Ok(true)
    }

    /// Reads one stored claim deeply. Returns how many cards it opened.
    fn deepen(&self, claim: WaitingClaim) -> Result<usize, ApiError> {
        let call = Call::background(AFTER);
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
        let deeply = self.deepens(DeepMode::Background) || self.deepens(DeepMode::Inline);
        let mut results = self.ask_models_within(&incoming, call, deeply.then_some(call));
        let mut rows = self.near_again(&incoming, &results)?;
        if rows.is_empty() {
            // Without models, words alone say what is near.
            rows = incoming.by_words(&self.readers.lend())?;
        }
        let Ok(ours) = results.parse(incoming.new_claim()) else { return Ok(0) };
        let Ok(against) = results.parse_all(self.as_read(&self.readers.lend(), &rows)?) else { return Ok(0) };
        let Ok(rulings) = results.rulings(&self.guard, &ours, &against) else { return Ok(0) };
        let scores = results.scores_of(&rows);
        let today = guard_calls::day((self.config.clock)());
        let under = JudgeContext {
            today: &today,
            scores: &scores,
            rulings: &rulings,
            infers: results.infers() && self.nli_is_fitted(),
            threshold_shift: self.lowest_threshold_shift(),
            ask_shift: 0.0,
        };
        let Ok(report) = self.judge_in((&self.readers.lend(), &row.scope), &ours, &against, under)? else {
            return Ok(0);
        };
        // Of what was only mentioned to its writer, since questions were in vain, nobody else is asked either.
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
            let pairs = found_cards::still_there(context, pairs)?;
            if pairs.is_empty() {
                return Ok(0);
            }
            let drafts = pairs.iter().map(FoundPair::draft).collect();
            let summary = "Found after the write: a contradiction".to_owned();
            context.commit(&WriteScope::at(&row.scope), drafts, "found", summary)?;
            Ok(pairs.len())
        })
    }

    /// The nearby claims of a write as they are now.
    fn near_again(
        &self,
        incoming: &IncomingClaim<'_>,
        results: &super::model_results::ModelResults,
    ) -> Result<Vec<ClaimRow>, ApiError> {
        let mut rows = self.readers.lend().bare_claims_with_ids(results.compared())?;
        rows.retain(|row| incoming.meets(row));
        Ok(rows)
    }

    /// [`odds`] of a pair, counted.
    pub(super) fn ask_deeply(&self, stored: &str, incoming: &str, call: Call) -> Result<f32, InferError> {
        let odds = odds(&*self.models, stored, incoming, call)?;
        self.counters.deepened.fetch_add(1, Ordering::Relaxed);
        Ok(odds)
    }
}

/// The log-odds of a contradiction by the language model: each question in both orders, together. A pair is (stored, incoming).
///
/// # Errors
/// Those of the model.
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
        for _ in 1..TRIES {
            queue.put_back(broken);
            assert_eq!(queue.lock().pop_front(), Some(broken));
        }
        queue.put_back(broken);
        assert_eq!(*queue.lock(), [other]);
        assert!(queue.failures.lock().unwrap().is_empty());
    }
}
