//! Sends the rows of an import to the daemon, one act per row.

use std::{collections::BTreeSet, fs, path::PathBuf};

use super::{
    ImportOptions,
    agree::agreed,
    guard_checks,
    report::{ImportReport, RowResult, SkippedRow, preview},
    source_path,
};
use crate::{
    api::{ActRequest, Caller, ClaimView, ClaimsQuery, ErrorCode, RememberRequest, SupersedeRequest, WriteOutcome},
    cli::{CliError, Context, Exit, paging},
    client::{Client, ClientError},
    domain::{ClaimId, OpId, Scope},
};

/// The number of hexadecimal digits of an import's number.
pub(crate) const NUMBER_DIGITS: usize = 12;

/// The number of bytes of an import's number.
const NUMBER_BYTES: usize = NUMBER_DIGITS / 2;

/// One row to import.
#[derive(Clone, Debug, Default)]
pub(super) struct ImportRow {
    /// The claim; [`Sender`] fills in the caller, but keeps its agent.
    pub(super) claim: RememberRequest,
    /// The already imported claims that the row supersedes.
    pub(super) targets: Vec<ClaimId>,
    /// The name of the file; with the statement, it identifies the row.
    pub(super) file: String,
    /// The row's source: `file:line`.
    pub(super) source: String,
}

/// Imports rows and reports the result, or only previews them.
pub(super) async fn send_all(
    cx: &mut Context,
    form: &str,
    files: &[PathBuf],
    rows: &[ImportRow],
    skipped: &[SkippedRow],
    options: ImportOptions,
) -> Result<Exit, CliError> {
    if options.dry_run {
        let checks = guard_checks::check(cx, rows, &BTreeSet::new()).await?;
        preview(cx, rows, skipped, Some(&checks), options.details);
        return Ok(Exit::Ok);
    }
    if !agreed(cx, rows, skipped, options)? {
        return Ok(Exit::Refused);
    }
    let mut sender = Sender::new(cx, form, files, skipped).await?;
    sender.store_all(cx, rows).await?;
    sender.report.show(cx, options.details);
    Ok(Exit::Ok)
}

/// Sends the rows of one import.
pub(super) struct Sender {
    client: Client,
    caller: Caller,
    /// The scope, by the daemon's name for it.
    scope: Scope,
    number: [u8; NUMBER_BYTES],
    /// The result so far.
    pub(super) report: ImportReport,
}

