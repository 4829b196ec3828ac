//! What the acts on one claim have in common.

use crate::{
    api::{ActRequest, ApiError, Done, WriteOutcome},
    domain::{ClaimId, Scope},
    engine::{
        Engine,
        asked::asked,
        check,
        foresee::Foresight,
        lookup,
        session::{Place, Session},
        words,
    },
    store::{ClaimRow, Committed, Draft},
};

/// Runs an act on one claim: `plan` answers at once, or gives the events to commit. `verb` is the past tense for people,
/// `act` the word of the event stream.
pub(super) fn run(
    engine: &Engine,
    request: &ActRequest,
    act: &str,
    verb: &str,
    plan: impl FnOnce(&Session<'_>, &ClaimRow, String) -> Result<Plan, ApiError>,
) -> Result<WriteOutcome, ApiError> {
    run_foreseeing(engine, request, act, verb, |_| None, plan)
}

/// [`run`] with what models say of the claim: `foresee` asks them before the write lock is taken.
pub(super) fn run_foreseeing(
    engine: &Engine,
    request: &ActRequest,
    act: &str,
    verb: &str,
    foresee: impl FnOnce(&ClaimRow) -> Option<Foresight>,
    plan: impl FnOnce(&Session<'_>, &ClaimRow, String) -> Result<Plan, ApiError>,
) -> Result<WriteOutcome, ApiError> {
    let target = check::id("target", &request.target)?;
    let reason = check::reason(request, act)?;
    check::also(request, act)?;
    // An error here comes again under the lock, where it is answered; the reader goes back before a model is asked.
    let row = lookup::claim(&engine.readers.lend(), "target", &target);
    let foresights = row.ok().and_then(|row| foresee(&row)).into_iter().collect();
    engine.act_foreseeing(&request.caller, asked(act, request), foresights, |session| {
        if let Some(answer) = super::replay::act(session)? {
            return Ok(answer);
        }
        let claim = session.find("target", &target)?;
        let mut more = Vec::new();
        let drafts = match plan(session, &claim, reason)? {
            Plan::Commit(drafts) => drafts,
            Plan::CommitMany(drafts, statements) => {
                more = statements;
                drafts
            }
            Plan::Propose(draft) => return session.propose(&claim, *draft),
            Plan::Answer(answer) => return Ok(*answer),
        };
        let statements: Vec<&str> = std::iter::once(&claim.statement).chain(&more).map(String::as_str).collect();
        let summary = words::summary(verb, &statements);
        let committed = session.commit(&Place::at(&claim.scope), drafts, act, summary.clone())?;
        session.done(committed, summary).map(WriteOutcome::Done)
    })
}

/// What an act on a claim comes to.
pub(super) enum Plan {
    /// These events.
    Commit(Vec<Draft>),
    /// These events, which are also about further claims: what those say.
    CommitMany(Vec<Draft>, Vec<String>),
    /// Not the act, but this event, which proposes it.
    Propose(Box<Draft>),
    /// Nothing: this answer.
    Answer(Box<WriteOutcome>),
}

impl Session<'_> {
    /// The answer to an act that is done.
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

    /// The answer to an act that had nothing to do.
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
