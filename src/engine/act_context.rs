//! The context of one act: the write lock, the caller, and the changes to announce afterwards.

use std::{
    collections::BTreeSet,
    sync::{MutexGuard, PoisonError},
};

use super::{
    Engine,
    acts::AnsweredQuestion,
    beside, find, guard_calls,
    model_results::ModelResults,
    validate::{self, Actor},
    view,
};
use crate::{
    api::{ApiError, Caller, Change, ClaimView, ErrorCode, MAX_PAGE, Stale, Warning, WriteOutcome},
    domain::{CardId, ClaimId, OpId, Scope},
    store::{Act, ClaimRow, Committed, EventDraft, EventRow, Reader, Ref, RequestHash, Store, StoreError, VectorModel},
};

/// An act in progress. It holds the write lock, so nothing changes between its reads and its commit.
pub(super) struct ActContext<'a> {
    pub(super) engine: &'a Engine,
    store: MutexGuard<'a, Store>,
    /// Milliseconds since the Unix epoch.
    pub(super) now: u64,
    /// `YYYY-MM-DD`, UTC.
    pub(super) today: String,
    pub(super) actor: Actor,
    pub(super) op: OpId,
    /// The hash of the request; `None` for acts of the background.
    asked: Option<RequestHash>,
    /// Results of the models from before the lock was taken, one for each statement.
    model_results: Vec<ModelResults>,
    changes: Vec<Change>,
    /// The question that this act answers. The next commit adds the events of the answer.
    pub(super) answered: Option<AnsweredQuestion>,
}

impl Engine {
    /// Takes the write lock. A transaction interrupted by a panic was rolled back, so the store behind a poisoned lock is
    /// consistent.
    pub(super) fn writer(&self) -> MutexGuard<'_, Store> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one act under the write lock, then announces its changes without the lock. `asked` is the hash of the
    /// request, if there is one.
    pub(super) fn act<T>(
        &self,
        caller: &Caller,
        asked: Option<RequestHash>,
        run: impl FnOnce(&mut ActContext<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        self.act_with_models(caller, asked, Vec::new(), run)
    }

    /// [`Engine::act`] with the model results for the statements that the act will judge.
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
        let waiting = self.timers.queue.start();
        let store = self.writer();
        drop(waiting);
        let acting = self.timers.act.start();
        // Checked even if nothing will be stored, for example because the claim is known: the answer says that it is
        // kept.
        self.check_writable_with(store.reader())?;
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

    /// Announces a change to the listeners. The listener that forwards changes numbers them.
    pub(super) fn tell(&self, change: Change) {
        for listener in self.listeners.read().unwrap_or_else(PoisonError::into_inner).iter() {
            listener(change.clone());
        }
    }
}

impl ActContext<'_> {
    /// Returns a reader of the committed state.
    pub(super) fn reader(&self) -> &Reader {
        self.store.reader()
    }

    /// Returns the model results for a statement; empty results if no model was asked about it.
    pub(super) fn results(&self, statement: &str) -> ModelResults {
        self.model_results.iter().find(|results| results.is_of(statement)).cloned().unwrap_or_default()
    }

    /// Returns the events of an earlier request with this `op_id`; none for a new act.
    pub(super) fn done_before(&self) -> Result<Vec<EventRow>, ApiError> {
        Ok(self.reader().op(&self.op)?)
    }

    /// Returns the claim with this id or prefix.
    pub(super) fn find(&self, field: &str, text: &str) -> Result<ClaimRow, ApiError> {
        find::claim(self.reader(), field, text)
    }

    /// Returns a claim as clients see it now.
    pub(super) fn view(&self, id: &ClaimId) -> Result<ClaimView, ApiError> {
        let mut claim = view::claim(find::row(self.reader(), id)?, &self.today);
        beside::fill_exceptions(self.reader(), std::slice::from_mut(&mut claim))?;
        Ok(claim)
    }

