//! `ergo doctor`: checks the installation and the store, and rebuilds projections.

pub(super) mod daemon_findings;
mod examine;
mod exposure;
mod leftovers;

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{
    CliError, Context, Exit,
    models::health,
    pace,
    show::{text::count, time::ago},
    status::bytes,
    tui,
    ui::{SafeText, Style, Ui},
};
use crate::{
    api::{AgentView, AgentsQuery, ContactView, Diagnose, ModelsStatus, PeerView, ScopeView, StoreCheck, Unembedded},
    client::{Client, ClientError, Connect},
    config::{Config, Owner, Paths, StoreLock, disk},
    domain::{ago::span, clock::AHEAD, text::escape},
};

/// The hint where to find the reason of a failure.
const LOG_HINT: &str = "see the daemon's log; `ergo daemon status` names the file";

/// The difference between two clocks from which it is reported, in seconds.
const REPORTED_CLOCK_DIFFERENCE: u64 = 600;

/// Check the installation and the store.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Checks SQLite's integrity, every signature, whether claims and cards match their events, and the quarantine of each team, and
lists every network address that ergo has contacted. If the daemon is running, it performs the checks.
--rebuild also mends a damaged file: it writes a new file and keeps the damaged one beside it as ergo.db.damaged. Indexes, claims
and cards are computed again; of other tables it loses what cannot be read, and says what. If events themselves are damaged, restore a backup (`ergo backup --help`). The exit code is 4 if it finds a problem.")]
pub(crate) struct Args {
    /// Rebuild claims, cards and indexes from the events; the daemon must be stopped.
    #[arg(long)]
    rebuild: bool,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Ok,
    Note,
    Problem,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    health: Health,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    if args.rebuild {
        cx.must_be_person("rebuild the store")?;
    }
    let paths = Paths::find()?;
    let mut findings = vec![configuration(&paths)];
    findings.extend(tui::check_files(&paths).into_iter().map(app_file));
    findings.extend(judges(&paths));
    findings.extend(exposure::check(&paths));
    findings.extend(free_space(&paths.data, disk::free_bytes(&paths.data)));
    let owner = StoreLock::owner(&paths);
    findings.extend(leftovers::check(&paths, owner.is_some()));
    match owner {
        Some(owner) if args.rebuild => {
            return Err(CliError::new(Exit::Unreachable, format_args!("the store is in use: {owner}"))
                .hint(owner.way_to_run("ergo doctor --rebuild")));
        }
        Some(owner) => findings.extend(cx.block_on(async |cx| Ok(ask_daemon(&paths, &owner, &mut cx.ui).await))?),
        None => {
            // An invalid configuration is reported already; the defaults are then checked.
            let config = Config::load(&paths).unwrap_or_default();
            findings.extend(config.without_effect().into_iter().map(daemon_findings::setting_without_effect));
            findings.extend(chosen_models(&paths, &config));
            findings.extend(examine::examine(&paths, args.rebuild, cx));
        }
    }
    show(&findings, cx);
    let has_problem = findings.iter().any(|finding| finding.health == Health::Problem);
    Ok(if has_problem { Exit::Internal } else { Exit::Ok })
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
        let message = SafeText::lines(&finding.message);
        cx.ui.line(text!("{}{} {}", word, format_args!("{:<14}", finding.what), message));
        if let Some(hint) = &finding.hint {
            let label = cx.ui.paint(Style::Code, "Hint:");
            cx.ui.line(text!("{}{} {}", " ".repeat(23), label, SafeText::lines(hint)));
        }
    }
}

fn fine(what: &'static str, message: String) -> Finding {
    Finding { what, health: Health::Ok, message, hint: None }
}

fn note(what: &'static str, message: String) -> Finding {
    Finding { what, health: Health::Note, message, hint: None }
}

fn problem(what: &'static str, message: String, hint: impl Into<Option<String>>) -> Finding {
    Finding { what, health: Health::Problem, message, hint: hint.into() }
}

fn configuration(paths: &Paths) -> Finding {
    let place = paths.config.display();
    match Config::load(paths) {
        Ok(_) if paths.config.exists() => fine("configuration", place.to_string()),
        Ok(_) => fine("configuration", format!("{place} does not exist: all settings have their defaults")),
        Err(error) => problem("configuration", error.to_string(), error.hint()),
    }
}

