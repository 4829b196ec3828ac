//! Fixed texts follow `keys.toml`: where every act has another key, nothing that is shown or said names one of the usual keys.

use std::{collections::BTreeSet, fmt::Write as _};

use regex::Regex;

use super::*;
use crate::{
    api::{Inbox, LogPage, WhyAnswer},
    tui::{
        action::{ACTIONS, Action, KeyScope, Keymap},
        msg::{Live, RequestAnswer, Slot},
        state::{Daemon, acts::Period, conflicts::CardListFilter, overlay::Palette},
    },
};

/// Another key for every act, each its own.
fn other_keys() -> Keymap {
    let functions = (1..=12).flat_map(|n| ["ctrl-alt-", "alt-", "ctrl-"].map(|mods| format!("{mods}f{n}")));
    let letters = ('a'..='z').chain('A'..='Z').chain('0'..='9').map(|c| format!("ctrl-alt-{c}"));
    let others = ["up", "down", "left", "right", "home", "end"].map(|key| format!("ctrl-alt-{key}"));
    let digits = ('0'..='9').map(|c| format!("alt-{c}"));
    let plain = ('a'..='z').chain('A'..='Z').map(|c| format!("alt-{c}"));
    let mut pool = functions.chain(letters).chain(others).chain(digits).chain(plain);
    let mut file = String::new();
    for scope in KeyScope::ALL {
        writeln!(file, "[{}]", scope.name()).unwrap();
        for spec in ACTIONS.iter().filter(|spec| spec.scope == scope) {
            writeln!(file, "{} = {:?}", spec.id.name(), pool.next().unwrap()).unwrap();
        }
    }
    Keymap::parse(&file).unwrap_or_else(|mistake| panic!("{mistake:?}\n{file}"))
}

/// Whether a usual key of one letter or mark stands in a line by itself, if it is neither a word, a unit nor a mark of its own.
fn letter(line: &str) -> bool {
    let tokens: Vec<&str> = line.split_whitespace().map(|token| token.trim_end_matches([',', ';', '.'])).collect();
    tokens.iter().enumerate().any(|(at, token)| {
        let digit = |token: Option<&&str>| token.is_some_and(|token| token.starts_with(|c: char| c.is_ascii_digit()));
        let before = if at == 0 { None } else { tokens.get(at - 1) };
        match *token {
            "a" | "A" | "B" | "|" => false,
            // A line of a difference, and what is said of such lines.
            "+" if at <= 1 || before == Some(&"with") => false,
            "s" | "d" | "h" if digit(before) => false,
            "?" if digit(tokens.get(at + 1)) => false,
            "/" if line.contains("Claims:") => false,
            token if digit(Some(&token)) => false,
            token => token.chars().count() == 1 && ACTIONS.iter().any(|spec| spec.keys.contains(&token)),
        }
    })
}

#[test]
fn a_key_among_words_is_recognised() {
    for text in ["no daemon: s starts it", "/ asks; w on a claim", "press ?", "119 more: c", "x, then y"] {
        assert!(letter(text), "{text}");
    }
    for text in ["A says “red”, B says", "waits 240 s more", "a claim ? 4d", "What y│", "Claims: active / zebra"]
    {
        assert!(!letter(text), "{text}");
    }
}

struct Look {
    keys: Keymap,
    named: Regex,
    does: Regex,
    found: BTreeSet<String>,
}

impl Look {
    fn new() -> Self {
        let named = r"(?:^|[\s(“])(esc|enter|tab|space|backspace|pgup|pgdn|shift-tab|alt-enter)\b|\bctrl-[a-z]\b";
        // Letters that are words as well are keys if something follows that they do.
        let does = r"(?:^|[\s(])([0-9aA]) (?:shows?|asks|goes|takes|opens|tells|compares|starts|clears|lists|leaves|keeps this|marks|tries)\b";
        let (named, does) = (Regex::new(named).unwrap(), Regex::new(does).unwrap());
        Self { keys: other_keys(), named, does, found: BTreeSet::new() }
    }

