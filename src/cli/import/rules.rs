//! `ergo import rules`: imports each rule of a rule file as a claim, and updates the claims when the file changes.

use std::path::PathBuf;

use super::{
    ImportEnd, ImportOptions, MAX_FILE,
    agree::agreed,
    read,
    reimport::{self, Reimport},
    report::SkippedRow,
    send::{ImportRow, Sender},
    source_path,
};
use crate::{
    api::RememberRequest,
    cli::{CliError, Context, Exit},
    domain::marked_section,
    interchange::rules,
};

/// Import the rules of CLAUDE.md, AGENTS.md, CONTRIBUTING.md or .cursorrules: one claim per rule, with file and line as its
/// source. Importing a file again applies the changes since the last import.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The files.
    #[arg(value_name = "FILE", required_unless_present = "history")]
    pub(super) files: Vec<PathBuf>,
    /// Import the git history of this file: each commit that changed it, oldest first, with its date, and its message as the reason. Renames are not followed. Import the history first: later imports without --history continue from it.
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub(super) history: Option<PathBuf>,
    #[command(flatten)]
    pub(super) options: ImportOptions,
}

pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    if let Some(file) = &args.history {
        return super::rule_history::run(file, args.options, cx).await;
    }
    Ok(import(&args, cx).await?.exit())
}

/// Imports the files.
pub(super) async fn import(args: &Args, cx: &mut Context) -> Result<ImportEnd, CliError> {
    let mut files = Vec::new();
    for file in &args.files {
        let text = read(file, MAX_FILE)?;
        let path = source_path(file);
        // With damaged markers, ergo's own lines would be read as rules, or the rules below them be taken for removed
        // ones. With a merge conflict, both versions would be read.
        marked_section::check(&text)
            .map_err(|error| CliError::usage(format_args!("{path}: {error}; nothing was imported")))?;
        let name = file.file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
        let found = rules::parse(&name, &text);
        let row = |rule: rules::Rule| {
            let source = format!("{path}:{}", rule.line);
            let claim = RememberRequest {
                statement: rule.statement,
                kind: Some(rule.kind),
                reason: Some(rule.reason),
                source: Some(source.clone()),
                ..RememberRequest::default()
            };
            ImportRow { claim, targets: Vec::new(), file: name.clone(), source }
        };
        let rows: Vec<ImportRow> = found.rules.into_iter().map(row).collect();
        let skipped = found.skipped.into_iter();
        let skipped: Vec<SkippedRow> =
            skipped.map(|skip| SkippedRow::new(format!("{path}:{}", skip.line), skip.text, skip.why)).collect();
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        files.push(reimport::RuleFile { hash, origin: reimport::origin(file), path, name, rows, skipped });
    }
    let empty = files.iter().all(|file| file.rows.is_empty());
    let reimport = Reimport::compare(cx, files, args.options).await?;
    if args.options.dry_run {
        let checks = reimport.check(cx).await?;
        reimport.show(cx, &checks, args.options.details);
        return Ok(ImportEnd::Done(None));
    }
    let (rows, skipped) = (reimport.to_store(), reimport.skipped());
    if !agreed(cx, &rows, &skipped, args.options)? {
        return Ok(ImportEnd::Declined);
    }
    let mut sender = Sender::unique(cx, "rules", &args.files, &skipped).await?;
    let sent = reimport.send(cx, &mut sender).await;
    cx.ui.progress_done();
    // What was stored is shown also before an error.
    sender.report.show(cx, args.options.details);
    sent?;
    if empty {
        cx.ui.note("No rules found. Rules are list items or sentences that demand something; `ergo import rules` with --details lists what was skipped.");
    }
    Ok(ImportEnd::Done(sender.report.undo_number()))
}
