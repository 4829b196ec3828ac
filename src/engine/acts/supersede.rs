//! `supersede`: replaces claims because something changed, either by a new text, which the guard compares with all
//! claims but its targets, or by a stored claim.

use super::{
    new_claim::{NewClaim, review_warning},
    propose::{ask_writer_hint, needs_person},
    remember::Premises,
    replay,
};
use crate::{
    api::{ApiError, Stored, SupersedeRequest, Warning, WriteOutcome},
    domain::{ClaimId, EventKind, Qualifiers},
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        find, guard_calls,
        request_hash::request_hash,
        validate, wording,
    },
    store::{ClaimRow, EventDraft, Ref},
};

/// `POST /supersede`.
pub(in crate::engine) fn supersede(engine: &Engine, request: &SupersedeRequest) -> Result<WriteOutcome, ApiError> {
    validate::scope(&request.claim.caller)?;
    let targets = validate::ids("targets", &request.targets)?;
    if targets.is_empty() {
        return Err(ApiError::field("targets", "`targets` is empty: name at least one claim to replace"));
    }
    match &request.successor {
        Some(successor) => by_claim(engine, request, &targets, successor),
        None => by_text(engine, request, &targets),
    }
}

fn by_text(engine: &Engine, request: &SupersedeRequest, targets: &[String]) -> Result<WriteOutcome, ApiError> {
    // The kind is that of the first target unless the request names one. It decides which fields are required.
    let (kind, kept) = {
        let reader = engine.readers.lend();
        let first = find::claim(&reader, "targets", &targets[0])?;
        // An error in another target occurs again under the lock, and is reported there.
        let others = targets[1..].iter().filter_map(|target| find::claim(&reader, "targets", target).ok());
        let rows: Vec<ClaimRow> = std::iter::once(first).chain(others).collect();
        (rows[0].kind, kept_conditions(&rows, &guard_calls::day((engine.config.clock)())))
    };
    let mut draft = validate::draft(&request.claim, kind)?;
    if !request.drop_conditions {
        draft.qualifiers = validate::qualifiers(&draft.qualifiers.or(&kept))?;
    }
    let premises = validate::ids("depends_on", &request.claim.depends_on)?;
    let rules = validate::ids("exception_to", &request.claim.exception_to)?;
    let mut normalised = guard_calls::normalise(&engine.guard, draft.kind, &draft.statement, &draft.qualifiers);
    let keep = !request.claim.dry_run;
    let consider = request.claim.consider;
    let results = engine.ask_models_for_write(&request.claim.caller, &draft, &mut normalised, targets, keep, consider);
    engine.act_with_models(&request.claim.caller, request_hash("supersede", request), results, |context| {
        if let Some(answer) = replay::write(context)? {
            return Ok(answer);
        }
        let write_scope = WriteScope::of(context.reader(), &request.claim.caller)?;
        let replaces = match context.targets(&write_scope, targets, request.expect_rev)? {
            Targets::Active(rows) => rows,
            Targets::Stale(answer) => return Ok(*answer),
        };
        must_not_replace_guarded(draft.kind, &replaces)?;
        let premises = match context.premises(&write_scope, &premises, &replaces)? {
            Premises::Found(ids) => ids,
            Premises::Stale(answer) => return Ok(*answer),
        };
        let rules = match context.rules(&write_scope, &rules, &replaces)? {
            Targets::Active(rows) => rows,
            Targets::Stale(answer) => return Ok(*answer),
        };
        let claim = NewClaim {
            draft,
            normalised,
            replaces,
            premises,
            rules,
            change_reason: None,
            consider,
            promotes: Vec::new(),
            text_writer: None,
        };
        match context.persons_decision(&claim.replaces).cloned() {
            Some(theirs) if request.claim.dry_run => Err(replacement_needs_person(&theirs)
                .hint("without `dry_run`, the replacement waits on a card until a person settles it")),
            Some(theirs) => context.propose_to_replace(&write_scope, &claim, &theirs, None),
            None => context.store_claim(&write_scope, &claim, request.claim.dry_run),
        }
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
            .hint("replace with a new text or with an existing claim, not both"));
    }
    let successor = validate::id("successor", successor)?;
    let reason = validate::worded("reason", request.claim.reason.as_deref())?
        .ok_or_else(|| ApiError::field("reason", "superseding a claim needs a `reason`").hint("say what changed"))?;
    engine.act(&request.claim.caller, request_hash("supersede", request), |context| {
        if let Some(answer) = replay::write(context)? {
            return Ok(answer);
        }
        let write_scope = WriteScope::of(context.reader(), &request.claim.caller)?;
        let replaces = match context.targets(&write_scope, targets, request.expect_rev)? {
            Targets::Active(rows) => rows,
            Targets::Stale(answer) => return Ok(*answer),
        };
        let successor = context.find("successor", &successor)?;
        write_scope.require_same_scope("successor", &successor)?;
        if replaces.iter().any(|row| row.id == successor.id) {
            return Err(ApiError::field("successor", format!("claim {} cannot replace itself", successor.id.short())));
        }
        if let Some(stale) = context.stale(&successor, None)? {
            return Ok(stale);
        }
        must_not_replace_guarded(successor.kind, &replaces)?;
        if let Some(theirs) = context.persons_decision(&replaces) {
            return Err(replacement_needs_person(theirs).hint(ask_writer_hint(theirs)));
        }
        let superseded: Vec<ClaimId> = replaces.iter().map(|row| row.id).collect();
        let mut outcome = Stored {
            claim_id: successor.id,
            op_id: context.op,
            scope: write_scope.scope.clone(),
            duplicate: false,
            replayed: false,
            dry_run: request.claim.dry_run,
            superseded,
            warnings: write_scope.warning().into_iter().collect(),
            doubts: Vec::new(),
        };
        if !request.claim.dry_run {
            let draft = replaced_by(&replaces, successor.id, reason);
            let committed = context.commit(&write_scope, vec![draft], "supersede", summary(&replaces, &successor))?;
            outcome.warnings.extend(review_warning(&committed));
            outcome.warnings.extend(context.still_in_force(
                &write_scope,
                &replaces,
                &successor.statement,
                &committed,
            )?);
        }
        Ok(WriteOutcome::Stored(outcome))
    })
}

