//! After every message, requests what the current screen needs, so that the handlers of messages need not do it.

use crate::{
    api::{AgentsQuery, ClaimsPage, IngestedFiles, IngestedQuery, WhyRequest},
    domain::{CardId, Scope},
    tui::{
        drift,
        hits::Pane,
        msg::{Effect, ReadRequest, Slot},
        state::{
            AppState, Daemon, InboxState, NotesState, Screen,
            agents::AgentListing,
            note_files::NotesListing,
            related::RelatedQuery,
            why::{Node, Section, Subject},
        },
    },
};

/// Requests the data that the screen needs and does not have.
pub(super) fn request_missing(state: &mut AppState, out: &mut Vec<Effect>) {
    if state.autostart && !matches!(state.daemon, Daemon::Unknown) {
        state.autostart = false;
        if matches!(state.daemon, Daemon::Down { .. }) {
            state.daemon = Daemon::Starting;
            out.push(Effect::Start);
        }
    }
    if state.is_offline() {
        return;
    }
    if state.requests.health && !state.waits(Slot::Health) {
        state.requests.health = false;
        read(state, Slot::Health, ReadRequest::Health, out);
    }
    inbox(state, out);
    super::teams::poll_join(state, out);
    match state.screen {
        Screen::Inbox => card(state, out),
        Screen::Timeline if state.timeline.story.is_some() => super::story::request(state, out),
        Screen::Timeline => acts(state, out),
        Screen::Models => diagnose(state, out),
        Screen::Cards => {
            cards(state, out);
            card(state, out);
        }
        Screen::Claims => claims(state, out),
        Screen::Why => why(state, out),
        Screen::Peers => sync(state, out),
        Screen::Agents => agents(state, out),
        Screen::Notes => notes(state, out),
    }
    if state.requests.scopes && !state.waits(Slot::Scopes) {
        state.requests.scopes = false;
        read(state, Slot::Scopes, ReadRequest::Scopes, out);
    }
}

/// Sends a request to read something.
pub(super) fn read(state: &mut AppState, slot: Slot, read: ReadRequest, out: &mut Vec<Effect>) {
    let ticket = state.ticket(slot);
    out.push(Effect::Read(ticket, read));
}

fn cards(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(page) = state.conflicts.list.need() {
        let query = state.conflicts.query(state.scope.as_ref(), page.cursor);
        read(state, Slot::Conflicts, ReadRequest::Conflicts(query), out);
    }
}

fn card(state: &mut AppState, out: &mut Vec<Effect>) {
    let wanted = state.conflicts.wanted.clone();
    let under = match state.screen {
        Screen::Inbox => state.inbox.card(),
        _ => state.conflicts.list.anchor(),
    };
    let Some(id) = wanted.or_else(|| under.map(CardId::to_hex)) else { return };
    let fresh = state.requests.asked_card.as_ref() == Some(&id);
    if fresh && (!state.requests.card || state.waits(Slot::Card)) {
        return;
    }
    state.requests.card = false;
    if !fresh {
        state.conflicts.card_error = None;
    }
    state.requests.asked_card = Some(id.clone());
    read(state, Slot::Card, ReadRequest::Card(id), out);
}

fn claims(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(page) = state.claims.list.need() {
        if let Some(query) = state.claims.query(state.scope.as_ref(), (state.now, &state.settings.zone), page.cursor) {
            read(state, Slot::Claims, ReadRequest::Claims(Box::new(query)), out);
        } else {
            state.cancel_request(Slot::Claims);
            state.claims.accept(ClaimsPage::default(), state.hits.height(Pane::Claims));
        }
    }
    related_claims(state, out);
    injected(state, out);
}

/// Requests the claims that recall finds for the search line. Only one request is under way at a time, since more
/// letters may be typed meanwhile.
fn related_claims(state: &mut AppState, out: &mut Vec<Effect>) {
    match state.claims.related_query(&scopes_to_search(state), (state.now, &state.settings.zone)) {
        None => state.claims.related.clear(),
        wanted if state.claims.related.asked == wanted || state.waits(Slot::Found) => {}
        wanted => {
            let requests = wanted.as_ref().map(RelatedQuery::requests).unwrap_or_default();
            state.claims.related.asked = wanted;
            read(state, Slot::Found, ReadRequest::Recall(requests), out);
        }
    }
    state.claims.update_related((state.now, &state.settings.zone));
}

