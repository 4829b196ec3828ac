//! Performs the effects of the pure core: requests, the clipboard, the editor, the mouse, suspending.

use std::{io::Write, path::PathBuf};

use crossterm::{
    event::{DisableMouseCapture, EnableMouseCapture, EventStream},
    execute,
    terminal::{Clear, ClearType},
};
use tokio::time::Instant;

use super::{App, calls, copy, editor, terminal};
use crate::tui::{
    TuiError,
    clipboard::Copied,
    msg::{Effect, Msg},
    update,
};

impl App {
    pub(super) fn execute(&mut self, effects: Vec<Effect>) -> Result<(), TuiError> {
        for effect in effects {
            match effect {
                Effect::Read(ticket, read) => {
                    let (client, sender, state_folder) =
                        (self.client.clone(), self.sender.clone(), self.state_folder.clone());
                    self.tasks.spawn(async move {
                        let answer = calls::read(&client, state_folder.as_deref().map(PathBuf::as_path), read).await;
                        // Fails only if the app was left: then nobody waits for the answer.
                        drop(sender.send(Msg::Reply(ticket, answer)).await);
                    });
                }
                Effect::Write(ticket, write) => {
                    let (client, sender, state_folder) =
                        (self.client.clone(), self.sender.clone(), self.state_folder.clone());
                    self.acts.spawn(async move {
                        let answer = calls::write(&client, state_folder.as_deref().map(PathBuf::as_path), *write).await;
                        drop(sender.send(Msg::Reply(ticket, answer)).await);
                    });
                }
                Effect::Start => {
                    let (starting, sender) = ((self.start)(), self.sender.clone());
                    self.tasks.spawn(async move { drop(sender.send(Msg::Started(starting.await)).await) });
                }
                Effect::Compare(sources) => {
                    let Some(folder) = self.folder.clone() else { continue };
                    let sender = self.sender.clone();
                    self.tasks.spawn(async move {
                        let found =
                            tokio::task::spawn_blocking(move || crate::client::drift::compare(&folder, &sources)).await;
                        drop(sender.send(Msg::Drifted(found.unwrap_or_default())).await);
                    });
                }
                Effect::Toured => {
                    let Some(memory) = self.memory.clone() else { continue };
                    // Noted at once: the tour also counts as shown if the person leaves right away.
                    memory.change(|kept| kept.toured = true);
                    self.tasks.spawn(async move {
                        drop(tokio::task::spawn_blocking(move || memory.write()).await);
                    });
                }
                Effect::Wake(at) if self.wakes.contains(&at) => {}
                Effect::Wake(at) => self.wakes.push(at),
                Effect::Copy { text, what } => self.copy(text, what)?,
                Effect::Mouse(true) => {
                    self.guard.mouse = true;
                    execute!(self.screen.backend_mut(), EnableMouseCapture)?;
                }
                Effect::Mouse(false) => {
                    self.guard.mouse = false;
                    execute!(self.screen.backend_mut(), DisableMouseCapture)?;
                }
                // The whole process group stops, or a shell that waits for `make` or a script would never come back. If
                // no shell could resume it, the system ignores this signal, unlike SIGSTOP.
                Effect::Suspend => {
                    self.without_terminal(|| {
                        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)
                    })?
                    .map_err(std::io::Error::from)?;
                }
                Effect::Open { path, line } => {
                    let opened = match self.folder.clone() {
                        Some(folder) => match editor::locate(&folder, &path) {
                            Ok(file) => self.without_terminal(|| editor::open(&file, line))?,
                            Err(message) => Err(message),
                        },
                        None => Err(format!("“{path}” cannot be opened: the app was not started in a project.")),
                    };
                    self.handle(vec![Msg::Opened(opened)])?;
                }
                Effect::Repaint => {
                    execute!(self.screen.backend_mut(), Clear(ClearType::All))?;
                    self.screen = terminal::screen()?;
                }
                Effect::Theme(base) => {
                    self.options.base = base;
                    if let Some(file) = &mut self.options.theme_file {
                        file.base = None;
                    }
                    self.theme = self.options.theme(self.light);
                }
                Effect::Edit(text) => {
                    let edited = self.without_terminal(|| editor::edit(&text))?;
                    self.handle(vec![Msg::Edited(edited)])?;
                }
                Effect::Quit => self.leaving = true,
            }
        }
        Ok(())
    }

    /// Copies a text to the clipboard and reports how. A program is called in the background, so that keys still work.
    fn copy(&mut self, text: String, what: String) -> Result<(), TuiError> {
        let place = copy::environment();
        let tools = place.tools(copy::installed);
        let terminal = place.terminal_first() || tools.is_empty();
        if terminal {
            self.copy_by_terminal(&text)?;
        }
        if tools.is_empty() {
            return self.handle(vec![Msg::Copied(Copied { what, tool: None, terminal, place }, None)]);
        }
        let sender = self.sender.clone();
        self.acts.spawn(async move {
            let tool = copy::with_tool(&tools, &text).await;
            let rest = (tool.is_none() && !terminal).then_some(text);
            drop(sender.send(Msg::Copied(Copied { what, tool, terminal, place }, rest)).await);
        });
        Ok(())
    }

    /// Asks the terminal to copy a text to the clipboard.
    pub(super) fn copy_by_terminal(&mut self, text: &str) -> std::io::Result<()> {
        write!(self.screen.backend_mut(), "{}", copy::terminal_sequence(text, copy::environment().tmux))?;
        self.screen.backend_mut().flush()
    }

    /// Gives away the terminal and the keyboard while `work` runs. The reader of keys is dropped: one that is only
    /// paused would go on reading keys.
    fn without_terminal<T>(&mut self, work: impl FnOnce() -> T) -> std::io::Result<T> {
        self.events = None;
        self.screen.backend_mut().flush()?;
        terminal::restore();
        let result = work();
        self.guard.retake()?;
        self.events = Some(EventStream::new());
        // A new screen assumes nothing about what the terminal shows. Clearing the old one would ask the terminal where
        // its cursor is, and the answer could end up among the keys.
        self.screen = terminal::screen()?;
        self.dirty = true;
        self.last_drawn = None;
        self.terminal_back = Some(Instant::now());
        // If the window changed its size meanwhile, the other program was told.
        let size = self.screen.size()?;
        update::update(&mut self.state, Msg::Resize(size.width, size.height));
        Ok(result)
    }
}