/// Returns the error for a replacement of a person's decision by an agent that may only propose.
fn replacement_needs_person(theirs: &ClaimRow) -> ApiError {
    let id = theirs.id.short();
    needs_person(format!("claim {id} was decided by a person, and agents may only propose to replace it here"))
}

/// Returns the conditions that a new text keeps from the claims which it replaces.
pub(in crate::engine) fn kept_conditions<'a>(rows: impl IntoIterator<Item = &'a ClaimRow>, today: &str) -> Qualifiers {
    Qualifiers::kept(rows.into_iter().map(|row| &row.qualifiers), today)
}

/// Returns the event by which an existing claim replaces others.
pub(in crate::engine) fn replaced_by(replaces: &[ClaimRow], successor: ClaimId, reason: String) -> EventDraft {
    let mut draft = EventDraft::new(EventKind::Supersede, replaces.iter().map(|row| Ref::Id(row.id)));
    draft.successor = Some(Ref::Id(successor));
    draft.body.reason = Some(reason);
    draft
}

/// Summarises the act in one sentence.
pub(in crate::engine) fn summary(replaces: &[ClaimRow], successor: &ClaimRow) -> String {
    let old: Vec<&str> = replaces.iter().map(|row| row.statement.as_str()).collect();
    format!("{} with {}", wording::summary("Replaced", &old), wording::quote(&successor.statement))
}

/// Refuses to replace a guarded claim by a fact: facts pass no guard and may change at any time, so this would be a way
/// around both.
pub(in crate::engine) fn must_not_replace_guarded(
    kind: crate::domain::ClaimKind,
    replaces: &[ClaimRow],
) -> Result<(), ApiError> {
    match replaces.iter().find(|row| row.kind.is_guarded() && !kind.is_guarded()) {
        Some(row) => {
            Err(ApiError::field("kind", format!("a fact cannot replace {}, which is a {}", row.id.short(), row.kind))
                .hint("leave `kind` out to keep its kind; or retract it with a reason, then remember the fact"))
        }
        None => Ok(()),
    }
}

/// The result of looking up the targets of a request.
pub(in crate::engine) enum Targets {
    /// All are active, belong to the scope and have the expected revision; each occurs once.
    Active(Vec<ClaimRow>),
    /// One of the targets is not active, or has changed.
    Stale(Box<WriteOutcome>),
}

impl ActContext<'_> {
    /// Tells the writer which conditions a new text has in common with the claims that it replaces.
    pub(in crate::engine) fn kept_conditions_warning(&self, claim: &NewClaim) -> Option<Warning> {
        let kept = kept_conditions(&claim.replaces, &self.today).shared(&claim.draft.qualifiers).holds()?;
        let of = if claim.replaces.len() == 1 { "the claim" } else { "the claims" };
        Some(Warning::new(
            Warning::CONDITIONS_KEPT,
            format!("it keeps the conditions of {of} that it replaces: {kept}"),
        ))
    }

    /// Looks up the claims to replace. `expect_rev` is the expected revision of the first one.
    pub(in crate::engine) fn targets(
        &self,
        write_scope: &WriteScope,
        prefixes: &[String],
        expect_rev: Option<u64>,
    ) -> Result<Targets, ApiError> {
        self.active("targets", write_scope, prefixes, expect_rev, WriteScope::require_same_scope)
    }

    /// Looks up the claims to which a new one is an exception: claims of its scope or of its organisation's level that
    /// it does not replace.
    pub(in crate::engine) fn rules(
        &self,
        write_scope: &WriteScope,
        prefixes: &[String],
        replaces: &[ClaimRow],
    ) -> Result<Targets, ApiError> {
        let rules = self.active("exception_to", write_scope, prefixes, None, WriteScope::require_in_force)?;
        if let Targets::Active(rows) = &rules
            && let Some(row) = rows.iter().find(|row| replaces.iter().any(|gone| gone.id == row.id))
        {
            return Err(ApiError::field(
                "exception_to",
                format!("claim {} is replaced by this write, so nothing can be an exception to it", row.id.short()),
            ));
        }
        Ok(rules)
    }

    fn active(
        &self,
        field: &str,
        write_scope: &WriteScope,
        prefixes: &[String],
        expect_rev: Option<u64>,
        must_be: fn(&WriteScope, &str, &ClaimRow) -> Result<(), ApiError>,
    ) -> Result<Targets, ApiError> {
        let mut rows: Vec<ClaimRow> = Vec::new();
        for (index, prefix) in prefixes.iter().enumerate() {
            let row = self.find(field, prefix)?;
            must_be(write_scope, field, &row)?;
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
