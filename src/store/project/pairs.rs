//! Contradictions among active claims, by the norms that they carry.

use std::collections::BTreeSet;

use minicbor::Decode;
use rusqlite::{Connection, params};

use super::{Projector, claims, contests::Line, index};
use crate::{
    domain::{
        CardId, ClaimId, Norm, Status,
        derive::{CardKind, Lineage},
    },
    store::{
        Result,
        log::{self, id_at},
    },
};

/// The one part of a body that is compared.
#[derive(Default, Decode)]
#[cbor(map)]
struct Norms {
    #[n(3)]
    norms: Option<Vec<Norm>>,
}

/// The norms of an event; none where it carries none, or was redacted.
pub(super) fn norms(db: &Connection, n: i64) -> Result<Vec<Norm>> {
    let mut read = db.prepare_cached("SELECT body FROM events WHERE n = ?1")?;
    let norms = read.query_row([n], |row| {
        let bytes = row.get_ref(0)?.as_blob_or_null()?;
        Ok(bytes.and_then(|bytes| minicbor::decode::<Norms>(bytes).ok()).unwrap_or_default())
    })?;
    Ok(norms.norms.unwrap_or_default())
}

impl Projector<'_> {
    /// Recomputes which active claims each changed claim contradicts. They share a subject, so the index finds them.
    pub(super) fn update_contradictions(&mut self) -> Result<()> {
        let mut claims: BTreeSet<i64> = self.dirty.flipped.clone();
        claims.extend(&self.dirty.texts);
        claims.extend(&self.dirty.settled);
        for n in claims {
            let (id, scope): (ClaimId, i64) = self
                .db
                .prepare_cached("SELECT id, scope FROM claims WHERE n = ?1")?
                .query_row([n], |row| Ok((id_at(row, 0)?, row.get(1)?)))?;
            let new = self.opponents(n, id, scope)?;
            let old = self.carded_opponents(&id)?;
            for other in old.symmetric_difference(&new) {
                self.write_contradiction(id, *other, new.contains(other))?;
            }
        }
        Ok(())
    }

    fn opponents(&self, n: i64, id: ClaimId, scope: i64) -> Result<BTreeSet<ClaimId>> {
        let mut found = BTreeSet::new();
        let mut read = self.db.prepare_cached("SELECT kind, status FROM claims WHERE n = ?1")?;
        let (kind, status): (i64, i64) = read.query_row([n], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if !claims::kind_of(kind).is_guarded() || claims::status_of(status) != Status::Active {
            return Ok(found);
        }
        let Some(body) = log::body(self.db, n)? else { return Ok(found) };
        let ours = body.norms.unwrap_or_default();
        if ours.is_empty() {
            return Ok(found);
        }
        let line = Line { db: self.db, scope };
        let terms = self.check.index_terms(&ours, body.statement.as_deref().unwrap_or_default());
        let mut sharing = self.db.prepare_cached(
            "SELECT e.id, e.body FROM terms t JOIN postings p ON p.term = t.n JOIN events e ON e.n = p.claim
             WHERE t.scope = ?1 AND t.term = ?2 AND p.claim <> ?3",
        )?;
        for subject in &terms.subjects {
            let mut rows = sharing.query(params![scope, index::subject_term(subject), n])?;
            while let Some(row) = rows.next()? {
                let theirs = row.get_ref(1)?.as_blob_or_null().ok().flatten();
                let theirs = theirs.and_then(|bytes| minicbor::decode::<Norms>(bytes).ok()).unwrap_or_default();
                if self.check.contradiction(&ours, theirs.norms.as_deref().unwrap_or_default()).is_some() {
                    let other = id_at(row, 0)?;
                    if !found.contains(&other) && !line.is_settled(&id, &other)? {
                        found.insert(other);
                    }
                }
            }
        }
        Ok(found)
    }

    fn carded_opponents(&self, id: &ClaimId) -> Result<BTreeSet<ClaimId>> {
        let mut read = self.db.prepare_cached(
            "SELECT other.member FROM card_members mine
             JOIN cards c ON c.n = mine.card
             JOIN card_sources s ON s.card = c.id AND s.kind = ?2
             JOIN card_members other ON other.card = c.n AND other.member <> ?1
             WHERE mine.member = ?1",
        )?;
        let rows = read.query_map(params![id.0, CardKind::Contradiction as i64], |row| id_at(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn write_contradiction(&mut self, one: ClaimId, other: ClaimId, holds: bool) -> Result<()> {
        let card = CardId::of_members(&[one, other]);
        let (kind, src) = (CardKind::Contradiction as i64, one.min(other));
        if holds {
            self.db
                .prepare_cached("INSERT OR IGNORE INTO card_sources (card, kind, src, open) VALUES (?1, ?2, ?3, 1)")?
                .execute(params![card.0, kind, src.0])?;
            self.dirty.members.entry(card).or_default().extend([one, other]);
        } else {
            self.db
                .prepare_cached("DELETE FROM card_sources WHERE card = ?1 AND kind = ?2 AND src = ?3")?
                .execute(params![card.0, kind, src.0])?;
        }
        self.dirty.cards.insert(card);
        Ok(())
    }
}
