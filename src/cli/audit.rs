//! `ergo audit`: compares all active claims and opens cards for contradictions; language models judge what stays in doubt.

use std::io::IsTerminal;

use super::{CliError, Context, Exit, ask::Asker, deep_audit, show::text::count, ui::SafeText};
use crate::{
    api::{AuditOutcome, AuditRequest, Caller, JudgeNextRequest, JudgeView, JudgedNext, StoryProgress},
    client::{Client, ClientError},
    domain::{Scope, text::escape},
};

/// The number of pairs that one request judges: few, so that Ctrl-C takes effect soon.
const PAIRS_PER_REQUEST: usize = 3;

/// The width of the progress bar, in characters.
const BAR_WIDTH: usize = 24;

/// Compare all active claims of a project and open a conflict card for each contradiction.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
If the guard is unsure about a pair of claims, a judge of [judge] in config.toml or the chosen language model can decide. The audit
prints how long that will take and has these pairs judged, newest first. Ctrl-C stops; the next `ergo audit` continues. To judge
them yourself: `ergo judge`.

With --deep a language model also reads all claims of the project by date, and opens a card with a question wherever it is unclear
which claim is active. It prints an estimate first; Ctrl-C stops, and the next `ergo audit --deep` continues.")]
pub(crate) struct Args {
    /// Only report the contradictions, and how long judging the unsure pairs would take; open no cards.
    #[arg(long)]
    dry_run: bool,
    /// Also have a language model read all claims of the project by date.
    #[arg(long)]
    deep: bool,
    /// Judge the pairs about which the guard is unsure without asking first, even if [judge] in config.toml sends them to an endpoint or a command. With --deep, this also holds for reading the claims.
    #[arg(long, conflicts_with = "dry_run")]
    judge: bool,
}

/// The answer with `--json`.
#[derive(serde::Serialize)]
struct AuditAnswer<'a> {
    #[serde(flatten)]
    outcome: &'a AuditOutcome,
    judged: Option<JudgedNext>,
    story: Option<StoryProgress>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let caller = Caller { org_id: scope.org_id.clone(), project: scope.project.clone(), ..cx.caller()? };
    let request = AuditRequest { caller: caller.clone(), dry_run: args.dry_run };
    cx.ui.progress(text!("comparing the claims of {} …", escape(&scope.to_string())));
    let answer = client.audit(&request).await;
    cx.ui.progress_done();
    let outcome = answer?;
    if !cx.ui.json {
        report(cx, &outcome, &scope, args.dry_run);
    }
    let estimate = JudgeNextRequest { caller: caller.clone(), dry_run: true, ..JudgeNextRequest::default() };
    let estimate = client.judge_next(&estimate).await?;
    let mut judged = None;
    let pairs = count(estimate.left, "pair", "pairs");
    let begin = text!("Judging {}: {}. Ctrl-C stops.", pairs, pair_cost(&estimate));
    let question = text!("Have {} judged: {}?", pairs, pair_cost(&estimate));
    if estimate.left > 0 && !args.dry_run && may_ask_judges(cx, &estimate.judges, args.judge, begin, question)? {
        judged = Some(judge(cx, &client, caller.clone(), &estimate).await?);
    } else if estimate.left > 0 && !cx.ui.json {
        cx.ui.line(text!("{} in doubt can be judged: {}.", pairs, pair_cost(&estimate)));
        cx.ui.commands(&[(cx.in_scope("ergo audit --judge"), "have them judged".to_owned())]);
    }
    let story =
        if args.deep { Some(deep_audit::run(cx, &client, &caller, args.dry_run, args.judge).await?) } else { None };
    if cx.ui.json {
        cx.ui.value(&AuditAnswer { outcome: &outcome, judged: Some(judged.unwrap_or(estimate)), story });
    }
    Ok(Exit::Ok)
}

/// Prints the result of the comparison.
fn report(cx: &mut Context, outcome: &AuditOutcome, scope: &Scope, dry_run: bool) {
    let now = Context::now();
    for card in &outcome.opened {
        cx.ui.card_row(card, now);
    }
    let claims = count(outcome.claims, "claim", "claims");
    let pairs = count(outcome.compared, "pair", "pairs");
    let verb = if dry_run { "would be opened" } else { "opened" };
    let known = if outcome.known > 0 { format!(", {} already known", outcome.known) } else { String::new() };
    let opened = if outcome.opened.is_empty() {
        "no new contradictions".to_owned()
    } else {
        format!("{} {verb}", count(outcome.opened.len(), "conflict", "conflicts"))
    };
    cx.ui.line(text!("{}: {}, {} compared; {}{}.", escape(&scope.to_string()), claims, pairs, opened, known));
    if outcome.questions > 0 {
        let questions = count(outcome.questions, "unanswered question", "unanswered questions");
        cx.ui.line(text!("The story has {}.", questions));
        cx.ui.commands(&[(cx.in_scope("ergo story --marks"), "show them".to_owned())]);
    }
    if !outcome.opened.is_empty() && !dry_run {
        cx.ui.commands(&[(cx.in_scope("ergo tui"), "settle them".to_owned())]);
    }
}

