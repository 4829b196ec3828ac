//! Creates the form of an act: its fields and their prefilled values.

use std::fmt::Write;

use crate::{
    api::{CardAct, CardKind, CardSide, ClaimView, Stale},
    domain::{ClaimId, ClaimKind, Qualifiers, Scope, Status, ago},
    tui::{
        key::KeyPress,
        state::{
            AppState,
            conflicts::Card,
            form::{ActForm, ClaimAct, Field, FieldId, FieldInput, FormSubject, SNOOZES, one_line, several_lines},
            marks::ClaimMark,
        },
    },
};

/// Returns the form of an act on a card. `winner` is the index of the side that stays; `None` with supersede means a
/// merged claim. `now`: milliseconds since the Unix epoch.
pub(super) fn card(card: &Card, act: CardAct, winner: Option<usize>, now: u64) -> ActForm {
    let summary = &card.view.summary;
    let merged = act == CardAct::Supersede && winner.is_none();
    let stays = winner.and_then(|index| card.view.sides.get(index)).map(|side| side.claim.id);
    let mut fields = Vec::new();
    let sides: Vec<usize> =
        (0..card.view.sides.len()).filter(|side| card.view.can_act_on(act, *side).is_ok()).collect();
    if matches!(act, CardAct::Retract | CardAct::Narrow) && card.b().is_some() {
        fields.push(target(card, act, &sides));
    }
    if merged {
        let text = card.a().map_or("", |side| side.claim.statement.as_str());
        fields.push(text_field(FieldId::Statement, "Merged claim", "one claim that replaces them", text));
    }
    if act == CardAct::Narrow {
        fields.extend([
            line_field(FieldId::Env, "Environment", "prod, staging, dev…"),
            line_field(FieldId::Team, "Team", "such as mobile, payments"),
            line_field(FieldId::Tenant, "Tenant", "such as acme"),
            line_field(FieldId::From, "From", "first date, YYYY-MM-DD"),
            line_field(FieldId::Until, "Until", "last date, YYYY-MM-DD"),
        ]);
    }
    if act == CardAct::Snooze {
        fields.push(snooze_field());
    } else {
        let prefill = card.option(act).and_then(|option| option.prefill.as_deref());
        // The reason of the side that stays is also why the other side gives way; the reason of another side would say
        // the opposite.
        let stays = winner.and_then(|index| card.view.sides.get(index));
        let reason = stays.map_or(prefill, |side| side.claim.own_reason());
        fields.push(text_field(FieldId::Reason, "Reason", "the reason, stored with the claim", reason.unwrap_or("")));
    }
    let (title, mut effect) = title_and_effect(card, act, winner);
    if merged {
        let replaced = card.view.sides.iter().filter(|side| side.takes_acts() || card.view.none_is_active());
        effect.push_str(&carried_over(replaced.map(|side| &side.claim), now));
    }
    let about = FormSubject::Card { id: summary.id, act, merged, winner: stays };
    ActForm {
        rev: Some(summary.rev),
        members: sides.iter().filter_map(|side| card.view.sides.get(*side)).map(|side| side.claim.id).collect(),
        ..plain(about, title, effect, summary.scope.clone(), fields)
    }
}

/// Returns the form of an act on a claim. `now`: milliseconds since the Unix epoch.
pub(super) fn claim(claim: &ClaimView, act: ClaimAct, now: u64) -> ActForm {
    let id = claim.id.short();
    let (title, effect) = match act {
        ClaimAct::Supersede => {
            let kept = carried_over([claim], now);
            (
                format!("Supersede {id}"),
                format!("The new claim replaces it. The guard checks the new claim first.{kept}"),
            )
        }
        ClaimAct::Retract => (
            format!("Retract {id}"),
            with_dependents(claim, "It was never right: it becomes inactive and stays in the history."),
        ),
        ClaimAct::Reinstate => (format!("Reinstate {id}"), "It becomes active again.".to_owned()),
        ClaimAct::Reviewed => (
            format!("Mark {id} as reviewed"),
            "The claim still holds, although a claim that it depends on changed.".to_owned(),
        ),
        ClaimAct::Redact => (
            format!("Redact {id}"),
            "Its text is deleted everywhere, for good. The record without the text stays. You are asked once more."
                .to_owned(),
        ),
    };
    let mut fields = Vec::new();
    if act == ClaimAct::Supersede {
        fields.push(text_field(FieldId::Statement, "New claim", "the new statement", &claim.statement));
    }
    fields.push(text_field(FieldId::Reason, "Reason", "the reason, stored with the claim", ""));
    let about = FormSubject::Claim { id: claim.id, act };
    ActForm { rev: Some(claim.rev), ..plain(about, title, effect, claim.scope.clone(), fields) }
}

