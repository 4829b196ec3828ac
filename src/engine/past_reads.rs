//! Reads of the store as it is or as it was at a time in the past. A past state is a copy projected from the log,
//! cached for the next read of the same time.

use std::sync::{Mutex, PoisonError};

use super::Engine;
use crate::{
    api::ApiError,
    domain::Scope,
    store::{PastMark, Reader},
};

/// A time in the past to read, for one scope or for all.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PastTime {
    pub(super) scope: Option<Scope>,
    /// Milliseconds since the Unix epoch, by event clock.
    pub(super) as_of: u64,
}

impl PastTime {
    /// Returns the time to read of one scope; `None` if the request names no time.
    pub(super) fn of(scope: &Scope, as_of: Option<u64>) -> Option<Self> {
        as_of.map(|as_of| Self { scope: Some(scope.clone()), as_of })
    }
}

/// The copy of the latest past state that was read.
#[derive(Default)]
pub(super) struct PastCache(Mutex<Option<PastCopy>>);

struct PastCopy {
    at: PastTime,
    mark: PastMark,
    /// The number of vectors in the store when the copy was made, which has those of its claims.
    vectors: usize,
    reader: Reader,
}

impl PastCache {
    /// Deletes the copy.
    pub(super) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Engine {
    /// Runs reads on one state of the store: the present one, or a past one.
    pub(super) fn read_at<T>(
        &self,
        at: Option<&PastTime>,
        reads: impl FnOnce(&Reader) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let Some(at) = at else { return self.readers.lend().snapshot(reads) };
        let mark = || self.readers.lend().past_mark(at.scope.as_ref(), at.as_of);
        if mark()?.is_present() {
            return self.readers.lend().snapshot(reads);
        }
        // Reads of other times wait for the lock: a second copy would cost as much again.
        let mut kept = self.past.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Read again, because a text may have been redacted while this read waited.
        let mark = mark()?;
        let vectors = self.readers.lend().vector_count()?;
        let is_kept = |past: &PastCopy| past.at == *at && past.mark == mark && past.vectors == vectors;
        let past = if let Some(past) = kept.take().filter(is_kept) {
            past
        } else {
            let reader = self.readers.lend().past(at.scope.as_ref(), at.as_of)?;
            PastCopy { at: at.clone(), mark, vectors, reader }
        };
        kept.insert(past).reader.snapshot(reads)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicU64, Ordering},
            mpsc::channel,
        },
        thread,
        time::Duration,
    };

    use ed25519_dalek::SigningKey;

    use super::*;
    use crate::{
        api::{ActRequest, Caller, ClaimsQuery, RememberRequest, WriteOutcome},
        engine::EngineConfig,
        guard::Guard,
    };

    #[test]
    fn a_redaction_deletes_the_copy_of_the_past() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicU64::new(1_772_366_400_000));
        let mut config = EngineConfig::new(dir.path().join("ergo.db"), SigningKey::from_bytes(&[7; 32]));
        let ticking = Arc::clone(&clock);
        config.clock = Arc::new(move || ticking.fetch_add(1000, Ordering::Relaxed));
        config.durable = false;
        let engine = Engine::open_with(config, Guard::default()).unwrap();
        let caller = || Caller { org_id: "acme".into(), project: "api".into(), who: "ada".into(), ..Caller::default() };
        let remember = |statement: &str| {
            let (statement, reason) = (statement.to_owned(), Some("r".to_owned()));
            let request = RememberRequest { caller: caller(), statement, reason, ..RememberRequest::default() };
            match engine.remember(request).unwrap() {
                WriteOutcome::Stored(stored) => stored.claim_id,
                other => panic!("not stored: {other:?}"),
            }
        };
        let secret = remember("The token is hunter2");
        let then = clock.fetch_add(1000, Ordering::Relaxed);
        remember("Logs are kept for 30 days");
        let query = ClaimsQuery {
            org_id: Some("acme".into()),
            project: Some("api".into()),
            as_of: Some(then),
            ..ClaimsQuery::default()
        };
        assert_eq!(engine.claims(&query).unwrap().items.len(), 1);
        let is_kept = || engine.past.0.lock().unwrap().is_some();
        assert!(is_kept());
        let request = ActRequest {
            caller: caller(),
            target: secret.to_hex(),
            reason: "a secret".into(),
            ..ActRequest::default()
        };
        engine.redact(request).unwrap();
        assert!(!is_kept());
    }

    #[test]
    fn a_read_of_the_present_does_not_wait_for_one_of_the_past() {
        let dir = tempfile::tempdir().unwrap();
        let config = EngineConfig::new(dir.path().join("ergo.db"), SigningKey::from_bytes(&[7; 32]));
        let engine = Arc::new(Engine::open_with(config, Guard::default()).unwrap());
        let _reading = engine.past.0.lock().unwrap();
        let (done, read) = channel();
        let other = Arc::clone(&engine);
        thread::spawn(move || {
            let query = ClaimsQuery { as_of: Some(other.now()), ..ClaimsQuery::default() };
            done.send(other.claims(&query).map(|page| page.total))
        });
        assert_eq!(read.recv_timeout(Duration::from_mins(1)).unwrap().unwrap(), 0);
    }
}
