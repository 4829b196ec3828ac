//! Hashes of requests, which distinguish a retry from another request with the same idempotency key.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Act, Committed, Result, Store, commit::ActVectors};
use crate::domain::{EventId, OpId};

/// A hash of the content of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHash(pub [u8; 16]);

impl Store {
    /// Commits an act like [`Store::commit`], with the hash of its request and the vectors of claims that the act
    /// creates or refers to.
    ///
    /// # Errors
    /// Also those of [`Store::put_vectors`]; then nothing is stored.
    pub fn commit_asked(
        &mut self,
        act: Act,
        asked: Option<RequestHash>,
        vectors: Option<ActVectors<'_>>,
    ) -> Result<Committed> {
        self.write_act(act, vectors, asked)
    }

    /// Returns whether an act with this key was stored for another request. Acts without a hash, such as redacted ones,
    /// match every request.
    pub fn was_asked_otherwise(&self, op: &OpId, asked: RequestHash) -> Result<bool> {
        let mut read = self.reader.db.prepare_cached("SELECT hash FROM requests WHERE op = ?1")?;
        let known: Option<[u8; 16]> = read.query_row([op.0], |row| row.get(0)).optional()?;
        Ok(known.is_some_and(|known| known != asked.0))
    }
}

/// Stores the hash of the request of an act, in the transaction that stores the act.
pub(super) fn store_hash(db: &Connection, op: &OpId, asked: RequestHash) -> Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO requests (op, hash) VALUES (?1, ?2)")?.execute(params![op.0, asked.0])?;
    Ok(())
}

/// Deletes the hashes of the requests of the act that stored an event, and of those that refer to the event: its
/// redacted text could be guessed from them.
pub(super) fn forget(db: &Connection, op: &OpId, event: &EventId) -> Result<()> {
    db.prepare_cached(
        "DELETE FROM requests WHERE op = ?1
            OR op IN (SELECT e.op FROM edges x JOIN events e ON e.n = x.src WHERE x.dst = ?2)",
    )?
    .execute(params![op.0, event.0])?;
    Ok(())
}