/// Returns the form that marks claims of one scope as reviewed, without checking their revisions, which are not shown.
pub(super) fn reviewed(first: &ClaimMark, rest: &[ClaimMark]) -> ActForm {
    let about = FormSubject::Claim { id: first.id, act: ClaimAct::Reviewed };
    let (title, effect) = if rest.is_empty() {
        (
            format!("Mark {} as reviewed", first.id.short()),
            "It stays as it is and leaves the Inbox. Undo brings it back.",
        )
    } else {
        let title = format!("{} claims: mark as reviewed", rest.len() + 1);
        (title, "They stay as they are and leave the Inbox. One undo brings them back.")
    };
    let fields = vec![text_field(FieldId::Reason, "Reason", "why", "")];
    ActForm {
        members: rest.iter().map(|mark| mark.id).collect(),
        ..plain(about, title, effect.to_owned(), first.scope.clone(), fields)
    }
}

/// Returns the form of a new claim in a scope. If there are other scopes, the form asks which one.
pub(super) fn new_claim(scope: Scope, others: &[Scope]) -> ActForm {
    let options = ClaimKind::ALL.iter().map(|kind| kind.as_str().to_owned()).collect();
    let mut fields = vec![
        text_field(FieldId::Statement, "Claim", "the claim, in a sentence", ""),
        text_field(FieldId::Reason, "Reason", "why; a fact needs none", ""),
        Field::new(FieldId::Kind, "Kind", "", FieldInput::Choice { options, chosen: 0 }),
        line_field(FieldId::Source, "Source", "path:line, a document, a URL"),
    ];
    if !others.is_empty() {
        let options = std::iter::once(&scope).chain(others).map(ToString::to_string).collect();
        fields.push(Field::new(FieldId::Scope, "Scope", "", FieldInput::Choice { options, chosen: 0 }));
    }
    let effect = "The guard compares it with the active claims before it is stored.".to_owned();
    plain(FormSubject::New, "Add a claim".to_owned(), effect, scope, fields)
}

/// Returns a form with the given fields, the focus on the first one, and all else empty.
pub(super) fn plain(about: FormSubject, title: String, effect: String, scope: Scope, fields: Vec<Field>) -> ActForm {
    ActForm {
        about,
        title,
        effect,
        scope,
        rev: None,
        members: Vec::new(),
        cards: Vec::new(),
        keeps: Vec::new(),
        token: String::new(),
        held_statement: String::new(),
        withdraws: None,
        fields,
        focus: 0,
        error: None,
        outdated: None,
        sending: false,
        sent: None,
        opener: None,
        painted: false,
    }
}

/// Restores the draft of the same form into a form, and records the key that opened it.
pub(super) fn with_draft(state: &mut AppState, mut form: ActForm, key: Option<KeyPress>) -> ActForm {
    if let Some(draft) = state.drafts.remove(&form.about) {
        form.restore(draft);
    }
    form.opener = key.map(|key| (key, state.now));
    form
}

