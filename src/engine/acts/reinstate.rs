//! `reinstate`: makes a claim active again after the guard has checked it.

use super::{
    new_claim::NewClaim,
    on_claim::{self, ClaimActPlan},
    propose::needs_person,
};
use crate::{
    api::{ActRequest, ApiError, Caller, Conflict, Refused, Warning, WriteOutcome},
    domain::{ClaimId, EventKind, Status},
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        find,
        guard_calls::NormalisedStatement,
        guard_result::IncomingClaim,
        wording,
    },
    store::{ClaimRow, EventDraft, Ref},
};

/// `POST /reinstate`.
pub(in crate::engine) fn reinstate(engine: &Engine, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
    make_active(engine, request, true)
}

/// [`reinstate`] without asking the models.
pub(in crate::engine) fn reinstate_by_rules(engine: &Engine, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
    make_active(engine, request, false)
}

/// Returns the claims because of which the guard's rules would refuse to reinstate a claim. Writes nothing.
pub(in crate::engine) fn against_reinstating(
    engine: &Engine,
    caller: &Caller,
    claim: &ClaimId,
) -> Result<Vec<Conflict>, ApiError> {
    engine.act(caller, None, |context| {
        let row = find::row(context.reader(), claim)?;
        Ok(match check(context, &row, None, &[])? {
            Reinstatement::Refused(answer) => match *answer {
                WriteOutcome::Conflict(refused) => refused.conflicts,
                _ => Vec::new(),
            },
            Reinstatement::Possible(_) => Vec::new(),
        })
    })
}

fn make_active(engine: &Engine, request: &ActRequest, asks: bool) -> Result<WriteOutcome, ApiError> {
    let ask_models = |claim: &ClaimRow| {
        (asks && claim.status != Status::Active).then(|| {
            let (scope, statement, normalised) = (&claim.scope, claim.statement.as_str(), as_stored(claim));
            let exclude = [claim.id];
            let source = claim.source.as_deref();
            engine.ask_models(&IncomingClaim {
                scope,
                kind: claim.kind,
                statement,
                source,
                normalised: &normalised,
                exclude: &exclude,
                consider: false,
            })
        })
    };
    on_claim::run_with_models(engine, request, "reinstate", "Reinstated", ask_models, |context, claim, reason| {
        Ok(match check(context, claim, request.expect_rev, &[])? {
            Reinstatement::Refused(answer) => ClaimActPlan::Answer(answer),
            Reinstatement::Possible(warnings) => ClaimActPlan::Reinstate(Box::new(event(claim, reason)), warnings),
        })
    })
}

/// Returns the event that makes a claim active again.
pub(super) fn event(claim: &ClaimRow, reason: String) -> EventDraft {
    let mut draft = EventDraft::new(EventKind::Reinstate, [Ref::Id(claim.id)]);
    draft.seen.clone_from(&claim.live_acts);
    draft.body.reason = Some(reason);
    draft
}

/// Returns the norms of a claim as stored in its event.
fn as_stored(claim: &ClaimRow) -> NormalisedStatement {
    NormalisedStatement {
        norms: claim.norms.clone(),
        version: claim.normaliser.clone().unwrap_or_default(),
        warning: None,
    }
}

/// Refuses to bring back what a person retracted or replaced by an agent, if agents may only propose.
fn must_be_allowed_to_reinstate(context: &ActContext<'_>, claim: &ClaimRow) -> Result<(), ApiError> {
    if !context.may_only_propose() {
        return Ok(());
    }
    for id in &claim.live_acts {
        let Some(closing) = context.reader().event(id)?.filter(|event| event.agent.is_none()) else { continue };
        let (id, who) = (claim.id.short(), closing.who);
        return Err(needs_person(format!("{who} closed claim {id}, and agents may not bring it back here"))
            .hint(format!("ask {who} to run `ergo reinstate {id} --reason '…'`")));
    }
    Ok(())
}

