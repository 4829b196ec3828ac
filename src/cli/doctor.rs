//! `ergo doctor`: looks over the installation and the store file itself, and rebuilds what can be rebuilt.

use std::{fs, os::unix::fs::MetadataExt, path::Path, sync::Arc};

use ed25519_dalek::SigningKey;
use serde::Serialize;

use super::{
    CliError, Context, Exit,
    models::health,
    show::{text::count, time::ago},
    status::bytes,
    ui::Style,
};
use crate::{
    api::{ContactView, ModelsStatus, PeerView, StoreCheck, Unembedded},
    client::{Client, Connect},
    config::{Config, Paths, StoreLock},
    domain::text::sanitize,
    guard::StructuralPairCheck,
    store::{CheckReport, ContactRow, Store},
};

/// Check the installation and the store, and rebuild what can be rebuilt.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The whole store is checked: SQLite's own checks, every signature, whether the claims are what the events say, what teams did
not take. While the daemon runs it owns the file, and does this itself. Every address that was contacted is listed.")]
pub(crate) struct Args {
    /// Make claims, cards and indexes anew from the events; the daemon must be stopped.
    #[arg(long)]
    rebuild: bool,
}

/// How one thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Ok,
    Note,
    Problem,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    health: Health,
    told: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let paths = Paths::find()?;
    let mut findings = vec![configuration(&paths)];
    findings.extend(places(&paths));
    let owner = StoreLock::owner(&paths);
    match owner {
        Some(owner) if args.rebuild => {
            return Err(CliError::new(Exit::Unreachable, format_args!("the store is in use by {owner}"))
                .hint("ergo daemon stop && ergo doctor --rebuild"));
        }
        Some(_) => findings.extend(cx.block_on(async |_| Ok(ask_daemon(&paths).await))?),
        None => {
            findings.extend(chosen(&paths));
            findings.extend(examine(&paths, args.rebuild, cx));
        }
    }
    show(&findings, cx);
    let sick = findings.iter().any(|finding| finding.health == Health::Problem);
    Ok(if sick { Exit::Internal } else { Exit::Ok })
}

fn show(findings: &[Finding], cx: &mut Context) {
    if cx.ui.json {
        cx.ui.value(&serde_json::json!({ "findings": findings }));
        return;
    }
    for finding in findings {
        let (word, style) = match finding.health {
            Health::Ok => ("ok", Style::Good),
            Health::Note => ("note", Style::Warn),
            Health::Problem => ("PROBLEM", Style::Bad),
        };
        if cx.ui.quiet && finding.health == Health::Ok {
            continue;
        }
        let word = cx.ui.paint(style, format_args!("{word:<8}"));
        let told = sanitize(&finding.told);
        cx.ui.line(format_args!("{word}{:<14} {told}", finding.what));
        if let Some(hint) = &finding.hint {
            let label = cx.ui.paint(Style::Code, "Hint:");
            cx.ui.line(format_args!("{:23}{label} {}", "", sanitize(hint)));
        }
    }
}

fn fine(what: &'static str, told: String) -> Finding {
    Finding { what, health: Health::Ok, told, hint: None }
}

fn note(what: &'static str, told: String) -> Finding {
    Finding { what, health: Health::Note, told, hint: None }
}

fn problem(what: &'static str, told: String, hint: impl Into<Option<String>>) -> Finding {
    Finding { what, health: Health::Problem, told, hint: hint.into() }
}

fn configuration(paths: &Paths) -> Finding {
    let place = paths.config.display();
    match Config::load(paths) {
        Ok(_) if paths.config.exists() => fine("configuration", place.to_string()),
        Ok(_) => fine("configuration", format!("{place} is absent: everything has its default")),
        Err(error) => problem("configuration", error.to_string(), error.hint()),
    }
}

/// Which model serves which role.
fn chosen(paths: &Paths) -> Vec<Finding> {
    // A wrong configuration is told already; the models are then looked at without it.
    let config = Config::load(paths).unwrap_or_default();
    match health::look(paths, &config) {
        Ok(health) => {
            let mut out = vec![fine("models", health.told)];
            out.extend(health.problems.into_iter().map(not_as_chosen));
            out
        }
        Err(error) => vec![problem("models", error.error, error.hints.into_iter().next())],
    }
}

/// A choice that cannot serve is no problem of the installation: the default serves in its place.
fn not_as_chosen(told: String) -> Finding {
    Finding { hint: Some("ergo models list".to_owned()), ..note("models", told) }
}

/// Folders and secrets that only their owner may enter or read.
fn places(paths: &Paths) -> Vec<Finding> {
    let mut out = Vec::new();
    let folders = [("store folder", Some(&*paths.data)), ("socket folder", paths.socket.parent())];
    for (what, folder) in folders {
        let Some(folder) = folder else { continue };
        out.push(private(what, folder, 0o022, "others can write to it"));
    }
    for (what, file) in [("device key", paths.device_key()), ("token", paths.token())] {
        if file.exists() {
            out.push(private(what, &file, 0o077, "others can read it"));
        }
    }
    out
}

