//! The claims that stand beside a claim: the rule to which it is an exception, its own exceptions, and claims that
//! somebody judged compatible.

use super::view;
use crate::{
    api::{ApiError, Beside, BesideRelation, ClaimView},
    domain::{ClaimId, EventId, EventKind, PairVerdict, ResolveAct, Scope, Status},
    store::{EventRow, Reader},
};

/// How many others are named, those of the latest settlements.
const MOST: usize = 20;

/// How many settlements are read for them: the others of some were withdrawn, and an agent may have judged thousands of pairs.
const READ: usize = 100;

/// Says of a claim beside which others it was let stand, as far as they are still in force.
pub(super) fn fill(reader: &Reader, claim: &mut ClaimView) -> Result<(), ApiError> {
    fill_in(reader, claim, None)
}

/// [`fill`] as a project reads it: of a claim of the organisation's level with the exceptions that this project made.
pub(super) fn fill_in(reader: &Reader, claim: &mut ClaimView, project: Option<&Scope>) -> Result<(), ApiError> {
    if claim.status == Status::Active && !claim.flags.undone {
        claim.beside = of(reader, &claim.id, project.filter(|_| !claim.level.is_project()))?;
        if !claim.level.is_project() {
            claim.seen_in = reader.promoted_from(&claim.id)?.projects;
        }
    }
    Ok(())
}

/// [`fill`] for claims of a list: of exceptions alone, which bear a flag.
pub(super) fn fill_exceptions(reader: &Reader, claims: &mut [ClaimView]) -> Result<(), ApiError> {
    claims.iter_mut().filter(|claim| claim.flags.excepted).try_for_each(|claim| fill(reader, claim))
}

/// [`fill_exceptions`] as a project reads them. A claim of the organisation's level has no flag for the project's exceptions.
pub(super) fn fill_exceptions_in(reader: &Reader, claims: &mut [ClaimView], project: &Scope) -> Result<(), ApiError> {
    let may_have = |claim: &ClaimView| claim.flags.excepted || !claim.level.is_project();
    claims.iter_mut().filter(|claim| may_have(claim)).try_for_each(|claim| fill_in(reader, claim, Some(project)))
}

/// The claims beside which an active claim was let stand, the latest first; of two settlements of one pair the later one.
pub(super) fn of(reader: &Reader, claim: &ClaimId, project: Option<&Scope>) -> Result<Vec<Beside>, ApiError> {
    let mut beside: Vec<Beside> = Vec::new();
    for event in reader.let_stand(claim, project, READ)? {
        if event.kind == EventKind::Resolve(ResolveAct::Narrow) && !narrows_first(reader, &event)? {
            continue;
        }
        for (relation, other) in relations(&event, claim) {
            if beside.len() >= MOST || beside.iter().any(|known| known.claim == other) {
                continue;
            }
            let Some(row) = reader.claim(&other)?.filter(|row| row.status == Status::Active) else { continue };
            beside.push(Beside {
                relation,
                claim: other,
                statement: view::shorten(&row.statement),
                holds: row.qualifiers.holds(),
                reason: event.body.as_ref().and_then(|body| body.reason.clone()),
                who: event.who.clone(),
                agent: event.agent.clone(),
                at: event.clock.wall,
            });
        }
    }
    Ok(beside)
}

/// Whether the first target of a narrowing is the claim that it made: that of a card between stored claims names its members alone.
fn narrows_first(reader: &Reader, event: &EventRow) -> Result<bool, ApiError> {
    let first = event.targets.first().map(|first| reader.event(first)).transpose()?.flatten();
    Ok(first.is_some_and(|first| first.op == event.op))
}

/// What each other target of a settlement is to `claim`. The first target of an exception is the exception, and what is left its rule; the
/// first one of a narrowing is the claim that was limited.
fn relations(event: &EventRow, claim: &ClaimId) -> Vec<(BesideRelation, EventId)> {
    let others = event.targets.iter().copied().filter(|other| other != claim);
    match (&event.kind, event.targets.first()) {
        (EventKind::Resolve(ResolveAct::Dismiss) | EventKind::Judgement(PairVerdict::Compatible), _) => {
            others.map(|other| (BesideRelation::Compatible, other)).collect()
        }
        (EventKind::Resolve(ResolveAct::Narrow), Some(first)) if first == claim => {
            others.map(|other| (BesideRelation::General, other)).collect()
        }
        (EventKind::Resolve(ResolveAct::Narrow), Some(first)) => vec![(BesideRelation::Limited, *first)],
        (_, Some(first)) if first == claim => others.map(|other| (BesideRelation::Rule, other)).collect(),
        (_, Some(first)) => vec![(BesideRelation::Exception, *first)],
        (_, None) => Vec::new(),
    }
}
