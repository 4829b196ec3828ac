//! `remember` and `learn`: a new claim.

use super::{new_claim::NewClaim, replay, supersede::Targets};
use crate::{
    api::{ApiError, RememberRequest, WriteOutcome},
    domain::{ClaimId, ClaimKind},
    engine::{
        Engine,
        asked::asked,
        check, gate,
        session::{Place, Session},
    },
    store::ClaimRow,
};

/// `POST /remember`.
pub(in crate::engine) fn remember(engine: &Engine, request: &RememberRequest) -> Result<WriteOutcome, ApiError> {
    let draft = check::draft(request, ClaimKind::default())?;
    check::scope(&request.caller)?;
    let premises = check::ids("depends_on", &request.depends_on)?;
    let rules = check::ids("exception_to", &request.exception_to)?;
    let mut normed = gate::normalise(&engine.guard, draft.kind, &draft.statement, &draft.qualifiers);
    let foresight = engine.foresee_write(&request.caller, &draft, &mut normed, &[], !request.dry_run);
    engine.act_foreseeing(&request.caller, asked("remember", request), foresight, |session| {
        if let Some(answer) = replay::write(session)? {
            return Ok(answer);
        }
        let place = Place::of(session.reader(), &request.caller)?;
        let premises = match session.premises(&place, &premises, &[])? {
            Premises::Found(ids) => ids,
            Premises::Stale(answer) => return Ok(*answer),
        };
        let rules = match session.rules(&place, &rules, &[])? {
            Targets::Active(rows) => rows,
            Targets::Stale(answer) => return Ok(*answer),
        };
        let claim = NewClaim { draft, normed, replaces: Vec::new(), premises, rules, change_reason: None };
        session.store_claim(&place, &claim, request.dry_run)
    })
}

/// `POST /learn`: with a source.
pub(in crate::engine) fn learn(engine: &Engine, request: &RememberRequest) -> Result<WriteOutcome, ApiError> {
    if check::optional("source", request.source.as_deref())?.is_none() {
        return Err(ApiError::field("source", "`learn` needs a `source`")
            .hint("say where it comes from: `path:line`, a document, an address; or use `remember`"));
    }
    remember(engine, request)
}

/// Premises as they were asked for.
pub(in crate::engine) enum Premises {
    /// Active claims of the same scope.
    Found(Vec<ClaimId>),
    /// One of them is no longer active.
    Stale(Box<WriteOutcome>),
}

impl Session<'_> {
    /// The claims that a claim is to rest on: active, of its scope, none of those that it replaces.
    pub(in crate::engine) fn premises(
        &self,
        place: &Place,
        prefixes: &[String],
        replaces: &[ClaimRow],
    ) -> Result<Premises, ApiError> {
        let mut ids = Vec::new();
        for prefix in prefixes {
            let premise = self.find("depends_on", prefix)?;
            place.must_hold("depends_on", &premise)?;
            if replaces.iter().any(|row| row.id == premise.id) {
                return Err(ApiError::field(
                    "depends_on",
                    format!("claim {} is replaced by this very write: nothing can rest on it", premise.id.short()),
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