/// Describes what judging the pairs costs, and names the judges.
fn pair_cost(estimate: &JudgedNext) -> String {
    cost(&estimate.judges, estimate.tokens, estimate.seconds)
}

/// Describes what asking language models costs, and names them.
pub(super) fn cost(judges: &[JudgeView], tokens: usize, seconds: u64) -> String {
    let judges = judges.iter().map(|judge| escape(&judge.name)).collect::<Vec<_>>().join(", then ");
    let time = match seconds {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    };
    format!("about {time} and {tokens} tokens, by {judges}")
}

/// Returns whether the judges may be asked. Claims are sent to a judge outside of this program only if the user agreed: before
/// (`asked`), or when asked now.
pub(super) fn may_ask_judges(
    cx: &mut Context,
    judges: &[JudgeView],
    asked: bool,
    begin: SafeText,
    question: SafeText,
) -> Result<bool, CliError> {
    if asked || judges.iter().all(|judge| !judge.external) {
        if !cx.ui.json {
            cx.ui.line(begin);
        }
        return Ok(true);
    }
    if cx.ui.json || !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let Some(mut asker) = Asker::new() else { return Ok(false) };
    asker.yes(cx, question)
}

/// Has the pairs judged until none is left or the user stops it.
async fn judge(
    cx: &mut Context,
    client: &Client,
    caller: Caller,
    estimate: &JudgedNext,
) -> Result<JudgedNext, CliError> {
    let request = JudgeNextRequest { caller, limit: Some(PAIRS_PER_REQUEST), ..JudgeNextRequest::default() };
    let mut sum = JudgedNext { judged: 0, asked: 0, cards: 0, ..estimate.clone() };
    let mut stopped = false;
    cx.ui.progress(text!("{}", bar("judging pairs", 0, estimate.left)));
    while sum.left > 0 {
        let Some(step) = unless_stopped(cx, client.judge_next(&request)).await? else {
            stopped = true;
            break;
        };
        if step.asked == 0 {
            sum.left = step.left;
            break;
        }
        (sum.judged, sum.asked, sum.cards) = (sum.judged + step.judged, sum.asked + step.asked, sum.cards + step.cards);
        (sum.left, sum.tokens, sum.seconds) = (step.left, step.tokens, step.seconds);
        cx.ui.progress(text!("{}", bar("judging pairs", estimate.left.saturating_sub(sum.left), estimate.left)));
    }
    cx.ui.progress_done();
    if !cx.ui.json {
        let cards = count(sum.cards, "card", "cards");
        let pairs = count(sum.judged, "pair", "pairs");
        cx.ui.line(text!("{} judged, {} opened; {} left.", pairs, cards, sum.left));
        if stopped {
            cx.ui.commands(&[(cx.in_scope("ergo audit"), "continue".to_owned())]);
        }
    }
    Ok(sum)
}

/// Waits for a step of a long act; `None` if the user pressed Ctrl-C meanwhile.
pub(super) async fn unless_stopped<T>(
    cx: &mut Context,
    step: impl Future<Output = Result<T, ClientError>>,
) -> Result<Option<T>, CliError> {
    let step = tokio::select! {
        step = step => step,
        _ = tokio::signal::ctrl_c() => return Ok(None),
    };
    if step.is_err() {
        cx.ui.progress_done();
    }
    Ok(Some(step?))
}

/// Formats a progress bar.
pub(super) fn bar(what: &str, done: usize, all: usize) -> String {
    let full = (BAR_WIDTH * done.min(all)).checked_div(all).unwrap_or(BAR_WIDTH);
    format!("{what} [{}{}] {done} of {all}", "#".repeat(full), " ".repeat(BAR_WIDTH - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_and_the_estimate_says_who_how_long_and_how_much() {
        assert_eq!(bar("judging pairs", 0, 4), format!("judging pairs [{}] 0 of 4", " ".repeat(BAR_WIDTH)));
        assert_eq!(bar("judging pairs", 2, 4), format!("judging pairs [{}{}] 2 of 4", "#".repeat(12), " ".repeat(12)));
        assert_eq!(bar("judging pairs", 0, 0), format!("judging pairs [{}] 0 of 0", "#".repeat(BAR_WIDTH)));
        let judge = |name: &str, external| JudgeView { name: name.to_owned(), external };
        let judges = [judge("qwen", false), judge("claude -p", true)];
        assert_eq!(cost(&judges, 900, 125), "about 3 min and 900 tokens, by qwen, then claude -p");
    }
}