/// Adapts a form to its target, which has changed since the form was opened.
///
/// # Errors
/// If the act is no longer possible: the reason, unless the answer says it already.
pub(super) fn after_change(form: &mut ActForm, stale: &Stale, now: u64) -> Result<(), Option<String>> {
    match (form.about, &stale.card, &stale.claim) {
        // A question that was answered, or a write that was withdrawn.
        (FormSubject::Held { .. }, ..) => Err(None),
        (FormSubject::Card { .. }, Some(view), _) if view.settled.is_some() => Err(None),
        (FormSubject::Card { act, winner, .. }, Some(view), _) => {
            let card = Card::new((**view).clone());
            card.can(act).map_err(Some)?;
            let kept = winner.and_then(|id| view.sides.iter().position(|side| side.claim.id == id));
            match kept {
                Some(kept) => view.can_act_on(act, kept).map_err(Some)?,
                None if winner.is_some() => return Err(Some("the claim is no longer on the card".to_owned())),
                None => {}
            }
            let fresh = self::card(&card, act, kept, now);
            let draft = std::mem::replace(form, fresh);
            form.restore(draft);
            Ok(())
        }
        (FormSubject::Claim { act, .. }, _, Some(claim)) => {
            let active = claim.status == Status::Active;
            form.rev = Some(claim.rev);
            if active == (act == ClaimAct::Reinstate) { Err(None) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

/// Says what a new text keeps from the claims that it replaces, and what not: their conditions, and the decision that
/// one stands beside another claim. Each sentence begins with a space; empty if there is nothing to say.
fn carried_over<'a>(replaced: impl IntoIterator<Item = &'a ClaimView>, now: u64) -> String {
    let replaced: Vec<&ClaimView> = replaced.into_iter().collect();
    let kept = Qualifiers::kept(replaced.iter().map(|claim| &claim.qualifiers), &ago::day(now));
    let mut out = kept.holds().map_or_else(String::new, |kept| format!(" It keeps the conditions: {kept}."));
    let mut lost: Vec<String> =
        replaced.iter().filter_map(|claim| claim.qualifiers.without(&kept).conditions()).collect();
    lost.dedup();
    if !lost.is_empty() {
        let _fine = write!(out, " Not kept, since not all have them: {}.", lost.join("; "));
    }
    for other in replaced.iter().flat_map(|claim| &claim.beside) {
        let (label, _) = other.words();
        let statement = crate::tui::text::fit(&other.statement, 60);
        let _fine = write!(
            out,
            " The old claim stands beside “{statement}” ({label}); the guard compares the new one with it."
        );
    }
    out
}

fn with_dependents(claim: &ClaimView, effect: &str) -> String {
    match claim.dependents {
        0 => effect.to_owned(),
        1 => format!("{effect} One claim depends on it and will need review."),
        n => format!("{effect} {n} claims depend on it and will need review."),
    }
}

/// Returns the title of a form, and a sentence that says what the act will do.
fn title_and_effect(card: &Card, act: CardAct, winner: Option<usize>) -> (String, String) {
    let quoted = |index: usize| {
        let claim = card.view.sides.get(index).map(|side| &side.claim);
        // The sentence goes on after it.
        let text = claim.map_or("", |claim| claim.statement.trim_end_matches('.'));
        // Two scopes may have the same statement.
        let other = claim.map(|claim| &claim.scope).filter(|scope| **scope != card.view.summary.scope);
        let scope = other.map_or_else(String::new, |scope| format!(" of {scope}"));
        let holds = claim.and_then(|claim| claim.qualifiers.conditions());
        let holds = holds.map_or_else(String::new, |holds| format!(" ({holds})"));
        format!("“{}”{holds}{scope}", crate::tui::text::fit(text, 60))
    };
    let others = |kept: usize| {
        let takes_acts = |side: &CardSide| side.takes_acts() || card.view.none_is_active();
        let gives_way = |index: &usize| *index != kept && card.view.sides.get(*index).is_some_and(takes_acts);
        let rest: Vec<String> = (0..card.view.sides.len()).filter(gives_way).map(quoted).collect();
        rest.join(" and ")
    };
    let new_claim = card.a().is_some_and(|side| side.new_claim);
    let proposed = card.view.summary.kind == CardKind::Proposed;
    let (title, effect) = match (act, winner) {
        (CardAct::Supersede, Some(0)) if new_claim => match others(0) {
            none if none.is_empty() => ("Keep new", "The new claim is stored.".to_owned()),
            others => ("Keep new", format!("The new claim is stored and replaces {others}.")),
        },
        (CardAct::Supersede, Some(kept)) => {
            let title = if kept == 0 { "Keep new" } else { "Keep existing" };
            let effect = if new_claim {
                format!("{} stays; the new claim is discarded.", quoted(kept))
            } else if card.view.none_is_active() {
                format!("{} becomes active again and replaces {}.", quoted(kept), others(kept))
            } else {
                format!("{} stays and replaces {}.", quoted(kept), others(kept))
            };
            (title, effect)
        }
        (CardAct::Supersede, None) => ("Merge", format!("One claim replaces {}.", others(usize::MAX))),
        (CardAct::Retract, _) if proposed => {
            ("Accept: retract the claim", format!("{} was never right: it becomes inactive.", quoted(0)))
        }
        (CardAct::Retract, _) => (
            "Retract a claim",
            "The chosen claim was never right and becomes inactive; the other one is kept.".to_owned(),
        ),
        (CardAct::Narrow, _) => {
            ("Narrow to a condition", "The chosen claim gets these conditions, so that both hold.".to_owned())
        }
        (CardAct::Exception, _) => (
            "Keep both as an exception",
            "Both stay although they contradict; the reason is stored with them.".to_owned(),
        ),
        (CardAct::Dismiss, _) if proposed => {
            ("Keep the claim", format!("{} stays, and is not proposed again.", quoted(0)))
        }
        (CardAct::Dismiss, _) if new_claim => (
            "Dismiss",
            "No contradiction: the new claim is stored too, and you are not asked about this pair again.".to_owned(),
        ),
        (CardAct::Dismiss, _) if card.view.summary.kind == CardKind::Story => {
            ("Dismiss", "Nothing is unclear: the claims stay as they are, and you are not asked this again.".to_owned())
        }
        (CardAct::Dismiss, _) => {
            ("Dismiss", "No contradiction: both stay, and you are not asked about this pair again.".to_owned())
        }
        (CardAct::Discard, _) => ("Discard the new claim", "The new claim is discarded; nothing is stored.".to_owned()),
        (CardAct::Snooze, _) => {
            ("Snooze", "The card is hidden on this device, and reappears after that time.".to_owned())
        }
        (CardAct::Yes, _) => {
            ("Answer yes", card.view.summary.story.as_ref().map_or_else(String::new, |story| story.yes.clone()))
        }
        (CardAct::No, _) => {
            ("Answer no", card.view.summary.story.as_ref().map_or_else(String::new, |story| story.no.clone()))
        }
    };
    (title.to_owned(), effect)
}

/// Returns the field that chooses a side. The side on which the act is usually done is preselected.
fn target(card: &Card, act: CardAct, sides: &[usize]) -> Field {
    let options: Vec<String> = sides.iter().map(|index| card.name(*index)).collect();
    // Usually the new claim is narrowed, and the existing claim is retracted.
    let usual = if act == CardAct::Narrow { 0 } else { card.other };
    let chosen = sides.iter().position(|side| *side == usual).unwrap_or(0);
    Field::new(FieldId::Target, "Claim", "", FieldInput::Choice { options, chosen })
}

pub(super) fn text_field(id: FieldId, label: &'static str, hint: &'static str, text: &str) -> Field {
    Field::new(id, label, hint, FieldInput::Text(Box::new(several_lines(text))))
}

/// Returns the field for the snooze period, with one day preselected.
pub(super) fn snooze_field() -> Field {
    let options = SNOOZES.iter().map(|(label, _)| (*label).to_owned()).collect();
    Field::new(FieldId::Snooze, "Snooze for", "", FieldInput::Choice { options, chosen: 1 })
}

pub(super) fn line_field(id: FieldId, label: &'static str, hint: &'static str) -> Field {
    Field::new(id, label, hint, FieldInput::Line(Box::new(one_line(""))))
}

/// Returns the claim that is chosen as the target.
pub(super) fn chosen_target(form: &ActForm) -> Option<ClaimId> {
    form.members.get(form.chosen(FieldId::Target)).copied()
}
