//! The `ergo-bench` program: measures ergo's quality and speed, and fits the weights that ship.
//!
//! Any other argument runs `ergo` itself: the daemons, hooks and workers that are measured are processes of this program.

mod guard_command;
mod named_models;
mod output;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{CommandFactory, Parser, builder::RangedU64ValueParser};
use named_models::{NamedModels, with_models};
use output::Output;

/// Measure ergo: the guard, recall, imports, the store, sync, and what agents wait for.
///
/// Any other argument runs `ergo` itself, for the processes that are measured.
#[derive(Debug, clap::Parser)]
#[command(name = "ergo-bench", version)]
struct Args {
    #[command(subcommand)]
    measurement: Measurement,
    /// Print one JSON object instead of tables.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Measurement {
    /// Measure how well the guard recognises contradictions, on a folder of labelled data; or fit its weights.
    Guard(Box<guard_command::GuardArgs>),
    /// Measure how well statements are parsed (stance, subject, value): by the rules, by a language model, and by both.
    Normalise {
        /// The language model: a GGUF file. By default none: only the rules are measured.
        #[arg(long, value_name = "FILE")]
        llm: Option<String>,
        /// List the errors.
        #[arg(long)]
        explain: bool,
    },
    /// Measure how well recall answers questions, on a folder of memories and questions; or how long it takes.
    Recall {
        /// The folder with memories.jsonl and queries.jsonl; bench/recall-quality.md has their format.
        #[arg(long, value_name = "DIR", required_unless_present = "speed")]
        data: Option<PathBuf>,
        /// List the wrong answers.
        #[arg(long)]
        explain: bool,
        /// Write each question with its results to this file, as JSON lines.
        #[arg(long, value_name = "FILE")]
        examples: Option<PathBuf>,
        /// Keep the answers of the models in this file and reuse them (timings are then invalid).
        #[arg(long, value_name = "FILE")]
        cache: Option<PathBuf>,
        /// Fit the weight of the language model, and print it in the format of assets/recall/query_likelihood.toml.
        #[arg(long, requires = "llm")]
        fit: bool,
        /// Fit the probability of an answer on these questions and those of `--data`, and print the weights in the format of assets/recall/answer_model.toml.
        #[arg(long, value_name = "DIR", conflicts_with_all = ["fit", "speed"])]
        fit_known: Option<PathBuf>,
        /// Measure the time of a question instead, by the number of active claims.
        #[arg(long, conflicts_with = "data")]
        speed: bool,
        /// Active claims in the scope; several sizes are measured one after the other.
        #[arg(long, value_name = "N", value_delimiter = ',', value_parser = at_least_one(), default_values_t = [1_000, 10_000, 100_000])]
        claims: Vec<usize>,
        /// With --speed: scopes of the store, a tenth of the claims in the one that is asked.
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        scopes: u32,
        /// Questions that are timed.
        #[arg(long, value_name = "N", default_value_t = 300)]
        samples: usize,
        /// Questions that a language model is asked, spread over all of them. By default all: it takes seconds for each.
        #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
        sample: usize,
        #[command(flatten)]
        named: NamedModels,
    },
    /// Measure which claims the parser of rule files finds, compared with those that a careful person finds.
    Import {
        /// The folder with rule files and their claims: NAME.md and NAME.claims.
        #[arg(long, value_name = "DIR", default_value = "tests/data/import")]
        data: PathBuf,
    },
    /// Measure which reversals, ambiguities and stale claims are found in dated stories.
    Story {
        /// The folder with stories.jsonl.
        #[arg(long, value_name = "DIR", required_unless_present = "speed")]
        data: Option<PathBuf>,
        /// The language model of the rows `model` and `both`: a GGUF file. By default none.
        #[arg(long, value_name = "FILE")]
        llm: Option<String>,
        /// Write what a judge is to be asked to this file, as JSON lines without labels: id, system, message.
        #[arg(long, value_name = "FILE")]
        questions: Option<PathBuf>,
        /// Score the row `judged` with the answers in this file (JSON lines: id, answer).
        #[arg(long, value_name = "FILE")]
        verdicts: Option<PathBuf>,
        /// Measure instead how long the pass takes after one write.
        #[arg(long, conflicts_with = "data")]
        speed: bool,
        /// With --speed: the sizes of the scope.
        #[arg(long, value_name = "N", value_delimiter = ',', value_parser = at_least_one(), default_values_t = [5_000, 100_000])]
        claims: Vec<usize>,
        /// With --speed: the writes.
        #[arg(long, value_name = "N", default_value_t = 200)]
        samples: usize,
    },
    /// Measure how fast files are ingested and embedded.
    Ingest {
        /// Ingested chunks.
        #[arg(long, value_name = "N", default_value_t = 10_000)]
        chunks: usize,
        /// Embedded chunks, of the ingested ones. By default all.
        #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
        embed: usize,
        #[command(flatten)]
        named: NamedModels,
    },
    /// Measure how long writes and reads take, by the number of active claims.
    Store {
        /// Active claims in the scope; several sizes are measured one after the other.
        #[arg(long, value_name = "N", value_delimiter = ',', value_parser = at_least_one(), default_values_t = [1_000, 10_000, 100_000])]
        claims: Vec<usize>,
        /// Writes and reads of each sort that are timed.
        #[arg(long, value_name = "N", default_value_t = 200)]
        samples: usize,
        /// Scopes of the store, with a tenth of the claims in one of them; from 2 on, the growth of such a store is measured.
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "models")]
        scopes: u32,
        /// Measure writes with models instead: the embedded ones, unless others are named.
        #[arg(long)]
        models: bool,
        #[command(flatten)]
        named: NamedModels,
    },
    /// Measure the time and cost of syncing two daemons on this machine.
    Sync {
        /// Claims of the first sync.
        #[arg(long, value_name = "N", default_value_t = 10_000)]
        claims: usize,
        /// Claims that are written one by one.
        #[arg(long, value_name = "N", default_value_t = 50)]
        samples: usize,
        /// Seconds for which the idle daemons are measured.
        #[arg(long, value_name = "SECONDS", default_value_t = 20)]
        idle: u64,
    },
    /// Measure which pairs of claims are taken for the same, on labelled pairs; or how long the scan of a workspace takes.
    Notes {
        /// The file with labelled pairs.
        #[arg(long, value_name = "FILE", default_value = "tests/data/notes/pairs.jsonl")]
        data: PathBuf,
        /// List the wrong answers.
        #[arg(long)]
        explain: bool,
        /// Measure the scan of a made-up workspace instead.
        #[arg(long)]
        workspace: bool,
        /// Projects of the workspace.
        #[arg(long, value_name = "N", default_value_t = 50)]
        projects: usize,
        /// Fragments of each project.
        #[arg(long, value_name = "N", default_value_t = 40)]
        fragments: usize,
        /// Scans without a change.
        #[arg(long, value_name = "N", default_value_t = 200)]
        samples: usize,
        #[command(flatten)]
        named: NamedModels,
    },
    /// Measure how long hooks and bridges of coding agents take, and check concurrent writes of several agents.
    Agents {
        /// Active claims in the scope.
        #[arg(long, value_name = "N", default_value_t = 10_000)]
        claims: usize,
        /// Runs of each hook, and started bridges.
        #[arg(long, value_name = "N", default_value_t = 100)]
        samples: usize,
        /// Concurrent agents.
        #[arg(long, value_name = "N", default_value_t = 10)]
        clients: usize,
        /// Least seconds of concurrent work, which goes on until all hooks beside it have run.
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        seconds: u64,
    },
}

