//! The calibration of a scope, as text that the store does not interpret: its bridge (vocabulary in addition to the
//! built-in one) and its unrelated baseline. Both are computed from the claims and never synced.

use rusqlite::Connection;

use super::{Reader, Result, Store, commit, log, open};
use crate::domain::Scope;

/// Names of the settings: the bridge from plain words to those of a scope, and the unrelated baseline.
const BRIDGE: &str = "calibration";
const UNRELATED_BASELINE: &str = "strangers";

impl Store {
    /// Replaces the bridge of a scope. Does nothing for an unknown scope.
    pub fn put_calibration(&mut self, scope: &Scope, text: &str) -> Result<()> {
        self.put_scope_setting(BRIDGE, scope, text)
    }

    /// Replaces the unrelated baseline of a scope. Does nothing for an unknown scope.
    pub fn put_unrelated_baseline(&mut self, scope: &Scope, text: &str) -> Result<()> {
        self.put_scope_setting(UNRELATED_BASELINE, scope, text)
    }

    fn put_scope_setting(&mut self, what: &str, scope: &Scope, text: &str) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        let Some(n) = log::known_scope(&tx, scope)? else { return Ok(()) };
        open::set(&tx, &name(what, n), text)?;
        tx.commit()
    }
}

impl Reader {
    /// Returns the bridge of a scope, if it was computed.
    pub fn calibration(&self, scope: &Scope) -> Result<Option<String>> {
        self.scope_setting(BRIDGE, scope)
    }

    /// Returns the unrelated baseline of a scope, if it was measured.
    pub fn unrelated_baseline(&self, scope: &Scope) -> Result<Option<String>> {
        self.scope_setting(UNRELATED_BASELINE, scope)
    }

    fn scope_setting(&self, what: &str, scope: &Scope) -> Result<Option<String>> {
        match log::known_scope(&self.db, scope)? {
            Some(n) => open::setting(&self.db, &name(what, n)),
            None => Ok(None),
        }
    }
}

/// Deletes the bridge of a scope, which may contain a redacted word.
pub(super) fn forget(db: &Connection, scope: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM settings WHERE name = ?1")?.execute([name(BRIDGE, scope)])?;
    Ok(())
}

fn name(what: &str, scope: i64) -> String {
    format!("{what}.{scope}")
}
