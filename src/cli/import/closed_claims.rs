//! Acts of an import on stored claims: closes those whose line was removed or that their file marks as no longer active,
//! and reinstates those whose line returns.

use super::send::{ImportRow, Sender};
use crate::{
    api::{ActRequest, Caller, ClaimView, Done, RememberRequest, Stored, SupersedeRequest, WriteOutcome},
    cli::{CliError, Exit},
    domain::ClaimId,
};

impl Sender {
    /// Retracts a claim whose line was removed from its file.
    pub(super) async fn retire(&mut self, claim: &ClaimView, reason: &str) -> Result<bool, CliError> {
        let caller = Caller { op_id: Some(self.random_op()?), ..self.caller.clone() };
        let request = ActRequest {
            caller,
            target: claim.id.to_hex(),
            reason: reason.to_owned(),
            expect_rev: Some(claim.rev),
            also: Vec::new(),
        };
        let source = claim.source.clone().unwrap_or_default();
        match self.client.retract(&request).await {
            Ok(WriteOutcome::Done(_)) => {
                self.report.retire(claim);
                return Ok(true);
            }
            Ok(WriteOutcome::Proposed(proposed)) => self.report.proposed(&source, &claim.statement, &proposed),
            Ok(WriteOutcome::Stale(stale)) => self.report.skipped(&source, &claim.statement, &stale.message),
            Ok(_) => {}
            Err(error) => {
                let error = CliError::from(error);
                if !concerns_one_claim(&error) {
                    return Err(error);
                }
                self.report.skipped(&source, &claim.statement, &error.error);
            }
        }
        Ok(false)
    }

    /// Makes a claim active again whose line is back in its file. Returns false if that is not possible, so that the row
    /// must be stored anew.
    pub(super) async fn bring_back(
        &mut self,
        row: &ImportRow,
        claim: &ClaimView,
        reason: &str,
    ) -> Result<bool, CliError> {
        let request = ActRequest {
            caller: Caller { op_id: Some(self.random_op()?), ..self.caller.clone() },
            target: claim.id.to_hex(),
            reason: reason.to_owned(),
            ..ActRequest::default()
        };
        let is_done = match self.client.reinstate(&request).await.map_err(CliError::from) {
            Ok(answer) => matches!(answer, WriteOutcome::Done(_)),
            Err(error) if concerns_one_claim(&error) => false,
            Err(error) => return Err(error),
        };
        if is_done {
            self.report.reinstated(row, claim.id);
        }
        Ok(is_done)
    }

    /// Replaces a claim of this import by another one of it.
    pub(super) async fn replace(
        &mut self,
        row: &ImportRow,
        claim: ClaimId,
        by: ClaimId,
        reason: &str,
    ) -> Result<bool, CliError> {
        let op = self.op("replace", &row.file, &claim.to_hex(), &by.to_hex());
        let caller = Caller { op_id: Some(op), ..self.caller.clone() };
        let request = SupersedeRequest {
            targets: vec![claim.to_hex()],
            successor: Some(by.to_hex()),
            claim: RememberRequest { caller, reason: Some(reason.to_owned()), ..RememberRequest::default() },
            ..SupersedeRequest::default()
        };
        match self.client.supersede(&request).await.map_err(CliError::from) {
            Ok(WriteOutcome::Stored(Stored { replayed, .. }) | WriteOutcome::Done(Done { replayed, .. })) => {
                self.report.close(claim, replayed);
                Ok(true)
            }
            Err(error) if !concerns_one_claim(&error) => Err(error),
            Err(error) if error.kind == Exit::Refused => {
                self.report.skipped(&row.source, &row.claim.statement, &error.error);
                Ok(false)
            }
            Ok(_) | Err(_) => Ok(false),
        }
    }

    /// Retracts a claim of this import.
    pub(super) async fn retract(&mut self, row: &ImportRow, claim: ClaimId, reason: &str) -> Result<(), CliError> {
        // The act's id depends on the claim's: a claim that was stored again is retracted again.
        let op = self.op("retract", &row.file, &claim.to_hex(), reason);
        let caller = Caller { op_id: Some(op), ..self.caller.clone() };
        let request = ActRequest { caller, target: claim.to_hex(), reason: reason.to_owned(), ..ActRequest::default() };
        match self.client.retract(&request).await {
            Ok(WriteOutcome::Done(done)) => self.report.close(claim, done.replayed),
            Ok(WriteOutcome::Proposed(proposed)) => {
                self.report.proposed(&row.source, &row.claim.statement, &proposed);
            }
            Ok(_) => {}
            Err(error) => {
                let error = CliError::from(error);
                if !concerns_one_claim(&error) {
                    return Err(error);
                }
                if error.kind == Exit::Refused {
                    self.report.skipped(&row.source, &row.claim.statement, &error.error);
                }
            }
        }
        Ok(())
    }
}

/// Whether an error concerns one claim only, so that the import continues: the claim changed, or a person must close it.
fn concerns_one_claim(error: &CliError) -> bool {
    matches!(error.kind, Exit::Stale | Exit::Usage | Exit::Refused)
}
