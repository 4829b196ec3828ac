//! A terminal for the app under test. All use of the emulator is in this file, so that it can be replaced.

use termlens::{Key, MouseButton, Screen, Scroll, Terminal, TerminalBuilder};

use crate::support::{PROGRAM, TEST_TIMEOUT, TestHome};

/// The app in a terminal.
pub(crate) struct App {
    terminal: Terminal,
}

impl App {
    /// Opens `ergo tui` with arguments in a home, at a size, with further environment.
    pub(crate) fn open(home: &TestHome, args: &[&str], size: (u16, u16), env: &[(&str, &str)]) -> Self {
        let args = std::iter::once("tui").chain(args.iter().copied());
        Self { terminal: prepared(home, size, env).args(args).spawn(PROGRAM).unwrap() }
    }

    /// Opens `ergo tui` as on a machine where it has never run.
    pub(crate) fn first(home: &TestHome, args: &[&str], size: (u16, u16)) -> Self {
        let builder = prepared(home, size, &[]);
        std::fs::remove_file(kept(home)).unwrap();
        let args = std::iter::once("tui").chain(args.iter().copied());
        Self { terminal: builder.args(args).spawn(PROGRAM).unwrap() }
    }

    /// Opens the app in a terminal whose background is white, and which says so where it is asked.
    pub(crate) fn on_white(home: &TestHome, size: (u16, u16)) -> Self {
        let builder = prepared(home, size, &[]).background_rgb(255, 255, 255);
        Self { terminal: builder.args(["tui"]).spawn(PROGRAM).unwrap() }
    }

    /// Runs a command in a terminal in which a person answers.
    pub(crate) fn command(home: &TestHome, args: &[&str]) -> Self {
        // Wide enough for a ticket and its code.
        Self { terminal: prepared(home, (500, 100), &[]).args(args).spawn(PROGRAM).unwrap() }
    }

    /// Opens the app from a shell, which reports the state of the terminal afterwards.
    pub(crate) fn within_shell(home: &TestHome, env: &[(&str, &str)]) -> Self {
        const SCRIPT: &str = "sh -c 'echo $$ > \"$ERGO_HOME/app.pid\"; exec \"$PROGRAM\" tui --no-spawn'; stty -a; echo left the app; read line";
        let builder = prepared(home, (100, 30), env).env("PROGRAM", PROGRAM).args(["-c", SCRIPT]);
        Self { terminal: builder.spawn("sh").unwrap() }
    }

    /// Opens the app as the job of a shell, which says when it has the terminal back and brings the app to the front again
    /// after a line was typed. Between the two it makes the terminal smaller.
    pub(crate) fn as_a_job(home: &TestHome) -> Self {
        const SCRIPT: &str = "set -m; \"$PROGRAM\" tui; stty -a; echo in the shell; read line; stty rows 8 cols 30; \
            fg >/dev/null; echo left the app; read line";
        let builder = prepared(home, (100, 30), &[]).env("PROGRAM", PROGRAM).args(["-c", SCRIPT]);
        Self { terminal: builder.spawn("sh").unwrap() }
    }

    /// Sends SIGTERM to the app that a shell has opened.
    pub(crate) fn terminate(home: &TestHome) {
        let process = std::fs::read_to_string(home.path().join("app.pid")).unwrap();
        assert!(std::process::Command::new("kill").args(["-TERM", process.trim()]).status().unwrap().success());
    }

    /// Closes the terminal of an app that a shell has opened, as by closing its window; gives the app's process.
    pub(crate) fn closed(self, home: &TestHome) -> u32 {
        let process = std::fs::read_to_string(home.path().join("app.pid")).unwrap();
        // The shell leads the session: with it goes the terminal, and the app is told so.
        drop(self);
        process.trim().parse().unwrap()
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) -> Screen {
        self.until(|screen| screen.contains(text))
    }

