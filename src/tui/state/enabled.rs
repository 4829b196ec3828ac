//! The conditions of actions: whether an action is possible now and, if not, a short sentence that says why.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod on_cards;

use on_cards::{
    answer_no, answer_yes, card_details, cards_listed, cards_marked, discard, dismiss, exception, held_form_open,
    judgeable, keep_existing, keep_new, loaded_card, markable, merge, narrow, retract_side, snooze, verdict_askable,
    verdict_given,
};

use crate::{
    api::{ClaimView, MAX_CARDS, SyncMode},
    domain::Status,
    tui::{
        action::{Action, ActionSpec, Danger, KeyScope, for_each_action},
        state::{AppState, Daemon, Overlay, Screen, page::PageSubject},
    },
};

type Availability = Result<(), String>;

macro_rules! define_conditions {
    ($($name:ident: $danger:ident in $scope:ident by [$($key:literal),*], $title:literal $($short:literal)?
        $(, also [$($also:literal),*])?; $help:literal; if $enabled:ident => $handler:expr;)*) => {
        fn condition(action: Action) -> fn(&AppState) -> Availability {
            match action {
                $(Action::$name => $enabled,)*
            }
        }
    };
}
for_each_action!(define_conditions);

impl AppState {
    /// Checks whether an action is possible now: if it changes the memory, the app is not read-only and a daemon
    /// answers; and its own condition holds.
    ///
    /// # Errors
    ///
    /// The reason why not, as the end of a sentence.
    pub fn check(&self, spec: &ActionSpec) -> Result<(), String> {
        if spec.danger != Danger::None {
            self.not_read_only()?;
        }
        // In a form or dialog that is open already, what was begun can be finished: its text is kept if that fails.
        if spec.danger != Danger::None && spec.scope.is_on_screens() && self.is_offline() {
            return Err(match self.daemon {
                Daemon::Starting => "the daemon is starting".to_owned(),
                _ => self.keys.say("no daemon is running, and {start} starts it"),
            });
        }
        if let Some(screen) = screen_of(spec.scope).filter(|screen| *screen != self.screen) {
            let there = format!("this is on the {} screen: {{{}}} goes there", screen.title(), screen.act().name());
            return Err(self.keys.say(&there));
        }
        condition(spec.id)(self)
    }

    /// Checks that the app was not opened with `--read-only`.
    ///
    /// # Errors
    ///
    /// That it was, as the end of a sentence.
    pub fn not_read_only(&self) -> Result<(), String> {
        if self.settings.read_only { Err("this app was opened with --read-only".to_owned()) } else { Ok(()) }
    }
}

/// Returns the only screen with the actions of a scope; `None` if they are on several screens or on none.
fn screen_of(scope: KeyScope) -> Option<Screen> {
    match scope {
        KeyScope::Inbox | KeyScope::Pending => Some(Screen::Inbox),
        KeyScope::Claims => Some(Screen::Claims),
        KeyScope::Why => Some(Screen::Why),
        KeyScope::Peers => Some(Screen::Peers),
        KeyScope::Timeline => Some(Screen::Timeline),
        KeyScope::Models => Some(Screen::Models),
        KeyScope::Agents => Some(Screen::Agents),
        KeyScope::Notes => Some(Screen::Notes),
        KeyScope::Card
        | KeyScope::Answer
        | KeyScope::Marks
        | KeyScope::Claim
        | KeyScope::Matches
        | KeyScope::Move
        | KeyScope::Global
        | KeyScope::Form
        | KeyScope::Pick
        | KeyScope::Log
        | KeyScope::Confirm
        | KeyScope::Tour
        | KeyScope::Page
        | KeyScope::Verdict
        | KeyScope::Judging => None,
    }
}

/// The action is always possible.
#[expect(clippy::unnecessary_wraps, reason = "a condition of the table like the others")]
fn always(_: &AppState) -> Availability {
    Ok(())
}

fn has_rows(state: &AppState) -> bool {
    state.inbox.rows().any(|row| row.is_selectable())
}

/// The Inbox lists something.
fn inbox_listed(state: &AppState) -> Availability {
    if has_rows(state) { Ok(()) } else { Err("nothing is listed".to_owned()) }
}