/// Reports a file of the app, which does not start with an invalid one.
fn app_file((what, path, read): (&'static str, PathBuf, Result<(), CliError>)) -> Finding {
    match read {
        Ok(()) => fine(what, path.display().to_string()),
        Err(error) => problem(what, error.to_string(), error.hints.first().map(|hint| hint.to_string())),
    }
}

/// Names the endpoint and the command to which the settings send claims to be judged.
fn judges(paths: &Paths) -> Vec<Finding> {
    let Ok(Config { judge, .. }) = Config::load(paths) else { return Vec::new() };
    let mut out = Vec::new();
    if let Some(address) = &judge.endpoint {
        let message =
            format!("claims and questions are sent to {}, because [judge] in config.toml names it", escape(address));
        out.push(note("judge", message));
    }
    if !judge.command.is_empty() {
        let command = escape(&judge.command.join(" "));
        out.push(note(
            "judge",
            format!("claims are given to the command `{command}`, because [judge] in config.toml names it"),
        ));
    }
    out
}

/// Checks which model serves which role.
fn chosen_models(paths: &Paths, config: &Config) -> Vec<Finding> {
    match health::check(paths, config) {
        Ok(health) => {
            let mut out = vec![fine("models", health.summary)];
            out.extend(health.problems.into_iter().map(daemon_findings::unusable_model));
            out
        }
        Err(error) => vec![problem("models", error.to_string(), error.hints.first().map(|hint| hint.to_string()))],
    }
}

/// Checks the free space on the disk of the store.
fn free_space(folder: &Path, free: Option<u64>) -> Option<Finding> {
    let (folder, free) = (folder.display(), free?);
    let size = bytes(free);
    Some(match free {
        ..disk::FULL => problem(
            "disk",
            format!("the disk of {folder} is full ({size} free): writes fail"),
            "free some space; writes then work again without a restart".to_owned(),
        ),
        disk::FULL..disk::LOW => Finding {
            hint: Some("free some space before writes fail".to_owned()),
            ..note("disk", format!("the disk of {folder} is almost full: {size} free"))
        },
        _ => fine("disk", format!("{size} free for {folder}")),
    })
}

/// Has the running daemon report its state; the store's file is not opened.
async fn ask_daemon(paths: &Paths, owner: &Owner, ui: &mut Ui) -> Vec<Finding> {
    let connect = Connect { spawn: false, ..Connect::private(paths.clone()) };
    let answer = async { connect.client().await?.diagnose().await }.await;
    match answer {
        Ok(diagnose) => {
            let health = &diagnose.health;
            let mut out = vec![
                fine("daemon", format!("ergo {} runs (process {}) and owns the store", health.version, health.pid)),
                fine("store", format!("{}: {}", diagnose.store, bytes(diagnose.store_bytes))),
            ];
            out.extend(daemon_findings::reported(&diagnose));
            out.extend(models(&diagnose.models));
            out.push(vectors(&diagnose.unembedded));
            match connect.client().await {
                Ok(client) => out.extend(check_through_daemon(&client, &diagnose, ui).await),
                Err(error) => out.push(problem("daemon", error.to_string(), error.hint())),
            }
            out
        }
        // The daemon answers but cannot read its store.
        Err(ClientError::Api(error)) => vec![problem("store", error.message, error.hint)],
        Err(error) => {
            // Not the hint of the error, which would be to start a daemon.
            let (message, hint) = if owner.is_daemon() {
                let hint = "if it was just started, repeat the command; otherwise restart it: ";
                (
                    format!("{owner} owns the store and does not answer: {error}"),
                    format!("{hint}`{}`", daemon_findings::RESTART),
                )
            } else {
                (format!("the store was not checked: it is in use by {owner}"), owner.way_to_run("ergo doctor"))
            };
            vec![problem("daemon", message, hint)]
        }
    }
}

/// Has the daemon check its store, and checks teams, clocks, agents and contacted addresses.
async fn check_through_daemon(client: &Client, diagnose: &Diagnose, ui: &mut Ui) -> Vec<Finding> {
    let mut out = Vec::new();
    match pace::with_progress(ui, client, "check", client.check_store()).await {
        Ok(check) => {
            // The daemon does not say whether the damage is in the events, which no rebuild mends.
            let hint = "`ergo daemon stop && ergo doctor`, which says whether a rebuild or a backup helps".to_owned();
            out.extend(store_findings(&diagnose.store, check, Some(hint)));
        }
        // Reported by the daemon already.
        Err(_) if diagnose.store_problem.is_some() => {}
        Err(error) => out.push(problem("store", format!("cannot be checked: {error}"), error.hint())),
    }
    match client.sync_status().await {
        Ok(status) => {
            out.push(fine("sync", status.says.clone()));
            let of_teams = status.teams.iter().flat_map(|team| &team.problems);
            out.extend(status.problems.iter().chain(of_teams).map(|message| note("sync", message.clone())));
            out.extend(status.teams.iter().flat_map(|team| &team.peers).filter_map(peer_finding));
        }
        Err(error) => out.push(problem("sync", error.to_string(), error.hint())),
    }
    match client.scopes().await {
        Ok(scopes) => out.extend(clock(&scopes.items, Context::now())),
        Err(error) => out.push(problem("scopes", error.to_string(), error.hint())),
    }
    match client.agents(&AgentsQuery::default()).await {
        Ok(agents) => out.extend(agents.items.iter().filter_map(agent_finding)),
        Err(error) => out.push(problem("agents", error.to_string(), error.hint())),
    }
    match client.sync_contacts().await {
        Ok(contacts) => out.push(contacted(&contacts.items)),
        Err(error) => out.push(problem("network", error.to_string(), error.hint())),
    }
    out
}

/// Reports a newest event in the future: the clock of this machine is behind, or that of a peer was ahead.
fn clock(scopes: &[ScopeView], now: u64) -> Option<Finding> {
    let newest = scopes.iter().max_by_key(|scope| scope.latest)?;
    let seconds = newest.latest.saturating_sub(now) / 1000;
    (seconds >= REPORTED_CLOCK_DIFFERENCE).then(|| {
        let ahead = span(seconds).unwrap_or_default();
        let message = format!(
            "the newest change, in {}, is {ahead} ahead of this machine's clock",
            escape(&newest.scope.to_string())
        );
        // As `Hlc::tick` decides.
        let dated = if seconds * 1000 > AHEAD {
            "new claims get the present date, so lists show that change before them"
        } else {
            "until the clock here reaches that time, new claims get the date of that change"
        };
        let hint = format!("check the date here and on the devices of your team; {dated}");
        Finding { hint: Some(hint), ..note("clock", message) }
    })
}

/// Reports an agent that calls every pair compatible: perhaps it does not read the claims.
fn agent_finding(agent: &AgentView) -> Option<Finding> {
    agent.judgements.always_compatible.then(|| {
        let message =
            format!("{} called every pair of claims compatible in its last 50 verdicts", escape(&agent.agent));
        Finding {
            hint: Some("`ergo log --who AGENT` lists its verdicts; `ergo undo` takes one back".to_owned()),
            ..note("agents", message)
        }
    })
}

/// Reports a peer's error that needs a person.
fn peer_finding(peer: &PeerView) -> Option<Finding> {
    let (error, advice) = (peer.last_error.as_ref()?, peer.advice.clone()?);
    // An offline peer is no finding.
    peer.needs_person.then(|| Finding { hint: Some(advice), ..note("peer", format!("{}: {error}", peer.name)) })
}

/// Reports how many claims and references have no vector yet.
fn vectors(waiting: &Unembedded) -> Finding {
    let Unembedded { claims, chunks, problem: why, off } = waiting;
    let waiting = format!("{} and {}", count(*claims, "claim", "claims"), count(*chunks, "passage", "passages"));
    if *off {
        let without = if claims + chunks > 0 { format!("; {waiting} have no vector") } else { String::new() };
        let message = format!("no embedder is chosen: claims are found and compared by words only{without}");
        let hint =
            "`ergo models use embedder default` turns vectors on; if [models] in config.toml sets `embedder`, change it there"
                .to_owned();
        return Finding { hint: Some(hint), ..note("vectors", message) };
    }
    if claims + chunks == 0 {
        return fine("vectors", "all claims and passages have vectors".to_owned());
    }
    let message = format!("{waiting} have no vector yet");
    match why {
        Some(why) => problem(
            "vectors",
            format!("{message} and are found by words only: {why}"),
            "this is retried automatically; to use another embedder: `ergo models use embedder NAME`, then `ergo reembed`"
                .to_owned(),
        ),
        None => fine("vectors", format!("{message}; until they do, they are found by words only")),
    }
}

/// Lists every address that was contacted, with purpose and time.
fn contacted(contacts: &[ContactView]) -> Finding {
    if contacts.is_empty() {
        return fine("network", "no address has been contacted".to_owned());
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
    fine("network", format!("{count} contacted:\n{}", lines.join("\n")))
}

/// Reports the result of a store check.
fn store_findings(place: &str, check: StoreCheck, hint: Option<String>) -> Vec<Finding> {
    let StoreCheck { events, devices, redacted, problems, notes } = check;
    let events = count(events, "event", "events");
    let redacted = if redacted > 0 { format!(", {redacted} of them redacted") } else { String::new() };
    let by = if devices > 1 { format!(" by {devices} devices") } else { String::new() };
    let checked = format!("{events}{by}{redacted}");
    let mut out = vec![if problems.is_empty() {
        fine("store", format!("{place}: {checked}, all signatures checked"))
    } else {
        // Damage may have ended the check early.
        let found = count(problems.len(), "problem", "problems");
        problem("store", format!("{found} found in {place} ({checked} read)"), hint)
    }];
    out.extend(problems.into_iter().map(|message| problem("store", message, None)));
    out.extend(notes.into_iter().map(|message| note("store", message)));
    out
}

/// Reports the models, their worker processes and their failures.
fn models(models: &ModelsStatus) -> Vec<Finding> {
    let mut out = Vec::new();
    for model in &models.roles {
        let place = match (&model.computes, model.gpu_layers) {
            (Some(place), 0) => format!(", on {place}"),
            (Some(place), layers) => format!(", {} on {place}", count(layers as usize, "layer", "layers")),
            (None, _) => String::new(),
        };
        let loaded = if model.loaded { "loaded" } else { "not loaded" };
        let message = format!("{}: {}, {loaded}{place}", model.role, model.name);
        out.push(match &model.problem {
            Some(problem) => {
                Finding { hint: Some("ergo models list".to_owned()), ..note("model", format!("{message}: {problem}")) }
            }
            None => fine("model", message),
        });
    }
    for worker in models.workers.iter().filter(|worker| worker.restarts > 0) {
        let (roles, times) = (worker.roles.join(" and "), count_times(worker.restarts));
        out.push(Finding {
            hint: Some(LOG_HINT.to_owned()),
            ..note("inference", format!("{roles}: the process of the model was restarted {times} after a crash"))
        });
    }
    if !models.failures.is_empty() {
        let kinds: Vec<_> = models.failures.iter().map(|(kind, times)| format!("{kind} {times}")).collect();
        let message = format!("failed calls since the daemon started: {}", kinds.join(", "));
        out.push(Finding { hint: Some(LOG_HINT.to_owned()), ..note("inference", message) });
    }
    out
}

fn count_times(times: u64) -> String {
    count(usize::try_from(times).unwrap_or(usize::MAX), "time", "times")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Scope;

    #[test]
    fn a_change_in_the_future_is_noted() {
        let scope = |latest| ScopeView {
            scope: Scope::new("acme", "api").unwrap(),
            active: 1,
            total: 1,
            open_cards: 0,
            needs_review: 0,
            latest,
            identity: None,
        };
        let day = 24 * 3600 * 1000;
        assert!(clock(&[], day).is_none());
        assert!(clock(&[scope(day + 1000), scope(1)], day).is_none());
        let finding = clock(&[scope(2 * day), scope(1)], day).unwrap();
        assert_eq!(finding.health, Health::Note);
        assert!(finding.message.contains("1 day ahead"), "{}", finding.message);
        assert!(finding.hint.unwrap().contains("the date of that change"));
        let finding = clock(&[scope(4 * day)], day).unwrap();
        assert!(finding.hint.unwrap().contains("the present date"), "the clock was wrong and is not followed");
    }

    #[test]
    fn a_store_with_problems_begins_with_their_count() {
        let check = |problems: &[&str]| StoreCheck {
            events: 28,
            problems: problems.iter().map(|&text| text.to_owned()).collect(),
            ..StoreCheck::default()
        };
        let found = store_findings("ergo.db", check(&["one", "two"]), Some("what helps".to_owned()));
        assert_eq!(found[0].message, "2 problems found in ergo.db (28 events read)");
        assert_eq!((found[0].health, found[0].hint.as_deref(), found.len()), (Health::Problem, Some("what helps"), 3));
        let sound = store_findings("ergo.db", check(&[]), None);
        assert_eq!((sound[0].health, &*sound[0].message), (Health::Ok, "ergo.db: 28 events, all signatures checked"));
    }

    #[test]
    fn a_full_disk_is_a_problem_and_little_room_a_note() {
        let disk = |free| free_space(Path::new("/home/ada/.local/share/ergo"), Some(free)).unwrap();
        let full = disk(4_096);
        assert_eq!(full.health, Health::Problem);
        assert_eq!(full.message, "the disk of /home/ada/.local/share/ergo is full (4.1 kB free): writes fail");
        assert!(full.hint.unwrap().starts_with("free some space"));
        assert_eq!(disk(10 << 20).health, Health::Note);
        assert_eq!(disk(10 << 30).health, Health::Ok);
        assert!(free_space(Path::new("/"), None).is_none());
    }
}