    /// Notes the names of usual keys in a text, each with the words around it.
    fn read(&mut self, what: &str, text: &str) {
        for line in text.lines() {
            let open = line.contains('{') && line.contains('}');
            if open || letter(line) || self.named.is_match(line) || self.does.is_match(line) {
                self.found.insert(format!("{what}: {}", line.trim()));
            }
        }
    }

    fn at(&mut self, what: &str, state: &mut AppState) {
        state.keys = self.keys.clone();
        for size in [(200, 60), (80, 24)] {
            state.size = size;
            let shown = text(&frame(state, &Theme::ansi(true)));
            self.read(what, &shown);
        }
        for spec in ACTIONS {
            if let Err(reason) = state.check(spec) {
                self.read(what, &reason);
            }
        }
        for line in &state.log {
            self.read(what, &line.text);
        }
    }

    /// A screen as it opens, with the other keys.
    fn open(&self, which: Screen) -> AppState {
        let mut state = screen((120, 40), which);
        state.keys = self.keys.clone();
        state
    }
}

/// Presses an act's key.
fn act(state: &mut AppState, id: Action) {
    let key = state.keys.first(id);
    press(state, &key);
}

fn error() -> RequestFailure {
    RequestFailure {
        kind: FailureKind::Refused,
        message: "it could not be read".into(),
        hint: None,
        field: None,
        candidates: vec![],
    }
}

fn reply(state: &mut AppState, slot: Slot, answer: Result<RequestAnswer, RequestFailure>) {
    let ticket = state.ticket(slot);
    step(state, Msg::Reply(ticket, answer));
}

#[test]
fn no_text_names_a_usual_key_once_every_act_has_another() {
    let mut look = Look::new();
    for which in Screen::TABS {
        let mut state = look.open(which);
        look.at("screen", &mut state);
        for down in 0..14 {
            act(&mut state, Action::Down);
            look.at(&format!("{which:?} row {down}"), &mut state);
        }
        // The palette, whatever row is under the cursor.
        let count = Palette::new().acts(&state).len();
        act(&mut state, Action::Palette);
        for _ in 0..count.div_ceil(10) {
            look.at("palette", &mut state);
            for _ in 0..10 {
                act(&mut state, Action::PickDown);
            }
        }
        for spec in ACTIONS {
            let help = look.keys.say(spec.help);
            look.read("help", &help);
        }
        let mut state = look.open(which);
        act(&mut state, Action::Log);
        look.at("log", &mut state);
        let mut state = look.open(which);
        state.daemon = Daemon::Down { message: "gone".into() };
        look.at("down", &mut state);
    }
    let mut state = look.open(Screen::Inbox);
    act(&mut state, Action::Tour);
    for _ in 0..3 {
        look.at("tour", &mut state);
        act(&mut state, Action::TourNext);
    }
    let mut state = AppState::new(settings(), (80, 24), 1);
    state.daemon = Daemon::Down { message: "gone".into() };
    look.at("offline", &mut state);
    for (which, slot) in [
        (Screen::Inbox, Slot::Inbox),
        (Screen::Why, Slot::Why),
        (Screen::Models, Slot::Diagnose),
        (Screen::Peers, Slot::Sync),
        (Screen::Cards, Slot::Conflicts),
        (Screen::Claims, Slot::Claims),
        (Screen::Timeline, Slot::Timeline),
    ] {
        let mut state = AppState::new(settings(), (80, 24), 1);
        state.screen = which;
        reply(&mut state, slot, Err(error()));
        look.at("trouble", &mut state);
    }
    assert_eq!(look.found, BTreeSet::new());
}

