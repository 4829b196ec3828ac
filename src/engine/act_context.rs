//! The context of one act: the write lock, the caller, and the changes to announce afterwards.

use std::{
    collections::BTreeSet,
    sync::{MutexGuard, PoisonError},
};

use super::{
    Engine,
    acts::Answered,
    beside, find, guard_calls,
    model_results::ModelResults,
    validate::{self, Actor},
    view,
};
use crate::{
    api::{ApiError, Caller, Change, ClaimView, ErrorCode, MAX_PAGE, Stale, Warning, WriteOutcome},
    domain::{CardId, ClaimId, EventKind, OpId, Scope},
    store::{Act, ClaimRow, Committed, EventDraft, EventRow, Reader, Ref, RequestHash, Store, StoreError, VectorModel},
};

/// An act in progress: it holds the write lock, so that what it reads is what it changes.
pub(super) struct ActContext<'a> {
    pub(super) engine: &'a Engine,
    store: MutexGuard<'a, Store>,
    /// Milliseconds since the Unix epoch.
    pub(super) now: u64,
    /// `YYYY-MM-DD`, UTC.
    pub(super) today: String,
    pub(super) actor: Actor,
    pub(super) op: OpId,
    /// What the request asks for.
    asked: Option<RequestHash>,
    /// What models returned before the lock was taken, by statement.
    model_results: Vec<ModelResults>,
    changes: Vec<Change>,
    /// The question that this act answers: its next commit says so, too.
    pub(super) answered: Option<Answered>,
}

