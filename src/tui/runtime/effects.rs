//! Performs the effects of the pure core: requests, the clipboard, the editor, the mouse, suspending.

use std::{io::Write, path::PathBuf};

use crossterm::{
    event::{DisableMouseCapture, EnableMouseCapture, EventStream},
    execute,
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
                    let (client, sender, kept) = (self.client.clone(), self.sender.clone(), self.kept.clone());
                    self.tasks.spawn(async move {
                        let answer = calls::read(&client, kept.as_deref().map(PathBuf::as_path), read).await;
                        // The app has been left: nobody waits for the answer.
                        drop(sender.send(Msg::Reply(ticket, answer)).await);
                    });
                }
                Effect::Write(ticket, write) => {
                    let (client, sender, kept) = (self.client.clone(), self.sender.clone(), self.kept.clone());
                    self.acts.spawn(async move {
                        let answer = calls::write(&client, kept.as_deref().map(PathBuf::as_path), *write).await;
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
                    // Whoever leaves at once has seen it all the same.
                    memory.note(|kept| kept.toured = true);
                    self.tasks.spawn(async move {
                        drop(tokio::task::spawn_blocking(move || memory.write()).await);
                    });
                }
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
                // The whole job stops, or a shell that waits for `make` or a script would never come back. Where no shell
                // could wake it again, the system lets this signal pass, unlike SIGSTOP.
                Effect::Suspend => {
                    self.away(|| rustix::process::kill_current_process_group(rustix::process::Signal::TSTP))?
                        .map_err(std::io::Error::from)?;
                }
                Effect::Open { path, line } => {
                    let opened = match self.folder.clone() {
                        Some(folder) => match editor::locate(&folder, &path) {
                            Ok(file) => self.away(|| editor::open(&file, line))?,
                            Err(message) => Err(message),
                        },
                        None => Err(format!("“{path}” cannot be opened: the app was not started in a project.")),
                    };
                    self.take(vec![Msg::Opened(opened)])?;
                }
                Effect::Theme(base) => {
                    self.look.base = base;
                    if let Some(file) = &mut self.look.theme_file {
                        file.base = None;
                    }
                    self.theme = self.look.theme(self.light);
                }
                Effect::Edit(text) => {
                    let edited = self.away(|| editor::edit(&text))?;
                    self.take(vec![Msg::Edited(edited)])?;
                }
                Effect::Quit => self.leave = true,
            }
        }
        Ok(())
    }

    /// Puts a text on the clipboard, and says how: beside the keys, if a program is asked.
    fn copy(&mut self, text: String, what: String) -> Result<(), TuiError> {
        let place = copy::place();
        let tools = place.tools(copy::installed);
        let terminal = place.terminal_first() || tools.is_empty();
        if terminal {
            self.tell_terminal(&text)?;
        }
        if tools.is_empty() {
            return self.take(vec![Msg::Copied(Copied { what, tool: None, terminal, place }, None)]);
        }
        let sender = self.sender.clone();
        self.acts.spawn(async move {
            let tool = copy::with(&tools, &text).await;
            let rest = (tool.is_none() && !terminal).then_some(text);
            drop(sender.send(Msg::Copied(Copied { what, tool, terminal, place }, rest)).await);
        });
        Ok(())
    }

    /// Asks the terminal to put a text on the clipboard.
    pub(super) fn tell_terminal(&mut self, text: &str) -> std::io::Result<()> {
        write!(self.screen.backend_mut(), "{}", copy::to_terminal(text, copy::place().tmux))?;
        self.screen.backend_mut().flush()
    }

    /// Gives the terminal and the keys away for the time of `work`: a reader that is only paused would go on eating keys.
    fn away<T>(&mut self, work: impl FnOnce() -> T) -> std::io::Result<T> {
        self.events = None;
        self.screen.backend_mut().flush()?;
        terminal::restore();
        let result = work();
        self.guard.again()?;
        self.events = Some(EventStream::new());
        // A new one knows nothing of what is on the screen. Clearing the old one would ask the terminal where its cursor is, and the
        // answer could end among the keys.
        self.screen = terminal::screen()?;
        self.dirty = true;
        self.drawn = None;
        self.back = Some(Instant::now());
        // A window that changed its size meanwhile told whoever had the terminal then.
        let size = self.screen.size()?;
        update::update(&mut self.state, Msg::Resize(size.width, size.height));
        Ok(result)
    }
}
