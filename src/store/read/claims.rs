//! Reads single claims with all details, and finds claims by their attributes.

use std::collections::{BTreeSet, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;

use super::id_range;
use crate::{
    domain::{
        Body, ClaimId, ClaimKind, DeviceId, EventId, EventKind, Flags, Header, Qualifiers, Scope, Status, TextWriter,
        derive, derive::active_heads,
    },
    store::{
        ClaimFilter, ClaimRow, Lookup, Reader, Result,
        log::{self, id_at},
        project::{SuccessionLine, content_hash, events_of_card, kind_code, kind_of, premises_of, status_of},
    },
};

/// The most results of a search for claims with the same statement; those are the best matches.
const MAX_DUPLICATES: usize = 100;

/// A `SELECT` of the columns that [`read_claim`] reads; the argument is the rest of the statement.
macro_rules! select_claim {
    ($rest:literal) => {
        concat!(
            "SELECT c.n, c.id, c.scope, c.kind, c.status, c.undone, c.contested, c.needs_review, c.excepted,
                c.redacted, c.rev, e.header, e.body, s.org, s.project, e.received_from,
                (SELECT name FROM devices WHERE device = e.author),
                (SELECT name FROM devices WHERE device = e.received_from),
                (SELECT person FROM devices WHERE device = e.author), c.dependents
             FROM claims c JOIN events e ON e.n = c.n JOIN scopes s ON s.n = c.scope ",
            $rest
        )
    };
}

/// The row of a claim, before its relations are read.
pub(super) struct ClaimRecord {
    pub(super) n: i64,
    pub(super) scope: i64,
    pub(super) row: ClaimRow,
}

pub(super) fn read_claim(row: &Row<'_>) -> rusqlite::Result<ClaimRecord> {
    let header = log::header_at(row, 11)?;
    let body = row.get_ref(12)?.as_blob_or_null()?;
    let body = body.and_then(|bytes| minicbor::decode::<Body>(bytes).ok()).unwrap_or_default();
    let mut claim = of_event(id_at(row, 1)?, header, body, row.get::<_, i64>(10)?.unsigned_abs());
    claim.kind = kind_of(row.get(3)?)?;
    claim.status = status_of(row.get(4)?);
    // Not the header's scope, which is the scope's name in the team.
    claim.scope = Scope { org_id: row.get(13)?, project: row.get(14)? };
    claim.received_from = row.get::<_, Option<[u8; 32]>>(15)?.map(DeviceId);
    claim.device_name = row.get(16)?;
    claim.received_from_name = row.get(17)?;
    claim.device_person = row.get(18)?;
    claim.dependents = row.get(19)?;
    claim.flags = Flags {
        undone: row.get(5)?,
        contested: row.get(6)?,
        needs_review: row.get(7)?,
        excepted: row.get(8)?,
        redacted: row.get(9)?,
        expired: false,
    };
    Ok(ClaimRecord { n: row.get(0)?, scope: row.get(2)?, row: claim })
}

/// The JSON beside the text of a claim.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ClaimNote {
    text_writer: Option<TextWriter>,
}

/// Builds the claim that an event creates, without derived state.
pub(super) fn of_event(id: EventId, header: Header, body: Body, rev: u64) -> ClaimRow {
    ClaimRow {
        id,
        kind: match header.kind {
            EventKind::FactSet => ClaimKind::Fact,
            _ => header.claim_kind.unwrap_or_default(),
        },
        scope: header.scope,
        status: Status::Active,
        flags: Flags::default(),
        statement: body.statement.unwrap_or_default(),
        reason: body.reason,
        source: body.source,
        who: header.who,
        agent: header.agent,
        text_writer: body.data.as_deref().and_then(|data| serde_json::from_str::<ClaimNote>(data).ok()?.text_writer),
        device: header.author,
        device_name: None,
        device_person: None,
        received_from: None,
        received_from_name: None,
        team: header.team,
        clock: header.clock,
        op: header.op,
        key: body.key,
        key_hash: header.key_hash,
        qualifiers: body.qualifiers.unwrap_or_default(),
        norms: body.norms.unwrap_or_default(),
        normaliser: body.normaliser,
        replaced_by: Vec::new(),
        replaces: Vec::new(),
        replacing_acts: Vec::new(),
        premises: Vec::new(),
        dependents: 0,
        live_acts: Vec::new(),
        causes: Vec::new(),
        closing_reason: None,
        rev,
    }
}

