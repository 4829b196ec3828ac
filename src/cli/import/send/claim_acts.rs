//! Acts of an import on claims that are already stored.

use super::{ImportRow, Sender};
use crate::{
    api::{ActRequest, Caller, ClaimView, Done, RememberRequest, Stored, SupersedeRequest, WriteOutcome},
    cli::{CliError, Exit},
    client::ClientError,
    domain::ClaimId,
};

impl Sender {
    /// Retracts a claim whose line was removed from its file.
    pub(in crate::cli::import) async fn retire(&mut self, claim: &ClaimView, reason: &str) -> Result<bool, CliError> {
        let request = ActRequest { expect_rev: Some(claim.rev), ..self.act_on(claim, reason)? };
        let done = self.client.retract(&request).await;
        let is_done = self.is_done(claim, done)?;
        if is_done {
            self.report.retire(claim);
        }
        Ok(is_done)
    }

    /// Makes a claim active again whose line is back in its file. Returns false if that is not possible, so that the row
    /// must be stored anew.
    pub(in crate::cli::import) async fn bring_back(
        &mut self,
        row: &ImportRow,
        claim: &ClaimView,
        reason: &str,
    ) -> Result<bool, CliError> {
        let request = self.act_on(claim, reason)?;
        let is_done = match self.client.reinstate(&request).await.map_err(CliError::from) {
            Ok(answer) => matches!(answer, WriteOutcome::Done(_)),
            Err(error) if error.kind == Exit::Stale || error.kind == Exit::Usage => false,
            Err(error) => return Err(error),
        };
        if is_done {
            self.report.reinstated(row, claim.id);
        }
        Ok(is_done)
    }

    fn act_on(&self, claim: &ClaimView, reason: &str) -> Result<ActRequest, CliError> {
        Ok(ActRequest {
            caller: Caller { op_id: Some(self.random_op()?), ..self.caller.clone() },
            target: claim.id.to_hex(),
            reason: reason.to_owned(),
            ..ActRequest::default()
        })
    }

    /// Whether a claim was retracted. If it was not, its line is reported as skipped.
    fn is_done(&mut self, claim: &ClaimView, answer: Result<WriteOutcome, ClientError>) -> Result<bool, CliError> {
        let why = match answer.map_err(CliError::from) {
            Ok(WriteOutcome::Done(_)) => return Ok(true),
            Ok(WriteOutcome::Proposed(proposed)) => proposed.summary,
            Ok(WriteOutcome::Stale(stale)) => stale.message,
            Ok(_) => return Ok(false),
            Err(error) if error.kind == Exit::Stale || error.kind == Exit::Usage => error.error.to_string(),
            Err(error) => return Err(error),
        };
        self.report.skipped(claim.source.as_deref().unwrap_or_default(), &claim.statement, &why);
        Ok(false)
    }

    /// Replaces a claim of this import by another one of it.
    pub(in crate::cli::import) async fn replace(
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
                self.report.closed += usize::from(!replayed);
                Ok(true)
            }
            Err(error) if error.kind != Exit::Stale && error.kind != Exit::Usage => Err(error),
            Ok(_) | Err(_) => Ok(false),
        }
    }

    /// Retracts a claim of this import.
    pub(in crate::cli::import) async fn retract(
        &mut self,
        row: &ImportRow,
        claim: ClaimId,
        reason: &str,
    ) -> Result<(), CliError> {
        // The act's id depends on the claim's: a claim that was stored again is retracted again.
        let op = self.op("retract", &row.file, &claim.to_hex(), reason);
        let caller = Caller { op_id: Some(op), ..self.caller.clone() };
        let request = ActRequest { caller, target: claim.to_hex(), reason: reason.to_owned(), ..ActRequest::default() };
        match self.client.retract(&request).await {
            Ok(WriteOutcome::Done(done)) => self.report.closed += usize::from(!done.replayed),
            Ok(WriteOutcome::Proposed(proposed)) => {
                self.report.skipped(&row.source, &row.claim.statement, &proposed.summary);
            }
            Ok(_) => {}
            Err(error) => {
                let error = CliError::from(error);
                if error.kind != Exit::Stale && error.kind != Exit::Usage {
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}
