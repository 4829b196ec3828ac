//! Whether an action can be done now, or why not: one small sentence each.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::{
    api::{CardAct, ClaimView, InboxItem, MAX_CARDS, SyncMode},
    domain::Status,
    tui::{
        action::{Action, ActionSpec, Danger, for_each_action},
        state::{Daemon, Overlay, Screen, State, conflicts::Card, inbox::Row},
    },
};

type Can = Result<(), String>;

macro_rules! define_conditions {
    ($($name:ident: $danger:ident in $scope:ident by [$($key:literal),*], $title:literal $($short:literal)?
        $(, also [$($also:literal),*])?; $help:literal; if $enabled:ident => $handler:expr;)*) => {
        fn condition(action: Action) -> fn(&State) -> Can {
            match action {
                $(Action::$name => $enabled,)*
            }
        }
    };
}
for_each_action!(define_conditions);

impl State {
    /// Whether an action can be done now; read-only mode and its own condition together.
    ///
    /// # Errors
    /// Why it cannot, as the end of a sentence.
    pub fn check(&self, spec: &ActionSpec) -> Result<(), String> {
        if spec.danger != Danger::None && self.settings.read_only {
            return Err("this app was opened with --read-only".to_owned());
        }
        condition(spec.id)(self)
    }
}

/// It always can.
fn always(_: &State) -> Can {
    Ok(())
}

fn card(state: &State) -> Result<&Card, String> {
    let none = match state.screen {
        Screen::Inbox => state.inbox.card().is_none(),
        Screen::Cards => state.conflicts.list.loaded() && state.conflicts.list.is_empty(),
        _ => return Err("no card is on this screen".to_owned()),
    };
    if none {
        return Err("no card is listed".to_owned());
    }
    let card = state.card_in_hand().ok_or("the card is still being read")?;
    if state.acting.is_some() {
        return Err("the last act is still running".to_owned());
    }
    Ok(card)
}

fn act(state: &State, act: CardAct) -> Can {
    card(state)?.can(act)
}

/// An act on all marked cards; what it does to each is looked at by the daemon, and shown first.
fn many(state: &State) -> Can {
    match state.marked_cards().len() {
        0 => Err(state.keys.say("no card is marked: {mark} marks one")),
        n if n > MAX_CARDS => Err(format!("{n} cards are marked; one act settles at most {MAX_CARDS}")),
        _ => idle(state),
    }
}

/// An act on the marked cards, else on the card under the cursor.
fn act_or_many(state: &State, act: CardAct) -> Can {
    if state.is_marked() { many(state) } else { self::act(state, act) }
}

/// An act on one card only.
fn act_on_one(state: &State, act: CardAct) -> Can {
    if !state.is_marked() {
        return self::act(state, act);
    }
    Err(state.keys.say("this act is for one card, and several are marked: {back} unmarks them"))
}

/// Something is listed that one act can settle with others.
fn markable(state: &State) -> Can {
    if state.screen == Screen::Cards {
        return has_cards(state);
    }
    match state.inbox.current() {
        Some(Row::Import(..) | Row::Item(_, InboxItem::Card(_) | InboxItem::Review(_) | InboxItem::Notice(_))) => {
            Ok(())
        }
        Some(Row::Item(_, InboxItem::Quarantined(_) | InboxItem::Joining(_))) => {
            Err("this one is answered by itself".to_owned())
        }
        Some(Row::Heading(..) | Row::Before(..) | Row::More(..)) | None => Err("nothing to mark is here".to_owned()),
    }
}

/// Cards are marked.
fn keep_source(state: &State) -> Can {
    many(state)
}

/// A card is shown of which the guard said why.
fn card_details(state: &State) -> Can {
    let card = state.card_in_hand().ok_or("the card is still being read")?;
    card.evidence().map(|_| ()).ok_or_else(|| "the guard said nothing of this card".to_owned())
}

