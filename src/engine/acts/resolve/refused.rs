//! Settles the card of a refused write.

use super::{Plan, Resolution, Settling, local, pick};
use crate::{
    api::{ApiError, CardAct, ErrorCode, Refused, Warning, WriteOutcome},
    domain::{ClaimId, EventKind, ResolveAct},
    engine::{
        act_context::{ActContext, WriteScope, of_the_organisation},
        acts::{
            new_claim::NewClaim,
            notice,
            propose::needs_person,
            refuse,
            refused_write::{RefusedWrite, Rewording, must_narrow},
            retract,
        },
        guard_result::GuardResult,
        validate, wording,
    },
    store::{CardRow, ClaimRow, EventDraft, Ref},
};

pub(super) fn settle(context: &ActContext<'_>, card: &CardRow, resolution: &Resolution) -> Result<Plan, ApiError> {
    let refused_write = context.refused_write_as_shown(card)?;
    match resolution.act {
        CardAct::Supersede if resolution.merges() => merge(context, card, resolution, &refused_write),
        CardAct::Supersede => supersede(context, card, resolution, &refused_write),
        CardAct::Retract => retract_side(context, card, resolution, &refused_write),
        CardAct::Narrow => narrow(context, card, resolution, &refused_write),
        CardAct::Exception | CardAct::Dismiss => keep_both(context, card, resolution, &refused_write),
        CardAct::Discard | CardAct::Snooze | CardAct::Yes | CardAct::No => {
            Err(ApiError::internal("internal error: a local act was routed to the shared log"))
        }
    }
}

/// Returns the hint who can settle a card.
fn ask_to_settle(who: &str, card: &CardRow) -> String {
    format!("ask {who} to settle the card: `ergo tui --conflict {}`", card.id.short())
}

/// Refuses an exception, a dismissal or a snooze by an agent, if agents may only propose.
pub(super) fn must_be_allowed_to_except(
    context: &ActContext<'_>,
    card: &CardRow,
    act: CardAct,
) -> Result<(), ApiError> {
    if context.may_except() {
        return Ok(());
    }
    let what = match act {
        CardAct::Exception => "an exception",
        CardAct::Snooze => "a snooze",
        _ => "a dismissal",
    };
    Err(needs_person(format!("{what} needs a person's approval here: agents may only propose"))
        .hint(ask_to_settle("a person", card)))
}

/// Refuses the retraction of a person's claim by an agent, if agents may only propose.
pub(super) fn must_be_allowed_to_retract(context: &ActContext<'_>, claim: &ClaimRow) -> Result<(), ApiError> {
    if context.may_retract(claim) {
        return Ok(());
    }
    let id = claim.id.short();
    Err(needs_person(format!("claim {id} was written by a person, and agents may only propose to retract it here"))
        .hint(format!("propose it with `ergo retract {id}`, or leave the card to a person")))
}

/// Refuses to discard a person's refused write by an agent, if agents may only propose.
pub(super) fn must_be_allowed_to_discard(
    context: &ActContext<'_>,
    card: &CardRow,
    new_claim: &ClaimRow,
) -> Result<(), ApiError> {
    if context.may_retract(new_claim) {
        return Ok(());
    }
    let id = card.id.short();
    Err(needs_person(format!("the new claim on card {id} was written by a person, and agents may not discard it here"))
        .hint(ask_to_settle(&new_claim.who, card)))
}

/// Refuses to replace or narrow a person's decision by an agent, if agents may only propose.
pub(super) fn must_be_allowed_to_replace(
    context: &ActContext<'_>,
    card: &CardRow,
    claims: &[ClaimRow],
) -> Result<(), ApiError> {
    let Some(theirs) = context.persons_decision(claims) else { return Ok(()) };
    let id = theirs.id.short();
    Err(needs_person(format!("claim {id} was decided by a person, and agents may not replace or narrow it here"))
        .hint(ask_to_settle(&theirs.who, card)))
}

