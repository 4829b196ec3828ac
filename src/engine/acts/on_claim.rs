//! The common part of acts on one claim.

use crate::{
    api::{ActRequest, ApiError, Done, Warning, WriteOutcome},
    domain::{ClaimId, Scope},
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        find,
        model_results::ModelResults,
        request_hash::request_hash,
        validate, wording,
    },
    store::{ClaimRow, Committed, EventDraft},
};

/// Runs an act on one claim: `plan` returns an answer, or the events to commit. `verb` is the past tense for people,
/// `act` the name in the event stream.
pub(super) fn run(
    engine: &Engine,
    request: &ActRequest,
    act: &str,
    verb: &str,
    plan: impl FnOnce(&ActContext<'_>, &ClaimRow, String) -> Result<ClaimActPlan, ApiError>,
) -> Result<WriteOutcome, ApiError> {
    run_with_models(engine, request, act, verb, |_| None, plan)
}

/// [`run`] with models: `ask_models` asks them about the claim before the write lock is taken.
pub(super) fn run_with_models(
    engine: &Engine,
    request: &ActRequest,
    act: &str,
    verb: &str,
    ask_models: impl FnOnce(&ClaimRow) -> Option<ModelResults>,
    plan: impl FnOnce(&ActContext<'_>, &ClaimRow, String) -> Result<ClaimActPlan, ApiError>,
) -> Result<WriteOutcome, ApiError> {
    let target = validate::id("target", &request.target)?;
    let reason = validate::reason(request, act)?;
    validate::also(request, act)?;
    // An error here occurs again under the lock, where it is reported. The reader is returned before a model is asked.
    let row = find::claim(&engine.readers.lend(), "target", &target);
    let model_results = row.ok().and_then(|row| ask_models(&row)).into_iter().collect();
    engine.act_with_models(&request.caller, request_hash(act, request), model_results, |context| {
        if let Some(answer) = super::replay::act(context)? {
            return Ok(answer);
        }
        let claim = context.find("target", &target)?;
        let (mut more, mut warnings, mut reinstated) = (Vec::new(), Vec::new(), None);
        let drafts = match plan(context, &claim, reason)? {
            ClaimActPlan::Commit(drafts) => drafts,
            ClaimActPlan::CommitMany(drafts, statements) => {
                more = statements;
                drafts
            }
            ClaimActPlan::Reinstate(draft, found) => {
                (warnings, reinstated) = (found, Some(claim.id));
                vec![*draft]
            }
            ClaimActPlan::Propose(draft) => return context.propose(&claim, *draft),
            ClaimActPlan::Answer(answer) => return Ok(*answer),
        };
        let statements: Vec<&str> = std::iter::once(&claim.statement).chain(&more).map(String::as_str).collect();
        let summary = wording::summary(verb, &statements);
        let committed = context.commit(&WriteScope::at(&claim.scope), drafts, act, summary.clone())?;
        if let Some(id) = reinstated {
            engine.deepen_later(id, false, false);
        }
        let done = context.done(committed, summary)?;
        Ok(WriteOutcome::Done(Done { warnings, ..done }))
    })
}

/// The plan of an act on one claim.
pub(super) enum ClaimActPlan {
    /// Commit these events.
    Commit(Vec<EventDraft>),
    /// Commit these events, which also concern further claims; their statements.
    CommitMany(Vec<EventDraft>, Vec<String>),
    /// Commit this event, which makes the claim active again, so the background compares it; the guard's warnings.
    Reinstate(Box<EventDraft>, Vec<Warning>),
    /// Commit this event, which only proposes the act.
    Propose(Box<EventDraft>),
    /// Write nothing and return this answer.
    Answer(Box<WriteOutcome>),
}

impl ActContext<'_> {
    /// Returns the answer to a committed act.
    pub(in crate::engine) fn done(&self, committed: Committed, summary: String) -> Result<Done, ApiError> {
        let claims = self.changed(&committed)?;
        Ok(Done {
            op_id: committed.op,
            scope: committed.scope,
            summary,
            claim_id: committed.created.first().copied(),
            claims,
            needs_review: committed.needs_review,
            card_id: None,
            replayed: committed.replayed,
            warnings: Vec::new(),
        })
    }

    /// Returns the answer to an act that changes nothing.
    pub(in crate::engine) fn nothing_to_do(
        &self,
        scope: &Scope,
        claim: ClaimId,
        summary: String,
    ) -> Result<WriteOutcome, ApiError> {
        Ok(WriteOutcome::Done(Done {
            op_id: self.op,
            scope: scope.clone(),
            summary,
            claim_id: None,
            claims: vec![self.view(&claim)?],
            needs_review: Vec::new(),
            card_id: None,
            replayed: false,
            warnings: Vec::new(),
        }))
    }
}