/// Reads the relations of a claim: acts, replaced claims, premises and causes.
pub(super) fn complete(db: &Connection, base: ClaimRecord) -> Result<ClaimRow> {
    let ClaimRecord { n, scope, mut row } = base;
    // An active claim has no live acts, and only a claim that needs review shows its causes.
    if row.status != Status::Active {
        let closing = read_live_acts(db, n, &mut row)?;
        row.closing_reason = closing_reason(db, closing)?;
    }
    read_replaced(db, scope, &mut row)?;
    row.premises = premises_of(db, &row.id, scope)?;
    if row.flags.needs_review {
        let mut causes = db.prepare_cached("SELECT cause FROM causes WHERE claim = ?1 ORDER BY cause")?;
        row.causes = causes.query_map([n], |row| id_at(row, 0))?.collect::<rusqlite::Result<_>>()?;
    }
    Ok(row)
}

fn read_replaced(db: &Connection, scope: i64, row: &mut ClaimRow) -> Result<()> {
    let mut replaced = db.prepare_cached(
        "SELECT c.id, e.id FROM live_acts a JOIN claims c ON c.n = a.claim JOIN events e ON e.n = a.act
         WHERE a.successor = ?1 AND c.scope = ?2 ORDER BY c.wall DESC, c.tick DESC, c.id DESC, e.id",
    )?;
    for found in replaced.query_map(params![row.id.0, scope], |row| Ok((id_at(row, 0)?, id_at(row, 1)?)))? {
        let (claim, act) = found?;
        if row.replaces.last() != Some(&claim) {
            row.replaces.push(claim);
        }
        if act != row.id && !row.replacing_acts.contains(&act) {
            row.replacing_acts.push(act);
        }
    }
    Ok(())
}

/// Reads the acts because of which a claim is not active. Returns the one that explains its status.
fn read_live_acts(db: &Connection, n: i64, row: &mut ClaimRow) -> Result<Option<EventId>> {
    let mut acts = db.prepare_cached(
        "SELECT e.id, a.successor FROM live_acts a JOIN events e ON e.n = a.act WHERE a.claim = ?1
         ORDER BY e.wall, e.tick, e.id",
    )?;
    let (mut retract, mut last) = (None, None);
    for act in acts.query_map([n], |row| Ok((id_at(row, 0)?, log::optional_id_at(row, 1)?)))? {
        let (act, successor) = act?;
        row.live_acts.push(act);
        last = Some(act);
        if successor.is_none() {
            retract = last;
        }
        if let Some(successor) = successor
            && !row.replaced_by.contains(&successor)
        {
            row.replaced_by.push(successor);
        }
    }
    Ok(retract.or(last))
}

/// Returns the reason of the latest live act of the kind that determines the status: a retract has precedence over a
/// supersede.
fn closing_reason(db: &Connection, closing: Option<EventId>) -> Result<Option<String>> {
    let Some(act) = closing else { return Ok(None) };
    match log::row_number(db, &act)? {
        Some(n) => Ok(log::body(db, n)?.and_then(|body| body.reason)),
        None => Ok(None),
    }
}

/// Reads a claim by its id.
pub(super) fn claim(db: &Connection, id: &ClaimId) -> Result<Option<ClaimRow>> {
    let mut read = db.prepare_cached(select_claim!("WHERE c.id = ?1"))?;
    read.query_row([id.0], read_claim).optional()?.map(|base| complete(db, base)).transpose()
}

