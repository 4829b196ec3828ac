//! `ergo seed`: ingests a folder, or stores its facts.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{CliError, Context, Exit, add, ingest, scope::top_of, show::text::count};
use crate::client::reference_files::{self, FoundFiles, SkipReason, named_in};

/// Ingest a folder for reference, as `ergo ingest` does, or store its facts.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Store the facts of each paragraph, as `ergo add` does, instead of ingesting the files.
    #[arg(long, conflicts_with = "sync")]
    add: bool,
    #[command(flatten)]
    sharing: ingest::Sharing,
}

/// The result of adding a folder.
#[derive(Debug, Default, Serialize)]
struct SeedReport {
    files: usize,
    /// Paragraphs in the files.
    paragraphs: usize,
    /// Stored facts.
    facts: usize,
    /// Paragraphs without facts.
    without: usize,
    /// Skipped files, with the reason.
    skipped: Vec<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    if !args.dir.is_dir() {
        return Err(CliError::usage(format_args!("{} is not a folder", args.dir.display()))
            .hint("to ingest single files: `ergo ingest FILE`"));
    }
    if args.add {
        return add_all(&args.dir, cx).await;
    }
    ingest::ingest(&[args.dir], args.sharing, cx).await
}

/// Stores the facts of every file in a folder.
async fn add_all(dir: &Path, cx: &mut Context) -> Result<Exit, CliError> {
    let top = top_of(&std::env::current_dir().map_err(|error| CliError::file("read", Path::new("."), &error))?);
    let (client, caller) = cx.writer().await?;
    let mut found = FoundFiles::default();
    reference_files::files(&top, &std::path::absolute(dir).map_err(CliError::usage)?, &mut found);
    let mut report = SeedReport::default();
    for (path, why) in found.skipped.iter().chain(&found.outside) {
        report.skipped.push(format!("{}: {why}", named_in(&top, path)));
    }
    for path in &found.files {
        let name = named_in(&top, path);
        let text = match reference_files::text(path) {
            Ok(text) => text,
            Err(SkipReason::NoText(why) | SkipReason::Failed(why)) => {
                report.skipped.push(format!("{name}: {why}"));
                continue;
            }
        };
        report.files += 1;
        for (line, paragraph) in paragraphs(&text) {
            cx.ui.progress(text!("{}:{}", name, line));
            let added = add::add(&client, &caller, paragraph, Some(format!("{name}:{line}"))).await?;
            report.paragraphs += 1;
            report.facts += added.count;
            report.without += usize::from(added.count == 0);
        }
    }
    cx.ui.progress_done();
    show(cx, &report);
    Ok(Exit::Ok)
}

/// Splits a text into paragraphs without headings, each with its first line, from 1. Too long paragraphs are cut at a line.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        let has_text = line.chars().any(char::is_alphanumeric);
        if !has_text || line.starts_with('#') {
            open = false;
            continue;
        }
        match all.last_mut().filter(|(_, so_far)| open && so_far.len() + line.len() < crate::api::MAX_TEXT) {
            Some((_, so_far)) => {
                so_far.push('\n');
                so_far.push_str(line);
            }
            None => all.push((at + 1, line.to_owned())),
        }
        open = true;
    }
    all
}

fn show(cx: &mut Context, report: &SeedReport) {
    if cx.ui.json {
        cx.ui.value(report);
        return;
    }
    cx.ui.line(text!(
        "Stored {} of {} in {}.",
        count(report.facts, "fact", "facts"),
        count(report.paragraphs, "paragraph", "paragraphs"),
        count(report.files, "file", "files")
    ));
    if report.without > 0 {
        cx.ui.line(text!("No facts in {}.", count(report.without, "paragraph", "paragraphs")));
    }
    for skipped in &report.skipped {
        cx.ui.field("skipped", skipped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_divided_at_empty_lines_and_headings_are_no_facts() {
        let text = "# Title\n\nThe port is 8080\non every host.\n---\nLogs stay.\n\n\n## More\nKafka carries events.\n";
        let found = paragraphs(text);
        let found: Vec<(usize, &str)> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert_eq!(found, [(3, "The port is 8080\non every host."), (6, "Logs stay."), (10, "Kafka carries events.")]);
    }
}
