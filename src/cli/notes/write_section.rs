//! `ergo notes write`: writes ergo's section of a rule file, or removes it.

use std::path::PathBuf;

use super::{absolute, conflict_row, writer};
use crate::{
    api::{NoteFormat, NotesWriteRequest},
    cli::{CliError, Context, Exit},
    domain::text::{escape, sanitize_line},
};

/// Write active claims into ergo's own section of a file, or remove the section. The rest of the file is unchanged.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file, created if it does not exist.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Print the section and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Remove the section. To write it again, leave this out.
    #[arg(long, conflicts_with_all = ["format", "tokens"])]
    remove: bool,
    /// The form of the section: claude, agents, cursor, copilot or chatgpt [default: by the file's name].
    #[arg(long, value_name = "FORMAT")]
    format: Option<NoteFormat>,
    /// Maximum tokens of the section [default: 2000; 1000 for cursor and copilot, 1500 for chatgpt].
    #[arg(long, value_name = "N")]
    tokens: Option<usize>,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let Args { path, dry_run, remove, format, tokens } = args;
    let path = absolute(&path)?;
    let (client, caller) = writer(cx).await?;
    let of_caller = cx.names_scope();
    let request = NotesWriteRequest { caller, path, of_caller, dry_run, remove, format, tokens };
    let answer = client.notes_write(&request).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
        return Ok(Exit::Ok);
    }
    if dry_run {
        let shown = if remove { &answer.before } else { &answer.section };
        for line in shown.lines() {
            cx.ui.line(text!("{}", sanitize_line(line)));
        }
    }
    let sentence = sanitize_line(&answer.sentence());
    if remove {
        cx.ui.note(text!("{}.", sentence));
        return Ok(Exit::Ok);
    }
    let left = if answer.left_out > 0 { format!("; {} left out", answer.left_out) } else { String::new() };
    cx.ui.note(text!(
        "{} ({}): about {} of {} tokens{}.",
        sentence,
        escape(&answer.scope.to_string()),
        answer.tokens,
        answer.budget,
        left
    ));
    for conflict in &answer.conflicts {
        conflict_row(cx, conflict);
    }
    Ok(Exit::Ok)
}
