//! `ergo import memory`: imports the export of another memory tool.

use std::path::PathBuf;

use super::{
    ImportOptions, read,
    report::SkippedRow,
    send::{ImportRow, send_all},
    source_path,
};
use crate::{
    api::{Caller, RememberRequest},
    cli::{CliError, Context, Exit, show::text::count},
    domain::{Qualifiers, text::reason_of_import},
    interchange::memory,
};

/// The maximum size of an export, in bytes.
const MAX_EXPORT: u64 = 64 * 1024 * 1024;

/// Import the export of another memory tool: JSON lines of the official MCP memory server, or a JSON list (mem0, Engram).
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    options: ImportOptions,
}

pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let path = source_path(&args.file);
    let found = memory::read(&read(&args.file, MAX_EXPORT)?).map_err(|error| {
        CliError::usage(format_args!("{path}: {error}")).hint("to import an export of ergo: `ergo import jsonl`")
    })?;
    let name = args.file.file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
    let place = |at: usize| if found.is_list { format!("{path}, item {at}") } else { format!("{path}:{at}") };
    let row = |one: &memory::ImportedMemory| {
        let source = place(one.line);
        let default = reason_of_import(&name);
        let reason = one.reason.clone().or_else(|| one.kind.is_guarded().then_some(default));
        let claim = RememberRequest {
            statement: one.statement.clone(),
            kind: Some(one.kind),
            reason,
            source: Some(source.clone()),
            key: one.key.clone(),
            qualifiers: Qualifiers {
                valid_from: one.valid_from.clone(),
                valid_until: one.valid_until.clone(),
                ..Qualifiers::default()
            },
            caller: Caller { agent: one.agent.clone(), ..Caller::default() },
            ..RememberRequest::default()
        };
        // A memory that is repeated on a later day is another row.
        let file = match one.written {
            Some(written) => format!("{name}@{written}"),
            None => name.clone(),
        };
        ImportRow { claim, targets: Vec::new(), file, source }
    };
    let rows: Vec<ImportRow> = found.memories.iter().map(row).collect();
    let mut skipped: Vec<_> =
        found.skipped.iter().map(|skip| SkippedRow::new(place(skip.line), &skip.text, &skip.why)).collect();
    let dropped: Vec<String> = found.dropped.iter().map(|(field, many)| format!("{field} ({many})")).collect();
    // Without `--json`, the note below names the fields.
    if cx.ui.json {
        skipped.extend(found.dropped.iter().map(|(field, many)| {
            let why =
                format!("dropped: claims have no such field; {}", count(*many, "memory has it", "memories have it"));
            SkippedRow::new(path.clone(), field, why)
        }));
    }
    if !dropped.is_empty() {
        cx.ui.note(text!("These fields were not imported, since claims have no such fields: {}.", dropped.join(", ")));
    }
    send_all(cx, "memory", std::slice::from_ref(&args.file), &rows, &skipped, args.options).await
}
