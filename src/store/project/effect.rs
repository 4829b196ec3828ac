//! Computes which events have effect: those that no event with effect undoes.

use rusqlite::params;

use super::Projector;
use crate::{
    domain::derive,
    store::{
        Result,
        log::{self, EdgeRole, LoadedEvent},
    },
};

impl Projector<'_> {
    /// Decides whether a new event has effect, and returns it; decides again about the events that it undoes.
    pub(super) fn apply_effect(&mut self, event: &LoadedEvent) -> Result<bool> {
        let effective = self.decide(event)?;
        if !effective {
            self.write_effect(event.n, false)?;
        }
        if derive::is_undo(&event.kind) {
            self.decide_targets(event)?;
        }
        Ok(effective)
    }

    /// Returns whether an event has effect, considering the known undo events.
    fn decide(&self, event: &LoadedEvent) -> Result<bool> {
        let undoers = log::pointing_at(self.db, &event.id, EdgeRole::Target, event.scope)?;
        let undoers = undoers.iter().filter(|undo| {
            derive::is_undo(&undo.kind) && derive::is_local(&undo.header) == derive::is_local(&event.header)
        });
        Ok(derive::is_effective(&event.kind, undoers.map(|undo| undo.effective)))
    }

    /// Decides again whether the targets of an undo event have effect, and if one of them is an undo event, also about
    /// its targets.
    pub(super) fn decide_targets(&mut self, undo: &LoadedEvent) -> Result<()> {
        let mut next = undo.header.targets.clone();
        while let Some(id) = next.pop() {
            let Some(target) = log::load_id(self.db, &id)? else { continue };
            if target.scope != undo.scope {
                continue;
            }
            let effective = self.decide(&target)?;
            if effective == target.effective {
                continue;
            }
            self.write_effect(target.n, effective)?;
            if derive::is_undo(&target.kind) {
                next.extend(&target.header.targets);
            }
            self.mark_dirty(&LoadedEvent { effective, ..target })?;
        }
        Ok(())
    }

    fn write_effect(&self, n: i64, effective: bool) -> Result<()> {
        self.db.prepare_cached("UPDATE events SET effective = ?2 WHERE n = ?1")?.execute(params![n, effective])?;
        Ok(())
    }
}
