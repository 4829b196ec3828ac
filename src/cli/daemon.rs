//! `ergo daemon`: starts, stops, inspects, runs and installs the daemon.

use std::{
    io::IsTerminal,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    CliError, Context, Exit,
    ui::{SafeText, Style},
};
use crate::{
    client::{
        Connect,
        launch::{DaemonStatus, Stopped},
    },
    config::{Config, DaemonRecord, Paths},
    daemon::{self, DaemonError, install},
    mcp::{self, DaemonLink},
};

/// Start, stop and inspect the daemon.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: DaemonCommand,
}

#[derive(Debug, clap::Subcommand)]
enum DaemonCommand {
    /// Start the daemon if it is not running, and wait until it answers.
    Start {
        /// Create an empty store if this device's store is lost.
        #[arg(long)]
        new_store: bool,
    },
    /// Stop the daemon after it has finished the requests in progress.
    Stop,
    /// Show whether the daemon runs, its version and its addresses. Exit code 3 if it does not run.
    Status,
    /// Run the daemon in the foreground. The other commands start it this way in the background. Exit code 5 if the program was replaced meanwhile: a service manager then starts the new one.
    Run,
    /// Install a systemd or launchd unit that starts the daemon at login.
    Install {
        /// Show the unit without writing or removing it.
        #[arg(long)]
        dry_run: bool,
        /// Remove the unit that was installed this way.
        #[arg(long)]
        remove: bool,
    },
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let paths = Paths::find()?;
    match args.command {
        DaemonCommand::Run => run_daemon(&paths, cx),
        DaemonCommand::Install { dry_run, remove: false } => install(&paths, dry_run, cx),
        DaemonCommand::Install { dry_run, remove: true } => uninstall(&paths, dry_run, cx),
        DaemonCommand::Start { new_store } => {
            if new_store {
                daemon::begin_anew(&paths).map_err(daemon_error)?;
            }
            cx.block_on(async |cx| start(paths, cx).await)
        }
        DaemonCommand::Stop => cx.block_on(async |cx| stop(paths, cx).await),
        DaemonCommand::Status => cx.block_on(async |cx| status(paths, cx).await),
    }
}

/// Connects to the daemon of this machine, whatever `ERGO_API_URL` says.
fn local(paths: Paths) -> Connect {
    Connect::private(paths)
}

async fn start(paths: Paths, cx: &mut Context) -> Result<Exit, CliError> {
    // An error in the settings is reported here, not only in the log.
    Config::load(&paths)?;
    let started = local(paths).start().await?;
    if cx.ui.json {
        let result = if started.fresh { "started" } else { "running" };
        cx.ui.value(&json!({"result": result, "place": started.client.place(), "health": started.health}));
    } else {
        let what = if started.fresh { "Started" } else { "Already running:" };
        let (pid, place) = (started.health.pid, started.client.place());
        cx.ui.line(text!("{} ergo {} (process {}) on {}", what, started.health.version, pid, place));
    }
    if let Some(skew) = started.client.skew() {
        cx.ui.note(text!("{}", skew));
    }
    Ok(Exit::Ok)
}

async fn stop(paths: Paths, cx: &mut Context) -> Result<Exit, CliError> {
    let stopped = local(paths).stop().await?;
    match (&stopped, cx.ui.json) {
        (Stopped::Ended { pid }, true) => cx.ui.value(&json!({"result": "stopped", "pid": pid})),
        (Stopped::NotRunning, true) => cx.ui.value(&json!({"result": "not_running"})),
        (Stopped::Ended { pid }, false) => cx.ui.line(text!("Stopped the daemon (process {})", pid)),
        (Stopped::NotRunning, false) => cx.ui.line("The daemon was not running"),
    }
    Ok(Exit::Ok)
}

async fn status(paths: Paths, cx: &mut Context) -> Result<Exit, CliError> {
    let status = local(paths.clone()).status().await;
    if cx.ui.json {
        cx.ui.value(&match &status {
            DaemonStatus::Running { health, record, skew } => {
                json!({"result": "running", "health": health, "record": record, "skew": skew})
            }
            DaemonStatus::Silent { owner, error } => {
                json!({"result": "silent", "owner": owner, "message": error.to_string()})
            }
            DaemonStatus::Stopped => json!({"result": "stopped", "store": paths.store()}),
        });
    } else {
        show(&status, &paths, cx);
    }
    Ok(if matches!(status, DaemonStatus::Running { .. }) { Exit::Ok } else { Exit::Unreachable })
}

fn show(status: &DaemonStatus, paths: &Paths, cx: &mut Context) {
    match status {
        DaemonStatus::Running { health, record, skew } => {
            let word = cx.ui.paint(Style::Good, "running");
            cx.ui.line(text!("daemon   {}, ergo {}, process {}", word, health.version, health.pid));
            cx.ui.line(text!("up       {}", duration(health.uptime_s)));
            if let Some(record) = record {
                show_places(record, paths, cx);
            }
            if let Some(skew) = skew {
                let skew = cx.ui.paint(Style::Warn, skew);
                cx.ui.line(skew);
            }
        }
        DaemonStatus::Silent { owner, error } => {
            let word = cx.ui.paint(Style::Bad, "not responding");
            cx.ui.line(text!("daemon   {}: {} holds the store; {}", word, owner, error));
            cx.ui.line(text!("log      {}", paths.log().display()));
            cx.ui.line(if owner.is_daemon() {
                "`ergo daemon stop` ends it; `ergo daemon start` then starts a new one."
            } else {
                "The daemon can start when it has ended."
            });
        }
        DaemonStatus::Stopped => {
            let word = cx.ui.paint(Style::Strong, "not running");
            cx.ui.line(text!("daemon   {}; it starts with the next command, or with `ergo daemon start`", word));
            cx.ui.line(text!("store    {}", paths.store().display()));
        }
    }
}

