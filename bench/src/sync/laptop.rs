//! A home with its daemon: a process of its own, on loopback alone.

use std::{collections::BTreeMap, net::UdpSocket};

use ed25519_dalek::SigningKey;

use super::{Options, proc};
use crate::{daemon::Daemon, store::BenchError};
use ergo::{
    api::Caller,
    client::Client,
    config::{Paths, write_private},
    domain::{DeviceId, Scope},
    engine::{Engine, EngineConfig},
};

/// One side.
pub(super) struct Laptop {
    /// Who writes there.
    pub(super) who: &'static str,
    pub(super) key: SigningKey,
    pub(super) client: Client,
    pub(super) daemon: Daemon,
    port: u16,
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
        // A key beside no store would be that of a lost one.
        drop(Engine::open(EngineConfig::new(paths.store(), key.clone()))?);
        let port = free_port().map_err(|error| BenchError::Io { path: paths.config.clone(), error })?;
        let config = format!(
            "who = \"{who}\"\n[daemon]\ntcp = false\n[models]\nembedder = \"none\"\nnli = \"none\"\nllm = \"none\"\n\
             [sync]\nloopback = true\nport = {port}\n"
        );
        write_private(&paths.config, config.as_bytes())?;
        let daemon = Daemon::new(paths, options.program.clone())?;
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

    /// The store itself, while no daemon has it. Writes do not wait for the disk.
    pub(super) fn engine(&self) -> Result<Engine, BenchError> {
        Ok(Engine::open(EngineConfig {
            durable: false,
            ..EngineConfig::new(self.daemon.paths.store(), self.key.clone())
        })?)
    }

    /// The daemon and the processes that belong to it.
    pub(super) fn pids(&self) -> Vec<u32> {
        let Some(daemon) = self.daemon.pid() else { return Vec::new() };
        [vec![daemon], proc::children(daemon)].concat()
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
        let daemon = self.daemon.pid();
        let of = |mine: bool| {
            self.peaks.iter().filter(|(pid, _)| (Some(**pid) == daemon) == mine).map(|(_, peak)| peak).sum()
        };
        (of(true), of(false))
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
