//! `ergo bench`: measured quality and speed of the shipped program.

use std::path::PathBuf;

use super::{CliError, Context, Exit};
use crate::{bench, guard};

/// Measure the guard and the store.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

/// What to measure.
#[derive(Debug, clap::Subcommand)]
enum What {
    /// How well the guard tells contradictions from everything else, on a folder of labelled data.
    Guard {
        /// The folder with pairs.jsonl, rules_corpus.jsonl, adr_corpus.jsonl, adr_supersede.jsonl and fact sets; an absent file is skipped.
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
        /// List each wrong answer with the guard's reason.
        #[arg(long)]
        explain: bool,
    },
    /// How long writes and reads take, by the number of active claims.
    Store {
        /// Active claims in the scope; several sizes are measured one after the other.
        #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
        claims: Vec<usize>,
        /// Writes and reads of each sort that are timed.
        #[arg(long, value_name = "N", default_value_t = 200)]
        samples: usize,
    },
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    match args.what {
        What::Guard { data, explain } => {
            cx.ui.progress("measuring the guard …");
            let report = bench::guard::run(&bench::guard::Options {
                data,
                explain,
                models: None,
                heard: None,
                weights: guard::weights::built_in().clone(),
                only: Vec::new(),
            });
            cx.ui.progress_done();
            let report =
                report.map_err(|error| CliError::usage(error).hint("`--data` names the folder with the data files"))?;
            if cx.ui.json {
                cx.ui.value(&report);
            } else {
                cx.ui.raw(report.to_string().as_bytes());
            }
            Ok(Exit::Ok)
        }
        What::Store { claims, samples } => {
            let folder = std::env::temp_dir().join(format!("ergo-bench-store-{}", std::process::id()));
            let options = bench::store::Options { sizes: claims, samples, ..bench::store::Options::new(&folder) };
            let report = bench::store::run(&options, &mut |text| cx.ui.progress(text));
            cx.ui.progress_done();
            // A temporary folder that could not be removed does no harm.
            let _ = std::fs::remove_dir_all(&folder);
            let report = report.map_err(CliError::internal)?;
            if cx.ui.json {
                cx.ui.value(&report);
            } else {
                cx.ui.raw(report.table().as_bytes());
            }
            Ok(Exit::Ok)
        }
    }
}
