//! Background work, on one thread that sleeps until something changes: overdue questions, stories, vectors, unrelated
//! baselines, the deep stage.

use std::{
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
    engine::{Engine, rest_after},
    infer::thread_cpu_time,
};

/// The thread, as its owner sees it. It ends with its owner, after what it is at.
pub(super) struct Background {
    ending: Arc<AtomicBool>,
    wake: Sender<()>,
    /// Closed once the thread has let go of the engine.
    over: Receiver<()>,
}

/// How long the end of the daemon waits for what the thread is at: a batch of vectors is done by then, a language model may not be.
const PATIENCE: Duration = Duration::from_secs(2);

/// After so long an embedder that failed is asked again.
const RETRY: Duration = Duration::from_mins(1);

/// The share of one core that the reading of stories uses, and that the background pass over stored claims uses, the processes of the models
/// included, in percent.
const PERCENT: u8 = 50;

/// The same while clients write: they need the processor themselves.
const PERCENT_BESIDE_WRITES: u8 = 10;

/// After so long without a change it does what can wait for that.
const QUIET: Duration = Duration::from_secs(2);

/// The share of one core that the background uses.
fn percent(quiet: bool) -> u8 {
    if quiet { PERCENT } else { PERCENT_BESIDE_WRITES }
}

impl Background {
    /// Starts it: what waits from earlier is done at once.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(super) fn start(engine: &Arc<Engine>) -> std::io::Result<Self> {
        let ending = Arc::new(AtomicBool::new(false));
        let (wake, woken) = wake_on_change(engine);
        // The engine goes when the daemon ends, not when this thread does.
        let (engine, stop) = (Arc::downgrade(engine), Arc::clone(&ending));
        let (done, over) = channel::<()>();
        thread::Builder::new().name("background".into()).spawn(move || {
            work(&engine, &stop, &woken);
            drop(done);
        })?;
        Ok(Self { ending, wake, over })
    }
}

/// Returns a channel that gets a message with each change.
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
        // It may have ended already.
        let _ended = self.wake.send(());
        // Whoever lets go of the engine last puts the write-ahead log away.
        let _late = self.over.recv_timeout(PATIENCE);
    }
}

/// What the background pass may use of the processor: after each claim it rests in proportion to the time that it has computed, not waited.
struct PassBudget {
    /// When it may go on.
    from: Instant,
}

impl PassBudget {
    /// Returns how long it still rests.
    fn rest(&self, now: Instant) -> Option<Duration> {
        Some(self.from.saturating_duration_since(now)).filter(|rest| !rest.is_zero())
    }

    /// Notes processor time that was used.
    fn spend(&mut self, used: Duration, percent: u8, now: Instant) {
        self.from = now + rest_after(used, percent);
    }
}

/// Writes that wait for verdicts. All of them are looked at to find the next one that is due, so not after each change.
#[derive(Default)]
struct HeldWrites {
    /// When they were looked at.
    looked: Option<Instant>,
    /// When the next one was due then, in milliseconds since the Unix epoch.
    due: Option<u64>,
}

impl HeldWrites {
    /// Stores one whose time is over; whether there was one.
    fn store_due(&mut self, engine: &Engine) -> Result<bool, ApiError> {
        if self.looked.is_some_and(|at| at.elapsed() < QUIET) {
            return Ok(false);
        }
        if engine.store_unanswered()? {
            return Ok(true);
        }
        (self.looked, self.due) = (Some(Instant::now()), engine.next_unanswered()?);
        Ok(false)
    }

    /// Returns how long nothing is due, at most until they are to be looked at again since something has changed: at least a moment, so that
    /// what cannot be stored is not tried without pause.
    fn pause(&self, engine: &Engine, changed: Instant) -> Option<Duration> {
        if self.looked.is_none_or(|looked| looked < changed) {
            return Some(QUIET);
        }
        let now = (engine.config().clock)();
        self.due.map(|due| Duration::from_millis(due.saturating_sub(now)).max(QUIET))
    }
}

/// The processor time that this thread and the processes of the models have used; `None` if the system does not tell.
fn cpu_time(engine: &Engine) -> Option<Duration> {
    let of_workers: Option<Duration> = engine.models().workers().iter().map(|worker| worker.cpu).sum();
    Some(thread_cpu_time()? + of_workers?)
}

/// Reads the newest claim that waits for the background pass, unless the pass rests.
fn read_claim(engine: &Engine, quiet: bool, budget: &mut PassBudget) -> Result<bool, ApiError> {
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

/// Works, and returns by how much a clock of processor time went on meanwhile; the time that passed, if it does not tell.
fn measured<T>(clock: impl Fn() -> Option<Duration>, work: impl FnOnce() -> T) -> (T, Duration) {
    let (begun, before) = (Instant::now(), clock());
    let done = work();
    let used = before.zip(clock()).map(|(before, after)| after.saturating_sub(before));
    (done, used.unwrap_or_else(|| begun.elapsed()))
}

fn work(engine: &Weak<Engine>, ending: &AtomicBool, woken: &Receiver<()>) {
    let mut changed = Instant::now();
    let mut budget = PassBudget { from: changed };
    let mut held = HeldWrites::default();
    loop {
        let mut quiet = false;
        while !ending.load(Ordering::Relaxed) {
            // Many changes are one reason to look.
            while woken.try_recv().is_ok() {
                changed = Instant::now();
            }
            quiet = changed.elapsed() >= QUIET;
            let Some(engine) = engine.upgrade() else { return };
            match step(&engine, quiet, &mut held, &mut budget) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(%error, "a background task failed");
                    break;
                }
            }
        }
        if ending.load(Ordering::Relaxed) {
            return;
        }
        let Some((failed, later, due, rest)) = engine.upgrade().map(|engine| {
            let rest = budget.rest(Instant::now()).filter(|_| engine.deep_stage_has_work());
            (engine.embedder_failed(), engine.reasons_wait(), held.pause(&engine, changed), rest)
        }) else {
            return;
        };
        // A model that failed may be well again without anything having changed here, and what waited for quiet and could not be done is not tried
        // without pause.
        let pause = if failed || quiet { RETRY } else { QUIET };
        let pause = (failed || later).then_some(pause).into_iter().chain(due).chain(rest).min();
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

/// One piece of work; whether there was any. `quiet`: nothing has changed for a while, and what can wait for that may be done.
fn step(engine: &Engine, quiet: bool, held: &mut HeldWrites, budget: &mut PassBudget) -> Result<bool, ApiError> {
    Ok(held.store_due(engine)?
        || read_stories(engine, quiet)?
        || engine.fill_vectors()? > 0
        || engine.refresh_unrelated_baseline()?
        || (quiet && engine.fill_reasons()?)
        || read_claim(engine, quiet, budget)?)
}

/// Reads a few claims of stories, then rests: each step takes the write lock, and whoever waits for it must get it in between.
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
        api::{Caller, RememberRequest},
        domain::ClaimKind,
        engine::EngineConfig,
        infer::FakeModels,
    };

    #[test]
    fn the_pass_rests_as_long_as_it_has_computed() {
        let now = Instant::now();
        let mut budget = PassBudget { from: now };
        assert_eq!(budget.rest(now), None);
        budget.spend(Duration::from_secs(3), PERCENT, now);
        assert_eq!(budget.rest(now + Duration::from_secs(1)), Some(Duration::from_secs(2)));
        assert_eq!(budget.rest(now + Duration::from_secs(3)), None);
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
