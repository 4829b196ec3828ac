//! Creating and joining a team: forms, the words to compare, and the wait for the other side.

use super::{form, form_setup, live, reads, replies};
use crate::{
    api::{CreateTeamRequest, JoinRequest, JoinState, JoinView, TeamView},
    domain::Scope,
    tui::{
        key::KeyPress,
        msg::{Effect, FailureKind, ReadRequest, RequestFailure, Slot, WriteRequest},
        state::{
            AppState, Overlay, Tone,
            form::{ActForm, Field, FieldId, FieldInput, FormSubject},
            page::{PageSubject, TextPage},
            peers::Joining,
        },
    },
};

/// How often the daemon is asked whether the other side has answered, in milliseconds.
const POLL_MS: u64 = 1_000;

/// The option to share no scope.
const SHARE_NOTHING: &str = "nothing yet";

/// Opens the form of a new team.
pub(super) fn make(state: &mut AppState, key: Option<KeyPress>) {
    let scopes = std::iter::once(state.shown_scope()).chain(state.scopes.iter().map(|view| view.scope.clone()));
    let mut options: Vec<String> = Vec::new();
    for scope in scopes.map(|scope| scope.to_string()).chain([SHARE_NOTHING.to_owned()]) {
        if !options.contains(&scope) {
            options.push(scope);
        }
    }
    let share = Field::new(FieldId::Scope, "Share", "", FieldInput::Choice { options, chosen: 0 });
    let fields = vec![
        form_setup::line_field(FieldId::Name, "Name", "what the team is called"),
        share,
        form_setup::line_field(FieldId::Device, "Device", "the name shown to the team (empty: the host name)"),
    ];
    let effect = "This device becomes the first admin. The chosen scope is shared with its whole history; everything else stays on this device.";
    open(state, FormSubject::NewTeam, "Create a team", effect, fields, key);
}

/// Opens the form that joins a team with a ticket.
pub(super) fn join(state: &mut AppState, key: Option<KeyPress>) {
    let fields = vec![
        form_setup::line_field(FieldId::Ticket, "Ticket", "ergo1…, from an admin of the team"),
        form_setup::line_field(FieldId::Device, "Device", "the name shown to the team (empty: the host name)"),
    ];
    let effect =
        "ergo connects to the other device; then both screens show the same six words, and the admin admits you.";
    open(state, FormSubject::JoinTeam, "Join a team", effect, fields, key);
}

fn open(
    state: &mut AppState,
    about: FormSubject,
    title: &str,
    effect: &str,
    fields: Vec<Field>,
    key: Option<KeyPress>,
) {
    let scope = state.shown_scope();
    let form = form_setup::plain(about, title.to_owned(), effect.to_owned(), scope, fields);
    let form = form_setup::with_draft(state, form, key);
    state.overlay = Some(Overlay::Form(Box::new(form)));
}

/// Returns the request of one of these forms, or what is missing in it.
pub(super) fn build(form: &ActForm, caller: crate::api::Caller) -> Result<WriteRequest, (Option<FieldId>, String)> {
    let device_name = Some(form.text(FieldId::Device)).filter(|name| !name.is_empty());
    if form.about == FormSubject::JoinTeam {
        let ticket = form.text(FieldId::Ticket);
        if ticket.is_empty() {
            return Err((Some(FieldId::Ticket), "paste the ticket: it begins with ergo1".to_owned()));
        }
        let request = JoinRequest { caller, ticket: Some(ticket), device_name, ..JoinRequest::default() };
        return Ok(WriteRequest::JoinTeam(Box::new(request)));
    }
    let name = form.text(FieldId::Name);
    if name.is_empty() {
        return Err((Some(FieldId::Name), "enter a name".to_owned()));
    }
    let shared = form.text(FieldId::Scope);
    let scope = shared.split_once('/').map(|(org, project)| Scope { org_id: org.into(), project: project.into() });
    let scopes = scope.into_iter().collect();
    Ok(WriteRequest::CreateTeam(Box::new(CreateTeamRequest { caller, name, device_name, scopes })))
}

