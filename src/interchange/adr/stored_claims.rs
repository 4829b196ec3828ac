//! Finds the claims that imports and scans stored from a record.

use std::collections::BTreeSet;

use super::{Record, file_name};
use crate::{
    api::{ClaimView, RememberRequest},
    domain::{ClaimId, Qualifiers, Status, judgement::words_hash},
    interchange::plan::is_closed_by_record,
};

/// The claims that were stored from a record before.
#[derive(Clone, Debug, Default)]
pub struct StoredClaims {
    /// The claim that says what the record says; an active one, if there is one.
    pub same: Option<ClaimView>,
    /// The claim that says what the record says and was closed because the record was not in force, as it is again.
    pub returning: Option<ClaimView>,
    /// Active claims with the record's earlier words.
    pub outdated: Vec<ClaimId>,
}

impl StoredClaims {
    /// Whether nothing was stored from the record, as far as it can be told.
    pub fn is_empty(&self) -> bool {
        self.same.is_none() && self.returning.is_none() && self.outdated.is_empty()
    }

    /// Returns the active claim that says what the record says.
    pub fn active(&self) -> Option<ClaimId> {
        self.same.as_ref().filter(|same| same.status == Status::Active).map(|same| same.id)
    }
}

impl Record {
    /// Returns the record's claim if its successor was stored first: as an exception to it, since the guard would refuse it otherwise.
    pub fn claim_before(&self, successor: ClaimId) -> RememberRequest {
        RememberRequest {
            exception_to: vec![successor.to_hex()],
            force_exception: Some(format!("It was decided earlier, as {} says.", self.source())),
            ..self.claim()
        }
    }

    /// Whether a claim with the record's statement also has its reason and its conditions.
    pub fn agrees_with(&self, claim: &ClaimView) -> bool {
        let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        line(claim.reason.as_deref().unwrap_or_default()).starts_with(&line(&self.reason))
            && claim.qualifiers == self.qualifiers()
    }

    /// Finds the record's claims in `claims`: those whose source is a line of its file, and the one from which it was exported.
    pub fn stored_claims(&self, claims: Vec<ClaimView>) -> StoredClaims {
        let wanted = self.claim();
        let words = |claim: &ClaimView| words_hash(claim.kind, &claim.statement, &Qualifiers::default());
        let own = words_hash(self.kind(), &wanted.statement, &Qualifiers::default());
        let (mut found, mut reworded) = (StoredClaims::default(), None);
        for claim in claims.into_iter().filter(|claim| self.is_source_of(claim)) {
            let active = claim.status == Status::Active;
            // The claim that this record itself had closed is stored again if the record is in force again.
            let closed = claim.closing_reason.as_deref().filter(|_| !active).unwrap_or_default();
            if words(&claim) == own {
                if self.is_in_force() && is_closed_by_record(closed, &self.file) {
                    found.returning = Some(claim);
                } else if active || found.same.is_none() {
                    found.same = Some(claim);
                }
            } else if active && self.wrote(&claim) {
                found.outdated.push(claim.id);
            } else if !self.is_in_force() && self.wrote(&claim) {
                reworded = Some(claim);
            }
        }
        // The record has its earlier words again.
        if !found.outdated.is_empty() {
            found.same = found.same.filter(|same| same.status == Status::Active);
        }
        // The text of a record that is no longer in force can be corrected without a new claim.
        if found.outdated.is_empty() {
            found.same = found.same.or(reworded);
        }
        found.returning = found.returning.filter(|_| found.same.is_none());
        found
    }

    /// Returns the record as it was before its file was moved to another folder: the claim from the earlier path says
    /// the same, and no file has that path any more (`is_gone`).
    pub fn before_move(&self, claims: &[ClaimView], is_gone: impl Fn(&str) -> bool) -> Option<Self> {
        let paths = claims.iter().filter_map(|claim| Some(claim.source.as_deref()?.rsplit_once(':')?.0));
        let paths: BTreeSet<&str> = paths.filter(|path| *path != self.file && is_gone(path)).collect();
        let moved = paths.into_iter().filter(|path| file_name(path) == self.file_name());
        let mut records = moved.map(|path| Self { file: path.to_owned(), ..self.clone() });
        records.find(|record| record.stored_claims(claims.to_vec()).same.is_some())
    }

    /// Whether a source is a line of the record's file.
    pub fn is_in(&self, source: &str) -> bool {
        let line = source.strip_prefix(&self.file).and_then(|rest| rest.strip_prefix(':'));
        line.is_some_and(|line| line.parse::<usize>().is_ok())
    }

    fn is_source_of(&self, claim: &ClaimView) -> bool {
        let is_line = claim.source.as_deref().is_some_and(|source| self.is_in(source));
        let conditions = claim.qualifiers.conditions() == self.qualifiers().conditions();
        !claim.flags.undone && (self.is_export_of(claim) || (is_line && conditions))
    }

    /// Whether the claim's reason is that of an import or a scan, and not of a person who cites the record.
    fn wrote(&self, claim: &ClaimView) -> bool {
        let reason = claim.reason.as_deref().unwrap_or_default();
        let dated = claim.qualifiers.valid_from.as_deref().is_some_and(|day| reason.ends_with(&format!(" ({day})")));
        dated || reason.starts_with(&self.reason) || self.is_export_of(claim)
    }

    fn is_export_of(&self, claim: &ClaimView) -> bool {
        self.exported.as_ref().is_some_and(|exported| exported.id == claim.id)
    }
}
