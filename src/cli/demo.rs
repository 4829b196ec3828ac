//! `ergo demo`: imports ergo's own decisions and rules into a temporary store, writes claims of which some contradict them, and
//! opens the review of the refused ones.
//!
//! Every step runs a command line of ergo in this process and shows its real output.

mod assets;
mod home;
mod private_daemon;
mod writes;

use std::{
    fs,
    time::{Duration, Instant},
};

#[cfg(feature = "testing")]
use super::app_capture::CaptureArgs;
use super::{
    CliError, Context, Exit,
    walkthrough::{heading, run_command, say, step},
};
use crate::{
    api::{ConflictsQuery, StoryQuery},
    config::{Config, DaemonSettings, Paths},
    domain::text::sanitize_line,
};
use assets::{Asset, NOTES, RECORDS, RULES};
use home::Home;
use private_daemon::PrivateDaemon;
use writes::WRITES;

/// How long the demonstration waits for the story; a debug build on a busy machine needs that long.
const STORY_TIMEOUT: Duration = Duration::from_secs(30);

/// The interval between two checks whether the story is complete.
const POLL: Duration = Duration::from_millis(100);

/// The scope of everything in the demonstration.
const SCOPE: &str = "demo/ergo";

/// Try ergo on its own decisions, in a temporary store: contradict some, and review the refused claims.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Review line by line instead of opening the app. The default without a terminal.
    #[arg(long)]
    plain: bool,
    #[cfg(feature = "testing")]
    #[command(flatten)]
    capture: CaptureArgs,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    #[cfg(feature = "testing")]
    let capture = args.capture.absolute()?;
    let home = Home::make()?;
    // The files have the same relative paths as in ergo's repository, so that sources look the same.
    let work = home.path().join("ergo");
    for asset in RECORDS.iter().chain([&RULES, &NOTES]) {
        write_asset(&work, asset)?;
    }
    std::env::set_current_dir(&work).map_err(|error| CliError::file("enter", &work, &error))?;

    let paths = Paths::under(home.path());
    let config = Config { daemon: DaemonSettings { tcp: false, ..DaemonSettings::default() }, ..Config::default() };
    let mut globals = cx.globals.clone();
    (globals.scope, globals.org, globals.project) = (Some(SCOPE.to_owned()), None, None);
    (globals.no_spawn, globals.quiet) = (true, false);
    *cx = Context::private(globals, paths.clone(), config.clone());

    let place = sanitize_line(&home.path().display().to_string());
    let daemon = PrivateDaemon::start(home, paths, config)?;
    say(
        cx,
        text!(
            "This demonstration uses the temporary folder {} and removes it at the end. Your own store is not touched.",
            place
        ),
    );
    write_claims(cx)?;
    let first = first_card(cx)?;
    heading(cx, "A person settles the conflicts:");
    #[cfg(feature = "testing")]
    if let Some(card) = first.as_deref().filter(|_| capture.is_set()) {
        let command = capture.demo_command(card);
        return run_command(cx, &command.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let exit = match &first {
        Some(card) if cx.ui.terminal && !args.plain && !cx.ui.json => {
            daemon.during_app(|| run_command(cx, &["tui", "--conflict", card]))?
        }
        _ => run_command(cx, &["tui", "--plain"])?,
    };
    say(cx, "\nThis was the demonstration. In your own repository: ergo remember '…' --reason '…'");
    Ok(exit)
}

fn write_asset(work: &std::path::Path, asset: &Asset) -> Result<(), CliError> {
    let path = work.join(asset.path);
    let folder = path.parent().unwrap_or(work);
    fs::create_dir_all(folder).map_err(|error| CliError::file("create", folder, &error))?;
    fs::write(&path, asset.text).map_err(|error| CliError::file("write", &path, &error))
}

/// Imports the records and rules, then writes claims that do and do not contradict them.
fn write_claims(cx: &mut Context) -> Result<(), CliError> {
    heading(cx, "First ergo imports its developers' decisions and working rules:");
    step(cx, &["import", "adr", "docs/adr", "--yes"])?;
    step(cx, &["import", "rules", RULES.path])?;
    heading(cx, "Three writes contradict them. The guard refuses each, says why, and opens a card:");
    for write in WRITES.iter().filter(|write| write.refused) {
        step(cx, &["remember", write.statement, "--reason", write.reason])?;
    }
    heading(cx, "Two writes look similar and contradict nothing:");
    for write in WRITES.iter().filter(|write| !write.refused) {
        step(cx, &["remember", write.statement, "--reason", write.reason])?;
    }
    heading(cx, "Ask why. The answer includes the reason and the history:");
    step(cx, &["why", "what performs every act?"])?;
    heading(
        cx,
        "Notes of another tool, with their dates. Read in order, they do not say what holds today, so ergo asks:",
    );
    step(cx, &["import", "memory", NOTES.path])?;
    finish_story(cx)?;
    step(cx, &["story", "--marks"])
}

/// Waits until the daemon has read the imported claims in the background, which takes seconds.
fn finish_story(cx: &mut Context) -> Result<(), CliError> {
    let begun = Instant::now();
    cx.block_on(async |cx| {
        let (client, scope) = cx.reader().await?;
        let query = StoryQuery { org_id: scope.org_id, project: scope.project, ..StoryQuery::default() };
        while begun.elapsed() < STORY_TIMEOUT && client.story(&query).await?.waiting > 0 {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    })
}

/// Returns the id of the card of the last refused write.
fn first_card(cx: &mut Context) -> Result<Option<String>, CliError> {
    cx.block_on(async |cx| {
        let kind = Some("refused".to_owned());
        let query = ConflictsQuery { limit: Some(1), kind, ..ConflictsQuery::default() };
        let page = cx.client().await?.conflicts(&query).await?;
        Ok(page.items.first().map(|card| card.id.to_hex()))
    })
}
