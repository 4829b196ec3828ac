//! Reads of the store as it is, or as it was: from a copy that is projected from the log, and cached for the next read of that time.

use std::sync::{Mutex, PoisonError};

use super::Engine;
use crate::{
    api::ApiError,
    domain::Scope,
    store::{PastMark, Reader},
};

/// A time to read at: milliseconds since the Unix epoch, by event clock; of one scope, or of all.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PastTime {
    /// The scope that is read; `None` for all.
    pub(super) scope: Option<Scope>,
    /// The time.
    pub(super) as_of: u64,
}

impl PastTime {
    /// Of one scope, if a time was asked for.
    pub(super) fn of(scope: &Scope, as_of: Option<u64>) -> Option<Self> {
        as_of.map(|as_of| Self { scope: Some(scope.clone()), as_of })
    }
}

/// The past state that was read last.
#[derive(Default)]
pub(super) struct PastCache(Mutex<Option<Past>>);

struct Past {
    at: PastTime,
    mark: PastMark,
    /// How many vectors the store had: the copy has those of its claims.
    vectors: usize,
    reader: Reader,
}

impl Engine {
    /// Runs reads on one state of the store: as it is, or as it was.
    pub(super) fn read_at<T>(
        &self,
        at: Option<&PastTime>,
        reads: impl FnOnce(&Reader) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let Some(at) = at else { return self.readers.lend().snapshot(reads) };
        // Who asks about another time waits for this one: a second copy would cost as much again.
        let mut kept = self.past.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = self.readers.lend().past_mark(at.scope.as_ref(), at.as_of)?;
        if mark.is_present() {
            return self.readers.lend().snapshot(reads);
        }
        let vectors = self.readers.lend().vector_count()?;
        let is_kept = |past: &Past| past.at == *at && past.mark == mark && past.vectors == vectors;
        let past = if let Some(past) = kept.take().filter(is_kept) {
            past
        } else {
            let reader = self.readers.lend().past(at.scope.as_ref(), at.as_of)?;
            Past { at: at.clone(), mark, vectors, reader }
        };
        kept.insert(past).reader.snapshot(reads)
    }
}
