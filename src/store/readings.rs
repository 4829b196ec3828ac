//! Readings: what a language model answered about a statement, so that it is asked once.
//!
//! They are neither events nor part of the projection: they follow from the statement and the normaliser, stay on this machine, and can be made again. A
//! rebuild keeps them; a redaction drops those of its words.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Reader, Result, Store, commit, log, project::subject_term};
use crate::domain::{ClaimId, Scope};

/// The key of a reading: a hash of the statement, ignoring white space.
fn key(statement: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/reading/1");
    hasher.update(super::project::collapsed(statement).as_bytes());
    *hasher.finalize().as_bytes()
}

impl Store {
    /// Keeps what a normaliser's language model answered about a statement; a later answer takes the place of an earlier one.
    pub fn put_reading(&mut self, statement: &str, normaliser: &str, answer: &str) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        put(&tx, statement, normaliser, answer)?;
        tx.commit()?;
        Ok(())
    }

    /// [`Store::put_reading`] of a stored claim; nothing if its words were redacted while the model read them.
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
    /// What a normaliser's language model answered about a statement, where it was asked.
    pub fn reading(&self, statement: &str, normaliser: &str) -> Result<Option<String>> {
        let mut read =
            self.db.prepare_cached("SELECT answer FROM readings WHERE statement = ?1 AND normaliser = ?2")?;
        Ok(read.query_row(params![key(statement), normaliser], |row| row.get(0)).optional()?)
    }

    /// How many active guarded claims of a scope have a norm about this canonical subject.
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

/// Drops what was read of a statement.
pub(super) fn forget(db: &Connection, statement: &str) -> Result<()> {
    db.prepare_cached("DELETE FROM readings WHERE statement = ?1")?.execute([key(statement)])?;
    Ok(())
}
