//! Watches the followed files: reads a file after it is saved, and checks all files at intervals in case an event was
//! missed.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::{NotesKeeper, lock, read_changes};
use crate::api::{ApiError, NotesRun};

/// The time without events after which changed files are read, since editors save in several steps.
const QUIET_TIME: Duration = Duration::from_millis(200);

/// The maximum delay before changed files are read, if events do not stop.
const MAX_DELAY: Duration = Duration::from_millis(800);

/// How long the end of the daemon waits for a comparison of claims, which may take minutes. An interrupted comparison
/// is repeated after the next start.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// A notice to the watcher.
pub(super) enum Notice {
    /// The list of followed files has changed.
    Files,
    /// The files or folders at these paths have changed.
    Changed(Vec<PathBuf>),
    /// The daemon ends.
    End,
}

/// A handle to the thread that watches and reads files, and to the one that compares claims. When it is dropped, both
/// end, the first one after its current file.
pub(in crate::daemon) struct NotesWatcher {
    wake: Sender<Notice>,
    reader: Option<JoinHandle<()>>,
    /// Closed once the comparing thread has released the engine.
    compared: Receiver<()>,
}

impl NotesWatcher {
    /// Starts the threads, if the settings say so. All files are checked first.
    ///
    /// # Errors
    /// If a thread cannot be created.
    pub(in crate::daemon) fn start(keeper: &Arc<NotesKeeper>) -> std::io::Result<Option<Self>> {
        if !keeper.settings.watch {
            return Ok(None);
        }
        let (wake, woken) = channel();
        *lock(&keeper.wake) = Some(wake.clone());
        let (compare, asked) = channel();
        let (reader, comparer) = (Arc::clone(keeper), Arc::clone(keeper));
        let events = wake.clone();
        let reader =
            thread::Builder::new().name("notes".into()).spawn(move || work(&reader, &woken, &events, &compare))?;
        let (done, compared) = channel::<()>();
        thread::Builder::new().name("notes-compare".into()).spawn(move || {
            compare_on_request(&comparer, &asked);
            drop((comparer, done));
        })?;
        Ok(Some(Self { wake, reader: Some(reader), compared }))
    }
}

impl Drop for NotesWatcher {
    fn drop(&mut self) {
        // Sending fails if the thread has already ended.
        let _ended = self.wake.send(Notice::End);
        if let Some(reader) = self.reader.take() {
            // Joining fails only if the thread panicked, which is logged.
            let _over = reader.join();
        }
        let _late = self.compared.recv_timeout(END_TIMEOUT);
    }
}

fn work(keeper: &NotesKeeper, woken: &Receiver<Notice>, events: &Sender<Notice>, compare: &Sender<()>) {
    let every = Duration::from_secs(60 * u64::from(keeper.settings.every_minutes));
    let mut watcher = watch(events.clone());
    let mut folders = BTreeSet::new();
    watch_folders(keeper, watcher.as_mut(), &mut folders);
    pass(keeper, None, compare);
    let mut next = Instant::now() + every;
    let mut waiting: BTreeSet<PathBuf> = BTreeSet::new();
    let (mut first, mut last) = (Instant::now(), Instant::now());
    loop {
        let due = if waiting.is_empty() { next } else { (last + QUIET_TIME).min(first + MAX_DELAY) };
        match woken.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(Notice::End) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(Notice::Files) => {
                watch_folders(keeper, watcher.as_mut(), &mut folders);
                if lock(&keeper.list).files.values().any(|file| file.scanned_at.is_none()) {
                    pass(keeper, None, compare);
                }
            }
            Ok(Notice::Changed(paths)) => {
                last = Instant::now();
                if waiting.is_empty() {
                    first = last;
                }
                let list = lock(&keeper.list);
                waiting.extend(paths.into_iter().filter(|path| list.files.contains_key(path)));
            }
            Err(RecvTimeoutError::Timeout) => {
                for path in std::mem::take(&mut waiting) {
                    pass(keeper, Some(&path), compare);
                }
                if Instant::now() >= next {
                    pass(keeper, None, compare);
                    watch_folders(keeper, watcher.as_mut(), &mut folders);
                    next = Instant::now() + every;
                }
            }
        }
    }
}

/// Creates the watcher of the file system. Without it (`None`), files are only checked at intervals.
fn watch(events: Sender<Notice>) -> Option<RecommendedWatcher> {
    let on_event = move |event: notify::Result<notify::Event>| match event {
        Ok(event) if !event.kind.is_access() => {
            let _ended = events.send(Notice::Changed(event.paths));
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "cannot watch a rule file"),
    };
    notify::recommended_watcher(on_event)
        .inspect_err(|error| tracing::warn!(%error, "cannot watch files: they are checked periodically instead"))
        .ok()
}

/// Watches the folders of all followed files. Folders are watched instead of files, since editors often replace a file.
fn watch_folders(keeper: &NotesKeeper, watcher: Option<&mut RecommendedWatcher>, folders: &mut BTreeSet<PathBuf>) {
    let Some(watcher) = watcher else { return };
    let wanted: BTreeSet<PathBuf> =
        lock(&keeper.list).files.keys().filter_map(|path| path.parent()).map(Path::to_owned).collect();
    for gone in folders.difference(&wanted) {
        // Fails if the folder no longer exists.
        let _gone = watcher.unwatch(gone);
    }
    for folder in wanted.difference(folders) {
        if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
            tracing::warn!(folder = %folder.display(), %error, "cannot watch a folder of rule files");
        }
    }
    *folders = wanted;
}

/// Reads the files that changed, and requests a comparison.
fn pass(keeper: &NotesKeeper, only: Option<&Path>, compare: &Sender<()>) {
    report(read_changes::read(keeper, &keeper.owner, only));
    // Sending fails if the comparing thread has ended.
    let _ended = compare.send(());
}

/// Compares claims after each request, until the channel is closed. Pending requests are handled as one.
fn compare_on_request(keeper: &NotesKeeper, asked: &Receiver<()>) {
    while asked.recv().is_ok() {
        while asked.try_recv().is_ok() {}
        report(read_changes::compare_waiting(keeper, &keeper.owner));
    }
}

fn report(run: Result<NotesRun, ApiError>) {
    match run {
        Ok(run) => {
            for problem in &run.problems {
                tracing::warn!(problem, "a problem while reading rule files");
            }
        }
        Err(error) => tracing::warn!(%error, "cannot read rule files"),
    }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;

    use super::*;
    use crate::{
        config::{Config, Paths},
        engine::{Engine, EngineConfig},
    };

    #[test]
    fn the_end_of_the_daemon_does_not_wait_for_a_whole_comparison() {
        let dir = tempfile::tempdir().unwrap();
        let config = EngineConfig::new(dir.path().join("ergo.db"), SigningKey::from_bytes(&[7; 32]));
        let mut settings = Config::default();
        settings.notes.watch = true;
        let engine = Arc::new(Engine::open(config).unwrap());
        let keeper = Arc::new(NotesKeeper::open(&Paths::under(dir.path()), &settings, engine));
        let comparing = lock(&keeper.comparing);
        let watcher = NotesWatcher::start(&keeper).unwrap().unwrap();
        let (done, over) = channel();
        thread::spawn(move || {
            drop(watcher);
            done.send(())
        });
        assert!(over.recv_timeout(5 * END_TIMEOUT).is_ok());
        drop(comparing);
    }
}
