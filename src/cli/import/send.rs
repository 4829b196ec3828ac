//! Sending the rows of an import to the daemon, one act a row.

use super::{
    How,
    report::{Fate, Left, Report, preview},
};
use crate::{
    api::{ActRequest, Caller, ErrorCode, RememberRequest, Stored, SupersedeRequest, WriteOutcome},
    cli::{CliError, Context, Exit},
    client::{Client, ClientError},
    domain::{ClaimId, OpId},
};

/// The digits of an import's number.
pub(crate) const NUMBER: usize = 12;

/// The bytes that an import's number takes of an act's id.
const NUMBER_BYTES: usize = NUMBER / 2;

/// One row to import.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// The claim; its caller is filled in here.
    pub(super) claim: RememberRequest,
    /// The claims that it replaces, already imported.
    pub(super) targets: Vec<ClaimId>,
    /// The name of the file, which with the statement makes the row's identity.
    pub(super) file: String,
    /// Where the row is from: `file:line`.
    pub(super) source: String,
}

/// Sends rows and says what became of them, or only shows what would be sent.
pub(super) async fn send_all(
    cx: &mut Context,
    form: &str,
    named: &str,
    rows: &[Row],
    left: &[Left],
    how: How,
) -> Result<Exit, CliError> {
    if how.dry_run {
        preview(cx, rows, left, how.details);
        return Ok(Exit::Ok);
    }
    let mut sender = Sender::new(cx, form, named, left).await?;
    sender.all(cx, rows).await?;
    sender.report.show(cx, how.details);
    Ok(Exit::Ok)
}

/// Sends rows in the name of one import.
pub(super) struct Sender {
    client: Client,
    caller: Caller,
    number: [u8; NUMBER_BYTES],
    /// What became of the rows so far.
    pub(super) report: Report,
}

impl Sender {
    /// An import of a form (`adr`, `rules`) from what a person named, in which some places became no row.
    pub(super) async fn new(cx: &Context, form: &str, named: &str, left: &[Left]) -> Result<Self, CliError> {
        // What the flags and the working directory name: an import's number is the same before the daemon knows the project.
        let scope = cx.here()?.scope;
        let (client, caller) = cx.writer().await?;
        let mut number = [0; NUMBER_BYTES];
        let hash = hash(&["ergo/import/1", form, named, &scope.org_id, &scope.project]);
        number.copy_from_slice(hash.as_bytes().get(..NUMBER_BYTES).unwrap_or_default());
        let report = Report::new(form, named, &scope, hex::encode(number), left.to_vec());
        Ok(Self { client, caller, number, report })
    }

    /// Stores rows, one after the other, and says how far it is.
    async fn all(&mut self, cx: &mut Context, rows: &[Row]) -> Result<(), CliError> {
        for (at, row) in rows.iter().enumerate() {
            cx.ui.progress(text!("importing {} of {}", at + 1, rows.len()));
            let sent = self.store(row).await;
            if sent.is_err() {
                cx.ui.progress_done();
            }
            sent?;
        }
        cx.ui.progress_done();
        Ok(())
    }

    /// Stores one row, and gives the id of its claim: the new one, or that which says the same already.
    pub(super) async fn store(&mut self, row: &Row) -> Result<Option<ClaimId>, CliError> {
        let targets: Vec<String> = row.targets.iter().map(|id| id.to_hex()).collect();
        let key = self.op("store", &row.file, &row.claim.statement, &targets.join(","));
        let mut answer = self.write(row, &targets, key).await;
        if let Ok(WriteOutcome::Stored(stored)) = &answer
            && stored.replayed
            && self.undone(stored).await?
        {
            // The person took it back and now asks for it again.
            answer = self.write(row, &targets, self.fresh()?).await;
        }
        match answer {
            Ok(WriteOutcome::Stored(stored)) => {
                let fate = if stored.duplicate || stored.replayed { Fate::Known } else { Fate::Stored };
                self.report.add(row, fate, &stored);
                Ok(Some(stored.claim_id))
            }
            Ok(WriteOutcome::Conflict(refused)) => {
                self.report.refused(row, &refused);
                Ok(None)
            }
            Ok(WriteOutcome::Stale(stale)) => {
                self.report.skipped(&row.source, &row.claim.statement, &format!("stale: {}", stale.message));
                Ok(None)
            }
            Ok(WriteOutcome::Done(_) | WriteOutcome::Proposed(_)) => Ok(None),
            Err(error) if error.kind == Exit::Usage => {
                self.report.skipped(&row.source, &row.claim.statement, &error.error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes a claim of this import out of force.
    pub(super) async fn retract(&mut self, row: &Row, claim: ClaimId, reason: &str) -> Result<(), CliError> {
        // A claim that was stored anew is taken out anew.
        let op = self.op("retract", &row.file, &claim.to_hex(), reason);
        let caller = Caller { op_id: Some(op), ..self.caller.clone() };
        let request = ActRequest { caller, target: claim.to_hex(), reason: reason.to_owned(), ..ActRequest::default() };
        match self.client.retract(&request).await {
            Ok(WriteOutcome::Done(_)) => self.report.closed += 1,
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

    async fn write(&self, row: &Row, targets: &[String], op: OpId) -> Result<WriteOutcome, CliError> {
        let caller = Caller { op_id: Some(op), ..self.caller.clone() };
        let claim = RememberRequest { caller, ..row.claim.clone() };
        let written = if targets.is_empty() {
            self.client.remember(&claim).await
        } else {
            let request = SupersedeRequest { targets: targets.to_vec(), successor: None, expect_rev: None, claim };
            self.client.supersede(&request).await
        };
        written.map_err(|error| match error {
            ClientError::Api(error) if error.code == ErrorCode::OpIdReused => CliError::usage(
                "it was imported before with another reason, kind or qualifier, and stays as it is: supersede it to change it",
            ),
            error => error.into(),
        })
    }

    async fn undone(&self, stored: &Stored) -> Result<bool, CliError> {
        Ok(self.client.claim(&stored.claim_id.to_hex()).await?.flags.undone)
    }

    /// The act's id: the import's number, then what the row says.
    fn op(&self, act: &str, file: &str, statement: &str, more: &str) -> OpId {
        let Caller { org_id, project, .. } = &self.caller;
        let hash = hash(&["ergo/import-row/1", act, org_id, project, file, statement, more]);
        self.numbered(hash.as_bytes())
    }

    /// Another id of the same import.
    fn fresh(&self) -> Result<OpId, CliError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| CliError::internal(format_args!("the system gave no random bytes: {error}")))?;
        Ok(self.numbered(&bytes))
    }

    fn numbered(&self, tail: &[u8]) -> OpId {
        let mut op = [0; 16];
        for (to, from) in op.iter_mut().zip(self.number.iter().chain(tail)) {
            *to = *from;
        }
        OpId(op)
    }
}

/// A hash of texts, each with its length before it, so that no two lists have one hash.
fn hash(parts: &[&str]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize()
}
