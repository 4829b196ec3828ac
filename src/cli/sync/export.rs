//! `ergo sync export`: what a team shares, as a file for laptops that share no network.

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
    file,
};
use crate::{
    api::{DeviceName, ExportOutcome, ExportRequest, MAX_SINCE_FILE, SINCE_FILE_PIECE},
    domain::text::escape,
    files,
};

/// Write what a team shares into a file, for laptops without a network.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is sealed: only the devices that it is for can open it, and each only the scopes that it was granted. Take it to the
other laptop, and there: ergo sync import FILE

--scope ORG/PROJECT[,ORG/PROJECT…] takes some scopes; without it, all that the team shares with this device are in it.
--since takes the name of a device (what it is known to have is left out), the file of an earlier bundle or of a receipt
(what its maker had is left out), or a date (UTC; what is older is left out).")]
pub(crate) struct Args {
    /// The file to make; `-` is stdout.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The team, by name or id, where this device belongs to several.
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,
    /// Leave out what the other side has.
    #[arg(long, value_name = "PEER|FILE|DATE|all", default_value = "all")]
    since: String,
    /// A device that it is for, by name or id; several times for several [default: the whole team].
    #[arg(long, value_name = "PEER")]
    to: Vec<String>,
    /// Do not seal it: whoever has the file can read it.
    #[arg(long)]
    open: bool,
    /// Replace the file where it exists.
    #[arg(long)]
    force: bool,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let request = request(&args, cx.globals.scope.as_deref())?;
    let outcome = fetch(&request, &args.file, args.force, cx).await?;
    if file::is_dash(&args.file) {
        return Ok(Exit::Ok);
    }
    if cx.ui.json {
        cx.ui.value(&outcome);
    } else if !cx.ui.quiet {
        show(&outcome, &args.file, cx);
    }
    Ok(Exit::Ok)
}

fn request(args: &Args, scopes: Option<&str>) -> Result<ExportRequest, CliError> {
    let path = Path::new(&args.since);
    let since_file = if path.is_file() { beginning(path)? } else { Vec::new() };
    if since_file.is_empty() && (args.since.contains('/') || path.extension().is_some_and(|ending| ending == "ergo")) {
        return Err(CliError::usage(format_args!("there is no file {}", args.since))
            .hint("`--since` takes a device, a date, `all`, or the file of a bundle or receipt"));
    }
    Ok(ExportRequest {
        team: args.team.clone(),
        since: since_file.is_empty().then(|| args.since.clone()),
        since_file,
        scopes: scopes
            .map(super::split_scopes)
            .transpose()?
            .unwrap_or_default()
            .iter()
            .map(ToString::to_string)
            .collect(),
        to: args.to.clone(),
        open: args.open,
        ..ExportRequest::default()
    })
}

/// The beginning of a file, as the request carries it.
fn beginning(path: &Path) -> Result<Vec<String>, CliError> {
    let mut bytes = Vec::new();
    files::open(path)
        .and_then(|file| file.take(MAX_SINCE_FILE as u64).read_to_end(&mut bytes))
        .map_err(|error| CliError::file("read", path, &error))?;
    Ok(bytes.chunks(SINCE_FILE_PIECE / 2).map(hex::encode).collect())
}

/// Asks for a bundle and writes it.
pub(super) async fn fetch(
    request: &ExportRequest,
    path: &Path,
    force: bool,
    cx: &mut Context,
) -> Result<ExportOutcome, CliError> {
    file::must_not_exist(path, force)?;
    let client = cx.client().await?;
    cx.ui.progress("collecting …");
    let answer = client.export_bundle(request).await;
    cx.ui.progress_done();
    let (outcome, length, mut body) = answer?;
    if file::is_dash(path) {
        while let Some(piece) = body.try_next().await.map_err(CliError::internal)? {
            cx.ui.raw(&piece);
        }
    } else {
        file::write(path, force, body, length, cx).await?;
    }
    Ok(outcome)
}

fn show(outcome: &ExportOutcome, path: &Path, cx: &mut Context) {
    let events = outcome.scopes.iter().map(|scope| scope.events).sum::<u64>() as usize;
    let scopes = count(outcome.scopes.len(), "scope", "scopes");
    cx.ui.line(text!(
        "{} of {} of “{}” written to {} ({}).",
        count(events, "event", "events"),
        scopes,
        escape(&outcome.team_name),
        path.display(),
        bytes(outcome.bytes)
    ));
    match &outcome.sealed_to {
        Some(devices) => cx.ui.field("sealed to", &names(devices)),
        None => cx.ui.field("open", "not sealed: whoever has the file can read it"),
    }
    if outcome.since != "all" {
        cx.ui.field("without", &format!("what is older: {}", outcome.since).replace("what is older: what", "what"));
    }
    for scope in outcome.scopes.iter().filter(|scope| scope.events > 0) {
        cx.ui.field(&escape(&scope.scope.to_string()), &count(scope.events as usize, "event", "events"));
    }
    for scope in &outcome.left_out {
        cx.ui.field("left out", &format!("{}: nobody whom the file is for may read it", escape(&scope.to_string())));
    }
    cx.ui.note(text!(
        "On the other laptop: ergo sync import {}",
        quote(&path.file_name().unwrap_or_default().to_string_lossy())
    ));
}

/// Devices by name, in a sentence.
pub(super) fn names(devices: &[DeviceName]) -> String {
    let name = |device: &DeviceName| {
        if device.name.is_empty() { device.device.short() } else { escape(&device.name) }
    };
    devices.iter().map(name).collect::<Vec<_>>().join(", ")
}
