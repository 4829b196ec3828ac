//! The question about a held write: how it relates to each claim that it may contradict.

use std::collections::BTreeMap;

use super::{cursor, form, form_request::Problem, form_setup, global, judging, live, reads, undo};
use crate::{
    api::{Caller, CardKind, CardSummary, Consider, DoubtBand, InboxItem, JudgeRequest, Questions, QuestionsQuery},
    domain::{CardId, OpId, PairVerdict, Scope},
    tui::{
        key::KeyPress,
        msg::{Effect, ReadRequest, Slot, WriteRequest},
        state::{
            Acting, AppState, Overlay, Screen, SessionAct, Tone,
            form::{ActForm, Field, FieldId, FieldInput, FormSubject},
            inbox::ItemId,
        },
        text, times,
    },
};

/// Opens the form with the question about a write that was just held. The reason of the write is prefilled as the
/// reason of the verdicts. If something else was opened meanwhile, a message says where the question waits instead.
pub(super) fn asked(state: &mut AppState, question: Consider, acting: Option<&Acting>, out: &mut Vec<Effect>) {
    let reason = form::of_act(state, acting).map_or_else(String::new, |form| form.text(FieldId::Reason));
    form::close(state, acting);
    let held = format!("Held “{}”", text::fit(&question.statement, 60));
    let waits = format!("{held} until its question is answered.");
    let covered = state.overlay.is_some();
    if covered {
        out.push(state.toast(Tone::Warn, format!("{waits} It is in the Inbox.")));
    } else {
        state.add_log_line(Tone::Warn, waits);
    }
    if !question.replayed {
        state.record_act(SessionAct {
            op: question.op_id,
            scope: question.scope.clone(),
            summary: held,
            about: vec![ItemId::Card(question.card_id)],
            opens: true,
            settled: 0,
        });
    }
    if !covered {
        open(state, question, &reason, None);
    }
    live::refresh_all(state);
}

/// Opens the question about the held write under the cursor; if there is none, shows the waiting pairs.
pub(super) fn judge(state: &mut AppState, _: Option<KeyPress>, out: &mut Vec<Effect>) {
    match card_under_cursor(state) {
        Some(card) if card.kind == CardKind::Held => request_question(state, out),
        _ => judging::open(state, out),
    }
}

/// Requests the question about the held write under the cursor.
fn request_question(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(card) = card_under_cursor(state) {
        let (org_id, project) = (Some(card.scope.org_id.clone()), Some(card.scope.project.clone()));
        let query = QuestionsQuery { org_id, project, ..QuestionsQuery::default() };
        reads::read(state, Slot::Question, ReadRequest::Questions(query), out);
    }
}

/// Returns the summary of the card under the cursor.
fn card_under_cursor(state: &AppState) -> Option<&CardSummary> {
    match state.screen {
        Screen::Inbox => match state.inbox.item()? {
            InboxItem::Card(card) => Some(card),
            _ => None,
        },
        Screen::Cards => state.conflicts.list.current(),
        _ => None,
    }
}

/// Handles the list of unanswered questions: opens the form of the held write under the cursor.
pub(super) fn found(state: &mut AppState, questions: Questions, out: &mut Vec<Effect>) {
    // Another overlay was opened in the meantime.
    if state.overlay.is_some() {
        return;
    }
    let Some(card) = card_under_cursor(state).map(|card| card.id) else { return };
    let Some(question) = questions.items.into_iter().find(|question| question.card_id == card) else {
        state.requests.inbox = true;
        let about = state.selected_card().and_then(|card| card.a()).map(|side| text::quoted(&side.claim.statement));
        let about = about.map_or_else(String::new, |about| format!(" about {about}"));
        let text = format!("The question{about} was already answered.");
        return out.push(state.toast_with(Tone::Info, text, "{show_timeline} shows what became of it."));
    };
    let reason = state.selected_card().and_then(|card| card.a()?.claim.own_reason().map(str::to_owned));
    open(state, question, &reason.unwrap_or_default(), None);
}