impl Engine {
    /// Runs one act under the write lock, then tells of what changed, outside it. `asked` is what a request asked for, if there
    /// was one.
    pub(super) fn act<T>(
        &self,
        caller: &Caller,
        asked: Option<RequestHash>,
        run: impl FnOnce(&mut ActContext<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        self.act_with_models(caller, asked, Vec::new(), run)
    }

    /// [`Engine::act`] with the model results for the statements that it is going to judge.
    pub(super) fn act_with_models<T>(
        &self,
        caller: &Caller,
        asked: Option<RequestHash>,
        model_results: Vec<ModelResults>,
        run: impl FnOnce(&mut ActContext<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let actor = validate::actor(caller)?;
        let op = match caller.op_id {
            Some(op) => op,
            None => random_op()?,
        };
        let now = (self.config.clock)();
        // A transaction that a panic cut short was rolled back: the store behind the lock is whole.
        let waiting = self.timers.queue.start();
        let store = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        drop(waiting);
        let acting = self.timers.act.start();
        // Also where nothing comes to be stored, as for what is known already: the answer says that it is kept.
        store.reader().in_place()?;
        refuse_reused_op(&store, &op, asked)?;
        let mut context = ActContext {
            engine: self,
            store,
            now,
            today: guard_calls::day(now),
            actor,
            op,
            asked,
            model_results,
            changes: Vec::new(),
            answered: None,
        };
        let result = run(&mut context);
        let changes = std::mem::take(&mut context.changes);
        drop(context);
        drop(acting);
        for change in changes {
            self.tell(change);
        }
        result
    }

    /// Tells the listeners of a change. Who sends it on numbers it.
    pub(super) fn tell(&self, change: Change) {
        for listener in self.listeners.read().unwrap_or_else(PoisonError::into_inner).iter() {
            listener(change.clone());
        }
    }
}

impl ActContext<'_> {
    /// Reads what is committed.
    pub(super) fn reader(&self) -> &Reader {
        self.store.reader()
    }

    /// The model results for a statement; empty if no model was asked about it.
    pub(super) fn results(&self, statement: &str) -> ModelResults {
        self.model_results.iter().find(|results| results.is_of(statement)).cloned().unwrap_or_default()
    }

    /// The events of this act, if it was done before.
    pub(super) fn done_before(&self) -> Result<Vec<EventRow>, ApiError> {
        Ok(self.reader().op(&self.op)?)
    }

    /// The claim with this id or prefix.
    pub(super) fn find(&self, field: &str, text: &str) -> Result<ClaimRow, ApiError> {
        find::claim(self.reader(), field, text)
    }

    /// A claim as it is now.
    pub(super) fn view(&self, id: &ClaimId) -> Result<ClaimView, ApiError> {
        let mut claim = view::claim(find::row(self.reader(), id)?, &self.today);
        beside::fill_exceptions(self.reader(), std::slice::from_mut(&mut claim))?;
        Ok(claim)
    }

    /// The claims that an act changed, as they are now: those that it was about first, and no more than a page. Thousands may rest on
    /// one that gives way.
    pub(super) fn changed(&self, committed: &Committed) -> Result<Vec<ClaimView>, ApiError> {
        let resting: BTreeSet<&ClaimId> = committed.needs_review.iter().collect();
        let (after, first): (Vec<_>, Vec<_>) = committed.claims.iter().partition(|id| resting.contains(id));
        first.into_iter().chain(after).take(MAX_PAGE).map(|id| self.view(id)).collect()
    }

    /// Stores an act, and notes its change for the event stream, in which it is called `act`.
    pub(super) fn commit(
        &mut self,
        write_scope: &WriteScope,
        mut drafts: Vec<EventDraft>,
        act: &str,
        summary: String,
    ) -> Result<Committed, ApiError> {
        if let Some(answered) = self.answered.take() {
            let stores = drafts.first().is_some_and(|draft| {
                matches!(draft.kind, EventKind::Assert | EventKind::Supersede) && draft.body.statement.is_some()
            });
            drafts.extend(answered.drafts(stores));
        }
        let vectors = self.vectors(&drafts)?;
        let act_name = act;
        let act = Act {
            scope: write_scope.asked.clone(),
            identity: write_scope.identity.clone(),
            who: self.actor.who.clone(),
            agent: self.actor.agent.clone(),
            op: self.op,
            now: self.now,
            drafts,
        };
        let vectors = vectors.as_ref().map(|(model, vectors)| (model, vectors.as_slice()));
        let committed = self.store.commit_asked(act, self.asked, vectors)?;
        self.changes.push(Change {
            scope: Some(committed.scope.clone()),
            act: act_name.to_owned(),
            op_id: Some(committed.op),
            who: self.actor.who.clone(),
            agent: self.actor.agent.clone(),
            claims: committed.claims.clone(),
            cards: committed.cards.clone(),
            summary,
            ..Change::default()
        });
        Ok(committed)
    }

    /// The vectors of the claims that an act creates, if models were asked for them and they are of the store's model.
    fn vectors(&self, drafts: &[EventDraft]) -> Result<Option<ActVectors>, ApiError> {
        let mut found: Option<ActVectors> = None;
        for (at, draft) in drafts.iter().enumerate() {
            let creates = matches!(draft.kind, EventKind::Assert | EventKind::Supersede);
            let statement = draft.body.statement.as_deref().filter(|_| creates);
            let results = statement.and_then(|text| self.model_results.iter().find(|known| known.is_of(text)));
            let Some(vector) = results.and_then(|results| results.vector.as_ref()) else { continue };
            let (_, vectors) = found.get_or_insert_with(|| (vector.model.clone(), Vec::new()));
            vectors.push((Ref::Draft(at), vector.numbers.clone()));
        }
        // Somebody else may have locked another model since the vector was made: a write never fails for that.
        let stored = self.reader().vector_model()?;
        Ok(found.filter(|(model, _)| stored.is_none_or(|stored| stored == *model)))
    }

    /// The answer if a target is no longer active, or changed since it was shown; `None` if it is as expected.
    pub(super) fn stale(&self, target: &ClaimRow, expect_rev: Option<u64>) -> Result<Option<WriteOutcome>, ApiError> {
        use crate::domain::Status;
        let short = target.id.short();
        let message = match (target.status, expect_rev) {
            (Status::Active, Some(rev)) if rev != target.rev => {
                format!("claim {short} changed since it was shown; nothing was done")
            }
            (Status::Active, _) => return Ok(None),
            _ if target.flags.undone => format!("the change that wrote claim {short} was undone; nothing was done"),
            (status, _) => format!("claim {short} is already {status}; nothing was done"),
        };
        self.stale_because(target, message).map(Some)
    }

    /// The answer that a claim is not as the act needs it.
    pub(super) fn stale_because(&self, target: &ClaimRow, message: String) -> Result<WriteOutcome, ApiError> {
        let active = target.status == crate::domain::Status::Active;
        let heads = if active { Vec::new() } else { self.reader().heads(&target.id)? };
        Ok(WriteOutcome::Stale(Stale {
            message,
            can_reinstate: !active && !target.flags.undone && heads.is_empty(),
            claim: Some(Box::new(view::claim(target.clone(), &self.today))),
            heads: view::claims(heads, &self.today),
            card: None,
        }))
    }

    /// The card, in full, as it is now.
    pub(super) fn card_view(&self, id: &CardId) -> Result<crate::api::CardView, ApiError> {
        super::reads::card_view(self.reader(), find::card_row(self.reader(), id)?, self.now, &self.today)
    }
}

/// Vectors of the claims of an act, and the model that made them.
type ActVectors = (VectorModel, Vec<(Ref, Vec<f32>)>);

/// The scope that an act writes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WriteScope {
    /// The scope as the caller named it.
    pub(super) asked: Scope,
    /// The scope that the identity makes of it.
    pub(super) scope: Scope,
    /// The remote URL or common directory.
    pub(super) identity: Option<String>,
}

