//! Reports on stdout, progress on stderr.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

/// Prints reports and progress.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    progress: bool,
}

impl Output {
    /// Prints reports as JSON or tables, and progress if stderr is a terminal.
    pub(crate) fn new(json: bool) -> Self {
        Self { json, progress: io::stderr().is_terminal() }
    }

    /// Prints a report: as a table, or as one line of JSON.
    pub(crate) fn report(&mut self, report: &impl Serialize, table: &str) -> io::Result<()> {
        if self.json {
            let line = serde_json::to_string(report)?;
            return self.print(&format!("{line}\n"));
        }
        self.print(table)
    }

    /// Prints text to stdout as it is.
    pub(crate) fn print(&mut self, text: &str) -> io::Result<()> {
        self.progress("");
        io::stdout().lock().write_all(text.as_bytes())
    }

    /// Replaces the line of progress.
    pub(crate) fn progress(&mut self, text: &str) {
        if self.progress {
            // A terminal that is gone must not stop a measurement.
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
        }
    }
}

/// Prints the error of a measurement with its causes.
pub(crate) fn fail(error: &anyhow::Error) {
    // There is nowhere left to report that stderr is gone.
    let _ = writeln!(io::stderr(), "error: {error:#}");
}
