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

/// How many chunks one event takes out: their ids stand in its header, which is bounded.
const AT_ONCE: usize = 500;

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
            let acts =
                gone.chunks(AT_ONCE).map(|some| EventDraft::new(kind.clone(), some.iter().copied().map(Ref::Id)));
            drafts.extend(acts);
        }
        let summary = format!("Ingested {path}: {} chunks added, {} removed", answer.added, answer.retired);
        context.commit(&place, drafts, "ingest", summary)?;
        Ok(answer)
    })
}

/// The answer to a retry.
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

/// A file's name, checked.
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

/// What a file says now beside what is stored of it.
struct Difference<'a> {
    new: Vec<&'a Chunk<'a>>,
    kept: usize,
    /// What it no longer says: of this machine alone, and shared.
    gone: [Vec<EventId>; 2],
}

/// Compares. What is shared changes only where the file is shared again; what is shared already is not kept here a second time.
fn difference<'a>(found: &'a [Chunk<'a>], stored: Vec<StoredChunk>, request: &IngestRequest) -> Difference<'a> {
    let mut there: HashMap<ChunkMark, Vec<StoredChunk>> = HashMap::new();
    for chunk in stored {
        there.entry(chunk.mark.clone()).or_default().push(chunk);
    }
    // The shared one is the one to keep.
    for same in there.values_mut() {
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
        match there.get_mut(&mark).and_then(|same| same.pop_if(serves)) {
            Some(_) => difference.kept += 1,
            None => difference.new.push(chunk),
        }
    }
    for chunk in there.into_values().flatten() {
        // That a file is not here does not say that it is gone where another device shared it from.
        let gone = !chunk.shared || request.share && (chunk.own || request.text.is_some());
        if gone {
            difference.gone[usize::from(chunk.shared)].push(chunk.id);
        }
    }
    // So that the same file leads to the same acts.
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
