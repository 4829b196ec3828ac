//! `ergo ingest`: ingests files in chunks, which recall finds as references. Chunks are no claims.
//!
//! Each file is one act: an interrupted ingest can be continued by running it again.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{CliError, Context, Exit, scope::top_of, show::text::count, ui::Style};
use crate::{
    api::{Caller, ErrorCode, IngestRequest, Ingested, IngestedQuery},
    client::{
        Client, ClientError,
        reference_files::{self, FoundFiles, SkipReason, named_in},
    },
    domain::{Scope, text::sanitize_line},
};

/// The width of the progress bar, in columns.
const BAR_WIDTH: usize = 24;

/// Ingest files for reference: `ergo recall` finds their passages as well as claims.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo ingest docs README.md
  ergo ingest src

Markdown is split at headings, prose at paragraphs, source code at unindented lines after a blank line. The passages stay on this
device unless `--sync` is given. The guard does not check them, and `ergo why` does not use them; to make one a claim, use
`ergo learn`. Ingesting again updates changed files and removes deleted ones. Hidden files, build folders and binary files are
skipped.")]
pub(crate) struct Args {
    /// Files or folders.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    sharing: Sharing,
}

/// Whether passages leave this device.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Sharing {
    /// Share the passages with everybody in the team who has access to this scope. Files that are already shared stay shared.
    #[arg(long)]
    sync: bool,
}

/// The result of an ingest.
#[derive(Debug, Default, Serialize)]
struct IngestReport {
    files: usize,
    /// Deleted files.
    gone: usize,
    /// Chunks of the ingested files.
    chunks: usize,
    /// New chunks.
    added: usize,
    /// Chunks that were removed.
    retired: usize,
    /// Skipped files, with the reason.
    skipped: Vec<Skipped>,
}

#[derive(Debug, Serialize)]
struct Skipped {
    path: String,
    why: String,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    ingest(&args.paths, args.sharing, cx).await
}

/// Ingests files and folders.
pub(super) async fn ingest(named: &[PathBuf], sharing: Sharing, cx: &mut Context) -> Result<Exit, CliError> {
    let here = std::env::current_dir().map_err(|error| CliError::file("read", Path::new("."), &error))?;
    let top = top_of(&here);
    let (client, caller) = cx.writer().await?;
    let mut report = IngestReport::default();
    let (mut found, mut folders) = (FoundFiles::default(), Vec::new());
    for path in named {
        let path = std::path::absolute(path).map_err(CliError::usage)?;
        reference_files::files(&top, &path, &mut found);
        if path.is_dir() {
            folders.push(path);
        }
    }
    let mut seen = BTreeSet::new();
    let with = IngestContext { client: &client, caller: &caller, top: &top, sharing };
    let sent = send(cx, &with, &found, &mut seen, &mut report).await;
    cx.ui.progress_done();
    sent?;
    let skipped = found.skipped.into_iter().map(|(path, why)| Skipped { path: named_in(&top, &path), why });
    let known: Vec<Skipped> = skipped.collect();
    let outside = found.outside.into_iter().map(|(path, why)| Skipped { path: named_in(&top, &path), why });
    report.skipped.extend(outside);
    // An unreadable file may still exist.
    seen.extend(known.iter().map(|skipped| skipped.path.clone()));
    report.skipped.extend(known);
    let unread: Vec<String> = found.unread.iter().map(|folder| named_in(&top, folder)).collect();
    if !folders.is_empty() {
        // Determined only now, since ingesting the first file of a project may give its scope another name.
        let scope = cx.known_scope(&client).await?;
        for folder in folders {
            retire(&with, (&scope, &named_in(&top, &folder)), (&seen, &unread), &mut report).await?;
        }
    }
    show(cx, &report);
    let nothing = report.files == 0 && report.gone == 0 && !report.skipped.is_empty();
    Ok(if nothing { Exit::Usage } else { Exit::Ok })
}

/// The context of each file's request.
struct IngestContext<'a> {
    client: &'a Client,
    caller: &'a Caller,
    top: &'a Path,
    sharing: Sharing,
}

impl IngestContext<'_> {
    /// Ingests the current text of a file; `None` removes it.
    async fn ingest(&self, path: String, text: Option<String>) -> Result<Ingested, ClientError> {
        let request = IngestRequest { caller: self.caller.clone(), path, text, share: self.sharing.sync };
        self.client.ingest(&request).await
    }
}

