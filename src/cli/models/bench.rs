//! `ergo models bench`: measures the models on this machine.

use serde_json::json;

use super::{ModelSetup, RoleArg};
use crate::{
    cli::{CliError, Context, Exit, ui::Style},
    infer::{
        ModelRole, ModelSource,
        catalogue::{measure, model_choice},
    },
};

/// The roles and the number of calls.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The models are loaded into a separate worker process, so that a running daemon does not affect the result. Measure on an idle
machine: more threads than free cores make everything slower.")]
pub(super) struct Args {
    /// The roles [default: all that have a model].
    #[arg(value_enum, value_name = "ROLE")]
    roles: Vec<RoleArg>,
    /// CPU threads per model [default: as the daemon].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    /// Timed calls of each kind.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    calls: u32,
}

/// Runs the subcommand.
pub(super) fn run(args: &Args, setup: &ModelSetup, cx: &mut Context) -> Result<Exit, CliError> {
    let serving = setup.serving();
    let asked: Vec<ModelRole> = args.roles.iter().map(|role| (*role).into()).collect();
    let models = setup.start(model_choice::model_set(&serving), args.threads);
    let mut items = Vec::new();
    for serving in serving.iter().filter(|serving| asked.is_empty() || asked.contains(&serving.role)) {
        if let Some(problem) = &serving.problem {
            cx.ui.note(text!("Note: {}", problem));
        }
        let Some(model) = &serving.model else {
            if asked.contains(&serving.role) {
                return Err(CliError::usage(format_args!("no model has the role {}", serving.role))
                    .hint("`ergo models list` shows the available models"));
            }
            continue;
        };
        let name = ModelSource::name(model).to_owned();
        cx.ui.progress(text!("measuring {} …", name));
        let timings = measure::measure(serving.role, &*models, args.calls as usize);
        cx.ui.progress_done();
        let timings = timings.map_err(|error| {
            CliError::internal(error).hint(format_args!("`ergo models verify {name}` checks its file"))
        })?;
        items.push((serving.role, name, timings));
    }
    if cx.ui.json {
        let items: Vec<_> = items
            .iter()
            .map(|(role, model, timings)| json!({"role": role, "model": model, "timings": timings}))
            .collect();
        cx.ui.value(&json!({"models": items, "threads": setup.threads(args.threads)}));
        return Ok(Exit::Ok);
    }
    for (role, name, timings) in items {
        let head = cx.ui.paint(Style::Strong, name);
        cx.ui.line(text!("{}: {}, threads {}", role, head, setup.threads(args.threads)));
        for timing in timings {
            let (p50, p95) = (timing.p50_ms, timing.p95_ms);
            cx.ui.line(text!(
                "  {} p50 {} ms   p95 {} ms",
                format_args!("{:<20}", timing.what),
                format_args!("{p50:>9.2}"),
                format_args!("{p95:>9.2}")
            ));
        }
    }
    Ok(Exit::Ok)
}
