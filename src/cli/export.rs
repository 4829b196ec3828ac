//! `ergo export`: writes a scope as JSON lines, decision records, or a block for agents.

use std::{fs, io::Write, path::PathBuf};

use super::{CliError, Context, Exit, paging, show::text::count};
use crate::{
    api::{ClaimView, ClaimsQuery, EventView, LogQuery, NoteFormat, NotesWriteRequest},
    client::Client,
    domain::{Scope, text::escape},
    files::DraftFile,
    interchange::{adr_export, agents_export, jsonl},
};

/// Export a project as JSON lines, as decision records, or into a file for agents.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    format: ExportFormat,
}

#[derive(Debug, clap::Subcommand)]
enum ExportFormat {
    /// Export every claim with its history, one JSON object per line.
    Jsonl {
        /// The file to write; it must not exist [default: stdout].
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Export each decision as a Markdown decision record, with links between old and new.
    Adr {
        /// The folder to write to; it must not contain Markdown files.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Write the active claims into ergo's section of AGENTS.md or a similar file, as `ergo notes write` does; the rest of the file is unchanged.
    Agents {
        /// The file, created if it does not exist [default: stdout].
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    match args.format {
        ExportFormat::Jsonl { file } => {
            let claims = claims(cx, &client, &scope).await?;
            let events = events(cx, &client, &scope).await?;
            write_lines(cx, &scope, claims, events, file)
        }
        ExportFormat::Adr { folder } => {
            let claims = claims(cx, &client, &scope).await?;
            write_records(cx, &scope, &claims, &folder)
        }
        ExportFormat::Agents { file } => write_block(cx, &client, &scope, file).await,
    }
}

fn write_lines(
    cx: &mut Context,
    scope: &Scope,
    claims: Vec<ClaimView>,
    events: Vec<EventView>,
    file: Option<PathBuf>,
) -> Result<Exit, CliError> {
    let total = claims.len();
    let mut text = Vec::new();
    for line in jsonl::lines(scope, claims, events, Context::now()) {
        serde_json::to_writer(&mut text, &line).map_err(CliError::internal)?;
        text.push(b'\n');
    }
    let Some(file) = file else {
        cx.ui.raw(&text);
        return Ok(Exit::Ok);
    };
    let written = DraftFile::beside(&file).and_then(|draft| {
        draft.keep_mode()?;
        draft.file().write_all(&text)?;
        draft.publish(false)
    });
    written.map_err(|error| CliError::file("create", &file, &error))?;
    if cx.ui.json {
        cx.ui.value(&serde_json::json!({ "file": file, "claims": total, "bytes": text.len() }));
    } else {
        cx.ui.note(text!(
            "Wrote {} of {} to {}.",
            count(total, "claim", "claims"),
            escape(&scope.to_string()),
            file.display()
        ));
    }
    Ok(Exit::Ok)
}

/// Writes the claims into ergo's section of a file, or prints all of them as a block.
async fn write_block(
    cx: &mut Context,
    client: &Client,
    scope: &Scope,
    file: Option<PathBuf>,
) -> Result<Exit, CliError> {
    let Some(file) = file else {
        let claims = claims(cx, client, scope).await?;
        cx.ui.raw(agents_export::block(scope, &claims).as_bytes());
        return Ok(Exit::Ok);
    };
    let path = std::path::absolute(&file).map_err(|error| CliError::file("find", &file, &error))?;
    let (client, caller) = cx.writer().await?;
    let request = NotesWriteRequest {
        caller,
        path: path.display().to_string(),
        of_caller: true,
        format: Some(NoteFormat::Agents),
        // All claims: an agent without tools knows nothing but the file.
        tokens: Some(usize::MAX),
        ..NotesWriteRequest::default()
    };
    let answer = client.notes_write(&request).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
        return Ok(Exit::Ok);
    }
    if !answer.written {
        cx.ui.line(text!("{} is up to date.", file.display()));
        return Ok(Exit::Ok);
    }
    let left = if answer.left_out > 0 { format!("; {} left out", answer.left_out) } else { String::new() };
    cx.ui.line(text!("Wrote the active claims of {} to {}{}.", escape(&scope.to_string()), file.display(), left));
    Ok(Exit::Ok)
}

fn write_records(cx: &mut Context, scope: &Scope, claims: &[ClaimView], folder: &PathBuf) -> Result<Exit, CliError> {
    let records = adr_export::records(claims);
    fs::create_dir_all(folder).map_err(|error| CliError::file("create", folder, &error))?;
    let mut entries = fs::read_dir(folder).map_err(|error| CliError::file("read", folder, &error))?;
    let taken = entries.any(|entry| {
        entry.is_ok_and(|entry| entry.path().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")))
    });
    if taken {
        return Err(CliError::usage(format_args!("{} already contains Markdown files", folder.display()))
            .hint("name an empty folder: existing files are never overwritten"));
    }
    for record in &records {
        let path = folder.join(&record.name);
        fs::File::create_new(&path)
            .and_then(|mut file| file.write_all(record.text.as_bytes()))
            .map_err(|error| CliError::file("create", &path, &error))?;
    }
    if cx.ui.json {
        let names: Vec<_> = records.iter().map(|record| &record.name).collect();
        cx.ui.value(&serde_json::json!({ "folder": folder, "records": names }));
    } else if records.is_empty() {
        cx.ui.line(text!(
            "{} has no decisions to export; facts are not exported as records.",
            escape(&scope.to_string())
        ));
    } else {
        cx.ui.line(text!(
            "Wrote {} of {} to {}.",
            count(records.len(), "record", "records"),
            escape(&scope.to_string()),
            folder.display()
        ));
    }
    Ok(Exit::Ok)
}

/// Returns every claim of a scope, whatever its status.
async fn claims(cx: &mut Context, client: &Client, scope: &Scope) -> Result<Vec<ClaimView>, CliError> {
    let query = ClaimsQuery { status: Some("all".to_owned()), ..paging::claims_of(scope) };
    let mut count = 0;
    let claims = paging::all(async |cursor| {
        let page = client.claims(&ClaimsQuery { cursor, ..query.clone() }).await?;
        count += page.items.len();
        cx.ui.progress(text!("reading {} of {}", count, page.total));
        Ok((page.items, page.next))
    })
    .await;
    cx.ui.progress_done();
    claims
}

/// Returns every act of a scope.
async fn events(cx: &mut Context, client: &Client, scope: &Scope) -> Result<Vec<EventView>, CliError> {
    let query = paging::events_of(scope);
    let mut count = 0;
    let events = paging::all(async |cursor| {
        let page = client.log(&LogQuery { cursor, ..query.clone() }).await?;
        count += page.items.len();
        cx.ui.progress(text!("reading changes: {}", count));
        Ok((page.items, page.next))
    })
    .await;
    cx.ui.progress_done();
    events
}
