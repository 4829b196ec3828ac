//! Redaction: removes bodies and all copies of their text.

use std::collections::BTreeSet;

use rusqlite::params;

use super::Projector;
use crate::{
    domain::{
        EventId,
        derive::{self, local},
        event::EventKind,
    },
    store::{
        Result, calibration, doubt_rows, levels,
        log::{self, EdgeRole, LoadedEvent},
        readings, requests, vectors,
    },
};

impl Projector<'_> {
    /// Deletes the bodies that a new event redacts, and the new event's own body if an earlier event redacts it.
    pub(super) fn apply_redactions(&mut self, event: &LoadedEvent) -> Result<()> {
        let mut suspects: BTreeSet<i64> = BTreeSet::from([event.n]);
        if derive::is_redact(&event.kind) {
            for target in &event.header.targets {
                self.collect_suspects(target, event.scope, &mut suspects)?;
            }
        } else if derive::is_local_kind(&event.kind, local::SETTLED) {
            for target in &event.header.targets {
                self.collect_refusals(target, event.scope, &mut suspects)?;
            }
        } else if derive::is_unstored(&event.kind) {
            self.collect_refusals(&derive::group_of(event.id, &event.header), event.scope, &mut suspects)?;
        } else if event.header.creates_claim() {
            self.collect_suspects(&event.id, event.scope, &mut suspects)?;
        }
        for n in suspects {
            let event = log::load(self.db, n)?;
            if self.is_redacted(&event)? {
                self.drop_body(&event)?;
            }
        }
        Ok(())
    }

    /// Collects the event with this id, and the local events that may contain its words.
    fn collect_suspects(&self, id: &EventId, scope: i64, suspects: &mut BTreeSet<i64>) -> Result<()> {
        suspects.extend(log::row_number(self.db, id)?);
        for event in levels::pointing_at(self.db, id, scope)? {
            if quotes(&event) {
                suspects.insert(event.n);
            }
        }
        for settled in log::pointing_at(self.db, id, EdgeRole::Successor, scope)? {
            if derive::is_local_kind(&settled.kind, local::SETTLED) {
                for new_claim in &settled.header.targets {
                    self.collect_refusals(new_claim, scope, suspects)?;
                }
            }
        }
        self.collect_refusals(id, scope, suspects)
    }

    /// Collects all refusals of a new claim, with the guard's evidence.
    fn collect_refusals(&self, new_claim: &EventId, scope: i64, suspects: &mut BTreeSet<i64>) -> Result<()> {
        let mut refusals = log::pointing_at(self.db, new_claim, EdgeRole::Seen, scope)?;
        refusals.extend(log::load_id(self.db, new_claim)?);
        for refusal in refusals {
            if derive::is_unstored(&refusal.kind) {
                suspects.insert(refusal.n);
                let evidence = log::pointing_at(self.db, &refusal.id, EdgeRole::Target, scope)?;
                suspects.extend(evidence.iter().filter(|event| quotes(event)).map(|event| event.n));
            }
        }
        Ok(())
    }

    /// Returns whether a redaction names this event.
    fn is_named(&self, event: &LoadedEvent) -> Result<bool> {
        // The query selects redactions, because thousands of judgements may point to a claim.
        let mut read = self.db.prepare_cached(log::select_loaded!(
            "edges x JOIN events e ON e.n = x.src
             WHERE x.dst = ?1 AND x.role = 0 AND e.scope = ?2 AND e.kind IN ('redact', 'local.redact')"
        ))?;
        let naming = read.query_map(params![event.id.0, event.scope], LoadedEvent::read)?;
        let naming = naming.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(naming.iter().any(|redact| {
            derive::is_redact(&redact.kind) && derive::is_local(&redact.header) == derive::is_local(&event.header)
        }))
    }

    /// Returns whether the body of an event must be deleted: a redaction names it, or an event whose words it contains.
    fn is_redacted(&self, event: &LoadedEvent) -> Result<bool> {
        if self.is_named(event)? {
            return Ok(true);
        }
        if derive::is_unstored(&event.kind) {
            return self.is_new_claim_redacted(&derive::group_of(event.id, &event.header), event.scope);
        }
        if quotes(event) {
            let level = levels::above(self.db, event.scope)?;
            // A found contradiction may be between claims of two projects.
            let anywhere = derive::is_local_kind(&event.kind, local::FOUND);
            for target in &event.header.targets {
                let Some(target) = log::load_id(self.db, target)? else { continue };
                if !anywhere && target.scope != event.scope && Some(target.scope) != level {
                    continue;
                }
                let refusal = derive::is_unstored(&target.kind);
                if self.is_named(&target)?
                    || refusal
                        && self.is_new_claim_redacted(&derive::group_of(target.id, &target.header), target.scope)?
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns whether a redaction names a refused new claim, or the claim that was stored from it.
    fn is_new_claim_redacted(&self, new_claim: &EventId, scope: i64) -> Result<bool> {
        if let Some(first) = log::load_id(self.db, new_claim)?
            && first.scope == scope
            && self.is_named(&first)?
        {
            return Ok(true);
        }
        for settled in log::pointing_at(self.db, new_claim, EdgeRole::Target, scope)? {
            if let (true, Some(claim)) =
                (derive::is_local_kind(&settled.kind, local::SETTLED), settled.header.successor)
                && let Some(claim) = log::load_id(self.db, &claim)?
                && claim.scope == scope
                && self.is_named(&claim)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn drop_body(&mut self, event: &LoadedEvent) -> Result<()> {
        if let Some(body) = log::body(self.db, event.n)? {
            if let Some(statement) = &body.statement {
                readings::forget(self.db, statement)?;
            }
            if event.header.creates_claim() {
                self.unindex(event.n, &body)?;
            }
        }
        let dropped = self
            .db
            .prepare_cached("UPDATE events SET body = NULL, salt = NULL WHERE n = ?1 AND body IS NOT NULL")?
            .execute(params![event.n])?;
        if dropped == 0 {
            return Ok(());
        }
        if matches!(event.kind, EventKind::Judgement(_)) {
            // The key of the pair is computed from hashes that were in the body.
            self.db
                .prepare_cached("DELETE FROM edges WHERE src = ?1 AND role = ?2")?
                .execute([event.n, EdgeRole::Pair as i64])?;
        }
        self.changes.redacted = true;
        requests::forget(self.db, &event.header.op, &event.id)?;
        // The calibration of the scope may contain words of the claim.
        calibration::forget(self.db, event.scope)?;
        if event.header.creates_claim() {
            // A statement can be guessed from its vector.
            vectors::forget(self.db, event.n)?;
            doubt_rows::forget(self.db, &event.id)?;
            self.dirty.texts.insert(event.n);
            self.dirty.rows.insert(event.n);
            self.dirty.touched.insert(event.n);
        }
        // The body may have contained the note that names a card.
        self.mark_card(event)?;
        self.link_card(event)?;
        self.mark_dirty(event)
    }
}

/// Returns whether this is a local event whose body quotes the claims that it points to.
fn quotes(event: &LoadedEvent) -> bool {
    matches!(&event.kind, EventKind::Local(kind) if [local::EVIDENCE, local::FOUND, local::ASKED].contains(&kind.as_str()))
}
