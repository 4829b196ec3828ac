//! `ergo import jsonl`: imports an export into this project, through the guard and with its history.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use super::{
    ImportOptions,
    agree::agreed,
    read,
    report::{SkippedRow, preview},
    send::{ImportRow, Sender},
    source_path,
};
use crate::{
    api::{BesideRelation, ClaimView, RememberRequest},
    cli::{CliError, Context, Exit},
    domain::{
        ClaimId, Status,
        text::{has_word, reason_of_import},
    },
    interchange::jsonl::{self, JsonlError},
};

/// The maximum size of an export, in bytes.
const MAX_EXPORT: u64 = 512 * 1024 * 1024;

/// Import an export. Claims get new ids and this device's signature; superseded and retracted claims become history.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file that `ergo export jsonl` wrote.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    options: ImportOptions,
}

pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let path = source_path(&args.file);
    let text = read(&args.file, MAX_EXPORT)?;
    let (_, claims) = jsonl::read(&text).map_err(|error| {
        let refused = CliError::usage(format_args!("{path}: {error}"));
        match error {
            JsonlError::WrongCount { found, .. } => refused.hint(format_args!(
                "export the project again; to import the claims of this file alone, write `\"claims\":{found}` in line 1"
            )),
            _ => refused,
        }
    })?;
    let (kept, gone): (Vec<_>, Vec<_>) =
        claims.into_iter().partition(|(_, claim)| !claim.flags.undone && !claim.flags.redacted);
    let skipped: Vec<_> = gone
        .into_iter()
        .map(|(line, claim)| {
            let why = if claim.flags.redacted { "redacted" } else { "undone" };
            SkippedRow::new(format!("{path}:{line}"), claim.id.short(), why)
        })
        .collect();
    let rows: Vec<ImportRow> = kept.iter().map(|(line, claim)| row(claim, &format!("{path}:{line}"))).collect();
    if args.options.dry_run {
        preview(cx, &rows, &skipped, None, args.options.details);
        return Ok(Exit::Ok);
    }
    if !agreed(cx, &rows, &skipped, args.options)? {
        return Ok(Exit::Refused);
    }
    let mut sender = Sender::new(cx, "jsonl", std::slice::from_ref(&args.file), &skipped).await?;
    let mut new_ids: BTreeMap<ClaimId, ClaimId> = BTreeMap::new();
    let mut replaced = BTreeSet::new();
    for (at, ((_, claim), row)) in kept.iter().zip(&rows).enumerate() {
        cx.ui.progress(text!("importing {} of {}", at + 1, rows.len()));
        let mut row = row.clone();
        // A fact replaces the one before it by its key alone.
        let is_target = |old: &&ClaimId| claim.kind.is_guarded() && !replaced.contains(*old);
        let old: Vec<ClaimId> =
            claim.replaces.iter().filter(is_target).filter(|old| new_ids.contains_key(old)).copied().collect();
        let new_id = |old: &ClaimId| new_ids.get(old).copied();
        row.targets = old.iter().filter_map(new_id).collect();
        row.claim.depends_on = claim.premises.iter().filter_map(new_id).map(ClaimId::to_hex).collect();
        let rules = claim.beside.iter().filter(|other| other.relation == BesideRelation::Rule);
        for rule in rules.filter(|rule| !replaced.contains(&rule.claim) && !old.contains(&rule.claim)) {
            row.claim.exception_to.extend(new_id(&rule.claim).map(ClaimId::to_hex));
            row.claim.force_exception = row.claim.force_exception.or(rule.reason.clone().filter(|why| has_word(why)));
        }
        if row.claim.exception_to.is_empty() {
            row.claim.force_exception = None;
        }
        let sent = sender.store(&row).await;
        if sent.is_err() {
            cx.ui.progress_done();
        }
        if let Some(id) = sent? {
            new_ids.insert(claim.id, id);
            replaced.extend(old);
        }
    }
    for ((_, claim), row) in kept.iter().zip(&rows) {
        let closed = match claim.status {
            Status::Active => false,
            Status::Retracted | Status::Refused => true,
            // Its successor is missing from the file, came before it, or was refused.
            Status::Superseded => claim.kind.is_guarded() && !replaced.contains(&claim.id),
        };
        if let Some(id) = new_ids.get(&claim.id).filter(|_| closed) {
            let default = format!("{} in the export {path}.", claim.status);
            let reason = claim.closing_reason.clone().filter(|reason| has_word(reason)).unwrap_or(default);
            sender.retract(row, *id, &reason).await?;
        }
    }
    cx.ui.progress_done();
    sender.report.show(cx, args.options.details);
    Ok(Exit::Ok)
}

/// Converts an exported claim to a row.
fn row(claim: &ClaimView, source: &str) -> ImportRow {
    // Earlier versions stored reasons without a word.
    let reason = claim.reason.clone().map(|reason| if has_word(&reason) { reason } else { reason_of_import(source) });
    let request = RememberRequest {
        statement: claim.statement.clone(),
        kind: Some(claim.kind),
        reason,
        source: claim.source.clone(),
        key: claim.key.clone(),
        qualifiers: claim.qualifiers.clone(),
        ..RememberRequest::default()
    };
    // The old id distinguishes equal statements of different times.
    ImportRow { claim: request, targets: Vec::new(), file: claim.id.to_hex(), source: source.to_owned() }
}
