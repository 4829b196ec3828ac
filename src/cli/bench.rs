//! `ergo bench`: measured quality and speed of the shipped program.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::Serialize;

use super::{CliError, Context, Exit};
use crate::{
    bench, files, guard,
    infer::{ModelFile, ModelSet, ModelSource, Models, Pool, PoolOptions, Role, catalogue},
};

/// Measure the guard, recall, the store, sync, and what agents wait for.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

/// What to measure.
#[derive(Debug, clap::Subcommand)]
enum What {
    /// How well the guard tells contradictions from everything else, on a folder of labelled data; or fit its judge.
    Guard(Box<GuardArgs>),
    /// How well statements are read: stance, subject and value, by the rules, by a language model, and by both.
    Normalise {
        /// The language model: a GGUF file. By default none: the rules are measured.
        #[arg(long, value_name = "FILE")]
        llm: Option<String>,
        /// List what is not read right.
        #[arg(long)]
        explain: bool,
    },
    /// How well what is known is found, on a folder of memories and questions; or how long it takes.
    Recall {
        /// The folder with memories.jsonl and queries.jsonl; docs/recall.md has their format.
        #[arg(long, value_name = "DIR", required_unless_present = "speed")]
        data: Option<PathBuf>,
        /// List what was not answered right.
        #[arg(long)]
        explain: bool,
        /// Write each question with what was found to this file, as JSON lines.
        #[arg(long, value_name = "FILE")]
        examples: Option<PathBuf>,
        /// Keep what the models say in this file, and believe it the next time: then times mean nothing.
        #[arg(long, value_name = "FILE")]
        heard: Option<PathBuf>,
        /// Fit what the language model's word counts, and print the weights in the form of assets/recall/filter.toml.
        #[arg(long, requires = "llm")]
        fit: bool,
        /// Measure the time of a question instead, by the number of active claims.
        #[arg(long, conflicts_with = "data")]
        speed: bool,
        /// Active claims in the scope; several sizes are measured one after the other.
        #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
        claims: Vec<usize>,
        /// Questions that are timed.
        #[arg(long, value_name = "N", default_value_t = 300)]
        samples: usize,
        /// Questions that a language model is asked, spread over all of them. By default all: it takes seconds for each.
        #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
        sample: usize,
        #[command(flatten)]
        named: Named,
    },
    /// How fast files are taken in for reference, and how fast their pieces get vectors.
    Ingest {
        /// Pieces of files that are taken in.
        #[arg(long, value_name = "N", default_value_t = 10_000)]
        chunks: usize,
        /// Pieces that get a vector, of those that were taken in. By default all.
        #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
        embed: usize,
        #[command(flatten)]
        named: Named,
    },
    /// How long writes and reads take, by the number of active claims.
    Store {
        /// Active claims in the scope; several sizes are measured one after the other.
        #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
        claims: Vec<usize>,
        /// Writes and reads of each sort that are timed.
        #[arg(long, value_name = "N", default_value_t = 200)]
        samples: usize,
        /// Measure writes with models instead: the embedded ones, unless others are named.
        #[arg(long)]
        models: bool,
        #[command(flatten)]
        named: Named,
    },
    /// How fast, and at what cost, two daemons on this machine come to have the same.
    Sync {
        /// Claims that the second device gets from nothing.
        #[arg(long, value_name = "N", default_value_t = 10_000)]
        claims: usize,
        /// Claims that are written one by one.
        #[arg(long, value_name = "N", default_value_t = 50)]
        samples: usize,
        /// Seconds for which the two are watched while nothing happens.
        #[arg(long, value_name = "SECONDS", default_value_t = 20)]
        idle: u64,
    },
    /// How long hooks and bridges of coding agents take, and what becomes of the writes of several agents at once.
    Agents {
        /// Active claims in the scope.
        #[arg(long, value_name = "N", default_value_t = 10_000)]
        claims: usize,
        /// Runs of each hook, and bridges that are started.
        #[arg(long, value_name = "N", default_value_t = 100)]
        samples: usize,
        /// Agents that write and ask at once.
        #[arg(long, value_name = "N", default_value_t = 10)]
        clients: usize,
        /// Seconds for which they do.
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        seconds: u64,
    },
}

/// Models other than those that ship.
#[derive(Debug, Default, clap::Args)]
struct Named {
    /// The cross-encoder: a GGUF file, or `none`. By default the one that ships.
    #[arg(long, value_name = "FILE")]
    nli: Option<String>,
    /// The embedder: a GGUF file, or `none`. By default the one that ships.
    #[arg(long, value_name = "FILE")]
    embedder: Option<String>,
    /// The language model of the deep stage: a GGUF file. By default none.
    #[arg(long, value_name = "FILE")]
    llm: Option<String>,
}

