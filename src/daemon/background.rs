//! What the daemon does when nobody waits, on one thread that sleeps until something changed.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use crate::{api::ApiError, engine::Engine};

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

impl Background {
    /// Starts it: what waits from earlier is done at once.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub(super) fn start(engine: &Arc<Engine>) -> std::io::Result<Self> {
        let ending = Arc::new(AtomicBool::new(false));
        let (wake, woken) = channel();
        engine.on_change({
            let wake = wake.clone();
            Box::new(move |_| {
                let _over = wake.send(());
            })
        });
        // The engine goes when the daemon ends, not when this thread does.
        let (engine, told) = (Arc::downgrade(engine), Arc::clone(&ending));
        let (done, over) = channel::<()>();
        thread::Builder::new().name("background".into()).spawn(move || {
            work(&engine, &told, &woken);
            drop(done);
        })?;
        Ok(Self { ending, wake, over })
    }
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

/// A time that passed is a reason to look; an owner that is gone is none.
fn timed_out(error: RecvTimeoutError) -> Result<(), ()> {
    match error {
        RecvTimeoutError::Timeout => Ok(()),
        RecvTimeoutError::Disconnected => Err(()),
    }
}

fn work(engine: &Weak<Engine>, ending: &AtomicBool, woken: &Receiver<()>) {
    loop {
        while !ending.load(Ordering::Relaxed) {
            let Some(engine) = engine.upgrade() else { return };
            match step(&engine) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(%error, "work in the background failed");
                    break;
                }
            }
        }
        if ending.load(Ordering::Relaxed) {
            return;
        }
        // A model that failed may be well again without anything having changed here.
        let waits = engine.upgrade().is_some_and(|engine| engine.embedder_failed());
        let woke = if waits { woken.recv_timeout(RETRY).or_else(timed_out) } else { woken.recv().map_err(drop) };
        if woke.is_err() {
            return;
        }
        // Many changes are one reason to look.
        while woken.try_recv().is_ok() {}
    }
}

/// One piece of work; whether there was any.
fn step(engine: &Engine) -> Result<bool, ApiError> {
    Ok(engine.fill_vectors()? > 0 || engine.learn_strangers()? || engine.deepen_next()?)
}