/// See [`CardAct::Supersede`].
fn keep_new(state: &State) -> Can {
    act_or_many(state, CardAct::Supersede)?;
    if state.is_marked() {
        return Ok(());
    }
    card(state)?.can_side(0)
}

/// See [`CardAct::Supersede`].
fn keep_existing(state: &State) -> Can {
    if state.is_marked() {
        return many(state);
    }
    act(state, CardAct::Supersede)?;
    let card = card(state)?;
    card.can_side(card.other)
}

/// See [`CardAct::Supersede`].
fn merge(state: &State) -> Can {
    act_on_one(state, CardAct::Supersede)
}

/// See [`CardAct::Retract`].
fn retract_side(state: &State) -> Can {
    act_on_one(state, CardAct::Retract)
}

/// See [`CardAct::Narrow`].
fn narrow(state: &State) -> Can {
    act_on_one(state, CardAct::Narrow)
}

/// See [`CardAct::Exception`].
fn exception(state: &State) -> Can {
    act_or_many(state, CardAct::Exception)
}

/// See [`CardAct::Dismiss`].
fn dismiss(state: &State) -> Can {
    act_or_many(state, CardAct::Dismiss)
}

/// See [`CardAct::Discard`].
fn discard(state: &State) -> Can {
    act_or_many(state, CardAct::Discard)
}

/// See [`CardAct::Snooze`].
fn snooze(state: &State) -> Can {
    act_or_many(state, CardAct::Snooze)
}

/// Cards are listed.
fn has_cards(state: &State) -> Can {
    let none = match state.screen {
        Screen::Inbox => state.inbox.stops().is_empty(),
        _ => state.conflicts.list.is_empty(),
    };
    if none { Err("no card is listed".to_owned()) } else { Ok(()) }
}

/// Something needs attention.
fn listed(state: &State) -> Can {
    if state.inbox.stops().is_empty() { Err("nothing is listed".to_owned()) } else { Ok(()) }
}

/// Something that waits for a decision is under the cursor.
fn pending(state: &State) -> Can {
    if state.inbox.quarantined().is_some() { idle(state) } else { waiting(state) }
}

/// An act is under the cursor.
fn act_listed(state: &State) -> Can {
    let act = state.acts().and_then(|acts| acts.list.in_hand());
    act.map(|_| ()).ok_or_else(|| "no act is under the cursor".to_owned())
}

/// The act under the cursor can be taken back.
fn take_back(state: &State) -> Can {
    let act = state.acts().and_then(|acts| acts.list.in_hand()).ok_or("no act is under the cursor")?;
    act.can_undo()?;
    idle(state)
}

/// A claim is in hand, or the author is asked for already.
fn author_filter(state: &State) -> Can {
    if state.claims.who.is_some() { Ok(()) } else { claim(state) }
}

/// A claim with a source is in hand, or a source is asked for already.
fn source_filter(state: &State) -> Can {
    if state.claims.source.is_some() {
        return Ok(());
    }
    match in_hand(state)?.source {
        Some(_) => Ok(()),
        None => Err("this claim names no source".to_owned()),
    }
}

/// A filter is set.
fn narrowed(state: &State) -> Can {
    if state.claims.is_narrowed() { Ok(()) } else { Err("no filter is set".to_owned()) }
}

/// The card has a stored side.
fn card_why(state: &State) -> Can {
    let card = state.card_in_hand().ok_or("the card is still being read")?;
    if card.view.sides.iter().any(|side| !side.candidate) {
        Ok(())
    } else {
        Err("nothing on this card is stored yet".to_owned())
    }
}

/// The card has more than two sides.
fn other_side(state: &State) -> Can {
    let card = state.card_in_hand().ok_or("the card is still being read")?;
    if card.view.sides.len() > 2 { Ok(()) } else { Err("this card has two sides only".to_owned()) }
}

