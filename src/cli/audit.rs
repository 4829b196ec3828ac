//! `ergo audit`: compares all active claims and opens cards for contradictions; language models judge what stays in doubt.

use std::io::IsTerminal;

use super::{CliError, Context, Exit, ask::Asker, show::text::count};
use crate::{
    api::{AuditOutcome, AuditRequest, Caller, JudgeNextRequest, JudgedNext},
    client::Client,
    domain::{Scope, text::escape},
};

/// Pairs that are judged by one request: few, so that Ctrl-C takes effect soon.
const STEP: usize = 3;

/// The width of the progress bar, in characters.
const BAR: usize = 24;

/// Compare all active claims of a project and open a conflict card for each contradiction.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Pairs that stay in doubt wait for a verdict. If `[judge]` in config.toml or a chosen language model can judge them, an estimate is
printed and they are judged, the newest first. Ctrl-C stops; the next `ergo audit` goes on. `ergo judge` lets you judge them yourself.")]
pub(crate) struct Args {
    /// Only report contradictions and the estimate, open no cards.
    #[arg(long)]
    dry_run: bool,
    /// Have pairs judged without asking, also by a model behind an address or by a command.
    #[arg(long, conflicts_with = "dry_run")]
    judge: bool,
}

/// The answer with `--json`.
#[derive(serde::Serialize)]
struct AuditAnswer<'a> {
    #[serde(flatten)]
    outcome: &'a AuditOutcome,
    judged: Option<JudgedNext>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let caller = Caller { org_id: scope.org_id.clone(), project: scope.project.clone(), ..cx.anyone()? };
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
    if estimate.left > 0 && !args.dry_run && agreed(cx, &estimate, args.judge)? {
        judged = Some(judge(cx, &client, caller, &estimate).await?);
    } else if estimate.left > 0 && !cx.ui.json {
        let pairs = count(estimate.left, "pair", "pairs");
        cx.ui.line(text!("{} in doubt can be judged: {}.", pairs, cost(&estimate)));
    }
    if cx.ui.json {
        cx.ui.value(&AuditAnswer { outcome: &outcome, judged: Some(judged.unwrap_or(estimate)) });
    }
    Ok(Exit::Ok)
}

/// Prints what the comparison found.
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
    if !outcome.opened.is_empty() && !dry_run {
        cx.ui.commands(&[("ergo tui".to_owned(), "settle them".to_owned())]);
    }
}

/// What judging takes, and who does it.
fn cost(estimate: &JudgedNext) -> String {
    let judges = estimate.judges.iter().map(|judge| escape(&judge.name)).collect::<Vec<_>>().join(", then ");
    let time = match estimate.seconds {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    };
    format!("about {time} and {} tokens, by {judges}", estimate.tokens)
}

/// Whether the pairs are to be judged: claims go to nobody outside of this program without a word of the user.
fn agreed(cx: &mut Context, estimate: &JudgedNext, asked: bool) -> Result<bool, CliError> {
    if asked || estimate.judges.iter().all(|judge| !judge.external) {
        if !cx.ui.json {
            let pairs = count(estimate.left, "pair", "pairs");
            cx.ui.line(text!("Judging {}: {}. Ctrl-C stops.", pairs, cost(estimate)));
        }
        return Ok(true);
    }
    if cx.ui.json || !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let Some(mut asker) = Asker::new() else { return Ok(false) };
    let pairs = count(estimate.left, "pair", "pairs");
    asker.yes(cx, text!("Have {} judged: {}?", pairs, cost(estimate)))
}

/// Has the pairs judged until none is left or the user stops it.
async fn judge(
    cx: &mut Context,
    client: &Client,
    caller: Caller,
    estimate: &JudgedNext,
) -> Result<JudgedNext, CliError> {
    let request = JudgeNextRequest { caller, limit: Some(STEP), ..JudgeNextRequest::default() };
    let mut sum = JudgedNext { judged: 0, asked: 0, cards: 0, ..estimate.clone() };
    let mut stopped = false;
    cx.ui.progress(text!("{}", bar(0, estimate.left)));
    while sum.left > 0 && !stopped {
        let step = tokio::select! {
            step = client.judge_next(&request) => step,
            _ = tokio::signal::ctrl_c() => {
                stopped = true;
                continue;
            }
        };
        let step = match step {
            Ok(step) => step,
            Err(error) => {
                cx.ui.progress_done();
                return Err(error.into());
            }
        };
        if step.asked == 0 {
            sum.left = step.left;
            break;
        }
        (sum.judged, sum.asked, sum.cards) = (sum.judged + step.judged, sum.asked + step.asked, sum.cards + step.cards);
        (sum.left, sum.tokens, sum.seconds) = (step.left, step.tokens, step.seconds);
        cx.ui.progress(text!("{}", bar(estimate.left.saturating_sub(sum.left), estimate.left)));
    }
    cx.ui.progress_done();
    if !cx.ui.json {
        let cards = count(sum.cards, "card", "cards");
        let pairs = count(sum.judged, "pair", "pairs");
        cx.ui.line(text!("{} judged, {} opened; {} left.", pairs, cards, sum.left));
        if stopped {
            cx.ui.commands(&[("ergo audit".to_owned(), "go on".to_owned())]);
        }
    }
    Ok(sum)
}

/// A progress bar.
fn bar(done: usize, all: usize) -> String {
    let full = (BAR * done.min(all)).checked_div(all).unwrap_or(BAR);
    format!("judging pairs [{}{}] {done} of {all}", "#".repeat(full), " ".repeat(BAR - full))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::JudgeView;

    #[test]
    fn the_bar_fills_and_the_estimate_says_who_how_long_and_how_much() {
        assert_eq!(bar(0, 4), format!("judging pairs [{}] 0 of 4", " ".repeat(BAR)));
        assert_eq!(bar(2, 4), format!("judging pairs [{}{}] 2 of 4", "#".repeat(12), " ".repeat(12)));
        assert_eq!(bar(0, 0), format!("judging pairs [{}] 0 of 0", "#".repeat(BAR)));
        let judge = |name: &str, external| JudgeView { name: name.to_owned(), external };
        let estimate = JudgedNext {
            judges: vec![judge("qwen", false), judge("claude -p", true)],
            tokens: 900,
            seconds: 125,
            ..JudgedNext::default()
        };
        assert_eq!(cost(&estimate), "about 3 min and 900 tokens, by qwen, then claude -p");
    }
}
