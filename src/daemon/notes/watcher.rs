//! Watches the followed files: reads a file when it is saved, and checks all files at intervals in case an event was
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

/// How long nothing must happen to a file before it is read: editors save in several steps.
const SETTLED: Duration = Duration::from_millis(200);

/// How long a file that is saved without pause waits at most.
const LONGEST: Duration = Duration::from_millis(800);

/// What the watcher is told.
pub(super) enum Notice {
    /// Other files are followed.
    Files,
    /// Something happened at these paths.
    Changed(Vec<PathBuf>),
    /// The daemon ends.
    End,
}

/// The thread that watches and reads, and the one that compares claims meanwhile. Both end with their owner, once what they do is done.
pub(in crate::daemon) struct NotesWatcher {
    wake: Sender<Notice>,
    threads: Vec<JoinHandle<()>>,
}

impl NotesWatcher {
    /// Starts it, if the settings say so. Looks at everything first.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(in crate::daemon) fn start(keeper: &Arc<NotesKeeper>) -> std::io::Result<Option<Self>> {
        if !keeper.settings.watch {
            return Ok(None);
        }
        let (wake, woken) = channel();
        *lock(&keeper.wake) = Some(wake.clone());
        let (compare, asked) = channel();
        let (reader, comparer) = (Arc::clone(keeper), Arc::clone(keeper));
        let events = wake.clone();
        let threads = [
            thread::Builder::new().name("notes".into()).spawn(move || work(&reader, &woken, &events, &compare))?,
            thread::Builder::new().name("notes-compare".into()).spawn(move || compare_when_asked(&comparer, &asked))?,
        ];
        Ok(Some(Self { wake, threads: threads.into() }))
    }
}

impl Drop for NotesWatcher {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.wake.send(Notice::End);
        for thread in self.threads.drain(..) {
            // It only fails if the thread panicked, which is in the log.
            let _over = thread.join();
        }
    }
}

fn work(keeper: &NotesKeeper, woken: &Receiver<Notice>, events: &Sender<Notice>, compare: &Sender<()>) {
    let every = Duration::from_secs(60 * u64::from(keeper.settings.every_minutes));
    let mut watcher = watch(events.clone());
    let mut folders = BTreeSet::new();
    follow(keeper, watcher.as_mut(), &mut folders);
    pass(keeper, None, compare);
    let mut next = Instant::now() + every;
    let mut waiting: BTreeSet<PathBuf> = BTreeSet::new();
    let (mut first, mut last) = (Instant::now(), Instant::now());
    loop {
        let due = if waiting.is_empty() { next } else { (last + SETTLED).min(first + LONGEST) };
        match woken.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(Notice::End) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(Notice::Files) => {
                follow(keeper, watcher.as_mut(), &mut folders);
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
                    follow(keeper, watcher.as_mut(), &mut folders);
                    next = Instant::now() + every;
                }
            }
        }
    }
}

/// Begins to watch; without the system's help files are only looked at from time to time.
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

/// Watches the folders of all followed files: a file that an editor replaces is another file of the same name.
fn follow(keeper: &NotesKeeper, watcher: Option<&mut RecommendedWatcher>, folders: &mut BTreeSet<PathBuf>) {
    let Some(watcher) = watcher else { return };
    let wanted: BTreeSet<PathBuf> =
        lock(&keeper.list).files.keys().filter_map(|path| path.parent()).map(Path::to_owned).collect();
    for gone in folders.difference(&wanted) {
        // The folder may be gone, too.
        let _gone = watcher.unwatch(gone);
    }
    for folder in wanted.difference(folders) {
        if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
            tracing::warn!(folder = %folder.display(), %error, "cannot watch a folder of rule files");
        }
    }
    *folders = wanted;
}

/// Reads what changed, and has it compared.
fn pass(keeper: &NotesKeeper, only: Option<&Path>, compare: &Sender<()>) {
    report(read_changes::read(keeper, &keeper.owner, only));
    // There is nobody to compare once the daemon ends.
    let _ended = compare.send(());
}

/// Compares claims whenever it is asked to, until nobody can ask any more. Requests that came meanwhile are one.
fn compare_when_asked(keeper: &NotesKeeper, asked: &Receiver<()>) {
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
