//! The replication index: documents as opaque bytes, the events in them, and the state of the exchange with each peer.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    Team, bound,
    ledger::sum_at,
    sync_rows::{DocumentBase, DocumentChunk, DocumentRow, DocumentUpdate, PeerDocumentState},
};
use crate::{
    domain::{
        DeviceId, EventId, Scope,
        replica::{DocumentId, Month, SetDigest, SetSum},
    },
    store::{Reader, Result, Store, StoreError, commit, log::id_at},
};

macro_rules! select_document {
    ($rest:literal) => {
        concat!(
            "SELECT d.id, t.id, s.org, s.project, d.month, d.part, d.events, d.digest, d.heads,
                (SELECT coalesce(sum(length(bytes)), 0) FROM document_chunks WHERE document = d.n),
                (SELECT count(*) FROM document_chunks WHERE document = d.n)
             FROM documents d JOIN team_scopes s ON s.n = d.shared JOIN teams t ON t.n = s.team ",
            $rest
        )
    };
}

fn read_document(row: &Row<'_>) -> rusqlite::Result<DocumentRow> {
    Ok(DocumentRow {
        id: DocumentId(row.get(0)?),
        team: id_at(row, 1)?,
        scope: Scope { org_id: row.get(2)?, project: row.get(3)? },
        month: Month(row.get(4)?),
        part: row.get(5)?,
        events: row.get(6)?,
        digest: SetDigest(row.get(7)?),
        heads: row.get(8)?,
        bytes: row.get(9)?,
        chunks: row.get(10)?,
    })
}

fn number(db: &Connection, id: &DocumentId) -> Result<Option<i64>> {
    let mut read = db.prepare_cached("SELECT n FROM documents WHERE id = ?1")?;
    Ok(read.query_row([id.0], |row| row.get(0)).optional()?)
}

/// Stores a change to a document, which is created if it is new.
pub(super) fn write(db: &Connection, team: &Team, update: &DocumentUpdate) -> Result<()> {
    let shared = bound(db, &team.id, &update.scope)?
        .ok_or_else(|| StoreError::NotShared { scope: update.scope.clone(), team: team.id })?;
    if update.id != DocumentId::of(team.id, &update.scope, update.month, update.part) {
        return Err(StoreError::BadDocument(update.id));
    }
    if let Some(base) = &update.base
        && !is_version(db, &update.id, base)?
    {
        return Err(StoreError::StaleDocument(update.id));
    }
    let (n, mut events, mut sum): (i64, usize, SetSum) = db
        .prepare_cached(
            "INSERT INTO documents (id, shared, month, part, digest, heads) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (id) DO UPDATE SET heads = excluded.heads RETURNING n, events, sum",
        )?
        .query_row(
            params![update.id.0, shared, update.month.0, update.part, SetDigest::default().0, update.heads],
            |row| Ok((row.get(0)?, row.get(1)?, sum_at(row, 2)?)),
        )?;
    let mut insert = db.prepare_cached("INSERT OR IGNORE INTO document_entries (document, event) VALUES (?1, ?2)")?;
    let mut mark = db.prepare_cached("UPDATE events SET documented = 1 WHERE id = ?1")?;
    for id in &update.entries {
        if insert.execute(params![n, id.0])? > 0 {
            events += 1;
            sum.add(id);
            mark.execute([id.0])?;
        }
    }
    if !update.entries.is_empty() {
        db.prepare_cached("UPDATE documents SET events = ?2, sum = ?3, digest = ?4 WHERE n = ?1")?.execute(params![
            n,
            events,
            sum.to_bytes(),
            sum.digest().0
        ])?;
    }
    let (snapshot, bytes) = match &update.chunk {
        None => return Ok(()),
        Some(DocumentChunk::Append(bytes)) => (false, bytes),
        Some(DocumentChunk::Snapshot(bytes)) => {
            db.prepare_cached("DELETE FROM document_chunks WHERE document = ?1")?.execute([n])?;
            (true, bytes)
        }
    };
    db.prepare_cached(
        "INSERT INTO document_chunks (document, n, snapshot, bytes)
         VALUES (?1, (SELECT coalesce(max(n) + 1, 0) FROM document_chunks WHERE document = ?1), ?2, ?3)",
    )?
    .execute(params![n, snapshot, bytes])?;
    Ok(())
}

/// Returns whether the stored document is the version that a change was based on.
fn is_version(db: &Connection, id: &DocumentId, base: &DocumentBase) -> Result<bool> {
    let mut read = db.prepare_cached("SELECT heads = ?2 AND events = ?3 FROM documents WHERE id = ?1")?;
    let same: Option<bool> = read.query_row(params![id.0, base.heads, base.events], |row| row.get(0)).optional()?;
    Ok(same.unwrap_or(base.events == 0))
}

