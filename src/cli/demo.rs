//! `ergo demo`: a store in a private place made of ergo's own decisions and rules, writes that contradict them and writes
//! that do not, and the review of what was refused.
//!
//! Every step is a command line of ergo, run here as a person would run it: what is shown is what ergo says.

mod assets;
mod home;
mod stage;
mod writes;

use std::{fs, path::PathBuf};

use clap::Parser;

use super::{
    Cli, CliError, Context, Exit, dispatch,
    show::text::quote,
    ui::{SafeText, Style},
};
use crate::{
    api::ConflictsQuery,
    config::{Config, DaemonSettings, Paths},
    domain::text::sanitize_line,
};
use assets::{Asset, RECORDS, RULES};
use home::Home;
use stage::Stage;
use writes::WRITES;

/// The scope of everything in the demonstration.
const SCOPE: &str = "demo/ergo";

/// The keys of the review that is recorded: one card read and settled, the others settled by one act after a preview, all of that
/// undone and done again, then the why of a claim.
const REVIEW: &str = "wait wait wait b wait enter wait wait * wait b wait enter wait wait y wait wait u wait wait 2 wait j j w wait wait wait";

/// Try it out: remember ergo's own decisions in a private place, contradict them, and review what was refused.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The review as lines instead of the app. Also where there is no terminal.
    #[arg(long)]
    plain: bool,
    /// Write a picture of the app on the first card to this SVG file, and end.
    #[arg(long, value_name = "FILE", hide = true)]
    capture: Option<PathBuf>,
    /// Write a recording of a review to this file (an asciicast), and end.
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "capture")]
    record: Option<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let (capture, record) = (whole(args.capture)?, whole(args.record)?);
    let home = Home::make()?;
    // Records and rules lie there as in a repository, so that sources read as they do in one.
    let work = home.path().join("ergo");
    for asset in RECORDS.iter().chain([&RULES]) {
        place(&work, asset)?;
    }
    std::env::set_current_dir(&work).map_err(|error| CliError::file("enter", &work, &error))?;

    let paths = Paths::under(home.path());
    let config = Config { daemon: DaemonSettings { tcp: false, ..DaemonSettings::default() }, ..Config::default() };
    let mut globals = cx.globals.clone();
    (globals.scope, globals.org, globals.project) = (Some(SCOPE.to_owned()), None, None);
    (globals.no_spawn, globals.quiet) = (true, false);
    *cx = Context::private(globals, paths.clone(), config.clone());

    let place = sanitize_line(&home.path().display().to_string());
    let stage = Stage::set(home, paths, config)?;
    say(cx, text!("A demonstration in {}, which is removed at the end. Your own memory is not touched.", place));
    tell(cx)?;
    let first = first_card(cx)?;
    head(cx, "A person settles what was refused:");
    let exit = match (&first, capture, record) {
        (Some(card), Some(file), _) => one(cx, &["tui", "--conflict", card, "--capture", &file.to_string_lossy()])?,
        (Some(card), None, Some(file)) => {
            let file = file.to_string_lossy();
            one(cx, &["tui", "--conflict", card, "--record", &file, "--size", "110x34", "--keys", REVIEW])?
        }
        (Some(card), None, None) if cx.ui.terminal && !args.plain && !cx.ui.json => {
            stage.during_app(|| one(cx, &["tui", "--conflict", card]))?
        }
        _ => one(cx, &["tui", "--plain"])?,
    };
    say(cx, "\nThat was the demonstration. In a repository of your own: ergo remember '…' --reason '…'");
    Ok(exit)
}

/// A path as it is meant here, wherever the demonstration goes.
fn whole(path: Option<PathBuf>) -> Result<Option<PathBuf>, CliError> {
    let path = path.map(std::path::absolute).transpose();
    path.map_err(|error| CliError::usage(format_args!("cannot tell the working directory: {error}")))
}

fn place(work: &std::path::Path, asset: &Asset) -> Result<(), CliError> {
    let path = work.join(asset.path);
    let folder = path.parent().unwrap_or(work);
    fs::create_dir_all(folder).map_err(|error| CliError::file("make", folder, &error))?;
    fs::write(&path, asset.text).map_err(|error| CliError::file("write", &path, &error))
}

/// Remembers, and then writes what does and what does not contradict.
fn tell(cx: &mut Context) -> Result<(), CliError> {
    head(cx, "First it remembers what ergo's developers decided, and the rules by which they work:");
    step(cx, &["import", "adr", "docs/adr", "--yes"])?;
    step(cx, &["import", "rules", RULES.path])?;
    head(cx, "Three writes contradict that. Each is refused, told why, and kept on a card:");
    for write in WRITES.iter().filter(|write| write.refused) {
        step(cx, &["remember", write.statement, "--reason", write.reason])?;
    }
    head(cx, "Two writes sound much the same and contradict nothing:");
    for write in WRITES.iter().filter(|write| !write.refused) {
        step(cx, &["remember", write.statement, "--reason", write.reason])?;
    }
    head(cx, "Why is something as it is? The answer with its reason, and what it replaced:");
    step(cx, &["why", "what performs every act?"])
}

/// The card at the top of the inbox.
fn first_card(cx: &mut Context) -> Result<Option<String>, CliError> {
    cx.block_on(async |cx| {
        let query = ConflictsQuery { limit: Some(1), ..ConflictsQuery::default() };
        let page = cx.client().await?.conflicts(&query).await?;
        Ok(page.items.first().map(|card| card.id.to_hex()))
    })
}

/// Runs a command line and shows it before its answer. A refusal is part of the story.
fn step(cx: &mut Context, args: &[&str]) -> Result<(), CliError> {
    let line: Vec<_> = args.iter().map(|arg| quote(arg)).collect();
    let line = cx.ui.paint(Style::Code, format_args!("$ ergo {}", line.join(" ")));
    say(cx, text!("\n{}", line));
    one(cx, args)?;
    // What was said so far is seen before the next step begins.
    cx.ui.prompt("");
    Ok(())
}

fn one(cx: &mut Context, args: &[&str]) -> Result<Exit, CliError> {
    let cli = Cli::try_parse_from(["ergo"].iter().chain(args))
        .map_err(|error| CliError::internal(format_args!("the demonstration's own command is wrong: {error}")))?;
    dispatch(cli.command, cx)
}

fn head(cx: &mut Context, text: &str) {
    let text = cx.ui.paint(Style::Strong, text);
    say(cx, text!("\n{}", text));
}

/// Words between the answers; with `--json` there are only answers.
fn say(cx: &mut Context, text: impl Into<SafeText>) {
    if !cx.ui.json {
        cx.ui.line(text);
    }
}
