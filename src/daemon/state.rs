//! The daemon's state, which all handlers share.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use tokio::sync::watch;

use super::{
    agents::ConnectedAgents, bus::Bus, long_tasks::RunningTasks, models, notes::NotesKeeper,
    request_checks::StreamPermits, running_settings::RunningSettings, teams::Teams,
};
use crate::{
    api::{API_VERSION, ApiError, Health},
    domain::Scope,
    engine::Engine,
    infer::{ModelRole, Models},
};

/// A shared reference to the daemon's state.
#[derive(Clone)]
pub(super) struct SharedState(Arc<DaemonState>);

pub(super) struct DaemonState {
    pub(super) engine: Arc<Engine>,
    pub(super) models: Arc<models::ConfiguredModels>,
    pub(super) bus: Arc<Bus>,
    pub(super) agents: Arc<ConnectedAgents>,
    pub(super) teams: Arc<Teams>,
    pub(super) notes: Arc<NotesKeeper>,
    pub(super) settings: RunningSettings,
    pub(super) token: String,
    pub(super) store: PathBuf,
    pub(super) log: PathBuf,
    pub(super) socket: PathBuf,
    pub(super) tcp: Option<SocketAddr>,
    pub(super) problems: Vec<String>,
    /// The running checks and backups.
    pub(super) tasks: Arc<RunningTasks>,
    pub(super) rebuilding: RebuildingScopes,
    pub(super) streams: StreamPermits,
    pub(super) started: Instant,
    /// The number of requests since the start.
    pub(super) requests: AtomicU64,
    /// The number of requests in progress.
    pub(super) busy: watch::Sender<usize>,
    /// Becomes true when the daemon ends.
    pub(super) ending: watch::Sender<bool>,
}

/// The scopes whose snapshot page is being generated in the background; each only once at a time.
#[derive(Clone, Default)]
pub(super) struct RebuildingScopes(Arc<Mutex<BTreeSet<Scope>>>);

impl RebuildingScopes {
    /// Registers a scope until the permit is dropped; `None` if its page is already being generated.
    pub(super) fn begin(&self, scope: &Scope) -> Option<RebuildPermit> {
        let is_new = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(scope.clone());
        is_new.then(|| RebuildPermit { all: self.clone(), scope: scope.clone() })
    }
}

/// The permit to generate the page of one scope.
pub(super) struct RebuildPermit {
    all: RebuildingScopes,
    scope: Scope,
}

impl Drop for RebuildPermit {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.scope);
    }
}

impl std::ops::Deref for SharedState {
    type Target = DaemonState;

    fn deref(&self) -> &DaemonState {
        &self.0
    }
}

impl SharedState {
    pub(super) fn new(state: DaemonState) -> Self {
        Self(Arc::new(state))
    }

    /// Calls the engine on a thread that may block. A panic of the engine fails only this request.
    pub(super) async fn engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let engine = Arc::clone(&self.engine);
        self.blocking(move || work(&engine)).await
    }

    /// Does blocking work on another thread, so that it does not block the connections. Once it fails because the store
    /// is damaged, the engine refuses writes.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let engine = Arc::clone(&self.engine);
        blocking(move || work().inspect_err(|error| engine.note_damage(error))).await
    }

    pub(super) fn health(&self) -> Health {
        let models = self.models.info();
        Health {
            status: if self.engine.damage().is_some() { "damaged" } else { "ok" }.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            api: API_VERSION,
            pid: std::process::id(),
            uptime_s: self.started.elapsed().as_secs(),
            retrieval: true,
            nli: models::name(&models, ModelRole::Nli),
            embedder: models::name(&models, ModelRole::Embedder),
        }
    }

    pub(super) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Begins to end the daemon: listeners close, streams end, and running requests are completed.
    pub(super) fn end(&self) {
        self.ending.send_replace(true);
    }
}

/// Does work that may block on another thread. A panic becomes an error.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            tracing::error!(%error, "the engine failed");
            Err(ApiError::internal(
                "an internal error in the daemon; its log has the details (`ergo status` shows the file). Other \
                    requests are still served",
            ))
        }
    }
}

#[cfg(any(test, feature = "testing"))]
pub(super) mod testing {
    use ed25519_dalek::SigningKey;

    use super::*;
    use crate::{
        config::{Config, Paths},
        engine::EngineConfig,
        infer::Models,
    };

    /// Returns a state with a new store in this folder, no models, and the token `secret`.
    #[cfg(test)]
    pub(in crate::daemon) fn shared(folder: &std::path::Path) -> SharedState {
        shared_with(folder, Arc::new(crate::infer::NoModels)).unwrap()
    }

    /// Returns a state with a new store in this folder, these models, and the token `secret`.
    pub(in crate::daemon) fn shared_with(
        folder: &std::path::Path,
        models: Arc<dyn Models>,
    ) -> Result<SharedState, ApiError> {
        let store = folder.join("ergo.db");
        let key = SigningKey::from_bytes(&[7; 32]);
        let config = EngineConfig { models, durable: false, ..EngineConfig::new(&store, key.clone()) };
        let engine = Arc::new(Engine::open(config)?);
        let (paths, config, bus) = (Paths::under(folder), Config::default(), Arc::new(Bus::new()));
        Ok(SharedState::new(DaemonState {
            teams: Teams::start(&paths, &config, key, Arc::clone(&engine), Arc::clone(&bus)),
            notes: Arc::new(NotesKeeper::open(&paths, &config, Arc::clone(&engine))),
            engine,
            models: Arc::new(models::ConfiguredModels::new(&paths, &config)),
            agents: Arc::new(ConnectedAgents::new(Arc::clone(&bus))),
            bus,
            settings: RunningSettings::new(&paths, &config),
            token: "secret".to_owned(),
            store,
            log: folder.join("daemon.log"),
            socket: folder.join("ergo.sock"),
            tcp: None,
            problems: Vec::new(),
            tasks: Arc::default(),
            rebuilding: RebuildingScopes::default(),
            streams: StreamPermits::default(),
            started: Instant::now(),
            requests: AtomicU64::new(0),
            busy: watch::Sender::new(0),
            ending: watch::Sender::new(false),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_a_scope_is_generated_once_at_a_time_also_after_a_panic() {
        let scope = |project: &str| Scope { org_id: "acme".to_owned(), project: project.to_owned() };
        let rebuilding = RebuildingScopes::default();
        let permit = rebuilding.begin(&scope("web"));
        assert!(permit.is_some() && rebuilding.begin(&scope("web")).is_none());
        assert!(rebuilding.begin(&scope("api")).is_some(), "another scope does not wait");
        let panicked = std::thread::spawn(move || {
            let _permit = permit;
            panic!("generating failed");
        });
        assert!(panicked.join().is_err());
        assert!(rebuilding.begin(&scope("web")).is_some());
    }
}