/// Like [`pending_selected`], for an answer that accepts it.
fn pending_acceptable(state: &AppState) -> Availability {
    match state.inbox.quarantined() {
        Some(event) if event.waits_for_date() => Err("it is accepted when its date comes".to_owned()),
        _ => pending_selected(state),
    }
}

/// A quarantined event or a join request is under the cursor.
fn pending_selected(state: &AppState) -> Availability {
    if state.inbox.quarantined().is_some() { idle(state) } else { join_selected(state) }
}

/// An act is under the cursor.
fn act_selected(state: &AppState) -> Availability {
    let act = state.acts().and_then(|acts| acts.list.selected());
    act.map(|_| ()).ok_or_else(|| "no change is under the cursor".to_owned())
}

/// One command does the same as the change under the cursor.
fn act_has_command(state: &AppState) -> Availability {
    act_selected(state)?;
    let command = state.acts().and_then(|acts| acts.list.current()).and_then(crate::tui::update::command_of);
    command
        .map(drop)
        .ok_or_else(|| "the log does not keep enough of this change for a command that repeats it".to_owned())
}

/// A row of the story is under the cursor.
fn story_row_selected(state: &AppState) -> Availability {
    match state.story().and_then(super::story::StoryState::current) {
        Some(_) => Ok(()),
        None => Err(state.keys.say("press {story} to show the story")),
    }
}

/// The act under the cursor can be undone.
fn act_undoable(state: &AppState) -> Availability {
    let act = state.acts().and_then(|acts| acts.list.selected()).ok_or("no change is under the cursor")?;
    act.can_undo()?;
    idle(state)
}

/// A claim is under the cursor, or the author filter is set already.
fn author_filterable(state: &AppState) -> Availability {
    if state.claims.who.is_some() { Ok(()) } else { claim_selected(state) }
}

/// A claim with a source is under the cursor, or the source filter is set already.
fn source_filterable(state: &AppState) -> Availability {
    if state.claims.source.is_some() {
        return Ok(());
    }
    match selected_claim(state)?.source {
        Some(_) => Ok(()),
        None => Err("this claim names no source".to_owned()),
    }
}

/// A filter is set.
fn has_filter(state: &AppState) -> Availability {
    if state.claims.has_filters() { Ok(()) } else { Err("no filter is set".to_owned()) }
}

/// The card has a stored side.
fn has_stored_side(state: &AppState) -> Availability {
    let card = loaded_card(state)?;
    if card.view.sides.iter().any(|side| !side.new_claim) {
        Ok(())
    } else {
        Err("nothing on this card is stored yet".to_owned())
    }
}

/// The card has more than two sides.
fn has_more_sides(state: &AppState) -> Availability {
    let card = loaded_card(state)?;
    if card.view.sides.len() > 2 { Ok(()) } else { Err("this card has only two sides".to_owned()) }
}

/// The card has two sides whose texts are not redacted.
fn two_texts(state: &AppState) -> Availability {
    let card = loaded_card(state)?;
    let texts = card.a().into_iter().chain(card.b()).filter(|side| !side.claim.flags.redacted);
    if texts.count() == 2 { Ok(()) } else { Err("this card does not have two texts to compare".to_owned()) }
}

fn selected_claim(state: &AppState) -> Result<&ClaimView, String> {
    state.selected_claim().ok_or_else(|| "no claim is under the cursor".to_owned())
}

/// A claim is under the cursor.
fn claim_selected(state: &AppState) -> Availability {
    selected_claim(state).map(|_| ())
}

/// The app draws in colours.
fn theme_changeable(state: &AppState) -> Availability {
    if state.settings.no_color { Err("colours are off: NO_COLOR or --no-color is set".to_owned()) } else { Ok(()) }
}

/// No act waits for its answer.
fn idle(state: &AppState) -> Availability {
    if state.acting.is_some() { Err("the last change is still being stored".to_owned()) } else { Ok(()) }
}

/// An active claim is under the cursor.
fn active_claim(state: &AppState) -> Availability {
    let claim = selected_claim(state)?;
    if claim.status == Status::Active { idle(state) } else { Err(format!("this claim is already {}", claim.status)) }
}

