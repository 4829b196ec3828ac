//! `ergo sync import`: imports a bundle or receipt of another device.

use std::{
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::Duration,
};

use super::{
    super::{
        CliError, Context, Exit,
        show::{
            text::{count, quote},
            time::ago,
        },
        ui::{SafeText, Style},
    },
    bundle_file, export,
};
use crate::{
    api::{ExportRequest, ImportOutcome, ImportQuery, ImportedScope},
    domain::text::escape,
};

/// The interval between updates of the progress line.
const TICK: Duration = Duration::from_millis(150);

/// Import a file of another device: a bundle or a receipt.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Files may be imported in any order and more than once. The intact part of a damaged file is imported, and the missing part is
reported. If an import is interrupted, run it again.

Exit code 1: something in the file was not accepted, all its scopes are encrypted for other devices, or the receipt could not be
written; the answer says what and why.")]
pub(crate) struct Args {
    /// The file; `-` is stdin.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show what would be imported; change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Write a receipt, from which the other device learns what arrived.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    receipt: Option<PathBuf>,
    /// Overwrite an existing receipt file.
    #[arg(long, requires = "receipt")]
    force: bool,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    if let Some(receipt) = &args.receipt {
        bundle_file::must_not_exist(receipt, args.force)?;
    }
    let outcome = send(&args, cx).await?;
    let accepted = outcome.whole && outcome.quarantined_total == 0 && outcome.problems.is_empty();
    let exit = if accepted && !outcome.all_closed() { Exit::Ok } else { Exit::Refused };
    if cx.ui.json {
        cx.ui.value(&outcome);
    } else {
        show(&outcome, &args.file, cx);
    }
    if let Some(receipt) = &args.receipt {
        write_receipt(&outcome, receipt, args.force, cx).await?;
    }
    Ok(exit)
}

async fn send(args: &Args, cx: &mut Context) -> Result<ImportOutcome, CliError> {
    let client = cx.client().await?;
    let (body, length, read) = bundle_file::read(&args.file)?;
    let query = ImportQuery { dry_run: args.dry_run };
    let mut answer = std::pin::pin!(client.import_bundle(&query, body));
    let mut tick = tokio::time::interval(TICK);
    let answer = loop {
        tokio::select! {
            answer = &mut answer => break answer,
            _ = tick.tick() => cx.ui.progress(bundle_file::progress_line("importing", read.load(Ordering::Relaxed), length)),
        }
    };
    cx.ui.progress_done();
    answer.map_err(|error| {
        let error = CliError::from(error);
        CliError { error: text!("{}: {}", args.file.display(), error.error), ..error }
    })
}

async fn write_receipt(outcome: &ImportOutcome, path: &Path, force: bool, cx: &mut Context) -> Result<(), CliError> {
    if outcome.from_state != "active" {
        let error = text!("no receipt was written: the team lists the sender as {}", outcome.from_state);
        return Err(CliError::new(Exit::Refused, error)
            .hint("a receipt is encrypted for the sender, which must be an active device of the team"));
    }
    let request = ExportRequest {
        in_team: Some(outcome.team.to_hex()),
        to: vec![outcome.from.device.to_hex()],
        receipt_for: Some(outcome.bundle.clone()),
        ..ExportRequest::default()
    };
    export::fetch(&request, path, force, cx).await?;
    cx.ui.note(text!(
        "Wrote the receipt to {}. On the other device, run: ergo sync import {}",
        path.display(),
        quote(&path.file_name().unwrap_or_default().to_string_lossy())
    ));
    Ok(())
}

