//! Finds claims of an organisation in different words that say the same, are linked, or contradict each other.
//!
//! The rules come first, then the vectors, then the cross-encoder within a budget. Equal and linked claims are
//! recorded as judgements in the shared log, so that each device has them; a contradiction opens a card.

use std::collections::{BTreeMap, HashSet};

use super::{
    NotesBook,
    near_pairs::{NearPair, near, of_one_subject},
};
use crate::{
    api::{ApiError, Caller},
    domain::{
        ClaimId, EventId, EventKind, Finding, LinkKind, PairVerdict, Scope, Tier,
        guard_report::Relation,
        judgement::{JudgementData, pair_key},
    },
    engine::{
        Engine,
        act_context::WriteScope,
        acts::found_cards::{self, FoundPair},
        guard_calls,
        guard_result::new_claim,
    },
    guard::{Guard, Inference, JudgeContext, PairScores},
    infer::{Call, ModelRole},
    notes::{
        NotedClaim, group, labels,
        sameness::{Entailment, SameThresholds, differs_in_part, is_same, may_be_same},
    },
    store::{EventDraft, Ref},
};

/// Pairs that the cross-encoder is asked about at once.
const BATCH: usize = 16;

/// How long one batch may take: nobody waits for it.
const PATIENCE: std::time::Duration = std::time::Duration::from_mins(1);

/// What one run may spend.
#[derive(Clone, Debug, PartialEq)]
pub struct ReconcileBudget {
    /// The most pairs that the cross-encoder is asked about.
    pub inferred: usize,
    /// From when on two claims are the same.
    pub same: SameThresholds,
    /// The least cosine of claims of a domain, where it is another one.
    pub domains: BTreeMap<String, f32>,
}

impl Default for ReconcileBudget {
    fn default() -> Self {
        Self { inferred: 400, same: SameThresholds::default(), domains: BTreeMap::new() }
    }
}

impl ReconcileBudget {
    /// The thresholds of a pair: those of its domain; of two domains, the stricter.
    fn thresholds(&self, one: &NotedClaim, other: &NotedClaim, mutual: bool) -> SameThresholds {
        let of = |claim: &NotedClaim| {
            self.domains.get(labels(claim.kind, &claim.statement).domain).copied().unwrap_or(self.same.cosine)
        };
        if self.domains.is_empty() {
            return self.same.of_pair(mutual);
        }
        self.same.at_cosine(of(one).max(of(other))).of_pair(mutual)
    }
}

/// What a run found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reconciled {
    /// Pairs that say the same.
    pub merged: usize,
    /// Pairs of which one bears on the other.
    pub linked: usize,
    /// Cards that were opened.
    pub cards: usize,
    /// Pairs that the cross-encoder was asked about.
    pub inferred: usize,
    /// Pairs that are left for the next run.
    pub left: usize,
    /// Keys of the pairs that were asked about: they need not be asked about again.
    pub asked: Vec<u64>,
    /// The claims whose pairs were all looked at.
    pub done: Vec<ClaimId>,
    /// Why the cross-encoder was not asked, though there is one.
    pub skipped: Option<String>,
}

/// What came of a pair.
enum Outcome {
    Same,
    Link(LinkKind, bool),
    Contradiction(Box<FoundPair>),
    Nothing,
}

