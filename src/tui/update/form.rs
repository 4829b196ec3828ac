//! Filling in a form and submitting it.

use crossterm::event::{KeyCode, KeyEvent};

use super::{form_request, form_setup, global};
use crate::{
    api::Stale,
    domain::{
        CardId, ClaimId,
        text::{clean_input, sanitize_line},
    },
    tui::{
        key::KeyPress,
        msg::{Effect, FailureKind, RequestFailure},
        state::{
            Acting, AppState, Overlay, Tone,
            form::{
                ActForm, ClaimAct, FieldId, FieldInput, FormSubject, clear_line, one_line, several_lines, type_in_line,
            },
            overlay::Confirm,
        },
    },
};

/// Presses of one key within this many milliseconds of each other count as the key held down.
pub(super) const HELD_KEY_MS: u64 = 120;

fn form(state: &mut AppState) -> Option<&mut ActForm> {
    match &mut state.overlay {
        Some(Overlay::Form(form)) => Some(form),
        _ => None,
    }
}

/// Returns whether a press comes from the key that opened the form and is still held down, so that it types nothing.
pub(super) fn held_down(state: &mut AppState, key: KeyPress) -> bool {
    let now = state.now;
    let Some(form) = form(state) else { return false };
    match form.opener {
        Some((opener, at)) if opener.same(key) && (key.repeat || now.saturating_sub(at) < HELD_KEY_MS) => {
            form.opener = Some((opener, now));
            true
        }
        _ => {
            form.opener = None;
            false
        }
    }
}

/// Closes the form. What was typed or chosen in it, or sent without an answer yet, is kept as a draft until the app
/// ends.
pub(super) fn cancel(state: &mut AppState) {
    if matches!(state.overlay, Some(Overlay::Form(_)))
        && let Some(Overlay::Form(form)) = state.overlay.take()
        && (form.is_edited() || form.sent.is_some())
    {
        state.asked_about_drafts = false;
        state.drafts.insert(form.about, ActForm { sending: false, ..*form });
    }
}

/// Changes the field that has the focus, unless the form is being sent. `change` returns whether it changed anything.
fn change(state: &mut AppState, change: impl FnOnce(&mut FieldInput) -> bool) {
    let form = form(state).filter(|form| !form.sending);
    if let Some(field) = form.and_then(|form| form.fields.get_mut(form.focus)) {
        field.edited |= change(&mut field.input);
    }
}

/// Returns whether the form of an act is open.
pub(super) fn is_open(state: &AppState, acting: Option<&Acting>) -> bool {
    matches!((&state.overlay, acting), (Some(Overlay::Form(form)), Some(Acting::Form(about))) if form.about == *about)
}

/// Closes the form of an act that succeeded, and removes its draft. Other forms stay as they are.
pub(super) fn close(state: &mut AppState, acting: Option<&Acting>) {
    if is_open(state, acting) {
        state.overlay = None;
    }
    if let Some(Acting::Form(about)) = acting {
        state.drafts.remove(about);
    }
}

/// Returns the form of an act, open or kept as a draft.
pub(super) fn of_act<'a>(state: &'a mut AppState, acting: Option<&Acting>) -> Option<&'a mut ActForm> {
    let Some(Acting::Form(about)) = acting else { return None };
    match &mut state.overlay {
        Some(Overlay::Form(form)) if form.about == *about => Some(form),
        _ => state.drafts.get_mut(about),
    }
}

pub(super) fn new_line(state: &mut AppState) {
    change(state, |input| {
        let FieldInput::Text(area) = input else { return false };
        area.insert_newline();
        true
    });
}

/// Deletes the text of the line.
pub(super) fn clear(state: &mut AppState) {
    change(state, |input| match input {
        FieldInput::Text(area) | FieldInput::Line(area) => clear_line(area),
        FieldInput::Choice { .. } | FieldInput::Verdict { .. } => false,
    });
}

/// Opens the text in an editor.
pub(super) fn edit(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(area) = form(state).filter(|form| !form.sending).and_then(ActForm::area) {
        out.push(Effect::Edit(area.lines().join("\n")));
    }
}

/// Opens the form of a new claim. If all scopes are shown, the form asks for the scope.
pub(super) fn add(state: &mut AppState, key: Option<KeyPress>) {
    let scope = global::scope_of_act(state);
    let mut others = Vec::new();
    if state.scope.is_none() {
        let known = state.scopes.iter().map(|view| view.scope.clone()).chain([state.home.0.clone()]);
        for other in known.filter(|other| *other != scope) {
            if !others.contains(&other) {
                others.push(other);
            }
        }
    }
    let form = form_setup::with_draft(state, form_setup::new_claim(scope, &others), key);
    state.overlay = Some(Overlay::Form(Box::new(form)));
}

/// Goes to the next field; in the last one, submits the form. A key that is held down does nothing.
pub(super) fn advance(state: &mut AppState, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    let Some(form) = form(state) else { return };
    if form.sending || key.is_some_and(|key| key.repeat) {
        return;
    }
    if form.at_end() {
        submit(state, key, out);
    } else {
        focus(state, 1);
    }
}

