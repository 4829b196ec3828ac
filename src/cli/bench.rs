//! `ergo bench`: measured quality and speed of the shipped program.

use std::path::PathBuf;

use super::{CliError, Context, Exit};
use crate::bench;

/// Measure the guard.
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
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    match args.what {
        What::Guard { data, explain } => {
            cx.ui.progress("measuring the guard …");
            let report = bench::guard::run(&bench::guard::Options { data, explain });
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
    }
}
