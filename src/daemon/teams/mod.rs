//! Teams as the daemon serves them: the engine's acts, the network's service, and the people at both ends of an invitation.

mod acts;
mod door;
mod files;
mod invites;
mod joins;
mod lookup;
mod mode;
mod round;
mod status;

use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ed25519_dalek::SigningKey;

use super::bus::Bus;
use crate::{
    api::{ApiError, Caller, Change, JoinView},
    config::{Config, Paths},
    domain::{DeviceId, EventId, OpId},
    engine::{Engine, system_clock as now},
    sync::{
        service::{PairingWindow, Service, ServiceObserver, ServiceSettings},
        worker,
    },
};

pub(super) use mode::SyncChoice;

/// How many joins are remembered after they have ended.
const REMEMBERED: usize = 16;

/// The teams of this device.
pub(super) struct Teams {
    engine: Arc<Engine>,
    /// The network.
    service: Service,
    bus: Arc<Bus>,
    key: SigningKey,
    /// The person, where a call does not say.
    who: String,
    /// Where the mode that was chosen on this machine is kept; the settings go before it.
    choice: SyncChoice,
    state: Mutex<State>,
}

/// What is in memory alone: it concerns people who are waiting now.
#[derive(Default)]
struct State {
    /// Open while an invite is live.
    window: Option<PairingWindow>,
    /// Who made an invite, by its hash; lost with the daemon, and then the person of this machine acts.
    invites: HashMap<[u8; 32], Maker>,
    waiting: Vec<door::Waiting>,
    joins: VecDeque<JoinView>,
    knocks: VecDeque<(u64, DeviceId)>,
}

/// Who made an invite, and whether they want to be asked.
#[derive(Clone, Default)]
struct Maker {
    caller: Caller,
    yes: bool,
}

impl Teams {
    /// Starts the network's part, on the current runtime.
    pub(super) fn start(
        paths: &Paths,
        config: &Config,
        key: SigningKey,
        engine: Arc<Engine>,
        bus: Arc<Bus>,
    ) -> Arc<Self> {
        let choice = SyncChoice::new(paths, config);
        let settings = ServiceSettings {
            mode: choice.mode(),
            relay: config.sync.relay.clone(),
            port: config.sync.port,
            loopback: config.sync.loopback,
            leases: Some(lease_folder(paths)),
            worker: worker::WorkerOptions::standard(),
            ..ServiceSettings::new(key.clone())
        };
        let service = Service::start(settings, Arc::clone(&engine), Arc::new(Told(Arc::clone(&bus))));
        engine.on_change({
            let service = service.clone();
            Box::new(move |_| service.changed())
        });
        let who = config.who.clone();
        let teams = Arc::new(Self { engine, service, bus, key, who, choice, state: Mutex::default() });
        // Invites outlive the daemon.
        tokio::spawn(Arc::clone(&teams).keep_window());
        teams
    }

    /// Says goodbye to every peer.
    pub(super) async fn stop(&self) {
        self.state().window = None;
        self.service.stop().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the engine on a thread that may block.
    async fn engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let engine = Arc::clone(&self.engine);
        match tokio::task::spawn_blocking(move || work(&engine)).await {
            Ok(result) => result,
            Err(error) => {
                tracing::error!(%error, "the engine failed");
                Err(ApiError::internal("the daemon failed at this request; it goes on with others"))
            }
        }
    }

    /// Tells whoever follows that something changed that is no act in the log.
    fn tell(&self, act: &str, summary: impl Into<String>) {
        self.bus.send(Change { act: act.to_owned(), summary: summary.into(), ..Change::default() });
    }

    /// The roster of a team was changed here.
    async fn changed(&self, summary: &str) {
        self.service.refresh().await;
        self.tell("sync.team", summary);
    }

    fn me(&self) -> DeviceId {
        self.engine.device()
    }

    /// The person of this machine, with a key of its own.
    fn person(&self) -> Result<Caller, ApiError> {
        Ok(Caller { who: self.who.clone(), op_id: Some(OpId(random()?)), ..Caller::default() })
    }
}

/// Tells the bus what the network sees.
struct Told(Arc<Bus>);

impl ServiceObserver for Told {
    fn peer(&self, _: EventId, device: DeviceId) {
        let summary = format!("the device {} came, went, or has something new", device.short());
        self.0.send(Change { act: "sync.peer".to_owned(), summary, ..Change::default() });
    }

    fn roster(&self, _: EventId) {
        let summary = "the team is another".to_owned();
        self.0.send(Change { act: "sync.team".to_owned(), summary, ..Change::default() });
    }
}

/// Where it is said which process is this device on this machine: beside the key.
fn lease_folder(paths: &Paths) -> PathBuf {
    paths.state.clone()
}

fn random<const N: usize>() -> Result<[u8; N], ApiError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| ApiError::internal(format!("the system gave no random bytes: {error}")))?;
    Ok(bytes)
}
