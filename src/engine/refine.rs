//! Reads a statement a second time with a language model, whose norm refines that of the rules.
//!
//! If the write may wait for the model, the refined norm goes into the event. Otherwise the model is asked after the
//! write, and its reading is kept beside the projection: comparisons on this device use it, cards that sync never do.

use std::sync::atomic::Ordering;

use super::{
    Engine,
    deep_stage::DeepMode,
    guard_calls::{self, NormalisedStatement},
    guard_result::normed_claim,
};
use crate::{
    api::ApiError,
    domain::{ClaimId, ClaimKind, Norm, Qualifiers, Scope},
    guard::{
        Guard, NormedClaim,
        normalise::{
            RULES_VERSION,
            llm::{self, Reading},
        },
    },
    infer::{Call, InferError, JudgeKind, ModelJudge, ModelRole, Prompt},
    store::{ClaimRow, Reader},
};

/// A statement to read with the language model.
#[derive(Clone, Copy)]
struct StatementToRead<'a> {
    scope: &'a Scope,
    kind: ClaimKind,
    statement: &'a str,
    qualifiers: &'a Qualifiers,
    /// The norms stored for it. A subject that only these norms name does not count as known.
    stored: &'a [Norm],
}

/// Where a new reading is stored.
#[derive(Clone, Copy)]
enum StoreReading<'a> {
    /// Nowhere, because nothing is stored.
    No,
    /// With the statement of a write that is about to be stored.
    ForWrite,
    /// With a stored claim, unless its text is redacted in the meantime.
    OfClaim(&'a ClaimId),
}

impl Engine {
    /// Returns the version of the normaliser that combines the rules with the language model; `None` without a model or
    /// if it is switched off.
    pub(super) fn second_reader(&self) -> Option<String> {
        if self.config.deep == DeepMode::Off {
            return None;
        }
        let local = self.models.info().role(ModelRole::Llm).map(|role| llm::version(&role.name, &role.sha256));
        local.or_else(|| self.remote_model().map(|judge| llm::version(&judge.name(), "")))
    }

    /// Returns the model at an address in the settings, which reads and chooses if there is no local language model.
    pub(super) fn remote_model(&self) -> Option<&ModelJudge> {
        self.config.judges.iter().find(|judge| judge.kind() == JudgeKind::Endpoint)
    }

    /// Refines the norms of a write before it is judged. `keep` stores the model's answer, and is false if nothing will
    /// be stored.
    pub(super) fn refine(
        &self,
        scope: &Scope,
        claim: (ClaimKind, &str, &Qualifiers),
        keep: bool,
        normalised: &mut NormalisedStatement,
        call: Call,
    ) -> Result<(), InferError> {
        let (kind, statement, qualifiers) = claim;
        let asks = normalised.version == RULES_VERSION && llm::is_open(&normalised.norms);
        let Some(version) = self.second_reader().filter(|_| asks) else { return Ok(()) };
        let keep = if keep { StoreReading::ForWrite } else { StoreReading::No };
        let Some(reading) = self.reading(statement, &version, keep, call)? else { return Ok(()) };
        let read = StatementToRead { scope, kind, statement, qualifiers, stored: &[] };
        let norms = refined(&self.readers.lend(), &read, &reading);
        *normalised = NormalisedStatement { norms: guard_calls::first_that_fit(norms), version, warning: None };
        Ok(())
    }

