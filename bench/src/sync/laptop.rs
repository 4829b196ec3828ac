//! A device of the team: a home with its daemon, which uses only the loopback network.

use std::{collections::BTreeMap, net::UdpSocket};

use ed25519_dalek::SigningKey;

use super::{SyncOptions, proc};
use crate::{
    daemon::{BenchDaemon, make_home},
    error::BenchError,
    measure::peak_memory,
};
use ergo::{
    api::Caller,
    client::Client,
    domain::{DeviceId, Scope},
    engine::{Engine, EngineConfig},
};

/// A device of the team.
pub(super) struct Laptop {
    /// The name of the person who writes there.
    pub(super) who: &'static str,
    pub(super) key: SigningKey,
    pub(super) client: Client,
    pub(super) daemon: BenchDaemon,
    port: u16,
    /// The peak memory of each process so far, in bytes, by process id.
    peaks: BTreeMap<u32, u64>,
}

impl Laptop {
    /// Makes the device that creates the team.
    pub(super) fn founder(options: &SyncOptions) -> Result<Self, BenchError> {
        Self::make(options, "ada", keys().1)
    }

    /// Makes the device that joins. It has the smaller id, since such a device dials at once, while the other one waits a
    /// second for that.
    pub(super) fn joiner(options: &SyncOptions) -> Result<Self, BenchError> {
        Self::make(options, "bob", keys().0)
    }

    /// Makes the device that joins later and is revoked.
    pub(super) fn third(options: &SyncOptions) -> Result<Self, BenchError> {
        Self::make(options, "eve", SigningKey::from_bytes(&[43; 32]))
    }

    fn make(options: &SyncOptions, who: &'static str, key: SigningKey) -> Result<Self, BenchError> {
        let port = free_port().map_err(BenchError::io("a free port"))?;
        let settings = format!(
            "who = \"{who}\"\n[daemon]\ntcp = false\n[models]\nembedder = \"none\"\nnli = \"none\"\nllm = \"none\"\n\
             [sync]\nloopback = true\nport = {port}\n"
        );
        let paths = make_home(options.folder.join(who), &key, &settings)?;
        // The daemon takes a key without a store for a sign that the store was lost.
        drop(Engine::open(EngineConfig::new(paths.store(), key.clone()))?);
        let daemon = BenchDaemon::new(paths, options.program.clone())?;
        Ok(Self { who, key, client: daemon.client.clone(), daemon, port, peaks: BTreeMap::new() })
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

    /// Opens the store while no daemon uses it. Writes do not wait for the disk.
    pub(super) fn engine(&self) -> Result<Engine, BenchError> {
        Ok(Engine::open(EngineConfig {
            durable: false,
            ..EngineConfig::new(self.daemon.paths.store(), self.key.clone())
        })?)
    }

    /// Returns the process ids of the daemon and its workers.
    pub(super) fn pids(&self) -> Vec<u32> {
        let Some(daemon) = self.daemon.pid() else { return Vec::new() };
        [vec![daemon], proc::children(daemon)].concat()
    }

    /// Records the peak memory of each process. Must be called often, since a worker may end at any time.
    pub(super) fn record_memory(&mut self) {
        for pid in self.pids() {
            let peak = self.peaks.entry(pid).or_default();
            *peak = (*peak).max(peak_memory(pid).unwrap_or_default());
        }
    }

    /// Returns the peak memory in bytes: of the daemon, and the sum over its workers.
    pub(super) fn peaks(&self) -> (u64, u64) {
        let daemon = self.daemon.pid();
        let sum = |of_daemon: bool| {
            self.peaks.iter().filter(|(pid, _)| (Some(**pid) == daemon) == of_daemon).map(|(_, peak)| peak).sum()
        };
        (sum(true), sum(false))
    }
}

/// Returns the scope that the devices share.
pub(super) fn scope() -> Scope {
    Scope { org_id: "bench".into(), project: "sync".into() }
}

/// Returns two keys, the one with the smaller device id first.
fn keys() -> (SigningKey, SigningKey) {
    let (one, other) = (SigningKey::from_bytes(&[41; 32]), SigningKey::from_bytes(&[42; 32]));
    let smaller = one.verifying_key().to_bytes() < other.verifying_key().to_bytes();
    if smaller { (one, other) } else { (other, one) }
}

/// Returns a UDP port that is free at the moment.
fn free_port() -> std::io::Result<u16> {
    Ok(UdpSocket::bind("127.0.0.1:0")?.local_addr()?.port())
}
