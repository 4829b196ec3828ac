//! `reinstate`: a claim returns to the active set, past the guard like any other.

use super::on_claim::{self, Plan};
use crate::{
    api::{ActRequest, ApiError, Refused, WriteOutcome},
    domain::{EventKind, Status},
    engine::{Engine, gate::Normed, judged::Incoming, session::Session, words},
    store::{ClaimRow, Draft, Ref},
};

/// `POST /reinstate`.
pub(in crate::engine) fn reinstate(engine: &Engine, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
    let foresee = |claim: &ClaimRow| {
        (claim.status != Status::Active).then(|| {
            let (scope, statement, normed) = (&claim.scope, claim.statement.as_str(), as_stored(claim));
            let exclude = [claim.id];
            let source = claim.source.as_deref();
            engine.foresee(&Incoming { scope, kind: claim.kind, statement, source, normed: &normed, exclude: &exclude })
        })
    };
    on_claim::run_foreseeing(engine, request, "reinstate", "Reinstated", foresee, |session, claim, reason| {
        if let Some(answer) = refusal(session, claim, request.expect_rev)? {
            return Ok(Plan::Answer(Box::new(answer)));
        }
        let mut draft = Draft::new(EventKind::Reinstate, [Ref::Id(claim.id)]);
        draft.seen.clone_from(&claim.live_acts);
        draft.body.reason = Some(reason);
        Ok(Plan::Commit(vec![draft]))
    })
}

/// A claim's norms as its event carries them.
fn as_stored(claim: &ClaimRow) -> Normed {
    Normed { norms: claim.norms.clone(), version: claim.normaliser.clone().unwrap_or_default(), warning: None }
}

fn refusal(session: &Session<'_>, claim: &ClaimRow, expect_rev: Option<u64>) -> Result<Option<WriteOutcome>, ApiError> {
    let short = claim.id.short();
    let stale = |message| session.stale_because(claim, message).map(Some);
    if claim.status == Status::Active {
        return stale(format!("claim {short} is active already; nothing was done"));
    }
    if claim.flags.undone {
        return stale(format!("the act that wrote claim {short} was undone: undo that undo to bring it back"));
    }
    if claim.flags.redacted {
        return stale(format!("the text of claim {short} was redacted: there is nothing to bring back"));
    }
    if expect_rev.is_some_and(|rev| rev != claim.rev) {
        return stale(format!("claim {short} changed since it was shown; nothing was done"));
    }
    if let Some(key) = claim.key_hash
        && !session.reader().fact_heads(&claim.scope, &key)?.is_empty()
    {
        return stale(format!("another fact is set under the key of {short}: remember it again to replace that"));
    }
    let normed = as_stored(claim);
    let incoming = Incoming {
        scope: &claim.scope,
        kind: claim.kind,
        statement: &claim.statement,
        source: claim.source.as_deref(),
        normed: &normed,
        exclude: &[claim.id],
    };
    let judged = session.judge(&incoming)?;
    if !judged.blocks() {
        return Ok(None);
    }
    let mut conflicts = Vec::new();
    for conflict in judged.conflicts {
        // A pair that was settled before stays so.
        if !session.reader().is_settled_pair(&claim.id, &conflict.claim.id)? {
            conflicts.push(conflict);
        }
    }
    if !conflicts.iter().any(|conflict| conflict.tier == crate::domain::Tier::Block) {
        return Ok(None);
    }
    let ids: Vec<String> = conflicts.iter().map(|conflict| conflict.claim.id.short()).collect();
    Ok(Some(WriteOutcome::Conflict(Refused {
        ways_on: vec![
            "Cancel: keep what is active.".into(),
            format!("Supersede: write {} again, to replace {}.", words::quote(&claim.statement), ids.join(", ")),
            format!("Retract {} first, if it was never right.", ids.join(", ")),
        ],
        conflicts,
        card_id: None,
        scope: claim.scope.clone(),
    })))
}
