//! The thread on which language models judge pairs of claims and then read stories. It may wait minutes for an answer,
//! and nothing else waits for the thread.

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

/// The interval at which the thread checks whether the rules have read the changes of stories. Models read a story only
/// after the rules.
const STORY_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The delay before judges are asked again after a failure.
const RETRY_DELAY: Duration = Duration::from_mins(10);

/// A handle to the thread. When it is dropped, a command that is judging is killed, and the thread ends.
pub(super) struct JudgeThread {
    engine: Weak<Engine>,
    ending: Arc<AtomicBool>,
    wake: Sender<()>,
}

impl JudgeThread {
    /// Starts the thread, which begins at once with pairs from before the start. `None` if there is no judge, or its
    /// budget is 0.
    ///
    /// # Errors
    /// If the thread cannot be created.
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
        // Sending fails if the thread has already ended.
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
            // The rules wake this thread only if they open a card, so check again later.
            (Ok(false), _, true) => Some(STORY_CHECK_INTERVAL),
            // Sleep until something changes.
            (Ok(false), _, false) => None,
            (Err(error), ..) => {
                if ending.load(Ordering::Relaxed) {
                    return;
                }
                tracing::warn!(%error, "no language model judged pairs of claims or read a story");
                Some(RETRY_DELAY)
            }
        };
        let resume_at = rest.map(|rest| Instant::now() + rest);
        loop {
            let woke = match resume_at {
                Some(resume_at) => woken.recv_timeout(resume_at.saturating_duration_since(Instant::now())),
                None => woken.recv().map_err(Into::into),
            };
            match woke {
                // A change does not shorten a rest.
                Ok(()) if resume_at.is_some() && !ending.load(Ordering::Relaxed) => {}
                Ok(()) | Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        // Handle all pending messages as one change.
        while woken.try_recv().is_ok() {}
    }
}
