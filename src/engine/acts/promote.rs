//! `promote` and `demote`: make a claim of the organisation from claims of its projects, and withdraw it.

use std::collections::BTreeSet;

use super::{
    new_claim::NewClaim,
    notice,
    on_claim::{self, ClaimActPlan},
    propose::{self, needs_person},
    refused_write::Rewording,
    replay, retract,
};
use crate::{
    api::{ActRequest, ApiError, Caller, MAX_IDS, PromoteRequest, Warning, WriteOutcome},
    domain::{ClaimId, EventKind, Status},
    engine::{
        AgentPolicy, Engine, PromoteMode,
        act_context::{ActContext, WriteScope},
        agreement, find, guard_calls,
        guard_result::IncomingClaim,
        request_hash::request_hash,
        validate,
    },
    store::{ClaimRow, EventDraft, Reader, Ref},
};

impl Engine {
    /// Makes one claim of the organisation's level from claims of its projects, which stay as its sightings.
    pub fn promote(&self, request: PromoteRequest) -> Result<WriteOutcome, ApiError> {
        promote(self, &request)
    }

    /// Withdraws a promoted claim. The claims of the projects count on their own again.
    pub fn demote(&self, request: ActRequest) -> Result<WriteOutcome, ApiError> {
        demote(self, &request)
    }
}

/// `POST /promote`.
fn promote(engine: &Engine, request: &PromoteRequest) -> Result<WriteOutcome, ApiError> {
    let ids = validate::ids("claims", &request.claims)?;
    if ids.is_empty() {
        return Err(ApiError::field("claims", "`claims` is empty: name at least one claim of a project"));
    }
    let text = Rewording {
        statement: validate::worded("statement", request.statement.as_deref())?,
        reason: validate::worded("reason", request.reason.as_deref())?,
        ..Rewording::default()
    };
    // An error here occurs again under the lock, where it is reported. The reader is returned before a model is asked.
    let named: Vec<ClaimRow> = {
        let reader = engine.readers.lend();
        ids.iter().map_while(|id| find::claim(&reader, "claims", id).ok()).collect()
    };
    let equivalent = equivalent_claims(engine, &named)?;
    let model_results = named.into_iter().take(1).map(|row| {
        let statement = text.statement.as_deref().unwrap_or(&row.statement);
        let normalised = guard_calls::normalise(&engine.guard, row.kind, statement, &row.qualifiers);
        engine.ask_models(&IncomingClaim {
            scope: &row.scope.organisation(),
            kind: row.kind,
            statement,
            source: None,
            normalised: &normalised,
            exclude: &[],
            consider: false,
        })
    });
    let model_results = model_results.collect();
    engine.act_with_models(&request.caller, request_hash("promote", request), model_results, |context| {
        if let Some(answer) = replay::write(context)? {
            return Ok(answer);
        }
        if context.may_only_propose() {
            return Err(needs_person(
                "a claim of the whole organisation needs a person here: agents may only propose".into(),
            )
            .hint(format!("ask a person to run `ergo promote {}`", ids.join(" "))));
        }
        let mut rows: Vec<ClaimRow> = Vec::new();
        for id in &ids {
            let row = context.find("claims", id)?;
            must_be_promotable(&row, rows.first())?;
            if let Some(stale) = context.stale(&row, None)? {
                return Ok(stale);
            }
            if rows.iter().all(|known| known.id != row.id) {
                rows.push(row);
            }
        }
        let Some(first) = rows.first() else { return Err(ApiError::internal("a promotion has no claim")) };
        let write_scope = WriteScope::at(&first.scope.organisation());
        let claim = NewClaim {
            promotes: promoted(context.reader(), &rows, equivalent)?,
            ..context.reword(first, Vec::new(), Vec::new(), text)?
        };
        context.store_claim(&write_scope, &claim, false)
    })
}

/// `POST /demote`.
fn demote(engine: &Engine, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
    on_claim::run(engine, request, "demote", "Demoted", |context, claim, reason| {
        if let Some(stale) = context.stale(claim, request.expect_rev)? {
            return Ok(ClaimActPlan::Answer(Box::new(stale)));
        }
        if context.reader().promoted_from(&claim.id)?.promotions == 0 {
            let id = claim.id.short();
            return Err(ApiError::field("target", format!("claim {id} was not promoted from projects"))
                .hint(format!("to withdraw it: `ergo retract {id} --reason '…'`")));
        }
        if !context.may_retract(claim) {
            return propose::plan_retract(context, claim, reason);
        }
        let notice = notice::of_retract(context, claim);
        Ok(ClaimActPlan::Commit(std::iter::once(retract::event(claim, reason)).chain(notice).collect()))
    })
}

/// Returns the claims of other projects that say the same as one of `named`, in its words or in others. This reads all
/// claims of the organisation, so it is done before the lock is taken.
fn equivalent_claims(engine: &Engine, named: &[ClaimRow]) -> Result<Vec<ClaimRow>, ApiError> {
    let Some(first) = named.first() else { return Ok(Vec::new()) };
    let book = engine.notes_book(&first.scope.org_id)?;
    let insights = book.insights();
    Ok(named.iter().flat_map(|row| agreement::alike(&book, &insights, &row.id)).collect())
}