impl Sender {
    /// Starts an import of a format (`adr`, `jsonl`). Its number depends on the project and on the files' absolute paths.
    pub(super) async fn new(
        cx: &Context,
        form: &str,
        files: &[PathBuf],
        skipped: &[SkippedRow],
    ) -> Result<Self, CliError> {
        // Not the daemon's name for the project: the number must not change once the daemon knows the project.
        let scope = cx.here()?.scope;
        let real = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone()).display().to_string();
        let mut parts = vec!["ergo/import/2".to_owned(), form.to_owned(), scope.org_id, scope.project];
        parts.extend(files.iter().map(real));
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let mut number = [0; NUMBER_BYTES];
        number.copy_from_slice(hash(&parts).as_bytes().get(..NUMBER_BYTES).unwrap_or_default());
        let mut sender = Self::numbered_as(cx, form, files, skipped, number).await?;
        sender.report.shares_number = true;
        Ok(sender)
    }

    /// Starts an import with a random number.
    pub(super) async fn unique(
        cx: &Context,
        form: &str,
        files: &[PathBuf],
        skipped: &[SkippedRow],
    ) -> Result<Self, CliError> {
        let mut number = [0; NUMBER_BYTES];
        random(&mut number)?;
        Self::numbered_as(cx, form, files, skipped, number).await
    }

    async fn numbered_as(
        cx: &Context,
        form: &str,
        files: &[PathBuf],
        skipped: &[SkippedRow],
        number: [u8; NUMBER_BYTES],
    ) -> Result<Self, CliError> {
        let scope = cx.here()?.scope;
        let (client, caller) = cx.writer().await?;
        let named: Vec<String> = files.iter().map(|file| source_path(file)).collect();
        let report = ImportReport::new(form, &named.join(", "), &scope, hex::encode(number), skipped.to_vec());
        let scope = cx.known_scope(&client).await?;
        Ok(Self { client, caller, scope, number, report })
    }

    /// Stores a row that is known to be new or to supersede its targets.
    pub(super) async fn store_new(&mut self, row: &ImportRow) -> Result<Option<ClaimId>, CliError> {
        let targets: Vec<String> = row.targets.iter().map(|id| id.to_hex()).collect();
        let answer = self.write(row, &targets, self.random_op()?).await;
        self.record_answer(row, answer)
    }

    /// Returns the outcome that storing a row would have.
    pub(super) async fn dry_run(&self, row: &ImportRow) -> Result<WriteOutcome, CliError> {
        let targets: Vec<String> = row.targets.iter().map(|id| id.to_hex()).collect();
        let dry = ImportRow { claim: RememberRequest { dry_run: true, ..row.claim.clone() }, ..row.clone() };
        self.write(&dry, &targets, self.random_op()?).await.map_err(row_error)
    }

    /// Whether the guard would refuse a row because of claims in `pending`, which this import will also change.
    pub(super) async fn waits_for(&self, row: &ImportRow, pending: &[ClaimId]) -> Result<bool, CliError> {
        Ok(match self.dry_run(row).await? {
            WriteOutcome::Conflict(refused) => {
                refused.conflicts.iter().any(|conflict| pending.contains(&conflict.claim.id))
            }
            _ => false,
        })
    }

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
            Ok(WriteOutcome::Proposed(proposed)) => {
                self.report.skipped(&source, &claim.statement, &proposed.summary);
            }
            Ok(WriteOutcome::Stale(stale)) => self.report.skipped(&source, &claim.statement, &stale.message),
            Ok(_) => {}
            Err(error) => {
                let error = CliError::from(error);
                if error.kind != Exit::Stale && error.kind != Exit::Usage {
                    return Err(error);
                }
                self.report.skipped(&source, &claim.statement, &error.error);
            }
        }
        Ok(false)
    }

    /// Stores rows one by one and shows progress.
    async fn store_all(&mut self, cx: &mut Context, rows: &[ImportRow]) -> Result<(), CliError> {
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

    /// Stores one row and returns the id of its claim: the new one, an existing equal one, or the one that an earlier run stored
    /// with another reason.
    pub(super) async fn store(&mut self, row: &ImportRow) -> Result<Option<ClaimId>, CliError> {
        let targets: Vec<String> = row.targets.iter().map(|id| id.to_hex()).collect();
        let key = self.op("store", &row.file, &row.claim.statement, &targets.join(","));
        let mut answer = self.write(row, &targets, key).await;
        let before = match &answer {
            Ok(WriteOutcome::Stored(stored)) if stored.replayed => {
                Some(self.client.claim(&stored.claim_id.to_hex()).await?)
            }
            Err(error) if is_reused(error) => self.stored_by(row, key).await?,
            _ => None,
        };
        if before.as_ref().is_some_and(|claim| claim.flags.undone) {
            // The earlier act was undone in the meantime: this import stores the row again.
            answer = self.write(row, &targets, self.random_op()?).await;
            return self.record_answer(row, answer);
        }
        let stored = self.record_answer(row, answer)?;
        Ok(stored.or(before.map(|claim| claim.id)))
    }

    /// Returns the claim of a row's file and statement that the act with this id stored.
    async fn stored_by(&self, row: &ImportRow, act: OpId) -> Result<Option<ClaimView>, CliError> {
        let Some((file, _)) = row.claim.source.as_deref().and_then(|source| source.rsplit_once(':')) else {
            return Ok(None);
        };
        let (status, source) = (Some("all".to_owned()), Some(file.to_owned()));
        let query = ClaimsQuery { status, source, ..paging::claims_of(&self.scope) };
        let claims: Vec<ClaimView> = paging::all(async |cursor| {
            let page = self.client.claims(&ClaimsQuery { cursor, ..query.clone() }).await?;
            Ok((page.items, page.next))
        })
        .await?;
        for claim in claims.into_iter().filter(|claim| claim.statement == row.claim.statement) {
            let events = self.client.history(&claim.id.to_hex()).await?.events;
            if events.iter().any(|event| event.id == claim.id && event.op_id == act) {
                return Ok(Some(claim));
            }
        }
        Ok(None)
    }

    /// Records the result of a row.
    fn record_answer(
        &mut self,
        row: &ImportRow,
        answer: Result<WriteOutcome, ClientError>,
    ) -> Result<Option<ClaimId>, CliError> {
        match answer.map_err(row_error) {
            Ok(WriteOutcome::Stored(stored)) => {
                let result = if stored.duplicate || stored.replayed { RowResult::Duplicate } else { RowResult::Stored };
                self.report.add(row, result, &stored);
                Ok(Some(stored.claim_id))
            }
            Ok(WriteOutcome::Conflict(refused)) => {
                self.report.refused(row, &refused);
                Ok(None)
            }
            Ok(WriteOutcome::Stale(stale)) => {
                self.report.skipped(
                    &row.source,
                    &row.claim.statement,
                    &format!("changed in the meantime: {}", stale.message),
                );
                Ok(None)
            }
            // An import does not set `consider`, so it never gets questions.
            Ok(WriteOutcome::Done(_) | WriteOutcome::Proposed(_) | WriteOutcome::Consider(_)) => Ok(None),
            Err(error) if error.kind == Exit::Usage => {
                self.report.skipped(&row.source, &row.claim.statement, &error.error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Retracts a claim of this import.
    pub(super) async fn retract(&mut self, row: &ImportRow, claim: ClaimId, reason: &str) -> Result<(), CliError> {
        // The act's id depends on the claim's: a claim that was stored again is retracted again.
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

    async fn write(&self, row: &ImportRow, targets: &[String], op: OpId) -> Result<WriteOutcome, ClientError> {
        // The memory of another tool keeps the agent that wrote it.
        let agent = row.claim.caller.agent.clone().or_else(|| self.caller.agent.clone());
        let caller = Caller { op_id: Some(op), agent, ..self.caller.clone() };
        let claim = RememberRequest { caller, ..row.claim.clone() };
        if targets.is_empty() {
            return self.client.remember(&claim).await;
        }
        let request = SupersedeRequest { targets: targets.to_vec(), successor: None, expect_rev: None, claim };
        self.client.supersede(&request).await
    }

    /// Returns the act's id: the import's number and a hash of the row.
    fn op(&self, act: &str, file: &str, statement: &str, more: &str) -> OpId {
        let Caller { org_id, project, .. } = &self.caller;
        let hash = hash(&["ergo/import-row/1", act, org_id, project, file, statement, more]);
        self.numbered(hash.as_bytes())
    }

    /// Returns a random act id of this import.
    fn random_op(&self) -> Result<OpId, CliError> {
        let mut bytes = [0; 32];
        random(&mut bytes)?;
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

/// Whether the id of the act was already used for a row with the same statement but another reason, kind or condition.
fn is_reused(error: &ClientError) -> bool {
    matches!(error, ClientError::Api(error) if error.code == ErrorCode::OpIdReused)
}

/// The error of a row that was not stored.
fn row_error(error: ClientError) -> CliError {
    if is_reused(&error) {
        return CliError::usage(
            "it was imported before with another reason, kind or condition and was left unchanged: use `ergo supersede` to change it",
        );
    }
    error.into()
}

fn random(bytes: &mut [u8]) -> Result<(), CliError> {
    getrandom::fill(bytes)
        .map_err(|error| CliError::internal(format_args!("cannot get random bytes from the system: {error}")))
}

/// Hashes texts, each prefixed with its length, so that different lists have different hashes.
fn hash(parts: &[&str]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize()
}
