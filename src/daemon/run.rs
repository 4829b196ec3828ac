//! Starts and ends the daemon.

use std::{
    fs,
    io::IsTerminal,
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use rustix::fs::Mode;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

use super::{
    DaemonError,
    agents::ConnectedAgents,
    background::Background,
    bus::Bus,
    compat,
    judge_thread::JudgeThread,
    judges, keys,
    listen::{self, Port},
    log_file, models, new_store,
    notes::{NotesKeeper, NotesWatcher},
    request_checks::{RequestSource, StreamPermits},
    routes,
    running_settings::RunningSettings,
    state::{DaemonState, RebuildingScopes, SharedState},
    teams::Teams,
};
use crate::{
    config::{AgentsMaySetting, Config, DaemonRecord, DeepStage, Paths, PromoteSetting, StoreFile, StoreLock, disk},
    domain::{DeviceId, Scope},
    engine::{self, Engine, EngineConfig},
    files::clear_drafts,
    infer::{Endpoint, Models},
    sync::transfer,
};

/// The idle time after which a thread for blocking work ends, so that an idle daemon has few threads.
const BLOCKING_THREAD_IDLE: Duration = Duration::from_secs(2);

/// The time that the daemon waits at its end for requests that still run on other threads. `ergo daemon stop` waits
/// longer than this and [`listen::serve`]'s time for requests together.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The limit on file sizes, in bytes, below which it is reported as a problem.
const LOW_FILE_SIZE_LIMIT: u64 = 1 << 30;

/// Runs the daemon in this process until `POST /shutdown`, SIGTERM or SIGINT ends it. `ready` is called once the daemon
/// serves requests, with its addresses and the problems that it found. `more` are further routes besides the API,
/// behind the same checks.
///
/// # Errors
/// If another process owns the store, or the store, a key, the socket or the log cannot be used.
pub fn run(
    paths: &Paths,
    config: &Config,
    more: axum::Router,
    ready: impl FnOnce(&DaemonRecord, &[String]),
) -> Result<(), DaemonError> {
    // Every file that this process creates is private from the start: store, socket, keys, log.
    rustix::process::umask(Mode::from_raw_mode(0o077));
    paths.make()?;
    log_file::begin(&paths.log(), &config.daemon.log)?;
    let result = run_with_lock(paths, config, more, ready);
    if let Err(error) = &result {
        tracing::error!("cannot start the daemon: {error}");
    }
    result
}

/// Runs as the owner of the store. The lock is released last.
fn run_with_lock(
    paths: &Paths,
    config: &Config,
    more: axum::Router,
    ready: impl FnOnce(&DaemonRecord, &[String]),
) -> Result<(), DaemonError> {
    let lock = StoreLock::take(paths, "daemon")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_keep_alive(BLOCKING_THREAD_IDLE)
        .build()
        .map_err(DaemonError::system("start the runtime"))?;
    let result = runtime.block_on(serve(paths, config, more, ready));
    // Wait for work on other threads, which includes the store's last connections. A request that runs for minutes,
    // such as an audit, is cut off; everything that it acknowledged is stored.
    let waiting = Instant::now();
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    if waiting.elapsed() < SHUTDOWN_TIMEOUT {
        drop(lock);
    } else {
        tracing::warn!("ended while a request was still being answered");
        // Threads still use the store, so it must stay locked until the process ends.
        std::mem::forget(lock);
    }
    if result.is_ok() {
        tracing::info!("ended");
    }
    result
}

async fn serve(
    paths: &Paths,
    config: &Config,
    more: axum::Router,
    ready: impl FnOnce(&DaemonRecord, &[String]),
) -> Result<(), DaemonError> {
    let signals = Signals::new()?;
    let mut problems = Vec::new();
    let models = Arc::new(models::ConfiguredModels::new(paths, config));
    let endpoint = judges::endpoint(&config.judge, &mut problems);
    let engine = Arc::new(open(paths, config, Arc::clone(&models) as Arc<dyn Models>, endpoint)?);
    let former = engine.former_device().map_err(DaemonError::Engine)?;
    problems.extend(former.map(|former| other_key_problem(paths, engine.device(), former)));
    let bus = Arc::new(Bus::new());
    engine.on_change({
        let bus = Arc::clone(&bus);
        Box::new(move |change| bus.send(change))
    });
    let teams = Teams::start(paths, config, keys::device(paths)?, Arc::clone(&engine), Arc::clone(&bus));
    let background = Background::start(&engine).map_err(DaemonError::system("start a thread"))?;
    let judging = JudgeThread::start(&engine).map_err(DaemonError::system("start a thread"))?;
    let notes = Arc::new(NotesKeeper::open(paths, config, Arc::clone(&engine)));
    let watcher = NotesWatcher::start(&notes).map_err(DaemonError::system("start a thread"))?;
    let socket = listen::unix(&paths.socket)?;
    let tcp = if config.daemon.tcp { listen::tcp(config.daemon.address, &mut problems).await } else { None };
    let address = tcp.as_ref().and_then(|listener| listener.local_addr().ok());
    let record = DaemonRecord {
        socket: paths.socket.clone(),
        tcp: address.map(|address| address.to_string()),
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        store: paths.store(),
        log: paths.log(),
    };
    let compat = cogito(config, &mut problems).await;
    problems.extend(file_size_problem(disk::file_size_limit()));
    let shared = SharedState::new(DaemonState {
        engine,
        models,
        agents: Arc::new(ConnectedAgents::new(Arc::clone(&bus))),
        bus,
        teams: Arc::clone(&teams),
        notes,
        settings: RunningSettings::new(paths, config),
        token: keys::token(paths)?,
        store: record.store.clone(),
        log: record.log.clone(),
        socket: record.socket.clone(),
        tcp: address,
        problems,
        tasks: Arc::default(),
        rebuilding: RebuildingScopes::default(),
        streams: StreamPermits::default(),
        started: Instant::now(),
        requests: AtomicU64::new(0),
        busy: watch::Sender::new(0),
        ending: watch::Sender::new(false),
    });
    let app = routes::router(shared.clone(), more);
    let tcp = tcp.map(|listener| Port { listener, source: RequestSource::Tcp, app: app.clone() });
    let compat = compat.map(|(listener, caller)| Port {
        listener,
        source: RequestSource::Compat,
        app: compat::router(shared.clone(), caller),
    });
    record.write(&paths.record())?;
    tracing::info!(socket = %record.socket.display(), tcp = record.tcp, pid = record.pid, "ready");
    let without_effect = config.without_effect();
    for message in &without_effect {
        tracing::warn!("{message}");
    }
    let notes_problem = Vec::from_iter(shared.notes.problem());
    ready(&record, &[shared.problems.clone(), notes_problem, without_effect].concat());
    tokio::spawn(signals.end(shared.clone()));
    listen::serve(app, &shared, socket, tcp.into_iter().chain(compat).collect(), || {
        tracing::info!("ending");
        // From now on, clients may conclude that no daemon runs. The lock still prevents that another one starts.
        for path in [&record.socket, &paths.record()] {
            drop(fs::remove_file(path));
        }
    })
    .await;
    teams.stop().await;
    drop(judging);
    // A request may still run a command, also if no thread judges.
    shared.engine.stop_judges();
    drop(watcher);
    drop(background);
    Ok(())
}

/// Opens the listener for clients of cogito-ergo, if the settings name one. A failure, such as a port in use, is added
/// to `problems`.
async fn cogito(config: &Config, problems: &mut Vec<String>) -> Option<(TcpListener, compat::CompatCaller)> {
    let settings = config.compat.cogito.as_ref()?;
    let caller = Scope::new(config.org_id.as_str(), settings.project.as_str())
        .map_err(|error| format!("`project` in [compat.cogito]: {error}"))
        .and_then(|scope| {
            let limits = compat::Limits {
                recall: settings.recall_limit,
                recall_threshold: settings.recall_threshold.0,
                query_threshold: settings.query_threshold.0,
            };
            Ok(compat::CompatCaller { scope, who: config.who.clone(), token: settings.token()?, limits })
        });
    // If the token cannot be read, the listener is not opened: it must not accept requests without a token.
    let opened = match caller {
        Ok(caller) => TcpListener::bind(settings.listen)
            .await
            .inspect(|listener| tracing::info!(address = ?listener.local_addr().ok(), "listening for clients of cogito-ergo"))
            .map(|listener| (listener, caller))
            .map_err(|error| format!("cannot listen on {} for clients of cogito-ergo: {error}", settings.listen)),
        Err(why) => Err(format!("the listener for clients of cogito-ergo was not started: {why}")),
    };
    opened.inspect_err(|why| tracing::warn!("{why}")).map_err(|why| problems.push(why)).ok()
}

/// Returns the problem of a limit on file sizes that a store could reach. Writes beyond it fail as on a full disk.
fn file_size_problem(limit: Option<u64>) -> Option<String> {
    let limit = limit.filter(|limit| *limit < LOW_FILE_SIZE_LIMIT)?;
    Some(format!(
        "the daemon's files are limited to {} MiB, so writes will fail when the store reaches that size: raise the \
            limit (`ulimit -f`) where the daemon is started",
        limit >> 20
    ))
}

/// Returns the problem of a key that is not the one with which the store's events were signed.
fn other_key_problem(paths: &Paths, own: DeviceId, former: DeviceId) -> String {
    let problem = format!(
        "the store was written by the device {}, and {} has the key of another one, {}: to continue as the former, run \
            `ergo daemon stop`, restore its device.key, and run `ergo daemon start`; without that key, an admin must \
            admit this device to each team (`ergo sync join`)",
        former.short(),
        paths.device_key().display(),
        own.short()
    );
    tracing::warn!("{problem}");
    problem
}

fn open(
    paths: &Paths,
    config: &Config,
    models: Arc<dyn Models>,
    endpoint: Option<Endpoint>,
) -> Result<Engine, DaemonError> {
    // Before the key is created: a key without a store means that the store was lost.
    if StoreFile::look_unless_lost(paths)? == StoreFile::Absent {
        new_store::make(paths)?;
    }
    // Of a rebuild, or of a file beside the store, whose writer was killed.
    for folder in [&paths.data, &paths.state] {
        clear_drafts(folder);
    }
    if let Err(error) = transfer::delete_left_copy(&paths.store()) {
        tracing::warn!(%error, "cannot delete the copy of the store that an interrupted dry run left");
    }
    let agents_may = match config.guard.agents_may {
        AgentsMaySetting::Force => engine::AgentPolicy::Force,
        AgentsMaySetting::Propose => engine::AgentPolicy::Propose,
    };
    let deep = match config.guard.deep.unwrap_or_else(|| config.models.deep()) {
        DeepStage::Off => engine::DeepMode::Off,
        DeepStage::Background => engine::DeepMode::Background,
        DeepStage::Inline => engine::DeepMode::Inline,
    };
    let promote = match config.levels.promote {
        PromoteSetting::Ask => engine::PromoteMode::Ask,
        PromoteSetting::Auto => engine::PromoteMode::Auto,
        PromoteSetting::Never => engine::PromoteMode::Never,
    };
    let settings = EngineConfig {
        agents_may,
        levels: engine::LevelPolicy { promote_at: config.levels.promote_at, promote },
        deep,
        judges: judges::judges(paths, &config.judge, &models, endpoint.as_ref()),
        judge_timeout: config.judge.timeout(),
        judge_budget: config.judge.budget_percent,
        models,
        endpoint,
        filter_timeout: config.recall.filter_timeout(),
        ..EngineConfig::new(paths.store(), keys::device(paths)?)
    };
    Engine::open(settings).map_err(DaemonError::Engine)
}

/// The signals that end the daemon. They are registered before the store is opened, so that none arrives too early.
struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
}

impl Signals {
    fn new() -> Result<Self, DaemonError> {
        let take = |kind| signal(kind).map_err(DaemonError::system("listen to signals"));
        Ok(Self {
            term: take(SignalKind::terminate())?,
            int: take(SignalKind::interrupt())?,
            hup: take(SignalKind::hangup())?,
        })
    }

    /// Ends the daemon at the first signal. SIGHUP, for a closed terminal, ends it only if it was started in a
    /// terminal.
    async fn end(mut self, shared: SharedState) {
        let foreground = std::io::stdin().is_terminal();
        loop {
            tokio::select! {
                _ = self.term.recv() => break,
                _ = self.int.recv() => break,
                _ = self.hup.recv() => if foreground { break },
            }
        }
        shared.end();
    }
}