fn show(outcome: &ImportOutcome, path: &Path, cx: &mut Context) {
    let from = export::names(std::slice::from_ref(&outcome.from));
    let made = ago(outcome.created, Context::now());
    let what = if outcome.receipt { "A receipt" } else { "A bundle" };
    let done = if outcome.dry_run { " This was a dry run: nothing was changed." } else { "" };
    cx.ui.line(text!("{} of “{}” from {}, created {}.{}", what, escape(&outcome.team_name), from, made, done));
    if outcome.from_state != "active" {
        cx.ui.field(
            "sender",
            &format!("{} in the team; whether an event is accepted depends on its author alone", outcome.from_state),
        );
    }
    let known = if outcome.known > 0 { format!(", {} already stored", outcome.known) } else { String::new() };
    if changes_nothing(outcome) {
        let all = if outcome.known > 0 {
            format!(": {} already stored", count(outcome.known as usize, "event", "events"))
        } else {
            String::new()
        };
        cx.ui.line(text!("Nothing new{}.", all));
    } else if !outcome.receipt || outcome.stored > 0 {
        cx.ui.field("stored", &format!("{}{known}", count(outcome.stored as usize, "event", "events")));
    }
    if !outcome.new_authors.is_empty() {
        cx.ui.field("new authors", &export::names(&outcome.new_authors));
    }
    if outcome.readmitted > 0 {
        cx.ui.field("accepted", &format!("{} from quarantine", count(outcome.readmitted as usize, "event", "events")));
    }
    for scope in &outcome.scopes {
        cx.ui.field(&escape(&scope.scope.to_string()), &scope_line(scope, &from));
    }
    if outcome.closed_scopes > 0 && !outcome.all_closed() {
        let scopes = count(outcome.closed_scopes as usize, "scope", "scopes");
        cx.ui.field("encrypted", &format!("{scopes} for other recipients"));
    }
    let now = Context::now();
    for card in &outcome.cards {
        cx.ui.card_row(card, now);
    }
    show_rejected(outcome, path, cx);
}

/// Whether the import changed nothing.
fn changes_nothing(outcome: &ImportOutcome) -> bool {
    !outcome.receipt && outcome.stored == 0 && outcome.readmitted == 0 && outcome.quarantined_total == 0
}

/// Describes the state of one scope.
fn scope_line(scope: &ImportedScope, from: &str) -> String {
    let mut parts = Vec::new();
    if scope.stored > 0 {
        parts.push(format!("{} new", scope.stored));
    }
    if scope.arrived < scope.expected {
        parts.push(format!(
            "{} of {} events are missing from the file",
            scope.expected - scope.arrived,
            scope.expected
        ));
    }
    if scope.maker_lacks > 0 {
        parts.push(format!("{from} lacks {}", count(scope.maker_lacks as usize, "event", "events")));
    } else if scope.in_step {
        parts.push(format!("in sync with {from} at that time"));
    }
    if parts.is_empty() { "nothing new".to_owned() } else { parts.join("; ") }
}

fn show_rejected(outcome: &ImportOutcome, path: &Path, cx: &mut Context) {
    let bad = |cx: &Context, text: SafeText| cx.ui.paint(Style::Bad, text);
    if outcome.forks > 0 {
        let text = bad(
            cx,
            text!(
                "{} where the history of a device forks: its store was copied, or its key stolen; see `ergo sync status`",
                count(outcome.forks as usize, "place", "places")
            ),
        );
        cx.ui.line(text);
    }
    if outcome.quarantined_total > 0 {
        let text = bad(
            cx,
            text!("NOT accepted: {}, in quarantine:", count(outcome.quarantined_total as usize, "event", "events")),
        );
        cx.ui.line(text);
        for event in &outcome.quarantined {
            let author = export::names(std::slice::from_ref(&event.author));
            cx.ui.field(
                &event.id.short(),
                &format!("{} by {} ({author}): {}", escape(&event.scope.to_string()), escape(&event.who), event.why),
            );
        }
        let more = outcome.quarantined_total.saturating_sub(outcome.quarantined.len() as u64);
        if more > 0 {
            cx.ui.field("", &format!("and {more} more"));
        }
        cx.ui.note("`ergo sync quarantine list` lists them; an admin can accept or discard them.");
    }
    if outcome.all_closed() {
        let scopes = count(outcome.closed_scopes as usize, "scope", "scopes");
        let text = bad(cx, text!("NOT readable here: {}, encrypted for other devices of the team.", scopes));
        cx.ui.line(text);
        cx.ui.note(text!(
            "This device had no access to them when the file was made. Ask an admin to run `ergo sync grant DEVICE --all` with this \
             device's name, or `--only` with its scopes; then ask {} for a new file.",
            export::names(std::slice::from_ref(&outcome.from))
        ));
    }
    if !outcome.whole {
        let text = bad(cx, text!("{} is incomplete:", path.display()));
        cx.ui.line(text);
    }
    for problem in &outcome.problems {
        cx.ui.field("problem", problem);
    }
    if !outcome.whole {
        cx.ui.note("The readable part was imported. Copy the file again and import it again.");
    }
}
