//! Finds claims of an organisation in different words that say the same, are linked, or contradict each other.
//!
//! The rules come first, then the vectors, then the cross-encoder within a budget. Equal and linked claims are
//! recorded as judgements in the shared log, so that each device has them; a contradiction opens a card. Pairs of two
//! scopes that all of these leave open wait for a judge in the queue of doubts.

use std::collections::{BTreeMap, HashSet};

use super::{
    NotesBook,
    near_pairs::{NearPair, near, of_one_subject},
    pair_outcome::{ComparedPair, PairOutcome, ScopeCrossEncoders, judged_contradictions},
};
use crate::{
    api::{ApiError, Caller},
    domain::{
        ClaimId, EventId, EventKind, PairVerdict, Scope,
        judgement::{JudgementData, pair_key},
    },
    engine::{
        Engine,
        act_context::WriteScope,
        acts::found_cards::{self, FoundPair},
        guard_calls,
    },
    guard::{Guard, Inference},
    infer::{Call, ModelRole},
    notes::{NotedClaim, group, labels, sameness::SameThresholds, stated_part::stated_part},
    store::{ClaimRow, EventDraft, Ref},
};

/// Pairs in one request to the cross-encoder.
const NLI_BATCH_SIZE: usize = 16;

/// The deadline for one batch. Long, because nobody waits for it.
const BATCH_TIMEOUT: std::time::Duration = std::time::Duration::from_mins(1);

/// The limits and thresholds of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct ReconcileBudget {
    /// The greatest number of pairs about which the cross-encoder is asked.
    pub inferred: usize,
    /// The thresholds from which two claims are the same.
    pub same: SameThresholds,
    /// The least cosine of equal claims of a domain, where it differs.
    pub domains: BTreeMap<String, f32>,
}

impl Default for ReconcileBudget {
    fn default() -> Self {
        Self { inferred: 400, same: SameThresholds::default(), domains: BTreeMap::new() }
    }
}

