//! Computes the contradictions among active claims by their stored norms.

use std::collections::BTreeSet;

use minicbor::Decode;
use rusqlite::{Connection, params};

use super::{Projector, claim_index, claims, contests::SuccessionLine};
use crate::{
    domain::{
        CardId, ClaimId, ClaimKind, Norm, Status,
        derive::{CardKind, Lineage},
        guard_report::ComparedClaim,
    },
    store::{
        Result, levels,
        log::{self, id_at},
    },
};

/// The fields of a body that are compared.
#[derive(Default, Decode)]
#[cbor(map)]
struct ComparedBody {
    #[n(0)]
    statement: Option<String>,
    #[n(3)]
    norms: Option<Vec<Norm>>,
}

/// The field of a header that is compared.
#[derive(Default, Decode)]
#[cbor(map)]
struct ComparedHeader {
    #[n(13)]
    claim_kind: Option<ClaimKind>,
}

/// The compared parts of a stored claim.
pub(super) struct StoredNorms {
    kind: ClaimKind,
    written: u64,
    words: ComparedBody,
}

impl StoredNorms {
    fn of(kind: ClaimKind, wall: i64, body: Option<&[u8]>) -> Self {
        let words = body.and_then(|bytes| minicbor::decode(bytes).ok()).unwrap_or_default();
        Self { kind, written: wall.unsigned_abs(), words }
    }

    pub(super) fn compared(&self) -> ComparedClaim<'_> {
        ComparedClaim {
            kind: self.kind,
            statement: self.words.statement.as_deref().unwrap_or_default(),
            norms: self.words.norms.as_deref().unwrap_or_default(),
            written: self.written,
        }
    }
}

/// Reads the compared parts of a claim or a refused new claim; without statement and norms if it was redacted.
pub(super) fn stored_norms(db: &Connection, n: i64) -> Result<StoredNorms> {
    let mut read = db.prepare_cached("SELECT header, wall, body FROM events WHERE n = ?1")?;
    Ok(read.query_row([n], |row| {
        let kind = minicbor::decode::<ComparedHeader>(row.get_ref(0)?.as_blob()?).unwrap_or_default();
        Ok(StoredNorms::of(kind.claim_kind.unwrap_or_default(), row.get(1)?, row.get_ref(2)?.as_blob_or_null()?))
    })?)
}

impl Projector<'_> {
    /// Recomputes which active claims, of its scope and of the organisation's other level, each changed claim
    /// contradicts. They share a key, so the index finds them.
    pub(super) fn update_contradictions(&mut self) -> Result<()> {
        let mut claims: BTreeSet<i64> = self.dirty.status_changed.clone();
        claims.extend(&self.dirty.texts);
        claims.extend(&self.dirty.settled);
        for n in &self.dirty.status_changed {
            let claim = log::load(self.db, *n)?;
            claims.extend(levels::narrowed_with(self.db, &claim.id, claim.scope)?);
        }
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
        if !claims::kind_of(kind)?.is_guarded() || claims::status_of(status) != Status::Active {
            return Ok(found);
        }
        let ours = stored_norms(self.db, n)?;
        let compared = ours.compared();
        if compared.norms.is_empty() {
            return Ok(found);
        }
        let line = SuccessionLine { db: self.db, scope };
        let mut scopes = vec![scope];
        let level = levels::above(self.db, scope)?;
        scopes.extend(level);
        scopes.extend(levels::below(self.db, scope)?);
        let mut sharing = self.db.prepare_cached(
            "SELECT e.id, c.kind, c.wall, e.body FROM terms t
             JOIN postings p ON p.term = t.n JOIN claims c ON c.n = p.claim JOIN events e ON e.n = p.claim
             WHERE t.scope = ?1 AND t.term = ?2 AND p.claim <> ?3",
        )?;
        let keys = self.check.pairs(compared.norms);
        for (theirs_in, key) in scopes.iter().flat_map(|scope| keys.iter().map(move |key| (scope, key))) {
            let mut rows = sharing.query(params![theirs_in, claim_index::pair_term(key), n])?;
            while let Some(row) = rows.next()? {
                let theirs = StoredNorms::of(
                    claims::kind_of(row.get(1)?)?,
                    row.get(2)?,
                    row.get_ref(3)?.as_blob_or_null().ok().flatten(),
                );
                if self.check.contradiction(compared, theirs.compared()).is_some() {
                    let other = id_at(row, 0)?;
                    if found.contains(&other) || line.is_settled(&id, &other)? {
                        continue;
                    }
                    // If the project narrowed the organisation's claim, its own claim is compared instead.
                    let narrowed = match *theirs_in {
                        theirs_in if theirs_in == scope => false,
                        theirs_in if Some(theirs_in) == level => levels::is_narrowed(self.db, &other, scope)?,
                        project => levels::is_narrowed(self.db, &id, project)?,
                    };
                    if !narrowed {
                        found.insert(other);
                    }
                }
            }
        }
        Ok(found)
    }

    pub(super) fn carded_opponents(&self, id: &ClaimId) -> Result<BTreeSet<ClaimId>> {
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

    pub(super) fn write_contradiction(&mut self, one: ClaimId, other: ClaimId, holds: bool) -> Result<()> {
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