/// Reads claims by their row numbers, in that order.
pub(super) fn claims_by_number(db: &Connection, numbers: impl IntoIterator<Item = i64>) -> Result<Vec<ClaimRow>> {
    let mut read = db.prepare_cached(select_claim!("WHERE c.n = ?1"))?;
    let mut rows = Vec::new();
    for n in numbers {
        rows.push(complete(db, read.query_row([n], read_claim)?)?);
    }
    Ok(rows)
}

/// Reads claims by their row numbers, in that order, without their relations.
pub(in crate::store) fn bare_claims_by_number(
    db: &Connection,
    numbers: impl IntoIterator<Item = i64>,
) -> Result<Vec<ClaimRow>> {
    let mut read = db.prepare_cached(select_claim!("WHERE c.n = ?1"))?;
    numbers.into_iter().map(|n| Ok(read.query_row([n], read_claim)?.row)).collect()
}

fn claims_with_ids(db: &Connection, ids: impl IntoIterator<Item = ClaimId>) -> Result<Vec<ClaimRow>> {
    let mut rows = Vec::new();
    for id in ids {
        rows.extend(claim(db, &id)?);
    }
    Ok(rows)
}

impl Reader {
    /// Returns claims by their ids, in that order and without their relations. Ids that are not claims are left out.
    pub fn bare_claims_with_ids(&self, ids: &[ClaimId]) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(select_claim!("WHERE c.id = ?1"))?;
            let mut rows = Vec::with_capacity(ids.len());
            for id in ids {
                rows.extend(read.query_row([id.0], read_claim).optional()?.map(|record| record.row));
            }
            Ok(rows)
        })
    }

    pub fn claim(&self, id: &ClaimId) -> Result<Option<ClaimRow>> {
        self.snapshot(|reader| claim(&reader.db, id))
    }

    /// Returns those of these claims that are active.
    pub fn active_among(&self, ids: &[ClaimId]) -> Result<HashSet<ClaimId>> {
        let mut read = self.db.prepare_cached("SELECT 1 FROM claims WHERE id = ?1 AND status = 0")?;
        let mut active = HashSet::new();
        for id in ids {
            if read.exists([id.0])? {
                active.insert(*id);
            }
        }
        Ok(active)
    }

    /// Finds a claim by its id or a prefix of it.
    pub fn find_claim(&self, prefix: &str) -> Result<Lookup<ClaimId>> {
        let Some((low, high)) = id_range(prefix) else { return Ok(Lookup::None) };
        let mut read = self.db.prepare_cached("SELECT id FROM claims WHERE id BETWEEN ?1 AND ?2 LIMIT 10")?;
        let found = read.query_map([low, high], |row| id_at(row, 0))?.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(Lookup::of(found))
    }

    /// Returns the active facts of a key (see [`crate::domain::event::key_hash`]), newest first.
    pub fn fact_heads(&self, scope: &Scope, key_hash: &EventId) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| {
            let Some(scope) = log::known_scope(&reader.db, scope)? else { return Ok(Vec::new()) };
            let mut read = reader.db.prepare_cached(
                "SELECT n FROM claims WHERE scope = ?1 AND key_hash = ?2 AND status = 0
                 ORDER BY wall DESC, tick DESC, n DESC",
            )?;
            let numbers = read.query_map(params![scope, key_hash.0], |row| row.get(0))?;
            claims_by_number(&reader.db, numbers.collect::<rusqlite::Result<Vec<_>>>()?)
        })
    }

    /// Returns the oldest active claim with this statement. White space, the case of the first letter and a full stop
    /// at the end are ignored. With `key_hash`, only a fact with that key.
    pub fn duplicate(
        &self,
        scope: &Scope,
        kind: ClaimKind,
        statement: &str,
        qualifiers: &Qualifiers,
        key_hash: Option<&EventId>,
    ) -> Result<Option<ClaimId>> {
        let Some(scope) = log::known_scope(&self.db, scope)? else { return Ok(None) };
        let content = content_hash(scope, kind, statement, qualifiers);
        let mut read = self.db.prepare_cached(
            "SELECT id FROM claims WHERE content = ?1 AND kind = ?2 AND (?3 IS NULL OR key_hash = ?3)
             ORDER BY wall, tick, id LIMIT 1",
        )?;
        let key_hash = key_hash.map(|hash| hash.0);
        Ok(read.query_row(params![content, kind_code(kind), key_hash], |row| id_at(row, 0)).optional()?)
    }

    /// Returns the latest claim of any status that [`Reader::duplicate`] would find if it were active. Found by the text
    /// index, since claims that are not active have no content hash.
    pub fn latest_duplicate(
        &self,
        scope: &Scope,
        kind: ClaimKind,
        statement: &str,
        qualifiers: &Qualifiers,
    ) -> Result<Option<ClaimRow>> {
        let Some(n) = log::known_scope(&self.db, scope)? else { return Ok(None) };
        let filter = ClaimFilter { scope: Some(scope.clone()), kinds: vec![kind], ..ClaimFilter::default() };
        let found = self.search(&filter, statement, MAX_DUPLICATES, None)?.items.into_iter();
        let content = content_hash(n, kind, statement, qualifiers);
        let same = |row: &ClaimRow| content_hash(n, kind, &row.statement, &row.qualifiers) == content;
        Ok(found.filter(same).max_by_key(|row| (row.clock, row.id)))
    }

    /// Returns the active claims that replaced a claim, directly or indirectly; the claim itself if it is active.
    pub fn heads(&self, id: &ClaimId) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| {
            let Some(event) = log::load_id(&reader.db, id)? else { return Ok(Vec::new()) };
            let heads: BTreeSet<ClaimId> =
                active_heads(&[*id], &SuccessionLine { db: &reader.db, scope: event.scope })?;
            let mut rows = claims_with_ids(&reader.db, heads)?;
            rows.sort_by_key(|row| std::cmp::Reverse((row.clock, row.id)));
            Ok(rows)
        })
    }

    /// Returns the premises of a claim.
    pub fn premises(&self, id: &ClaimId) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| {
            let Some(event) = log::load_id(&reader.db, id)? else { return Ok(Vec::new()) };
            claims_with_ids(&reader.db, premises_of(&reader.db, id, event.scope)?)
        })
    }

    /// Returns the active dependents of a claim, newest first, at most `limit`.
    pub fn dependents(&self, id: &ClaimId, limit: usize) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| {
            let Some(premise) = log::row_number(&reader.db, id)? else { return Ok(Vec::new()) };
            let mut read = reader.db.prepare_cached(
                "SELECT claim FROM dependencies WHERE premise = ?1 ORDER BY wall DESC, tick DESC, claim DESC LIMIT ?2",
            )?;
            let numbers = read.query_map(params![premise, limit], |row| row.get(0))?;
            claims_by_number(&reader.db, numbers.collect::<rusqlite::Result<Vec<_>>>()?)
        })
    }

    /// Returns a refused or held new claim in the form of a claim, with its card's rev. If it was refused again with
    /// another reason or other qualifiers, the latest version is returned.
    pub fn new_claim(&self, id: &EventId) -> Result<Option<ClaimRow>> {
        self.snapshot(|reader| {
            let Some(event) = log::load_id(&reader.db, id)? else { return Ok(None) };
            if !derive::is_unstored(&event.kind) {
                return Ok(None);
            }
            let card = crate::domain::CardId::of_members(&[*id]);
            let refusals = events_of_card(&reader.db, &card)?;
            let last = refusals.iter().rfind(|other| derive::is_unstored(&other.kind) && other.scope == event.scope);
            let body = log::body(&reader.db, last.map_or(event.n, |last| last.n))?;
            let redacted = body.is_none();
            let mut row = of_event(*id, event.header, body.unwrap_or_default(), reader.card_rev(&card)?);
            row.flags.redacted = redacted;
            row.status = Status::Refused;
            Ok(Some(row))
        })
    }
}