/// Parses the number of claims in a scope, some of which are asked for or contradicted.
fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// Measures how well statements are parsed.
fn normalise(llm: Option<String>, explain: bool, out: &mut Output) -> Result<()> {
    let report = with_models(&NamedModels::only_llm(llm), |models| {
        ergo_bench::normalise::run(models.as_deref(), explain, &mut |text| out.progress(&text))
            .map_err(|error| anyhow!("{error}\nhint: `--llm` names the file of a language model"))
    })?;
    Ok(out.report(&report, &report.to_string())?)
}

fn main() -> ExitCode {
    // Options and measurements are for this program; everything else is for `ergo`.
    let is_measurement =
        |first: &std::ffi::OsString| first.to_str().is_some_and(|name| Args::command().find_subcommand(name).is_some());
    let first = std::env::args_os().nth(1);
    if first.is_some_and(|first| !is_measurement(&first) && !first.to_string_lossy().starts_with('-')) {
        return ergo::cli::main();
    }
    let args = Args::parse();
    match run(args.measurement, &mut Output::new(args.json)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::fail(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(measurement: Measurement, out: &mut Output) -> Result<()> {
    match measurement {
        Measurement::Guard(args) => guard_command::run(*args, out),
        Measurement::Normalise { llm, explain } => normalise(llm, explain, out),
        Measurement::Recall {
            data,
            explain,
            examples,
            cache,
            fit,
            fit_known,
            speed,
            claims,
            scopes,
            samples,
            sample,
            named,
        } => match (data, speed) {
            (Some(data), false) => {
                let options = ergo_bench::recall::RecallOptions {
                    data,
                    folder: PathBuf::new(),
                    models: None,
                    explain,
                    examples,
                    cache,
                    fit,
                    fit_known,
                    sample,
                };
                recall(options, &named, out)
            }
            _ => recall_speed(claims, scopes as usize, samples, &named, out),
        },
        Measurement::Import { data } => {
            let report = ergo_bench::import::run(&data).context("`--data` names the folder with the rule files")?;
            Ok(out.report(&report, &report.to_string())?)
        }
        Measurement::Story { speed: true, claims, samples, .. } => {
            let report = in_temporary_folder("story", out, |folder, progress| {
                Ok(ergo_bench::story_speed::run(folder, &claims, samples, progress)?)
            })?;
            Ok(out.report(&report, &report.to_string())?)
        }
        Measurement::Story { data, llm, questions, verdicts, .. } => {
            with_models(&NamedModels::only_llm(llm), |models| {
                let options =
                    ergo_bench::story::StoryOptions { data: data.unwrap_or_default(), models, questions, verdicts };
                let report = ergo_bench::story::run(&options, &mut |text| out.progress(text))
                    .context("`--data` names the folder with stories.jsonl")?;
                Ok(out.report(&report, &report.to_string())?)
            })
        }
        Measurement::Ingest { chunks, embed, named } => ingest(chunks, embed, &named, out),
        Measurement::Store { claims, samples, scopes: scopes @ 2.., .. } => growth(claims, samples, scopes, out),
        Measurement::Store { claims, samples, models, named, .. } => {
            store(claims, samples, models.then_some(&named), out)
        }
        Measurement::Sync { claims, samples, idle } => sync(claims, samples, idle, out),
        Measurement::Notes { data, explain, workspace: false, named, .. } => note_pairs(&data, explain, &named, out),
        Measurement::Notes { projects, fragments, samples, .. } => workspace(projects, fragments, samples, out),
        Measurement::Agents { claims, samples, clients, seconds } => {
            agents(claims, samples, clients, Duration::from_secs(seconds), out)
        }
    }
}

/// Measures in a temporary folder of this process, which is removed afterwards.
fn in_temporary_folder<T>(
    name: &str,
    out: &mut Output,
    measure: impl FnOnce(&Path, &mut dyn FnMut(&str)) -> Result<T>,
) -> Result<T> {
    let folder = std::env::temp_dir().join(format!("ergo-bench-{name}-{}", std::process::id()));
    let measured = measure(&folder, &mut |text| out.progress(text));
    // A temporary folder that could not be removed does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

/// Measures which pairs of claims are taken to say the same.
fn note_pairs(data: &Path, explain: bool, named: &NamedModels, out: &mut Output) -> Result<()> {
    let report = with_models(named, |models| {
        let models = models.ok_or_else(|| anyhow!("this needs an embedder and a cross-encoder"))?;
        ergo_bench::notes::pairs(data, &*models, explain)
            .with_context(|| format!("cannot measure the pairs in {}", data.display()))
    })?;
    Ok(out.report(&report, &report.to_string())?)
}

/// Measures the scan of a made-up workspace.
fn workspace(projects: usize, fragments: usize, rescans: usize, out: &mut Output) -> Result<()> {
    let program = std::env::current_exe()?;
    let report = in_temporary_folder("notes", out, |folder, progress| {
        let options =
            ergo_bench::notes::WorkspaceOptions { projects, fragments, rescans, folder: folder.into(), program };
        Ok(ergo_bench::notes::workspace(&options, progress)?)
    })?;
    Ok(out.report(&report, &report.to_string())?)
}

/// Measures two daemons that sync. Lost events are an error; a missed target is not.
fn sync(claims: usize, samples: usize, idle: u64, out: &mut Output) -> Result<()> {
    let program = std::env::current_exe()?;
    let report = in_temporary_folder("sync", out, |folder, progress| {
        let options = ergo_bench::sync::SyncOptions {
            claims,
            samples,
            idle: Duration::from_secs(idle),
            ..ergo_bench::sync::SyncOptions::new(folder, program)
        };
        Ok(ergo_bench::sync::run(&options, progress)?)
    })?;
    out.report(&report, &report.to_string())?;
    let cards_as_expected = report.met.same_cards && report.met.cards == report.met.cards_expected;
    if report.counted.is_consistent() && cards_as_expected {
        return Ok(());
    }
    bail!("the two daemons do not hold exactly what was written, or not the same cards")
}

/// Measures what agents wait for. A lost or doubled write is an error; a missed target is not.
fn agents(claims: usize, samples: usize, clients: usize, time: Duration, out: &mut Output) -> Result<()> {
    let program = std::env::current_exe()?;
    let report = in_temporary_folder("agents", out, |folder, progress| {
        let options =
            ergo_bench::agents::AgentsOptions { claims, samples, clients, time, folder: folder.into(), program };
        with_models(&NamedModels::default(), |models| {
            let models = models.context("this program has no models built in")?;
            Ok(ergo_bench::agents::run(&options, &models, progress)?)
        })
    })?;
    out.report(&report, &report.to_string())?;
    if report.crowd.is_consistent() {
        return Ok(());
    }
    bail!("the daemon does not hold exactly what it acknowledged, or calls failed")
}

/// Measures how well recall answers questions.
fn recall(options: ergo_bench::recall::RecallOptions, named: &NamedModels, out: &mut Output) -> Result<()> {
    let report = in_temporary_folder("recall", out, |folder, progress| {
        with_models(named, |models| {
            let options = ergo_bench::recall::RecallOptions { folder: folder.into(), models, ..options };
            ergo_bench::recall::run(&options, progress).context("bench/recall-quality.md has the format of the data")
        })
    })?;
    Ok(out.report(&report, &report.table())?)
}

/// Measures how long recall takes.
fn recall_speed(
    claims: Vec<usize>,
    scopes: usize,
    samples: usize,
    named: &NamedModels,
    out: &mut Output,
) -> Result<()> {
    let rows = in_temporary_folder("recall", out, |folder, progress| {
        let options = ergo_bench::store::StoreBenchOptions {
            sizes: claims,
            samples,
            ..ergo_bench::store::StoreBenchOptions::new(folder)
        };
        with_models(named, |models| {
            let models = models.context("there is no embedder to measure recall with")?;
            Ok(ergo_bench::recall::speed::run(&options, scopes, &models, progress)?)
        })
    })?;
    Ok(out.report(&rows, &ergo_bench::recall::speed::table(&rows))?)
}

/// Measures how fast files are ingested and embedded.
fn ingest(chunks: usize, embed: usize, named: &NamedModels, out: &mut Output) -> Result<()> {
    let report = in_temporary_folder("ingest", out, |folder, progress| {
        with_models(named, |models| {
            let options = ergo_bench::ingest::IngestOptions { chunks, embed, folder: folder.into(), models };
            Ok(ergo_bench::ingest::run(&options, progress)?)
        })
    })?;
    Ok(out.report(&report, &report.to_string())?)
}

/// Measures a store of many scopes as it grows.
fn growth(sizes: Vec<usize>, samples: usize, scopes: u32, out: &mut Output) -> Result<()> {
    let program = std::env::current_exe()?;
    let report = in_temporary_folder("grow", out, |folder, progress| {
        let (folder, scopes) = (folder.into(), scopes as usize);
        let options = ergo_bench::store_growth::GrowthOptions { sizes, scopes, samples, folder, program };
        Ok(ergo_bench::store_growth::run(&options, progress)?)
    })?;
    Ok(out.report(&report, &report.table())?)
}

/// Measures the store: without models, or writes with models.
fn store(claims: Vec<usize>, samples: usize, named: Option<&NamedModels>, out: &mut Output) -> Result<()> {
    let (table, value) = in_temporary_folder("store", out, |folder, progress| {
        let options = ergo_bench::store::StoreBenchOptions {
            sizes: claims,
            samples,
            ..ergo_bench::store::StoreBenchOptions::new(folder)
        };
        match named {
            None => {
                let report = ergo_bench::store::run(&options, progress)?;
                Ok((report.table(), serde_json::to_value(&report)?))
            }
            Some(named) => with_models(named, |models| {
                let models = models.context("there is no model to measure writes with")?;
                let rows = ergo_bench::store_models::run(&options, &models, progress)?;
                Ok((ergo_bench::store_models::table(&rows), serde_json::to_value(&rows)?))
            }),
        }
    })?;
    Ok(out.report(&value, &table)?)
}
