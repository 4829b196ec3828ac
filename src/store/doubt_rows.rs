//! The queue of doubts: pairs of active claims of one scope or organisation that may contradict each other and that
//! nobody has judged.
//!
//! The queue is neither a log nor part of the projection: it can be computed again, stays on this device, and contains
//! no text. A pair stops waiting when it is judged or on a card, and while one of its claims is not active.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    Lookup, Reader, Result, Store, commit,
    log::{self, id_at},
    open,
};
use crate::domain::{CardId, ClaimId, DoubtBand, EventId, Scope, derive::CardKind};

/// The most pairs of one scope. Beyond it, the pairs whose newer claim is oldest are deleted.
const MAX_PAIRS_IN_SCOPE: usize = 1_000;

/// A pair of claims to be queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewDoubt {
    /// The claim that was written later.
    pub newer: ClaimId,
    pub older: ClaimId,
    /// The key of both statements, by which judgements are found.
    pub pair: EventId,
    /// The band of the gate: how likely a contradiction is.
    pub band: DoubtBand,
}

impl NewDoubt {
    /// Returns the id of the pair, which is that of the card that it would have.
    pub fn id(&self) -> CardId {
        CardId::of_members(&[self.newer, self.older])
    }
}

/// A pair that waits for a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoubtRow {
    /// The id of the pair, which is that of the card that it would have.
    pub id: CardId,
    /// The scope of both claims. For claims of two levels, the project, in which both hold; for claims of two projects,
    /// the scope of the newer one.
    pub scope: Scope,
    /// The claim that was written later.
    pub newer: ClaimId,
    pub older: ClaimId,
    /// The key of both statements.
    pub pair: EventId,
    /// The band of the gate: how likely a contradiction is.
    pub band: DoubtBand,
    /// The bits of the judges that gave no verdict.
    pub tried: u32,
}

/// Waiting pairs with counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueuedDoubts {
    /// The newest pairs, newest first.
    pub items: Vec<DoubtRow>,
    /// The number of waiting pairs of each scope; scopes without any are left out.
    pub scopes: Vec<(Scope, usize)>,
}

/// A query of the waiting pairs: `doubts d` with its newer claim `a`, its older claim `b` and its scope `s`. Binds ?1
/// and ?2 to [`UNRELATED_CARD_KINDS`].
macro_rules! waiting {
    ($select:literal, $rest:literal) => {
        concat!(
            $select,
            " FROM doubts d JOIN claims a ON a.id = d.newer JOIN claims b ON b.id = d.older
               JOIN scopes sa ON sa.n = a.scope JOIN scopes sb ON sb.n = b.scope
               JOIN scopes s ON s.n = iif(sa.project = '*', b.scope, a.scope)
             WHERE a.status = 0 AND b.status = 0 AND a.redacted = 0 AND b.redacted = 0
               AND (a.scope = b.scope OR sa.org = sb.org AND substr(sa.org, 1, 1) <> '@')
               AND NOT EXISTS (SELECT 1 FROM edges x JOIN events e ON e.n = x.src
                   WHERE x.dst = d.pair AND x.role = 5 AND e.effective = 1
                     AND (e.scope = s.n OR e.scope = b.scope AND sa.project <> '*' AND sb.project <> '*'))
               AND NOT EXISTS (SELECT 1 FROM card_members m JOIN cards k ON k.n = m.card
                   JOIN card_members o ON o.card = m.card AND o.member = d.older
                   WHERE m.member = d.newer AND k.kind NOT IN (?1, ?2) AND (k.open = 1 OR k.settled IS NOT NULL)) ",
            $rest
        )
    };
}

/// The kinds of cards that do not concern a pair of stored claims.
const UNRELATED_CARD_KINDS: [i64; 2] = [CardKind::Refused as i64, CardKind::Held as i64];

fn rate_name(judge: u32) -> String {
    format!("judging.rate.{judge}")
}

fn read_doubt(row: &Row<'_>) -> rusqlite::Result<DoubtRow> {
    Ok(DoubtRow {
        id: CardId(row.get(0)?),
        scope: Scope { org_id: row.get(1)?, project: row.get(2)? },
        newer: id_at(row, 3)?,
        older: id_at(row, 4)?,
        pair: id_at(row, 5)?,
        band: if row.get::<_, i64>(6)? == 1 { DoubtBand::Ask } else { DoubtBand::Mention },
        tried: row.get(7)?,
    })
}

/// Deletes the pairs of a redacted claim, whose words could be guessed from the key of both statements.
pub(super) fn forget(db: &Connection, claim: &ClaimId) -> Result<()> {
    db.prepare_cached("DELETE FROM doubts WHERE newer = ?1 OR older = ?1")?.execute([claim.0])?;
    Ok(())
}