/// Stores the new claim, which replaces what opposes it, or discards it if the other side wins.
fn supersede(
    context: &ActContext<'_>,
    card: &CardRow,
    resolution: &Resolution,
    refused_write: &RefusedWrite,
) -> Result<Plan, ApiError> {
    let mut sides = refused_write.opposed.clone();
    sides.push(refused_write.row.clone());
    // If nothing opposes the new claim any more, it is the only side.
    let winner = match (&resolution.winner, refused_write.opposed.is_empty()) {
        (None, true) => &refused_write.row,
        _ => pick(card, "winner", resolution.side("winner")?, &sides)?,
    };
    if winner.id != refused_write.row.id {
        must_be_allowed_to_discard(context, card, &refused_write.row)?;
        let summary = format!(
            "Kept {}; discarded {}",
            wording::quote(&winner.statement),
            wording::quote(&refused_write.row.statement)
        );
        // What replaced a claim on the card is not one of its members.
        let kept: Vec<ClaimId> = refused_write.opposed.iter().map(|row| row.id).collect();
        let draft = refuse::settled_keeping(card, &kept, Some(resolution.reason.clone()));
        return Ok(Settling::plan(vec![draft], summary));
    }
    must_be_of_scope(card, "winner", &refused_write.opposed)?;
    must_be_allowed_to_replace(context, card, &refused_write.opposed)?;
    let text = Rewording { change_reason: Some(resolution.reason.clone()), ..Rewording::default() };
    let claim = context.claim_from_refused(refused_write, refused_write.opposed.clone(), text)?;
    store(context, card, resolution, claim, Extra::default())
}

/// Stores a merged text, which replaces the new claim and what opposed it.
fn merge(
    context: &ActContext<'_>,
    card: &CardRow,
    resolution: &Resolution,
    refused_write: &RefusedWrite,
) -> Result<Plan, ApiError> {
    must_be_of_scope(card, "statement", &refused_write.opposed)?;
    must_be_allowed_to_replace(context, card, &refused_write.opposed)?;
    let sides: Vec<&ClaimRow> = std::iter::once(&refused_write.row).chain(&refused_write.opposed).collect();
    let model = resolution.merged_like(&refused_write.row, sides.iter().copied(), &context.today);
    let replaces = refused_write.opposed.clone();
    let premises = refused_write.proposal.depends_on.iter().chain(replaces.iter().flat_map(|row| &row.premises));
    let premises = context.kept_premises(&card.scope, premises, &replaces)?;
    let claim = context.reword(&model, replaces, premises, resolution.text.clone())?;
    validate::qualifiers(&claim.draft.qualifiers)?;
    let old: Vec<&str> = sides.iter().map(|row| row.statement.as_str()).collect();
    let extra = Extra {
        warning: context.kept_conditions_warning(&claim),
        full_summary: Some(wording::merged(&old, &claim.draft.statement)),
        ..Extra::default()
    };
    store(context, card, resolution, claim, extra)
}

/// Returns the side that the request names as its target: one of the opposed claims, or the new one.
fn named_side(card: &CardRow, resolution: &Resolution, refused_write: &RefusedWrite) -> Result<ClaimRow, ApiError> {
    let mut sides = refused_write.opposed.clone();
    sides.push(refused_write.row.clone());
    Ok(pick(card, "target", resolution.side("target")?, &sides)?.clone())
}

/// Retracts an opposing claim as never right, and stores the new one; if the target is the new claim, discards it.
fn retract_side(
    context: &ActContext<'_>,
    card: &CardRow,
    resolution: &Resolution,
    refused_write: &RefusedWrite,
) -> Result<Plan, ApiError> {
    let target = named_side(card, resolution, refused_write)?;
    if target.id == refused_write.row.id {
        return local::discard(context, card, resolution);
    }
    must_be_of_scope(card, "target", std::slice::from_ref(&target))?;
    must_be_allowed_to_retract(context, &target)?;
    let replaces = refused_write.wanted().into_iter().filter(|row| row.id != target.id).collect();
    let claim = context.claim_from_refused(refused_write, replaces, Rewording::default())?;
    let extra = Extra {
        after: std::iter::once(retract::event(&target, resolution.reason.clone()))
            .chain(notice::of_retract(context, &target))
            .collect(),
        aside: vec![target.id],
        other_side: Some(wording::summary("Retracted", &[&target.statement])),
        ..Extra::default()
    };
    store(context, card, resolution, claim, extra)
}

