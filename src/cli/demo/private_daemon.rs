//! The demonstration's daemon, which runs in this process and ends with it. Only a kill -9 leaves the temporary folder behind.

use std::{
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::signal::unix::{SignalKind, signal};

use super::home::Home;
use crate::{
    cli::{CliError, Exit},
    client::Connect,
    config::{Config, Paths},
    daemon::{self, DaemonError},
};

/// The exit code of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// How long the app may take to restore the terminal after a signal.
const APP_EXIT_TIME: Duration = Duration::from_secs(3);

/// A daemon in a private home. Dropping it stops the daemon and removes the home; so does a signal.
pub(super) struct PrivateDaemon {
    running: Arc<Mutex<Option<RunningDaemon>>>,
    /// Whether the app is open and handles signals itself.
    app_is_open: Arc<AtomicBool>,
}

struct RunningDaemon {
    home: Home,
    paths: Paths,
    daemon: JoinHandle<Result<(), DaemonError>>,
}

impl PrivateDaemon {
    /// Starts the daemon and waits until it answers.
    pub(super) fn start(home: Home, paths: Paths, config: Config) -> Result<Self, CliError> {
        let (ready, is_ready) = mpsc::channel();
        let daemon = thread::Builder::new()
            .name("daemon".to_owned())
            .spawn({
                let paths = paths.clone();
                move || daemon::run(&paths, &config, axum::Router::new(), |_, _| _ = ready.send(()))
            })
            .map_err(|error| CliError::internal(format_args!("cannot start a thread: {error}")))?;
        if is_ready.recv().is_err() {
            return Err(match daemon.join() {
                Ok(Err(error)) => CliError::internal(format_args!("the demonstration's daemon did not start: {error}")),
                _ => CliError::internal("the demonstration's daemon did not start"),
            });
        }
        let running = Arc::new(Mutex::new(Some(RunningDaemon { home, paths, daemon })));
        let this = Self { running, app_is_open: Arc::default() };
        this.handle_signals()?;
        Ok(this)
    }

    /// Runs the app, which handles signals itself: it restores the terminal and returns.
    pub(super) fn during_app<T>(&self, work: impl FnOnce() -> T) -> T {
        self.app_is_open.store(true, Ordering::SeqCst);
        let result = work();
        self.app_is_open.store(false, Ordering::SeqCst);
        result
    }

    /// Cleans up and exits on the first signal that would end the process.
    fn handle_signals(&self) -> Result<(), CliError> {
        let (running, app_is_open) = (Arc::clone(&self.running), Arc::clone(&self.app_is_open));
        let cannot = |error| CliError::internal(format_args!("cannot listen to signals: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let signals = {
            let _inside = runtime.enter();
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal)
        };
        let [int, term, hup] = signals;
        let (mut int, mut term, mut hup) = (int.map_err(cannot)?, term.map_err(cannot)?, hup.map_err(cannot)?);
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        _ = int.recv() => {}
                        _ = term.recv() => {}
                        _ = hup.recv() => {}
                    }
                });
                if app_is_open.load(Ordering::SeqCst) {
                    thread::sleep(APP_EXIT_TIME);
                }
                clean_up(&running);
                process::exit(INTERRUPTED);
            })
            .map(drop)
            .map_err(|error| CliError::new(Exit::Internal, format_args!("cannot start a thread: {error}")))
    }
}

impl Drop for PrivateDaemon {
    fn drop(&mut self) {
        clean_up(&self.running);
    }
}

/// Stops the daemon, waits for it, and removes the home; a second caller waits for the first.
fn clean_up(running: &Mutex<Option<RunningDaemon>>) {
    let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(RunningDaemon { home, paths, daemon }) = running.take() else { return };
    if !daemon.is_finished() {
        // A daemon that got the same signal stops by itself and may not answer.
        stop(paths);
    }
    drop(daemon.join());
    drop(home);
}

/// Asks the daemon to stop. If it does not answer, it is stopping already.
fn stop(paths: Paths) {
    let connect = Connect { spawn: false, ..Connect::private(paths) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let (Ok(client), Ok(runtime)) = (connect.lazy(), runtime) {
        let _ = runtime.block_on(client.shutdown());
    }
}