/// Types a key without an action into the field.
pub(super) fn typed(state: &mut AppState, key: KeyPress) {
    let Some(form) = form(state) else { return };
    if form.sending {
        return;
    }
    let error_here = form.fields.get(form.focus).map(|field| field.id);
    if let Some((Some(field), _)) = &form.error
        && Some(*field) == error_here
    {
        form.error = None;
    }
    let at_end = form.at_end();
    let Some(field) = form.fields.get_mut(form.focus) else { return };
    match &mut field.input {
        FieldInput::Choice { options, chosen } => {
            let before = *chosen;
            if choose(options, chosen, key) {
                field.edited |= *chosen != before;
            } else {
                form.error = Some((Some(field.id), CHOICE_KEYS.to_owned()));
            }
        }
        FieldInput::Verdict { .. } => match key.code {
            KeyCode::Up => focus(state, -1),
            KeyCode::Down => focus(state, 1),
            _ => {}
        },
        // At the edge of a text, the arrows lead on to the neighbouring field.
        FieldInput::Text(area) if key.code == KeyCode::Up && area.cursor().0 == 0 && form.focus > 0 => form.focus -= 1,
        FieldInput::Text(area) if key.code == KeyCode::Down && area.cursor().0 + 1 == area.lines().len() && !at_end => {
            form.focus += 1;
        }
        FieldInput::Text(area) => field.edited |= area.input(KeyEvent::new(key.code, key.mods)),
        FieldInput::Line(area) => match key.code {
            KeyCode::Up => focus(state, -1),
            KeyCode::Down => focus(state, 1),
            _ => field.edited |= type_in_line(area, key),
        },
    }
}

/// The message if a character is typed that chooses nothing.
const CHOICE_KEYS: &str = "choose with the left and right arrows, or with the first letter of an option";

/// Chooses an option by an arrow, or the next option that begins with the typed character. Returns whether the key is
/// of use: an unknown character is not.
fn choose(options: &[String], chosen: &mut usize, key: KeyPress) -> bool {
    let count = options.len().max(1);
    *chosen = match key.code {
        KeyCode::Right | KeyCode::Down | KeyCode::Char(' ' | 'l' | 'j') => (*chosen + 1) % count,
        KeyCode::Left | KeyCode::Up | KeyCode::Char('h' | 'k') => (*chosen + count - 1) % count,
        KeyCode::Char(typed) => {
            let begins = |at: &usize| {
                let first = options.get(*at).and_then(|option| option.chars().next());
                first.is_some_and(|first| first.to_lowercase().eq(typed.to_lowercase()))
            };
            let Some(named) = (1..=count).map(|step| (*chosen + step) % count).find(begins) else { return false };
            named
        }
        _ => *chosen,
    };
    true
}

/// Moves the focus by a number of fields, in a cycle.
pub(super) fn focus(state: &mut AppState, by: isize) {
    if let Some(form) = form(state) {
        let count = form.fields.len().max(1);
        form.focus = (form.focus + count).saturating_add_signed(by) % count;
    }
}

/// Puts the focus on a field.
pub(super) fn focus_on(state: &mut AppState, index: usize) {
    if let Some(form) = form(state)
        && index < form.fields.len()
    {
        form.focus = index;
    }
}

/// Pastes text into the field; as one line if the field has only one.
pub(super) fn paste(state: &mut AppState, text: &str) {
    change(state, |input| match input {
        FieldInput::Text(area) => area.insert_str(clean_input(&text.replace("\r\n", "\n").replace('\r', "\n"))),
        FieldInput::Line(area) => area.insert_str(sanitize_line(text)),
        FieldInput::Choice { .. } | FieldInput::Verdict { .. } => false,
    });
}

/// Replaces the field's text by what the editor returned. If the editor failed, the text stays and a message says why.
pub(super) fn edited(state: &mut AppState, result: Result<Option<String>, String>, out: &mut Vec<Effect>) {
    let text = match result {
        Ok(Some(text)) => text,
        Ok(None) => return,
        Err(message) => return out.push(state.toast(Tone::Bad, message)),
    };
    change(state, |input| {
        match input {
            FieldInput::Text(area) => **area = several_lines(clean_input(&text).trim_end()),
            FieldInput::Line(area) => **area = one_line(&sanitize_line(text.trim_end())),
            FieldInput::Choice { .. } | FieldInput::Verdict { .. } => return false,
        }
        true
    });
}

