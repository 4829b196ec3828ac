//! This device's part of the replication index: adds new events to documents, and rebuilds damaged documents.

use std::collections::{BTreeMap, HashSet};

use super::{
    document::{ChunkUpdate, DocumentEntry, SOFT_ENTRIES},
    session::{DocumentKey, SyncContext},
    worker::{DocumentError, StagedDocument},
};
use crate::{
    api::{ApiError, ErrorCode},
    domain::{EventId, Scope, replica::Month},
    store::{DocumentBase, DocumentChunk, DocumentUpdate},
};

/// The most events that one change adds to a document.
pub const FLUSH_BATCH_SIZE: usize = 256;

/// The number of stored chunks from which a document is compacted when nothing else is to be done.
pub const FRAGMENTED_CHUNKS: usize = 16;

pub type FlushedDocuments = Vec<(DocumentKey, Vec<EventId>)>;

/// A flush that failed, at least in part.
#[derive(Debug)]
pub struct FlushError {
    /// The events that were added in spite of the failure.
    pub documents: FlushedDocuments,
    /// The first failure: the store or the worker is unavailable.
    pub message: String,
}

/// Adds the team's events that are in no document yet to documents. Returns them by document.
///
/// # Errors
/// The first failure of a scope; the events of other scopes are added all the same.
pub async fn flush(context: &SyncContext, team: EventId) -> Result<FlushedDocuments, FlushError> {
    let scopes = context.engine(move |engine| engine.sync_read(|r| r.team_scopes(&team))).await;
    let scopes = scopes.map_err(|error| FlushError { documents: Vec::new(), message: to_message(error) })?;
    let mut documents: BTreeMap<DocumentKey, Vec<EventId>> = BTreeMap::new();
    let mut failure = None;
    for row in scopes.into_iter().filter(|row| !row.is_roster) {
        if let Err(message) = flush_scope(context, team, &row.scope, &mut documents).await {
            failure.get_or_insert(message);
        }
    }
    let documents = documents.into_iter().collect();
    match failure {
        Some(message) => Err(FlushError { documents, message }),
        None => Ok(documents),
    }
}

/// Adds the events of one scope in batches, until none is left or a batch fails.
async fn flush_scope(
    context: &SyncContext,
    team: EventId,
    scope: &Scope,
    documents: &mut BTreeMap<DocumentKey, Vec<EventId>>,
) -> Result<(), String> {
    loop {
        let queried = scope.clone();
        let waiting =
            context.engine(move |engine| engine.sync_read(|r| r.undocumented(&team, &queried, FLUSH_BATCH_SIZE)));
        let waiting = waiting.await.map_err(to_message)?;
        let more = waiting.len() == FLUSH_BATCH_SIZE;
        for (month, entries) in by_month(waiting) {
            let (key, events) = append(context, team, scope, month, entries).await?;
            documents.entry(key).or_default().extend(events);
        }
        if !more {
            return Ok(());
        }
    }
}

