//! Verbs of this program that the app runs as a person would: what they print is what it shows.

use std::process::{Command, Stdio};

use crate::tui::msg::Failure;

/// `ergo setup`: what it prints. It only shows what would change unless it is to `write`.
///
/// # Errors
/// What it said on stderr, where it failed.
pub(super) async fn setup(remove: bool, write: bool) -> Result<String, Failure> {
    let mut arguments = vec!["setup", "--color=never"];
    arguments.push(if write { "--yes" } else { "--dry-run" });
    if remove {
        arguments.push("--remove");
    }
    match tokio::task::spawn_blocking(move || run(&arguments)).await {
        Ok(result) => result,
        Err(_) => Err(Failure::plain("ergo setup was not run: the app is being left")),
    }
}

fn run(arguments: &[&str]) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::plain(format!("ergo {} cannot be run: {error}", arguments.join(" ")));
    let program = std::env::current_exe().map_err(failed)?;
    // Without a terminal it asks nothing.
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().map_err(failed)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let said = text(&output.stderr);
    // What went wrong, then what helps: each stands on lines of its own.
    let (message, hint) =
        said.split_once("Hint: ").map_or((said.as_str(), None), |(message, hint)| (message, Some(hint)));
    let message = message.trim_start_matches("Error: ").trim_end();
    if message.is_empty() {
        return Err(Failure::plain(format!("ergo setup ended with {}", output.status)));
    }
    Err(Failure { hint: hint.map(str::to_owned), ..Failure::plain(message) })
}
