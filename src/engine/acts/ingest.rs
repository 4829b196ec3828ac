//! `ingest`: a file in pieces, into the local log. Nothing of it is a claim, and nothing of it passes the guard.

use std::collections::{HashMap, HashSet};

use crate::{
    api::{ApiError, ErrorCode, IngestRequest, Ingested, MAX_FILE},
    domain::{Body, ChunkPlace, EventId, EventKind, derive::local},
    engine::{Engine, session::Place},
    recall::chunk::{Chunk, Form, chunks},
    store::{ChunkMark, Draft, Ref},
};

/// The longest name of a file, in bytes.
const MAX_PATH: usize = 1024;

/// How many chunks one event takes out: their ids stand in its header, which is bounded.
const AT_ONCE: usize = 500;

/// `POST /ingest`.
pub(in crate::engine) fn ingest(engine: &Engine, request: &IngestRequest) -> Result<Ingested, ApiError> {
    let path = path(&request.path)?;
    let text = request.text.as_deref().unwrap_or_default();
    if text.len() > MAX_FILE {
        let message = format!("{path} has {} bytes; at most {MAX_FILE} are taken in", text.len());
        return Err(ApiError { field: Some("text".into()), ..ApiError::new(ErrorCode::TooLarge, message) });
    }
    let found = chunks(text, Form::of(&path));
    engine.act(&request.caller, |session| {
        let place = Place::of(session.reader(), &request.caller)?;
        let stored = session.reader().chunks_of(&place.scope, &path)?;
        let Difference { new, kept, gone } = difference(&found, stored);
        let answer = Ingested { path: path.clone(), chunks: found.len(), added: new.len(), kept, retired: gone.len() };
        if new.is_empty() && gone.is_empty() {
            return Ok(answer);
        }
        let mut drafts: Vec<Draft> = Vec::with_capacity(new.len() + 1);
        for chunk in new {
            drafts.push(draft(&path, chunk)?);
        }
        for some in gone.chunks(AT_ONCE) {
            let kind = EventKind::Local(local::CHUNK_GONE.into());
            drafts.push(Draft::new(kind, some.iter().copied().map(Ref::Id)));
        }
        let summary = format!("Took in {path}: {} new, {} gone", answer.added, answer.retired);
        session.commit(&place, drafts, "ingest", summary)?;
        Ok(answer)
    })
}

/// A file's name, checked.
fn path(given: &str) -> Result<String, ApiError> {
    let path = given.trim();
    if path.is_empty() {
        return Err(ApiError::field("path", "`path` is empty").hint("name the file"));
    }
    if path.len() > MAX_PATH || path.contains(char::is_control) {
        return Err(ApiError::field("path", format!("`path` must be a name of at most {MAX_PATH} bytes on one line")));
    }
    Ok(path.to_owned())
}

/// What a file says now beside what is stored of it.
struct Difference<'a> {
    new: Vec<&'a Chunk<'a>>,
    kept: usize,
    gone: Vec<EventId>,
}

fn difference<'a>(found: &'a [Chunk<'a>], stored: Vec<(EventId, ChunkMark)>) -> Difference<'a> {
    let mut there: HashMap<ChunkMark, Vec<EventId>> = HashMap::new();
    for (id, mark) in stored {
        there.entry(mark).or_default().push(id);
    }
    let mut seen = HashSet::new();
    let mut difference = Difference { new: Vec::new(), kept: 0, gone: Vec::new() };
    for chunk in found {
        let mark = ChunkMark::new(chunk.first, chunk.last, chunk.text);
        // Two equal parts of one long line are one chunk.
        if !seen.insert(mark.clone()) {
            continue;
        }
        match there.get_mut(&mark).and_then(Vec::pop) {
            Some(_) => difference.kept += 1,
            None => difference.new.push(chunk),
        }
    }
    difference.gone = there.into_values().flatten().collect();
    // So that the same file leads to the same acts.
    difference.gone.sort_unstable();
    difference
}

fn draft(path: &str, chunk: &Chunk<'_>) -> Result<Draft, ApiError> {
    let place = ChunkPlace { path: path.to_owned(), first: chunk.first, last: chunk.last };
    let data = serde_json::to_string(&place).map_err(|error| ApiError::internal(error.to_string()))?;
    let mut draft = Draft::new(EventKind::Local(local::CHUNK.into()), []);
    draft.body = Body {
        statement: Some(chunk.text.to_owned()),
        source: Some(place.source()),
        data: Some(data),
        ..Body::default()
    };
    Ok(draft)
}