async fn send(
    cx: &mut Context,
    with: &IngestContext<'_>,
    found: &FoundFiles,
    seen: &mut BTreeSet<String>,
    report: &mut IngestReport,
) -> Result<(), CliError> {
    for (at, path) in found.files.iter().enumerate() {
        let name = named_in(with.top, path);
        if let Some(why) = reference_files::unfit_name(&name) {
            report.skipped.push(Skipped { path: name, why });
            continue;
        }
        cx.ui.progress(text!(
            "{} {} of {}, {}  {}",
            bar(at, found.files.len()),
            at + 1,
            found.files.len(),
            count(report.chunks, "passage", "passages"),
            name
        ));
        let text = match reference_files::text(path) {
            Ok(text) => text,
            Err(SkipReason::NoText(why)) => {
                report.skipped.push(Skipped { path: name, why });
                continue;
            }
            Err(SkipReason::Failed(why)) => {
                seen.insert(name.clone());
                report.skipped.push(Skipped { path: name, why });
                continue;
            }
        };
        let done = match with.ingest(name.clone(), Some(text)).await {
            Ok(done) => done,
            // If the daemon refuses one file, the others can still be ingested.
            Err(ClientError::Api(error)) if matches!(error.code, ErrorCode::BadRequest | ErrorCode::TooLarge) => {
                seen.insert(name.clone());
                report.skipped.push(Skipped { path: name, why: error.message });
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        seen.insert(name);
        report.files += 1;
        report.add(&done);
    }
    Ok(())
}

/// Removes the files of a folder that no longer exist. Those below a folder that could not be read may still exist.
async fn retire(
    with: &IngestContext<'_>,
    (scope, folder): (&Scope, &str),
    (seen, unread): (&BTreeSet<String>, &[String]),
    report: &mut IngestReport,
) -> Result<(), CliError> {
    let under = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let query = IngestedQuery {
        org_id: scope.org_id.clone(),
        project: scope.project.clone(),
        under: (!under.is_empty()).then_some(under),
    };
    let is_unread = |file: &str| unread.iter().any(|folder| Path::new(file).starts_with(folder));
    for file in with.client.ingested(&query).await?.items {
        // The project's folder does not contain files with absolute paths.
        if seen.contains(&file.path) || is_unread(&file.path) || (folder.is_empty() && file.path.starts_with('/')) {
            continue;
        }
        let done = with.ingest(file.path, None).await?;
        report.add(&done);
        // Files that others shared are not removed.
        report.gone += usize::from(done.retired > 0);
    }
    Ok(())
}

impl IngestReport {
    fn add(&mut self, done: &Ingested) {
        self.chunks += done.chunks;
        self.added += done.added;
        self.retired += done.retired;
    }
}

fn bar(done: usize, all: usize) -> String {
    let full = BAR_WIDTH * done / all.max(1);
    format!("[{}{}]", "#".repeat(full), "-".repeat(BAR_WIDTH - full))
}

fn show(cx: &mut Context, report: &IngestReport) {
    if cx.ui.json {
        cx.ui.value(report);
        return;
    }
    let search = cx.in_scope("ergo recall '…'");
    let ui = &mut cx.ui;
    ui.line(text!(
        "Ingested {}: {}, {} new, {} removed.",
        count(report.files, "file", "files"),
        count(report.chunks, "passage", "passages"),
        report.added,
        report.retired
    ));
    if report.gone > 0 {
        ui.line(text!("Removed {}.", count(report.gone, "deleted file", "deleted files")));
    }
    if !report.skipped.is_empty() {
        let title = ui.paint(Style::Strong, format!("Skipped: {}", report.skipped.len()));
        ui.line(text!("\n{}", title));
        for skipped in &report.skipped {
            ui.field("", &sanitize_line(&format!("{}: {}", skipped.path, skipped.why)));
        }
    }
    ui.line("");
    ui.commands(&[(search, "search claims and passages".to_owned())]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_full_at_the_end() {
        assert_eq!(
            (bar(0, 4), bar(4, 4)),
            (format!("[{}]", "-".repeat(BAR_WIDTH)), format!("[{}]", "#".repeat(BAR_WIDTH)))
        );
        assert!(bar(0, 0).starts_with("[-"));
    }
}