/// Stores the state of the exchange of a document with a peer. Does nothing if the document is not stored.
pub(super) fn write_peer(db: &Connection, peer: &PeerDocumentState) -> Result<()> {
    let Some(n) = number(db, &peer.document)? else { return Ok(()) };
    db.prepare_cached(
        "INSERT INTO peer_documents (peer, document, state) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET state = excluded.state",
    )?
    .execute(params![peer.peer.0, n, peer.state])?;
    Ok(())
}

impl Store {
    /// Stores a change to a document by this device, which adds its own events or events that arrived by another way.
    ///
    /// # Errors
    /// [`StoreError::StaleDocument`] if the change was based on another version of the document than the stored one.
    pub fn write_document(&mut self, team: EventId, update: &DocumentUpdate) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        write(&tx, &Team::find(&tx, team)?, update)?;
        tx.commit()?;
        Ok(())
    }

    /// Deletes a document with everything that is stored about it. Its events stay, and count as undocumented unless
    /// another document contains them.
    pub fn drop_document(&mut self, id: &DocumentId) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        if let Some(n) = number(&tx, id)? {
            let mut read = tx.prepare("SELECT event FROM document_entries WHERE document = ?1")?;
            let entries = read.query_map([n], |row| id_at(row, 0))?.collect::<rusqlite::Result<Vec<_>>>()?;
            drop(read);
            tx.execute("DELETE FROM documents WHERE n = ?1", [n])?;
            let mut mark = tx.prepare_cached(
                "UPDATE events SET documented = EXISTS (SELECT 1 FROM document_entries WHERE event = ?1) WHERE id = ?1",
            )?;
            for entry in entries {
                mark.execute([entry.0])?;
            }
        }
        tx.commit()?;
        Ok(())
    }
}

impl Reader {
    /// Returns the documents of a team, or of one of its scopes, by scope, month and part.
    pub fn documents(&self, team: &EventId, scope: Option<&Scope>) -> Result<Vec<DocumentRow>> {
        let mut read = self.db.prepare_cached(select_document!(
            "WHERE t.id = ?1 AND (?2 IS NULL OR s.org = ?2 AND s.project = ?3)
             ORDER BY s.org, s.project, d.month, d.part"
        ))?;
        let (org, project) = scope.map(|scope| (&scope.org_id, &scope.project)).unzip();
        let rows = read.query_map(params![team.0, org, project], read_document)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    pub fn document(&self, id: &DocumentId) -> Result<Option<DocumentRow>> {
        let mut read = self.db.prepare_cached(select_document!("WHERE d.id = ?1"))?;
        Ok(read.query_row([id.0], read_document).optional()?)
    }

    /// Returns the chunks of a document in order. A snapshot, if there is one, is the first.
    pub fn document_chunks(&self, id: &DocumentId) -> Result<Vec<DocumentChunk>> {
        let mut read = self.db.prepare_cached(
            "SELECT c.snapshot, c.bytes FROM document_chunks c JOIN documents d ON d.n = c.document WHERE d.id = ?1
             ORDER BY c.n",
        )?;
        let rows = read.query_map([id.0], |row| {
            let bytes = row.get(1)?;
            Ok(if row.get(0)? { DocumentChunk::Snapshot(bytes) } else { DocumentChunk::Append(bytes) })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the events in a document, by id. Some of them may be in quarantine or missing on this device.
    pub fn document_entries(&self, id: &DocumentId) -> Result<Vec<EventId>> {
        let mut read = self.db.prepare_cached(
            "SELECT x.event FROM document_entries x JOIN documents d ON d.n = x.document WHERE d.id = ?1 ORDER BY x.event",
        )?;
        Ok(read.query_map([id.0], |row| id_at(row, 0))?.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the state of the exchange of a document with a peer.
    pub fn peer_document(&self, peer: &DeviceId, document: &DocumentId) -> Result<Option<PeerDocumentState>> {
        let mut read = self.db.prepare_cached(
            "SELECT p.state FROM peer_documents p JOIN documents d ON d.n = p.document
             WHERE p.peer = ?1 AND d.id = ?2",
        )?;
        let found = read.query_row(params![peer.0, document.0], |row| {
            Ok(PeerDocumentState { peer: *peer, document: *document, state: row.get(0)? })
        });
        Ok(found.optional()?)
    }
}
