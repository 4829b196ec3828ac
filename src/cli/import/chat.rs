//! `ergo import chat` and `ergo import proposals`: decisions from chats, through a list that a person ticks.

use std::{fs, io::Write, path::PathBuf};

use super::{
    ImportOptions, read,
    report::SkippedRow,
    send::{ImportRow, send_all},
    source_path,
};
use crate::{
    api::RememberRequest,
    cli::{
        CliError, Context, Exit,
        show::text::{count, quote},
    },
    interchange::chat,
};

/// The maximum size of a chat export, in bytes.
const MAX_CHATS: u64 = 512 * 1024 * 1024;

/// The maximum size of a list of proposals, in bytes: the list of the largest export is smaller.
const MAX_LIST: u64 = 64 * 1024 * 1024;

/// Extract proposed decisions from a chat export (ChatGPT, Claude: conversations.json) into a checklist: tick what to import.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The export.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The list to create; it must not exist.
    #[arg(long, value_name = "LIST", default_value = "proposals.md")]
    to: PathBuf,
}

/// Import the ticked lines of a list that `ergo import chat` wrote.
#[derive(Debug, clap::Args)]
pub(super) struct Ticked {
    /// The list.
    #[arg(value_name = "LIST")]
    file: PathBuf,
    #[command(flatten)]
    options: ImportOptions,
}

pub(super) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let path = source_path(&args.file);
    let proposals = chat::read(&read(&args.file, MAX_CHATS)?).map_err(|error| {
        CliError::usage(format_args!("{path}: {error}")).hint("the export's file is called conversations.json")
    })?;
    if proposals.is_empty() {
        if cx.ui.json {
            cx.ui.value(&serde_json::json!({ "list": null, "proposals": 0 }));
            return Ok(Exit::Ok);
        }
        cx.ui.line("No decisions found in these chats; no list was written.");
        return Ok(Exit::Ok);
    }
    let text = chat::list(&proposals);
    let written = fs::File::create_new(&args.to).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| CliError::file("create", &args.to, &error).hint("name another list with --to"))?;
    if cx.ui.json {
        cx.ui.value(&serde_json::json!({ "list": args.to, "proposals": proposals.len() }));
        return Ok(Exit::Ok);
    }
    let many = count(proposals.len(), "proposal", "proposals");
    let list = args.to.display();
    cx.ui.line(text!(
        "Wrote {} to {}. Mark those to keep with `[x]`, then run `ergo import proposals {}`. Nothing was stored yet.",
        many,
        list,
        quote(&list.to_string())
    ));
    Ok(Exit::Ok)
}

pub(super) async fn ticked(args: Ticked, cx: &mut Context) -> Result<Exit, CliError> {
    let path = source_path(&args.file);
    let (found, wrong) = chat::ticked(&read(&args.file, MAX_LIST)?);
    let row = |(line, one): &(usize, chat::ChatProposal)| {
        let place = format!("{path}:{line}");
        let source = if one.source.is_empty() { place.clone() } else { one.source.clone() };
        let claim = RememberRequest {
            statement: one.statement.clone(),
            kind: Some(one.kind),
            reason: Some(one.reason.clone()).filter(|reason| !reason.is_empty()),
            source: Some(source),
            ..RememberRequest::default()
        };
        ImportRow { claim, targets: Vec::new(), file: path.clone(), source: place }
    };
    let rows: Vec<ImportRow> = found.iter().map(row).collect();
    let why = "expected: - [x] KIND: STATEMENT | because: REASON | from: SOURCE";
    let skipped: Vec<_> = wrong.iter().map(|line| SkippedRow::new(format!("{path}:{line}"), "", why)).collect();
    let exit = send_all(cx, "proposals", std::slice::from_ref(&args.file), &rows, &skipped, args.options).await?;
    if rows.is_empty() && !args.options.dry_run {
        cx.ui.note("No line is ticked: change `[ ]` to `[x]` on the lines to import, and run this again.");
    }
    Ok(exit)
}
