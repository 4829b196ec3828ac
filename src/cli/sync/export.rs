//! `ergo sync export`: writes a bundle file, for devices without a common network.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use futures_util::TryStreamExt;

use super::{
    super::{
        CliError, Context, Exit,
        show::text::{count, quote},
        status::bytes,
    },
    bundle_file, with_global_scopes,
};
use crate::{
    api::{DeviceName, ExportOutcome, ExportRequest, MAX_SINCE_FILE, SINCE_FILE_PIECE},
    domain::{Scope, text::escape},
    files,
};

/// Write a team's events to a bundle file, for devices without a common network.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is encrypted: only its recipients can open it, and each only the scopes granted to it. Copy it to the other device and run
there: ergo sync import FILE

--scope ORG/PROJECT[,ORG/PROJECT…] or --project selects scopes; by default all shared scopes are included.
--since leaves out events that the recipient has: it takes the name of a device, the file of an earlier bundle or receipt from that
device, or a date (UTC).")]
pub(crate) struct Args {
    /// The file to create; `-` is stdout.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The team, by name or id, if this device is in several.
    #[arg(long = "in", alias = "team", value_name = "TEAM")]
    team: Option<String>,
    /// Leave out events that the recipient has.
    #[arg(long, value_name = "PEER|FILE|DATE|all", default_value = "all")]
    since: String,
    /// A recipient device, by name or id; may be given several times [default: the whole team].
    #[arg(long, value_name = "PEER")]
    to: Vec<String>,
    /// Do not encrypt: anyone with the file can read it.
    #[arg(long)]
    open: bool,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let scopes = with_global_scopes(cx, Vec::new())?;
    let request = request(&args, &scopes)?;
    let outcome = fetch(&request, &args.file, args.force, cx).await?;
    if bundle_file::is_dash(&args.file) {
        return Ok(Exit::Ok);
    }
    if cx.ui.json {
        cx.ui.value(&outcome);
    } else if !cx.ui.quiet {
        show(&outcome, &args.file, cx);
    }
    Ok(Exit::Ok)
}

fn request(args: &Args, scopes: &[Scope]) -> Result<ExportRequest, CliError> {
    let path = Path::new(&args.since);
    let since_file = if path.is_file() { beginning(path)? } else { Vec::new() };
    if since_file.is_empty() && (args.since.contains('/') || path.extension().is_some_and(|ending| ending == "ergo")) {
        return Err(CliError::usage(format_args!("{} does not exist", args.since))
            .hint("`--since` takes a device, a date, `all`, or a bundle or receipt file"));
    }
    Ok(ExportRequest {
        in_team: args.team.clone(),
        since: since_file.is_empty().then(|| args.since.clone()),
        since_file,
        scopes: scopes.iter().map(ToString::to_string).collect(),
        to: args.to.clone(),
        open: args.open,
        ..ExportRequest::default()
    })
}

/// Reads the beginning of a file, hex-encoded in pieces as the request needs it.
fn beginning(path: &Path) -> Result<Vec<String>, CliError> {
    let mut bytes = Vec::new();
    files::open(path)
        .and_then(|file| file.take(MAX_SINCE_FILE as u64).read_to_end(&mut bytes))
        .map_err(|error| CliError::file("read", path, &error))?;
    Ok(bytes.chunks(SINCE_FILE_PIECE / 2).map(hex::encode).collect())
}

/// Requests a bundle and writes it.
pub(super) async fn fetch(
    request: &ExportRequest,
    path: &Path,
    force: bool,
    cx: &mut Context,
) -> Result<ExportOutcome, CliError> {
    bundle_file::must_not_exist(path, force)?;
    let client = cx.client().await?;
    cx.ui.progress("collecting …");
    let answer = client.export_bundle(request).await;
    cx.ui.progress_done();
    let (outcome, length, mut body) = answer?;
    if bundle_file::is_dash(path) {
        while let Some(piece) = body.try_next().await.map_err(CliError::internal)? {
            cx.ui.raw(&piece);
        }
    } else {
        bundle_file::write(path, force, body, length, cx).await?;
    }
    Ok(outcome)
}

fn show(outcome: &ExportOutcome, path: &Path, cx: &mut Context) {
    let events = outcome.scopes.iter().map(|scope| scope.events).sum::<u64>() as usize;
    let scopes = count(outcome.scopes.len(), "scope", "scopes");
    cx.ui.line(text!(
        "Wrote {} of {} of the team “{}” to {} ({}).",
        count(events, "event", "events"),
        scopes,
        escape(&outcome.team_name),
        path.display(),
        bytes(outcome.bytes)
    ));
    match &outcome.sealed_to {
        Some(devices) => cx.ui.field("readable by", &names(devices)),
        None => cx.ui.field("encryption", "none: anyone with the file can read it"),
    }
    if outcome.since != "all" {
        let without = match outcome.since.strip_prefix("what ") {
            Some(recipient_has) => format!("events that {recipient_has}"),
            None => format!("events before {}", outcome.since),
        };
        cx.ui.field("without", &without);
    }
    for scope in outcome.scopes.iter().filter(|scope| scope.events > 0) {
        cx.ui.field(&escape(&scope.scope.to_string()), &count(scope.events as usize, "event", "events"));
    }
    for scope in &outcome.left_out {
        cx.ui.field("left out", &format!("{}: no recipient may read it", escape(&scope.to_string())));
    }
    cx.ui.note(text!(
        "On the other device, run: ergo sync import {}",
        quote(&path.file_name().unwrap_or_default().to_string_lossy())
    ));
}

/// Joins the names of devices.
pub(super) fn names(devices: &[DeviceName]) -> String {
    let name = |device: &DeviceName| {
        if device.name.is_empty() { device.device.short() } else { escape(&device.name) }
    };
    devices.iter().map(name).collect::<Vec<_>>().join(", ")
}