/// What to measure of the guard, and with which models.
#[derive(Debug, clap::Args)]
struct GuardArgs {
    /// The folder with pairs.jsonl, rules_corpus.jsonl, adr_corpus.jsonl, adr_supersede.jsonl and fact sets; an absent file is skipped.
    #[arg(long, value_name = "DIR", required_unless_present = "fit")]
    data: Option<PathBuf>,
    /// List each wrong answer with the guard's reason and figures.
    #[arg(long)]
    explain: bool,
    /// Measure these rows only: lexical, structural, rules, nli, default, deep, crowd, facts.
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    named: Named,
    /// Sentences of each corpus that the row `deep` replays: the language model takes seconds.
    #[arg(long, value_name = "N", default_value_t = 150)]
    sample: usize,
    /// Keep what the models say in this file, and believe it the next time: then times mean nothing.
    #[arg(long, value_name = "FILE")]
    heard: Option<PathBuf>,
    /// Judge by the weights in this file, in the form of assets/judge.toml.
    #[arg(long, value_name = "FILE")]
    judge: Option<PathBuf>,
    /// Fit the judge to the labelled pairs in these files (JSON lines: a, b, label).
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "replay")]
    fit: Vec<PathBuf>,
    /// Choose its thresholds on the sentences in these files (JSON lines: unit, text), none of which contradicts another.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    replay: Vec<PathBuf>,
    /// Replay at most so many sentences of each file.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    most: usize,
    /// How many of 1,000 sentences may be refused wrongly: one figure for each file of sentences, or one for all.
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [1.0])]
    per_1000: Vec<f64>,
    /// The same, where there is no model.
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [1.0])]
    rules_per_1000: Vec<f64>,
    /// How many of 1,000 sentences it may warn about wrongly.
    #[arg(long, value_name = "N", default_value_t = 5.0)]
    warn_per_1000: f64,
    /// The share of the contradictions that the rules name which the cross-encoder may take back.
    #[arg(long, value_name = "SHARE", default_value_t = 0.02)]
    taken_back: f64,
    /// With a language model, fit the deep stage on so many pairs.
    #[arg(long, value_name = "N", default_value_t = 360)]
    deep_pairs: usize,
    /// How many of 1,000 sentences the deep stage may find wrongly: what it finds is a card to look at, not a refusal.
    #[arg(long, value_name = "N", default_value_t = 3.0)]
    deep_per_1000: f64,
    /// The least probability from which a pair comes to the deep stage.
    #[arg(long, value_name = "P")]
    deep_gate: Option<f32>,
    /// Write every example with its figures to this file, as JSON lines.
    #[arg(long, value_name = "FILE")]
    examples: Option<PathBuf>,
    /// Write the fitted judge to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Measures the guard, or fits its judge.
fn guard(args: GuardArgs, cx: &mut Context) -> Result<Exit, CliError> {
    let weights = match &args.judge {
        Some(path) => {
            let text = files::text(path, files::MAX_SETTINGS)
                .map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))?;
            toml::from_str(&text).map_err(|error| CliError::usage(format!("{}: {error}", path.display())))?
        }
        None => guard::weights::built_in().clone(),
    };
    with_models(&args.named, |models| measure(&args, weights, models, cx))
}

