//! The guard's result for a write, with the stored claims that it names.

use std::sync::atomic::Ordering;

use super::{
    act_context::ActContext,
    guard_calls::{self, NormalisedStatement},
    model_results::ModelResults,
    question::{self, ClaimInDoubt},
    view, wording,
};
use crate::{
    api::{ApiError, ClaimView, Conflict, Doubt, DoubtBand, Warning},
    domain::{
        ClaimId, ClaimKind, Finding, GuardReport, Scope, Status, Tier,
        guard_report::{Confidence, Evidence, Relation, RuleId, Stage},
        norm::IndexTerms,
    },
    guard::{Guard, JudgeContext, MAX_BY_WORDS, MAX_CANDIDATES, NormedClaim},
    store::{ClaimRow, NearbyQuery, Reader},
};

/// The greatest number of compared claims that an answer names if none of them opposes the write.
const MAX_NEAREST: usize = 3;

/// The guard's result for one write.
#[derive(Clone, Debug, Default)]
pub(super) struct GuardResult {
    pub(super) report: GuardReport,
    /// The findings with their claims, strongest first.
    pub(super) conflicts: Vec<Conflict>,
    /// The warnings to the writer if the write is stored.
    pub(super) warnings: Vec<Warning>,
    /// A stage failed, so nothing was compared.
    pub(super) ungated: bool,
    /// A model failed or was busy, so the rules alone compared the write.
    pub(super) model_failed: bool,
    /// The first few compared claims, nearest first.
    pub(super) nearest: Vec<ClaimId>,
    /// The guarded claims that the write was compared with.
    pub(super) compared: Vec<ClaimRow>,
    /// The claims that the write may contradict, likeliest first.
    pub(super) doubts: Vec<ClaimInDoubt>,
}

impl GuardResult {
    /// Whether the write is refused.
    pub(super) fn blocks(&self) -> bool {
        self.report.tier == Tier::Block
    }

    /// Returns the claims to which the write can be an exception: those that refuse it, or else the one with the
    /// strongest warning.
    pub(super) fn opposed(&self) -> Vec<ClaimId> {
        if self.blocks() {
            return self.blocking();
        }
        self.conflicts.first().map(|conflict| conflict.claim.id).into_iter().collect()
    }

    /// Whether the writer must answer a question before the write is in force.
    pub(super) fn must_ask(&self) -> bool {
        self.doubts.iter().any(|doubt| doubt.band == DoubtBand::Ask)
    }

    /// Returns the claims that the write may contradict, as clients get them.
    pub(super) fn doubt_views(&self) -> Vec<Doubt> {
        self.doubts.iter().map(|doubt| question::doubt(&doubt.row, doubt.band)).collect()
    }

    /// Refuses the write because a judge found that it contradicts a claim.
    pub(super) fn refuse_by_verdict(&mut self, row: &ClaimRow, claim: ClaimView, by: &str, because: Option<&str>) {
        let said = format!("{by} judged that it contradicts {}", wording::quote(&row.statement));
        let sentence = wording::judgement(&said, because);
        self.add_block(row.id, claim, Relation::Contradiction, sentence);
    }

    /// Keeps the write on a card, because an agent proposes that it replaces `replaced`. `theirs` is the one among them
    /// that a person decided.
    pub(super) fn propose_by_verdict(
        &mut self,
        replaced: &[ClaimRow],
        theirs: ClaimView,
        by: &str,
        because: Option<&str>,
    ) {
        let old: Vec<&str> = replaced.iter().map(|row| row.statement.as_str()).collect();
        let said = format!("{by} proposes that it replaces {}", wording::quote_all(&old));
        let sentence = wording::judgement(&said, because);
        self.add_block(theirs.id, theirs, Relation::Uncertain, sentence);
    }

    /// Refuses the write for now, because its writer, an agent, calls it an exception to a claim.
    pub(super) fn except_by_writer(&mut self, row: &ClaimRow, claim: ClaimView, by: &str) {
        let sentence = format!("{by} says that it is an exception to {}.", wording::quote(&row.statement));
        self.add_block(row.id, claim, Relation::Contradiction, sentence);
    }

