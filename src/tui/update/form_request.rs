//! Makes a request from a filled form. A missing value is reported at its field.

use jiff::civil::Date;

use super::{form_setup::chosen_target, held_write, teams};
use crate::{
    api::{ActRequest, Caller, CardAct, Keep, RememberRequest, ResolveManyRequest, ResolveRequest, SupersedeRequest},
    domain::{ClaimId, ClaimKind, Qualifiers},
    tui::{
        msg::WriteRequest,
        state::form::{ActForm, ClaimAct, FieldId, FormSubject, KeepSide, SNOOZES},
    },
};

/// An error in a form: the field, and the message.
pub(super) type Problem = (Option<FieldId>, String);

/// Returns the request of a form. `now`: milliseconds since the Unix epoch.
pub(super) fn build(form: &ActForm, caller: Caller, now: u64) -> Result<WriteRequest, Problem> {
    match form.about {
        FormSubject::Card { id, act, merged, winner } => {
            let winner = winner.map(ClaimId::to_hex);
            let request = ResolveRequest { winner, ..resolve(form, caller, now, act, merged)? };
            Ok(WriteRequest::Resolve { card: id.to_hex(), request })
        }
        FormSubject::Many { act, keep } => Ok(WriteRequest::ResolveMany(resolve_many(form, caller, now, act, keep))),
        FormSubject::New => Ok(WriteRequest::Remember(Box::new(remember(form, caller)?))),
        FormSubject::NewTeam | FormSubject::JoinTeam => teams::build(form, caller),
        FormSubject::Held { .. } => held_write::build(form, caller),
        FormSubject::Claim { id, act } => act_on_claim(form, caller, id, act),
    }
}

fn resolve(form: &ActForm, caller: Caller, now: u64, act: CardAct, merged: bool) -> Result<ResolveRequest, Problem> {
    let reason = if act == CardAct::Snooze { form.text(FieldId::Reason) } else { reason(form)? };
    let statement =
        merged.then(|| required(form, FieldId::Statement, "write the claim that replaces them")).transpose()?;
    let qualifiers = if act == CardAct::Narrow { qualifiers(form)? } else { Qualifiers::default() };
    let target = matches!(act, CardAct::Retract | CardAct::Narrow).then(|| chosen_target(form)).flatten();
    Ok(ResolveRequest {
        caller,
        act,
        reason,
        winner: None,
        target: target.map(ClaimId::to_hex),
        statement,
        qualifiers,
        drop_conditions: false,
        until: (act == CardAct::Snooze).then(|| now + snoozed(form)),
        expect_rev: form.rev,
    })
}

/// Each of the cards may have a known reason of its own; if one has none, the preview says so.
fn resolve_many(form: &ActForm, caller: Caller, now: u64, act: CardAct, keep: KeepSide) -> ResolveManyRequest {
    let keep = match keep {
        KeepSide::First => Some(Keep::First),
        KeepSide::Second => Some(Keep::Second),
        KeepSide::Chosen => form.keeps.get(form.chosen(FieldId::Keep)).cloned(),
        KeepSide::Both => None,
    };
    let until = (act == CardAct::Snooze).then(|| now + snoozed(form));
    let (cards, reason) = (form.cards.clone(), form.text(FieldId::Reason));
    ResolveManyRequest { caller, cards, act, keep, reason, until, dry_run: true }
}

fn remember(form: &ActForm, caller: Caller) -> Result<RememberRequest, Problem> {
    let statement = required(form, FieldId::Statement, "enter the claim")?;
    let kind = kind(form);
    let reason = if kind.is_guarded() { reason(form)? } else { form.text(FieldId::Reason) };
    Ok(RememberRequest {
        caller,
        statement,
        kind: Some(kind),
        reason: Some(reason).filter(|reason| !reason.is_empty()),
        source: Some(form.text(FieldId::Source)).filter(|source| !source.is_empty()),
        consider: true,
        ..RememberRequest::default()
    })
}

fn act_on_claim(form: &ActForm, caller: Caller, id: ClaimId, act: ClaimAct) -> Result<WriteRequest, Problem> {
    let reason = reason(form)?;
    let also: Vec<String> = form.members.iter().map(|id| id.to_hex()).collect();
    let request = |caller, reason| ActRequest { caller, target: id.to_hex(), also, reason, expect_rev: form.rev };
    Ok(match act {
        ClaimAct::Retract => WriteRequest::Retract(request(caller, reason)),
        ClaimAct::Reinstate => WriteRequest::Reinstate(request(caller, reason)),
        ClaimAct::Reviewed => WriteRequest::Reviewed(request(caller, reason)),
        ClaimAct::Redact => WriteRequest::Redact(request(caller, reason)),
        ClaimAct::Supersede => {
            let statement = required(form, FieldId::Statement, "write the claim that replaces it")?;
            WriteRequest::Supersede(SupersedeRequest {
                targets: vec![id.to_hex()],
                expect_rev: form.rev,
                claim: RememberRequest {
                    caller,
                    statement,
                    reason: Some(reason),
                    consider: true,
                    ..RememberRequest::default()
                },
                ..SupersedeRequest::default()
            })
        }
    })
}

/// Returns the text of a field, or the message if it is empty.
fn required(form: &ActForm, field: FieldId, missing: &str) -> Result<String, Problem> {
    Some(form.text(field)).filter(|text| !text.is_empty()).ok_or_else(|| (Some(field), missing.to_owned()))
}

fn reason(form: &ActForm) -> Result<String, Problem> {
    required(form, FieldId::Reason, "enter a reason; it is stored with the claim")
}

/// Returns the chosen kind.
fn kind(form: &ActForm) -> ClaimKind {
    ClaimKind::ALL.get(form.chosen(FieldId::Kind)).copied().unwrap_or(ClaimKind::Decision)
}

/// Returns the chosen snooze period in milliseconds.
fn snoozed(form: &ActForm) -> u64 {
    SNOOZES.get(form.chosen(FieldId::Snooze)).map_or(24, |(_, hours)| *hours) * 3_600_000
}

fn qualifiers(form: &ActForm) -> Result<Qualifiers, Problem> {
    let get = |id| Some(form.text(id)).filter(|text| !text.is_empty());
    for id in [FieldId::From, FieldId::Until] {
        if let Some(text) = get(id)
            && text.parse::<Date>().is_err()
        {
            return Err((Some(id), format!("invalid date “{text}”: write it as 2026-11-22")));
        }
    }
    let qualifiers = Qualifiers {
        env: get(FieldId::Env),
        team: get(FieldId::Team),
        tenant: get(FieldId::Tenant),
        valid_from: get(FieldId::From),
        valid_until: get(FieldId::Until),
    };
    if qualifiers.is_empty() {
        return Err((Some(FieldId::Env), "fill in at least one: environment, team, tenant or a date".to_owned()));
    }
    Ok(qualifiers)
}
