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
    let reason = form.text(FieldId::Reason);
    // Each of several cards may have a known reason of its own; if one has none, the preview says so.
    let needs_reason = match form.about {
        FormSubject::Card { act, .. } => act != CardAct::Snooze,
        FormSubject::Many { .. } => false,
        FormSubject::New => kind(form).is_guarded(),
        FormSubject::NewTeam | FormSubject::JoinTeam => return teams::build(form, caller),
        FormSubject::Held { .. } => return held_write::build(form, caller),
        FormSubject::Claim { .. } => true,
    };
    if form.about == FormSubject::New && form.text(FieldId::Statement).is_empty() {
        return Err((Some(FieldId::Statement), "enter the claim".to_owned()));
    }
    if needs_reason && reason.is_empty() {
        return Err((Some(FieldId::Reason), "enter a reason; it is stored with the claim".to_owned()));
    }
    match form.about {
        FormSubject::Card { id, act, merged, winner } => {
            let statement = form.text(FieldId::Statement);
            if merged && statement.is_empty() {
                return Err((Some(FieldId::Statement), "write the claim that replaces them".to_owned()));
            }
            let qualifiers = if act == CardAct::Narrow { qualifiers(form)? } else { Qualifiers::default() };
            let target = matches!(act, CardAct::Retract | CardAct::Narrow).then(|| chosen_target(form)).flatten();
            let request = ResolveRequest {
                caller,
                act,
                reason,
                winner: winner.map(ClaimId::to_hex),
                target: target.map(ClaimId::to_hex),
                statement: merged.then_some(statement),
                qualifiers,
                drop_conditions: false,
                until: (act == CardAct::Snooze).then(|| now + snoozed(form)),
                expect_rev: form.rev,
            };
            Ok(WriteRequest::Resolve { card: id.to_hex(), request })
        }
        FormSubject::Many { act, keep } => {
            let keep = match keep {
                KeepSide::First => Some(Keep::First),
                KeepSide::Second => Some(Keep::Second),
                KeepSide::Chosen => form.keeps.get(form.chosen(FieldId::Keep)).cloned(),
                KeepSide::Both => None,
            };
            let until = (act == CardAct::Snooze).then(|| now + snoozed(form));
            let cards = form.cards.clone();
            Ok(WriteRequest::ResolveMany(ResolveManyRequest { caller, cards, act, keep, reason, until, dry_run: true }))
        }
        FormSubject::NewTeam | FormSubject::JoinTeam => teams::build(form, caller),
        FormSubject::Held { .. } => held_write::build(form, caller),
        FormSubject::New => Ok(WriteRequest::Remember(Box::new(RememberRequest {
            caller,
            statement: form.text(FieldId::Statement),
            kind: Some(kind(form)),
            reason: Some(reason).filter(|reason| !reason.is_empty()),
            source: Some(form.text(FieldId::Source)).filter(|source| !source.is_empty()),
            consider: true,
            ..RememberRequest::default()
        }))),
        FormSubject::Claim { id, act } => {
            let also: Vec<String> = form.members.iter().map(|id| id.to_hex()).collect();
            let request =
                |caller| ActRequest { caller, target: id.to_hex(), also, reason: reason.clone(), expect_rev: form.rev };
            Ok(match act {
                ClaimAct::Retract => WriteRequest::Retract(request(caller)),
                ClaimAct::Reinstate => WriteRequest::Reinstate(request(caller)),
                ClaimAct::Reviewed => WriteRequest::Reviewed(request(caller)),
                ClaimAct::Redact => WriteRequest::Redact(request(caller)),
                ClaimAct::Supersede => {
                    let statement = form.text(FieldId::Statement);
                    if statement.is_empty() {
                        return Err((Some(FieldId::Statement), "write the claim that replaces it".to_owned()));
                    }
                    let claim = RememberRequest {
                        caller,
                        statement,
                        reason: Some(reason.clone()),
                        consider: true,
                        ..RememberRequest::default()
                    };
                    WriteRequest::Supersede(SupersedeRequest {
                        targets: vec![id.to_hex()],
                        expect_rev: form.rev,
                        claim,
                        ..SupersedeRequest::default()
                    })
                }
            })
        }
    }
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
