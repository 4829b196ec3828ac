//! Pictures and recordings of the app without a terminal, for the README.

use std::path::PathBuf;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{calls, cast::Cast, now, opening, settings, svg};
use crate::{
    client::Client,
    tui::{
        AppOptions, TuiError,
        key::KeyPress,
        msg::{Effect, Msg},
        state::AppState,
        theme::Theme,
        update, view,
    },
};

/// The most requests that are answered before a picture is taken.
const MAX_REQUESTS: usize = 200;

/// Opens the app with these options at a size in columns and rows, reads what it needs from the daemon, presses `keys`
/// (in their written form, separated by spaces), and returns the frame as SVG. Acts are not sent: a picture changes
/// nothing.
pub fn capture(options: &AppOptions, client: &Client, size: (u16, u16), keys: &str) -> Result<String, TuiError> {
    let mut player = Player::open(options, client, size, false)?;
    for key in keys.split_whitespace().filter_map(KeyPress::parse) {
        player.press(key);
    }
    Ok(svg::render(&player.frame()))
}

/// Like [`capture`], but returns a recording in the format asciicast v2, and sends acts: what is recorded happens. The
/// key `wait` presses nothing; it only lets time pass.
pub fn record(options: &AppOptions, client: &Client, size: (u16, u16), keys: &str) -> Result<String, TuiError> {
    let mut player = Player::open(options, client, size, true)?;
    let mut cast = Cast::new(size);
    cast.frame(&player.frame())?;
    for word in keys.split_whitespace() {
        cast.wait(1);
        if let Some(key) = KeyPress::parse(word) {
            player.press(key);
            cast.frame(&player.frame())?;
        }
    }
    Ok(cast.finish("ergo tui"))
}

/// The app with a daemon, and without a terminal.
struct Player<'a> {
    state: AppState,
    theme: Theme,
    client: &'a Client,
    runtime: tokio::runtime::Runtime,
    folder: Option<PathBuf>,
    state_folder: Option<PathBuf>,
    sends_acts: bool,
}

impl<'a> Player<'a> {
    fn open(options: &AppOptions, client: &'a Client, size: (u16, u16), sends_acts: bool) -> Result<Self, TuiError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut state = AppState::new(settings(options)?, size, now());
        state.keys = options.keys.clone();
        let effects = update::open(&mut state, opening(options));
        let (folder, state_folder) = (options.folder.clone(), options.state.clone());
        let mut player = Self { state, theme: Theme::ansi(true), client, runtime, folder, state_folder, sends_acts };
        player.settle(effects);
        player.frame();
        Ok(player)
    }

    fn press(&mut self, key: KeyPress) {
        // Half a second between presses, so that they do not count as one key held down.
        self.state.now += 500;
        let effects = update::update(&mut self.state, Msg::Key(key));
        self.settle(effects);
        self.frame();
    }

    /// Answers requests until none is left, at most [`MAX_REQUESTS`].
    fn settle(&mut self, effects: Vec<Effect>) {
        let mut queue = effects;
        for _ in 0..MAX_REQUESTS {
            let Some(effect) = queue.pop() else { return };
            let (ticket, answer) = match effect {
                Effect::Read(ticket, read) => {
                    (ticket, self.runtime.block_on(calls::read(self.client, self.state_folder.as_deref(), read)))
                }
                Effect::Write(ticket, write) if self.sends_acts => {
                    (ticket, self.runtime.block_on(calls::write(self.client, self.state_folder.as_deref(), *write)))
                }
                Effect::Compare(sources) => {
                    let found = self
                        .folder
                        .as_ref()
                        .map(|folder| crate::client::drift::compare(folder, &sources))
                        .unwrap_or_default();
                    queue.extend(update::update(&mut self.state, Msg::Drifted(found)));
                    continue;
                }
                _ => continue,
            };
            queue.extend(update::update(&mut self.state, Msg::Reply(ticket, answer)));
        }
    }

    fn frame(&mut self) -> Buffer {
        let area = Rect::new(0, 0, self.state.size.0, self.state.size.1);
        let mut buffer = Buffer::empty(area);
        let hits = view::draw(&self.state, &self.theme, area, &mut buffer);
        self.state.painted(hits);
        buffer
    }
}