fn private(what: &'static str, path: &Path, forbidden: u32, why: &str) -> Finding {
    let place = path.display();
    match fs::metadata(path) {
        Ok(meta) if meta.mode() & forbidden != 0 => {
            let mode = if meta.is_dir() { 700 } else { 600 };
            problem(what, format!("{place}: {why}"), format!("chmod {mode} {place}"))
        }
        Ok(_) => fine(what, place.to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            note(what, format!("{place} is not there yet: the first command that needs it makes it"))
        }
        Err(error) => problem(what, format!("{place}: {error}"), None),
    }
}

/// What the daemon says about itself; the file is not touched.
async fn ask_daemon(paths: &Paths) -> Vec<Finding> {
    let connect = Connect { spawn: false, ..Connect::private(paths.clone()) };
    let answer = async { connect.client().await?.diagnose().await }.await;
    match answer {
        Ok(diagnose) => {
            let health = &diagnose.health;
            let mut out = vec![
                fine("daemon", format!("ergo {} runs (process {}) and owns the store", health.version, health.pid)),
                fine(
                    "store",
                    format!(
                        "{}: {}, {}",
                        diagnose.store,
                        bytes(diagnose.store_bytes),
                        count(diagnose.events, "event", "events")
                    ),
                ),
            ];
            out.extend(diagnose.problems.into_iter().map(|told| problem("daemon", told, None)));
            out.extend(models(&diagnose.models));
            out.push(vectors(&diagnose.unembedded));
            match connect.client().await {
                Ok(client) => out.extend(ask_more(&client, &diagnose.store).await),
                Err(error) => out.push(problem("daemon", error.to_string(), error.hint())),
            }
            out
        }
        Err(error) => {
            let hint = error.hint().unwrap_or_default();
            vec![problem("daemon", format!("the store is owned by a process that does not answer: {error}"), hint)]
        }
    }
}

/// The daemon looks its store over, and says how the teams stand and whom it has called.
async fn ask_more(client: &Client, place: &str) -> Vec<Finding> {
    let mut out = Vec::new();
    match client.check_store().await {
        Ok(check) => out.extend(looked_over(place, check, None)),
        Err(error) => out.push(problem("store", format!("it could not be checked: {error}"), error.hint())),
    }
    match client.sync_status().await {
        Ok(status) => {
            out.push(fine("sync", status.says.clone()));
            let of_teams = status.teams.iter().flat_map(|team| &team.problems);
            out.extend(status.problems.iter().chain(of_teams).map(|told| note("sync", told.clone())));
            out.extend(status.teams.iter().flat_map(|team| &team.peers).filter_map(of_peer));
        }
        Err(error) => out.push(problem("sync", error.to_string(), error.hint())),
    }
    match client.sync_contacts().await {
        Ok(contacts) => out.push(contacted(&contacts.items)),
        Err(error) => out.push(problem("network", error.to_string(), error.hint())),
    }
    out
}

/// What does not mend itself between this device and another one.
fn of_peer(peer: &PeerView) -> Option<Finding> {
    let (error, advice) = (peer.last_error.as_ref()?, peer.advice.clone()?);
    // Who is away is no finding.
    peer.needs_person.then(|| Finding { hint: Some(advice), ..note("peer", format!("{}: {error}", peer.name)) })
}

/// What waits for its vector.
fn vectors(waiting: &Unembedded) -> Finding {
    let Unembedded { claims, chunks, problem: why, off } = waiting;
    let waiting = format!("{} and {}", count(*claims, "claim", "claims"), count(*chunks, "reference", "references"));
    if *off {
        let without = if claims + chunks > 0 { format!("; {waiting} have none") } else { String::new() };
        let told = format!("none are made, since no embedder is chosen: words alone find and compare{without}");
        let hint =
            "`ergo models use embedder default`, or what [models] in config.toml says, brings them back".to_owned();
        return Finding { hint: Some(hint), ..note("vectors", told) };
    }
    if claims + chunks == 0 {
        return fine("vectors", "everything has one".to_owned());
    }
    let told = format!("{waiting} wait");
    match why {
        Some(why) => problem(
            "vectors",
            format!("{told}, found by their words alone: {why}"),
            "it is caught up by itself once the embedder answers; `ergo reembed` where another one is wanted"
                .to_owned(),
        ),
        None => fine("vectors", format!("{told}, found by their words until then")),
    }
}

/// Every address that was contacted, each with what for and when.
fn contacted(contacts: &[ContactView]) -> Finding {
    if contacts.is_empty() {
        return fine("network", "no address was ever contacted".to_owned());
    }
    let now = Context::now();
    let lines: Vec<String> = contacts
        .iter()
        .map(|contact| {
            let (first, last) = (ago(contact.first, now), ago(contact.last, now));
            format!("{:23}{} ({}; first {first}, last {last})", "", contact.address, contact.what)
        })
        .collect();
    let count = count(contacts.len(), "address was", "addresses were");
    fine("network", format!("{count} contacted, in all:\n{}", lines.join("\n")))
}

