//! `ingest`: stores a file in chunks, in the local log or, on request, in the shared one. Chunks are not claims and
//! do not pass the guard.

use std::collections::{HashMap, HashSet};

use super::replay;
use crate::{
    api::{ApiError, ErrorCode, IngestRequest, Ingested, MAX_FILE, MAX_FILE_NAME},
    domain::{
        Body, ChunkPlace, EventId, EventKind,
        derive::{self, local},
    },
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        request_hash::request_hash,
    },
    recall::chunking::{Chunk, TextFormat, chunks},
    store::{ChunkMark, EventDraft, Ref, StoredChunk},
};

/// The greatest number of chunks that one event removes: their ids are in its header, whose size is limited.
const MAX_REMOVED_PER_EVENT: usize = 500;

/// `POST /ingest`.
pub(in crate::engine) fn ingest(engine: &Engine, request: &IngestRequest) -> Result<Ingested, ApiError> {
    let path = path(&request.path)?;
    let text = request.text.as_deref().unwrap_or_default();
    if text.len() > MAX_FILE {
        let message = format!("{path} has {} bytes; the limit for ingested files is {MAX_FILE}", text.len());
        return Err(ApiError { field: Some("text".into()), ..ApiError::new(ErrorCode::TooLarge, message) });
    }
    let found = chunks(text, TextFormat::of(&path));
    engine.act(&request.caller, request_hash("ingest", request), |context| {
        if let Some(answer) = done_before(context, &path, &found)? {
            return Ok(answer);
        }
        let place = WriteScope::of(context.reader(), &request.caller)?;
        let stored = context.reader().chunks_of(&place.scope, &path, &engine.device())?;
        let Difference { new, kept, gone } = difference(&found, stored, request);
        let retired = gone.iter().map(Vec::len).sum();
        let answer = Ingested { path: path.clone(), chunks: new.len() + kept, added: new.len(), kept, retired };
        if new.is_empty() && retired == 0 {
            return Ok(answer);
        }
        let mut drafts: Vec<EventDraft> = Vec::with_capacity(new.len() + 1);
        for chunk in new {
            drafts.push(draft(&path, chunk, request.share)?);
        }
        for (gone, kind) in gone.iter().zip([EventKind::Local(local::CHUNK_GONE.into()), EventKind::ChunkGone]) {
            let acts = gone
                .chunks(MAX_REMOVED_PER_EVENT)
                .map(|some| EventDraft::new(kind.clone(), some.iter().copied().map(Ref::Id)));
            drafts.extend(acts);
        }
        let summary = format!("Ingested {path}: {} passages added, {} removed", answer.added, answer.retired);
        context.commit(&place, drafts, "ingest", summary)?;
        Ok(answer)
    })
}

/// Returns the answer to a retry.
fn done_before(context: &ActContext<'_>, path: &str, found: &[Chunk<'_>]) -> Result<Option<Ingested>, ApiError> {
    let events = context.done_before()?;
    let Some(first) = events.first() else { return Ok(None) };
    let added = events.iter().filter(|event| derive::is_chunk(&event.kind)).count();
    let gone = events.iter().filter(|event| derive::is_chunk_gone(&event.kind));
    let retired: usize = gone.map(|event| event.targets.len()).sum();
    if added + retired == 0 {
        return Err(replay::other_act(first));
    }
    let chunks = found.iter().map(mark).collect::<HashSet<_>>().len();
    Ok(Some(Ingested { path: path.to_owned(), chunks, added, kept: chunks.saturating_sub(added), retired }))
}

fn mark(chunk: &Chunk<'_>) -> ChunkMark {
    ChunkMark::new(chunk.first, chunk.last, chunk.text)
}

/// Checks the name of a file.
fn path(given: &str) -> Result<String, ApiError> {
    let path = given.trim();
    if path.is_empty() {
        return Err(ApiError::field("path", "`path` is empty").hint("name the file"));
    }
    if path.len() > MAX_FILE_NAME || path.contains(char::is_control) {
        return Err(ApiError::field(
            "path",
            format!("`path` must be at most {MAX_FILE_NAME} bytes long and have no line breaks"),
        ));
    }
    Ok(path.to_owned())
}

/// The difference between a file and its stored chunks.
struct Difference<'a> {
    new: Vec<&'a Chunk<'a>>,
    kept: usize,
    /// Stored chunks that the file no longer contains: local ones, and shared ones.
    gone: [Vec<EventId>; 2],
}

/// Compares a file with its stored chunks. Shared chunks change only if the file is shared again; a chunk that is
/// already shared is not stored locally as well.
fn difference<'a>(found: &'a [Chunk<'a>], stored: Vec<StoredChunk>, request: &IngestRequest) -> Difference<'a> {
    let mut unmatched: HashMap<ChunkMark, Vec<StoredChunk>> = HashMap::new();
    for chunk in stored {
        unmatched.entry(chunk.mark.clone()).or_default().push(chunk);
    }
    // `pop_if` takes the last one, so that a shared chunk is kept rather than a local one.
    for same in unmatched.values_mut() {
        same.sort_by_key(|chunk| chunk.shared);
    }
    let mut seen = HashSet::new();
    let mut difference = Difference { new: Vec::new(), kept: 0, gone: [Vec::new(), Vec::new()] };
    for chunk in found {
        let mark = mark(chunk);
        // Two equal parts of one long line are one chunk.
        if !seen.insert(mark.clone()) {
            continue;
        }
        let serves = |stored: &mut StoredChunk| stored.shared || !request.share;
        match unmatched.get_mut(&mark).and_then(|same| same.pop_if(serves)) {
            Some(_) => difference.kept += 1,
            None => difference.new.push(chunk),
        }
    }
    for chunk in unmatched.into_values().flatten() {
        // A file that is missing here may still exist on the device that shared it.
        let gone = !chunk.shared || request.share && (chunk.own || request.text.is_some());
        if gone {
            difference.gone[usize::from(chunk.shared)].push(chunk.id);
        }
    }
    // Sorted, so that the same file leads to the same events.
    difference.gone.iter_mut().for_each(|gone| gone.sort_unstable());
    difference
}

fn draft(path: &str, chunk: &Chunk<'_>, share: bool) -> Result<EventDraft, ApiError> {
    let place = ChunkPlace { path: path.to_owned(), first: chunk.first, last: chunk.last };
    let data = serde_json::to_string(&place).map_err(|error| ApiError::internal(error.to_string()))?;
    let kind = if share { EventKind::Chunk } else { EventKind::Local(local::CHUNK.into()) };
    let mut draft = EventDraft::new(kind, []);
    draft.body = Body {
        statement: Some(chunk.text.to_owned()),
        source: Some(place.source()),
        data: Some(data),
        ..Body::default()
    };
    Ok(draft)
}
