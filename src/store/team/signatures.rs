//! Checks the signatures of incoming events before they are stored.

use std::{sync::mpsc, thread};

use crate::{
    domain::{SignedEvent, event::EventError, verified::Verified},
    store::Result,
};

/// The size of a batch. Fewer events than this are checked on the calling thread.
const BATCH: usize = 64;

/// Passes events to `take` in order and in batches, after checking their signatures and bodies. Another thread checks
/// the next batch while `take` works on the previous one.
///
/// # Errors
/// A forged event, even if `take` failed before. Neither it nor any later event is passed on. The caller must roll back
/// what `take` did with the earlier ones.
pub(super) fn each<'a>(events: &[&'a SignedEvent], mut take: impl FnMut(&[Verified<'a>]) -> Result<()>) -> Result<()> {
    if events.len() < BATCH {
        return take(&check(events)?);
    }
    let (send, checked) = mpsc::channel();
    thread::scope(|scope| {
        let check_all = move || {
            for batch in events.chunks(BATCH) {
                let batch = check(batch);
                let forged = batch.is_err();
                if send.send(batch).is_err() || forged {
                    break;
                }
            }
        };
        let Ok(checking) = thread::Builder::new().spawn_scoped(scope, check_all) else {
            // The system cannot start a thread.
            return take(&check(events)?);
        };
        let mut taken = Ok(());
        let mut count = 0;
        for batch in checked {
            let batch = batch?;
            count += batch.len();
            // Check the rest even if `take` failed, because a forged event is the more important error.
            if taken.is_ok() {
                taken = take(&batch);
            }
        }
        if checking.join().is_err() || count != events.len() {
            return Err(EventError::Malformed("its signature cannot be checked".into()).into());
        }
        taken
    })
}

/// Checks all events and returns them together.
pub(super) fn all<'a>(events: &[&'a SignedEvent]) -> Result<Vec<Verified<'a>>> {
    let mut verified = Vec::with_capacity(events.len());
    each(events, |batch| {
        verified.extend_from_slice(batch);
        Ok(())
    })?;
    Ok(verified)
}

fn check<'a>(events: &[&'a SignedEvent]) -> Result<Vec<Verified<'a>>, EventError> {
    events.iter().map(|event| event.verified()).collect()
}
