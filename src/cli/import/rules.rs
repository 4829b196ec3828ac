//! `ergo import rules`: one claim for each rule of a rule file.

use std::path::PathBuf;

use super::{
    How, MAX_FILE, read,
    report::Left,
    send::{Row, send_all},
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
    #[command(flatten)]
    how: How,
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
        left.extend(
            found.skipped.into_iter().map(|skip| Left::new(format!("{path}:{}", skip.line), skip.text, skip.why)),
        );
        names.push(path);
    }
    let exit = send_all(cx, "rules", &names.join(", "), &rows, &left, args.how).await?;
    if rows.is_empty() && !args.how.dry_run {
        cx.ui.note("No rule was found: list items and sentences that ask for something are taken.");
    }
    Ok(exit)
}
