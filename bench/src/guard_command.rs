//! `ergo-bench guard`: measures the guard and its gate, or fits their weights.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result};
use clap::builder::PossibleValuesParser;
use ergo::{files, guard, infer::Models};

use super::{
    named_models::{NamedModels, with_models},
    output::Output,
};

/// The first lines of a file of fitted weights of the judge.
const JUDGE_HEADER: &str =
    "# The judge's weights and thresholds. Made by `ergo-bench guard --fit`; see bench/guard-quality.md.\n\n";

/// The first lines of a file of fitted weights of the gate.
const GATE_HEADER: &str = "# The gate's weights and thresholds: which claims near a write its writer is asked about. Made by `ergo-bench guard --fit-gate`; see bench/guard-quality.md.\n\n";

/// Options of `ergo-bench guard`.
#[derive(Debug, clap::Args)]
pub(super) struct GuardArgs {
    /// The folder with pairs.jsonl, rules_corpus.jsonl, adr_corpus.jsonl, adr_supersede.jsonl and fact sets; an absent file is skipped.
    #[arg(long, value_name = "DIR", required_unless_present = "fit")]
    data: Option<PathBuf>,
    /// List each wrong verdict with the guard's reason and features.
    #[arg(long)]
    explain: bool,
    /// Measure only these rows.
    #[arg(long, value_name = "ROW", value_delimiter = ',', value_parser = PossibleValuesParser::new(ergo_bench::guard::ROWS))]
    only: Vec<String>,
    #[command(flatten)]
    named: NamedModels,
    /// Sentences of each corpus that the row `deep` replays: the language model takes seconds.
    #[arg(long, value_name = "N", default_value_t = 150)]
    sample: usize,
    /// Keep the answers of the models in this file and reuse them (timings are then invalid).
    #[arg(long, value_name = "FILE")]
    cache: Option<PathBuf>,
    /// Write what would be asked to this file, as JSON lines without labels: id, new, existing.
    #[arg(long, value_name = "FILE")]
    questions: Option<PathBuf>,
    /// Score the row `asked` with the answers in this file (JSON lines: id, verdict).
    #[arg(long, value_name = "FILE")]
    verdicts: Option<PathBuf>,
    /// More projects for the row `dense`, as `tools/nli` makes them (JSON lines: name, claims, harmless, clashes).
    #[arg(long, value_name = "FILE", num_args = 1..)]
    dense: Vec<PathBuf>,
    /// Find doubts by the weights in this file, in the form of assets/gate.toml.
    #[arg(long, value_name = "FILE")]
    gate: Option<PathBuf>,
    /// Fit the gate instead of the judge.
    #[arg(long, requires = "fit")]
    fit_gate: bool,
    /// The shares of harmless writes that the gate may ask about, and ask about or mention.
    #[arg(long, value_name = "SHARE", num_args = 2, default_values_t = [0.07, 0.3])]
    gate_bands: Vec<f64>,
    /// Judge by the weights in this file, in the form of assets/judge.toml.
    #[arg(long, value_name = "FILE")]
    judge: Option<PathBuf>,
    /// Fit the judge to the labelled pairs in these files (JSON lines: a, b, label).
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "replay")]
    fit: Vec<PathBuf>,
    /// Choose its thresholds on the sentences in these files (JSON lines: unit, text), none of which contradicts another.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    replay: Vec<PathBuf>,
    /// The most sentences of each file to replay.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    most: usize,
    /// How many of 1,000 sentences may be refused wrongly: one figure for each file of sentences, or one for all.
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [1.0])]
    per_1000: Vec<f64>,
    /// The same without models.
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [1.0])]
    rules_per_1000: Vec<f64>,
    /// How many of 1,000 sentences it may warn about wrongly.
    #[arg(long, value_name = "N", default_value_t = 5.0)]
    warn_per_1000: f64,
    /// The share of the contradictions that the rules name which the cross-encoder may take back.
    #[arg(long, value_name = "SHARE", default_value_t = 0.02)]
    taken_back: f64,
    /// With a language model, the number of pairs on which the deep stage is fitted.
    #[arg(long, value_name = "N", default_value_t = 360)]
    deep_pairs: usize,
    /// How many of 1,000 sentences the deep stage may find wrongly: what it finds is a card to look at, not a refusal.
    #[arg(long, value_name = "N", default_value_t = 3.0)]
    deep_per_1000: f64,
    /// The least probability from which a pair comes to the deep stage.
    #[arg(long, value_name = "P")]
    deep_gate: Option<f32>,
    /// Write every example of a fit, or every nearby claim of the rows `gate` or `dense`, with its features to this file, as JSON lines.
    #[arg(long, value_name = "FILE")]
    examples: Option<PathBuf>,
    /// Write the fitted judge to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Measures the guard, or fits its judge.
