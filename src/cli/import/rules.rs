//! `ergo import rules`: one claim for each rule of a rule file.

use std::path::PathBuf;

use super::{
    MAX_FILE, destination, read,
    report::preview,
    send::{Row, Sender},
    shown,
};
use crate::{
    api::RememberRequest,
    cli::{CliError, Context, Exit},
    interchange::rules,
};

/// Take over the rules of CLAUDE.md, AGENTS.md, CONTRIBUTING.md, .cursorrules: one claim a rule, file and line as its
/// source.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The files.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Show what would be imported: store nothing, ask no daemon.
    #[arg(long)]
    dry_run: bool,
    /// List what is skipped, and why.
    #[arg(long)]
    details: bool,
}

pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let mut rows = Vec::new();
    let mut left = Vec::new();
    let mut names = Vec::new();
    for file in &args.files {
        let text = read(file, MAX_FILE)?;
        let path = shown(file);
        let name = file.file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
        let found = rules::parse(&name, &text);
        rows.extend(found.rules.into_iter().map(|rule| {
            let source = format!("{path}:{}", rule.line);
            let claim = RememberRequest {
                statement: rule.statement,
                kind: Some(rule.kind),
                reason: Some(rule.reason),
                source: Some(source.clone()),
                ..RememberRequest::default()
            };
            Row { claim, targets: Vec::new(), file: name.clone(), source }
        }));
        left.extend(found.skipped.into_iter().map(|skip| (format!("{path}:{}", skip.line), skip.text, skip.why)));
        names.push(path);
    }
    if args.dry_run {
        preview(cx, &rows, &left, args.details);
        return Ok(Exit::Ok);
    }
    let named = names.join(", ");
    let scope = destination(cx)?;
    let mut sender = Sender::new(cx, "rules", &named, &scope).await?;
    for (source, text, why) in &left {
        sender.report.skipped(source, text, why);
    }
    sender.all(cx, &rows).await?;
    sender.report.show(cx, args.details);
    if rows.is_empty() {
        cx.ui.note("No rule was found: list items and sentences that ask for something are taken.");
    }
    Ok(Exit::Ok)
}
