//! Readings: the answers of a language model about statements, stored so that it is asked only once.
//!
//! They are neither events nor part of the projection: they depend on the statement and the normaliser, stay on this
//! device, and can be computed again. A rebuild keeps them; a redaction deletes those of the redacted statement.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Reader, Result, Store, commit, log, project::subject_term};
use crate::domain::{ClaimId, Scope};

/// Returns the key of a reading: a hash of the statement, in which runs of white space count as one space.
fn key(statement: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/reading/1");
    hasher.update(super::project::collapsed(statement).as_bytes());
    *hasher.finalize().as_bytes()
}

impl Store {
    /// Stores the answer of a normaliser's language model about a statement, replacing an earlier one.
    pub fn put_reading(&mut self, statement: &str, normaliser: &str, answer: &str) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        put(&tx, statement, normaliser, answer)?;
        tx.commit()?;
        Ok(())
    }

    /// Stores the reading of a stored claim, unless the claim was redacted while the model read it.
    pub fn put_reading_of(&mut self, claim: &ClaimId, statement: &str, normaliser: &str, answer: &str) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        if let Some(n) = log::row_number(&tx, claim)?
            && log::body(&tx, n)?.is_some()
        {
            put(&tx, statement, normaliser, answer)?;
        }
        tx.commit()?;
        Ok(())
    }
}

impl Reader {
    /// Returns the stored answer of a normaliser's language model about a statement.
    pub fn reading(&self, statement: &str, normaliser: &str) -> Result<Option<String>> {
        let mut read =
            self.db.prepare_cached("SELECT answer FROM readings WHERE statement = ?1 AND normaliser = ?2")?;
        Ok(read.query_row(params![key(statement), normaliser], |row| row.get(0)).optional()?)
    }

    /// Counts the active guarded claims of a scope with a norm about this canonical subject.
    pub fn claims_about(&self, scope: &Scope, subject: &str) -> Result<usize> {
        let Some(scope) = log::known_scope(&self.db, scope)? else { return Ok(0) };
        let mut read = self.db.prepare_cached("SELECT df FROM terms WHERE scope = ?1 AND term = ?2")?;
        Ok(read.query_row(params![scope, subject_term(subject)], |row| row.get(0)).optional()?.unwrap_or(0))
    }
}

fn put(db: &Connection, statement: &str, normaliser: &str, answer: &str) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO readings (statement, normaliser, answer) VALUES (?1, ?2, ?3)
         ON CONFLICT (statement, normaliser) DO UPDATE SET answer = excluded.answer",
    )?
    .execute(params![key(statement), normaliser, answer])?;
    Ok(())
}

/// Deletes the readings of a statement.
pub(super) fn forget(db: &Connection, statement: &str) -> Result<()> {
    db.prepare_cached("DELETE FROM readings WHERE statement = ?1")?.execute([key(statement)])?;
    Ok(())
}
