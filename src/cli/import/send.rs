//! Sends the rows of an import to the daemon, one act per row.

use std::{collections::BTreeSet, path::PathBuf};

use super::{
    ImportOptions,
    agree::agreed,
    file_of_source, guard_checks, real_path,
    report::{ImportReport, RowResult, SkippedRow, preview},
    source_path,
};
use crate::{
    api::{
        Caller, CardAct, ClaimView, ClaimsQuery, Done, ErrorCode, MAX_TEXT, Refused, RememberRequest, ResolveRequest,
        Stored, SupersedeRequest, WriteOutcome,
    },
    cli::{CliError, Context, Exit, paging, show::text::quote},
    client::{Client, ClientError},
    domain::{ClaimId, OpId, Qualifiers, Scope},
    interchange::adr::{Record, StoredClaims},
};

/// The number of hexadecimal digits of an import's number.
pub(crate) const NUMBER_DIGITS: usize = 12;

/// The number of bytes of an import's number.
const NUMBER_BYTES: usize = NUMBER_DIGITS / 2;

/// Why a row is skipped whose claim is stored with the same statement, but differs otherwise.
pub(super) const LEFT_UNCHANGED: &str = "it was imported before with another reason, kind or condition and was left \
    unchanged: use `ergo supersede` to change it";

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

impl ImportRow {
    fn target_ids(&self) -> Vec<String> {
        self.targets.iter().map(|id| id.to_hex()).collect()
    }
}