/// A claim that is no longer active is under the cursor.
fn past_claim(state: &AppState) -> Availability {
    let claim = selected_claim(state)?;
    if claim.flags.undone {
        return Err(state.keys.say("the change that stored this claim was undone; {redo} redoes it"));
    }
    if claim.status == Status::Active { Err("this claim is already active".to_owned()) } else { idle(state) }
}

/// The claim under the cursor needs review, or claims are marked.
fn needs_review(state: &AppState) -> Availability {
    match state.marked_claims().len() {
        0 => {}
        n if n > MAX_CARDS => return Err(format!("{n} claims are marked; at most {MAX_CARDS} are reviewed at once")),
        _ => return idle(state),
    }
    if selected_claim(state)?.flags.needs_review || (state.screen == Screen::Inbox && state.inbox.notice().is_some()) {
        idle(state)
    } else {
        Err("this claim does not need review".to_owned())
    }
}

/// The text of the claim under the cursor is not redacted.
fn redactable(state: &AppState) -> Availability {
    if selected_claim(state)?.flags.redacted { Err("its text is already redacted".to_owned()) } else { idle(state) }
}

/// An undo can be redone.
fn redoable(state: &AppState) -> Availability {
    if state.redo_stack.is_empty() { Err("nothing was undone in this session".to_owned()) } else { idle(state) }
}

/// The item under the cursor can be opened.
fn openable(state: &AppState) -> Availability {
    let some = match state.screen {
        // If no chain is shown, this opens the prompt for a question.
        Screen::Why => true,
        Screen::Inbox => has_rows(state),
        Screen::Cards => !state.conflicts.list.is_empty(),
        Screen::Claims => !state.claims.list.is_empty() || !state.scopes.is_empty(),
        Screen::Peers => !state.peers.entries().is_empty(),
        Screen::Timeline if state.story().is_some() => story_row_selected(state).is_ok(),
        Screen::Timeline => state.acts().is_some_and(|acts| !acts.list.is_empty()),
        Screen::Agents => state.agents.can_open(),
        Screen::Notes => !state.notes.is_empty(),
        Screen::Models => false,
    };
    let some = some && !matches!(state.overlay, Some(Overlay::Page(_) | Overlay::Log { .. }));
    if some { Ok(()) } else { Err("there is nothing to open".to_owned()) }
}

/// A claim or a card with a text is under the cursor.
fn text_selected(state: &AppState) -> Availability {
    if state.selected_text().is_some() { Ok(()) } else { Err("no claim is under the cursor".to_owned()) }
}

/// The claim or card under the cursor names a file of this project as its source.
fn source_selected(state: &AppState) -> Availability {
    if state.selected_source().is_some() {
        return Ok(());
    }
    text_selected(state)?;
    if state.selected_claims().iter().all(|claim| claim.source.is_none()) {
        return Err("it names no source".to_owned());
    }
    Err(format!("its source is not a file of {}, where the app was opened", state.home.0))
}

/// A card or claim to link to is under the cursor.
fn linkable(state: &AppState) -> Availability {
    let some = match state.screen {
        Screen::Cards => state.conflicts.current().is_some(),
        Screen::Inbox => state.inbox.card().is_some() || state.inbox.claim().is_some(),
        Screen::Claims | Screen::Why => state.selected_claim().is_some(),
        Screen::Peers | Screen::Timeline | Screen::Models | Screen::Agents | Screen::Notes => false,
    };
    if some { Ok(()) } else { Err("no card or claim is under the cursor".to_owned()) }
}

/// This device is in a team, and sync is on.
fn sync_now(state: &AppState) -> Availability {
    match &state.peers.status {
        None => Err("still loading".to_owned()),
        Some(status) if status.teams.iter().all(|team| team.ended.is_some()) => {
            Err(state.keys.say("this device is in no team: {new_team} creates one"))
        }
        Some(status) if status.mode == SyncMode::Off => Err("sync is off: ergo sync mode lan turns it on".to_owned()),
        Some(_) => can_write(state),
    }
}

/// A join request is under the cursor.
fn join_selected(state: &AppState) -> Availability {
    match state.waiting() {
        Some(join) if join.expires_at <= state.now => Err("its request expired and needs a new invitation".to_owned()),
        Some(_) => idle(state),
        None => Err("no join request is under the cursor".to_owned()),
    }
}