/// Returns the claims from which a claim of the organisation's level is made: `rows`, and one active claim of each
/// other project that says the same.
fn promoted(reader: &Reader, rows: &[ClaimRow], equivalent: Vec<ClaimRow>) -> Result<Vec<ClaimRow>, ApiError> {
    let mut all = rows.to_vec();
    for other in equivalent {
        let active = || -> Result<bool, ApiError> {
            let now = reader.claim(&other.id)?;
            Ok(now.is_some_and(|row| row.status == Status::Active && !row.flags.undone && !row.flags.redacted))
        };
        if all.iter().all(|known| known.scope != other.scope) && active()? {
            all.push(other);
        }
    }
    all.truncate(MAX_IDS);
    Ok(all)
}

/// Returns the event that makes a claim of the organisation's level from claims of its projects, each with the same
/// weight.
pub(super) fn promotion(claim: Ref, of: &[ClaimRow]) -> EventDraft {
    let targets = std::iter::once(claim).chain(of.iter().map(|row| Ref::Id(row.id)));
    let mut draft = EventDraft::new(EventKind::Promote, targets);
    let projects = of.iter().map(|row| &row.scope).collect::<BTreeSet<_>>().len();
    let weights = vec![1.0 / of.len().max(1) as f64; of.len()];
    draft.body.data = Some(serde_json::json!({ "projects": projects, "weights": weights }).to_string());
    draft
}

fn must_be_promotable(row: &ClaimRow, first: Option<&ClaimRow>) -> Result<(), ApiError> {
    let id = row.id.short();
    if !row.scope.level().is_project() {
        return Err(ApiError::field(
            "claims",
            format!("claim {id} is already a claim of the organisation {}", row.scope),
        ));
    }
    if !row.kind.is_guarded() {
        return Err(ApiError::field("claims", format!("claim {id} is a fact: only guarded claims can be promoted"))
            .hint("a fact of the whole organisation is written into its scope: `ergo remember --kind fact --scope 'ORG/*' …`"));
    }
    match first {
        Some(first) if first.scope.org_id != row.scope.org_id => Err(ApiError::field(
            "claims",
            format!("claim {id} belongs to {}, and {} to {}", row.scope, first.id.short(), first.scope),
        )
        .hint("promote the claims of one organisation at a time")),
        _ => Ok(()),
    }
}

impl ActContext<'_> {
    /// Returns the promoted claims that are not yet recorded as sightings of the claim `known`.
    pub(in crate::engine) fn new_sightings(
        &self,
        claim: &NewClaim,
        known: &ClaimId,
    ) -> Result<Vec<ClaimRow>, ApiError> {
        if claim.promotes.is_empty() {
            return Ok(Vec::new());
        }
        let seen = self.reader().promoted_from(known)?.claims;
        Ok(claim.promotes.iter().filter(|row| !seen.contains(&row.id)).cloned().collect())
    }
}

/// Adds to an answer the effect of agreement between projects: an automatic promotion, or a suggestion to promote.
pub(in crate::engine) fn after_write(engine: &Engine, caller: &Caller, mut outcome: WriteOutcome) -> WriteOutcome {
    add_agreement_warning(engine, caller, &mut outcome);
    outcome
}

fn add_agreement_warning(engine: &Engine, caller: &Caller, outcome: &mut WriteOutcome) {
    let WriteOutcome::Stored(stored) = outcome else { return };
    let levels = engine.config.levels;
    let agent = caller.agent.is_some() && engine.config.agents_may == AgentPolicy::Propose;
    let auto = levels.promote == PromoteMode::Auto && !agent;
    // A writer who repeats the claim got the suggestion before; an automatic promotion that failed then is tried again.
    let again = stored.duplicate && !auto;
    if again || stored.replayed || stored.dry_run || levels.promote == PromoteMode::Never {
        return;
    }
    let agreed = match agreement::of_claim(&engine.readers.lend(), &stored.claim_id, levels.promote_at) {
        Ok(Some(agreed)) => agreed,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%error, "cannot look for projects that agree");
            return;
        }
    };
    let (projects, org) = (agreed.projects, &stored.scope.org_id);
    let id = stored.claim_id.short();
    if auto {
        let request = PromoteRequest {
            caller: Caller { op_id: None, ..caller.clone() },
            claims: vec![stored.claim_id.to_hex()],
            reason: None,
            statement: None,
        };
        match promote(engine, &request) {
            Ok(WriteOutcome::Stored(promoted)) => {
                let message = format!(
                    "{projects} projects of {org} say the same: it is now the claim {} of {}",
                    promoted.claim_id.short(),
                    promoted.scope
                );
                stored.warnings.push(Warning::new("promoted", message));
                return;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(claim = %id, %error, "cannot promote a claim automatically"),
        }
    }
    let message = format!(
        "{projects} projects of {org} say the same: `ergo promote {id}` makes it a claim of the whole organisation"
    );
    stored.warnings.push(Warning::new(Warning::PROMOTABLE, message));
}