/// The outcome of sending a row.
pub(super) enum RowOutcome {
    /// Its claim, stored now or before.
    Claim(ClaimId),
    /// The guard refused it; not yet reported.
    Refused(Box<Refused>),
    /// It was reported as skipped or proposed, or needed nothing.
    Skipped,
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
        preview(cx, rows, skipped, &checks, options.details);
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
    pub(super) client: Client,
    pub(super) caller: Caller,
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
        let real = |path: &PathBuf| real_path(path).unwrap_or_else(|_| path.clone()).display().to_string();
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
        let mut report = ImportReport::new(form, &named.join(", "), &scope, hex::encode(number), skipped.to_vec());
        let files: Vec<String> = files.iter().map(|file| quote(&file.display().to_string())).collect();
        let form = if form == "rule history" { "rules --history" } else { form };
        report.details = format!("ergo import {form} {} --details", files.join(" "));
        let scope = cx.known_scope(&client).await?;
        Ok(Self { client, caller, scope, number, report })
    }

    /// Stores a row that is known to be new or to supersede its targets.
    pub(super) async fn store_new(&mut self, row: &ImportRow) -> Result<Option<ClaimId>, CliError> {
        let answer = self.write(row, self.random_op()?).await;
        let outcome = self.record_answer(row, answer)?;
        Ok(self.report_refusal(row, outcome))
    }

    /// Returns the outcome that storing a row would have.
    pub(super) async fn dry_run(&self, row: &ImportRow) -> Result<WriteOutcome, CliError> {
        let dry = ImportRow { claim: RememberRequest { dry_run: true, ..row.claim.clone() }, ..row.clone() };
        self.write(&dry, self.random_op()?).await.map_err(row_error)
    }

    /// Returns the claims because of which the guard would refuse a row; none if the row cannot be stored at all.
    pub(super) async fn contradicted_by(&self, row: &ImportRow) -> Result<Vec<ClaimId>, CliError> {
        match self.dry_run(row).await {
            Ok(WriteOutcome::Conflict(refused)) => {
                Ok(refused.conflicts.iter().map(|conflict| conflict.claim.id).collect())
            }
            Ok(_) => Ok(Vec::new()),
            Err(error) if concerns_row(&error) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
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

    /// Stores one row and returns the id of its claim, as [`Self::try_store`]; reports a refusal.
    pub(super) async fn store(&mut self, row: &ImportRow) -> Result<Option<ClaimId>, CliError> {
        let outcome = self.try_store(row).await?;
        Ok(self.report_refusal(row, outcome))
    }

    /// Stores one row. Its claim is the new one, an existing equal one, or the one that an earlier run stored with another reason.
    pub(super) async fn try_store(&mut self, row: &ImportRow) -> Result<RowOutcome, CliError> {
        let targets = row.target_ids();
        // A row that refers to claims that were stored again is another act.
        let referred: Vec<&str> = [&targets, &row.claim.exception_to, &row.claim.depends_on]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        let key = self.op("store", &row.file, &row.claim.statement, &referred.join(","));
        let mut answer = self.write(row, key).await;
        let before = match &answer {
            Ok(WriteOutcome::Stored(stored)) if stored.replayed => {
                Some(self.client.claim(&stored.claim_id.to_hex()).await?)
            }
            Err(error) if is_reused(error) => self.stored_by(row, key).await?,
            _ => None,
        };
        if before.as_ref().is_some_and(|claim| claim.flags.undone) {
            // The earlier act was undone in the meantime: this import stores the row again.
            answer = self.write(row, self.random_op()?).await;
            return self.record_answer(row, answer);
        }
        Ok(match (self.record_answer(row, answer)?, before) {
            (RowOutcome::Skipped, Some(claim)) => RowOutcome::Claim(claim.id),
            (outcome, _) => outcome,
        })
    }

    /// Reports a refusal; otherwise returns the row's claim.
    fn report_refusal(&mut self, row: &ImportRow, outcome: RowOutcome) -> Option<ClaimId> {
        match outcome {
            RowOutcome::Claim(claim) => Some(claim),
            RowOutcome::Refused(refused) => {
                self.report.refused(row, &refused);
                None
            }
            RowOutcome::Skipped => None,
        }
    }

    /// Stores a refused row beside the claims that it contradicts, by settling its card: with `act`, and for an exception with the
    /// claim `target` as the exception. Reports another refusal.
    pub(super) async fn keep_both(
        &mut self,
        row: &ImportRow,
        refused: &Refused,
        act: CardAct,
        target: Option<ClaimId>,
        reason: &str,
    ) -> Result<Option<ClaimId>, CliError> {
        let Some(card) = refused.card_id else {
            self.report.refused(row, refused);
            return Ok(None);
        };
        let mut request = ResolveRequest {
            caller: Caller {
                op_id: Some(self.op("resolve", &row.file, &card.to_hex(), reason)),
                ..self.caller.clone()
            },
            act,
            reason: reason.to_owned(),
            winner: None,
            target: target.map(ClaimId::to_hex),
            statement: None,
            qualifiers: Qualifiers::default(),
            drop_conditions: false,
            until: None,
            expect_rev: None,
        };
        let mut answer = self.client.resolve(&card.to_hex(), &request).await;
        let gone = match &answer {
            Ok(WriteOutcome::Done(Done { claim_id: Some(claim), replayed: true, .. })) => {
                self.client.claim(&claim.to_hex()).await?.flags.undone
            }
            answer => matches!(answer, Ok(WriteOutcome::Stale(_))),
        };
        if gone {
            // An earlier run was undone in the meantime: this import stores the row again.
            let written = self.write(row, self.random_op()?).await;
            let outcome = self.record_answer(row, written)?;
            let card = match &outcome {
                RowOutcome::Refused(refused) => refused.card_id,
                RowOutcome::Claim(_) | RowOutcome::Skipped => None,
            };
            let Some(card) = card else { return Ok(self.report_refusal(row, outcome)) };
            request.caller.op_id = Some(self.random_op()?);
            answer = self.client.resolve(&card.to_hex(), &request).await;
        }
        let answer = match answer {
            Ok(WriteOutcome::Done(Done { claim_id: Some(claim_id), op_id, scope, replayed, warnings, .. })) => {
                let superseded = row.targets.clone();
                let (duplicate, dry_run, doubts) = (false, false, Vec::new());
                let stored =
                    Stored { claim_id, op_id, scope, duplicate, replayed, dry_run, superseded, warnings, doubts };
                Ok(WriteOutcome::Stored(stored))
            }
            answer => answer,
        };
        let outcome = self.record_answer(row, answer)?;
        Ok(self.report_refusal(row, outcome))
    }

    /// Returns the claims that were stored from a record before, perhaps from another folder.
    pub(super) async fn stored_claims(&self, record: &Record) -> Result<StoredClaims, CliError> {
        let mut claims = claims_from(&self.client, &self.scope, Some(&record.file)).await?;
        if let Some(exported) = &record.exported {
            let claim = self.client.claim(&exported.id.to_hex()).await;
            claims.extend(claim.ok().filter(|claim| claim.scope == self.scope));
        }
        let found = record.stored_claims(claims);
        if !found.is_empty() {
            return Ok(found);
        }
        let named = claims_from(&self.client, &self.scope, Some(record.file_name())).await?;
        let before = record.before_move(&named, |path| !file_of_source(path).exists());
        Ok(before.map_or(found, |before| before.stored_claims(named)))
    }

    /// Returns the claim of a row's file and statement that the act with this id stored.
    async fn stored_by(&self, row: &ImportRow, act: OpId) -> Result<Option<ClaimView>, CliError> {
        let Some((file, _)) = row.claim.source.as_deref().and_then(|source| source.rsplit_once(':')) else {
            return Ok(None);
        };
        let claims = claims_from(&self.client, &self.scope, Some(file)).await?;
        for claim in claims.into_iter().filter(|claim| claim.statement == row.claim.statement) {
            let events = self.client.history(&claim.id.to_hex()).await?.events;
            if events.iter().any(|event| event.id == claim.id && event.op_id == act) {
                return Ok(Some(claim));
            }
        }
        Ok(None)
    }

    /// Records the result of a row, except a refusal.
    fn record_answer(
        &mut self,
        row: &ImportRow,
        answer: Result<WriteOutcome, ClientError>,
    ) -> Result<RowOutcome, CliError> {
        let why = match answer.map_err(row_error) {
            Ok(WriteOutcome::Stored(stored)) => {
                let result = if stored.duplicate || stored.replayed { RowResult::Duplicate } else { RowResult::Stored };
                self.report.add(row, result, &stored);
                return Ok(RowOutcome::Claim(stored.claim_id));
            }
            Ok(WriteOutcome::Conflict(refused)) => return Ok(RowOutcome::Refused(Box::new(refused))),
            Ok(WriteOutcome::Proposed(proposed)) => {
                self.report.proposed(&row.source, &row.claim.statement, &proposed);
                return Ok(RowOutcome::Skipped);
            }
            // An import does not set `consider`, so it never gets questions.
            Ok(WriteOutcome::Done(_) | WriteOutcome::Consider(_)) => return Ok(RowOutcome::Skipped),
            Ok(WriteOutcome::Stale(stale)) => format!("changed in the meantime: {}", stale.message),
            Err(error) if concerns_row(&error) => error.error.to_string(),
            Err(error) => return Err(error),
        };
        self.report.skipped(&row.source, &row.claim.statement, &why);
        Ok(RowOutcome::Skipped)
    }

    async fn write(&self, row: &ImportRow, op: OpId) -> Result<WriteOutcome, ClientError> {
        // The memory of another tool keeps the agent that wrote it.
        let agent = row.claim.caller.agent.clone().or_else(|| self.caller.agent.clone());
        let caller = Caller { op_id: Some(op), agent, ..self.caller.clone() };
        let claim = RememberRequest { caller, ..row.claim.clone() };
        if row.targets.is_empty() {
            return self.client.remember(&claim).await;
        }
        // A row has all conditions of its claim.
        let targets = row.target_ids();
        let request = SupersedeRequest { targets, drop_conditions: true, claim, ..SupersedeRequest::default() };
        self.client.supersede(&request).await
    }

    /// Returns the act's id: the import's number and a hash of the row.
    pub(super) fn op(&self, act: &str, file: &str, statement: &str, more: &str) -> OpId {
        let Caller { org_id, project, .. } = &self.caller;
        let hash = hash(&["ergo/import-row/1", act, org_id, project, file, statement, more]);
        self.numbered(hash.as_bytes())
    }

    /// Returns a random act id of this import.
    pub(super) fn random_op(&self) -> Result<OpId, CliError> {
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

/// Whether an error concerns one row, so that the others can be stored.
fn concerns_row(error: &CliError) -> bool {
    matches!(error.kind, Exit::Usage | Exit::Refused)
}

/// The error of a row that was not stored.
fn row_error(error: ClientError) -> CliError {
    if is_reused(&error) {
        return CliError::usage(LEFT_UNCHANGED);
    }
    if matches!(&error, ClientError::Api(error) if error.code == ErrorCode::TooLarge) {
        return CliError::usage(format_args!("too long: a claim may have at most {} KiB", MAX_TEXT / 1024));
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

/// Returns the claims of a scope, active or not, whose source contains the path of a file; all of them without a file.
pub(super) async fn claims_from(
    client: &Client,
    scope: &Scope,
    file: Option<&str>,
) -> Result<Vec<ClaimView>, CliError> {
    let (status, source) = (Some("all".to_owned()), file.map(str::to_owned));
    let query = ClaimsQuery { status, source, ..paging::claims_of(scope) };
    paging::all(async |cursor| {
        let page = client.claims(&ClaimsQuery { cursor, ..query.clone() }).await?;
        Ok((page.items, page.next))
    })
    .await
}