    /// Returns the claims that an act changed, as they are now: first those that it was about, at most one page.
    /// Thousands may depend on one that was replaced.
    pub(super) fn changed(&self, committed: &Committed) -> Result<Vec<ClaimView>, ApiError> {
        let resting: BTreeSet<&ClaimId> = committed.needs_review.iter().collect();
        let (after, first): (Vec<_>, Vec<_>) = committed.claims.iter().partition(|id| resting.contains(id));
        first.into_iter().chain(after).take(MAX_PAGE).map(|id| self.view(id)).collect()
    }

    /// Stores an act, and collects its change for the event stream, where it is named `act`.
    pub(super) fn commit(
        &mut self,
        write_scope: &WriteScope,
        mut drafts: Vec<EventDraft>,
        act: &str,
        summary: String,
    ) -> Result<Committed, ApiError> {
        if let Some(answered) = self.answered.take() {
            let stores = drafts.first().is_some_and(EventDraft::creates_claim);
            drafts.extend(answered.drafts(stores));
        }
        self.share_reasons(&write_scope.scope, &mut drafts)?;
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
            opened: committed.opened.clone(),
            summary,
            ..Change::default()
        });
        Ok(committed)
    }

    /// Records in the change of the act that was just stored that it undid another one.
    pub(super) fn last_change_undoes(&mut self, op: OpId) {
        if let Some(change) = self.changes.last_mut() {
            change.undone = Some(op);
        }
    }

    /// Returns the vectors of the claims that an act creates, if there are any and they are of the store's model.
    fn vectors(&self, drafts: &[EventDraft]) -> Result<Option<ActVectors>, ApiError> {
        let mut found: Option<ActVectors> = None;
        for (at, draft) in drafts.iter().enumerate() {
            let statement = draft.body.statement.as_deref().filter(|_| draft.creates_claim());
            let results = statement.and_then(|text| self.model_results.iter().find(|known| known.is_of(text)));
            let Some(vector) = results.and_then(|results| results.vector.as_ref()) else { continue };
            let (_, vectors) = found.get_or_insert_with(|| (vector.model.clone(), Vec::new()));
            vectors.push((Ref::Draft(at), vector.numbers.clone()));
        }
        // The store may have switched to another model since the vector was computed. A write must not fail because of
        // that.
        let stored = self.reader().vector_model()?;
        Ok(found.filter(|(model, _)| stored.is_none_or(|stored| stored == *model)))
    }

    /// Returns the answer if a target is no longer active, or has changed since it was shown; `None` if it is as
    /// expected.
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

    /// Returns the answer that a claim is not in the state that the act needs.
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

    /// Returns the full card as it is now.
    pub(super) fn card_view(&self, id: &CardId) -> Result<crate::api::CardView, ApiError> {
        super::reads::card_view(self.reader(), find::card_row(self.reader(), id)?, self.now, &self.today)
    }
}

/// Vectors of the claims of an act, and the model that computed them.
type ActVectors = (VectorModel, Vec<(Ref, Vec<f32>)>);

/// The scope that an act writes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WriteScope {
    /// The scope as the caller named it.
    pub(super) asked: Scope,
    /// The scope of this store to which name and identity lead.
    pub(super) scope: Scope,
    /// The URL of the git remote, or the common directory of the repository.
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

    /// Returns the scope of something stored.
    pub(super) fn at(scope: &Scope) -> Self {
        Self { asked: scope.clone(), scope: scope.clone(), identity: None }
    }

    /// Warns if the scope differs from the one that the caller named.
    pub(super) fn warning(&self) -> Option<Warning> {
        if self.asked == self.scope {
            return None;
        }
        let message = format!(
            "another project already has the name {} here, so this one is called {}",
            self.asked.project, self.scope
        );
        Some(Warning::new(Warning::SCOPE_RENAMED, message))
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

/// Returns the error for an act by which a project would change a claim that also holds in other projects.
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
