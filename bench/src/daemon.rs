//! A daemon for a measurement: a process of its own in a private home.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use ed25519_dalek::SigningKey;

use super::error::BenchError;
use ergo::{
    client::{Client, Connect},
    config::{Paths, write_private},
};

/// The longest that a daemon may take to start, or to end.
const START_OR_STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// The time between two checks whether a daemon has started or ended. Starts take about 15 ms and are not measured more
/// precisely than this.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Builds the runtime in which a measurement calls its daemons.
pub fn runtime() -> Result<tokio::runtime::Runtime, BenchError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(BenchError::io("the runtime"))
}

/// Creates a home with the key of its device and its settings.
pub fn make_home(folder: impl Into<PathBuf>, key: &SigningKey, settings: &str) -> Result<Paths, BenchError> {
    let paths = Paths::under(folder);
    paths.make()?;
    write_private(&paths.device_key(), format!("{}\n", hex::encode(key.to_bytes())).as_bytes())?;
    write_private(&paths.config, settings.as_bytes())?;
    Ok(paths)
}

/// A home and its daemon, which is killed when this value is dropped.
pub struct BenchDaemon {
    /// The paths of the home.
    pub(super) paths: Paths,
    pub client: Client,
    program: PathBuf,
    /// The process while it runs.
    child: Option<Child>,
}

impl BenchDaemon {
    /// Returns the daemon of a home, which is not started yet.
    pub fn new(paths: Paths, program: PathBuf) -> Result<Self, BenchError> {
        let client = Connect { spawn: false, ..Connect::private(paths.clone()) }.lazy()?;
        Ok(Self { paths, client, program, child: None })
    }

    /// Returns a command that runs the program in this home, without the `ERGO_*` variables of the environment.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ERGO_")) {
            command.env_remove(name);
        }
        command.args(args).env("ERGO_HOME", &self.paths.data).current_dir(&self.paths.data);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Returns the error of a program that could not be started.
    pub(super) fn spawn_error(&self, error: std::io::Error) -> BenchError {
        BenchError::io(&self.program)(error)
    }

    /// Starts the daemon and waits until it answers.
    pub async fn start(&mut self) -> Result<(), BenchError> {
        let child = self.command(&["daemon", "run"]).spawn().map_err(|error| self.spawn_error(error))?;
        let (pid, begin) = (child.id(), Instant::now());
        self.child = Some(child);
        while !self.client.health_within(START_OR_STOP_TIMEOUT).await.is_ok_and(|health| health.pid == pid) {
            let ended = self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || begin.elapsed() > START_OR_STOP_TIMEOUT {
                return Err(self.late("answers"));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Asks the daemon to shut down and waits until it has ended.
    pub async fn stop(&mut self) -> Result<(), BenchError> {
        let Some(child) = &mut self.child else { return Ok(()) };
        self.client.shutdown().await?;
        let begin = Instant::now();
        while matches!(child.try_wait(), Ok(None)) {
            if begin.elapsed() > START_OR_STOP_TIMEOUT {
                return Err(self.late("ends"));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        self.child = None;
        Ok(())
    }

    /// Returns the process id of the daemon; `None` if it does not run.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Returns the last lines of the daemon's log.
    pub(super) fn log(&self) -> String {
        let log = fs::read_to_string(self.paths.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(12)..).unwrap_or_default().join("\n")
    }

    fn late(&self, what: &str) -> BenchError {
        BenchError::Late { what: format!("the daemon in {} {what}", self.paths.data.display()), log: self.log() }
    }
}

impl Drop for BenchDaemon {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended already.
            drop(child.kill());
            drop(child.wait());
        }
    }
}
