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

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind};

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
    /// The files or folders at these paths have changed. `removed`: they were removed or renamed.
    Changed { paths: Vec<PathBuf>, removed: bool },
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
    /// Starts the threads, if the settings say so and the list of followed files could be read. All files are checked
    /// first.
    ///
    /// # Errors
    /// If a thread cannot be created.
    pub(in crate::daemon) fn start(keeper: &Arc<NotesKeeper>) -> std::io::Result<Option<Self>> {
        if !keeper.settings.watch || lock(&keeper.list).usable().is_err() {
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
    let mut folders = WatchedFolders { watcher: watch(events.clone()), watched: BTreeSet::new() };
    folders.update(keeper);
    pass(keeper, None, compare);
    let mut next = Instant::now() + every;
    let mut waiting: BTreeSet<PathBuf> = BTreeSet::new();
    // Whether a folder was removed, or may have been created again.
    let mut folders_changed = false;
    let (mut first, mut last) = (Instant::now(), Instant::now());
    loop {
        let idle = waiting.is_empty() && !folders_changed;
        let due = if idle { next } else { (last + QUIET_TIME).min(first + MAX_DELAY) };
        match woken.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(Notice::End) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(Notice::Files) => {
                folders.update(keeper);
                if lock(&keeper.list).files.values().any(|file| file.scanned_at.is_none()) {
                    pass(keeper, None, compare);
                }
            }
            Ok(Notice::Changed { paths, removed }) => {
                last = Instant::now();
                if idle {
                    first = last;
                }
                folders_changed |= removed && folders.forget(&paths);
                let list = lock(&keeper.list);
                folders_changed |= list.files.keys().any(|file| folders.lacks_folder_of(file, &paths));
                waiting.extend(paths.into_iter().filter(|path| list.files.contains_key(path)));
            }
            Err(RecvTimeoutError::Timeout) => {
                for path in std::mem::take(&mut waiting) {
                    pass(keeper, Some(&path), compare);
                }
                if std::mem::take(&mut folders_changed) {
                    // Their files may have changed before they were watched.
                    for folder in folders.update(keeper) {
                        pass(keeper, Some(&folder), compare);
                    }
                }
                if Instant::now() >= next {
                    pass(keeper, None, compare);
                    folders.update(keeper);
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
            let removed = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
            let _ended = events.send(Notice::Changed { paths: event.paths, removed });
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "cannot watch a rule file"),
    };
    notify::recommended_watcher(on_event)
        .inspect_err(|error| tracing::warn!(%error, "cannot watch files: they are checked periodically instead"))
        .ok()
}

/// The folders of followed files. Folders are watched instead of files, since editors often replace a file.
struct WatchedFolders {
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

impl WatchedFolders {
    /// Watches the folders of all followed files, except those that do not exist. Returns those that were not watched
    /// before.
    fn update(&mut self, keeper: &NotesKeeper) -> Vec<PathBuf> {
        let wanted: BTreeSet<PathBuf> =
            lock(&keeper.list).files.keys().filter_map(|path| path.parent()).map(Path::to_owned).collect();
        let unwanted: Vec<PathBuf> =
            self.watched.iter().filter(|folder| !wanted.contains(*folder) || !folder.is_dir()).cloned().collect();
        self.forget(&unwanted);
        let Some(watcher) = &mut self.watcher else { return Vec::new() };
        let mut added = Vec::new();
        for folder in wanted.difference(&self.watched).filter(|folder| folder.is_dir()) {
            match watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => added.push(folder.clone()),
                Err(error) => {
                    tracing::warn!(folder = %folder.display(), %error, "cannot watch a folder of rule files");
                }
            }
        }
        self.watched.extend(added.iter().cloned());
        added
    }

    /// Stops watching those of these paths that are watched folders. Returns whether there are any. A folder that was
    /// removed and created again must be watched anew.
    fn forget(&mut self, paths: &[PathBuf]) -> bool {
        let mut any = false;
        for path in paths.iter().filter(|path| self.watched.remove(*path)) {
            any = true;
            if let Some(watcher) = &mut self.watcher {
                // Fails if the folder no longer exists.
                let _gone = watcher.unwatch(path);
            }
        }
        any
    }

    /// Whether a followed file is below one of these paths, in a folder that is not watched.
    fn lacks_folder_of(&self, file: &Path, paths: &[PathBuf]) -> bool {
        let unwatched = file.parent().is_some_and(|folder| !self.watched.contains(folder));
        unwatched && paths.iter().any(|path| file.starts_with(path))
    }
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
        api::NotesAddRequest,
        config::{Config, Paths},
        engine::{Engine, EngineConfig},
    };

    fn keeper(dir: &Path) -> Arc<NotesKeeper> {
        let config = EngineConfig::new(dir.join("ergo.db"), SigningKey::from_bytes(&[7; 32]));
        let mut settings = Config { org_id: "acme".into(), who: "ada".into(), ..Config::default() };
        settings.notes.watch = true;
        let engine = Arc::new(Engine::open(config).unwrap());
        Arc::new(NotesKeeper::open(&Paths::under(dir), &settings, engine))
    }

    #[test]
    fn a_folder_that_was_deleted_and_created_again_is_watched_again() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("api");
        let folder = root.join("web");
        let file = folder.join("CLAUDE.md");
        let write = |rule: &str| {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, format!("# Rules\n\n- {rule}\n")).unwrap();
        };
        write("Use tabs in Go files.");
        let keeper = keeper(dir.path());
        let watcher = NotesWatcher::start(&keeper).unwrap().unwrap();
        let paths = vec![root.display().to_string()];
        keeper.add(&NotesAddRequest { paths, ..NotesAddRequest::default() }).unwrap();
        let is_read = |rule: &str| {
            let until = Instant::now() + Duration::from_secs(30);
            while lock(&keeper.list).files.values().all(|file| file.rules.iter().all(|found| found.statement != rule)) {
                assert!(Instant::now() < until, "{rule} was not read");
                thread::sleep(Duration::from_millis(20));
            }
        };
        is_read("Use tabs in Go files.");
        std::fs::remove_dir_all(&folder).unwrap();
        write("Use UTC in all logs.");
        is_read("Use UTC in all logs.");
        write("Run the linter before each commit.");
        is_read("Run the linter before each commit.");
        drop(watcher);
    }

    #[test]
    fn the_end_of_the_daemon_does_not_wait_for_a_whole_comparison() {
        let dir = tempfile::tempdir().unwrap();
        let keeper = keeper(dir.path());
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
