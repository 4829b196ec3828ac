//! Fixed texts follow `keys.toml`: if every action has another key, no text on a screen or in a message names a default
//! key.

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

/// Returns a keymap in which every action has a key of its own that is not its default one.
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

/// Whether a line names a default key of one character, other than as a word, a unit or a sign.
fn names_default_key(line: &str) -> bool {
    let tokens: Vec<&str> = line.split_whitespace().map(|token| token.trim_end_matches([',', ';', '.'])).collect();
    tokens.iter().enumerate().any(|(at, token)| {
        let digit = |token: Option<&&str>| token.is_some_and(|token| token.starts_with(|c: char| c.is_ascii_digit()));
        let before = if at == 0 { None } else { tokens.get(at - 1) };
        match *token {
            "a" | "A" | "B" | "|" => false,
            // A line of a diff, and the sentence about such lines.
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
        assert!(names_default_key(text), "{text}");
    }
    for text in ["A says “red”, B says", "waits 240 s more", "a claim ? 4d", "What y│", "Claims: active / zebra"]
    {
        assert!(!names_default_key(text), "{text}");
    }
}

struct DefaultKeyFinder {
    keys: Keymap,
    named: Regex,
    does: Regex,
    found: BTreeSet<String>,
}

impl DefaultKeyFinder {
    fn new() -> Self {
        let named = r"(?:^|[\s(“])(esc|enter|tab|space|backspace|pgup|pgdn|shift-tab|alt-enter)\b|\bctrl-[a-z]\b";
        // A letter that may also be a word is a key if a verb for what a key does follows.
        let does = r"(?:^|[\s(])([0-9aA]) (?:shows?|asks|goes|takes|opens|tells|compares|starts|clears|lists|leaves|keeps this|marks|tries)\b";
        let (named, does) = (Regex::new(named).unwrap(), Regex::new(does).unwrap());
        Self { keys: other_keys(), named, does, found: BTreeSet::new() }
    }

    /// Records the lines of a text that name a default key.
    fn read(&mut self, what: &str, text: &str) {
        for line in text.lines() {
            let open = line.contains('{') && line.contains('}');
            if open || names_default_key(line) || self.named.is_match(line) || self.does.is_match(line) {
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

    /// Opens a screen with the other keys.
    fn open(&self, which: Screen) -> AppState {
        let mut state = screen((120, 40), which);
        state.keys = self.keys.clone();
        state
    }
}

/// Presses the key of an action.
fn act(state: &mut AppState, id: Action) {
    let key = state.keys.first(id);
    press(state, &key);
}

fn error() -> RequestFailure {
    RequestFailure { kind: FailureKind::Refused, message: "it could not be read".into(), hint: None, field: None }
}

fn reply(state: &mut AppState, slot: Slot, answer: Result<RequestAnswer, RequestFailure>) {
    let ticket = state.ticket(slot);
    step(state, Msg::Reply(ticket, answer));
}

#[test]
fn no_text_names_a_usual_key_once_every_act_has_another() {
    let mut finder = DefaultKeyFinder::new();
    for which in Screen::TABS {
        let mut state = finder.open(which);
        finder.at("screen", &mut state);
        for down in 0..14 {
            act(&mut state, Action::Down);
            finder.at(&format!("{which:?} row {down}"), &mut state);
        }
        // The palette, whatever row is under the cursor.
        let count = Palette::new().acts(&state).len();
        act(&mut state, Action::Palette);
        for _ in 0..count.div_ceil(10) {
            finder.at("palette", &mut state);
            for _ in 0..10 {
                act(&mut state, Action::PickDown);
            }
        }
        for spec in ACTIONS {
            let help = finder.keys.say(spec.help);
            finder.read("help", &help);
        }
        let mut state = finder.open(which);
        act(&mut state, Action::Log);
        finder.at("log", &mut state);
        let mut state = finder.open(which);
        state.daemon = Daemon::Down { message: "gone".into() };
        finder.at("down", &mut state);
    }
    let mut state = finder.open(Screen::Inbox);
    act(&mut state, Action::Tour);
    for _ in 0..3 {
        finder.at("tour", &mut state);
        act(&mut state, Action::TourNext);
    }
    let mut state = AppState::new(settings(), (80, 24), 1);
    state.daemon = Daemon::Down { message: "gone".into() };
    finder.at("offline", &mut state);
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
        finder.at("trouble", &mut state);
    }
    assert_eq!(finder.found, BTreeSet::new());
}

#[test]
fn no_empty_screen_names_a_usual_key_once_every_act_has_another() {
    let mut finder = DefaultKeyFinder::new();
    for settled in 0..3 {
        let mut state = finder.open(Screen::Inbox);
        state.inbox = crate::tui::state::InboxState::default();
        state.inbox.settled = settled;
        reply(&mut state, Slot::Inbox, Ok(RequestAnswer::Inbox(Inbox::default())));
        finder.at("empty inbox", &mut state);
        state.scopes.clear();
        finder.at("empty inbox, empty memory", &mut state);
    }
    for filter in [CardListFilter::Open, CardListFilter::Snoozed, CardListFilter::Settled, CardListFilter::All] {
        let mut state = finder.open(Screen::Cards);
        state.conflicts = crate::tui::state::ConflictsState { filter, ..crate::tui::state::ConflictsState::default() };
        assert!(state.conflicts.list.need().is_some());
        reply(&mut state, Slot::Conflicts, Ok(RequestAnswer::Conflicts(crate::api::ConflictsPage::default())));
        finder.at("no cards", &mut state);
    }
    for (search, review) in [("zebra", false), ("", true), ("", false)] {
        let mut state = finder.open(Screen::Claims);
        state.claims.search = search.into();
        state.claims.needs_review = review;
        state.claims.list.restart();
        assert!(state.claims.list.need().is_some());
        reply(&mut state, Slot::Claims, Ok(RequestAnswer::Claims(crate::api::ClaimsPage::default())));
        finder.at("no claims", &mut state);
    }
    for span in [Period::LastHere, Period::Yesterday, Period::Week, Period::All] {
        let mut state = finder.open(Screen::Timeline);
        state.timeline.span = span;
        state.timeline.list.restart();
        assert!(state.timeline.list.need().is_some());
        reply(&mut state, Slot::Timeline, Ok(RequestAnswer::Log(LogPage::default())));
        finder.at("no acts", &mut state);
    }
    let mut state = finder.open(Screen::Inbox);
    act(&mut state, Action::ShowWhy);
    finder.at("nothing asked", &mut state);
    act(&mut state, Action::Ask);
    finder.at("asking", &mut state);
    let nothing = WhyAnswer { note: Some("Nothing answers that.".into()), ..WhyAnswer::default() };
    reply(&mut state, Slot::Why, Ok(RequestAnswer::Why(Box::new(nothing))));
    state.overlay = None;
    finder.at("no answer", &mut state);
    assert_eq!(finder.found, BTreeSet::new());
}

#[test]
fn no_form_and_no_message_names_a_usual_key_once_every_act_has_another() {
    let mut finder = DefaultKeyFinder::new();
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
        let mut state = finder.open(Screen::Cards);
        act(&mut state, id);
        assert!(matches!(state.overlay, Some(Overlay::Form(_))), "{id:?}");
        finder.at(&format!("{id:?}"), &mut state);
        for _ in 0..3 {
            act(&mut state, Action::NextField);
            finder.at(&format!("{id:?}"), &mut state);
        }
    }
    for id in [Action::ClaimSupersede, Action::ClaimRetract, Action::ClaimRedact] {
        let mut state = finder.open(Screen::Claims);
        act(&mut state, id);
        finder.at(&format!("{id:?}"), &mut state);
        if id == Action::ClaimRedact {
            press(&mut state, "l e a k");
            act(&mut state, Action::Submit);
            assert!(matches!(state.overlay, Some(Overlay::Confirm(_))));
            finder.at("question", &mut state);
        }
    }
    let mut state = finder.open(Screen::Cards);
    act(&mut state, Action::Mark);
    finder.at("marked", &mut state);
    act(&mut state, Action::KeepSource);
    finder.at("keep a source", &mut state);
    let mut state = finder.open(Screen::Claims);
    act(&mut state, Action::Search);
    finder.at("search", &mut state);
    let mut state = finder.open(Screen::Agents);
    for id in [Action::AgentSetup, Action::PageApply] {
        act(&mut state, id);
        finder.at("setup", &mut state);
    }
    let mut state = finder.open(Screen::Inbox);
    let change =
        crate::api::Change { act: "sync.pending".into(), summary: "eve wants in".into(), ..Default::default() };
    step(&mut state, Msg::Live(Live::Change(Box::new(change))));
    finder.at("a guest", &mut state);
    let lines: Vec<Listed> = (0..90).map(|_| Listed { done: true, text: "kept".into(), about: "one".into() }).collect();
    let confirm = Confirm::new("90 cards", "Would settle them.", "Do it", WriteRequest::SyncNow, None);
    state.overlay = Some(Overlay::Confirm(Confirm { list: lines, ..confirm }));
    finder.at("preview", &mut state);
    assert_eq!(finder.found, BTreeSet::new());
}

#[test]
fn the_keys_are_laid_out_for_the_drawn_size() {
    let area = Rect::new(0, 0, 60, 16);
    let mut buffer = Buffer::empty(area);
    // The terminal has become smaller, and the app was not told yet.
    draw(&screen((120, 40), Screen::Inbox), &Theme::mono(true), area, &mut buffer);
    let expected = text(&frame(&mut screen((60, 16), Screen::Inbox), &Theme::mono(true)));
    assert_eq!(text(&buffer).lines().last(), expected.lines().last());
}
