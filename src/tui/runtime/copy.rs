//! Copies a text to the clipboard: by a program of this machine if one works, otherwise by the terminal.

use std::{io, process::Stdio, time::Duration};

use crossterm::{Command as _, clipboard::CopyToClipboard};
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

use crate::tui::clipboard::{ClipboardEnvironment, ClipboardTool};

/// How long a program may take before another way is tried: one whose display is gone would wait for ever.
const TOOL_TIMEOUT: Duration = Duration::from_secs(1);

/// Detects where the app runs.
pub(super) fn environment() -> ClipboardEnvironment {
    ClipboardEnvironment::of(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Whether a program is in a folder of `PATH`.
pub(super) fn installed(program: &str) -> bool {
    crate::files::find_program(program).is_some()
}

/// Gives a text to the first program that takes it, and returns its name; `None` if none did.
pub(super) async fn with_tool(tools: &[ClipboardTool], text: &str) -> Option<&'static str> {
    for tool in tools {
        if let Ok(Ok(true)) = timeout(TOOL_TIMEOUT, run(tool, text)).await {
            return Some(tool.program);
        }
    }
    None
}

/// Runs a program with a text as its input. Returns whether it succeeded.
async fn run(tool: &ClipboardTool, text: &str) -> io::Result<bool> {
    let mut command = Command::new(tool.program);
    command.args(tool.arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    // Some programs stay in the background to serve the text: signals to the app's process group must not reach them.
    command.process_group(0);
    if cfg!(target_os = "macos") {
        // Otherwise, letters beyond ASCII are misread.
        command.env("LC_CTYPE", "UTF-8");
    }
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&tool.bytes(text)).await?;
    }
    Ok(child.wait().await?.success())
}

/// Returns the escape sequence that asks the terminal to copy a text. Within tmux, it is also passed on to the terminal
/// around it, if tmux is set to allow that.
pub(super) fn terminal_sequence(text: &str, tmux: bool) -> String {
    let mut plain = String::new();
    // Writing into memory cannot fail.
    let _written = CopyToClipboard::to_clipboard_from(text).write_ansi(&mut plain);
    if tmux { format!("{plain}\u{1b}Ptmux;{}\u{1b}\\", plain.replace('\u{1b}', "\u{1b}\u{1b}")) } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn tool(program: &'static str, arguments: &'static [&'static str]) -> ClipboardTool {
        ClipboardTool { program, arguments, utf16: false }
    }

    #[test]
    fn within_tmux_the_clipboard_of_the_terminal_around_it_is_reached_too() {
        let plain = terminal_sequence("hi", false);
        assert!(plain.starts_with("\u{1b}]52;c;aGk="), "{plain:?}");
        let both = terminal_sequence("hi", true);
        assert!(both.starts_with(&plain) && both.contains("\u{1b}Ptmux;\u{1b}\u{1b}]52;c;aGk="), "{both:?}");
    }

    #[tokio::test]
    async fn the_first_program_that_takes_it_has_it() {
        const TAKES: ClipboardTool = tool("sh", &["-c", "test \"$(cat)\" = hi"]);
        let tools = [tool("no-such-program-anywhere", &[]), tool("sh", &["-c", "exit 1"]), TAKES];
        assert_eq!(with_tool(&tools, "hi").await, Some("sh"));
        assert_eq!(with_tool(&tools, "ho").await, None);
        assert!(installed("sh") && !installed("no-such-program-anywhere"));
    }
}
