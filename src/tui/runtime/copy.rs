//! Copies a text to the clipboard: by a program of this machine if one works, otherwise by the terminal.

use std::{io, process::Stdio, time::Duration};

use crossterm::{Command as _, clipboard::CopyToClipboard};
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

use crate::tui::clipboard::{ClipboardEnvironment, ClipboardTool};

/// How long a program may take before another way is tried: one that waits for a display that is gone waits for ever.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Where the app runs.
pub(super) fn place() -> ClipboardEnvironment {
    ClipboardEnvironment::of(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Whether a program stands in a folder of `PATH`.
pub(super) fn installed(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}

/// Gives a text to the first program that takes it; says which. `None` if none did.
pub(super) async fn with(tools: &[ClipboardTool], text: &str) -> Option<&'static str> {
    for tool in tools {
        if let Ok(Ok(true)) = timeout(TIMEOUT, run(tool, text)).await {
            return Some(tool.program);
        }
    }
    None
}

/// Whether the program took the text.
async fn run(tool: &ClipboardTool, text: &str) -> io::Result<bool> {
    let mut command = Command::new(tool.program);
    command.args(tool.arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    // Some stay behind to hand the text out: what stops or ends the app's own job is not meant for them.
    command.process_group(0);
    if cfg!(target_os = "macos") {
        // Without it, letters beyond ASCII are taken for others.
        command.env("LC_CTYPE", "UTF-8");
    }
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&tool.bytes(text)).await?;
    }
    Ok(child.wait().await?.success())
}

/// What tells the terminal; within tmux it is also handed on to the terminal around it, which tmux may be told to allow.
pub(super) fn to_terminal(text: &str, tmux: bool) -> String {
    let mut plain = String::new();
    // Into memory, it cannot fail.
    let _written = CopyToClipboard::to_clipboard_from(text).write_ansi(&mut plain);
    if tmux { format!("{plain}\u{1b}Ptmux;{}\u{1b}\\", plain.replace('\u{1b}', "\u{1b}\u{1b}")) } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn tool(program: &'static str, arguments: &'static [&'static str]) -> ClipboardTool {
        ClipboardTool { program, arguments, wide: false }
    }

    #[test]
    fn within_tmux_the_clipboard_of_the_terminal_around_it_is_reached_too() {
        let plain = to_terminal("hi", false);
        assert!(plain.starts_with("\u{1b}]52;c;aGk="), "{plain:?}");
        let both = to_terminal("hi", true);
        assert!(both.starts_with(&plain) && both.contains("\u{1b}Ptmux;\u{1b}\u{1b}]52;c;aGk="), "{both:?}");
    }

    #[tokio::test]
    async fn the_first_program_that_takes_it_has_it() {
        const TAKES: ClipboardTool = tool("sh", &["-c", "test \"$(cat)\" = hi"]);
        let tools = [tool("no-such-program-anywhere", &[]), tool("sh", &["-c", "exit 1"]), TAKES];
        assert_eq!(with(&tools, "hi").await, Some("sh"));
        assert_eq!(with(&tools, "ho").await, None);
        assert!(installed("sh") && !installed("no-such-program-anywhere"));
    }
}