/// Opens models for a measurement, and takes away what they left behind.
fn with_models<T>(
    named: &Named,
    run: impl FnOnce(Option<Arc<dyn Models>>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let folder = std::env::temp_dir().join(format!("ergo-bench-models-{}", std::process::id()));
    let set = models(named)?;
    let models: Option<Arc<dyn Models>> =
        (set != ModelSet::default()).then(|| Arc::new(Pool::new(PoolOptions::new(&folder), set)) as Arc<dyn Models>);
    let result = run(models);
    // Temporary: the built-in models as files.
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn measure(
    args: &GuardArgs,
    weights: guard::Weights,
    models: Option<Arc<dyn Models>>,
    cx: &mut Context,
) -> Result<Exit, CliError> {
    let failed =
        |error: bench::guard::BenchError| CliError::usage(error).hint("the options name the files with the data");
    if !args.fit.is_empty() {
        let models =
            models.ok_or_else(|| CliError::usage("fitting the judge needs a cross-encoder: name one with `--nli`"))?;
        let mut start = weights;
        start.deep.gate = args.deep_gate.unwrap_or(start.deep.gate);
        let options = bench::guard::FitOptions {
            pairs: args.fit.clone(),
            replay: args.replay.clone(),
            most: args.most,
            models,
            heard: args.heard.clone(),
            per_1000: args.per_1000.clone(),
            rules_per_1000: args.rules_per_1000.clone(),
            warn_per_1000: args.warn_per_1000,
            examples: args.examples.clone(),
            taken_back: args.taken_back,
            deep_pairs: args.deep_pairs,
            deep_per_1000: args.deep_per_1000,
            start,
            date: jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string(),
        };
        let fitted = bench::guard::fit(&options, &mut |text| cx.ui.progress(text!("{}", text)));
        cx.ui.progress_done();
        let fitted = fitted.map_err(failed)?;
        let text = toml::to_string(&fitted.weights).map_err(CliError::internal)?;
        match &args.out {
            Some(path) => std::fs::write(path, format!("{HEAD}{text}"))
                .map_err(|error| CliError::usage(format!("cannot write {}: {error}", path.display())))?,
            None => cx.ui.raw(text.as_bytes()),
        }
        cx.ui.raw(fitted.to_string().as_bytes());
        return Ok(Exit::Ok);
    }
    cx.ui.progress("measuring the guard …");
    let report = bench::guard::run(&bench::guard::Options {
        data: args.data.clone().unwrap_or_default(),
        explain: args.explain,
        models,
        heard: args.heard.clone(),
        weights,
        sample: args.sample,
        only: args.only.clone(),
    });
    cx.ui.progress_done();
    let report = report.map_err(failed)?;
    tell(cx, &report, &report.to_string());
    Ok(Exit::Ok)
}

/// Measures how statements are read.
fn normalise(llm: Option<&str>, explain: bool, cx: &mut Context) -> Result<Exit, CliError> {
    let folder = std::env::temp_dir().join(format!("ergo-bench-models-{}", std::process::id()));
    let pool = match llm {
        Some(path) => {
            let set = ModelSet { llm: Some(model_file(path)?), ..ModelSet::default() };
            Some(Pool::new(PoolOptions::new(&folder), set))
        }
        None => None,
    };
    let models = pool.as_ref().map(|pool| pool as &dyn Models);
    let report = bench::normalise::run(models, explain, &mut |text| cx.ui.progress(text!("{}", text)));
    cx.ui.progress_done();
    let report = report.map_err(|why| CliError::usage(why).hint("`--llm` names the file of a language model"))?;
    tell(cx, &report, &report.to_string());
    Ok(Exit::Ok)
}

/// A model file that was named.
fn model_file(path: &str) -> Result<ModelSource, CliError> {
    let path = std::path::absolute(path).map_err(CliError::usage)?;
    let sha256 = catalogue::digest::of_file(&path, &mut |_| {})
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))?
        .to_string();
    let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Ok(ModelSource::File(ModelFile { name, sha256, path }))
}

/// What stands above fitted weights.
const HEAD: &str =
    "# The judge's weights and thresholds. Made by `ergo bench guard --fit`; see docs/guard-quality.md.\n\n";

/// The models to measure with: those that ship, unless others are named.
fn models(named: &Named) -> Result<ModelSet, CliError> {
    let of = |role: Role, named: &Option<String>| -> Result<Option<ModelSource>, CliError> {
        match named.as_deref() {
            None if role == Role::Llm => Ok(None),
            None => Ok(catalogue::embedded(role).map(ModelSource::Embedded)),
            Some("none") => Ok(None),
            Some(path) => model_file(path).map(Some),
        }
    };
    Ok(ModelSet {
        embedder: of(Role::Embedder, &named.embedder)?,
        nli: of(Role::Nli, &named.nli)?,
        llm: of(Role::Llm, &named.llm)?,
    })
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    match args.what {
        What::Guard(args) => guard(*args, cx),
        What::Normalise { llm, explain } => normalise(llm.as_deref(), explain, cx),
        What::Recall { data, explain, examples, heard, fit, speed, claims, samples, sample, named } => {
            match (data, speed) {
                (Some(data), false) => {
                    let options = bench::recall::Options {
                        data,
                        folder: PathBuf::new(),
                        models: None,
                        explain,
                        examples,
                        heard,
                        fit,
                        sample,
                    };
                    recall(options, &named, cx)
                }
                _ => recall_speed(claims, samples, &named, cx),
            }
        }
        What::Ingest { chunks, embed, named } => ingest(chunks, embed, &named, cx),
        What::Store { claims, samples, models, named } => store(claims, samples, models.then_some(&named), cx),
        What::Sync { claims, samples, idle } => sync(claims, samples, idle, cx),
        What::Agents { claims, samples, clients, seconds } => {
            agents(claims, samples, clients, Duration::from_secs(seconds), cx)
        }
    }
}

