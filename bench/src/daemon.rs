//! A daemon for a measurement: a process of its own in a private home.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::store::BenchError;
use ergo::{
    client::{Client, Connect},
    config::Paths,
};

/// How long a daemon may take to start, or to end.
const START: Duration = Duration::from_secs(30);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(10);

/// A daemon, running or not. It ends with this.
pub(super) struct Daemon {
    /// Where its home is.
    pub(super) paths: Paths,
    pub(super) client: Client,
    program: PathBuf,
    child: Option<Child>,
}

impl Daemon {
    /// The daemon of a home; it does not run yet.
    pub(super) fn new(paths: Paths, program: PathBuf) -> Result<Self, BenchError> {
        let client = Connect { spawn: false, ..Connect::private(paths.clone()) }.lazy()?;
        Ok(Self { paths, client, program, child: None })
    }

    /// The program in this home, whatever the environment says.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ERGO_")) {
            command.env_remove(name);
        }
        command.args(args).env("ERGO_HOME", &self.paths.data).current_dir(&self.paths.data);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// A failure to start the program.
    pub(super) fn not_run(&self, error: std::io::Error) -> BenchError {
        BenchError::Io { path: self.program.clone(), error }
    }

    /// Starts it and waits until it answers.
    pub(super) async fn start(&mut self) -> Result<(), BenchError> {
        let child = self.command(&["daemon", "run"]).spawn().map_err(|error| self.not_run(error))?;
        let (pid, begin) = (child.id(), Instant::now());
        self.child = Some(child);
        while !self.client.health_within(START).await.is_ok_and(|health| health.pid == pid) {
            let ended = self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || begin.elapsed() > START {
                return Err(self.late("answers"));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Ends it in order.
    pub(super) async fn stop(&mut self) -> Result<(), BenchError> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        self.client.shutdown().await?;
        let begin = Instant::now();
        while matches!(child.try_wait(), Ok(None)) {
            if begin.elapsed() > START {
                self.child = Some(child);
                return Err(self.late("ends"));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Its process, while it runs.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The end of its log.
    pub(super) fn log(&self) -> String {
        let log = fs::read_to_string(self.paths.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(12)..).unwrap_or_default().join("\n")
    }

    fn late(&self, what: &str) -> BenchError {
        BenchError::Late { what: format!("the daemon in {} {what}", self.paths.data.display()), log: self.log() }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Gone already, perhaps.
            drop(child.kill());
            drop(child.wait());
        }
    }
}