/// Limits one side to a condition, so that both hold.
fn narrow(
    context: &ActContext<'_>,
    card: &CardRow,
    resolution: &Resolution,
    refused_write: &RefusedWrite,
) -> Result<Plan, ApiError> {
    let target = named_side(card, resolution, refused_write)?;
    // Who states a condition that the new claim already has declares that both hold.
    if target.id != refused_write.row.id || !resolution.text.repeats_conditions(&target) {
        must_narrow(&target, &resolution.text)?;
    }
    // Even if the new claim is narrowed, it is stored beside what opposes it.
    must_be_allowed_to_replace(context, card, &refused_write.opposed)?;
    let sentence = resolution.narrowed(&target);
    if target.id == refused_write.row.id {
        let claim = context.claim_from_refused(refused_write, refused_write.wanted(), resolution.narrowing())?;
        let aside = refused_write.against();
        let members = std::iter::once(Ref::Draft(0)).chain(aside.iter().copied().map(Ref::Id));
        let after = vec![narrowing(members.collect(), resolution, None)];
        return store(
            context,
            card,
            resolution,
            claim,
            Extra { after, aside, full_summary: Some(sentence), ..Extra::default() },
        );
    }
    // The person declares that both hold from now on. The other claims of the card must still be compatible with the
    // new one.
    let write_scope = WriteScope::at(&card.scope);
    let (replaces, narrows) = replaced_by_narrowing(card, &target);
    let premises = context.kept_premises(&card.scope, &target.premises, &replaces)?;
    let narrowed = context.reword(&target, replaces, premises, resolution.narrowing())?;
    let members: Vec<ClaimId> = refused_write.opposed.iter().map(|row| row.id).collect();
    let judged = context.judge(&narrowed.incoming(&write_scope, &members))?;
    if judged.blocks() {
        return Ok(refuse(context, card, judged));
    }
    let replaces = refused_write.wanted().into_iter().filter(|row| row.id != target.id).collect();
    let claim = context.claim_from_refused(refused_write, replaces, Rewording::default())?;
    let narrowed_at = claim.drafts(0, &[]).len();
    let mut after = narrowed.drafts(narrowed_at, &[]);
    after.push(narrowing(vec![Ref::Draft(narrowed_at), Ref::Draft(0), Ref::Id(target.id)], resolution, narrows));
    let extra = Extra { after, aside: vec![target.id], other_side: Some(sentence), ..Extra::default() };
    store(context, card, resolution, claim, extra)
}

/// Returns the event that names the claims which hold side by side because one of them was narrowed. `narrows`: the
/// claim of the organisation's level that the first one replaces in this project.
pub(super) fn narrowing(members: Vec<Ref>, resolution: &Resolution, narrows: Option<ClaimId>) -> EventDraft {
    let mut draft = EventDraft::new(EventKind::Resolve(ResolveAct::Narrow), members);
    draft.body.reason = Some(resolution.reason.clone());
    draft.body.data = narrows.map(|claim| serde_json::json!({ "narrows": claim }).to_string());
    draft
}

/// Returns what the narrowed form of a claim replaces: the claim itself, as a list; or, if the claim is of the
/// organisation's level, an empty list and the claim's id, because the narrowed form stands for it in this project
/// only.
pub(super) fn replaced_by_narrowing(card: &CardRow, target: &ClaimRow) -> (Vec<ClaimRow>, Option<ClaimId>) {
    if target.scope == card.scope { (vec![target.clone()], None) } else { (Vec::new(), Some(target.id)) }
}

/// Refuses to change claims of the organisation's level from the card of a project.
pub(super) fn must_be_of_scope(card: &CardRow, field: &str, claims: &[ClaimRow]) -> Result<(), ApiError> {
    match claims.iter().find(|row| row.scope != card.scope) {
        Some(row) => Err(of_the_organisation(field, row)),
        None => Ok(()),
    }
}

