//! This device's side of the replication index: its events go into the documents, and a broken document is made anew.

use std::collections::{BTreeMap, HashSet};

use super::{
    document::{Chunk, Entry, SOFT_ENTRIES},
    frame::DocOffer,
    session::{Context, Place},
    worker::{DocumentError, Staged},
};
use crate::{
    api::{ApiError, ErrorCode},
    domain::{EventId, Scope, replica::Month},
    store::{DocumentBase, DocumentChunk, DocumentRow, DocumentUpdate},
};

/// Events that go into a document at once: one change of it.
pub const BATCH: usize = 256;

/// Pieces in which a document may lie for as long as there is something else to do.
pub const PIECES: usize = 16;

/// Puts every event of a team that stands in no document yet into one. Answers which documents got which events.
///
/// # Errors
/// In words: where the store or the worker cannot be used now. What was done before stays done.
pub async fn flush(context: &Context, team: EventId) -> Result<Vec<(Place, Vec<EventId>)>, String> {
    let scopes = context.engine(move |engine| engine.sync_read(|r| r.team_scopes(&team))).await.map_err(said)?;
    let mut documents: BTreeMap<Place, Vec<EventId>> = BTreeMap::new();
    for row in scopes.into_iter().filter(|row| !row.is_roster) {
        loop {
            let scope = row.scope.clone();
            let waiting = context.engine(move |engine| engine.sync_read(|r| r.undocumented(&team, &scope, BATCH)));
            let waiting = waiting.await.map_err(said)?;
            let more = waiting.len() == BATCH;
            let before = documents.values().map(Vec::len).sum::<usize>();
            for (month, entries) in by_month(waiting) {
                let (place, events) = append(context, team, &row.scope, month, entries).await?;
                documents.entry(place).or_default().extend(events);
            }
            if !more || documents.values().map(Vec::len).sum::<usize>() == before {
                break;
            }
        }
    }
    Ok(documents.into_iter().collect())
}

/// Appends to the newest document of a month that is not full.
async fn append(
    context: &Context,
    team: EventId,
    scope: &Scope,
    month: Month,
    entries: Vec<Entry>,
) -> Result<(Place, Vec<EventId>), String> {
    let of = scope.clone();
    let rows = context.engine(move |engine| engine.sync_read(|r| r.documents(&team, Some(&of)))).await.map_err(said)?;
    let newest = rows.iter().filter(|row| row.month == month).max_by_key(|row| row.part);
    let mut part = newest.map_or(0, |row| if row.events < SOFT_ENTRIES { row.part } else { row.part + 1 });
    let (mut mended, mut stale) = (false, false);
    loop {
        let place = Place { scope: scope.clone(), month, part };
        let document = place.document(team);
        match context.documents.append(document, entries.clone()).await {
            Ok(staged) => {
                let events: Vec<EventId> = entries.iter().map(|entry| entry.id).collect();
                let update = update(team, &place, &staged, events.iter().copied());
                let written =
                    context.engine(move |engine| engine.sync_write(|store| store.write_document(team, &update)));
                match written.await {
                    // What the worker held was not what is stored: it is forgotten with this change, and read anew.
                    Err(error) if error.code == ErrorCode::Stale && !stale => stale = true,
                    // What is stored does not agree with itself.
                    Err(error) if error.code == ErrorCode::Stale && !mended => {
                        mended = true;
                        drop(staged);
                        rebuild(context, team, &place).await?;
                    }
                    written => {
                        written.map_err(said)?;
                        staged.commit().await;
                        return Ok((place, events));
                    }
                }
            }
            Err(DocumentError::TooLarge { .. }) => part += 1,
            Err(DocumentError::Broken { .. }) if !mended => {
                mended = true;
                rebuild(context, team, &place).await?;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Makes a document anew from its events: after damage, whatever caused it.
///
/// # Errors
/// In words: where the store or the worker cannot be used.
pub(in crate::sync) async fn rebuild(context: &Context, team: EventId, place: &Place) -> Result<(), String> {
    let (scope, month, document) = (place.scope.clone(), place.month, place.document(team));
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
        .map_err(said)?;
    tracing::warn!(scope = %place.scope, month = %place.month, events = entries.len(), "a document is made anew");
    let staged = context.documents.rebuild(document, entries).await.map_err(|error| error.to_string())?;
    let update = update(team, place, &staged, staged.new.iter().copied());
    let written = context.engine(move |engine| {
        engine.sync_write(|store| {
            store.drop_document(&document)?;
            store.write_document(team, &update)
        })
    });
    written.await.map_err(said)?;
    staged.commit().await;
    Ok(())
}

/// Puts documents in order that lie in many pieces, one after the other: what a load reads is then one piece. For idle moments; what
/// fails is left for another time.
pub async fn tidy(context: Context, teams: Vec<EventId>) {
    for team in teams {
        let read = context.engine(move |engine| engine.sync_read(|r| r.documents(&team, None))).await;
        for row in read.unwrap_or_default().into_iter().filter(|row| row.chunks >= PIECES) {
            let place = Place { scope: row.scope, month: row.month, part: row.part };
            if let Err(words) = compact(&context, team, &place).await {
                tracing::debug!(%words, scope = %place.scope, month = %place.month, "a document stays in pieces");
            }
        }
    }
}

async fn compact(context: &Context, team: EventId, place: &Place) -> Result<(), String> {
    let staged = context.documents.compact(place.document(team)).await.map_err(|error| error.to_string())?;
    let update = update(team, place, &staged, []);
    let written = context.engine(move |engine| engine.sync_write(|store| store.write_document(team, &update)));
    written.await.map_err(said)?;
    staged.commit().await;
    Ok(())
}

/// What the store keeps of a staged document; `more` are events that count as in it besides those that are new in it.
pub(in crate::sync) fn update(
    team: EventId,
    place: &Place,
    staged: &Staged,
    more: impl IntoIterator<Item = EventId>,
) -> DocumentUpdate {
    let mut entries: Vec<EventId> = staged.new.iter().copied().chain(more).collect();
    entries.sort_unstable();
    entries.dedup();
    DocumentUpdate {
        id: place.document(team),
        scope: place.scope.clone(),
        month: place.month,
        part: place.part,
        base: staged.before.map(|facts| DocumentBase { heads: facts.heads.to_vec(), events: facts.entries as usize }),
        chunk: staged.chunk.as_ref().map(|chunk| match chunk {
            Chunk::Append(bytes) => DocumentChunk::Append(bytes.clone()),
            Chunk::Snapshot(bytes) => DocumentChunk::Snapshot(bytes.clone()),
        }),
        heads: staged.facts.heads.to_vec(),
        entries,
    }
}

/// A stored document as it is offered.
pub(in crate::sync) fn offered(row: &DocumentRow) -> Option<DocOffer> {
    let heads = row.heads.as_slice().try_into().ok()?;
    Some(DocOffer { month: row.month, part: row.part, events: row.events as u64, heads, digest: row.digest })
}

fn entry(row: crate::store::Entry) -> Entry {
    Entry { id: row.id, signature: row.signature, header: row.header }
}

/// Events by the month of their clock.
fn by_month(rows: Vec<crate::store::Entry>) -> BTreeMap<Month, Vec<Entry>> {
    let mut months: BTreeMap<Month, Vec<Entry>> = BTreeMap::new();
    for row in rows {
        months.entry(Month::of(row.clock)).or_default().push(entry(row));
    }
    months
}

fn said(error: ApiError) -> String {
    error.to_string()
}