    fn add_block(&mut self, id: ClaimId, claim: ClaimView, relation: Relation, sentence: String) {
        if self.blocking().contains(&id) {
            return;
        }
        let finding = judged_finding(id, relation, sentence);
        self.report.tier = Tier::Block;
        self.report.findings.retain(|known| known.claim != id);
        self.report.findings.insert(0, finding.clone());
        self.conflicts.retain(|known| known.claim.id != id);
        self.conflicts.insert(0, view::conflict(finding, claim));
    }

    /// Returns the claims that refuse the write.
    pub(super) fn blocking(&self) -> Vec<ClaimId> {
        self.conflicts
            .iter()
            .filter(|conflict| conflict.tier == Tier::Block)
            .map(|conflict| conflict.claim.id)
            .collect()
    }
}

/// Returns a judge's verdict on a claim as a blocking finding.
pub(super) fn judged_finding(claim: ClaimId, relation: Relation, sentence: String) -> Finding {
    let evidence = Evidence {
        stage: Stage::Judge,
        rule: RuleId::Judged,
        relation,
        confidence: Confidence::High,
        sentence,
        ..Evidence::default()
    };
    Finding { claim, tier: Tier::Block, score: 1.0, evidence }
}

/// The greatest number of events since a search for claims to compare; after more, the search is repeated under the
/// lock. A choice: ten agents write about a hundred while the models compute.
const MAX_EVENTS_SINCE_SEARCH: usize = 500;

/// The greatest number of facts that a write is compared with.
const MAX_FACTS: usize = 5;

/// A claim that is about to be stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct IncomingClaim<'a> {
    pub(super) scope: &'a Scope,
    pub(super) kind: ClaimKind,
    pub(super) statement: &'a str,
    pub(super) source: Option<&'a str>,
    pub(super) normalised: &'a NormalisedStatement,
    /// Claims that the new one will replace; the guard does not compare them.
    pub(super) exclude: &'a [ClaimId],
    /// Whether somebody can answer questions about the claim. If so, the gate also uses the cross-encoder, and its
    /// threshold follows earlier answers in the scope.
    pub(super) consider: bool,
}

impl IncomingClaim<'_> {
    /// Returns the claim in the form that the guard compares.
    pub(super) fn normed_claim(&self) -> NormedClaim {
        NormedClaim {
            id: None,
            kind: self.kind,
            statement: self.statement.to_owned(),
            norms: self.normalised.norms.clone(),
            normaliser: self.normalised.version.clone(),
            source: self.source.map(str::to_owned),
        }
    }

    fn index_terms(&self) -> IndexTerms {
        Guard::index_terms(&self.normalised.norms, self.statement)
    }

    /// Returns the active guarded claims that share words with the new one, likeliest first.
    pub(super) fn by_words(&self, reader: &Reader) -> Result<Vec<ClaimRow>, ApiError> {
        let rows = reader.nearby_claims(&NearbyQuery {
            scopes: self.scope.in_force(),
            terms: self.index_terms(),
            exclude: self.exclude.to_vec(),
            facts: false,
            limit: MAX_BY_WORDS,
        })?;
        self.in_force(reader, rows)
    }

    /// Returns the active facts that share the most words with the new claim.
    pub(super) fn facts(&self, reader: &Reader) -> Result<Vec<ClaimRow>, ApiError> {
        Ok(reader.nearby_claims(&NearbyQuery {
            scopes: self.scope.in_force(),
            terms: self.index_terms(),
            exclude: self.exclude.to_vec(),
            facts: true,
            limit: MAX_FACTS,
        })?)
    }

    /// Keeps those of `rows` that hold in the scope of the new claim: a project may have narrowed a claim of its
    /// organisation's level.
    pub(super) fn in_force(&self, reader: &Reader, rows: Vec<ClaimRow>) -> Result<Vec<ClaimRow>, ApiError> {
        let mut kept = Vec::with_capacity(rows.len());
        for row in rows {
            if row.scope == *self.scope || !reader.is_narrowed(&row.id, self.scope)? {
                kept.push(row);
            }
        }
        Ok(kept)
    }

    /// Whether a stored claim is guarded and may be compared with the new one.
    pub(super) fn may_compare_guarded(&self, row: &ClaimRow) -> bool {
        row.kind.is_guarded() && self.may_compare(row)
    }

    /// Whether a stored claim, guarded or a fact, may be compared with the new one.
    fn may_compare(&self, row: &ClaimRow) -> bool {
        row.status == Status::Active && self.scope.takes(&row.scope) && !self.exclude.contains(&row.id)
    }
}

