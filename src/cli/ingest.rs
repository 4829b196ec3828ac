//! `ergo ingest`: takes in files for reference, in pieces that recall finds. Nothing of them becomes a claim.
//!
//! Each file is one act: an ingest that is interrupted has lost nothing, and one that is run again doubles nothing.

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
    domain::text::sanitize_line,
};

/// The width of the bar.
const BAR: usize = 24;

/// Take in files for reference: recall finds their pieces, beside what was said.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo ingest docs README.md
  ergo ingest src

Markdown is divided at its headings, prose at paragraphs, source at definitions. The pieces stay on this machine unless `--sync` is given, pass no guard and
answer no `why`; `ergo learn` makes a claim of one. Taking in again what changed takes out what a file no longer says, and files that
are gone. Hidden files, build folders and what is no text are left out.")]
pub(crate) struct Args {
    /// Files, or folders with all that is in them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    sharing: Sharing,
}

/// Whether pieces of files leave this machine.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Sharing {
    /// Share the pieces: they travel wherever the scope is shared. Without, what was shared of a file stays as it is.
    #[arg(long)]
    sync: bool,
}

/// What became of an ingest.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// Files that were taken in.
    files: usize,
    /// Files of which nothing is left.
    gone: usize,
    /// Chunks of the files that are in force.
    chunks: usize,
    /// Of those, how many are new.
    added: usize,
    /// Chunks that were taken out.
    retired: usize,
    /// What was left out, and why.
    skipped: Vec<Skipped>,
}

#[derive(Debug, Serialize)]
struct Skipped {
    path: String,
    why: String,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    take_in(&args.paths, args.sharing, cx).await
}

/// Takes in files and folders.
pub(super) async fn take_in(named: &[PathBuf], sharing: Sharing, cx: &mut Context) -> Result<Exit, CliError> {
    let here = std::env::current_dir().map_err(|error| CliError::file("look at", Path::new("."), &error))?;
    let top = top_of(&here);
    let (client, caller) = cx.writer().await?;
    let mut report = Report::default();
    let (mut found, mut folders) = (FoundFiles::default(), Vec::new());
    for path in named {
        let path = std::path::absolute(path).map_err(CliError::usage)?;
        reference_files::files(&top, &path, &mut found);
        if path.is_dir() {
            folders.push(path);
        }
    }
    let mut seen = BTreeSet::new();
    let with = Sending { client: &client, caller: &caller, top: &top, sharing };
    let sent = send(cx, &with, &found, &mut seen, &mut report).await;
    cx.ui.progress_done();
    sent?;
    let skipped = found.skipped.into_iter().map(|(path, why)| Skipped { path: named_in(&top, &path), why });
    let known: Vec<Skipped> = skipped.collect();
    let outside = found.outside.into_iter().map(|(path, why)| Skipped { path: named_in(&top, &path), why });
    report.skipped.extend(outside);
    // What cannot be looked at may still be there.
    seen.extend(known.iter().map(|skipped| skipped.path.clone()));
    report.skipped.extend(known);
    for folder in folders {
        retire(&with, &named_in(&top, &folder), &seen, &mut report).await?;
    }
    show(cx, &report);
    let nothing = report.files == 0 && report.gone == 0 && !report.skipped.is_empty();
    Ok(if nothing { Exit::Usage } else { Exit::Ok })
}

/// What every file is sent with.
struct Sending<'a> {
    client: &'a Client,
    caller: &'a Caller,
    top: &'a Path,
    sharing: Sharing,
}

impl Sending<'_> {
    /// One file as it is now: its text, or none where it is gone.
    async fn ingest(&self, path: String, text: Option<String>) -> Result<Ingested, ClientError> {
        let request = IngestRequest { caller: self.caller.clone(), path, text, share: self.sharing.sync };
        self.client.ingest(&request).await
    }
}

async fn send(
    cx: &mut Context,
    with: &Sending<'_>,
    found: &FoundFiles,
    seen: &mut BTreeSet<String>,
    report: &mut Report,
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
            count(report.chunks, "chunk", "chunks"),
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
            // One file that the daemon does not take says nothing of the others.
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

/// Takes out the files under a folder that are no longer there.
async fn retire(
    with: &Sending<'_>,
    folder: &str,
    seen: &BTreeSet<String>,
    report: &mut Report,
) -> Result<(), CliError> {
    let under = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let query = IngestedQuery {
        org_id: with.caller.org_id.clone(),
        project: with.caller.project.clone(),
        under: (!under.is_empty()).then_some(under),
    };
    for file in with.client.ingested(&query).await?.items {
        // Where the top of the project was named, files from elsewhere are not its own.
        if seen.contains(&file.path) || (folder.is_empty() && file.path.starts_with('/')) {
            continue;
        }
        let done = with.ingest(file.path, None).await?;
        report.add(&done);
        // What others shared is theirs to take out.
        report.gone += usize::from(done.retired > 0);
    }
    Ok(())
}

impl Report {
    fn add(&mut self, done: &Ingested) {
        self.chunks += done.chunks;
        self.added += done.added;
        self.retired += done.retired;
    }
}

fn bar(done: usize, all: usize) -> String {
    let full = BAR * done / all.max(1);
    format!("[{}{}]", "#".repeat(full), "-".repeat(BAR - full))
}

fn show(cx: &mut Context, report: &Report) {
    if cx.ui.json {
        cx.ui.value(report);
        return;
    }
    let ui = &mut cx.ui;
    ui.line(text!(
        "Took in {}: {}, {} new, {} taken out.",
        count(report.files, "file", "files"),
        count(report.chunks, "chunk", "chunks"),
        report.added,
        report.retired
    ));
    if report.gone > 0 {
        ui.line(text!("{} no longer there.", count(report.gone, "file is", "files are")));
    }
    if !report.skipped.is_empty() {
        let title = ui.paint(Style::Strong, format!("Left out: {}", report.skipped.len()));
        ui.line(text!("\n{}", title));
        for skipped in &report.skipped {
            ui.field("", &sanitize_line(&format!("{}: {}", skipped.path, skipped.why)));
        }
    }
    ui.line("");
    ui.commands(&[("ergo recall '…'".to_owned(), "finds them beside what was said".to_owned())]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_full_at_the_end() {
        assert_eq!((bar(0, 4), bar(4, 4)), (format!("[{}]", "-".repeat(BAR)), format!("[{}]", "#".repeat(BAR))));
        assert!(bar(0, 0).starts_with("[-"));
    }
}
