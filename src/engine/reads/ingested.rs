//! `GET /ingested`: the files that were ingested for reference.

use crate::{
    api::{ApiError, IngestedFile, IngestedFiles, IngestedQuery},
    engine::{Engine, validate},
};

/// `GET /ingested`.
pub(in crate::engine) fn ingested(engine: &Engine, query: &IngestedQuery) -> Result<IngestedFiles, ApiError> {
    let scope = validate::named(&query.org_id, &query.project)?;
    let rows = engine.readers.lend().ingested(&scope, query.under.as_deref().unwrap_or_default())?;
    let items: Vec<IngestedFile> =
        rows.into_iter().map(|row| IngestedFile { path: row.path, chunks: row.chunks }).collect();
    Ok(IngestedFiles { chunks: items.iter().map(|file| file.chunks).sum(), items })
}