    /// Waits until the card or claim under the cursor is shown with its acts.
    #[track_caller]
    pub(crate) fn ready(&mut self) -> Screen {
        self.sees("What you can do")
    }

    /// Waits until the app says that the last act is done and can be undone.
    #[track_caller]
    pub(crate) fn undoable(&mut self) -> Screen {
        self.sees("u to undo")
    }

    /// Waits until the screen satisfies a condition.
    #[track_caller]
    pub(crate) fn until(&mut self, is: impl Fn(&Screen) -> bool) -> Screen {
        self.terminal.wait_until(|screen| is(screen)).unwrap_or_else(|error| panic!("{error}"));
        self.terminal.screen()
    }

    /// Types characters one by one.
    pub(crate) fn keys(&mut self, keys: &str) {
        for key in keys.chars() {
            self.terminal.send(Key::Char(key)).unwrap();
        }
    }

    /// Types a character with Ctrl held down.
    pub(crate) fn ctrl(&mut self, key: char) {
        self.terminal.send(Key::Ctrl(key)).unwrap();
    }

    /// Clicks on the first place where the screen shows a text.
    #[track_caller]
    pub(crate) fn click(&mut self, text: &str) {
        let (row, column) = self.sees(text).find(text).unwrap();
        self.terminal.click(column, row).unwrap();
    }

    /// Clicks with the other mouse button on the first place where the screen shows a text.
    #[track_caller]
    pub(crate) fn right_click(&mut self, text: &str) {
        let (row, column) = self.sees(text).find(text).unwrap();
        self.terminal.click_with(MouseButton::Right, column, row).unwrap();
    }

    /// Turns the wheel one notch down over the first place where the screen shows a text.
    #[track_caller]
    pub(crate) fn wheel_down(&mut self, text: &str) {
        let (row, column) = self.sees(text).find(text).unwrap();
        self.terminal.scroll(column, row, Scroll::Down).unwrap();
    }

    /// Presses a key that types nothing.
    pub(crate) fn key(&mut self, key: Key) {
        self.terminal.send(key).unwrap();
    }

    pub(crate) fn enter(&mut self) {
        self.terminal.send(Key::Enter).unwrap();
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.terminal.resize(columns, rows).unwrap();
    }

    /// Waits for the app to end. Returns whether it succeeded, and the last screen.
    pub(crate) fn ends(mut self) -> (bool, Screen) {
        let status = self.terminal.wait_exit().unwrap_or_else(|error| panic!("{error}"));
        (status.success(), self.terminal.screen())
    }
}

/// The file with the app's own state.
fn kept(home: &TestHome) -> std::path::PathBuf {
    home.path().join("tui.json")
}

/// A terminal with a private home and nothing of the tester's environment; the tour was shown there.
fn prepared(home: &TestHome, size: (u16, u16), env: &[(&str, &str)]) -> TerminalBuilder {
    if !kept(home).exists() {
        std::fs::write(kept(home), r#"{"toured":true}"#).unwrap();
    }
    let builder = Terminal::builder()
        .size(size.0, size.1)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8")
        .env("TZ", "UTC")
        .env("USER", "ada")
        .env("HOME", home.path())
        .env("ERGO_HOME", home.path())
        .current_dir(home.work())
        .timeout(TEST_TIMEOUT);
    let temporary = std::env::var("TMPDIR").ok();
    let env = temporary.iter().map(|folder| ("TMPDIR", folder.as_str())).chain(env.iter().copied());
    env.fold(builder, |builder, (name, value)| builder.env(name, value))
}

/// Whether the terminal was given back: its own screen, a cursor, no mouse, no paste marks.
#[track_caller]
pub(crate) fn assert_clean(screen: &Screen) {
    assert!(!screen.alternate_screen(), "the alternate screen is left");
    assert!(screen.cursor_visible(), "the cursor is back");
    assert_eq!(screen.mouse_mode(), termlens::MouseMode::None, "the mouse is the terminal's again");
    assert!(!screen.bracketed_paste(), "pasted text is plain again");
}
