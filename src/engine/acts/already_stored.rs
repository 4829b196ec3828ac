//! Answers a write of a claim that is already stored.

use super::{
    depend,
    new_claim::{NewClaim, claim_act, exception, review_warning, summary},
    notice,
    promote::promotion,
};
use crate::{
    api::{ApiError, BesideRelation, Stored, Warning, WriteOutcome},
    domain::{ClaimId, EventId, EventKind, event::key_hash},
    engine::{
        act_context::{ActContext, WriteScope},
        beside, fact_key, find,
        guard_result::GuardResult,
    },
    store::{ClaimRow, EventDraft, Ref},
};

impl ActContext<'_> {
    /// Returns the active claim that a write repeats, unless the write replaces it. A fact repeats one under its own
    /// key only: the same value under another key is another fact. A fact without a key also repeats one with a key, if
    /// nothing else is stored under the key derived for it.
    pub(in crate::engine) fn already_stored(
        &self,
        write_scope: &WriteScope,
        claim: &NewClaim,
    ) -> Result<Option<ClaimId>, ApiError> {
        let replaced = claim.replaced();
        let key = claim.key();
        let hash = key.as_deref().map(key_hash);
        let mut found = self.same_text(write_scope, claim, hash.as_ref())?;
        if found.is_none()
            && key.is_some_and(|key| fact_key::shown(&key).is_none())
            && self.fact_heads(write_scope, claim)?.iter().all(|head| replaced.contains(head))
        {
            found = self.same_text(write_scope, claim, None)?;
        }
        Ok(found.filter(|id| !replaced.contains(id)))
    }

    /// If the write gives a key and the same fact is stored without a key, returns the write with that fact among those
    /// it replaces. Otherwise a later fact under this key would leave the earlier value active.
    pub(in crate::engine) fn replacing_fact_without_key(
        &self,
        write_scope: &WriteScope,
        claim: &NewClaim,
    ) -> Result<Option<NewClaim>, ApiError> {
        let Some(key) = claim.key().filter(|key| fact_key::shown(key).is_some()) else { return Ok(None) };
        let statement = &claim.draft.statement;
        let mut keyed = claim.clone();
        for derived in [fact_key::derive(statement, &claim.normalised.norms), fact_key::of_statement(statement)] {
            if let Some(id) = self.same_text(write_scope, claim, Some(&key_hash(&derived)))?
                && !keyed.replaced().contains(&id)
            {
                keyed.replaces.push(find::row(self.reader(), &id)?);
            }
        }
        if keyed.replaces.len() == claim.replaces.len() {
            return Ok(None);
        }
        keyed.draft.key = Some(key);
        Ok(Some(keyed))
    }

    fn same_text(
        &self,
        write_scope: &WriteScope,
        claim: &NewClaim,
        key: Option<&EventId>,
    ) -> Result<Option<ClaimId>, ApiError> {
        let draft = &claim.draft;
        Ok(self.reader().duplicate(&write_scope.scope, draft.kind, &draft.statement, &draft.qualifiers, key)?)
    }

    /// Answers a write of a claim that is already stored. Only new premises, rules and sightings, and the claims that
    /// it replaces, are recorded.
    pub(in crate::engine) fn store_duplicate(
        &mut self,
        write_scope: &WriteScope,
        claim: &NewClaim,
        id: ClaimId,
        dry_run: bool,
    ) -> Result<WriteOutcome, ApiError> {
        let known = find::row(self.reader(), &id)?;
        let mut warnings: Vec<Warning> = write_scope.warning().into_iter().collect();
        if claim.draft.reason.is_some() && claim.draft.reason != known.reason {
            warnings.push(Warning::new(
                "duplicate_reason",
                format!(
                    "the same is already stored as {} with another reason, which was kept; supersede it to change the reason",
                    id.short()
                ),
            ));
        }
        let replaced = claim.replaced();
        let mut drafts = Vec::new();
        if !replaced.is_empty() {
            let mut draft = EventDraft::new(EventKind::Supersede, replaced.iter().copied().map(Ref::Id));
            draft.successor = Some(Ref::Id(id));
            draft.body.reason.clone_from(&claim.draft.reason);
            drafts.push(draft);
        }
        let mut premises = Vec::new();
        for premise in claim.premises.iter().filter(|premise| **premise != id && !known.premises.contains(premise)) {
            let row = find::row(self.reader(), premise)?;
            if !depend::depends_on_claim(self, &row, id)? {
                premises.push(*premise);
            } else if self.answered.is_none() {
                return Err(depend::circular("depends_on", id, *premise));
            }
        }
        if !premises.is_empty() {
            drafts.push(EventDraft::new(EventKind::Depend, std::iter::once(id).chain(premises).map(Ref::Id)));
        }
        let seen = self.new_sightings(claim, &id)?;
        if !seen.is_empty() {
            drafts.push(promotion(Ref::Id(id), &seen));
        }
        let rules = self.new_rules(claim, &known)?;
        if !rules.is_empty() {
            let reason = claim.draft.exception.as_deref().unwrap_or_default();
            drafts.push(exception(Ref::Id(id), &rules, reason));
            drafts.extend(notice::of_card(self, Ref::Id(id), rules.iter().copied(), false));
        }
        warnings.extend(self.exception_warning(claim, &GuardResult::default(), &rules)?);
        let mut outcome = Stored {
            claim_id: id,
            op_id: self.op,
            scope: write_scope.scope.clone(),
            duplicate: true,
            replayed: false,
            dry_run,
            superseded: replaced,
            warnings,
            doubts: Vec::new(),
        };
        if let Some(answered) = &mut self.answered {
            answered.became = Some(id);
        }
        if !dry_run && (!drafts.is_empty() || self.answered.is_some()) {
            let act = if rules.is_empty() { claim_act(claim) } else { "exception" };
            let committed = self.commit(write_scope, drafts, act, summary(claim, !rules.is_empty()))?;
            outcome.warnings.extend(review_warning(&committed));
            outcome.warnings.extend(self.still_in_force(write_scope, &claim.replaces, &known.statement, &committed)?);
        }
        Ok(WriteOutcome::Stored(outcome))
    }

    /// Returns the rules that the write names, without those to which the stored claim is already recorded as an
    /// exception.
    fn new_rules(&self, claim: &NewClaim, known: &ClaimRow) -> Result<Vec<ClaimId>, ApiError> {
        if !self.may_except() {
            return Ok(Vec::new());
        }
        let mut view = self.view(&known.id)?;
        beside::fill(self.reader(), &mut view)?;
        let recorded =
            |id: &ClaimId| view.beside.iter().any(|other| other.claim == *id && other.relation == BesideRelation::Rule);
        let rules = claim.rules.iter().map(|row| row.id);
        Ok(rules.filter(|id| *id != known.id && !recorded(id)).collect())
    }
}