/// Returns the scopes to search by meaning: the shown scope; or, if all are shown, first the project where the app was
/// opened, then the others, the most recently changed first.
fn scopes_to_search(state: &AppState) -> Vec<Scope> {
    if let Some(scope) = &state.scope {
        return vec![scope.clone()];
    }
    let mut views: Vec<_> = state.scopes.iter().filter(|view| view.total > 0).collect();
    views.sort_by_key(|view| (view.scope != state.home.0, std::cmp::Reverse(view.latest)));
    views.into_iter().map(|view| view.scope.clone()).collect()
}

fn agents(state: &mut AppState, out: &mut Vec<Effect>) {
    let unread = state.agents.view.is_none() && state.agents.error.is_none();
    if (unread || state.requests.agents) && !state.waits(Slot::Agents) {
        state.requests.agents = false;
        let (org_id, project) = state.scope.clone().map(|scope| (scope.org_id, scope.project)).unzip();
        read(state, Slot::Agents, ReadRequest::Agents(AgentsQuery { org_id, project }), out);
    }
    injected(state, out);
    if state.agents.shown != AgentListing::Injected && state.agents.entry().is_some_and(|entry| entry.name.is_some()) {
        let scope = state.scope.clone();
        if let Some(page) = state.agents.list.need()
            && let Some(query) = state.agents.query(scope.as_ref(), page.cursor)
        {
            read(state, Slot::AgentActs, ReadRequest::Log(query), out);
        }
    }
}

/// Requests the rule files, and the insights of the shown organisation.
fn notes(state: &mut AppState, out: &mut Vec<Effect>) {
    let unread = state.notes.status.is_none() && state.notes.error.is_none();
    // While a request is under way, a new one is postponed: `requests.notes` or `asked_org` stays as it is.
    if (unread || state.requests.notes) && !state.waits(Slot::Notes) {
        if std::mem::take(&mut state.requests.notes) {
            state.notes.asked_org = None;
        }
        read(state, Slot::Notes, ReadRequest::Notes, out);
    }
    let scope = state.shown_scope();
    let stale = state.notes.asked_org.as_ref() != Some(&scope.org_id);
    if state.notes.shown == NotesListing::Principles && stale && !state.waits(Slot::Insights) {
        state.notes.asked_org = Some(scope.org_id.clone());
        read(state, Slot::Insights, ReadRequest::Insights(NotesState::query(&scope)), out);
    }
}

/// Requests the claims that hooks injected for agents.
fn injected(state: &mut AppState, out: &mut Vec<Effect>) {
    if (state.agents.injected.is_none() || state.requests.injected) && !state.waits(Slot::Injected) {
        state.requests.injected = false;
        read(state, Slot::Injected, ReadRequest::Injected, out);
    }
}

fn why(state: &mut AppState, out: &mut Vec<Effect>) {
    let Some(subject) = state.why.subject.clone() else { return };
    let fresh = state.requests.asked_why.as_ref() == Some(&subject);
    if fresh && (!state.requests.why || state.waits(Slot::Why)) {
        return;
    }
    state.requests.why = false;
    state.requests.asked_why = Some(subject.clone());
    let request = match subject {
        Subject::Claim(id) => ReadRequest::History(id),
        Subject::Question { text, scope } => ReadRequest::Why(WhyRequest {
            org_id: scope.org_id,
            project: scope.project,
            question: text,
            ..WhyRequest::default()
        }),
    };
    read(state, Slot::Why, request, out);
}

