//! What was learned of a scope, as text that the store does not read: what its vocabulary adds to the built-in one, and how near its strangers stand.
//! It follows from the claims: no truth, never synced.

use rusqlite::Connection;

use super::{Reader, Result, Store, log, open};
use crate::domain::Scope;

/// Of what is kept here: the bridge from plain words to those of a scope, and what was learned of its strangers.
const BRIDGE: &str = "calibration";
const STRANGERS: &str = "strangers";

impl Store {
    /// Keeps the bridge of a scope in place of the last one; an unknown scope has none.
    pub fn put_calibration(&mut self, scope: &Scope, text: &str) -> Result<()> {
        self.put_learned(BRIDGE, scope, text)
    }

    /// Keeps what was learned of a scope's strangers in place of the last; an unknown scope has none.
    pub fn put_strangers(&mut self, scope: &Scope, text: &str) -> Result<()> {
        self.put_learned(STRANGERS, scope, text)
    }

    fn put_learned(&self, what: &str, scope: &Scope, text: &str) -> Result<()> {
        match log::known_scope(&self.reader.db, scope)? {
            Some(n) => open::set(&self.reader.db, &name(what, n), text),
            None => Ok(()),
        }
    }
}

impl Reader {
    /// The bridge of a scope, where there is one.
    pub fn calibration(&self, scope: &Scope) -> Result<Option<String>> {
        self.learned(BRIDGE, scope)
    }

    /// What was learned of a scope's strangers, where something was.
    pub fn strangers(&self, scope: &Scope) -> Result<Option<String>> {
        self.learned(STRANGERS, scope)
    }

    fn learned(&self, what: &str, scope: &Scope) -> Result<Option<String>> {
        match log::known_scope(&self.db, scope)? {
            Some(n) => open::setting(&self.db, &name(what, n)),
            None => Ok(None),
        }
    }
}

/// Drops the bridge of a scope: a word of it may be one that was redacted.
pub(super) fn forget(db: &Connection, scope: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM settings WHERE name = ?1")?.execute([name(BRIDGE, scope)])?;
    Ok(())
}

fn name(what: &str, scope: i64) -> String {
    format!("{what}.{scope}")
}
