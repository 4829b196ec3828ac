//! `ergo reembed`: vectors of the present embedder in the place of another's.

use super::{CliError, Context, Exit, show::text::count};

/// Make the vectors anew with the present embedder: after another one was chosen.
///
/// Until all are there, the old ones serve nobody and words find alone; then the new ones take their place at once. It can be interrupted: run again,
/// it goes on where it was.
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
            cx.ui.line(text!("{} are of {}.", count(step.total, "vector", "vectors"), step.model));
        }
        return Ok(Exit::Ok);
    }
}
