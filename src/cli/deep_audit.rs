//! `ergo audit --deep`: has a language model read the whole story of a project, piece by piece, until it is done or the user stops it.

use super::{
    CliError, Context,
    audit::{bar, cost, may_ask_judges, unless_stopped},
    show::text::count,
};
use crate::{
    api::{Caller, ReadStoryRequest, StoryProgress},
    client::Client,
};

/// Estimates the cost, asks the user if claims would leave this program, and has the story read. `judge`: the user agreed already.
pub(super) async fn run(
    cx: &mut Context,
    client: &Client,
    caller: &Caller,
    dry_run: bool,
    judge: bool,
) -> Result<StoryProgress, CliError> {
    let request = |dry_run| ReadStoryRequest { caller: caller.clone(), dry_run };
    let estimate = client.read_story(&request(true)).await?;
    if estimate.judges.is_empty() {
        if !cx.ui.json {
            cx.ui.note("No language model is chosen to read the story: `ergo models list` shows them, or set [judge] in config.toml.");
        }
        return Ok(estimate);
    }
    let price = cost(&estimate.judges, estimate.tokens, estimate.seconds);
    let claims = count(estimate.left, "claim", "claims");
    let begin = text!("Reading the story, {}: {}. Ctrl-C stops.", claims, price);
    let question = text!("Have the story read, {}: {}?", claims, price);
    if estimate.left == 0 || dry_run || !may_ask_judges(cx, &estimate.judges, judge, begin, question)? {
        if estimate.left > 0 && !cx.ui.json {
            cx.ui.line(text!("The story can be read, {}: {}.", claims, price));
            cx.ui.commands(&[(cx.in_scope("ergo audit --deep --judge"), "have it read".to_owned())]);
        }
        return Ok(estimate);
    }
    let mut sum = StoryProgress { left: estimate.left, judges: estimate.judges.clone(), ..StoryProgress::default() };
    let mut stopped = false;
    while sum.left > 0 {
        cx.ui.progress(text!("{}", bar("reading the story", estimate.left - sum.left, estimate.left)));
        let next = request(false);
        let Some(step) = unless_stopped(cx, client.read_story(&next)).await? else {
            stopped = true;
            break;
        };
        (sum.read, sum.cards, sum.dropped) = (sum.read + step.read, sum.cards + step.cards, sum.dropped + step.dropped);
        (sum.tokens, sum.seconds) = (step.tokens, step.seconds);
        // Claims that were written meanwhile wait for the next reading.
        let left = if step.read == 0 { 0 } else { step.left.min(sum.left.saturating_sub(1)) };
        sum.left = left;
    }
    cx.ui.progress_done();
    if !cx.ui.json {
        let questions = count(sum.cards, "question", "questions");
        let dropped = match sum.dropped {
            0 => String::new(),
            many => format!(", {} ignored as settled or invalid", count(many, "answer", "answers")),
        };
        cx.ui.line(text!("{} opened{}; {} left to read.", questions, dropped, count(sum.left, "claim", "claims")));
        if stopped {
            cx.ui.commands(&[(cx.in_scope("ergo audit --deep"), "continue".to_owned())]);
        } else if sum.cards > 0 {
            cx.ui.commands(&[(cx.in_scope("ergo story --marks"), "show them".to_owned())]);
        }
    }
    Ok(sum)
}
