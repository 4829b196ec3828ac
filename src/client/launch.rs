//! Finds, starts and stops the daemon.
//!
//! Every client follows the same rule: `ERGO_API_URL` if it is set, else the socket that the running daemon has
//! recorded, else the default socket path. A process id alone proves nothing: only an answer does, and the store's lock
//! names the owner.

use std::{
    fs,
    io::{Read, Seek, SeekFrom},
    os::unix::{
        fs::{MetadataExt, OpenOptionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{net::UnixStream, time::sleep};

use super::{
    Api, Client, ClientError, DaemonAddress, HttpApi,
    credential::{Credential, OwnDaemon},
    http::no_listener,
};
use crate::{
    api::{ApiError, Health},
    config::{ConfigError, DaemonRecord, Owner, Paths, StoreLock, disk},
};

/// How long a daemon may take to become ready, or to end.
pub const START_DEADLINE: Duration = Duration::from_secs(10);

/// The interval at which a daemon that starts or ends is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(15);

/// The exit code of `ergo daemon run` if another process owns the store.
const EXIT_OWNED: i32 = 3;

/// How many lines of the log an error shows.
const TAIL_LINES: usize = 12;

/// How to reach a daemon.
#[derive(Clone, Debug)]
pub struct Connect {
    /// The paths of this machine's files.
    pub paths: Paths,
    /// Whether to start a daemon if none runs.
    pub spawn: bool,
    /// Whether `ERGO_API_URL` and `ERGO_API_TOKEN` count. A demonstration in a private home ignores them.
    pub environment: bool,
    /// The program to start; by default this one.
    pub program: Option<PathBuf>,
}

impl Connect {
    /// Connects to the daemon that the environment names, else to the local one, which is started if it does not run.
    pub fn new(paths: Paths) -> Self {
        Self { paths, spawn: true, environment: true, program: None }
    }

    /// Connects to the daemon of a private home and ignores the environment.
    pub fn private(paths: Paths) -> Self {
        Self { environment: false, ..Self::new(paths) }
    }

    /// Returns a client of a daemon that accepts connections.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] if none runs and none may be started; [`ClientError::NotStarted`] with the log's
    /// last lines if starting one failed.
    pub async fn client(&self) -> Result<Client, ClientError> {
        if let Some((api, _)) = self.named()? {
            return Ok(Client::new(Arc::new(api)));
        }
        match self.reach().await {
            Ok(client) => Ok(client),
            Err(_) if self.spawn => self.start().await.map(|started| started.client),
            Err(error) => Err(error),
        }
    }

    /// Returns a client without connecting to anything.
    ///
    /// # Errors
    /// If `ERGO_API_URL` is invalid, or needs a token that is not set.
    pub fn lazy(&self) -> Result<Client, ClientError> {
        let api = self.named()?.map_or_else(|| HttpApi::unix(self.socket()), |(api, _)| api);
        Ok(Client::new(Arc::new(api)))
    }

    /// Starts the daemon unless it is running, and waits until it answers.
    ///
    /// # Errors
    /// [`ClientError::NotStarted`] with the log's last lines.
    pub async fn start(&self) -> Result<Started, ClientError> {
        if let Ok((client, health)) = self.health().await {
            return Ok(Started { client, health, fresh: false });
        }
        let begin = Instant::now();
        self.paths.make()?;
        let log_start = fs::metadata(self.paths.log()).map_or(0, |meta| meta.len());
        let failed = |cause: String| ClientError::NotStarted {
            cause: self.with_full_disk(cause),
            log: self.paths.log(),
            tail: tail(&self.paths.log(), log_start),
        };
        let mut child: Option<Child> = None;
        let mut again = begin;
        loop {
            if let Ok((client, health)) = self.health().await {
                return Ok(Started { client, health, fresh: true });
            }
            let owner = StoreLock::owner(&self.paths);
            let ended = match &mut child {
                Some(child) => child.try_wait().ok().flatten(),
                None => None,
            };
            if let Some(status) = ended {
                child = None;
                // Another client was faster, or the previous daemon is still ending: it will answer, or release the
                // store.
                if status.code() != Some(EXIT_OWNED) {
                    return Err(failed(format!("it ended with {status}")));
                }
                again = Instant::now() + Duration::from_millis(100);
            }
            if child.is_none() && owner.is_none() && Instant::now() >= again {
                child = Some(self.spawn_daemon().map_err(|e| failed(e.to_string()))?);
            }
            if begin.elapsed() > START_DEADLINE {
                let seconds = START_DEADLINE.as_secs();
                let cause = match owner {
                    Some(owner) => {
                        format!("after {seconds} s the store is still held by {owner}, which does not answer")
                    }
                    None => format!("it was not ready after {seconds} s"),
                };
                return Err(failed(cause));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Ends the daemon and waits until it has released the store.
    ///
    /// # Errors
    /// If it does not end in time; the error names its process id.
    pub async fn stop(&self) -> Result<Stopped, ClientError> {
        let begin = Instant::now();
        let asked = match self.reach().await {
            Ok(client) => client.shutdown().await.map(|stopping| stopping.pid),
            Err(error) => Err(error),
        };
        let Some(owner) = StoreLock::owner(&self.paths) else {
            return Ok(asked.map_or(Stopped::NotRunning, |pid| Stopped::Ended { pid }));
        };
        // An owner whose process id is unknown can only be asked to end.
        if !owner.is_daemon() || (owner.pid == 0 && asked.is_err()) {
            return Err(ConfigError::Owned { store: self.paths.store(), owner }.into());
        }
        if asked.is_err() {
            terminate(&owner);
        }
        let pid = asked.as_ref().copied().unwrap_or(owner.pid);
        loop {
            match StoreLock::owner(&self.paths) {
                Some(still) if still.pid == owner.pid => {}
                _ => return Ok(Stopped::Ended { pid }),
            }
            if begin.elapsed() > START_DEADLINE + Duration::from_secs(5) {
                let message = format!("{owner} did not end within {} s", begin.elapsed().as_secs());
                return Err(ClientError::Api(
                    ApiError::internal(message).hint(format!("`kill -9 {pid}` ends it; nothing acknowledged is lost")),
                ));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns what runs, without starting anything.
    pub async fn status(&self) -> DaemonStatus {
        let record = DaemonRecord::of(&self.paths);
        match self.health().await {
            Ok((client, health)) => DaemonStatus::Running { health, record, skew: client.skew() },
            Err(error) => match StoreLock::owner(&self.paths) {
                Some(owner) => DaemonStatus::Silent { owner, error },
                None => DaemonStatus::Stopped,
            },
        }
    }

    /// Returns the address in `ERGO_API_URL`, if it is set and counts.
    ///
    /// # Errors
    /// If the address is invalid or may not be used, or if it needs a token that is not set.
    pub fn elsewhere(&self) -> Result<Option<Elsewhere>, ClientError> {
        let found = self.named()?;
        Ok(found.map(|(api, own)| Elsewhere { place: api.place(), own }))
    }

    /// Returns the daemon that the environment names, and whether it is this home's.
    ///
    /// The token in this home's file goes only to this home's own daemon. Any other address gets `ERGO_API_TOKEN`, or
    /// nothing: whoever listens there must not learn the token that opens this store.
    fn named(&self) -> Result<Option<(HttpApi, bool)>, ClientError> {
        let set = |name: &str| std::env::var(name).ok().map(|v| v.trim().to_owned()).filter(|value| !value.is_empty());
        let Some(url) = set("ERGO_API_URL").filter(|_| self.environment) else { return Ok(None) };
        let refused =
            |why: String| ApiError::field("ERGO_API_URL", format!("the environment variable ERGO_API_URL: {why}"));
        let place = DaemonAddress::parse(&url).map_err(|why| ClientError::Api(refused(why)))?;
        let own = match &place {
            DaemonAddress::Tcp(authority) => OwnDaemon::at(&self.paths, authority),
            DaemonAddress::Unix(_) | DaemonAddress::Tls(_) => None,
        };
        let is_own = own.is_some() || place == DaemonAddress::Unix(self.socket());
        let api = match (set("ERGO_API_TOKEN"), own) {
            (Some(token), _) => HttpApi::new(place, Some(token)),
            (None, Some(own)) => HttpApi::with(place, Credential::Home(own)),
            // A socket asks for no token: its file permissions decide who may connect.
            (None, None) if matches!(place, DaemonAddress::Unix(_)) => HttpApi::new(place, None),
            (None, None) => {
                let why = format!("{place} is not the address of this home's daemon, and no token is set for it");
                return Err(ClientError::Api(refused(why).hint(
                    "set ERGO_API_TOKEN to that daemon's token, or unset ERGO_API_URL to use this home's daemon",
                )));
            }
        };
        Ok(Some((api, is_own)))
    }

    /// Returns the path of the daemon's socket: the recorded one, else the default.
    fn socket(&self) -> PathBuf {
        DaemonRecord::of(&self.paths).map_or_else(|| self.paths.socket.clone(), |record| record.socket)
    }

    /// Returns a client of a socket that accepts connections.
    async fn reach(&self) -> Result<Client, ClientError> {
        let socket = self.socket();
        let unreachable =
            |cause: String| ClientError::Unreachable { place: DaemonAddress::Unix(socket.clone()).to_string(), cause };
        // In a shared temporary directory, another user could listen on this path.
        match fs::symlink_metadata(&socket) {
            Ok(meta) if meta.uid() != rustix::process::getuid().as_raw() => {
                return Err(unreachable(format!("the socket belongs to user {}", meta.uid())));
            }
            Ok(_) => {}
            Err(error) => return Err(unreachable(no_listener(&error))),
        }
        match UnixStream::connect(&socket).await {
            Ok(_) => Ok(Client::new(Arc::new(HttpApi::unix(socket)))),
            Err(error) => Err(unreachable(no_listener(&error))),
        }
    }

    async fn health(&self) -> Result<(Client, Health), ClientError> {
        let client = self.reach().await?;
        let health = client.health_within(Duration::from_secs(2)).await?;
        Ok((client, health))
    }

    /// Adds that the disk is full, if it is: the daemon could not write that to its log.
    fn with_full_disk(&self, cause: String) -> String {
        match disk::free_bytes(&self.paths.data) {
            Some(free) if free < disk::FULL => {
                format!("the disk that holds {} is full, make room on it ({cause})", self.paths.data.display())
            }
            _ => cause,
        }
    }

    /// Starts `ergo daemon run` detached: another process group, no terminal, its output in the log.
    fn spawn_daemon(&self) -> std::io::Result<Child> {
        let program = match &self.program {
            Some(program) => program.clone(),
            None => this_program()?,
        };
        let log = fs::OpenOptions::new().append(true).create(true).mode(0o600).open(self.paths.log())?;
        let mut command = Command::new(program);
        command
            .args(["daemon", "run"])
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0);
        if let Some(home) = &self.paths.home {
            command.env("ERGO_HOME", home);
        }
        command.spawn()
    }
}

/// The daemon that the environment names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub place: String,
    /// Whether it is this home's own daemon.
    pub own: bool,
}

/// A daemon that answers.
#[derive(Debug)]
pub struct Started {
    pub client: Client,
    pub health: Health,
    /// Whether this call started it.
    pub fresh: bool,
}

/// The result of stopping a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It ended and released the store.
    Ended { pid: u32 },
    /// None ran.
    NotRunning,
}

/// What runs on this machine.
#[derive(Debug)]
pub enum DaemonStatus {
    /// A daemon answers.
    Running {
        health: Health,
        /// Its record of itself, if there is one.
        record: Option<DaemonRecord>,
        /// A sentence for the user, if its version is not this program's.
        skew: Option<String>,
    },
    /// A process owns the store and does not answer.
    Silent {
        owner: Owner,
        /// The error that its socket gave.
        error: ClientError,
    },
    /// Nothing runs.
    Stopped,
}

/// Returns the path of this program; if it was replaced while it runs, that of the replacement.
fn this_program() -> std::io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let replaced = path.to_str().and_then(|text| text.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(replaced.filter(|path| path.exists()).unwrap_or(path))
}

/// Asks the owner to end. A process that no longer exists counts as success.
fn terminate(owner: &Owner) {
    if let Some(pid) = i32::try_from(owner.pid).ok().and_then(rustix::process::Pid::from_raw) {
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

/// Returns the last lines of a log, from an offset on.
fn tail(log: &Path, from: u64) -> String {
    let mut text = Vec::new();
    let read = fs::File::open(log).and_then(|mut file| {
        let size = file.metadata()?.len();
        // A log that was rotated meanwhile starts again at 0.
        let from = if from > size { 0 } else { from };
        file.seek(SeekFrom::Start(from.max(size.saturating_sub(16 * 1024))))?;
        file.read_to_end(&mut text)
    });
    if read.is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().collect();
    // The message for the user, which comes last, is clearer than the log line before it.
    if let Some(start) = lines.iter().rposition(|line| line.starts_with("Error: ")) {
        return lines.get(start..).unwrap_or_default().join("\n");
    }
    lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_what_was_said_since() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        assert_eq!(tail(&log, 0), "");
        fs::write(&log, "old\nnew 1\nnew 2\n").unwrap();
        assert_eq!(tail(&log, 4), "new 1\nnew 2");
        assert_eq!(tail(&log, 400), "old\nnew 1\nnew 2", "after a rotation");
        fs::write(&log, "12:00 ERROR broken\nError: broken\nHint: mend it\n").unwrap();
        assert_eq!(tail(&log, 0), "Error: broken\nHint: mend it");
        fs::write(&log, "x\n".repeat(100)).unwrap();
        assert_eq!(tail(&log, 0).lines().count(), TAIL_LINES);
    }

    #[tokio::test]
    async fn without_leave_to_start_one_it_says_where_it_looked() {
        let dir = tempfile::tempdir().unwrap();
        let connect = Connect { spawn: false, ..Connect::private(Paths::under(dir.path())) };
        let error = connect.client().await.unwrap_err();
        assert!(error.to_string().contains("ergo.sock"), "{error}");
        assert!(error.hint().unwrap().contains("ergo daemon start"));
        assert!(matches!(connect.status().await, DaemonStatus::Stopped));
        assert_eq!(connect.stop().await, Ok(Stopped::NotRunning));
    }
}