fn open(state: &mut AppState, question: Consider, reason: &str, key: Option<KeyPress>) {
    let until = times::clock(question.until, &state.settings.zone);
    let effect = format!(
        "Not stored yet: “{}”. How does it relate to each of these claims? If you do not answer by {until}, it is stored and a conflict card opens.",
        text::fit(&question.statement, 100)
    );
    let mut fields: Vec<Field> = Vec::new();
    let (asked, mentioned): (Vec<_>, Vec<_>) =
        question.doubts.into_iter().partition(|doubt| doubt.band == DoubtBand::Ask);
    for doubt in asked.into_iter().chain(mentioned) {
        let input = FieldInput::Verdict { doubt: Box::new(doubt), chosen: None };
        fields.push(Field::new(FieldId::Verdict, "", "", input));
    }
    fields.push(form_setup::text_field(FieldId::Because, "Because", "why; it is stored with the answer", reason));
    let about = FormSubject::Held { id: question.card_id };
    let fresh = ActForm {
        token: question.token,
        held_statement: question.statement,
        withdraws: Some(question.op_id),
        ..form_setup::plain(about, "How do they relate?".to_owned(), effect, question.scope, fields)
    };
    let form = form_setup::with_draft(state, fresh, key);
    state.overlay = Some(Overlay::Form(Box::new(form)));
}

/// Gives a verdict on the claim that has the focus, and goes to the next question. In the judging dialog, gives the
/// verdict on the shown pair.
pub(super) fn give(state: &mut AppState, verdict: PairVerdict, out: &mut Vec<Effect>) {
    if matches!(state.overlay, Some(Overlay::Judging(_))) {
        return judging::give(state, verdict, out);
    }
    let Some(Overlay::Form(form)) = &mut state.overlay else { return };
    if form.sending || !form.painted {
        return;
    }
    let here = form.focus;
    if let Some(Field { input: FieldInput::Verdict { chosen, .. }, edited, .. }) = form.fields.get_mut(here) {
        *chosen = Some(verdict);
        *edited = true;
        form.error = None;
        let questions = form.fields.iter().filter(|field| field.id == FieldId::Verdict).count();
        let open = |at: &usize| form.fields.get(*at).is_some_and(Field::is_unanswered);
        let next = (here + 1..questions).find(open).or_else(|| (0..here).find(open));
        // Once every claim has a verdict, the focus goes to the reason.
        form.focus = next.unwrap_or(questions);
    }
}

/// Withdraws the held write, so that it is not stored. The answers given so far are kept until that is done.
pub(super) fn withdraw(state: &mut AppState, out: &mut Vec<Effect>) {
    let Some(Overlay::Form(form)) = &state.overlay else { return };
    let (Some(op), false, true) = (form.withdraws, form.sending, form.painted) else { return };
    let FormSubject::Held { id: card } = form.about else { return };
    let (scope, statement) = (form.scope.clone(), form.held_statement.clone());
    form::cancel(state);
    let write = undo::request(state, op, &scope);
    global::send(state, write, Acting::Withdraw { op, scope, card, statement }, out);
}

/// Handles the withdrawal of a held write by the act `op`. It is an act of its own: what was done after the write was
/// held is undone after it.
pub(super) fn withdrawn(
    state: &mut AppState,
    op: OpId,
    scope: Scope,
    card: CardId,
    statement: &str,
    out: &mut Vec<Effect>,
) {
    let about = vec![ItemId::Card(card)];
    cursor::release(state, about.clone());
    let summary = format!("Withdrew “{}”", text::fit(statement, 60));
    let place = state.scope_suffix(&scope);
    out.push(state.toast_with(Tone::Done, format!("{summary}{place}."), "{undo} to undo"));
    state.record_act(SessionAct { op, scope, summary, about, opens: true, settled: 0 });
    live::refresh_all(state);
}

/// Returns the request of the form.
pub(super) fn build(form: &ActForm, caller: Caller) -> Result<WriteRequest, Problem> {
    if form.fields.iter().any(Field::is_unanswered) {
        return Err((Some(FieldId::Verdict), "say how the new claim relates to each of these".to_owned()));
    }
    let because = form.text(FieldId::Because);
    if because.is_empty() {
        return Err((Some(FieldId::Because), "enter a reason; it is stored with the answer".to_owned()));
    }
    let verdicts: BTreeMap<String, PairVerdict> =
        form.verdicts().filter_map(|(doubt, verdict)| Some((doubt.id.to_hex(), verdict?))).collect();
    let request =
        JudgeRequest { caller, token: form.token.clone(), verdicts, because: Some(because), ..JudgeRequest::default() };
    Ok(WriteRequest::Judge(Box::new(request)))
}