/// Measures in a temporary folder of this process, which is removed in the end.
fn aside<T>(
    name: &str,
    cx: &mut Context,
    measure: impl FnOnce(&Path, &mut dyn FnMut(&str)) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let folder = std::env::temp_dir().join(format!("ergo-bench-{name}-{}", std::process::id()));
    let measured = measure(&folder, &mut |text| cx.ui.progress(text!("{}", text)));
    cx.ui.progress_done();
    // A temporary folder that could not be removed does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

/// Prints what was measured: as text, or as JSON where that is asked for.
fn tell(cx: &mut Context, report: &impl Serialize, text: &str) {
    if cx.ui.json {
        cx.ui.value(report);
    } else {
        cx.ui.raw(text.as_bytes());
    }
}

/// Measures two daemons that meet. What is not whole in the end is an error; a bar that is missed is a figure.
fn sync(claims: usize, samples: usize, idle: u64, cx: &mut Context) -> Result<Exit, CliError> {
    let program = std::env::current_exe().map_err(CliError::internal)?;
    let report = aside("sync", cx, |folder, progress| {
        let options = bench::sync::Options {
            claims,
            samples,
            idle: Duration::from_secs(idle),
            ..bench::sync::Options::new(folder, program)
        };
        bench::sync::run(&options, progress).map_err(CliError::internal)
    })?;
    tell(cx, &report, &report.to_string());
    let cards_as_expected = report.met.same_cards && report.met.cards == report.met.cards_expected;
    if report.counted.whole() && cards_as_expected {
        return Ok(Exit::Ok);
    }
    Err(CliError::internal("the two daemons do not hold exactly what was written, or not the same cards"))
}

/// Measures what agents wait for. A write that is lost or doubled is an error; a bar that is missed is a figure.
fn agents(claims: usize, samples: usize, clients: usize, time: Duration, cx: &mut Context) -> Result<Exit, CliError> {
    let program = std::env::current_exe().map_err(CliError::internal)?;
    let report = aside("agents", cx, |folder, progress| {
        let options = bench::agents::Options { claims, samples, clients, time, folder: folder.into(), program };
        with_models(&Named::default(), |models| {
            let models = models.ok_or_else(|| CliError::usage("this program has no models built in"))?;
            bench::agents::run(&options, &models, progress).map_err(CliError::internal)
        })
    })?;
    tell(cx, &report, &report.to_string());
    if report.crowd.whole() {
        return Ok(Exit::Ok);
    }
    Err(CliError::internal("the daemon does not hold exactly what it acknowledged, or calls failed"))
}

/// Measures how well recall finds.
fn recall(options: bench::recall::Options, named: &Named, cx: &mut Context) -> Result<Exit, CliError> {
    let report = aside("recall", cx, |folder, progress| {
        with_models(named, |models| {
            let options = bench::recall::Options { folder: folder.into(), models, ..options };
            bench::recall::run(&options, progress)
                .map_err(|error| CliError::usage(error).hint("docs/recall.md has the format of the data"))
        })
    })?;
    tell(cx, &report, &report.table());
    Ok(Exit::Ok)
}

/// Measures how long recall takes.
fn recall_speed(claims: Vec<usize>, samples: usize, named: &Named, cx: &mut Context) -> Result<Exit, CliError> {
    let rows = aside("recall", cx, |folder, progress| {
        let options = bench::store::Options { sizes: claims, samples, ..bench::store::Options::new(folder) };
        with_models(named, |models| {
            let models = models.ok_or_else(|| CliError::usage("there is no embedder to measure recall with"))?;
            bench::recall::speed::run(&options, &models, progress).map_err(CliError::internal)
        })
    })?;
    tell(cx, &rows, &bench::recall::speed::table(&rows));
    Ok(Exit::Ok)
}

/// Measures how fast files are taken in.
fn ingest(chunks: usize, embed: usize, named: &Named, cx: &mut Context) -> Result<Exit, CliError> {
    let report = aside("ingest", cx, |folder, progress| {
        with_models(named, |models| {
            let options = bench::ingest::Options { chunks, embed, folder: folder.into(), models };
            bench::ingest::run(&options, progress).map_err(CliError::internal)
        })
    })?;
    tell(cx, &report, &report.to_string());
    Ok(Exit::Ok)
}

/// Measures the store: without models, or writes with those that are named.
fn store(claims: Vec<usize>, samples: usize, named: Option<&Named>, cx: &mut Context) -> Result<Exit, CliError> {
    let (table, value) = aside("store", cx, |folder, progress| {
        let options = bench::store::Options { sizes: claims, samples, ..bench::store::Options::new(folder) };
        match named {
            None => {
                let report = bench::store::run(&options, progress).map_err(CliError::internal)?;
                Ok((report.table(), serde_json::to_value(&report).map_err(CliError::internal)?))
            }
            Some(named) => with_models(named, |models| {
                let models = models.ok_or_else(|| CliError::usage("there is no model to measure writes with"))?;
                let rows = bench::store_models::run(&options, &models, progress).map_err(CliError::internal)?;
                Ok((bench::store_models::table(&rows), serde_json::to_value(&rows).map_err(CliError::internal)?))
            }),
        }
    })?;
    tell(cx, &value, &table);
    Ok(Exit::Ok)
}