    /// Asks the language model about a stored claim, unless it was asked before or the rules leave nothing open. On a
    /// failure, which is counted, the rules' norms stay.
    pub(super) fn refine_later(&self, row: &ClaimRow, call: Call) {
        let asks = is_by_rules(row) && llm::is_open(&row.norms);
        let Some(version) = self.second_reader().filter(|_| asks) else { return };
        if let Err(error) = self.reading(&row.statement, &version, StoreReading::OfClaim(&row.id), call)
            && !matches!(error, InferError::NoModel { .. })
        {
            self.counters.skipped.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%error, claim = %row.id.short(), "the language model's norm was skipped");
        }
    }

    /// Returns stored claims as they are compared on this device: with their readings by the language model, if there
    /// are any.
    pub(super) fn as_read(&self, reader: &Reader, rows: &[ClaimRow]) -> Result<Vec<NormedClaim>, ApiError> {
        let version = self.second_reader();
        rows.iter().map(|row| as_read(reader, row, version.as_deref())).collect()
    }

    /// Returns the language model's reading of a statement, which is computed once for each statement and normaliser.
    /// `None` if the statement is too long for the prompt.
    fn reading(
        &self,
        statement: &str,
        version: &str,
        keep: StoreReading<'_>,
        call: Call,
    ) -> Result<Option<Reading>, InferError> {
        // If the cache fails, the model is asked again, but the write does not fail.
        let kept = self.readers.lend().reading(statement, version).unwrap_or_default();
        if let Some(reading) = kept.and_then(|answer| Reading::parse(&answer).ok()) {
            return Ok(Some(reading));
        }
        let Some(prompt) = norm_prompt(statement) else { return Ok(None) };
        let remote = self.remote_model().filter(|_| self.models.info().role(ModelRole::Llm).is_none());
        let answer = match remote {
            None => self.models.generate(&prompt, llm::GRAMMAR, llm::MAX_TOKENS, call)?,
            Some(judge) => self
                .ask_judge(judge, |judge| judge.ask(&prompt, llm::GRAMMAR, llm::MAX_TOKENS, call))
                .map_err(|error| InferError::Refused(error.to_string()))?,
        };
        let reading = Reading::parse(&answer).map_err(|unread| InferError::Refused(unread.to_string()))?;
        self.counters.refined.fetch_add(1, Ordering::Relaxed);
        let kept = match keep {
            StoreReading::No => Ok(()),
            StoreReading::ForWrite => self.writer().put_reading(statement, version, &answer),
            StoreReading::OfClaim(claim) => self.writer().put_reading_of(claim, statement, version, &answer),
        };
        if let Err(error) = kept {
            tracing::warn!(%error, "what the language model read could not be kept");
        }
        Ok(Some(reading))
    }
}

/// Returns the prompt for the norm of a statement; `None` if the statement is too long. The answer must follow
/// [`llm::GRAMMAR`].
pub fn norm_prompt(statement: &str) -> Option<Prompt> {
    let text = llm::norm_prompt().about(statement)?;
    Some(Prompt::few_shot(&llm::norm_prompt().system, llm::norm_prompt().examples(), text))
}

/// Whether a claim's norms come from the present rules alone.
fn is_by_rules(row: &ClaimRow) -> bool {
    row.kind.is_guarded() && row.normaliser.as_deref() == Some(RULES_VERSION)
}

/// Returns a stored claim as it is compared, with its reading by the normaliser of this version, if there is one.
pub(super) fn as_read(reader: &Reader, row: &ClaimRow, version: Option<&str>) -> Result<NormedClaim, ApiError> {
    let plain = normed_claim(row);
    let Some(version) = version.filter(|_| is_by_rules(row)) else { return Ok(plain) };
    let Some(reading) = reader.reading(&row.statement, version)?.and_then(|answer| Reading::parse(&answer).ok()) else {
        return Ok(plain);
    };
    let (statement, qualifiers) = (&row.statement, &row.qualifiers);
    let read = StatementToRead { scope: &row.scope, kind: row.kind, statement, qualifiers, stored: &row.norms };
    let norms = refined(reader, &read, &reading);
    Ok(NormedClaim { norms, normaliser: version.to_owned(), ..plain })
}

/// Returns the norms of the rules, refined by a reading. If the code panics, the statement is compared by words only.
fn refined(reader: &Reader, read: &StatementToRead<'_>, reading: &Reading) -> Vec<Norm> {
    let known = |subject: &str| {
        let own = usize::from(read.stored.iter().any(|norm| norm.subject == subject));
        reader.claims_about(read.scope, subject).is_ok_and(|claims| claims > own)
    };
    let refine = || Guard::refine_claim(read.kind, read.statement, read.qualifiers, reading, &known);
    guard_calls::caught("refined norms", refine).unwrap_or_else(|| vec![Norm::default()])
}