/// What a look over the whole store found.
fn looked_over(place: &str, check: StoreCheck, hint: Option<String>) -> Vec<Finding> {
    let StoreCheck { events, devices, redacted, problems, notes } = check;
    let events = count(events, "event", "events");
    let redacted = if redacted > 0 { format!(", {redacted} of them redacted") } else { String::new() };
    let by = if devices > 1 { format!(" by {devices} devices") } else { String::new() };
    let told = format!("{place}: {events}{by}{redacted}, every signature checked");
    let mut out = vec![if problems.is_empty() { fine("store", told) } else { problem("store", told, hint) }];
    out.extend(problems.into_iter().map(|told| problem("store", told, None)));
    out.extend(notes.into_iter().map(|told| note("store", told)));
    out
}

/// What computes, where, and what failed.
fn models(models: &ModelsStatus) -> Vec<Finding> {
    let mut out = Vec::new();
    for model in &models.roles {
        let hash = model.sha256.get(..12).map(|hash| format!(" ({hash})")).unwrap_or_default();
        let place = match (&model.computes, model.gpu_layers) {
            (Some(place), 0) => format!(", computed by {place}"),
            (Some(place), layers) => format!(", {} by {place}", count(layers as usize, "layer", "layers")),
            (None, _) => String::new(),
        };
        let loaded = if model.loaded { "loaded" } else { "not loaded now" };
        let told = format!("{} is {}{hash}, {loaded}{place}", model.role, model.name);
        out.push(match &model.problem {
            Some(problem) => {
                Finding { hint: Some("ergo models list".to_owned()), ..note("model", format!("{told}: {problem}")) }
            }
            None => fine("model", told),
        });
    }
    out.extend(models.problems.iter().cloned().map(not_as_chosen));
    for worker in models.workers.iter().filter(|worker| worker.pid.is_some() || worker.restarts > 0) {
        let roles = worker.roles.join(" and ");
        let state = match worker.pid {
            Some(pid) => format!("process {pid}, {}", bytes(worker.rss_bytes)),
            None => "no process now".to_owned(),
        };
        let told = format!("{roles}: {state}");
        out.push(match worker.restarts {
            0 => fine("inference", told),
            times => note("inference", format!("{told}; started again {} after it died", count_times(times))),
        });
    }
    if !models.failures.is_empty() {
        let kinds: Vec<_> = models.failures.iter().map(|(kind, times)| format!("{kind} {times}")).collect();
        let told = format!("calls that failed since the daemon started: {}", kinds.join(", "));
        out.push(Finding {
            hint: Some("the daemon's log says more: ergo daemon status".to_owned()),
            ..note("inference", told)
        });
    }
    out
}

fn count_times(times: u64) -> String {
    count(usize::try_from(times).unwrap_or(usize::MAX), "time", "times")
}

/// Looks the file over while nobody has it.
fn examine(paths: &Paths, rebuild: bool, cx: &mut Context) -> Vec<Finding> {
    let mut out = vec![fine("daemon", "not running".to_owned())];
    let file = paths.store();
    if !file.exists() {
        out.push(note("store", format!("{} is not there yet: the first write makes it", file.display())));
        return out;
    }
    // Held until the end, so that no daemon starts meanwhile.
    let _lock = match StoreLock::take(paths, "doctor") {
        Ok(lock) => lock,
        Err(error) => {
            out.push(problem("store", error.to_string(), error.hint()));
            return out;
        }
    };
    cx.ui.progress("checking the store …");
    out.extend(examine_file(&file, rebuild));
    cx.ui.progress_done();
    out
}

fn examine_file(file: &Path, rebuild: bool) -> Vec<Finding> {
    let place = file.display();
    // Nothing is signed here, so any key will do.
    let key = SigningKey::from_bytes(&[0; 32]);
    let mut store = match Store::open(file, key, Arc::new(StructuralPairCheck)) {
        Ok(store) => store,
        Err(error) => {
            let hint = "restore a backup: `ergo backup` makes one".to_owned();
            return vec![problem("store", format!("{place} cannot be opened: {error}"), hint)];
        }
    };
    let mut out = Vec::new();
    if rebuild {
        match store.rebuild() {
            Ok(()) => out.push(fine("rebuild", "claims, cards and indexes were made anew from the events".to_owned())),
            Err(error) => out.push(problem("rebuild", error.to_string(), None)),
        }
    }
    match store.check() {
        Ok(CheckReport { events, devices, redacted, problems, notes }) => {
            let size = fs::metadata(file).map_or(0, |meta| meta.len());
            let hint = (!rebuild).then(|| "ergo doctor --rebuild".to_owned());
            let check = StoreCheck { events, devices, redacted, problems, notes };
            out.extend(looked_over(&format!("{place}, {}", bytes(size)), check, hint));
        }
        Err(error) => out.push(problem("store", format!("{place} cannot be checked: {error}"), None)),
    }
    match store.reader().contacts() {
        Ok(rows) => {
            let view = |row: ContactRow| ContactView {
                address: row.address,
                what: row.what,
                first: row.first,
                last: row.last,
            };
            out.push(contacted(&rows.into_iter().map(view).collect::<Vec<_>>()));
        }
        Err(error) => out.push(problem("network", error.to_string(), None)),
    }
    out
}
