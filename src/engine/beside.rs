//! The claims that stand beside a claim: its rule if it is an exception, its own exceptions, and claims that somebody
//! judged compatible.

use super::view;
use crate::{
    api::{ApiError, Beside, BesideRelation, ClaimView},
    domain::{ClaimId, EventId, EventKind, PairVerdict, ResolveAct, Scope, Status},
    store::{EventRow, Reader},
};

/// The greatest number of claims that are named: those of the latest settlements.
const MAX_BESIDE: usize = 20;

/// The greatest number of settlements that are read for them. Higher, because some of their claims are no longer
/// active, and an agent may have judged thousands of pairs.
const MAX_SETTLEMENTS: usize = 100;

/// Fills in the active claims beside which a claim was kept.
pub(super) fn fill(reader: &Reader, claim: &mut ClaimView) -> Result<(), ApiError> {
    fill_in(reader, claim, None)
}

/// [`fill`] from the view of a project: for a claim of the organisation's level, with the exceptions that this project
/// made.
pub(super) fn fill_in(reader: &Reader, claim: &mut ClaimView, project: Option<&Scope>) -> Result<(), ApiError> {
    if claim.status == Status::Active && !claim.flags.undone {
        claim.beside = of(reader, &claim.id, project.filter(|_| !claim.level.is_project()))?;
        if !claim.level.is_project() {
            claim.seen_in = reader.promoted_from(&claim.id)?.projects;
        }
    }
    Ok(())
}

/// [`fill`] for the claims of a list: only for exceptions, which have a flag.
pub(super) fn fill_exceptions(reader: &Reader, claims: &mut [ClaimView]) -> Result<(), ApiError> {
    claims.iter_mut().filter(|claim| claim.flags.excepted).try_for_each(|claim| fill(reader, claim))
}

/// [`fill_exceptions`] from the view of a project. A claim of the organisation's level has no flag for the exceptions
/// of a project.
pub(super) fn fill_exceptions_in(reader: &Reader, claims: &mut [ClaimView], project: &Scope) -> Result<(), ApiError> {
    let may_have = |claim: &ClaimView| claim.flags.excepted || !claim.level.is_project();
    claims.iter_mut().filter(|claim| may_have(claim)).try_for_each(|claim| fill_in(reader, claim, Some(project)))
}

/// Returns the claims beside which an active claim was kept, latest first. If a pair was settled twice, the later
/// settlement counts.
pub(super) fn of(reader: &Reader, claim: &ClaimId, project: Option<&Scope>) -> Result<Vec<Beside>, ApiError> {
    let mut beside: Vec<Beside> = Vec::new();
    for event in reader.let_stand(claim, project, MAX_SETTLEMENTS)? {
        if event.kind == EventKind::Resolve(ResolveAct::Narrow) && !narrows_first(reader, &event)? {
            continue;
        }
        for (relation, other) in relations(&event, claim) {
            if beside.len() >= MAX_BESIDE || beside.iter().any(|known| known.claim == other) {
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

/// Whether the first target of a narrowing is the claim that it made. The event of a card between stored claims lists
/// its members only.
fn narrows_first(reader: &Reader, event: &EventRow) -> Result<bool, ApiError> {
    let first = event.targets.first().map(|first| reader.event(first)).transpose()?.flatten();
    Ok(first.is_some_and(|first| first.op == event.op))
}

/// Returns the relation of each other target of a settlement to `claim`. The first target of an exception is the
/// exception, and the others its rules; the first target of a narrowing is the claim that was limited.
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
