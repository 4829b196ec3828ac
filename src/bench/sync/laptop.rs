//! A home with its daemon: a process of its own, on loopback alone.

use std::{
    collections::BTreeMap,
    fs,
    net::UdpSocket,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use ed25519_dalek::SigningKey;

use super::{Options, proc};
use crate::{
    api::Caller,
    bench::store::BenchError,
    client::{Client, Connect},
    config::{Paths, record::write_private},
    domain::{DeviceId, Scope},
    engine::{Engine, EngineConfig},
};

/// How long a daemon may take to start, or to end.
const START: Duration = Duration::from_secs(30);

/// One side.
pub(super) struct Laptop {
    /// Who writes there.
    pub(super) who: &'static str,
    pub(super) key: SigningKey,
    pub(super) client: Client,
    paths: Paths,
    program: PathBuf,
    port: u16,
    daemon: Option<Child>,
    /// The most memory of each process so far, in bytes.
    peaks: BTreeMap<u32, u64>,
}

impl Laptop {
    /// The device that makes the team.
    pub(super) fn founder(options: &Options) -> Result<Self, BenchError> {
        Self::make(options, "ada", keys().1)
    }

    /// The device that joins. Its id is the smaller: such a device calls at once, the other one waits a second for that.
    pub(super) fn joiner(options: &Options) -> Result<Self, BenchError> {
        Self::make(options, "bob", keys().0)
    }

    /// A device that comes in later, and whose claims are taken back.
    pub(super) fn third(options: &Options) -> Result<Self, BenchError> {
        Self::make(options, "eve", SigningKey::from_bytes(&[43; 32]))
    }

    fn make(options: &Options, who: &'static str, key: SigningKey) -> Result<Self, BenchError> {
        let paths = Paths::under(options.folder.join(who));
        paths.make()?;
        write_private(&paths.device_key(), format!("{}\n", hex::encode(key.to_bytes())).as_bytes())?;
        let port = free_port().map_err(|error| BenchError::Io { path: paths.config.clone(), error })?;
        let config = format!(
            "who = \"{who}\"\n[daemon]\ntcp = false\n[models]\nembedder = \"none\"\nnli = \"none\"\nllm = \"none\"\n\
             [sync]\nloopback = true\nport = {port}\n"
        );
        write_private(&paths.config, config.as_bytes())?;
        let client = Connect { spawn: false, ..Connect::private(paths.clone()) }.lazy()?;
        let program = options.program.clone();
        Ok(Self { who, key, client, paths, program, port, daemon: None, peaks: BTreeMap::new() })
    }

    pub(super) fn device(&self) -> DeviceId {
        DeviceId(self.key.verifying_key().to_bytes())
    }

    pub(super) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(super) fn caller(&self) -> Caller {
        let Scope { org_id, project } = scope();
        Caller { org_id, project, who: self.who.to_owned(), ..Caller::default() }
    }

    /// The store itself, while no daemon has it. Writes do not wait for the disk.
    pub(super) fn engine(&self) -> Result<Engine, BenchError> {
        Ok(Engine::open(EngineConfig { durable: false, ..EngineConfig::new(self.paths.store(), self.key.clone()) })?)
    }

    /// Starts the daemon and waits until it answers.
    pub(super) async fn start(&mut self) -> Result<(), BenchError> {
        let mut command = Command::new(&self.program);
        command.args(["daemon", "run"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ERGO_")) {
            command.env_remove(name);
        }
        command.env("ERGO_HOME", &self.paths.data).current_dir(&self.paths.data);
        let child = command.spawn().map_err(|error| BenchError::Io { path: self.program.clone(), error })?;
        let (pid, begin) = (child.id(), Instant::now());
        self.daemon = Some(child);
        while !self.client.health_within(START).await.is_ok_and(|health| health.pid == pid) {
            let ended = self.daemon.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || begin.elapsed() > START {
                return Err(BenchError::Late { what: format!("the daemon of {} answers", self.who), log: self.log() });
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Ends the daemon in order.
    pub(super) async fn stop(&mut self) -> Result<(), BenchError> {
        let Some(mut child) = self.daemon.take() else { return Ok(()) };
        self.client.shutdown().await?;
        let begin = Instant::now();
        while matches!(child.try_wait(), Ok(None)) {
            if begin.elapsed() > START {
                self.daemon = Some(child);
                return Err(BenchError::Late { what: format!("the daemon of {} ends", self.who), log: self.log() });
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// The daemon and the processes that belong to it.
    pub(super) fn pids(&self) -> Vec<u32> {
        let Some(daemon) = &self.daemon else { return Vec::new() };
        [vec![daemon.id()], proc::children(daemon.id())].concat()
    }

    /// Notes how much memory the processes have had. A worker may end before the end: look often.
    pub(super) fn look(&mut self) {
        for pid in self.pids() {
            let peak = self.peaks.entry(pid).or_default();
            *peak = (*peak).max(proc::peak(pid));
        }
    }

    /// The most memory so far: of the daemon, and of its workers together.
    pub(super) fn peaks(&self) -> (u64, u64) {
        let daemon = self.daemon.as_ref().map(Child::id);
        let of = |mine: bool| {
            self.peaks.iter().filter(|(pid, _)| (Some(**pid) == daemon) == mine).map(|(_, peak)| peak).sum()
        };
        (of(true), of(false))
    }

    /// The end of the daemon's log.
    pub(super) fn log(&self) -> String {
        let log = fs::read_to_string(self.paths.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(12)..).unwrap_or_default().join("\n")
    }
}

impl Drop for Laptop {
    fn drop(&mut self) {
        if let Some(mut child) = self.daemon.take() {
            // Gone already, perhaps.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// The scope that both share.
pub(super) fn scope() -> Scope {
    Scope { org_id: "bench".into(), project: "sync".into() }
}

/// Two keys, that with the smaller device id first.
fn keys() -> (SigningKey, SigningKey) {
    let (one, other) = (SigningKey::from_bytes(&[41; 32]), SigningKey::from_bytes(&[42; 32]));
    let smaller = one.verifying_key().to_bytes() < other.verifying_key().to_bytes();
    if smaller { (one, other) } else { (other, one) }
}

/// A UDP port that is free now.
fn free_port() -> std::io::Result<u16> {
    Ok(UdpSocket::bind("127.0.0.1:0")?.local_addr()?.port())
}
