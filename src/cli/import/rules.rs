//! `ergo import rules`: one claim for each rule of a rule file, which is followed from then on.

use std::path::PathBuf;

use super::{
    How, MAX_FILE,
    agree::agreed,
    follow::{self, Followed},
    read,
    report::Left,
    send::{Row, Sender},
    shown,
};
use crate::{
    api::RememberRequest,
    cli::{CliError, Context, Exit},
    interchange::rules,
};

/// Take over the rules of CLAUDE.md, AGENTS.md, CONTRIBUTING.md, .cursorrules: one claim a rule, file and line as its
/// source. Imported again, a file is compared with what came from it before.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The files.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    how: How,
}

pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let mut files = Vec::new();
    for file in &args.files {
        let text = read(file, MAX_FILE)?;
        let path = shown(file);
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
            Row { claim, targets: Vec::new(), file: name.clone(), source }
        };
        let rows: Vec<Row> = found.rules.into_iter().map(row).collect();
        let skipped = found.skipped.into_iter();
        let left: Vec<Left> =
            skipped.map(|skip| Left::new(format!("{path}:{}", skip.line), skip.text, skip.why)).collect();
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        files.push(follow::File { hash, origin: follow::origin(file), path, name, rows, left });
    }
    let empty = files.iter().all(|file| file.rows.is_empty());
    let followed = Followed::compare(cx, files, args.how).await?;
    if args.how.dry_run {
        followed.show(cx, args.how.details);
        return Ok(Exit::Ok);
    }
    let (rows, left) = (followed.to_store(), followed.left());
    if !agreed(cx, &rows, &left, args.how)? {
        return Ok(Exit::Ok);
    }
    let mut sender = Sender::unique(cx, "rules", &args.files, &left).await?;
    let sent = followed.send(cx, &mut sender).await;
    cx.ui.progress_done();
    sent?;
    sender.report.show(cx, args.how.details);
    if empty {
        cx.ui.note("No rule was found: list items and sentences that ask for something are taken.");
    }
    Ok(Exit::Ok)
}
