//! The verdicts of a request to judge, checked against the question.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    api::{ApiError, DoubtBand, JudgeRequest},
    domain::{ClaimId, PairVerdict},
    engine::{find, question::HeldQuestion, validate},
};

/// The greatest number of verdicts in one request. No question has more claims.
const MAX_VERDICTS: usize = 16;

/// A checked request to judge. Without verdicts, nobody answered the question.
#[derive(Default)]
pub(super) struct GivenVerdicts {
    pub(super) verdicts: BTreeMap<String, PairVerdict>,
    pub(super) because: Option<String>,
    pub(super) model: Option<String>,
}

impl GivenVerdicts {
    pub(super) fn checked(request: &JudgeRequest) -> Result<Self, ApiError> {
        if request.unanswered && !request.verdicts.is_empty() {
            return Err(ApiError::field("unanswered", "`unanswered` and `verdicts` exclude each other"));
        }
        if !request.unanswered && request.verdicts.is_empty() {
            return Err(ApiError::field("verdicts", "`verdicts` is empty")
                .hint("give a verdict for each claim in question: contradicts, replaces, same or compatible"));
        }
        if request.verdicts.len() > MAX_VERDICTS {
            return Err(ApiError::field("verdicts", format!("at most {MAX_VERDICTS} verdicts are taken at once")));
        }
        let because = validate::optional("because", request.because.as_deref())?;
        if because.is_none() && !request.unanswered {
            return Err(ApiError::field("because", "verdicts need a `because`")
                .hint("say why in one sentence; it stays on the record"));
        }
        let mut verdicts = BTreeMap::new();
        for (id, verdict) in &request.verdicts {
            verdicts.insert(validate::id("verdicts", id)?, *verdict);
        }
        Ok(Self { verdicts, because, model: validate::optional_name("model", request.model.as_deref())? })
    }

    /// Returns the verdict on each claim in question. A claim that is no longer active needs none, because the question
    /// no longer shows it.
    pub(super) fn by_claim(
        &self,
        question: &HeldQuestion,
        active: &BTreeSet<ClaimId>,
    ) -> Result<BTreeMap<ClaimId, PairVerdict>, ApiError> {
        let mut found = BTreeMap::new();
        let mut unknown = Vec::new();
        let wrong = |message: String| {
            let claims: Vec<String> = question.doubts.iter().map(|doubt| doubt.id.short()).collect();
            ApiError::field("verdicts", message)
                .hint(format!("give each claim of the question one verdict: {}", claims.join(", ")))
        };
        for (prefix, verdict) in &self.verdicts {
            let mut fits = question.doubts.iter().filter(|doubt| doubt.id.to_hex().starts_with(prefix));
            match (fits.next(), fits.next()) {
                (Some(doubt), None) => {
                    if found.insert(doubt.id, *verdict).is_some() {
                        return Err(wrong(format!("claim {} has two verdicts", doubt.id.short())));
                    }
                }
                (Some(_), Some(_)) => {
                    return Err(wrong(format!("{} fits more than one claim of the question", find::named(prefix))));
                }
                (None, _) => unknown.push(find::named(prefix)),
            }
        }
        if !unknown.is_empty() {
            return Err(wrong(format!("the question is not about {}", unknown.join(", "))));
        }
        let missing: Vec<String> = question
            .doubts
            .iter()
            .filter(|doubt| !self.verdicts.is_empty() && doubt.band == DoubtBand::Ask)
            .filter(|doubt| active.contains(&doubt.id) && !found.contains_key(&doubt.id))
            .map(|doubt| doubt.id.short())
            .collect();
        if !missing.is_empty() {
            return Err(wrong(format!("there is no verdict on {}", missing.join(", "))));
        }
        Ok(found)
    }
}
