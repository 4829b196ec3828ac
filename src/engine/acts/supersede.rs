//! `supersede`: the world changed. By a new text, which the guard compares with everything but its targets, or by a
//! claim that is there already.

use super::{
    new_claim::{NewClaim, review_warning},
    remember::Premises,
    replay,
};
use crate::{
    api::{ApiError, Stored, SupersedeRequest, WriteOutcome},
    domain::{ClaimId, EventKind},
    engine::{
        Engine,
        asked::asked,
        check, gate, lookup,
        session::{Place, Session},
        words,
    },
    store::{ClaimRow, Draft, Ref},
};

/// `POST /supersede`.
pub(in crate::engine) fn supersede(engine: &Engine, request: &SupersedeRequest) -> Result<WriteOutcome, ApiError> {
    check::scope(&request.claim.caller)?;
    let targets = check::ids("targets", &request.targets)?;
    if targets.is_empty() {
        return Err(ApiError::field("targets", "`targets` is empty: name at least one claim that gives way"));
    }
    match &request.successor {
        Some(successor) => by_claim(engine, request, &targets, successor),
        None => by_text(engine, request, &targets),
    }
}

fn by_text(engine: &Engine, request: &SupersedeRequest, targets: &[String]) -> Result<WriteOutcome, ApiError> {
    // The kind is that of the first target unless it is named, and decides what else is required.
    let kind = {
        let reader = engine.readers.lend();
        lookup::claim(&reader, "targets", &targets[0])?.kind
    };
    let draft = check::draft(&request.claim, kind)?;
    let premises = check::ids("depends_on", &request.claim.depends_on)?;
    let rules = check::ids("exception_to", &request.claim.exception_to)?;
    let mut normed = gate::normalise(&engine.guard, draft.kind, &draft.statement, &draft.qualifiers);
    let keep = !request.claim.dry_run;
    let foresight = engine.foresee_write(&request.claim.caller, &draft, &mut normed, targets, keep);
    engine.act_foreseeing(&request.claim.caller, asked("supersede", request), foresight, |session| {
        if let Some(answer) = replay::write(session)? {
            return Ok(answer);
        }
        let place = Place::of(session.reader(), &request.claim.caller)?;
        let replaces = match session.targets(&place, targets, request.expect_rev)? {
            Targets::Active(rows) => rows,
            Targets::Stale(answer) => return Ok(*answer),
        };
        not_by_a_fact(draft.kind, &replaces)?;
        let premises = match session.premises(&place, &premises, &replaces)? {
            Premises::Found(ids) => ids,
            Premises::Stale(answer) => return Ok(*answer),
        };
        let rules = match session.rules(&place, &rules, &replaces)? {
            Targets::Active(rows) => rows,
            Targets::Stale(answer) => return Ok(*answer),
        };
        let claim = NewClaim { draft, normed, replaces, premises, rules, change_reason: None };
        session.store_claim(&place, &claim, request.claim.dry_run)
    })
}

fn by_claim(
    engine: &Engine,
    request: &SupersedeRequest,
    targets: &[String],
    successor: &str,
) -> Result<WriteOutcome, ApiError> {
    if !request.claim.statement.trim().is_empty() {
        return Err(ApiError::field("statement", "`statement` and `successor` exclude each other")
            .hint("replace by a new text, or by a claim that is there already"));
    }
    let successor = check::id("successor", successor)?;
    let reason = check::optional("reason", request.claim.reason.as_deref())?
        .ok_or_else(|| ApiError::field("reason", "to supersede a claim needs a `reason`").hint("say what changed"))?;
    engine.act(&request.claim.caller, asked("supersede", request), |session| {
        if let Some(answer) = replay::write(session)? {
            return Ok(answer);
        }
        let place = Place::of(session.reader(), &request.claim.caller)?;
        let replaces = match session.targets(&place, targets, request.expect_rev)? {
            Targets::Active(rows) => rows,
            Targets::Stale(answer) => return Ok(*answer),
        };
        let successor = session.find("successor", &successor)?;
        place.must_hold("successor", &successor)?;
        if replaces.iter().any(|row| row.id == successor.id) {
            return Err(ApiError::field("successor", format!("claim {} cannot replace itself", successor.id.short())));
        }
        if let Some(stale) = session.stale(&successor, None)? {
            return Ok(stale);
        }
        not_by_a_fact(successor.kind, &replaces)?;
        let superseded: Vec<ClaimId> = replaces.iter().map(|row| row.id).collect();
        let mut outcome = Stored {
            claim_id: successor.id,
            op_id: session.op,
            scope: place.scope.clone(),
            duplicate: false,
            replayed: false,
            dry_run: request.claim.dry_run,
            superseded,
            warnings: place.warning().into_iter().collect(),
        };
        if !request.claim.dry_run {
            let draft = replaced_by(&replaces, successor.id, reason);
            let committed = session.commit(&place, vec![draft], "supersede", summary(&replaces, &successor))?;
            outcome.warnings.extend(review_warning(&committed));
            outcome.warnings.extend(session.still_in_force(&place, &replaces, &successor.statement, &committed)?);
        }
        Ok(WriteOutcome::Stored(outcome))
    })
}