/// Appends entries to the latest part of a month, or begins another part if it is full.
async fn append(
    context: &SyncContext,
    team: EventId,
    scope: &Scope,
    month: Month,
    entries: Vec<DocumentEntry>,
) -> Result<(DocumentKey, Vec<EventId>), String> {
    let queried = scope.clone();
    let rows = context
        .engine(move |engine| engine.sync_read(|r| r.documents(&team, Some(&queried))))
        .await
        .map_err(to_message)?;
    let newest = rows.iter().filter(|row| row.month == month).max_by_key(|row| row.part);
    let after = |part: u32| part.checked_add(1).ok_or_else(|| format!("{scope} has no free document for {month}"));
    let mut part = match newest {
        None => 0,
        Some(row) if row.events < SOFT_ENTRIES => row.part,
        Some(row) => after(row.part)?,
    };
    let (mut rebuilt, mut stale) = (false, false);
    loop {
        let key = DocumentKey { scope: scope.clone(), month, part };
        let document = key.document_id(team);
        match context.documents.append(document, entries.clone()).await {
            Ok(staged) => {
                let events: Vec<EventId> = entries.iter().map(|entry| entry.id).collect();
                let update = update(team, &key, &staged, events.iter().copied());
                let written =
                    context.engine(move |engine| engine.sync_write(|store| store.write_document(team, &update)));
                match written.await {
                    // The worker's copy is outdated: it is dropped with this staged change, and the next call loads it
                    // again.
                    Err(error) if error.code == ErrorCode::Stale && !stale => stale = true,
                    // The stored document is inconsistent.
                    Err(error) if error.code == ErrorCode::Stale && !rebuilt => {
                        rebuilt = true;
                        drop(staged);
                        rebuild(context, team, &key).await?;
                    }
                    written => {
                        written.map_err(to_message)?;
                        staged.commit().await;
                        return Ok((key, events));
                    }
                }
            }
            Err(DocumentError::TooLarge { .. }) => part = after(part)?,
            Err(DocumentError::Corrupt { .. }) if !rebuilt => {
                rebuilt = true;
                rebuild(context, team, &key).await?;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Rebuilds a damaged document from its events.
pub(in crate::sync) async fn rebuild(context: &SyncContext, team: EventId, key: &DocumentKey) -> Result<(), String> {
    let (scope, month, document) = (key.scope.clone(), key.month, key.document_id(team));
    let entries = context
        .engine(move |engine| {
            engine.sync_read(|r| {
                let mut wanted: HashSet<EventId> = r.document_entries(&document)?.into_iter().collect();
                let (mut entries, mut cursor) = (Vec::new(), None);
                loop {
                    let page = r.entries(&team, &scope, month, cursor.as_ref(), 1_000)?;
                    entries.extend(page.entries.into_iter().filter(|entry| wanted.remove(&entry.id)).map(entry));
                    cursor = page.next;
                    if cursor.is_none() {
                        return Ok(entries);
                    }
                }
            })
        })
        .await
        .map_err(to_message)?;
    tracing::warn!(scope = %key.scope, month = %key.month, events = entries.len(), "rebuilding a document");
    let staged = context.documents.rebuild(document, entries).await.map_err(|error| error.to_string())?;
    let update = update(team, key, &staged, staged.new.iter().copied());
    let written = context.engine(move |engine| {
        engine.sync_write(|store| {
            store.drop_document(&document)?;
            store.write_document(team, &update)
        })
    });
    written.await.map_err(to_message)?;
    staged.commit().await;
    Ok(())
}

/// Compacts the documents with many chunks, one after the other, so that loading one reads a single chunk. Meant
/// for idle moments: a document that fails is tried again the next time.
pub async fn compact_fragmented(context: SyncContext, teams: Vec<EventId>) {
    for team in teams {
        let read = context.engine(move |engine| engine.sync_read(|r| r.documents(&team, None))).await;
        for row in read.unwrap_or_default().into_iter().filter(|row| row.chunks >= FRAGMENTED_CHUNKS) {
            let key = DocumentKey { scope: row.scope, month: row.month, part: row.part };
            if let Err(reason) = compact(&context, team, &key).await {
                tracing::debug!(%reason, scope = %key.scope, month = %key.month, "cannot compact a document");
            }
        }
    }
}

async fn compact(context: &SyncContext, team: EventId, key: &DocumentKey) -> Result<(), String> {
    let staged = context.documents.compact(key.document_id(team)).await.map_err(|error| error.to_string())?;
    let update = update(team, key, &staged, []);
    let written = context.engine(move |engine| engine.sync_write(|store| store.write_document(team, &update)));
    written.await.map_err(to_message)?;
    staged.commit().await;
    Ok(())
}

/// Returns what the store keeps of a staged document. `more` are events that count as held by it besides those
/// that are new.
pub(in crate::sync) fn update(
    team: EventId,
    key: &DocumentKey,
    staged: &StagedDocument,
    more: impl IntoIterator<Item = EventId>,
) -> DocumentUpdate {
    let mut entries: Vec<EventId> = staged.new.iter().copied().chain(more).collect();
    entries.sort_unstable();
    entries.dedup();
    DocumentUpdate {
        id: key.document_id(team),
        scope: key.scope.clone(),
        month: key.month,
        part: key.part,
        base: staged
            .before
            .map(|summary| DocumentBase { heads: summary.heads.to_vec(), events: summary.entries as usize }),
        chunk: staged.chunk.as_ref().map(|chunk| match chunk {
            ChunkUpdate::Append(bytes) => DocumentChunk::Append(bytes.clone()),
            ChunkUpdate::Snapshot(bytes) => DocumentChunk::Snapshot(bytes.clone()),
        }),
        heads: staged.summary.heads.to_vec(),
        entries,
    }
}

fn entry(row: crate::store::LogEntry) -> DocumentEntry {
    DocumentEntry { id: row.id, signature: row.signature, header: row.header }
}

/// Groups events by the month of their clock.
fn by_month(rows: Vec<crate::store::LogEntry>) -> BTreeMap<Month, Vec<DocumentEntry>> {
    let mut months: BTreeMap<Month, Vec<DocumentEntry>> = BTreeMap::new();
    for row in rows {
        months.entry(Month::of(row.clock)).or_default().push(entry(row));
    }
    months
}

fn to_message(error: ApiError) -> String {
    error.to_string()
}
