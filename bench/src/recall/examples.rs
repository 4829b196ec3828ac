//! Writes questions with their recall results to a file, for experiments with a second stage.

use std::{collections::HashMap, fs, path::Path};

use serde_json::json;

use super::{LIMIT, QueryRow, request};
use crate::error::BenchError;
use ergo::{
    api::RecallRequest,
    domain::ClaimId,
    engine::{Engine, RecallMeans},
};

/// Writes a JSON line for each question.
pub(super) fn write(
    path: &Path,
    engine: &Engine,
    queries: &[QueryRow],
    names: &HashMap<ClaimId, &str>,
) -> Result<(), BenchError> {
    let mut lines = String::new();
    for query in queries {
        let request = RecallRequest { limit: Some(2 * LIMIT), ..request(query) };
        let answer = engine.recall(&request)?;
        let hits = answer.hits.iter().map(|hit| {
            json!({
                "id": names.get(&hit.claim.id), "kind": hit.claim.kind, "status": hit.claim.status, "statement": hit.claim.statement,
                "reason": hit.claim.reason, "score": hit.score, "cosine": hit.cosine, "words": hit.words,
            })
        });
        let line = json!({
            "question": query.question, "sort": query.sort, "expected": query.expected, "verdict": answer.verdict, "probability": answer.probability,
            "features": engine.recall_features(&request, RecallMeans::default())?.map(|(features, _)| features),
            "hits": hits.collect::<Vec<_>>(),
        });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    fs::write(path, lines).map_err(BenchError::io(path))
}