impl WriteScope {
    /// Returns the scope in which this caller writes.
    pub(super) fn of(reader: &Reader, caller: &Caller) -> Result<Self, ApiError> {
        let asked = validate::scope(caller)?;
        let identity = validate::identity(caller)?;
        let scope = reader.scope_for(&asked, identity.as_deref())?;
        Ok(Self { asked, scope, identity })
    }

    /// The scope of something stored.
    pub(super) fn at(scope: &Scope) -> Self {
        Self { asked: scope.clone(), scope: scope.clone(), identity: None }
    }

    /// Says so if the scope is another than the one asked for.
    pub(super) fn warning(&self) -> Option<Warning> {
        if self.asked == self.scope {
            return None;
        }
        let message = format!(
            "another project already has the name {} here, so this one is called {}",
            self.asked.project, self.scope
        );
        Some(Warning::new("scope_renamed", message))
    }

    /// Refuses a claim that does not hold in this scope.
    pub(super) fn require_in_force(&self, field: &str, claim: &ClaimRow) -> Result<(), ApiError> {
        if self.scope.takes(&claim.scope) { Ok(()) } else { self.require_same_scope(field, claim) }
    }

    /// Refuses a claim of another scope: claims are never replaced or linked across scopes.
    pub(super) fn require_same_scope(&self, field: &str, claim: &ClaimRow) -> Result<(), ApiError> {
        if claim.scope == self.scope {
            return Ok(());
        }
        if self.scope.takes(&claim.scope) {
            return Err(of_the_organisation(field, claim));
        }
        Err(ApiError::field(
            field,
            format!("claim {} belongs to {}, not to {}", claim.id.short(), claim.scope, self.scope),
        )
        .hint("name its scope with `org_id` and `project`, or choose a claim of this one"))
    }
}

/// The error of an act by which a project would change what holds in others, too.
pub(super) fn of_the_organisation(field: &str, claim: &ClaimRow) -> ApiError {
    let (id, scope) = (claim.id.short(), &claim.scope);
    ApiError::field(field, format!("claim {id} belongs to {scope} and holds in each project of {}", scope.org_id)).hint(
        format!(
            "store yours as an exception to it, narrow it for this project on the card, or change it for all projects with \
             `ergo supersede {id} '…' --reason '…' --scope '{scope}'`"
        ),
    )
}

/// Refuses a request whose `op_id` was used for another request.
pub(super) fn refuse_reused_op(store: &Store, op: &OpId, asked: Option<RequestHash>) -> Result<(), ApiError> {
    match asked {
        Some(asked) if store.was_asked_otherwise(op, asked)? => Err(StoreError::UsedOp(*op).into()),
        _ => Ok(()),
    }
}

pub(super) fn random_op() -> Result<OpId, ApiError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        ApiError::new(ErrorCode::Unavailable, format!("cannot get random bytes from the operating system: {error}"))
            .hint("send an `op_id`, or try again")
    })?;
    Ok(OpId(bytes))
}
