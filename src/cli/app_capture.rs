//! Pictures and recordings of the app, for the README and for tests. Not part of the program that users get.

use std::path::PathBuf;

use super::{CliError, Context, Exit, tui::failed};
use crate::{
    client::Client,
    tui::{self, AppOptions},
};

/// The review that the demonstration records: settle one card, settle the others by one act after a preview, undo and redo that,
/// then show the history of a claim.
const DEMO_KEYS: &str = "wait wait wait b wait enter wait wait * wait b wait enter wait wait y wait wait u wait wait 2 wait j j w wait wait wait";

/// Where the app is drawn, instead of on a terminal.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct CaptureArgs {
    /// Write a picture of the app to this SVG file.
    #[arg(long, value_name = "FILE", hide = true)]
    capture: Option<PathBuf>,
    /// Write a recording of the app to this file (asciicast). The keys act.
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "capture")]
    record: Option<PathBuf>,
}

/// The size of the app and the keys to press.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ScriptArgs {
    /// The size in columns and rows.
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "120x40", hide = true)]
    size: String,
    /// The keys to press, separated by spaces.
    #[arg(long, value_name = "KEYS", default_value = "", hide = true)]
    keys: String,
}

impl CaptureArgs {
    /// Whether the app is drawn to a file.
    pub(super) fn is_set(&self) -> bool {
        self.capture.is_some() || self.record.is_some()
    }

    /// Makes the paths absolute, before the demonstration changes the working directory.
    pub(super) fn absolute(self) -> Result<Self, CliError> {
        let absolute = |path: Option<PathBuf>| path.map(std::path::absolute).transpose();
        absolute(self.capture)
            .and_then(|capture| Ok(Self { capture, record: absolute(self.record)? }))
            .map_err(|error| CliError::usage(format_args!("cannot determine the working directory: {error}")))
    }

    /// The command line that draws the demonstration's app, opened on a card.
    pub(super) fn demo_command(&self, card: &str) -> Vec<String> {
        let mut command: Vec<String> = ["tui", "--conflict", card].map(str::to_owned).into();
        if let Some(file) = &self.capture {
            command.extend(["--capture".to_owned(), file.to_string_lossy().into_owned()]);
        } else if let Some(file) = &self.record {
            let (size, keys) = ("110x34".to_owned(), DEMO_KEYS.to_owned());
            command.extend(["--record".to_owned(), file.to_string_lossy().into_owned()]);
            command.extend(["--size".to_owned(), size, "--keys".to_owned(), keys]);
        }
        command
    }

    /// Draws the app to the file. Does nothing if there is none.
    pub(super) fn run(
        &self,
        cx: &mut Context,
        options: &AppOptions,
        client: &Client,
        script: &ScriptArgs,
    ) -> Result<Exit, CliError> {
        let ScriptArgs { size, keys } = script;
        let parsed = size.split_once('x').and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
        let size =
            parsed.filter(|(columns, rows)| (1..=400).contains(columns) && (1..=200).contains(rows)).ok_or_else(
                || CliError::usage(format_args!("invalid size “{size}”: expected COLUMNSxROWS, such as 120x40")),
            )?;
        let (file, text) = match (&self.capture, &self.record) {
            (Some(file), _) => (file, tui::capture(options, client, size, keys)),
            (None, Some(file)) => (file, tui::record(options, client, size, keys)),
            (None, None) => return Ok(Exit::Ok),
        };
        std::fs::write(file, text.map_err(failed)?).map_err(|error| CliError::file("write", file, &error))?;
        cx.ui.note(text!("Wrote {}", file.display()));
        Ok(Exit::Ok)
    }
}
