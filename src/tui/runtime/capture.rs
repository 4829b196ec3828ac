//! A picture of the app without a terminal: for the README.

use std::path::Path;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{calls, drift, now, opening, settings, svg};
use crate::{
    client::Client,
    tui::{
        Options, TuiError,
        key::KeyPress,
        msg::{Effect, Msg},
        state::State,
        theme::Theme,
        update, view,
    },
};

/// Requests after which a picture is taken whatever else is asked for.
const ENOUGH: usize = 200;

/// Opens the app as `options` say at a size in columns and rows, reads what it needs from the daemon, presses `keys` (in their
/// written form, separated by spaces), and returns the frame as SVG. Acts are not sent: a picture changes nothing.
pub fn capture(options: &Options, client: &Client, size: (u16, u16), keys: &str) -> Result<String, TuiError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut state = State::new(settings(options, client)?, size, now());
    let theme = Theme::ansi(true);
    let effects = update::open(&mut state, opening(options));
    runtime.block_on(settle(&mut state, client, options.folder.as_deref(), effects));
    frame(&mut state, &theme);
    for key in keys.split_whitespace().filter_map(KeyPress::parse) {
        // Fingers take their time: no two presses are one key held down.
        state.now += 500;
        let effects = update::update(&mut state, Msg::Key(key));
        runtime.block_on(settle(&mut state, client, options.folder.as_deref(), effects));
        frame(&mut state, &theme);
    }
    let buffer = frame(&mut state, &theme);
    Ok(svg::of(&buffer))
}

async fn settle(state: &mut State, client: &Client, folder: Option<&Path>, effects: Vec<Effect>) {
    let mut queue = effects;
    for _ in 0..ENOUGH {
        let Some(effect) = queue.pop() else { return };
        match effect {
            Effect::Read(ticket, read) => {
                let answer = calls::read(client, read).await;
                queue.extend(update::update(state, Msg::Reply(ticket, answer)));
            }
            Effect::Compare(sources) => {
                let found = folder.map(|folder| drift::compare(folder, &sources)).unwrap_or_default();
                queue.extend(update::update(state, Msg::Drifted(found)));
            }
            _ => {}
        }
    }
}

fn frame(state: &mut State, theme: &Theme) -> Buffer {
    let area = Rect::new(0, 0, state.size.0, state.size.1);
    let mut buffer = Buffer::empty(area);
    let hits = view::draw(state, theme, area, &mut buffer);
    state.painted(hits);
    buffer
}
