//! Teams in the daemon: connects the engine, the sync service, and the requests of people who pair devices.

mod find_team;
mod invites;
mod join_files;
mod join_requests;
mod joins;
mod mode;
mod pending_joins;
mod round;
mod status;
mod team_acts;

use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ed25519_dalek::SigningKey;
use tokio::task::AbortHandle;

use super::{bus::Bus, state::blocking};
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

/// The maximum number of joins, ended ones included, whose state is kept.
const MAX_KEPT_JOINS: usize = 16;

/// The teams of this device.
pub(super) struct Teams {
    engine: Arc<Engine>,
    service: Service,
    bus: Arc<Bus>,
    key: SigningKey,
    /// The person who acts if a request names none.
    who: String,
    choice: SyncChoice,
    /// Held while a device redeems an invitation, since only one device can redeem it.
    redeeming: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

/// The state in memory, which concerns people who are waiting now.
#[derive(Default)]
struct State {
    /// The pairing window, which is open while an invitation is valid.
    window: Option<PairingWindow>,
    /// Why the pairing window could not be opened.
    window_problem: Option<String>,
    /// The task that checks the pairing window when the last invitation expires.
    window_check: Option<AbortHandle>,
    /// The makers of invitations, by the invitation's hash. Lost at a restart; then the person of this machine acts.
    invites: HashMap<[u8; 32], InviteMaker>,
    waiting: Vec<pending_joins::WaitingRequest>,
    joins: VecDeque<JoinView>,
    /// The attempts to join in the last minute, with their times in milliseconds since the Unix epoch.
    attempts: VecDeque<(u64, DeviceId)>,
}

/// Who made an invitation.
#[derive(Clone, Default)]
struct InviteMaker {
    caller: Caller,
    /// Whether to admit the device without asking a person.
    yes: bool,
    /// When the invitation expires, in milliseconds since the Unix epoch.
    expires_at: u64,
}

impl Teams {
    /// Starts the sync service on the current runtime.
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
        let service = Service::start(settings, Arc::clone(&engine), Arc::new(BusObserver(Arc::clone(&bus))));
        engine.on_change({
            let service = service.clone();
            Box::new(move |_| service.changed())
        });
        let who = config.who.clone();
        let (redeeming, state) = (tokio::sync::Mutex::default(), Mutex::default());
        let teams = Arc::new(Self { engine, service, bus, key, who, choice, redeeming, state });
        // Invitations from before the restart may still be valid.
        tokio::spawn(Arc::clone(&teams).update_window());
        teams
    }

    /// Closes the pairing window and ends all sessions.
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
        blocking(move || work(&engine).inspect_err(|error| engine.note_damage(error))).await
    }

    /// Announces a change that is not an act in the log.
    fn announce(&self, act: &str, summary: impl Into<String>) {
        self.bus.send(Change { act: act.to_owned(), summary: summary.into(), ..Change::default() });
    }

    /// Applies a change of a team's roster that this device made or imported from a file: the sync service connects
    /// to new members and ends the sessions with former ones.
    pub(super) async fn changed(&self, summary: &str) {
        self.service.refresh().await;
        self.announce("sync.team", summary);
    }

    fn me(&self) -> DeviceId {
        self.engine.device()
    }

    /// Returns the person of this machine, with a new operation id.
    fn person(&self) -> Result<Caller, ApiError> {
        Ok(Caller { who: self.who.clone(), op_id: Some(OpId(random()?)), ..Caller::default() })
    }
}

/// Forwards events of the sync service to the bus.
struct BusObserver(Arc<Bus>);

impl ServiceObserver for BusObserver {
    fn peer(&self, _: EventId, device: DeviceId) {
        let summary = format!("the state of the device {} changed", device.short());
        self.0.send(Change { act: "sync.peer".to_owned(), summary, ..Change::default() });
    }

    fn roster(&self, _: EventId) {
        let summary = "the team changed".to_owned();
        self.0.send(Change { act: "sync.team".to_owned(), summary, ..Change::default() });
    }
}

/// Returns the folder of the service's lease, which is that of the device key.
fn lease_folder(paths: &Paths) -> PathBuf {
    paths.state.clone()
}

fn random<const N: usize>() -> Result<[u8; N], ApiError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| ApiError::internal(format!("cannot get random bytes from the operating system: {error}")))?;
    Ok(bytes)
}