impl ReconcileBudget {
    /// Returns the thresholds of a pair: those of its domain, or of its two domains the stricter ones.
    pub(super) fn thresholds(&self, one: &NotedClaim, other: &NotedClaim, mutual: bool) -> SameThresholds {
        let of = |claim: &NotedClaim| {
            self.domains.get(labels(claim.kind, &claim.statement).domain).copied().unwrap_or(self.same.cosine)
        };
        if self.domains.is_empty() {
            return self.same.of_pair(mutual);
        }
        self.same.at_cosine(of(one).max(of(other))).of_pair(mutual)
    }
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reconciled {
    pub merged: usize,
    /// Pairs in which one claim is linked to the other.
    pub linked: usize,
    pub cards: usize,
    /// Pairs that were added to the queue of doubts.
    pub doubts: usize,
    /// Pairs about which the cross-encoder was asked.
    pub inferred: usize,
    /// Pairs that are left for the next run.
    pub left: usize,
    /// Short keys of the pairs about which the cross-encoder was asked, so that later runs leave them out.
    pub asked: Vec<u64>,
    /// The claims all of whose pairs were compared.
    pub done: Vec<ClaimId>,
    /// Why the cross-encoder was not asked, although there is one.
    pub skipped: Option<String>,
}

/// Returns a short key of a pair of statements, to remember that it was asked about.
fn short_key(one: &EventId, other: &EventId) -> u64 {
    let key = pair_key(one, other);
    key.0.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

impl Engine {
    /// Compares the claims of an organisation that are not among `done` with their nearest others, leaving out the
    /// pairs in `asked`.
    ///
    /// # Errors
    /// Fails if the store fails. If a model fails, the rules decide alone, and the result says so.
    pub fn reconcile_notes(
        &self,
        caller: &Caller,
        done: &HashSet<ClaimId>,
        asked: &HashSet<u64>,
        budget: &ReconcileBudget,
    ) -> Result<Reconciled, ApiError> {
        let org = super::views::organisation(&caller.org_id)?;
        self.fill_all_claim_vectors()?;
        let book = self.notes_book(org)?;
        let vectors = self.readers.lend().organisation_vectors(org)?;
        let mut groups = vec![0; book.claims.len()];
        for (n, group) in group(&book.claims, &book.same()).into_iter().enumerate() {
            for at in group {
                groups[at] = n;
            }
        }
        let fresh: HashSet<ClaimId> =
            book.claims.iter().map(|claim| claim.id).filter(|id| !done.contains(id)).collect();
        let judged: HashSet<EventId> =
            book.judged.iter().map(|judged| pair_key(&judged.new, &judged.existing)).collect();
        let is_open = |pair: &NearPair| {
            let (one, other) = (&book.claims[pair.one].words, &book.claims[pair.other].words);
            !judged.contains(&pair_key(one, other)) && !asked.contains(&short_key(one, other))
        };
        let mut pairs = near(&book.claims, &vectors, &groups, &fresh);
        let keys: Vec<Vec<String>> = book.rows.iter().map(|row| self.subject_keys(row)).collect();
        let mut by_subject = of_one_subject(&book.claims, &keys, &groups, &fresh, &pairs);
        by_subject.retain(is_open);
        pairs.retain(is_open);
        let mut found = Reconciled::default();
        if pairs.len() > budget.inferred {
            found.left = pairs.len() - budget.inferred;
            pairs.truncate(budget.inferred);
        } else {
            found.done = fresh.iter().copied().filter(|id| vectors.contains_key(id)).collect();
        }
        let mut inferences = self.infer_pairs(&book, &pairs, &mut found);
        if found.skipped.is_some() {
            // The pairs are compared again once the model answers.
            found.done.clear();
        }
        // The rules alone compare these: their vectors are not similar, or missing.
        inferences.resize(pairs.len() + by_subject.len(), None);
        pairs.extend(by_subject);
        let mut compared = Vec::with_capacity(pairs.len());
        let mut cross_encoders = ScopeCrossEncoders::default();
        for (pair, inference) in pairs.into_iter().zip(inferences) {
            let outcome = self.pair_outcome(&book, &pair, inference, budget, &mut cross_encoders)?;
            if inference.is_some() {
                found.asked.push(short_key(&book.claims[pair.one].words, &book.claims[pair.other].words));
            }
            compared.push(ComparedPair { pair, inference, outcome });
        }
        found.doubts = self.queue_undecided(&book, &compared, &mut cross_encoders)?;
        self.record(caller, &book, compared, &mut found)?;
        Ok(found)
    }

    /// Returns the keys by which a claim shares a subject with others: those of its norms, and those of its statement
    /// without a condition on a part of the work.
    fn subject_keys(&self, row: &ClaimRow) -> Vec<String> {
        let mut keys = Guard::index_terms(&row.norms, &row.statement).pairs;
        if let Some(stated) = stated_part(&row.statement) {
            let norms = guard_calls::normalise(&self.guard, row.kind, &stated.rest, &row.qualifiers).norms;
            keys.extend(Guard::index_terms(&norms, &stated.rest).pairs);
            keys.sort_unstable();
            keys.dedup();
        }
        keys
    }

    fn infer_pairs(&self, book: &NotesBook, pairs: &[NearPair], found: &mut Reconciled) -> Vec<Option<Inference>> {
        let mut inferences = vec![None; pairs.len()];
        if self.models.info().role(ModelRole::Nli).is_none() {
            // A choice of the user: equal claims in other words are then not found.
            return inferences;
        }
        for (chunk, to) in pairs.chunks(NLI_BATCH_SIZE).zip(inferences.chunks_mut(NLI_BATCH_SIZE)) {
            let texts: Vec<(&str, &str)> = chunk
                .iter()
                .map(|pair| (&*book.claims[pair.other].statement, &*book.claims[pair.one].statement))
                .collect();
            match self.infer_both_orders(&texts, Call::background(BATCH_TIMEOUT)) {
                Ok(answers) => {
                    found.inferred += answers.len();
                    for (to, answer) in to.iter_mut().zip(answers) {
                        *to = Some(answer);
                    }
                }
                Err(error) => {
                    found.skipped = Some(format!("the cross-encoder was skipped: {error}"));
                    break;
                }
            }
        }
        inferences
    }

    /// Writes the findings, one act for each scope.
    fn record(
        &self,
        caller: &Caller,
        book: &NotesBook,
        compared: Vec<ComparedPair>,
        found: &mut Reconciled,
    ) -> Result<(), ApiError> {
        let model = self.models.info().role(ModelRole::Nli).map(|info| info.name.clone());
        let mut judgements: BTreeMap<Scope, Vec<EventDraft>> = BTreeMap::new();
        let mut cards: BTreeMap<Scope, Vec<FoundPair>> = BTreeMap::new();
        for pair_found in judged_contradictions(book) {
            cards.entry(pair_found.ours.scope.clone()).or_default().push(pair_found);
        }
        for ComparedPair { pair, outcome, .. } in compared {
            let (verdict, link, from_one) = match outcome {
                PairOutcome::Same => (PairVerdict::Same, None, true),
                PairOutcome::Link(link, from_one) => (PairVerdict::Compatible, Some(link), from_one),
                PairOutcome::Contradiction(pair_found) => {
                    cards.entry(pair_found.ours.scope.clone()).or_default().push(*pair_found);
                    continue;
                }
                PairOutcome::Undecided => continue,
            };
            let (from, to) = if from_one { (pair.one, pair.other) } else { (pair.other, pair.one) };
            let (from, to) = (&book.claims[from], &book.claims[to]);
            let mut data = JudgementData::new(from.words, to.words, model.clone());
            data.link = link;
            let mut draft = EventDraft::new(EventKind::Judgement(verdict), [Ref::Id(to.id)]);
            draft.body.data = serde_json::to_string(&data).ok();
            // The reason must not quote the other claim: a team with which this log is shared may not have the other
            // claim's project.
            draft.body.reason = Some(match link {
                None => "It says the same as another claim of the organisation.".to_owned(),
                Some(link) => format!("Another claim of the organisation {} it.", link.words()),
            });
            judgements.entry(to.scope.clone()).or_default().push(draft);
            found.merged += usize::from(verdict == PairVerdict::Same);
            found.linked += usize::from(link.is_some());
        }
        for (scope, drafts) in judgements {
            for some in drafts.chunks(100) {
                let summary = format!("Compared {} claims with those of other projects", some.len());
                self.act(caller, None, |context| {
                    context.commit(&WriteScope::at(&scope), some.to_vec(), "judge", summary)?;
                    Ok(())
                })?;
            }
        }
        for (scope, pairs) in cards {
            found.cards += self.act(caller, None, |context| {
                let pairs = found_cards::still_missing(context, pairs)?;
                if pairs.is_empty() {
                    return Ok(0);
                }
                let drafts = pairs.iter().map(FoundPair::draft).collect();
                let summary = format!("Found contradictions: {}", pairs.len());
                context.commit(&WriteScope::at(&scope), drafts, "audit", summary)?;
                Ok(pairs.len())
            })?;
        }
        Ok(())
    }
}
