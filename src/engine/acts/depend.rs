//! `depend`: records that a claim depends on others, so that it needs review when they change.

use std::collections::BTreeSet;

use crate::{
    api::{ApiError, DependRequest, WriteOutcome},
    domain::{ClaimId, EventKind},
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        request_hash::request_hash,
        validate, wording,
    },
    store::{ClaimRow, EventDraft, Ref},
};

/// The greatest number of claims that the search for a cycle visits.
const MAX_CYCLE_SEARCH: usize = 10_000;

/// `POST /depend`.
pub(in crate::engine) fn depend(engine: &Engine, request: &DependRequest) -> Result<WriteOutcome, ApiError> {
    let claim = validate::id("claim", &request.claim)?;
    let premises = validate::ids("premises", &request.premises)?;
    if premises.is_empty() {
        return Err(ApiError::field(
            "premises",
            "`premises` is empty: name at least one claim on which this one depends",
        ));
    }
    engine.act(&request.caller, request_hash("depend", request), |context| {
        if let Some(answer) = super::replay::act(context)? {
            return Ok(answer);
        }
        let claim = context.find("claim", &claim)?;
        if let Some(stale) = context.stale(&claim, None)? {
            return Ok(stale);
        }
        let write_scope = WriteScope::at(&claim.scope);
        let mut news: Vec<ClaimRow> = Vec::new();
        for prefix in &premises {
            let premise = context.find("premises", prefix)?;
            write_scope.require_same_scope("premises", &premise)?;
            if let Some(stale) = context.stale(&premise, None)? {
                return Ok(stale);
            }
            if premise.id == claim.id || depends_on_claim(context, &premise, claim.id)? {
                return Err(circular("premises", claim.id, premise.id));
            }
            if !claim.premises.contains(&premise.id) && !news.iter().any(|row| row.id == premise.id) {
                news.push(premise);
            }
        }
        if news.is_empty() {
            let summary = format!("{} already depends on that", wording::quote(&claim.statement));
            return context.nothing_to_do(&claim.scope, claim.id, summary);
        }
        let targets = std::iter::once(claim.id).chain(news.iter().map(|row| row.id)).map(Ref::Id);
        let draft = EventDraft::new(EventKind::Depend, targets);
        let statements: Vec<&str> = news.iter().map(|row| row.statement.as_str()).collect();
        let summary = wording::summary(&format!("{} now depends on", wording::quote(&claim.statement)), &statements);
        let committed = context.commit(&write_scope, vec![draft], "depend", summary.clone())?;
        context.done(committed, summary).map(WriteOutcome::Done)
    })
}

/// Returns the error for a claim that would depend on itself through a premise.
pub(super) fn circular(field: &str, claim: ClaimId, premise: ClaimId) -> ApiError {
    let (claim, premise) = (claim.short(), premise.short());
    ApiError::field(field, format!("this would be circular: claim {claim} depends on itself, through {premise}"))
}

/// Returns whether `claim` depends on `on`, directly or through others.
pub(super) fn depends_on_claim(context: &ActContext<'_>, claim: &ClaimRow, on: ClaimId) -> Result<bool, ApiError> {
    let mut seen = BTreeSet::new();
    let mut queue = claim.premises.clone();
    while let Some(id) = queue.pop() {
        if id == on {
            return Ok(true);
        }
        if seen.len() < MAX_CYCLE_SEARCH && seen.insert(id) {
            queue.extend(context.reader().claim(&id)?.map(|row| row.premises).unwrap_or_default());
        }
    }
    Ok(false)
}