/// A short key of a pair of statements, to remember that it was asked about.
fn short_key(one: &EventId, other: &EventId) -> u64 {
    let key = pair_key(one, other);
    key.0.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

impl Engine {
    /// Looks at the claims of an organisation that are not among `done`, beside their nearest others; pairs in `asked` are left out.
    ///
    /// # Errors
    /// If the store cannot be read or written. That a model fails is none: the rules go on alone, and the answer says so.
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
        let keys: Vec<Vec<String>> =
            book.rows.iter().map(|row| Guard::index_terms(&row.norms, &row.statement).pairs).collect();
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
        // The rules alone judge these: their vectors are far apart, or not there.
        inferences.resize(pairs.len() + by_subject.len(), None);
        pairs.extend(by_subject);
        let mut outcomes = Vec::with_capacity(pairs.len());
        for (pair, inference) in pairs.iter().zip(&inferences) {
            outcomes.push(self.look_at(&book, pair, *inference, budget));
            if inference.is_some() {
                found.asked.push(short_key(&book.claims[pair.one].words, &book.claims[pair.other].words));
            }
        }
        self.record(caller, &book, &pairs, outcomes, &mut found)?;
        Ok(found)
    }

    fn infer_pairs(&self, book: &NotesBook, pairs: &[NearPair], found: &mut Reconciled) -> Vec<Option<Inference>> {
        let mut inferences = vec![None; pairs.len()];
        if self.models.info().role(ModelRole::Nli).is_none() {
            // As the settings say: equal claims in other words are not looked for.
            return inferences;
        }
        for (chunk, to) in pairs.chunks(BATCH).zip(inferences.chunks_mut(BATCH)) {
            let texts: Vec<(&str, &str)> = chunk
                .iter()
                .map(|pair| (&*book.claims[pair.other].statement, &*book.claims[pair.one].statement))
                .collect();
            match self.infer(&texts, &[], Call::background(PATIENCE)) {
                Ok(answers) => {
                    found.inferred += answers.len();
                    for (to, answer) in to.iter_mut().zip(answers) {
                        *to = Some(answer);
                    }
                }
                Err(error) => {
                    found.skipped = Some(format!("the NLI model was skipped: {error}"));
                    break;
                }
            }
        }
        inferences
    }

    /// What a pair is; `one` is taken for the newer claim.
    fn look_at(
        &self,
        book: &NotesBook,
        pair: &NearPair,
        inference: Option<Inference>,
        budget: &ReconcileBudget,
    ) -> Outcome {
        let (one, other) = (&book.claims[pair.one], &book.claims[pair.other]);
        let same = budget.thresholds(one, other, pair.mutual);
        // The stored statement was first in `forward`.
        let entailment = inference.map(|inference| Entailment::of(inference.backward, inference.forward));
        if let Some(entailment) = entailment
            && is_same(&one.statement, &other.statement, pair.cosine, entailment, same)
        {
            return Outcome::Same;
        }
        let (newer, older) = if (one.first, one.id) >= (other.first, other.id) {
            (pair.one, pair.other)
        } else {
            (pair.other, pair.one)
        };
        let parse = |at: usize| guard_calls::parse(new_claim(&book.rows[at]));
        if let (Ok(ours), Ok(theirs)) = (parse(newer), parse(older)) {
            let against = [theirs];
            if let Ok(rulings) = guard_calls::rulings(&self.guard, &ours, &against) {
                let scores = [PairScores { cosine: Some(pair.cosine), inference, ..PairScores::default() }];
                let today = guard_calls::day(book.now);
                let under = JudgeContext {
                    today: &today,
                    scores: &scores,
                    rulings: &rulings,
                    infers: inference.is_some() && self.nli_is_fitted(),
                    ..JudgeContext::default()
                };
                let report = guard_calls::judge(&self.guard, &ours, &against, under).unwrap_or_default();
                let finding = report.findings.into_iter().find(|finding| finding.tier == Tier::Block);
                if let Some(finding) = finding
                    .filter(|finding| finding.evidence.relation == Relation::Contradiction || finding.score > 0.0)
                {
                    let (ours, theirs) = (book.rows[newer].clone(), book.rows[older].clone());
                    return Outcome::Contradiction(Box::new(FoundPair { ours, theirs, finding }));
                }
                let apart =
                    one.scope.level().is_project() && other.scope.level().is_project() && one.scope != other.scope;
                if let Some(ruling) = rulings.first().filter(|ruling| apart && differs_in_part(&ruling.evidence)) {
                    let (ours, theirs) = (book.rows[newer].clone(), book.rows[older].clone());
                    let evidence = ruling.evidence.clone();
                    let finding = Finding { claim: theirs.id, tier: Tier::Warn, score: ruling.score, evidence };
                    return Outcome::Contradiction(Box::new(FoundPair { ours, theirs, finding }));
                }
            }
        }
        let polar = may_be_same(&one.statement, &other.statement, 1.0, same);
        match entailment {
            Some(entailment) if polar && entailment.refines() => Outcome::Link(link_of(&one.statement), true),
            Some(Entailment { forward, backward })
                if polar && (Entailment { forward: backward, backward: forward }).refines() =>
            {
                Outcome::Link(link_of(&other.statement), false)
            }
            _ => Outcome::Nothing,
        }
    }

    /// Writes what was found, an act for each scope.
    fn record(
        &self,
        caller: &Caller,
        book: &NotesBook,
        pairs: &[NearPair],
        outcomes: Vec<Outcome>,
        found: &mut Reconciled,
    ) -> Result<(), ApiError> {
        let model = self.models.info().role(ModelRole::Nli).map(|info| info.name.clone());
        let mut judgements: BTreeMap<Scope, Vec<EventDraft>> = BTreeMap::new();
        let mut cards: BTreeMap<Scope, Vec<FoundPair>> = BTreeMap::new();
        for (pair, outcome) in pairs.iter().zip(outcomes) {
            let (verdict, link, from_one) = match outcome {
                Outcome::Same => (PairVerdict::Same, None, true),
                Outcome::Link(link, from_one) => (PairVerdict::Compatible, Some(link), from_one),
                Outcome::Contradiction(pair_found) => {
                    cards.entry(pair_found.ours.scope.clone()).or_default().push(*pair_found);
                    continue;
                }
                Outcome::Nothing => continue,
            };
            let (from, to) = if from_one { (pair.one, pair.other) } else { (pair.other, pair.one) };
            let (from, to) = (&book.claims[from], &book.claims[to]);
            let mut data = JudgementData::new(from.words, to.words, model.clone());
            data.link = link;
            let mut draft = EventDraft::new(EventKind::Judgement(verdict), [Ref::Id(to.id)]);
            draft.body.data = serde_json::to_string(&data).ok();
            draft.body.reason = Some(match link {
                None => format!("Says the same as “{}” in {}.", from.statement, from.scope),
                Some(link) => format!("“{}” in {} {} it.", from.statement, from.scope, link.words()),
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
                let pairs = found_cards::still_there(context, pairs)?;
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

/// How a claim that says more bears on the other one: as an example, if it says so.
fn link_of(statement: &str) -> LinkKind {
    let lower = statement.to_lowercase();
    let example = ["for example", "e.g.", "for instance", "such as"].iter().any(|words| lower.contains(words));
    if example { LinkKind::ExampleOf } else { LinkKind::Refines }
}
