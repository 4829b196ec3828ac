//! `ergo doctor`: looks over the installation and the store file itself, and rebuilds what can be rebuilt.

mod exposure;

use std::{fs, path::Path, sync::Arc};

use ed25519_dalek::SigningKey;
use serde::Serialize;

use super::{
    CliError, Context, Exit,
    models::health,
    show::{text::count, time::ago},
    status::bytes,
    ui::{SafeText, Style},
};
use crate::{
    api::{ContactView, ModelsStatus, PeerView, StoreCheck, Unembedded},
    client::{Client, ClientError, Connect},
    config::{Config, Paths, StoreFile, StoreLock, disk, privacy},
    guard::StructuralPairCheck,
    store::{CheckReport, ContactRow, Store, StoreError},
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
    findings.extend(exposure::look(&paths));
    findings.extend(room(&paths.data, disk::free_bytes(&paths.data)));
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
        let told = SafeText::lines(&finding.told);
        cx.ui.line(text!("{}{} {}", word, format_args!("{:<14}", finding.what), told));
        if let Some(hint) = &finding.hint {
            let label = cx.ui.paint(Style::Code, "Hint:");
            cx.ui.line(text!("{}{} {}", " ".repeat(23), label, SafeText::lines(hint)));
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
        Err(error) => vec![problem("models", error.to_string(), error.hints.first().map(|hint| hint.to_string()))],
    }
}

/// A choice that cannot serve is no problem of the installation: the default serves in its place.
fn not_as_chosen(told: String) -> Finding {
    Finding { hint: Some("ergo models list".to_owned()), ..note("models", told) }
}

/// Whether the disk that holds the store has room.
fn room(folder: &Path, free: Option<u64>) -> Option<Finding> {
    let (folder, free) = (folder.display(), free?);
    let size = bytes(free);
    Some(match free {
        ..disk::FULL => problem(
            "disk",
            format!("the disk that holds {folder} is full ({size} free): nothing can be stored"),
            "make room on it; writes work again by themselves".to_owned(),
        ),
        disk::FULL..disk::LOW => note("disk", format!("the disk that holds {folder} is almost full: {size} free")),
        _ => fine("disk", format!("{size} free for {folder}")),
    })
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
        // It answers: what it cannot do is read its store.
        Err(ClientError::Api(error)) => vec![problem("store", error.message, error.hint)],
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
    // Opening it would make a new one.
    match StoreFile::look_unless_lost(paths) {
        Ok(StoreFile::Present) => {}
        Ok(_) => {
            out.push(note("store", format!("{} is not there yet: the first write makes it", file.display())));
            return out;
        }
        Err(error) => {
            out.push(problem("store", error.to_string(), error.hint()));
            return out;
        }
    }
    if privacy::check_file(&file).is_err() {
        // Told already. Opening the file would close it to others, and with that hide what may have been done to it.
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
            let hint = format!("restore a backup: copy it to {place}");
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
        Err(error) => {
            out.push(problem("store", format!("{place} cannot be checked: {error}"), damage_hint(&error, file)));
        }
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

/// What to do about a file that does not hold what was written into it.
fn damage_hint(error: &StoreError, file: &Path) -> Option<String> {
    error.is_damage().then(|| format!("restore a backup: copy it to {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_a_problem_and_little_room_a_note() {
        let told = |free| room(Path::new("/home/ada/.local/share/ergo"), Some(free)).unwrap();
        let full = told(4_096);
        assert_eq!(full.health, Health::Problem);
        assert_eq!(
            full.told,
            "the disk that holds /home/ada/.local/share/ergo is full (4.1 kB free): nothing can be stored"
        );
        assert!(full.hint.unwrap().starts_with("make room on it"));
        assert_eq!(told(10 << 20).health, Health::Note);
        assert_eq!(told(10 << 30).health, Health::Ok);
        assert!(room(Path::new("/"), None).is_none());
    }
}
