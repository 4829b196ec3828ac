//! Stores events from peers, announces them to clients, and queues them for the models.

use std::{collections::BTreeMap, slice};

use crate::{
    api::{ApiError, Change},
    domain::{CardId, ClaimId, EventId, Scope, roster::is_roster_scope},
    engine::Engine,
    store::{Reader, Store, StoreError, SyncImport, SyncImported},
};

impl Engine {
    /// Stores events of a team: see [`Store::import_synced`]. The rules open cards at once; the models judge new claims
    /// afterwards, in the background.
    ///
    /// # Errors
    /// If an event is forged or malformed, or the store fails, nothing is stored.
    pub fn import_synced(&self, import: &SyncImport) -> Result<SyncImported, ApiError> {
        self.import_and_announce(|store| store.import_synced(import))
    }

    /// Accepts the events of a team that waited in quarantine for their date, if it has come. Cheap if there are none.
    pub fn accept_due(&self, team: EventId) -> Result<(), ApiError> {
        let now = self.now();
        if self.sync_read(|reader| reader.quarantine_is_due(&team, now))? {
            self.import_synced(&SyncImport { team, from: None, events: Vec::new(), document: None, peer: None, now })?;
        }
        Ok(())
    }

    /// Runs an import under the write lock, then announces what it changed.
    pub(super) fn import_and_announce(
        &self,
        take: impl FnOnce(&mut Store) -> Result<SyncImported, StoreError>,
    ) -> Result<SyncImported, ApiError> {
        let (done, changes) = {
            let mut store = self.writer();
            let done = self.noting_damage(take(&mut store))?;
            let changes = changes(store.reader(), &done);
            (done, changes)
        };
        self.after_import(slice::from_ref(&done), changes);
        Ok(done)
    }

    /// Follows up imports: queues the new claims for the models, clears caches if a text was redacted, and announces
    /// the changes. Takes the write lock.
    pub(super) fn after_import(&self, all: &[SyncImported], changes: Vec<Change>) {
        if all.iter().any(|done| done.redacted) {
            self.forget_texts();
        }
        self.judge_later(all.iter().flat_map(|done| done.stored.iter().chain(&done.readmitted)).copied());
        for change in changes {
            self.tell(change);
        }
    }
}

/// Returns one change for each scope in which something changed, and one for the roster. The import is committed, so a
/// store that cannot be read is no error.
pub(super) fn changes(reader: &Reader, done: &SyncImported) -> Vec<Change> {
    or_one_for_all(changes_by_scope(reader, done))
}

/// Returns the changes, or, if they cannot be read, one without a scope that stands for all.
fn or_one_for_all(changes: Result<Vec<Change>, StoreError>) -> Vec<Change> {
    changes.unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot read what an import changed");
        let summary = "Events arrived from the team".to_owned();
        vec![Change { act: "sync".to_owned(), summary, ..Change::default() }]
    })
}

fn changes_by_scope(reader: &Reader, done: &SyncImported) -> Result<Vec<Change>, StoreError> {
    let mut by_scope: BTreeMap<Scope, (Vec<ClaimId>, Vec<CardId>)> = BTreeMap::new();
    for id in &done.claims {
        if let Some(row) = reader.event(id)?.filter(|row| !is_roster_scope(&row.scope)) {
            by_scope.entry(row.scope).or_default().0.push(*id);
        }
    }
    for id in &done.cards {
        if let Some(row) = reader.card(id)? {
            by_scope.entry(row.scope).or_default().1.push(*id);
        }
    }
    let act = "sync".to_owned();
    let mut changes: Vec<Change> = by_scope
        .into_iter()
        .map(|(scope, (claims, cards))| Change {
            scope: Some(scope),
            act: act.clone(),
            summary: arrived(claims.len(), cards.len()),
            claims,
            cards,
            ..Change::default()
        })
        .collect();
    let aside = done.quarantined.len() + done.withdrawn.len();
    if done.roster_changed || aside > 0 || !done.forks.is_empty() || changes.is_empty() && !done.stored.is_empty() {
        let summary = match aside {
            0 if done.roster_changed => "The team changed".to_owned(),
            0 => "Events arrived from the team".to_owned(),
            1 => "One event from the team was quarantined".to_owned(),
            count => format!("{count} events from the team were quarantined"),
        };
        changes.push(Change { act: "team".to_owned(), summary, ..Change::default() });
    }
    Ok(changes)
}

fn arrived(claims: usize, cards: usize) -> String {
    let count = |count: usize, one: &str| match count {
        1 => format!("one {one}"),
        count => format!("{count} {one}s"),
    };
    match (claims, cards) {
        (claims, 0) => format!("{} arrived or changed", count(claims, "claim")),
        (0, cards) => format!("{} arrived or changed", count(cards, "card")),
        (claims, cards) => format!("{} and {} arrived or changed", count(claims, "claim"), count(cards, "card")),
    }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;

    use super::*;
    use crate::engine::{EngineConfig, model_results::ModelResults};

    #[test]
    fn an_import_is_announced_although_the_store_cannot_be_read() {
        let changes = or_one_for_all(Err(StoreError::Damaged("a page is missing".into())));
        assert_eq!(changes.iter().map(|change| (&*change.act, &change.scope)).collect::<Vec<_>>(), [("sync", &None)]);
    }

    #[test]
    fn damage_that_sync_meets_is_noted() {
        type Meets = fn(&Engine, StoreError) -> bool;
        let meets: [Meets; 3] = [
            |engine, error| engine.sync_read(|_| Err::<(), _>(error)).is_err(),
            |engine, error| engine.sync_write(|_| Err::<(), _>(error)).is_err(),
            |engine, error| engine.import_and_announce(|_| Err(error)).is_err(),
        ];
        for meet in meets {
            let dir = tempfile::tempdir().unwrap();
            let engine =
                Engine::open(EngineConfig::new(dir.path().join("store.db"), SigningKey::from_bytes(&[7; 32]))).unwrap();
            assert!(meet(&engine, StoreError::BadCursor("x".into())) && engine.damage().is_none());
            assert!(meet(&engine, StoreError::Damaged("a page is missing".into())) && engine.damage().is_some());
            assert!(engine.check_writable().is_err());
        }
    }

    #[test]
    fn a_redaction_by_a_peer_clears_what_was_kept_of_texts() {
        let dir = tempfile::tempdir().unwrap();
        let engine =
            Engine::open(EngineConfig::new(dir.path().join("store.db"), SigningKey::from_bytes(&[7; 32]))).unwrap();
        let card = CardId([1; 32]);
        for redacted in [false, true] {
            engine.held_results.keep(card, ModelResults::default());
            engine.import_and_announce(|_| Ok(SyncImported { redacted, ..SyncImported::default() })).unwrap();
            assert_eq!(engine.held_results.get(&card).is_none(), redacted);
        }
    }
}
