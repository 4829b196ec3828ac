//! Writes questions with the results of the first stage, for experiments with a second one.

use std::{collections::HashMap, fs, path::Path};

use serde_json::json;

use super::{BenchError, LIMIT, Query, StoreBenchError, request};
use ergo::{
    api::RecallRequest,
    domain::ClaimId,
    engine::{Engine, RecallMeans},
};

/// Writes one line of JSON a question.
pub(super) fn write(
    path: &Path,
    engine: &Engine,
    queries: &[Query],
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
            "figures": engine.recall_figures(&request, RecallMeans::default())?.map(|(figures, _)| figures),
            "hits": hits.collect::<Vec<_>>(),
        });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    fs::write(path, lines).map_err(|error| StoreBenchError::Io { path: path.to_owned(), error }.into())
}
