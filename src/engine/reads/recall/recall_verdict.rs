//! The verdict of a recall: whether a result answers the question, and with which probability.

use super::{FoundClaim, RecallMeans, RecallQuery, RecallRun};
use crate::{
    api::{ApiError, RecallRequest, RecallVerdict},
    domain::{ClaimId, Scope},
    engine::{Engine, guard_calls},
    recall::{
        answer_model::{self, AnswerFeatures},
        floor,
    },
    store::RowNumber,
};

/// The number of claims after the best one whose mean similarity shows what is near any question.
const CROWD_SIZE: usize = 9;

/// The number of claims among which the answer counts when the probability is fitted: those that an agent is shown.
const SHOWN_FIRST: usize = 3;

/// Returns the features of the best claim that a question finds, and the ids of the first few; `None` if it finds none.
/// For measurements.
pub(in crate::engine) fn recall_features(
    engine: &Engine,
    request: &RecallRequest,
    ways: RecallMeans,
) -> Result<Option<(AnswerFeatures, Vec<ClaimId>)>, ApiError> {
    let wanted = RecallQuery { ways, ..RecallQuery::new(request)? };
    let now = request.as_of.unwrap_or_else(|| (engine.config.clock)());
    let findings = RecallRun { engine, wanted: &wanted, now, today: guard_calls::day(now) }.find()?;
    let first = findings.found.iter().take(SHOWN_FIRST).map(|found| found.row.id).collect();
    Ok(findings.found.first().map(|found| (found.features, first)))
}

/// Returns the verdict on all claims. `reference_answers`: an ingested file answers the question.
pub(super) fn of(found: &[FoundClaim], reference_answers: bool, by_meaning: bool) -> RecallVerdict {
    let mut each = found.iter().map(|found| of_claim(found, by_meaning));
    if each.clone().any(|verdict| verdict == RecallVerdict::Known) {
        RecallVerdict::Known
    } else if reference_answers {
        RecallVerdict::Reference
    } else if each.all(|verdict| verdict == RecallVerdict::Nothing) {
        RecallVerdict::Nothing
    } else {
        RecallVerdict::Nearest
    }
}

/// Returns the verdict if only this claim had been found.
pub(super) fn of_claim(found: &FoundClaim, by_meaning: bool) -> RecallVerdict {
    if found.answers {
        RecallVerdict::Known
    } else if found.probability < answer_model::built_in().weights(by_meaning).nothing_below {
        RecallVerdict::Nothing
    } else {
        RecallVerdict::Nearest
    }
}

/// Returns the note to a person or an agent if no claim clearly answers.
pub(super) fn note(verdict: RecallVerdict, scope: &Scope, none: bool) -> Option<String> {
    match verdict {
        RecallVerdict::Known => None,
        RecallVerdict::Reference => Some("No claim answers this, but an ingested file does.".to_owned()),
        RecallVerdict::Nearest => Some(format!("No claim in {scope} clearly answers this; the closest ones follow.")),
        RecallVerdict::Nothing if none => Some(format!("Nothing in {scope} is about this.")),
        RecallVerdict::Nothing => Some(format!("Nothing in {scope} is about this; the closest claims follow.")),
    }
}

/// Returns the mean cosine of the nearest claims after the best; 0 if there are none.
pub(super) fn crowd(near: &[(RowNumber, f32)]) -> f64 {
    let next: Vec<f64> = near.iter().skip(1).take(CROWD_SIZE).map(|(_, cosine)| f64::from(*cosine)).collect();
    if next.is_empty() { 0.0 } else { next.iter().sum::<f64>() / next.len() as f64 }
}

/// Computes the probability of each claim to answer the question.
pub(super) fn weigh_up(found: &mut [FoundClaim], by_meaning: bool, unknown: f64, crowd: f64, raise: f64) {
    let weights = answer_model::built_in().weights(by_meaning);
    let total = |at: usize| found.get(at).map_or(0.0, |found: &FoundClaim| found.score.total);
    let lead = total(0) - total(1);
    for (place, found) in found.iter_mut().enumerate() {
        let lead = Some(if place == 0 { lead } else { 0.0 });
        let FoundClaim { ref score, cosine, with_reason, fused, .. } = *found;
        let floor = floor::FloorEvidence { score, cosine, by_meaning, unknown, lead, raise };
        let evidence = answer_model::AnswerEvidence { score, cosine, with_reason, unknown, lead, fused, crowd, raise };
        let features = AnswerFeatures::of(&evidence);
        (found.above, found.features) = (floor::margin(&floor), features);
        found.probability = weights.probability(&features);
        found.answers = found.probability >= weights.known_from;
    }
}