fn show_places(record: &DaemonRecord, paths: &Paths, cx: &mut Context) {
    cx.ui.line(text!("store    {}", record.store.display()));
    cx.ui.line(text!("socket   {}", record.socket.display()));
    match &record.tcp {
        Some(address) => cx.ui.line(text!("tcp      {}, with the token", address)),
        None => match Config::load(paths) {
            Ok(config) if config.daemon.tcp => {
                cx.ui.line("tcp      not available; `ergo doctor` says why");
            }
            _ => cx.ui.line("tcp      off"),
        },
    }
    cx.ui.line(text!("log      {}", record.log.display()));
}

/// Runs the daemon in this process. On a terminal, first prints where it listens.
fn run_daemon(paths: &Paths, cx: &mut Context) -> Result<Exit, CliError> {
    let config = Config::load(paths)?;
    let is_terminal = std::io::stdout().is_terminal();
    let program = ProgramFile::of_this_process();
    let more = mcp::router(DaemonLink::new(Connect { spawn: false, ..local(paths.clone()) }));
    daemon::run(paths, &config, more, |record, problems| {
        if is_terminal {
            cx.ui.note(text!("ergo {} serves {}", record.version, record.store.display()));
            let tcp = record.tcp.as_deref().map(|address| format!(" and http://{address}")).unwrap_or_default();
            cx.ui.note(text!("on unix:{}{}; press Ctrl-C to stop it", record.socket.display(), tcp));
            for problem in problems {
                cx.ui.note(text!("Warning: {}", problem));
            }
        }
    })
    .map_err(daemon_error)?;
    Ok(if program.is_some_and(|program| program.was_replaced()) { Exit::Stale } else { Exit::Ok })
}

/// The file that this process was started from.
struct ProgramFile {
    path: PathBuf,
    /// The device and the inode.
    id: (u64, u64),
}

impl ProgramFile {
    /// Returns the file as it is now, so this must be called before the file can be replaced.
    fn of_this_process() -> Option<Self> {
        let path = std::env::current_exe().ok()?;
        Some(Self { id: file_id(&path)?, path })
    }

    /// Returns whether the path now leads to another file, as after an upgrade. A removed program was not replaced.
    fn was_replaced(&self) -> bool {
        file_id(&self.path).is_some_and(|id| id != self.id)
    }
}

fn file_id(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

fn install(paths: &Paths, dry_run: bool, cx: &mut Context) -> Result<Exit, CliError> {
    let plan = install::plan(install::ServiceSystem::here(), paths).map_err(daemon_error)?;
    if !dry_run {
        install::write(&plan)?;
    }
    if cx.ui.json {
        cx.ui.value(&json!({
            "result": if dry_run { "dry_run" } else { "written" },
            "path": plan.path, "text": plan.text, "next": plan.after_writing,
        }));
        return Ok(Exit::Ok);
    }
    let what = if dry_run { "Would write" } else { "Wrote" };
    cx.ui.line(text!("{} {}", what, plan.path.display()));
    if dry_run {
        cx.ui.line("");
        cx.ui.line(SafeText::lines(plan.text.trim_end()));
        cx.ui.line("");
    }
    show_next(&plan.after_writing, cx);
    Ok(Exit::Ok)
}

fn uninstall(paths: &Paths, dry_run: bool, cx: &mut Context) -> Result<Exit, CliError> {
    let plan = install::plan(install::ServiceSystem::here(), paths).map_err(daemon_error)?;
    let existed = if dry_run { plan.path.exists() } else { install::remove(&plan)? };
    let (result, what) = match (existed, dry_run) {
        (false, _) => ("not_installed", "Not installed:"),
        (true, true) => ("dry_run", "Would remove"),
        (true, false) => ("removed", "Removed"),
    };
    let next: &[String] = if existed { &plan.after_removing } else { &[] };
    if cx.ui.json {
        cx.ui.value(&json!({"result": result, "path": plan.path, "next": next}));
        return Ok(Exit::Ok);
    }
    cx.ui.line(text!("{} {}", what, plan.path.display()));
    if existed {
        show_next(next, cx);
    }
    Ok(Exit::Ok)
}

fn show_next(commands: &[String], cx: &mut Context) {
    cx.ui.line("Then run:");
    for command in commands {
        let command = cx.ui.paint(Style::Code, command);
        cx.ui.line(text!("  {}", command));
    }
}

/// Formats a duration in its two largest units.
fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

fn daemon_error(error: DaemonError) -> CliError {
    match error {
        DaemonError::Config(error) => error.into(),
        DaemonError::Engine(error) => error.into(),
        error @ DaemonError::System { .. } => CliError::internal(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units() {
        let shown: Vec<_> = [5, 65, 3_700, 90_000].into_iter().map(duration).collect();
        assert_eq!(shown, ["5 s", "1 min 5 s", "1 h 1 min", "1 d 1 h"]);
    }
}