/// Handles the creation of a team.
pub(super) fn made(state: &mut AppState, team: &TeamView, out: &mut Vec<Effect>) {
    let acting = state.acting.take();
    form::close(state, acting.as_ref());
    state.requests.sync = true;
    let text = replies::sentence(&team.summary);
    out.push(state.toast(Tone::Done, format!("{text} ergo sync invite makes a ticket for another device.")));
    live::refresh_all(state);
}

/// Handles the progress of a join: shows the words to compare, or how the join ended.
pub(super) fn joining(state: &mut AppState, view: &JoinView, slot: Slot, out: &mut Vec<Effect>) {
    if slot == Slot::Act {
        let acting = state.acting.take();
        form::close(state, acting.as_ref());
    }
    if view.state == JoinState::Waiting {
        let mut unseen = state.peers.joining.take().and_then(|joining| joining.unseen);
        if slot == Slot::Act {
            unseen = Some(words(view));
            if state.overlay.is_some() {
                let text = "Once this is closed, the words to compare with the other screen are shown.";
                out.push(state.toast(Tone::Info, text));
            }
        }
        let again_at = state.now + POLL_MS;
        state.peers.joining = Some(Joining { id: view.id.clone(), again_at, unseen });
        return out.push(Effect::Wake(again_at));
    }
    state.peers.joining = None;
    if matches!(&state.overlay, Some(Overlay::Page(page)) if page.about == PageSubject::Join) {
        state.overlay = None;
    }
    let toast = match (&view.error, &view.team) {
        (Some(error), _) => {
            (Tone::Bad, format!("Could not join {}: {}", view.team_name, replies::sentence(&error.message)))
        }
        (None, Some(team)) => (Tone::Done, replies::sentence(&team.summary)),
        (None, None) => (Tone::Done, format!("This device is in {}.", view.team_name)),
    };
    out.push(state.toast(toast.0, toast.1));
    live::refresh_all(state);
}

/// Opens the page with the words to compare, unless something else is open, which would lose its keys to the page.
pub(super) fn show_words(state: &mut AppState) {
    if state.overlay.is_some() {
        return;
    }
    if let Some(words) = state.peers.joining.as_mut().and_then(|joining| joining.unseen.take()) {
        let mut page = TextPage::new(PageSubject::Join);
        page.text = Some(words);
        state.cancel_request(Slot::Page);
        state.overlay = Some(Overlay::Page(Box::new(page)));
    }
}

/// Handles a failed request for the progress of a join. If the daemon was only slow, it is asked again.
pub(super) fn poll_failed(state: &mut AppState, failure: &RequestFailure, message: String, out: &mut Vec<Effect>) {
    if failure.kind == FailureKind::Timeout
        && let Some(joining) = &mut state.peers.joining
    {
        joining.again_at = state.now + POLL_MS;
        return out.push(Effect::Wake(joining.again_at));
    }
    state.peers.joining = None;
    match &mut state.overlay {
        Some(Overlay::Page(page)) if page.about == PageSubject::Join => {
            page.error = Some((failure.message.clone(), failure.hint.clone().unwrap_or_default()));
        }
        _ => out.push(state.toast(Tone::Bad, message)),
    }
}

/// Asks whether the other side has answered, once that is due.
pub(super) fn poll_join(state: &mut AppState, out: &mut Vec<Effect>) {
    let due =
        state.peers.joining.as_ref().filter(|joining| state.now >= joining.again_at).map(|joining| joining.id.clone());
    if let Some(id) = due.filter(|_| !state.waits(Slot::Join)) {
        reads::read(state, Slot::Join, ReadRequest::Joined(id), out);
    }
}

fn words(view: &JoinView) -> String {
    format!(
        "{} (device “{}”) invites you to join {} as {}.\n\nThe other screen shows the same words:\n\n    {}\n\n\
         If they differ, it may be a man-in-the-middle attack: whoever invited you must deny the request.\n\n\
         Waiting for the other device…",
        view.person,
        view.inviter,
        view.team_name,
        view.role,
        view.words.join(" "),
    )
}