impl ActContext<'_> {
    /// Refuses a new claim with the words and conditions of one that its writer may not reinstate.
    pub(super) fn must_not_bring_back(&self, write_scope: &WriteScope, claim: &NewClaim) -> Result<(), ApiError> {
        let draft = &claim.draft;
        if !self.may_only_propose() || !draft.kind.is_guarded() {
            return Ok(());
        }
        let (scope, statement) = (&write_scope.scope, &draft.statement);
        match self.reader().latest_duplicate(scope, draft.kind, statement, &draft.qualifiers)? {
            Some(latest) => must_be_allowed_to_reinstate(self, &latest),
            None => Ok(()),
        }
    }
}

/// The result of checking whether a claim can be made active again.
pub(super) enum Reinstatement {
    /// The claim cannot be reinstated; the answer says why.
    Refused(Box<WriteOutcome>),
    /// The claim can be reinstated, with these warnings of the guard.
    Possible(Vec<Warning>),
}

/// Checks whether a claim can be made active again. `gone`: claims that the same act retracts or replaces.
pub(super) fn check(
    context: &ActContext<'_>,
    claim: &ClaimRow,
    expect_rev: Option<u64>,
    gone: &[ClaimId],
) -> Result<Reinstatement, ApiError> {
    let short = claim.id.short();
    let stale = |message| context.stale_because(claim, message).map(|answer| Reinstatement::Refused(Box::new(answer)));
    if claim.status == Status::Active {
        return stale(format!("claim {short} is active already; nothing was done"));
    }
    if claim.flags.undone {
        return stale(format!(
            "the change that wrote claim {short} was undone: to bring it back, undo the undo (`ergo log` shows its `op_id`)"
        ));
    }
    if claim.flags.redacted {
        return stale(format!("the text of claim {short} was redacted: there is nothing to bring back"));
    }
    if expect_rev.is_some_and(|rev| rev != claim.rev) {
        return stale(format!("claim {short} changed since it was shown; nothing was done"));
    }
    must_be_allowed_to_reinstate(context, claim)?;
    if let Some(key) = claim.key_hash
        && context.reader().fact_heads(&claim.scope, &key)?.iter().any(|head| !gone.contains(&head.id))
    {
        return stale(format!("another fact now has the key of {short}: to replace it, store the fact again"));
    }
    let normalised = as_stored(claim);
    let exclude: Vec<ClaimId> = gone.iter().copied().chain([claim.id]).collect();
    let incoming = IncomingClaim {
        scope: &claim.scope,
        kind: claim.kind,
        statement: &claim.statement,
        source: claim.source.as_deref(),
        normalised: &normalised,
        exclude: &exclude,
        consider: false,
    };
    let judged = context.judge(&incoming)?;
    // A pair that was settled before stays settled.
    let settled = |conflict: &Conflict| context.reader().is_settled_pair(&claim.id, &conflict.claim.id);
    let mut conflicts = Vec::new();
    for conflict in judged.conflicts {
        if !settled(&conflict)? {
            conflicts.push(conflict);
        }
    }
    if !conflicts.iter().any(|conflict| conflict.tier == crate::domain::Tier::Block) {
        let mut warnings = Vec::new();
        for warning in judged.warnings {
            if !warning.conflict.as_ref().map_or(Ok(false), &settled)? {
                warnings.push(warning);
            }
        }
        return Ok(Reinstatement::Possible(warnings));
    }
    let ids: Vec<String> = conflicts.iter().map(|conflict| conflict.claim.id.short()).collect();
    Ok(Reinstatement::Refused(Box::new(WriteOutcome::Conflict(Refused {
        ways_on: vec![
            "Cancel: keep the active claim and follow it.".into(),
            format!("Supersede: write {} again, to replace {}.", wording::quote(&claim.statement), ids.join(", ")),
            format!("Retract {} first, if it was never right.", ids.join(", ")),
        ],
        conflicts,
        card_id: None,
        settled: None,
        unsettled: false,
        scope: claim.scope.clone(),
        may_only_propose: context.may_only_propose(),
    }))))
}