#[test]
fn no_empty_screen_names_a_usual_key_once_every_act_has_another() {
    let mut look = Look::new();
    for settled in 0..3 {
        let mut state = look.open(Screen::Inbox);
        state.inbox = crate::tui::state::InboxState::default();
        state.inbox.settled = settled;
        reply(&mut state, Slot::Inbox, Ok(RequestAnswer::Inbox(Inbox::default())));
        look.at("empty inbox", &mut state);
        state.scopes.clear();
        look.at("empty inbox, empty memory", &mut state);
    }
    for filter in [CardListFilter::Open, CardListFilter::Snoozed, CardListFilter::Settled, CardListFilter::All] {
        let mut state = look.open(Screen::Cards);
        state.conflicts = crate::tui::state::ConflictsState { filter, ..crate::tui::state::ConflictsState::default() };
        assert!(state.conflicts.list.need().is_some());
        reply(&mut state, Slot::Conflicts, Ok(RequestAnswer::Conflicts(crate::api::ConflictsPage::default())));
        look.at("no cards", &mut state);
    }
    for (search, review) in [("zebra", false), ("", true), ("", false)] {
        let mut state = look.open(Screen::Claims);
        state.claims.search = search.into();
        state.claims.needs_review = review;
        state.claims.list.restart();
        assert!(state.claims.list.need().is_some());
        reply(&mut state, Slot::Claims, Ok(RequestAnswer::Claims(crate::api::ClaimsPage::default())));
        look.at("no claims", &mut state);
    }
    for span in [Period::LastHere, Period::Yesterday, Period::Week, Period::All] {
        let mut state = look.open(Screen::Timeline);
        state.timeline.span = span;
        state.timeline.list.restart();
        assert!(state.timeline.list.need().is_some());
        reply(&mut state, Slot::Timeline, Ok(RequestAnswer::Log(LogPage::default())));
        look.at("no acts", &mut state);
    }
    let mut state = look.open(Screen::Inbox);
    act(&mut state, Action::ShowWhy);
    look.at("nothing asked", &mut state);
    act(&mut state, Action::Ask);
    look.at("asking", &mut state);
    let nothing = WhyAnswer { note: Some("Nothing answers that.".into()), ..WhyAnswer::default() };
    reply(&mut state, Slot::Why, Ok(RequestAnswer::Why(Box::new(nothing))));
    state.overlay = None;
    look.at("no answer", &mut state);
    assert_eq!(look.found, BTreeSet::new());
}

#[test]
fn no_form_and_no_message_names_a_usual_key_once_every_act_has_another() {
    let mut look = Look::new();
    for id in [
        Action::KeepNew,
        Action::KeepExisting,
        Action::Merge,
        Action::Retract,
        Action::Narrow,
        Action::Exception,
        Action::Dismiss,
        Action::Discard,
        Action::Snooze,
    ] {
        let mut state = look.open(Screen::Cards);
        act(&mut state, id);
        assert!(matches!(state.overlay, Some(Overlay::Form(_))), "{id:?}");
        look.at(&format!("{id:?}"), &mut state);
        for _ in 0..3 {
            act(&mut state, Action::NextField);
            look.at(&format!("{id:?}"), &mut state);
        }
    }
    for id in [Action::ClaimSupersede, Action::ClaimRetract, Action::ClaimRedact] {
        let mut state = look.open(Screen::Claims);
        act(&mut state, id);
        look.at(&format!("{id:?}"), &mut state);
        if id == Action::ClaimRedact {
            press(&mut state, "l e a k");
            act(&mut state, Action::Submit);
            assert!(matches!(state.overlay, Some(Overlay::Confirm(_))));
            look.at("question", &mut state);
        }
    }
    let mut state = look.open(Screen::Cards);
    act(&mut state, Action::Mark);
    look.at("marked", &mut state);
    act(&mut state, Action::KeepSource);
    look.at("keep a source", &mut state);
    let mut state = look.open(Screen::Claims);
    act(&mut state, Action::Search);
    look.at("search", &mut state);
    let mut state = look.open(Screen::Agents);
    for id in [Action::AgentSetup, Action::PageApply] {
        act(&mut state, id);
        look.at("setup", &mut state);
    }
    let mut state = look.open(Screen::Inbox);
    let change =
        crate::api::Change { act: "sync.pending".into(), summary: "eve wants in".into(), ..Default::default() };
    step(&mut state, Msg::Live(Live::Change(Box::new(change))));
    look.at("a guest", &mut state);
    let lines: Vec<Listed> = (0..90).map(|_| Listed { done: true, text: "kept".into(), about: "one".into() }).collect();
    let confirm = Confirm::new("90 cards", "Would settle them.", "Do it", WriteRequest::SyncNow, None);
    state.overlay = Some(Overlay::Confirm(Confirm { list: lines, ..confirm }));
    look.at("preview", &mut state);
    assert_eq!(look.found, BTreeSet::new());
}
