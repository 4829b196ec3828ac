//! Asks a person at a terminal about the claims that a write may contradict.

use std::{collections::BTreeMap, io::IsTerminal};

use super::{
    CliError, Context,
    ask::{Asker, Reply},
    show::{claim::author, text::count, time::ago},
    ui::Style,
};
use crate::{
    api::{Caller, Consider, Doubt, DoubtBand, JudgeRequest, RememberRequest, UndoRequest, WriteOutcome},
    client::Client,
    domain::{OpId, PairVerdict, text::sanitize_line},
};

/// The reason on record if the write has none.
const DEFAULT_REASON: &str = "decided at the terminal by its writer";

/// The keys, each with its verdict.
const KEYS: [(char, PairVerdict); 4] = [
    ('k', PairVerdict::Compatible),
    ('r', PairVerdict::Replaces),
    ('s', PairVerdict::Same),
    ('c', PairVerdict::Contradicts),
];

/// A person's answers to the question about a write.
pub(crate) enum Answers {
    /// A verdict on each claim, by its id.
    Verdicts(BTreeMap<String, PairVerdict>),
    /// The write must not be stored.
    Withdraw,
    /// The end of input.
    None,
}

/// Makes a write wait for verdicts if a person can be asked for them. An agent that runs commands in a terminal would not answer, and
/// the demonstration asks nothing.
pub(crate) fn ask_if_interactive(cx: &Context, request: RememberRequest) -> RememberRequest {
    let terminal = cx.ui.terminal && std::io::stdin().is_terminal();
    let person = request.caller.agent.is_none() && !cx.ui.json && !cx.ui.quiet;
    let consider = terminal && person && !cx.is_private() && !request.dry_run;
    RememberRequest { consider, ..request }
}

/// Asks the writer about the claims in doubt if the write waits for verdicts, and returns the outcome; `None` if the writer withdraws
/// the write. At the end of input the write is stored unanswered.
pub(crate) async fn answer_questions(
    cx: &mut Context,
    client: &Client,
    request: &RememberRequest,
    outcome: WriteOutcome,
) -> Result<Option<WriteOutcome>, CliError> {
    let WriteOutcome::Consider(question) = outcome else { return Ok(Some(outcome)) };
    let answers = match Asker::new() {
        Some(mut asker) => ask(cx, &mut asker, &question, true).await?,
        None => Answers::None,
    };
    let mut answer = JudgeRequest { caller: request.caller.clone(), token: question.token, ..JudgeRequest::default() };
    // The scope of the write stays, but its `op_id` is used up.
    answer.caller.op_id = None;
    match answers {
        Answers::Verdicts(verdicts) => {
            let reason = request.reason.clone().filter(|reason| !reason.trim().is_empty());
            answer.because = Some(reason.unwrap_or_else(|| DEFAULT_REASON.to_owned()));
            answer.verdicts = verdicts;
        }
        Answers::Withdraw => {
            withdraw(cx, client, answer.caller, question.op_id).await?;
            return Ok(None);
        }
        Answers::None => answer.unanswered = true,
    }
    client.judge(&answer).await.map(Some).map_err(CliError::from)
}

/// Withdraws a write that waits for verdicts.
pub(crate) async fn withdraw(cx: &mut Context, client: &Client, caller: Caller, held: OpId) -> Result<(), CliError> {
    client.undo(&UndoRequest { caller, target_op: Some(held), ..UndoRequest::default() }).await?;
    cx.ui.line("Withdrawn: nothing was stored.");
    Ok(())
}

/// Asks about each claim that needs a verdict. With `ctrl_c_withdraws`, Ctrl-C withdraws the write instead of ending the program.
pub(crate) async fn ask(
    cx: &mut Context,
    asker: &mut Asker,
    question: &Consider,
    ctrl_c_withdraws: bool,
) -> Result<Answers, CliError> {
    let asked: Vec<_> = question.doubts.iter().filter(|doubt| doubt.band == DoubtBand::Ask).collect();
    let label = cx.ui.paint(Style::Warn, "Not stored yet:");
    cx.ui.line(text!(
        "{} it may contradict, replace or repeat {}.",
        label,
        count(asked.len(), "active claim", "active claims")
    ));
    let keys = KEYS.map(|(key, verdict)| format!("{key}: {}", verdict.words())).join(", ");
    let mut verdicts = BTreeMap::new();
    for doubt in asked {
        show(cx, doubt);
        let verdict = loop {
            let prompt = text!("  {}, x: withdraw yours? ", keys);
            let reply =
                if ctrl_c_withdraws { asker.ask_or_stop(cx, prompt).await? } else { asker.ask(cx, prompt)?.into() };
            let line = match reply {
                Reply::Line(line) => line,
                Reply::Stopped => return Ok(Answers::Withdraw),
                Reply::End => return Ok(Answers::None),
            };
            match (verdict_of(&line), line.to_ascii_lowercase().as_str()) {
                (Some(verdict), _) => break verdict,
                (None, "x" | "withdraw" | "q" | "quit" | "cancel") => return Ok(Answers::Withdraw),
                (None, _) => {
                    cx.ui.line("  Type k, r, s, c or x. Ctrl-C stores nothing; Ctrl-D stores it without an answer.");
                }
            }
        };
        verdicts.insert(doubt.id.to_hex(), verdict);
    }
    Ok(Answers::Verdicts(verdicts))
}

/// Shows a claim in doubt: statement, author and reason.
fn show(cx: &mut Context, doubt: &Doubt) {
    let id = cx.ui.paint(Style::Code, doubt.id.short());
    let by = format!("{}, {}", author(&doubt.who, doubt.agent.as_deref()), ago(doubt.at, Context::now()));
    let statement = cx.ui.fit(&doubt.statement, 18 + by.chars().count());
    let by = cx.ui.paint(Style::Dim, format_args!("({by})"));
    cx.ui.line(text!("  {}  {}  {}", id, statement, by));
    if let Some(reason) = &doubt.reason {
        cx.ui.prose(14, None, &format!("because {}", sanitize_line(reason)));
    }
}

/// Returns the verdict that a key, or a word, stands for.
pub(crate) fn verdict_of(answer: &str) -> Option<PairVerdict> {
    let answer = answer.to_ascii_lowercase();
    let key = |(key, verdict): &(char, PairVerdict)| {
        let means = answer == key.to_string() || answer == verdict.as_str() || answer == verdict.words();
        means.then_some(*verdict)
    };
    KEYS.iter().find_map(key)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("k", Some(PairVerdict::Compatible))]
    #[case("R", Some(PairVerdict::Replaces))]
    #[case("same", Some(PairVerdict::Same))]
    #[case("replaces it", Some(PairVerdict::Replaces))]
    #[case("", None)]
    #[case("y", None)]
    #[case("compat", None)]
    fn a_key_or_a_word_is_a_verdict(#[case] answer: &str, #[case] expected: Option<PairVerdict>) {
        assert_eq!(verdict_of(answer), expected);
    }
}