/// Requests the Inbox on every screen, since its tab shows its count.
fn inbox(state: &mut AppState, out: &mut Vec<Effect>) {
    let now = state.now;
    if state.inbox.returns_at.take_if(|at| *at <= now).is_some() {
        super::live::refresh_cards(state);
    }
    if state.requests.inbox && !state.waits(Slot::Inbox) {
        state.requests.inbox = false;
        // The page that was turned to may have changed, too.
        state.requests.inbox_page = true;
        read(state, Slot::Inbox, ReadRequest::Inbox(InboxState::query(state.scope.as_ref())), out);
    }
    if state.requests.inbox_page && !state.waits(Slot::InboxPage) {
        state.requests.inbox_page = false;
        if let Some(query) = state.inbox.page_query(state.scope.as_ref()) {
            read(state, Slot::InboxPage, ReadRequest::Inbox(query), out);
        }
    }
}

fn acts(state: &mut AppState, out: &mut Vec<Effect>) {
    let since = state.timeline.span.begin(state.settings.last_here, state.now, &state.settings.zone);
    let scope = state.scope.clone();
    let Some(acts) = state.acts_mut() else { return };
    if let Some(page) = acts.list.need() {
        let query = acts.query(scope.as_ref(), since, page.cursor);
        read(state, Slot::Timeline, ReadRequest::Log(query), out);
    }
}

fn diagnose(state: &mut AppState, out: &mut Vec<Effect>) {
    let unread = state.models.diagnose.is_none() && state.models.error.is_none();
    let due = state.models.again_at().is_some_and(|at| state.now >= at);
    if (unread || state.requests.diagnose || due) && !state.waits(Slot::Diagnose) {
        state.requests.diagnose = false;
        read(state, Slot::Diagnose, ReadRequest::Diagnose, out);
    }
    if state.models.files.is_none() && !state.waits(Slot::Ingested) {
        // The files are requested only once: if that fails, the screen shows the rest without them.
        state.models.files = Some(IngestedFiles::default());
        let scope = state.shown_scope();
        let query = IngestedQuery { org_id: scope.org_id, project: scope.project, under: None };
        read(state, Slot::Ingested, ReadRequest::Ingested(query), out);
    }
}

/// Checks whether the source files of the shown chain still contain its statements. Only for claims of this project,
/// since the files of other projects are not here.
pub(super) fn compare_sources(state: &mut AppState, out: &mut Vec<Effect>) {
    let home = &state.home.0;
    let Some(chain) = &state.why.chain else { return };
    let mut sources = Vec::new();
    for node in chain.nodes() {
        let Node::Claim { section: Section::Chain, claim, .. } = node else { continue };
        if let Some(source) = claim.source.as_ref().filter(|source| drift::named(source).is_some())
            && claim.scope == *home
            && !claim.flags.redacted
        {
            sources.push((claim.id, source.clone(), claim.statement.clone()));
        }
    }
    sources.truncate(MAX_COMPARED_SOURCES);
    if !sources.is_empty() {
        out.push(Effect::Compare(sources));
    }
}

/// The maximum number of sources of a chain that are checked.
const MAX_COMPARED_SOURCES: usize = 50;

fn sync(state: &mut AppState, out: &mut Vec<Effect>) {
    let unread = state.peers.status.is_none() && state.peers.error.is_none();
    if (unread || state.requests.sync) && !state.waits(Slot::Sync) {
        state.requests.sync = false;
        read(state, Slot::Sync, ReadRequest::Sync, out);
    }
}

/// Handles the loss of the daemon: everything is requested again once it is back.
pub(super) fn daemon_lost(state: &mut AppState, message: String) {
    if state.daemon != Daemon::Starting {
        state.daemon = Daemon::Down { message };
    }
    state.conflicts.list.failed();
    state.claims.list.failed();
    state.timeline.list.failed();
    state.agents.list.failed();
    state.claims.related.asked = None;
    state.models.reembed = None;
    state.requests.agents = true;
    state.requests.story = true;
    state.requests.notes = true;
    state.requests.inbox = true;
    state.requests.diagnose = true;
    state.requests.asked_card = None;
    state.requests.asked_why = None;
    state.requests.scopes = true;
    state.requests.health = true;
    state.requests.sync = true;
}
