//! The app without a terminal, with the list of 100,000 claims open.

use ergo::{
    api::{ScopeView, Scopes},
    tui::{
        msg::{Effect, Msg, ReadRequest, RequestAnswer},
        state::{AppSettings, AppState, Screen},
        update::{self, Opening},
    },
};
use ratatui::layout::Rect;

use super::crowd;

/// The terminal, which the app fills.
pub(crate) const AREA: Rect = Rect::new(0, 0, 200, 60);

const NOW: u64 = 1_795_300_000_000;

/// Opens the app with its first claims.
pub(crate) fn open() -> AppState {
    let settings = AppSettings {
        who: "zoe".into(),
        scope: crowd::claim(0).scope,
        identities: Vec::new(),
        read_only: false,
        demonstration: false,
        zone: jiff::tz::TimeZone::UTC,
        seed: [1; 16],
        autostart: false,
        last_here: None,
        tour: false,
        no_color: false,
    };
    let mut state = AppState::new(settings, (AREA.width, AREA.height), NOW);
    let effects = update::open(&mut state, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    settle(&mut state, effects);
    state
}

/// Answers all requests of the app for claims and scopes.
pub(crate) fn settle(state: &mut AppState, effects: Vec<Effect>) {
    let mut queue = effects;
    while let Some(effect) = queue.pop() {
        if let Effect::Read(ticket, read) = effect
            && let Some(answer) = answer(&read)
        {
            queue.extend(update::update(state, Msg::Reply(ticket, Ok(answer))));
        }
    }
}

fn answer(read: &ReadRequest) -> Option<RequestAnswer> {
    match read {
        ReadRequest::Claims(query) => Some(RequestAnswer::Claims(crowd::page(query))),
        ReadRequest::Scopes => {
            let scope = ScopeView {
                scope: crowd::claim(0).scope,
                active: crowd::CROWD,
                total: crowd::CROWD,
                open_cards: 3,
                needs_review: 0,
                latest: NOW,
                identity: None,
            };
            Some(RequestAnswer::Scopes(Scopes { items: vec![scope] }))
        }
        _ => None,
    }
}
