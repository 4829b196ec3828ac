//! `ergo reembed`: recomputes all vectors after the embedder was changed.

use super::{CliError, Context, Exit, show::text::count};

/// Recompute all vectors after you chose another embedder.
///
/// Until all vectors exist, claims are found by words only. If it is interrupted, run it again to continue.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
pub(crate) async fn run(_: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    loop {
        let step = client.reembed().await;
        if step.is_err() {
            cx.ui.progress_done();
        }
        let step = step?;
        if !step.finished {
            cx.ui.progress(text!("{}: {} of {}", step.model, step.done, count(step.total, "text", "texts")));
            continue;
        }
        cx.ui.progress_done();
        if cx.ui.json {
            cx.ui.value(&step);
        } else {
            cx.ui.line(text!("{} computed with {}.", count(step.total, "vector", "vectors"), step.model));
        }
        return Ok(Exit::Ok);
    }
}
