//! Prompts for a person.

use std::io::{BufRead, IsTerminal, Stdin};

use super::{CliError, Context, ui::SafeText};

/// The reply to a prompt.
pub(super) enum Reply {
    /// A line, trimmed.
    Line(String),
    /// The end of input.
    End,
    /// Ctrl-C.
    Stopped,
}

impl From<Option<String>> for Reply {
    fn from(line: Option<String>) -> Self {
        line.map_or(Self::End, Self::Line)
    }
}

/// Reads answers from stdin.
pub(super) struct Asker {
    stdin: Stdin,
    terminal: bool,
}

impl Asker {
    /// Creates an asker; `None` if stdin is empty, so that nobody can answer.
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

    /// As [`Asker::ask`], but Ctrl-C is a reply, too. From the first call on, Ctrl-C does not end the process any more.
    pub(super) async fn ask_or_stop(
        &mut self,
        cx: &mut Context,
        prompt: impl Into<SafeText>,
    ) -> Result<Reply, CliError> {
        cx.ui.prompt(prompt);
        let (send, line) = tokio::sync::oneshot::channel();
        // In a thread of its own, since the runtime would wait at its end for a read that nobody answers.
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = std::io::stdin().read_line(&mut line);
            drop(send.send(read.map(|read| (read > 0).then(|| line.trim().to_owned()))));
        });
        let read = tokio::select! {
            read = line => read,
            _ = tokio::signal::ctrl_c() => {
                cx.ui.line("");
                return Ok(Reply::Stopped);
            }
        };
        match read {
            Ok(Ok(line)) => {
                if line.is_none() {
                    cx.ui.line("");
                }
                Ok(line.into())
            }
            Ok(Err(error)) => Err(CliError::usage(format_args!("cannot read the answer: {error}"))),
            Err(error) => Err(CliError::internal(format_args!("cannot read the answer: {error}"))),
        }
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
    if cx.ui.json {
        return Err(
            CliError::usage(text!("not confirmed: with `--json` nobody is asked “{}”", question)).hint("add `--yes`")
        );
    }
    match Asker::new() {
        Some(mut asker) => asker.yes(cx, question),
        None => Err(CliError::usage(text!("not confirmed: there is no terminal to answer “{}” on", question))
            .hint("add `--yes`")),
    }
}
