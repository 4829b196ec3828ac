//! `ergo import memory`: takes over what another memory tool exported.

use std::path::PathBuf;

use super::{
    How, read,
    report::Left,
    send::{Row, send_all},
    shown,
};
use crate::{
    api::{Caller, RememberRequest},
    cli::{CliError, Context, Exit, show::text::count},
    domain::Qualifiers,
    interchange::memory,
};

/// The largest export that is read, in bytes.
const MAX_EXPORT: u64 = 64 * 1024 * 1024;

/// Take over another memory tool's export: the official MCP memory server's JSON lines, or a JSON list of memories (mem0, Engram).
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    how: How,
}

pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let path = shown(&args.file);
    let found = memory::read(&read(&args.file, MAX_EXPORT)?).map_err(|error| {
        CliError::usage(format_args!("{path}: {error}")).hint("ergo's own exports are read by `ergo import jsonl`")
    })?;
    let name = args.file.file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
    let row = |one: &memory::Memory| {
        let source = format!("{path}:{}", one.line);
        let told = format!("Taken over from {name}, which gives no reason.");
        let reason = one.reason.clone().or_else(|| one.kind.is_guarded().then_some(told));
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
        Row { claim, targets: Vec::new(), file: name.clone(), source }
    };
    let rows: Vec<Row> = found.memories.iter().map(row).collect();
    let mut left: Vec<_> =
        found.skipped.into_iter().map(|skip| Left::new(format!("{path}:{}", skip.line), skip.text, skip.why)).collect();
    let dropped: Vec<String> = found.dropped.iter().map(|(field, many)| format!("{field} ({many})")).collect();
    left.extend(found.dropped.iter().map(|(field, many)| {
        let why = format!("dropped: a claim has no such field; {}", count(*many, "memory has it", "memories have it"));
        Left::new(path.clone(), field, why)
    }));
    if !dropped.is_empty() {
        cx.ui.note(text!("Dropped, since a claim has no place for it: {}.", dropped.join(", ")));
    }
    send_all(cx, "memory", std::slice::from_ref(&args.file), &rows, &left, args.how).await
}
