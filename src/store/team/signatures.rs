//! Checks the signatures of incoming events before they are stored.

use std::{sync::mpsc, thread};

use crate::{
    domain::{SignedEvent, event::EventError, verified::Verified},
    store::Result,
};

/// Below this many events, signatures are checked on the calling thread; and so many are handed on at a time.
const BATCH: usize = 64;

/// Hands events on in their order, each after its signature and body were checked: the next ones are checked on another
/// thread while `take` works on those before.
///
/// # Errors
/// A forged event, whatever `take` says: it is never handed on, nor is anything after it. What `take` did with those before is
/// the caller's to roll back.
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
            // The system gives no thread.
            return take(&check(events)?);
        };
        let mut taken = Ok(());
        let mut count = 0;
        for batch in checked {
            let batch = batch?;
            count += batch.len();
            // Whatever else went wrong, that an event is forged says more: the rest is still checked.
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

/// [`each`], all at once.
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
