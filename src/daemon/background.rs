//! Background work on one thread, which sleeps until something changes: storing held writes whose questions were not
//! answered, stories, vectors, unrelated baselines, the deep stage.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    api::ApiError,
    domain::CardId,
    engine::{Engine, rest_after},
    infer::thread_cpu_time,
};

/// A handle to the thread. When it is dropped, the thread ends after its current piece of work.
pub(super) struct Background {
    ending: Arc<AtomicBool>,
    wake: Sender<()>,
    /// Closed once the thread has released the engine.
    over: Receiver<()>,
}

/// How long the end of the daemon waits for the thread. A batch of vectors is done by then; an answer of a language
/// model may not be.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// The delay before an embedder that failed is called again.
const RETRY_DELAY: Duration = Duration::from_mins(1);

/// The share of one core, in percent, that the reading of stories uses. The deep stage over stored claims uses the same
/// share, the processes of the models included.
const PERCENT: u8 = 50;

/// The share of one core, in percent, while clients write and need the processor themselves.
const PERCENT_BESIDE_WRITES: u8 = 10;

/// The time without a change after which nobody counts as writing, and deferred work is done.
const QUIET: Duration = Duration::from_secs(2);

/// Returns the share of one core that the background uses, in percent.
fn percent(quiet: bool) -> u8 {
    if quiet { PERCENT } else { PERCENT_BESIDE_WRITES }
}

impl Background {
    /// Starts the thread, which begins at once with work from before the start.
    ///
    /// # Errors
    /// If the thread cannot be created.
    pub(super) fn start(engine: &Arc<Engine>) -> std::io::Result<Self> {
        let ending = Arc::new(AtomicBool::new(false));
        let (wake, woken) = wake_on_change(engine);
        // A weak reference, so that the thread does not keep the engine alive after the daemon's end.
        let (engine, stop) = (Arc::downgrade(engine), Arc::clone(&ending));
        let (done, over) = channel::<()>();
        thread::Builder::new().name("background".into()).spawn(move || {
            work(&engine, &stop, &woken);
            drop(done);
        })?;
        Ok(Self { ending, wake, over })
    }
}

/// Returns a channel that receives a message after each change of the store.
pub(super) fn wake_on_change(engine: &Engine) -> (Sender<()>, Receiver<()>) {
    let (wake, woken) = channel();
    engine.on_change({
        let wake = wake.clone();
        Box::new(move |_| {
            let _over = wake.send(());
        })
    });
    (wake, woken)
}

impl Drop for Background {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        // Sending fails if the thread has already ended.
        let _ended = self.wake.send(());
        // The last owner of the engine checkpoints the write-ahead log, so the thread should release it before.
        let _late = self.over.recv_timeout(END_TIMEOUT);
    }
}

/// The budget of processor time of the deep stage over stored claims: after each claim, the pass rests in proportion to
/// the processor time that it used. Time that it waited does not count.
struct PassBudget {
    /// The end of the rest.
    resume_at: Instant,
}

impl PassBudget {
    /// Returns the rest that remains; `None` if it is over.
    fn rest(&self, now: Instant) -> Option<Duration> {
        Some(self.resume_at.saturating_duration_since(now)).filter(|rest| !rest.is_zero())
    }

    /// Starts a rest for the processor time that was used.
    fn spend(&mut self, used: Duration, percent: u8, now: Instant) {
        self.resume_at = now + rest_after(used, percent);
    }
}

/// The schedule of held writes, which are stored when their time for verdicts is over. Finding the next one requires a
/// check of all of them, so it is not done after each change.
#[derive(Default)]
struct HeldWrites {
    /// The time of the last check.
    checked: Option<Instant>,
    /// The time when the next held write is due, as of the last check, in milliseconds since the Unix epoch.
    due: Option<u64>,
    /// The cards whose writes could not be stored since the last check.
    failed: BTreeSet<CardId>,
}

impl HeldWrites {
    /// Stores a held write whose time is over, or records that it cannot be stored. Returns whether there was one.
    fn store_due(&mut self, engine: &Engine) -> Result<bool, ApiError> {
        if self.checked.is_some_and(|at| at.elapsed() < QUIET) {
            return Ok(false);
        }
        let stored = engine.store_unanswered(&mut self.failed);
        if !matches!(stored, Ok(true)) {
            self.failed.clear();
            self.checked = Some(Instant::now());
            self.due = engine.next_unanswered()?;
        }
        stored
    }

    /// Returns the time until the next held write is due, or until the next check if something has changed since the
    /// last one. It is at least [`QUIET`], so that a write that cannot be stored is not tried again and again without a
    /// pause.
    fn pause(&self, engine: &Engine, changed: Instant) -> Option<Duration> {
        if self.checked.is_none_or(|checked| checked < changed) {
            return Some(QUIET);
        }
        let now = (engine.config().clock)();
        self.due.map(|due| Duration::from_millis(due.saturating_sub(now)).max(QUIET))
    }
}