impl ActContext<'_> {
    /// Compares a write with the active claims of its scope and of its organisation's level. A guarded write is also
    /// compared with facts, which only warn.
    pub(super) fn judge(&self, incoming: &IncomingClaim<'_>) -> Result<GuardResult, ApiError> {
        if !incoming.kind.is_guarded() && incoming.normalised.warning.is_some() {
            return Ok(GuardResult::default());
        }
        if let Some(warning) = &incoming.normalised.warning {
            return Ok(GuardResult { warnings: vec![warning.clone()], ungated: true, ..GuardResult::default() });
        }
        let mut results = self.results(incoming.statement);
        let rows = match self.candidates_before_lock(incoming, &results)? {
            Some(rows) => rows,
            None => self.find_candidates(incoming, &results)?,
        };
        self.compare(incoming, &rows, &mut results)
    }

    /// Returns the claims to compare a write with: those found before the lock, as they are now, and those stored
    /// since. `None` if the search must be repeated.
    fn candidates_before_lock(
        &self,
        incoming: &IncomingClaim<'_>,
        results: &ModelResults,
    ) -> Result<Option<Vec<ClaimRow>>, ApiError> {
        let Some(position) = results.searched_at(incoming.exclude) else { return Ok(None) };
        let reader = self.reader();
        let Some(mut new_rows) = reader.claims_since(position, &incoming.scope.in_force(), MAX_EVENTS_SINCE_SEARCH)?
        else {
            return Ok(None);
        };
        let known = results.compared();
        new_rows.retain(|row| !known.contains(&row.id));
        if !new_rows.is_empty() {
            let terms = incoming.index_terms();
            new_rows.retain(|row| terms.overlaps(&Guard::index_terms(&row.norms, &row.statement)));
        }
        if new_rows.len() > MAX_CANDIDATES {
            return Ok(None);
        }
        let mut rows = reader.bare_claims_with_ids(known)?;
        rows.extend(new_rows);
        rows.retain(|row| incoming.may_compare(row));
        Ok(Some(incoming.in_force(reader, rows)?))
    }

    /// Searches for the claims to compare a write with.
    fn find_candidates(&self, incoming: &IncomingClaim<'_>, results: &ModelResults) -> Result<Vec<ClaimRow>, ApiError> {
        let mut rows = incoming.by_words(self.reader())?;
        let by_words = rows.len();
        let mut near = self.reader().bare_claims_with_ids(&results.missing(&rows))?;
        near.retain(|row| incoming.may_compare_guarded(row));
        rows.extend(incoming.in_force(self.reader(), near)?);
        let mut rows = results.shortlist(incoming, rows, by_words);
        rows.extend(incoming.facts(self.reader())?);
        Ok(rows)
    }

    fn compare(
        &self,
        incoming: &IncomingClaim<'_>,
        rows: &[ClaimRow],
        results: &mut ModelResults,
    ) -> Result<GuardResult, ApiError> {
        let ungated =
            |warning: Box<Warning>| GuardResult { warnings: vec![*warning], ungated: true, ..GuardResult::default() };
        let stored = self.engine.as_read(self.reader(), rows)?;
        let (ours, against) =
            match results.parse(incoming.normed_claim()).and_then(|ours| Ok((ours, results.parse_all(stored)?))) {
                Ok(parsed) => parsed,
                Err(warning) => return Ok(ungated(warning)),
            };
        let rulings = match results.rulings(&self.engine.guard, &ours, &against) {
            Ok(rulings) => rulings,
            Err(warning) => return Ok(ungated(warning)),
        };
        let scores = results.scores_of(rows);
        let under = JudgeContext {
            today: &self.today,
            scores: &scores,
            rulings: &rulings,
            cross_encoder: self.engine.cross_encoder_of(results),
            ask_shift: 0.0,
        };
        let report = match self.engine.judge_in((self.reader(), incoming.scope), &ours, &against, under)? {
            Ok(mut report) => {
                report.skipped = skipped(results, &report, rows, || {
                    guard_calls::select_for_inference(&self.engine.guard, &ours, &against, under)
                });
                report
            }
            Err(warning) => return Ok(ungated(warning)),
        };
        let mut conflicts = Vec::new();
        for finding in &report.findings {
            conflicts.push(view::conflict(finding.clone(), self.view(&finding.claim)?));
        }
        let mut warnings: Vec<Warning> = conflicts
            .iter()
            .filter(|c| c.tier == Tier::Warn)
            .map(|conflict| conflict_warning(incoming.kind, conflict))
            .collect();
        warnings.extend(results.warning().or_else(|| guard_calls::skipped(&report)));
        let nearest = rows.iter().take(MAX_NEAREST).map(|row| row.id).collect();
        let doubts = match report.tier {
            Tier::Block => Vec::new(),
            _ if incoming.consider => {
                let agent = self.actor.agent.as_deref();
                self.engine.doubts_to_ask(self.reader(), (incoming.scope, agent), &ours, &against, under)?
            }
            _ => guard_calls::doubts(&self.engine.guard, &ours, &against, under),
        };
        // A fact replaces another one by its key alone, so those that it may make outdated are mentioned.
        let outdated = guard_calls::outdated_facts(&self.engine.guard, &ours, &against, under)
            .into_iter()
            .map(|at| (at, DoubtBand::Mention));
        let doubts = doubts
            .into_iter()
            .map(|pair| (pair.at, pair.band))
            .chain(outdated)
            .map(|(at, band)| ClaimInDoubt { row: rows[at].clone(), band })
            .collect();
        let compared = rows.iter().filter(|row| row.kind.is_guarded() && incoming.kind.is_guarded()).cloned().collect();
        Ok(GuardResult {
            report,
            conflicts,
            warnings,
            ungated: false,
            model_failed: results.failed(),
            nearest,
            compared,
            doubts,
        })
    }

    /// Counts the result of a guarded write. `excepted`: it was stored as an exception to a rule.
    pub(super) fn count(&self, judged: &GuardResult, excepted: bool) {
        let counters = &self.engine.counters;
        let counter = match judged.report.tier {
            _ if excepted => &counters.exception,
            _ if judged.ungated => &counters.ungated,
            Tier::Clean => &counters.clean,
            Tier::Warn => &counters.warn,
            Tier::Block => &counters.block,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns what the report says about stages that did not run. A failed model is always named, a missing model only if
/// it could have changed a finding. Claims that appeared after the models were asked are named too; this happens only
/// if two writers write at the same moment.
fn skipped(
    results: &ModelResults,
    report: &GuardReport,
    rows: &[ClaimRow],
    selected: impl Fn() -> Vec<usize>,
) -> Vec<String> {
    if results.failed() {
        return results.skipped();
    }
    if !results.infers() {
        let matters = report.tier != Tier::Clean && !selected().is_empty();
        return if matters { results.skipped() } else { Vec::new() };
    }
    if rows.iter().all(|row| results.has_scores_of(&row.id)) {
        return Vec::new();
    }
    let late = selected().into_iter().map(|at| rows[at].id).filter(|id| !results.has_scores_of(id));
    late.map(|id| {
        format!(
            "claim {} was written at the same moment and was compared by the rules only, without the models",
            id.short()
        )
    })
    .collect()
}

/// Returns a stored claim in the form that the guard compares.
pub(super) fn normed_claim(row: &ClaimRow) -> NormedClaim {
    let normaliser = row.normaliser.clone().unwrap_or_default();
    let (statement, norms) = (row.statement.clone(), row.norms.clone());
    NormedClaim { id: Some(row.id), kind: row.kind, statement, norms, normaliser, source: row.source.clone() }
}

/// Returns the warning about a stored claim that a write of this kind may contradict.
fn conflict_warning(kind: ClaimKind, conflict: &Conflict) -> Warning {
    let sentence = conflict.evidence.sentence.trim();
    let theirs = &conflict.claim;
    let message = if !kind.is_guarded() || !theirs.kind.is_guarded() {
        // Only a person can say which of the two is out of date.
        format!(
            "this may contradict the {} {}. {sentence}",
            theirs.kind.as_str(),
            super::wording::quote(&theirs.statement)
        )
        .trim_end()
        .to_owned()
    } else if sentence.is_empty() {
        format!("this may contradict {}", super::wording::quote(&conflict.claim.statement))
    } else {
        sentence.to_owned()
    };
    Warning { conflict: Some(conflict.clone()), ..Warning::new("softer_conflict", message) }
}