impl Store {
    /// Queues pairs and returns how many are new. Known pairs stay unchanged.
    pub fn queue_doubts(&mut self, doubts: &[NewDoubt]) -> Result<usize> {
        if doubts.is_empty() {
            return Ok(0);
        }
        let tx = commit::begin(&mut self.reader)?;
        let mut new = 0;
        let mut scopes = BTreeSet::new();
        for doubt in doubts {
            let band = i64::from(doubt.band == DoubtBand::Ask);
            // A claim may have been redacted since the comparison.
            let added = tx
                .prepare_cached(
                    "INSERT OR IGNORE INTO doubts (id, newer, older, pair, band) SELECT ?1, ?2, ?3, ?4, ?5
                     WHERE NOT EXISTS (SELECT 1 FROM claims WHERE id IN (?2, ?3) AND redacted = 1)",
                )?
                .execute(params![doubt.id().0, doubt.newer.0, doubt.older.0, doubt.pair.0, band])?;
            if added == 0 {
                continue;
            }
            new += added;
            let mut scope = tx.prepare_cached("SELECT scope FROM claims WHERE id = ?1")?;
            scopes.extend(scope.query_row([doubt.newer.0], |row| row.get::<_, i64>(0)).optional()?);
        }
        for scope in scopes {
            // CROSS JOIN makes SQLite read the few pairs of the queue first, and not the many claims.
            tx.prepare_cached(
                "DELETE FROM doubts WHERE n IN (
                     SELECT d.n FROM doubts d CROSS JOIN claims c ON c.id = d.newer
                     WHERE c.scope = ?1
                     ORDER BY c.wall DESC, c.tick DESC, d.n DESC LIMIT -1 OFFSET ?2)",
            )?
            .execute(params![scope, MAX_PAIRS_IN_SCOPE])?;
        }
        tx.commit()?;
        Ok(new)
    }

    /// Records that judges, given by their bits, gave no verdict on a pair, so that they are not asked again.
    pub fn note_tried(&mut self, id: &CardId, judges: u32) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        tx.prepare_cached("UPDATE doubts SET tried = tried | ?2 WHERE id = ?1")?.execute(params![id.0, judges])?;
        tx.commit()
    }

    /// Stores how many tokens and how much time a judge, given by its bit, needs for a pair, as text that the store
    /// does not interpret.
    pub fn put_judging_rate(&mut self, judge: u32, text: &str) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        open::set(&tx, &rate_name(judge), text)?;
        tx.commit()
    }
}

impl Reader {
    /// Returns the pairs that wait for a verdict, newest first, and their number in each scope.
    pub fn doubts(&self, scope: Option<&Scope>, limit: usize) -> Result<QueuedDoubts> {
        self.snapshot(|reader| {
            let Some(log::WantedScope(scope)) = log::wanted_scope(&reader.db, scope)? else {
                return Ok(QueuedDoubts::default());
            };
            let [refused, held] = UNRELATED_CARD_KINDS;
            let mut count = reader.db.prepare_cached(waiting!(
                "SELECT s.org, s.project, count(*)",
                "AND (?3 IS NULL OR s.n = ?3) GROUP BY s.n ORDER BY s.org, s.project"
            ))?;
            let counted = count.query_map(params![refused, held, scope], |row| {
                Ok((Scope { org_id: row.get(0)?, project: row.get(1)? }, row.get(2)?))
            })?;
            let scopes = counted.collect::<rusqlite::Result<_>>()?;
            let mut read = reader.db.prepare_cached(waiting!(
                "SELECT d.id, s.org, s.project, d.newer, d.older, d.pair, d.band, d.tried",
                "AND (?3 IS NULL OR s.n = ?3) ORDER BY a.wall DESC, a.tick DESC, d.band DESC, d.n LIMIT ?4"
            ))?;
            let rows = read.query_map(params![refused, held, scope, limit], read_doubt)?;
            Ok(QueuedDoubts { items: rows.collect::<rusqlite::Result<_>>()?, scopes })
        })
    }

    /// Returns the newest waiting pair, of a scope or of any, that not all of these judges, given by their bits, have
    /// tried.
    pub fn next_doubt(&self, scope: Option<&Scope>, judges: u32) -> Result<Option<DoubtRow>> {
        let Some(log::WantedScope(scope)) = log::wanted_scope(&self.db, scope)? else {
            return Ok(None);
        };
        let [refused, held] = UNRELATED_CARD_KINDS;
        let mut read = self.db.prepare_cached(waiting!(
            "SELECT d.id, s.org, s.project, d.newer, d.older, d.pair, d.band, d.tried",
            "AND d.tried & ?3 <> ?3 AND (?4 IS NULL OR s.n = ?4) ORDER BY a.wall DESC, a.tick DESC, d.band DESC, d.n LIMIT 1"
        ))?;
        Ok(read.query_row(params![refused, held, judges, scope], read_doubt).optional()?)
    }

    /// Finds a waiting pair by its id or a prefix of it.
    pub fn find_doubt(&self, prefix: &str) -> Result<Lookup<DoubtRow>> {
        let Some((low, high)) = super::read::id_range(prefix) else { return Ok(Lookup::None) };
        let [refused, held] = UNRELATED_CARD_KINDS;
        let mut read = self.db.prepare_cached(waiting!(
            "SELECT d.id, s.org, s.project, d.newer, d.older, d.pair, d.band, d.tried",
            "AND d.id BETWEEN ?3 AND ?4 LIMIT 10"
        ))?;
        let rows = read.query_map(params![refused, held, low, high], read_doubt)?;
        Ok(Lookup::of(rows.collect::<rusqlite::Result<_>>()?))
    }

    /// Returns what [`Store::put_judging_rate`] stored for a judge.
    pub fn judging_rate(&self, judge: u32) -> Result<Option<String>> {
        open::setting(&self.db, &rate_name(judge))
    }

    /// Finds a pair of the queue, waiting or not, by its id or a prefix of it; `None` if there is not exactly one.
    pub fn known_doubt(&self, prefix: &str) -> Result<Option<CardId>> {
        let Some((low, high)) = super::read::id_range(prefix) else { return Ok(None) };
        let mut read = self.db.prepare_cached("SELECT id FROM doubts WHERE id BETWEEN ?1 AND ?2 LIMIT 2")?;
        let found = read.query_map([low, high], |row| Ok(CardId(row.get(0)?)))?;
        let found = found.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(if let [one] = found.as_slice() { Some(*one) } else { None })
    }
}
