//! Prompts for a person.

use std::io::{BufRead, IsTerminal, Stdin};

use super::{CliError, Context, ui::SafeText};

/// Reads answers from stdin.
pub(super) struct Asker {
    stdin: Stdin,
    terminal: bool,
}

impl Asker {
    /// Returns `None` if stdin is empty, so that nobody can answer.
    pub(super) fn new() -> Option<Self> {
        let stdin = std::io::stdin();
        let terminal = stdin.is_terminal();
        let answers = terminal || stdin.lock().fill_buf().is_ok_and(|bytes| !bytes.is_empty());
        answers.then_some(Self { stdin, terminal })
    }

    /// Prompts and returns the next line, trimmed; `None` at the end of input. If stdin is not a terminal, the answer is echoed.
    pub(super) fn ask(&mut self, cx: &mut Context, prompt: impl Into<SafeText>) -> Result<Option<String>, CliError> {
        cx.ui.prompt(prompt);
        let mut line = String::new();
        let read = self
            .stdin
            .read_line(&mut line)
            .map_err(|error| CliError::usage(format_args!("cannot read the answer: {error}")))?;
        let line = line.trim().to_owned();
        if !self.terminal || read == 0 {
            cx.ui.line(text!("{}", line));
        }
        Ok((read > 0).then_some(line))
    }

    /// Asks a yes-no question. Anything but yes counts as no.
    pub(super) fn yes(&mut self, cx: &mut Context, question: impl Into<SafeText>) -> Result<bool, CliError> {
        let answer = self.ask(cx, text!("{} [y/N] ", question.into()))?;
        Ok(answer.is_some_and(|answer| matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes")))
    }
}

/// Asks for confirmation; an error if nobody can answer.
pub(super) fn confirm(cx: &mut Context, yes: bool, question: impl Into<SafeText>) -> Result<bool, CliError> {
    if yes {
        return Ok(true);
    }
    let question = question.into();
    let answers = if cx.ui.json { None } else { Asker::new() };
    match answers {
        Some(mut asker) => asker.yes(cx, question),
        None => Err(CliError::usage(text!("not confirmed: nobody can answer “{}”, since stdin is empty", question))
            .hint("confirm with `--yes`")),
    }
}
