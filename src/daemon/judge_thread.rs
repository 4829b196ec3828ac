//! The thread on which language models judge pairs of claims, and then read stories: it may wait minutes for an answer, and nothing else waits for it.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use super::background::wake_on_change;
use crate::engine::{Engine, rest_after};

/// After so long it looks again whether the rules have read what changed in the stories, which models read after them.
const AFTER_RULES: Duration = Duration::from_secs(1);

/// After so long a judge that failed is asked again.
const RETRY: Duration = Duration::from_mins(10);

/// A handle to the thread. It ends when the handle is dropped; a command that is judging is killed.
pub(super) struct JudgeThread {
    engine: Weak<Engine>,
    ending: Arc<AtomicBool>,
    wake: Sender<()>,
}

impl JudgeThread {
    /// Starts it, unless there is no judge. Pairs that wait from earlier are judged at once.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(super) fn start(engine: &Arc<Engine>) -> std::io::Result<Option<Self>> {
        if engine.config().judges.is_empty() || engine.config().judge_budget == 0 {
            return Ok(None);
        }
        let ending = Arc::new(AtomicBool::new(false));
        let (wake, woken) = wake_on_change(engine);
        let (weak, stop) = (Arc::downgrade(engine), Arc::clone(&ending));
        thread::Builder::new().name("judging".into()).spawn(move || work(&weak, &stop, &woken))?;
        Ok(Some(Self { engine: Arc::downgrade(engine), ending, wake }))
    }
}

impl Drop for JudgeThread {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        if let Some(engine) = self.engine.upgrade() {
            engine.stop_judges();
        }
        // It may have ended already.
        let _ended = self.wake.send(());
    }
}

fn work(engine: &Weak<Engine>, ending: &AtomicBool, woken: &Receiver<()>) {
    while !ending.load(Ordering::Relaxed) {
        let started = Instant::now();
        let judged = engine.upgrade().map(|engine| {
            (engine.judge_or_read_in_background(), engine.config().judge_budget, engine.stories_wait().unwrap_or(false))
        });
        let Some(judged) = judged else {
            return;
        };
        let rest = match judged {
            (Ok(true), percent, _) => Some(rest_after(started.elapsed(), percent)),
            // What the rules do changes nothing that would wake this thread, unless they open a card.
            (Ok(false), _, true) => Some(AFTER_RULES),
            // Until something changes.
            (Ok(false), _, false) => None,
            (Err(error), ..) => {
                if ending.load(Ordering::Relaxed) {
                    return;
                }
                tracing::warn!(%error, "no language model judged pairs of claims or read a story");
                Some(RETRY)
            }
        };
        let from = rest.map(|rest| Instant::now() + rest);
        loop {
            let woke = match from {
                Some(from) => woken.recv_timeout(from.saturating_duration_since(Instant::now())),
                None => woken.recv().map_err(Into::into),
            };
            match woke {
                // A change does not cut a rest short.
                Ok(()) if from.is_some() && !ending.load(Ordering::Relaxed) => {}
                Ok(()) | Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        // Many changes are one reason to look.
        while woken.try_recv().is_ok() {}
    }
}
