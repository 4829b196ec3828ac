//! `remember` and `learn`: store a new claim.

use super::{new_claim::NewClaim, replay, supersede::Targets};
use crate::{
    api::{ApiError, RememberRequest, WriteOutcome},
    domain::{ClaimId, ClaimKind, text::reason_of_import},
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        guard_calls,
        request_hash::request_hash,
        validate,
    },
    store::ClaimRow,
};

/// `POST /remember`.
pub(in crate::engine) fn remember(engine: &Engine, request: &RememberRequest) -> Result<WriteOutcome, ApiError> {
    store(engine, request, true)
}

/// [`remember`] without asking the models.
pub(in crate::engine) fn remember_by_rules(
    engine: &Engine,
    request: &RememberRequest,
) -> Result<WriteOutcome, ApiError> {
    store(engine, request, false)
}

fn store(engine: &Engine, request: &RememberRequest, asks: bool) -> Result<WriteOutcome, ApiError> {
    let draft = validate::draft(request, ClaimKind::default())?;
    validate::scope(&request.caller)?;
    let premises = validate::ids("depends_on", &request.depends_on)?;
    let consider = request.consider;
    let rules = validate::ids("exception_to", &request.exception_to)?;
    let mut normalised = guard_calls::normalise(&engine.guard, draft.kind, &draft.statement, &draft.qualifiers);
    let results = if asks {
        engine.ask_models_for_write(&request.caller, &draft, &mut normalised, &[], !request.dry_run, consider)
    } else {
        Vec::new()
    };
    engine.act_with_models(&request.caller, request_hash("remember", request), results, |context| {
        if let Some(answer) = replay::write(context)? {
            return Ok(answer);
        }
        let write_scope = WriteScope::of(context.reader(), &request.caller)?;
        let premises = match context.premises(&write_scope, &premises, &[])? {
            Premises::Found(ids) => ids,
            Premises::Stale(answer) => return Ok(*answer),
        };
        let rules = match context.rules(&write_scope, &rules, &[])? {
            Targets::Active(rows) => rows,
            Targets::Stale(answer) => return Ok(*answer),
        };
        let claim = NewClaim {
            draft,
            normalised,
            replaces: Vec::new(),
            premises,
            rules,
            change_reason: None,
            consider,
            promotes: Vec::new(),
            text_writer: None,
        };
        context.store_claim(&write_scope, &claim, request.dry_run)
    })
}

/// `POST /learn`: [`remember`] with a required source, which stands for the reason if there is none.
pub(in crate::engine) fn learn(engine: &Engine, request: &RememberRequest) -> Result<WriteOutcome, ApiError> {
    let Some(source) = validate::optional("source", request.source.as_deref())? else {
        return Err(ApiError::field("source", "`learn` needs a `source`")
            .hint("say where it comes from: `path:line`, a document, an address; or use `remember`"));
    };
    let reason = validate::optional("reason", request.reason.as_deref())?;
    if reason.is_some() || !request.kind.unwrap_or_default().is_guarded() {
        return remember(engine, request);
    }
    remember(engine, &RememberRequest { reason: Some(reason_of_import(&source)), ..request.clone() })
}

/// The result of looking up the premises of a request.
pub(in crate::engine) enum Premises {
    /// Active claims of the same scope.
    Found(Vec<ClaimId>),
    /// A premise is no longer active.
    Stale(Box<WriteOutcome>),
}

impl ActContext<'_> {
    /// Looks up the premises of a new claim: active claims of its scope that it does not replace.
    pub(in crate::engine) fn premises(
        &self,
        write_scope: &WriteScope,
        prefixes: &[String],
        replaces: &[ClaimRow],
    ) -> Result<Premises, ApiError> {
        let mut ids = Vec::new();
        for prefix in prefixes {
            let premise = self.find("depends_on", prefix)?;
            write_scope.require_same_scope("depends_on", &premise)?;
            if replaces.iter().any(|row| row.id == premise.id) {
                return Err(ApiError::field(
                    "depends_on",
                    format!("claim {} is replaced by this write, so nothing can depend on it", premise.id.short()),
                ));
            }
            if let Some(stale) = self.stale(&premise, None)? {
                return Ok(Premises::Stale(Box::new(stale)));
            }
            if !ids.contains(&premise.id) {
                ids.push(premise.id);
            }
        }
        Ok(Premises::Found(ids))
    }
}