/// Sends the form, or opens a confirmation. `key` is the key that submitted the form; it does not answer the
/// confirmation.
pub(super) fn submit(state: &mut AppState, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    if global::refuse_read_only(state, out) {
        return;
    }
    let now = state.now;
    let Some(Overlay::Form(open)) = &state.overlay else { return };
    if open.sending {
        return;
    }
    if open.outdated.is_some() {
        let message = state.keys.say("nothing was sent; {cancel} closes the form and keeps your text");
        if let Some(form) = form(state) {
            refuse(form, None, message);
        }
        return;
    }
    let scope = open.scope_of_act();
    let mut caller = state.caller(&scope);
    let fresh = caller.op_id.take();
    let Some(form) = form(state) else { return };
    form.opener = key.map(|key| (key, now));
    let mut write = match form_request::build(form, caller, now) {
        Ok(write) => write,
        Err(problem) => return refuse(form, problem.0, problem.1),
    };
    // A request that was sent and may have been executed is sent again under the same `op_id`, so that it is executed
    // only once.
    let op = match (&form.sent, fresh) {
        (Some((before, op)), _) if *before == write => Some(*op),
        (_, fresh) => fresh,
    };
    form.sent = op.map(|op| (write.clone(), op));
    write.set_op(op);
    if let FormSubject::Claim { id, act: ClaimAct::Redact } = form.about {
        let opener = form.opener.map(|(key, _)| key);
        let question = format!("Redact {}?", id.short());
        let effect = "Its text is deleted everywhere. Undo cannot bring it back.".to_owned();
        let about = form.about;
        if let Some(Overlay::Form(form)) = state.overlay.take() {
            state.drafts.insert(about, *form);
        }
        let confirm = Confirm::new(question, effect, "Redact", write, opener);
        state.overlay = Some(Overlay::Confirm(Confirm { about: Some(about), ..confirm }));
        return;
    }
    form.sending = true;
    form.error = None;
    let about = form.about;
    global::send(state, write, Acting::Form(about), out);
}

fn refuse(form: &mut ActForm, field: Option<FieldId>, message: String) {
    let at = form.fields.iter().position(|own| Some(own.id) == field);
    let unanswered = form.fields.iter().position(crate::tui::state::form::Field::is_unanswered);
    if let Some(index) = if field == Some(FieldId::Verdict) { unanswered.or(at) } else { at } {
        form.focus = index;
    }
    form.error = Some((field, message));
}

/// Handles the failure of a form's request. The content of the form stays.
pub(super) fn failed(state: &mut AppState, acting: Option<&Acting>, failure: &RequestFailure) {
    // In a form, letters are typed: the key that starts the daemon works only on the screen behind it.
    let start = state.keys.say("{cancel} keeps your text; {start} starts the daemon, then submit again");
    let Some(form) = of_act(state, acting) else { return };
    form.sending = false;
    if failure.kind == FailureKind::Unreachable {
        return refuse(form, None, format!("No daemon answers: {start}."));
    }
    if !matches!(failure.kind, FailureKind::Timeout | FailureKind::Unreachable) {
        form.sent = None;
    }
    let named = failure.field.as_deref();
    let field = form.fields.iter().map(|field| field.id).find(|id| Some(id.wire()) == named);
    let hint = failure.hint.as_deref().map_or_else(String::new, |hint| format!(" ({hint})"));
    refuse(form, field, format!("{}{hint}", failure.message));
}

/// Records in the open form about a card that the card was settled meanwhile, or that it is open again. Returns whether
/// the form now says that the card is settled. A form that is being sent gets an answer that says so.
pub(super) fn note_settlement(state: &mut AppState, card: CardId, settled: Option<&str>) -> bool {
    let Some(form) = form(state).filter(|form| form.about.card() == Some(card) && !form.sending) else { return false };
    form.outdated = settled.map(str::to_owned);
    settled.is_some()
}

/// Says in the open form about a claim that somebody changed the claim meanwhile. A form that is being sent gets an
/// answer that says so.
pub(super) fn note_change(state: &mut AppState, changed: &[ClaimId], message: &str) {
    let Some(form) = form(state).filter(|form| !form.sending) else { return };
    let FormSubject::Claim { id, .. } = form.about else { return };
    if changed.iter().any(|claim| *claim == id || form.members.contains(claim)) {
        form.error = Some((None, message.to_owned()));
        state.add_log_line(Tone::Warn, message);
    }
}

/// Handles the answer that the target of a form has changed. The content of the form stays. If the act is still
/// possible, the form says what it does now, and can be submitted again. Returns whether the form is open.
pub(super) fn stale(state: &mut AppState, acting: Option<&Acting>, stale: &Stale, message: String) -> bool {
    let (open, now) = (is_open(state, acting), state.now);
    let Some(form) = of_act(state, acting) else { return false };
    (form.sending, form.sent) = (false, None);
    if !open {
        return false;
    }
    match form_setup::after_change(form, stale, now) {
        Ok(()) => refuse(form, None, format!("{message} Check what it does now, then submit again.")),
        Err(Some(why)) => form.outdated = Some(format!("{message} It is no longer possible: {why}.")),
        Err(None) => form.outdated = Some(message),
    }
    true
}

/// Handles the guard's refusal of a form's request. The content of the form stays.
pub(super) fn refused(state: &mut AppState, acting: Option<&Acting>, message: String) {
    let Some(form) = of_act(state, acting) else { return };
    form.sending = false;
    form.sent = None;
    let statement = form.fields.iter().map(|field| field.id).find(|id| *id == FieldId::Statement);
    refuse(form, statement, message);
}
