//! What the guard says of a write, with the stored claims that it speaks of.

use std::sync::atomic::Ordering;

use super::{
    gate::{self, Normed},
    session::Session,
    view,
};
use crate::{
    api::{ApiError, Conflict, Warning},
    domain::{ClaimId, ClaimKind, Scope, Tier, Verdict},
    guard::{Candidate, Guard, MAX_CANDIDATES},
    store::{CandidateQuery, ClaimRow},
};

/// The guard's word on one write.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// The findings, with their claims; the strongest first.
    pub(super) conflicts: Vec<Conflict>,
    /// What the writer is told if it is stored.
    pub(super) warnings: Vec<Warning>,
    /// A stage failed, so that nothing was compared.
    pub(super) ungated: bool,
}

impl Judged {
    /// Whether the write is refused.
    pub(super) fn blocks(&self) -> bool {
        self.verdict.tier == Tier::Block
    }

    /// The claims that refuse it.
    pub(super) fn blocking(&self) -> Vec<ClaimId> {
        self.conflicts
            .iter()
            .filter(|conflict| conflict.tier == Tier::Block)
            .map(|conflict| conflict.claim.id)
            .collect()
    }
}

/// What is about to be stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming<'a> {
    pub(super) scope: &'a Scope,
    pub(super) kind: ClaimKind,
    pub(super) statement: &'a str,
    pub(super) normed: &'a Normed,
}

impl Session<'_> {
    /// Compares a write with the active claims of its scope, those in `exclude` left out. Facts are not compared.
    pub(super) fn judge(&self, incoming: &Incoming<'_>, exclude: &[ClaimId]) -> Result<Judged, ApiError> {
        if !incoming.kind.is_guarded() {
            return Ok(Judged::default());
        }
        if let Some(warning) = &incoming.normed.warning {
            return Ok(Judged { warnings: vec![warning.clone()], ungated: true, ..Judged::default() });
        }
        let rows = self.reader().candidates(&CandidateQuery {
            scope: incoming.scope.clone(),
            terms: Guard::index_terms(&incoming.normed.norms, incoming.statement),
            exclude: exclude.to_vec(),
            limit: MAX_CANDIDATES,
        })?;
        self.compare(incoming, &rows)
    }

    fn compare(&self, incoming: &Incoming<'_>, rows: &[ClaimRow]) -> Result<Judged, ApiError> {
        let against: Vec<Candidate> = rows.iter().map(candidate).collect();
        let ours = Candidate {
            id: None,
            kind: incoming.kind,
            statement: incoming.statement.to_owned(),
            norms: incoming.normed.norms.clone(),
        };
        let verdict = match gate::judge(&self.engine.guard, &ours, &against, &self.today) {
            Ok(verdict) => verdict,
            Err(warning) => return Ok(Judged { warnings: vec![*warning], ungated: true, ..Judged::default() }),
        };
        let mut conflicts = Vec::new();
        for finding in &verdict.findings {
            conflicts.push(view::conflict(finding.clone(), self.view(&finding.claim)?));
        }
        let mut warnings: Vec<Warning> = conflicts.iter().filter(|c| c.tier == Tier::Warn).map(softer).collect();
        warnings.extend(gate::skipped(&verdict));
        Ok(Judged { verdict, conflicts, warnings, ungated: false })
    }

    /// Counts what became of a guarded write.
    pub(super) fn count(&self, judged: &Judged, forced: bool) {
        let counters = &self.engine.counters;
        let counter = match judged.verdict.tier {
            _ if judged.ungated => &counters.ungated,
            Tier::Clean => &counters.clean,
            Tier::Warn => &counters.warn,
            Tier::Block if forced => &counters.exception,
            Tier::Block => &counters.block,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// A stored claim as the guard compares it.
pub(super) fn candidate(row: &ClaimRow) -> Candidate {
    Candidate { id: Some(row.id), kind: row.kind, statement: row.statement.clone(), norms: row.norms.clone() }
}

fn softer(conflict: &Conflict) -> Warning {
    let said = conflict.evidence.sentence.trim();
    let message = if said.is_empty() {
        format!("this may not fit with {}", super::words::quote(&conflict.claim.statement))
    } else {
        said.to_owned()
    };
    Warning { code: "softer_conflict".into(), message, conflict: Some(conflict.clone()) }
}
