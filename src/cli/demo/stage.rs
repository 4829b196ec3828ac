//! The demonstration's own daemon, in this process: whatever ends the process ends the daemon, and nothing is left behind
//! except, after a kill -9, the temporary folder.

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

/// How long the app may take to put the terminal back after a signal before the program ends without it.
const APP_ENDS: Duration = Duration::from_secs(3);

/// A private home with a daemon in it. Dropping it ends the daemon and removes the home; so does a signal.
pub(super) struct Stage {
    set: Arc<Mutex<Option<Set>>>,
    app: Arc<AtomicBool>,
}

/// What there is to put away.
struct Set {
    home: Home,
    paths: Paths,
    daemon: JoinHandle<Result<(), DaemonError>>,
}

impl Stage {
    /// Starts the daemon and waits until it answers.
    pub(super) fn set(home: Home, paths: Paths, config: Config) -> Result<Self, CliError> {
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
        let set = Arc::new(Mutex::new(Some(Set { home, paths, daemon })));
        let stage = Self { set, app: Arc::default() };
        stage.watch()?;
        Ok(stage)
    }

    /// Runs `work`, during which a signal is left to the app, which puts the terminal back and returns.
    pub(super) fn during_app<T>(&self, work: impl FnOnce() -> T) -> T {
        self.app.store(true, Ordering::SeqCst);
        let result = work();
        self.app.store(false, Ordering::SeqCst);
        result
    }

    /// Puts everything away at the first signal that would end the process.
    fn watch(&self) -> Result<(), CliError> {
        let (set, app) = (Arc::clone(&self.set), Arc::clone(&self.app));
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
                if app.load(Ordering::SeqCst) {
                    thread::sleep(APP_ENDS);
                }
                end(&set);
                process::exit(INTERRUPTED);
            })
            .map(drop)
            .map_err(|error| CliError::new(Exit::Internal, format_args!("cannot start a thread: {error}")))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        end(&self.set);
    }
}

/// Ends the daemon, waits for it, and removes the home; the second caller waits for the first.
fn end(set: &Mutex<Option<Set>>) {
    let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(Set { home, paths, daemon }) = set.take() else { return };
    if !daemon.is_finished() {
        // A daemon that got the same signal ends by itself and need not answer.
        stop(paths);
    }
    drop(daemon.join());
    drop(home);
}

/// Asks the daemon to end; where that cannot be asked, it is ending already.
fn stop(paths: Paths) {
    let connect = Connect { spawn: false, ..Connect::private(paths) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let (Ok(client), Ok(runtime)) = (connect.lazy(), runtime) {
        let _gone = runtime.block_on(client.shutdown());
    }
}
