//! Asks a person at a terminal about the claims that a write may contradict.

use std::{collections::BTreeMap, io::IsTerminal};

use super::{
    CliError, Context,
    ask::Asker,
    show::{text::count, time::ago},
    ui::Style,
};
use crate::{
    api::{Consider, Doubt, DoubtBand, JudgeRequest, RememberRequest, WriteOutcome},
    client::Client,
    domain::{PairVerdict, text::sanitize_line},
};

/// The reason on record if the write has none.
const BECAUSE: &str = "decided at the terminal by who wrote it";

/// The keys, each with its verdict and its words.
const KEYS: [(char, PairVerdict, &str); 4] = [
    ('k', PairVerdict::Compatible, "keep both"),
    ('r', PairVerdict::Replaces, "replaces it"),
    ('s', PairVerdict::Same, "says the same"),
    ('c', PairVerdict::Contradicts, "contradicts it"),
];

/// Makes a write wait for verdicts, if a person can be asked for them. An agent that runs commands in a terminal would not answer, and
/// the demonstration asks nothing.
pub(crate) fn considering(cx: &Context, request: RememberRequest) -> RememberRequest {
    let terminal = cx.ui.terminal && std::io::stdin().is_terminal();
    let person = request.caller.agent.is_none() && !cx.ui.json && !cx.ui.quiet;
    let consider = terminal && person && !cx.is_private() && !request.dry_run;
    RememberRequest { consider, ..request }
}

/// Asks the writer about the claims in doubt if the write waits for that, and returns what comes of it. At the end of input it is stored
/// unanswered.
pub(crate) async fn settled(
    cx: &mut Context,
    client: &Client,
    request: &RememberRequest,
    outcome: WriteOutcome,
) -> Result<WriteOutcome, CliError> {
    let WriteOutcome::Consider(question) = outcome else { return Ok(outcome) };
    let verdicts = match Asker::new() {
        Some(mut asker) => ask(cx, &mut asker, &question)?,
        None => None,
    };
    let mut answer = JudgeRequest { caller: request.caller.clone(), token: question.token, ..JudgeRequest::default() };
    // The scope is that of the write, and the key of the write is taken.
    answer.caller.op_id = None;
    match verdicts {
        Some(verdicts) => {
            let reason = request.reason.clone().filter(|reason| !reason.trim().is_empty());
            answer.because = Some(reason.unwrap_or_else(|| BECAUSE.to_owned()));
            answer.verdicts = verdicts;
        }
        None => answer.unanswered = true,
    }
    Ok(client.judge(&answer).await?)
}

/// Asks about each claim that needs a verdict; `None` at the end of input.
pub(crate) fn ask(
    cx: &mut Context,
    asker: &mut Asker,
    question: &Consider,
) -> Result<Option<BTreeMap<String, PairVerdict>>, CliError> {
    let asked: Vec<_> = question.doubts.iter().filter(|doubt| doubt.band == DoubtBand::Ask).collect();
    let label = cx.ui.paint(Style::Warn, "Not stored yet:");
    cx.ui.line(text!("{} it may contradict {}.", label, count(asked.len(), "active claim", "active claims")));
    let keys = KEYS.map(|(key, _, words)| format!("{key}: {words}")).join(", ");
    let mut verdicts = BTreeMap::new();
    for doubt in asked {
        show(cx, doubt);
        let verdict = loop {
            let Some(line) = asker.ask(cx, text!("  {}? ", keys))? else { return Ok(None) };
            match verdict_of(&line) {
                Some(verdict) => break verdict,
                None => cx.ui.line("  Type k, r, s or c. To store it without an answer, press Ctrl-D."),
            }
        };
        verdicts.insert(doubt.id.to_hex(), verdict);
    }
    Ok(Some(verdicts))
}

/// Shows a claim in question on one line.
fn show(cx: &mut Context, doubt: &Doubt) {
    let id = cx.ui.paint(Style::Code, doubt.id.short());
    let by = format!("{}, {}", sanitize_line(&doubt.who), ago(doubt.at, Context::now()));
    let statement = cx.ui.fit(&doubt.statement, 18 + by.chars().count());
    let by = cx.ui.paint(Style::Dim, format_args!("({by})"));
    cx.ui.line(text!("  {}  {}  {}", id, statement, by));
}

/// Returns the verdict that a key, or a word, stands for.
pub(crate) fn verdict_of(answer: &str) -> Option<PairVerdict> {
    let answer = answer.to_ascii_lowercase();
    let key = |(key, verdict, words): &(char, PairVerdict, &str)| {
        let means = answer == key.to_string() || answer == verdict.as_str() || answer == *words;
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
    #[case("contradicts it", Some(PairVerdict::Contradicts))]
    #[case("", None)]
    #[case("y", None)]
    #[case("compat", None)]
    fn a_key_or_a_word_is_a_verdict(#[case] answer: &str, #[case] expected: Option<PairVerdict>) {
        assert_eq!(verdict_of(answer), expected);
    }
}