/// Keeps both sides: as an exception, or because they do not contradict each other.
fn keep_both(
    context: &ActContext<'_>,
    card: &CardRow,
    resolution: &Resolution,
    refused_write: &RefusedWrite,
) -> Result<Plan, ApiError> {
    let exception = resolution.act == CardAct::Exception;
    must_be_allowed_to_except(context, card, resolution.act)?;
    let claim = context.claim_from_refused(refused_write, refused_write.wanted(), Rewording::default())?;
    let against = refused_write.against();
    let mut extra = Extra { aside: against.clone(), ..Extra::default() };
    if !against.is_empty() {
        let act = if exception { ResolveAct::Exception } else { ResolveAct::Dismiss };
        let mut members: Vec<Ref> =
            std::iter::once(Ref::Draft(0)).chain(against.iter().copied().map(Ref::Id)).collect();
        // The exception comes first: the refused write, unless another side is named.
        if let Some(target) = resolution.target.as_ref().filter(|_| exception) {
            let mut sides = refused_write.opposed.clone();
            sides.push(refused_write.row.clone());
            let target = pick(card, "target", target, &sides)?.id;
            let first = if target == refused_write.row.id { Ref::Draft(0) } else { Ref::Id(target) };
            members.sort_by_key(|member| *member != first);
        }
        let mut draft = EventDraft::new(EventKind::Resolve(act), members);
        draft.body.reason = Some(resolution.reason.clone());
        extra.after.push(draft);
        extra.after.extend(notice::of_card(context, Ref::Draft(0), against, !exception));
    }
    store(context, card, resolution, claim, extra)
}

/// Additions to the act that stores the new claim.
#[derive(Default)]
struct Extra {
    /// Events of the same act, after those of the claim.
    after: Vec<EventDraft>,
    /// Claims that this act settles, so the guard does not compare them again.
    aside: Vec<ClaimId>,
    /// A sentence about the other side, put before the one about the new claim.
    other_side: Option<String>,
    warning: Option<Warning>,
    /// The whole summary, if it already says what is stored.
    full_summary: Option<String>,
}

/// Stores the new claim, in any form, and settles its card. The guard checks the claim again.
fn store(
    context: &ActContext<'_>,
    card: &CardRow,
    resolution: &Resolution,
    claim: NewClaim,
    extra: Extra,
) -> Result<Plan, ApiError> {
    let write_scope = WriteScope::at(&card.scope);
    let mut exclude = claim.replaced();
    exclude.extend(&extra.aside);
    let judged = context.judge(&claim.incoming(&write_scope, &exclude))?;
    if judged.blocks() {
        return Ok(refuse(context, card, judged));
    }
    let draft = &claim.draft;
    let duplicate = context.reader().duplicate(&card.scope, draft.kind, &draft.statement, &draft.qualifiers, None)?;
    if let Some(id) = duplicate.filter(|id| !exclude.contains(id)) {
        return Err(ApiError::new(
            ErrorCode::Stale,
            format!("the active claim {} already says exactly this", id.short()),
        )
        .hint("discard the refused write: nothing is lost"));
    }
    let mut drafts = claim.drafts(0, &[]);
    drafts.extend(extra.after);
    drafts.extend(notice::of_write(context, &judged, false));
    drafts.push(refuse::settled(card, resolution.act.as_str(), Some(Ref::Draft(0)), Some(resolution.reason.clone())));
    let summary = extra.full_summary.unwrap_or_else(|| summary(resolution.act, &claim, extra.other_side));
    let new = claim.draft.statement.clone();
    let change = Some((claim.replaces, new));
    let warnings = judged.warnings.into_iter().chain(extra.warning).collect();
    Ok(Plan::Commit(Settling { drafts, summary, warnings, change, reinstates: None }))
}

fn summary(act: CardAct, claim: &NewClaim, other_side: Option<String>) -> String {
    let new = wording::quote(&claim.draft.statement);
    let old: Vec<&str> = claim.replaces.iter().map(|row: &ClaimRow| row.statement.as_str()).collect();
    let stored = match (act, old.is_empty()) {
        (CardAct::Exception, true) => format!("Stored {new} as an exception"),
        (CardAct::Dismiss, true) => format!("Stored {new}: no contradiction"),
        (_, true) => format!("Stored {new}"),
        (_, false) => format!("{} by {new}", wording::summary("Superseded", &old)),
    };
    match other_side {
        Some(other_side) => format!("{other_side}. {stored}"),
        None => stored,
    }
}

fn refuse(context: &ActContext<'_>, card: &CardRow, judged: GuardResult) -> Plan {
    Plan::Answer(Box::new(WriteOutcome::Conflict(Refused {
        ways_on: wording::ways_to_settle(&judged.conflicts),
        conflicts: judged.conflicts,
        card_id: Some(card.id),
        settled: None,
        unsettled: true,
        scope: card.scope.clone(),
        may_only_propose: context.may_only_propose(),
    })))
}