/// The card has two sides of which there are words.
fn two_texts(state: &State) -> Can {
    let card = state.card_in_hand().ok_or("the card is still being read")?;
    let texts = card.a().into_iter().chain(card.b()).filter(|side| !side.claim.flags.redacted);
    if texts.count() == 2 { Ok(()) } else { Err("this card has no two texts to compare".to_owned()) }
}

fn in_hand(state: &State) -> Result<&ClaimView, String> {
    state.claim_in_hand().ok_or_else(|| "no claim is under the cursor".to_owned())
}

/// A claim is in hand.
fn claim(state: &State) -> Can {
    in_hand(state).map(|_| ())
}

/// No act is under way.
fn idle(state: &State) -> Can {
    if state.acting.is_some() { Err("the last act is still running".to_owned()) } else { Ok(()) }
}

/// An active claim is in hand.
fn active_claim(state: &State) -> Can {
    let claim = in_hand(state)?;
    if claim.status == Status::Active { idle(state) } else { Err(format!("this claim is already {}", claim.status)) }
}

/// A claim that is no longer active is in hand.
fn past_claim(state: &State) -> Can {
    let claim = in_hand(state)?;
    if claim.flags.undone {
        return Err(state.keys.say("the act that made this claim was undone; {redo} redoes it"));
    }
    if claim.status == Status::Active { Err("this claim is active".to_owned()) } else { idle(state) }
}

/// The claim in hand needs review, or several are marked.
fn needs_review(state: &State) -> Can {
    match state.marked_claims().len() {
        0 | 1 => {}
        n if n > MAX_CARDS => return Err(format!("{n} claims are marked; one act reviews at most {MAX_CARDS}")),
        _ => return idle(state),
    }
    if in_hand(state)?.flags.needs_review || (state.screen == Screen::Inbox && state.inbox.notice().is_some()) {
        idle(state)
    } else {
        Err("this claim does not need review".to_owned())
    }
}

/// The claim in hand still has its text.
fn redactable(state: &State) -> Can {
    if in_hand(state)?.flags.redacted { Err("its text is already gone".to_owned()) } else { idle(state) }
}

/// Something can be taken back.
fn undo(state: &State) -> Can {
    idle(state)
}

/// An undo can be taken back.
fn redo(state: &State) -> Can {
    if state.undone.is_empty() { Err("nothing was undone in this session".to_owned()) } else { idle(state) }
}

/// The scope can be compared.
fn audit(state: &State) -> Can {
    idle(state)
}

/// What is under the cursor can be opened.
fn openable(state: &State) -> Can {
    let some = match state.screen {
        // Where no chain is shown, opening it is asking for one.
        Screen::Why => true,
        Screen::Inbox => !state.inbox.stops().is_empty(),
        Screen::Cards => !state.conflicts.list.is_empty(),
        Screen::Claims => !state.claims.list.is_empty() || !state.scopes.is_empty(),
        Screen::Peers => !state.peers.entries().is_empty(),
        Screen::Timeline => state.acts().is_some_and(|acts| !acts.list.is_empty()),
        Screen::Agents => state.agents.can_open(),
        Screen::Models => false,
    };
    let some = some && !matches!(state.overlay, Some(Overlay::Page(_)));
    if some { Ok(()) } else { Err("there is nothing to open here".to_owned()) }
}

/// A claim or a card is in hand whose text is there.
fn text(state: &State) -> Can {
    if state.text_in_hand().is_some() { Ok(()) } else { Err("no claim is under the cursor".to_owned()) }
}

/// What is in hand comes from a file of this project.
fn source(state: &State) -> Can {
    if state.source_in_hand().is_some() {
        return Ok(());
    }
    text(state)?;
    Err(format!("it names no file of {}, where the app was opened", state.home.0))
}