/// The event by which an existing claim takes the place of others.
pub(in crate::engine) fn replaced_by(replaces: &[ClaimRow], successor: ClaimId, reason: String) -> Draft {
    let mut draft = Draft::new(EventKind::Supersede, replaces.iter().map(|row| Ref::Id(row.id)));
    draft.successor = Some(Ref::Id(successor));
    draft.body.reason = Some(reason);
    draft
}

/// What happened, in one sentence.
pub(in crate::engine) fn summary(replaces: &[ClaimRow], successor: &ClaimRow) -> String {
    let old: Vec<&str> = replaces.iter().map(|row| row.statement.as_str()).collect();
    format!("{} by {}", words::summary("Superseded", &old), words::quote(&successor.statement))
}

/// A fact passes no guard and may change at any time: were it to replace a decision, that would be a way around both.
pub(in crate::engine) fn not_by_a_fact(kind: crate::domain::ClaimKind, replaces: &[ClaimRow]) -> Result<(), ApiError> {
    match replaces.iter().find(|row| row.kind.is_guarded() && !kind.is_guarded()) {
        Some(row) => Err(ApiError::field("kind", format!("a fact cannot replace {}, a {}", row.id.short(), row.kind))
            .hint("leave `kind` out to keep its kind; or retract it with a reason, then remember the fact")),
        None => Ok(()),
    }
}

/// Targets as they were asked for.
pub(in crate::engine) enum Targets {
    /// All are active, of the scope, as they were shown; each once.
    Active(Vec<ClaimRow>),
    /// One of them is not.
    Stale(Box<WriteOutcome>),
}

impl Session<'_> {
    /// The claims that are to give way. `expect_rev` is the first one's.
    pub(in crate::engine) fn targets(
        &self,
        place: &Place,
        prefixes: &[String],
        expect_rev: Option<u64>,
    ) -> Result<Targets, ApiError> {
        self.active("targets", place, prefixes, expect_rev)
    }

    /// The claims to which a new one is an exception: none of those that it replaces.
    pub(in crate::engine) fn rules(
        &self,
        place: &Place,
        prefixes: &[String],
        replaces: &[ClaimRow],
    ) -> Result<Targets, ApiError> {
        let rules = self.active("exception_to", place, prefixes, None)?;
        if let Targets::Active(rows) = &rules
            && let Some(row) = rows.iter().find(|row| replaces.iter().any(|gone| gone.id == row.id))
        {
            return Err(ApiError::field(
                "exception_to",
                format!("claim {} is replaced by this very write: nothing can be an exception to it", row.id.short()),
            ));
        }
        Ok(rules)
    }

    fn active(
        &self,
        field: &str,
        place: &Place,
        prefixes: &[String],
        expect_rev: Option<u64>,
    ) -> Result<Targets, ApiError> {
        let mut rows: Vec<ClaimRow> = Vec::new();
        for (index, prefix) in prefixes.iter().enumerate() {
            let row = self.find(field, prefix)?;
            place.must_hold(field, &row)?;
            if let Some(stale) = self.stale(&row, expect_rev.filter(|_| index == 0))? {
                return Ok(Targets::Stale(Box::new(stale)));
            }
            if !rows.iter().any(|known| known.id == row.id) {
                rows.push(row);
            }
        }
        Ok(Targets::Active(rows))
    }
}