/// No daemon runs.
fn daemon_down(state: &AppState) -> Availability {
    match state.daemon {
        Daemon::Down { .. } => Ok(()),
        Daemon::Starting => Err("the daemon is starting".to_owned()),
        Daemon::Up { .. } | Daemon::Unknown => Err("the daemon is running".to_owned()),
    }
}

/// An embedder can compute the vectors, and is not doing so already.
fn reembed(state: &AppState) -> Availability {
    can_write(state)?;
    if state.models.reembed.is_some() {
        return Err("the vectors are already being recomputed".to_owned());
    }
    let diagnose = state.models.diagnose.as_ref().ok_or("still loading")?;
    match diagnose.models.roles.iter().find(|model| model.role == "embedder") {
        Some(model) => model.problem.clone().map_or(Ok(()), Err),
        None => Err("no embedder is chosen: `ergo models list` shows them".to_owned()),
    }
}

/// The search line has words.
fn has_search(state: &AppState) -> Availability {
    if state.claims.words().is_empty() {
        return Err(state.keys.say("there is no search: {search} starts one"));
    }
    Ok(())
}

/// The search on the page matches a line.
fn has_page_match(state: &AppState) -> Availability {
    let Some(Overlay::Page(page)) = &state.overlay else { return Err("no page is open".to_owned()) };
    match (page.find.as_ref(), page.matches().len()) {
        (None, _) => Err(state.keys.say("there is no search: {page_find} searches this page")),
        (Some(find), 0) => Err(format!("no line has “{}”", find.text())),
        (Some(_), _) => Ok(()),
    }
}

/// An agent is under the cursor.
fn agent_selected(state: &AppState) -> Availability {
    if state.agents.entry().is_some() { Ok(()) } else { Err("no agent is listed".to_owned()) }
}

/// A rule file is under the cursor.
fn note_file_selected(state: &AppState) -> Availability {
    state.notes.file().map(|_| ()).ok_or_else(|| state.keys.say("no file is under the cursor: {notes_list} lists them"))
}

/// An insight that can be promoted is under the cursor.
fn promotable(state: &AppState) -> Availability {
    idle(state)?;
    match state.notes.principle() {
        None => Err(state.keys.say("{notes_list} lists the rules that can be promoted")),
        Some(insight) if insight.candidate => Ok(()),
        Some(insight) if insight.principle.is_some() => Err("this is already a claim of the organisation".to_owned()),
        Some(insight) if insight.contradicted => {
            Err("one of its claims is on an open card: settle that first".to_owned())
        }
        Some(_) => {
            Err("too few projects state it, or it was demoted before; `ergo promote ID` promotes it all the same"
                .to_owned())
        }
    }
}

/// The text of the open page is loaded.
fn page_loaded(state: &AppState) -> Availability {
    match &state.overlay {
        Some(Overlay::Page(page)) if page.text.is_some() => Ok(()),
        _ => Err("the page is still loading".to_owned()),
    }
}

/// The page shows changes that can be written.
fn page_writable(state: &AppState) -> Availability {
    page_loaded(state)?;
    match &state.overlay {
        Some(Overlay::Page(page)) if page.changes_files() => own_files_changeable(state),
        Some(Overlay::Page(page)) => match page.about {
            PageSubject::Setup { remove: false } => Err("everything is set up already".to_owned()),
            PageSubject::Setup { remove: true } => Err("there is nothing to remove".to_owned()),
            PageSubject::Notes { .. } => Err("the section is up to date".to_owned()),
            PageSubject::Snapshot(_) | PageSubject::Join => Err("this page is read-only".to_owned()),
        },
        _ => Err("this page is read-only".to_owned()),
    }
}

/// This is not the demonstration, which leaves the person's own files alone, and no act waits for its answer.
fn own_files_changeable(state: &AppState) -> Availability {
    if state.settings.demonstration {
        return Err("not in the demonstration, since it would change your own files".to_owned());
    }
    idle(state)
}

/// The app is not read-only, and no act waits for its answer.
fn can_write(state: &AppState) -> Availability {
    state.not_read_only()?;
    idle(state)
}