/// There is something to link to.
fn link(state: &State) -> Can {
    let some = match state.screen {
        Screen::Cards => state.conflicts.current().is_some(),
        Screen::Inbox => state.inbox.card().is_some() || state.inbox.claim().is_some(),
        Screen::Claims | Screen::Why => state.claim_in_hand().is_some(),
        Screen::Peers | Screen::Timeline | Screen::Models | Screen::Agents => false,
    };
    if some { Ok(()) } else { Err("there is nothing under the cursor to link to".to_owned()) }
}

/// There is a team whose peers can be compared with.
fn sync_now(state: &State) -> Can {
    match &state.peers.status {
        None => Err("it is still being read".to_owned()),
        Some(status) if status.teams.iter().all(|team| team.ended.is_some()) => Err("there is no team".to_owned()),
        Some(status) if status.mode == SyncMode::Off => Err("sync is off: ergo sync mode lan turns it on".to_owned()),
        Some(_) => idle(state),
    }
}

/// Someone who waits for admission is under the cursor.
fn waiting(state: &State) -> Can {
    match state.waiting() {
        Some(join) if join.expires_at <= state.now => Err("it waited too long and needs a new invitation".to_owned()),
        Some(_) => idle(state),
        None => Err("nobody who asks to join is under the cursor".to_owned()),
    }
}

/// No daemon runs.
fn start(state: &State) -> Can {
    match state.daemon {
        Daemon::Down { .. } => Ok(()),
        Daemon::Starting => Err("it is starting".to_owned()),
        Daemon::Up { .. } | Daemon::Unknown => Err("the daemon is running".to_owned()),
    }
}

/// There is an embedder whose vectors can be made.
fn reembed(state: &State) -> Can {
    works(state)?;
    if state.models.reembed.is_some() {
        return Err("they are already being made".to_owned());
    }
    let diagnose = state.models.diagnose.as_ref().ok_or("it is still being read")?;
    match diagnose.models.roles.iter().find(|model| model.role == "embedder") {
        Some(model) => model.problem.clone().map_or(Ok(()), Err),
        None => Err("no embedding model is chosen: ergo models list shows them".to_owned()),
    }
}

/// Something is searched for.
fn matches(state: &State) -> Can {
    if state.claims.words().is_empty() {
        return Err(state.keys.say("there is no search: {search} starts one"));
    }
    Ok(())
}

/// Lines of the page have what is searched for on it.
fn page_matches(state: &State) -> Can {
    let Some(Overlay::Page(page)) = &state.overlay else { return Err("no page is open".to_owned()) };
    match (page.find.as_ref(), page.matches().len()) {
        (None, _) => Err(state.keys.say("there is no search: {page_find} searches this page")),
        (Some(find), 0) => Err(format!("no line has “{}”", find.text())),
        (Some(_), _) => Ok(()),
    }
}

/// An agent is under the cursor.
fn agent(state: &State) -> Can {
    if state.agents.entry().is_some() { Ok(()) } else { Err("no agent is listed".to_owned()) }
}

/// A page is there to read.
fn page(state: &State) -> Can {
    match &state.overlay {
        Some(Overlay::Page(page)) if page.text.is_some() => Ok(()),
        _ => Err("the page is still being read".to_owned()),
    }
}

/// What the page shows can be written.
fn page_apply(state: &State) -> Can {
    page(state)?;
    match &state.overlay {
        Some(Overlay::Page(page)) if page.changes_files() => writes_files(state),
        Some(Overlay::Page(page)) if page.is_setup() => Err("nothing would change".to_owned()),
        _ => Err("this page is for reading".to_owned()),
    }
}

/// Files of the person's own may be written, and nothing else is under way.
fn writes_files(state: &State) -> Can {
    if state.settings.demonstration {
        return Err("not in the demonstration: these are your own files".to_owned());
    }
    works(state)
}

/// Something beside claims may be changed, and nothing else is under way.
fn works(state: &State) -> Can {
    if state.settings.read_only {
        return Err("this app was opened with --read-only".to_owned());
    }
    idle(state)
}