/// The tasks that failed since the thread slept last. They are not tried again before it sleeps.
#[derive(Default)]
struct FailedTasks(BTreeSet<&'static str>);

impl FailedTasks {
    /// Runs a task, unless it has failed or the store is damaged. Logs its error, so that the tasks after it run all
    /// the same, and notes damage of the store. Returns whether there was work.
    fn run(&mut self, engine: &Engine, task: &'static str, work: impl FnOnce() -> Result<bool, ApiError>) -> bool {
        if self.0.contains(task) || engine.damage().is_some() {
            return false;
        }
        work().unwrap_or_else(|error| {
            tracing::warn!(%error, task, "a background task failed");
            engine.note_damage(&error);
            self.0.insert(task);
            false
        })
    }
}

/// Returns the processor time that this thread and the processes of the models have used; `None` if the system does not
/// tell.
fn cpu_time(engine: &Engine) -> Option<Duration> {
    let of_workers: Option<Duration> = engine.models().workers().iter().map(|worker| worker.cpu).sum();
    Some(thread_cpu_time()? + of_workers?)
}

/// Checks the newest claim that waits for the deep stage, unless the pass rests. Returns whether there was one.
fn deepen_claim(engine: &Engine, quiet: bool, budget: &mut PassBudget) -> Result<bool, ApiError> {
    if budget.rest(Instant::now()).is_some() {
        return Ok(false);
    }
    if !engine.deep_stage_has_work() {
        return engine.deepen_next();
    }
    let (worked, used) = measured(|| cpu_time(engine), || engine.deepen_next());
    budget.spend(used, percent(quiet), Instant::now());
    worked
}

/// Calls `work`, and returns by how much a clock of processor time advanced meanwhile; the elapsed time if the clock is
/// not available.
fn measured<T>(clock: impl Fn() -> Option<Duration>, work: impl FnOnce() -> T) -> (T, Duration) {
    let (begun, before) = (Instant::now(), clock());
    let done = work();
    let used = before.zip(clock()).map(|(before, after)| after.saturating_sub(before));
    (done, used.unwrap_or_else(|| begun.elapsed()))
}

fn work(engine: &Weak<Engine>, ending: &AtomicBool, woken: &Receiver<()>) {
    let mut changed = Instant::now();
    let mut budget = PassBudget { resume_at: changed };
    let mut held = HeldWrites::default();
    loop {
        let mut quiet = false;
        let mut failed = FailedTasks::default();
        while !ending.load(Ordering::Relaxed) {
            // Handle all pending messages as one change.
            while woken.try_recv().is_ok() {
                changed = Instant::now();
            }
            quiet = changed.elapsed() >= QUIET;
            let Some(engine) = engine.upgrade() else { return };
            if !step(&engine, quiet, &mut failed, &mut held, &mut budget) {
                break;
            }
        }
        if ending.load(Ordering::Relaxed) {
            return;
        }
        if engine.upgrade().is_none_or(|engine| engine.damage().is_some()) {
            // The damage lasts until the daemon is restarted.
            return;
        }
        let Some((embedder_failed, later, due, rest)) = engine.upgrade().map(|engine| {
            let rest = budget.rest(Instant::now()).filter(|_| engine.deep_stage_has_work());
            (engine.embedder_failed(), engine.reasons_wait(), held.pause(&engine, changed), rest)
        }) else {
            return;
        };
        // A failed model may work again without any change of the store. And deferred work that failed must not be
        // tried again without a pause.
        let pause = if embedder_failed || quiet { RETRY_DELAY } else { QUIET };
        let pause = (embedder_failed || later).then_some(pause).into_iter().chain(due).chain(rest).min();
        let woke = match pause {
            Some(pause) => woken.recv_timeout(pause),
            None => woken.recv().map_err(Into::into),
        };
        match woke {
            Ok(()) => changed = Instant::now(),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Does one piece of work. Returns whether there was any. `quiet`: nothing has changed for [`QUIET`], so deferred work
/// may be done.
fn step(
    engine: &Engine,
    quiet: bool,
    failed: &mut FailedTasks,
    held: &mut HeldWrites,
    budget: &mut PassBudget,
) -> bool {
    failed.run(engine, "held writes", || held.store_due(engine))
        || failed.run(engine, "stories", || read_stories(engine, quiet))
        || failed.run(engine, "vectors", || fill_vectors(engine))
        || failed.run(engine, "unrelated baselines", || engine.refresh_unrelated_baseline())
        || (quiet && failed.run(engine, "vectors of reasons", || engine.fill_reasons()))
        || failed.run(engine, "deep stage", || deepen_claim(engine, quiet, budget))
}

/// Computes a few vectors; if many clients write, rests then, so that the embedder is free for their questions.
fn fill_vectors(engine: &Engine) -> Result<bool, ApiError> {
    if !engine.was_crowded(QUIET) {
        return Ok(engine.fill_vectors()? > 0);
    }
    let (stored, used) = measured(|| cpu_time(engine), || engine.fill_vectors());
    let worked = stored? > 0;
    if worked {
        thread::sleep(rest_after(used, PERCENT_BESIDE_WRITES).min(QUIET));
    }
    Ok(worked)
}

/// Reads a few claims of stories, then rests: each step takes the write lock, and waiting writers must get it in
/// between.
fn read_stories(engine: &Engine, quiet: bool) -> Result<bool, ApiError> {
    let (worked, used) = measured(thread_cpu_time, || engine.read_stories());
    let worked = worked?;
    if worked {
        thread::sleep(rest_after(used, percent(quiet)));
    }
    Ok(worked)
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;

    use super::*;
    use crate::{
        api::{Caller, ErrorCode, RememberRequest},
        domain::ClaimKind,
        engine::EngineConfig,
        infer::FakeModels,
    };

    #[test]
    fn the_pass_rests_as_long_as_it_has_computed() {
        let now = Instant::now();
        let mut budget = PassBudget { resume_at: now };
        assert_eq!(budget.rest(now), None);
        budget.spend(Duration::from_secs(3), PERCENT, now);
        assert_eq!(budget.rest(now + Duration::from_secs(1)), Some(Duration::from_secs(2)));
        assert_eq!(budget.rest(now + Duration::from_secs(3)), None);
    }

    #[test]
    fn a_task_that_failed_is_left_out_and_the_next_one_runs() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        let mut failed = FailedTasks::default();
        let broken = || Err(ApiError::internal("the model is broken"));
        assert!(!failed.run(&engine, "stories", broken) && failed.run(&engine, "vectors", || Ok(true)));
        assert!(!failed.run(&engine, "stories", || Ok(true)), "not before the thread sleeps");
        assert!(engine.damage().is_none());
    }

    #[test]
    fn the_thread_notes_damage_of_the_store_and_ends() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        let mut failed = FailedTasks::default();
        let damaged = || Err(ApiError::new(ErrorCode::Damaged, "the store is damaged: a page is missing"));
        assert!(!failed.run(&engine, "stories", damaged) && engine.damage().is_some());
        assert!(!failed.run(&engine, "vectors", || Ok(true)), "it rests");
        let background = Background::start(&engine).unwrap();
        let ended = background.over.recv_timeout(Duration::from_mins(1));
        assert_eq!(ended, Err(RecvTimeoutError::Disconnected));
    }

    fn engine(folder: &std::path::Path) -> Arc<Engine> {
        let config = EngineConfig::new(folder.join("store.db"), SigningKey::from_bytes(&[7; 32]));
        Arc::new(Engine::open(config).unwrap())
    }

    #[test]
    fn what_was_waited_for_is_not_counted() {
        let (done, used) = measured(thread_cpu_time, || {
            let (_open, woken) = channel::<()>();
            woken.recv_timeout(Duration::from_millis(200)).is_err()
        });
        assert!(done && (used < Duration::from_millis(100) || thread_cpu_time().is_none()), "{used:?}");
        let clock = std::cell::Cell::new(Duration::ZERO);
        let tick = || Some(clock.replace(clock.get() + Duration::from_secs(3)));
        assert_eq!(measured(tick, || ()).1, Duration::from_secs(3));
    }

    #[test]
    fn what_can_wait_is_done_once_nothing_changes_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(folder.path().join("store.db"), SigningKey::from_bytes(&[7; 32]));
        let models = FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text)));
        config.models = Arc::new(models);
        let engine = Arc::new(Engine::open(config).unwrap());
        let background = Background::start(&engine).unwrap();
        let request = RememberRequest {
            caller: Caller { org_id: "acme".into(), project: "api".into(), who: "jane".into(), ..Caller::default() },
            kind: Some(ClaimKind::Decision),
            statement: "Tags are signed".into(),
            reason: Some("nobody can swap one".into()),
            ..RememberRequest::default()
        };
        engine.remember(request).unwrap();
        assert!(engine.reasons_wait());
        let until = Instant::now() + Duration::from_mins(1);
        while engine.reasons_wait() && Instant::now() < until {
            thread::sleep(Duration::from_millis(50));
        }
        assert!(!engine.reasons_wait());
        drop(background);
    }
}