pub(super) fn run(args: GuardArgs, out: &mut Output) -> Result<()> {
    let weights = match &args.judge {
        Some(path) => read_toml(path)?,
        None => guard::weights::built_in().clone(),
    };
    let gate = match &args.gate {
        Some(path) => read_toml(path)?,
        None => guard::doubt_gate::built_in().clone(),
    };
    with_models(&args.named, |models| measure(&args, weights, gate, models, out))
}

fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let context = || format!("cannot read {}", path.display());
    let text = files::text(path, files::MAX_SETTINGS).with_context(context)?;
    toml::from_str(&text).with_context(context)
}

fn measure(
    args: &GuardArgs,
    weights: guard::JudgeWeights,
    gate: guard::GateWeights,
    models: Option<Arc<dyn Models>>,
    out: &mut Output,
) -> Result<()> {
    if !args.fit.is_empty() {
        let models = models.context("fitting the judge needs a cross-encoder: name one with `--nli`")?;
        let mut start = weights;
        start.deep.gate = args.deep_gate.unwrap_or(start.deep.gate);
        let options = ergo_bench::guard::FitOptions {
            pairs: args.fit.clone(),
            replay: args.replay.clone(),
            most: args.most,
            models,
            cache: args.cache.clone(),
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
        let (header, text, fitted) = if args.fit_gate {
            let bands = ergo_bench::guard::GateBands { ask: args.gate_bands[0], mention: args.gate_bands[1] };
            let (gate, fitted) = ergo_bench::guard::fit_gate(&options, bands, &gate, &mut |text| out.progress(&text))?;
            (GATE_HEADER, toml::to_string(&gate)?, fitted)
        } else {
            let fitted = ergo_bench::guard::fit(&options, &mut |text| out.progress(&text))?;
            (JUDGE_HEADER, toml::to_string(&fitted.weights)?, fitted)
        };
        match &args.out {
            Some(path) => std::fs::write(path, format!("{header}{text}"))
                .with_context(|| format!("cannot write {}", path.display()))?,
            None => out.print(&text)?,
        }
        return Ok(out.print(&fitted.to_string())?);
    }
    out.progress("measuring the guard …");
    let report = ergo_bench::guard::run(&ergo_bench::guard::GuardOptions {
        data: args.data.clone().unwrap_or_default(),
        explain: args.explain,
        models,
        cache: args.cache.clone(),
        weights,
        gate,
        questions: args.questions.clone(),
        verdicts: args.verdicts.clone(),
        dense: args.dense.clone(),
        examples: args.examples.clone(),
        sample: args.sample,
        only: args.only.clone(),
    })?;
    Ok(out.report(&report, &report.to_string())?)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::Args;

    #[test]
    fn only_names_of_rows_are_accepted() {
        let parse = |only: &str| Args::try_parse_from(["ergo-bench", "guard", "--data", ".", "--only", only]);
        assert!(parse("rules,default,crowd").is_ok());
        let error = parse("rulez").unwrap_err().to_string();
        assert!(error.contains("rulez") && error.contains("lexical"), "{error}");
    }
}
