//! `ergo notes`: follows rule files, stores their rules as claims, and writes active claims into ergo's own section.

mod write_section;

use std::{
    collections::BTreeSet,
    io::{IsTerminal, stdin},
    path::{Path, PathBuf},
};

use super::{CliError, Context, Exit, ask, show::text::count, ui::Style};
use crate::{
    api::{
        Caller, DomainThreshold, InsightView, InsightsQuery, NoteClustersQuery, NoteConflict, NoteFileState,
        NoteFileView, NoteLinksQuery, NotesAddRequest, NotesCalibrateRequest, NotesCheckRequest, NotesScanRequest,
    },
    client::Client,
    domain::text::{escape, sanitize_line},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: NotesCommand,
}

#[derive(Debug, clap::Subcommand)]
enum NotesCommand {
    /// Follow rule files: single files, those of a repository, or those of a folder of repositories.
    Add {
        /// Files and folders.
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
    },
    /// Stop following files. Their claims stay, and so does ergo's section, which `ergo notes write --remove` removes.
    Remove {
        /// Files and folders.
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
    },
    /// Read the followed files that changed, and bring their claims up to date.
    Scan {
        /// Only this file, or the files in this folder.
        #[arg(value_name = "PATH")]
        path: Option<PathBuf>,
    },
    /// Show the followed files, and whether each agrees with the stored claims.
    Status {
        /// Show the last runs, too.
        #[arg(long)]
        runs: bool,
    },
    Write(write_section::Args),
    /// Check whether rules in files conflict with the stored claims, without storing anything. Exit code 1 if one does, 2 if a file cannot be checked.
    Check {
        /// A file or a folder [default: all followed files].
        #[arg(value_name = "PATH")]
        path: Option<PathBuf>,
    },
    /// List insights: rules found in one or more projects, highest rank first.
    Insights {
        /// Only insights that can be promoted to the organisation.
        #[arg(long)]
        candidates: bool,
        /// Only with this status: active, decaying, pruned or all.
        #[arg(long, value_name = "STATUS")]
        status: Option<String>,
        /// Maximum number of insights.
        #[arg(short = 'n', long, value_name = "N")]
        limit: Option<usize>,
    },
    /// List principles: the claims of the whole organisation, each with the claims of projects that support it.
    Principles,
    /// List clusters: insights about one subject, by similarity of meaning, the largest clusters first.
    Clusters {
        /// Minimum similarity of neighbours, in percent [default: 60].
        #[arg(long, value_name = "PERCENT", value_parser = percent)]
        similarity: Option<u8>,
        /// Maximum number of clusters.
        #[arg(short = 'n', long, value_name = "N")]
        limit: Option<usize>,
    },
    /// List links between claims: supports, refines, is an exception to, is an example of.
    Links,
    /// List decaying and pruned insights. Pruned ones are hidden, never deleted.
    Prune,
    /// For each domain, fit the similarity from which claims count as equal, using judged pairs. Asks before it applies the result.
    Calibrate {
        /// Apply the result without asking.
        #[arg(short, long, conflicts_with = "reset")]
        yes: bool,
        /// Return to the threshold of the settings in all domains.
        #[arg(long)]
        reset: bool,
    },
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    match args.command {
        NotesCommand::Add { paths } => follow(cx, paths, false).await,
        NotesCommand::Remove { paths } => follow(cx, paths, true).await,
        NotesCommand::Scan { path } => scan(cx, path).await,
        NotesCommand::Status { runs } => status(cx, runs).await,
        NotesCommand::Write(args) => write_section::run(args, cx).await,
        NotesCommand::Check { path } => check(cx, path).await,
        NotesCommand::Insights { candidates, status, limit } => {
            insights(cx, InsightsQuery { candidates, status, limit, ..InsightsQuery::default() }).await
        }
        NotesCommand::Principles => insights(cx, InsightsQuery { principles: true, ..InsightsQuery::default() }).await,
        NotesCommand::Clusters { similarity, limit } => clusters(cx, similarity, limit).await,
        NotesCommand::Links => links(cx).await,
        NotesCommand::Prune => prune(cx).await,
        NotesCommand::Calibrate { yes, reset } => calibrate(cx, yes, reset).await,
    }
}

async fn writer(cx: &Context) -> Result<(Client, Caller), CliError> {
    let (client, caller) = cx.writer().await?;
    // The project of a file is that of its folder, not that of the working directory.
    Ok((client, Caller { identity: None, ..caller }))
}

fn percent(text: &str) -> Result<u8, &'static str> {
    text.parse().ok().filter(|percent| (1..=100).contains(percent)).ok_or("expected 1 to 100")
}

fn absolute(path: &Path) -> Result<String, CliError> {
    let full = std::path::absolute(path).map_err(|error| CliError::file("find", path, &error))?;
    full.to_str().map(str::to_owned).ok_or_else(|| CliError::usage(format_args!("{} is not UTF-8", path.display())))
}

async fn follow(cx: &mut Context, paths: Vec<PathBuf>, remove: bool) -> Result<Exit, CliError> {
    let paths = paths.iter().map(|path| absolute(path)).collect::<Result<_, _>>()?;
    let (client, caller) = writer(cx).await?;
    let answer = client.notes_add(&NotesAddRequest { caller, paths, remove }).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
    } else if !cx.ui.quiet || answer.files.is_empty() {
        for file in &answer.files {
            cx.ui.line(text!("{}", sanitize_line(&file.path)));
        }
        let verb = if remove { "no longer followed" } else { "followed" };
        cx.ui.line(text!("{} {}.", count(answer.files.len(), "file", "files"), verb));
        for problem in &answer.problems {
            cx.ui.note(text!("{}.", sanitize_line(problem)));
        }
        if !remove && answer.watching && !answer.files.is_empty() {
            cx.ui.note("The daemon reads them now, and whenever they are saved.");
        } else if !remove && !answer.files.is_empty() {
            cx.ui.commands(&[("ergo notes scan".to_owned(), "read them".to_owned())]);
        }
    }
    Ok(if answer.files.is_empty() { Exit::Usage } else { Exit::Ok })
}

async fn scan(cx: &mut Context, path: Option<PathBuf>) -> Result<Exit, CliError> {
    let path = path.as_deref().map(absolute).transpose()?;
    let (client, caller) = writer(cx).await?;
    cx.ui.progress("reading rule files …");
    let answer = client.notes_scan(&NotesScanRequest { caller, path }).await;
    cx.ui.progress_done();
    let answer = answer?;
    if cx.ui.json {
        cx.ui.value(&answer);
        return Ok(Exit::Ok);
    }
    cx.ui.line(text!("{} ({} ms).", answer.sentence(), answer.took_ms));
    for problem in &answer.problems {
        cx.ui.note(text!("{}", sanitize_line(problem)));
    }
    if let Some(rest) = answer.rest() {
        cx.ui.note(text!("{}.", rest));
    }
    if answer.refused + answer.cards > 0 {
        cx.ui.commands(&[("ergo tui".to_owned(), "settle the contradictions".to_owned())]);
    }
    Ok(Exit::Ok)
}

async fn status(cx: &mut Context, runs: bool) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let answer = client.notes_status().await?;
    if cx.ui.json {
        cx.ui.value(&answer);
        return Ok(Exit::Ok);
    }
    let width = answer.files.iter().map(|file| file.state.words().chars().count()).max().unwrap_or_default();
    for file in &answer.files {
        file_row(cx, file, width);
    }
    if answer.files.is_empty() {
        cx.ui.line("No files are followed.");
        cx.ui.commands(&[("ergo notes add PATH".to_owned(), "follow a file, a repository or a folder".to_owned())]);
    } else if !answer.watching {
        cx.ui.note(
            "The files are not watched: `ergo notes scan` reads them, or set `watch = true` in [notes] of config.toml.",
        );
    }
    if runs {
        for run in &answer.runs {
            let when = super::show::time::ago(run.at, Context::now());
            let when = cx.ui.paint(Style::Dim, when);
            cx.ui.line(text!("{}  {}.", when, run.sentence()));
        }
    }
    Ok(Exit::Ok)
}

fn file_row(cx: &mut Context, file: &NoteFileView, width: usize) {
    let style = match file.state {
        NoteFileState::InStep if file.problem.is_none() => Style::Good,
        NoteFileState::Conflict | NoteFileState::Missing => Style::Bad,
        _ => Style::Warn,
    };
    let state = cx.ui.paint(style, format_args!("{:<width$}", file.state.words()));
    let scope = file.scope.as_ref().map(|scope| escape(&scope.to_string())).unwrap_or_default();
    cx.ui.line(text!("{}  {}  {}  {}", state, sanitize_line(&file.path), scope, count(file.claims, "claim", "claims")));
    if let Some(problem) = &file.problem {
        cx.ui.prose(4, Some(Style::Dim), problem);
    }
    for card in &file.cards {
        cx.ui.line(text!("    card {}", card.short()));
    }
    if file.declined > 0 {
        cx.ui.line(text!("    {} decided against", count(file.declined, "line was", "lines were")));
    }
    if file.retried > 0 {
        let lines = count(file.retried, "refused line", "refused lines");
        cx.ui.line(text!("    the next scan tries {} again", lines));
    }
}

fn conflict_row(cx: &mut Context, conflict: &NoteConflict) {
    let line = conflict.line.map(|line| format!(":{line}")).unwrap_or_default();
    let unknown = if conflict.card.is_some() { "conflict" } else { "not active" };
    let kind = conflict.kind.map_or(unknown, |kind| kind.as_str());
    let kind = cx.ui.paint(Style::Warn, kind);
    cx.ui.line(text!("{}  {}{}", kind, sanitize_line(&conflict.path), line));
    if !conflict.says.is_empty() {
        cx.ui.prose(4, None, &conflict.says);
    }
    cx.ui.prose(4, Some(Style::Dim), &conflict.against);
    if let Some(scope) = &conflict.scope {
        cx.ui.line(text!("    in {}", escape(&scope.to_string())));
    }
    if let Some(card) = &conflict.card {
        cx.ui.line(text!("    card {}", card.short()));
    } else if let Some(claim) = &conflict.claim {
        cx.ui.line(text!("    claim {}", claim.short()));
    }
}

async fn check(cx: &mut Context, path: Option<PathBuf>) -> Result<Exit, CliError> {
    if let Some(path) = &path
        && !path.try_exists().map_err(|error| CliError::file("read", path, &error))?
    {
        return Err(CliError::usage(format_args!("{} does not exist", path.display()))
            .hint("name a rule file or a folder, or leave PATH out to check all followed files"));
    }
    let path = path.as_deref().map(absolute).transpose()?;
    let (client, caller) = writer(cx).await?;
    let answer = client.notes_check(&NotesCheckRequest { caller, path: path.clone() }).await?;
    if answer.files == 0 {
        let error = CliError::usage(match path {
            Some(path) => format!("nothing was checked: no rule file could be read in {path}"),
            None => "nothing was checked: no followed file could be read".to_owned(),
        });
        return Err(answer.problems.iter().fold(error, CliError::hint));
    }
    let agrees = answer.conflicts.is_empty();
    if cx.ui.json {
        cx.ui.value(&answer);
    } else {
        for conflict in &answer.conflicts {
            conflict_row(cx, conflict);
        }
        for problem in &answer.problems {
            cx.ui.note(text!("{}", sanitize_line(problem)));
        }
        // A rule may contradict several claims.
        let rules: BTreeSet<_> = answer.conflicts.iter().map(|found| (&found.path, found.line, &found.says)).collect();
        let found = match rules.len() {
            0 => "no rule conflicts".to_owned(),
            1 => "1 rule conflicts".to_owned(),
            several => format!("{several} rules conflict"),
        };
        cx.ui.line(text!(
            "{}, {}: {} with the stored claims.",
            count(answer.files, "file", "files"),
            count(answer.rules, "rule", "rules"),
            found
        ));
    }
    // A file that could not be compared may conflict, too.
    Ok(match (agrees, answer.problems.is_empty()) {
        (false, _) => Exit::Refused,
        (true, false) => Exit::Usage,
        (true, true) => Exit::Ok,
    })
}

async fn insights(cx: &mut Context, query: InsightsQuery) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let principles = query.principles;
    let answer = client.notes_insights(&InsightsQuery { org_id: scope.org_id.clone(), ..query }).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
        return Ok(Exit::Ok);
    }
    for item in &answer.items {
        insight_row(cx, item);
        if principles {
            for derivation in &item.derivations {
                let weight = cx.ui.paint(Style::Dim, format_args!("{:>3.0} %", derivation.weight * 100.0));
                let statement = cx.ui.fit(&derivation.statement, 30);
                cx.ui.line(text!("      {}  {}  {}", weight, escape(&derivation.scope.to_string()), statement));
            }
        }
    }
    let (one, many) = if principles { ("principle", "principles") } else { ("insight", "insights") };
    let shown = answer.items.len();
    let more = if answer.total > shown { format!("; the first {shown} are shown") } else { String::new() };
    cx.ui.note(text!("{} in {}{}.", count(answer.total, one, many), escape(&scope.org_id), more));
    Ok(Exit::Ok)
}

/// Shows an insight on one line: rank, projects, id, statement and marks.
pub(super) fn insight_row(cx: &mut Context, item: &InsightView) {
    let rank = cx.ui.paint(Style::Dim, format_args!("{:.2}", item.rank));
    let id = cx.ui.paint(Style::Code, item.claim.short());
    let mut marks = vec![item.domain.clone()];
    marks.extend((item.status != crate::api::Lifecycle::Active).then(|| item.status.as_str().to_owned()));
    marks.extend(item.contradicted.then(|| "contradicted".to_owned()));
    marks.extend(item.principle.map(|_| "principle".to_owned()));
    marks.extend(item.candidate.then(|| "may be promoted".to_owned()));
    let marks = marks.join(", ");
    let statement = cx.ui.fit(&item.statement, 40 + marks.chars().count());
    let marks = cx.ui.paint(Style::Dim, marks);
    cx.ui.line(text!("  {}  {}  {}  {}  {}", rank, count(item.projects, "project ", "projects"), id, statement, marks));
}

async fn clusters(cx: &mut Context, similarity: Option<u8>, limit: Option<usize>) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let answer = client.notes_clusters(&NoteClustersQuery { org_id: scope.org_id.clone(), similarity, limit }).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
        return Ok(Exit::Ok);
    }
    for cluster in &answer.items {
        let mark = if cluster.contradicted { ", contradicted" } else { "" };
        let title = format!(
            "{} {:.2}, {}{mark}",
            cluster.domain,
            cluster.coherence,
            count(cluster.projects, "project", "projects")
        );
        let title = cx.ui.paint(Style::Strong, title);
        cx.ui.line(text!("{}", title));
        for member in &cluster.members {
            let id = cx.ui.paint(Style::Code, member.claim.short());
            cx.ui.line(text!("  {}  {}", id, sanitize_line(&member.statement)));
        }
    }
    cx.ui.note(text!(
        "{} among {} in {}.",
        count(answer.total, "cluster", "clusters"),
        count(answer.insights, "insight with a vector", "insights with vectors"),
        escape(&scope.org_id)
    ));
    Ok(Exit::Ok)
}

async fn links(cx: &mut Context) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let answer = client.notes_links(&NoteLinksQuery { org_id: scope.org_id }).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
        return Ok(Exit::Ok);
    }
    for link in &answer.items {
        let (from, to) = (cx.ui.paint(Style::Code, link.from.short()), cx.ui.paint(Style::Code, link.to.short()));
        cx.ui.line(text!("{}  {}", from, sanitize_line(&link.from_statement)));
        cx.ui.line(text!("    {} {}  {}", link.kind.words(), to, sanitize_line(&link.to_statement)));
    }
    if answer.items.is_empty() {
        cx.ui.line("No links.");
    }
    Ok(Exit::Ok)
}

async fn prune(cx: &mut Context) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let query = |status: &str| InsightsQuery {
        org_id: scope.org_id.clone(),
        status: Some(status.to_owned()),
        ..InsightsQuery::default()
    };
    let (decaying, pruned) =
        (client.notes_insights(&query("decaying")).await?, client.notes_insights(&query("pruned")).await?);
    if cx.ui.json {
        cx.ui.value(&serde_json::json!({ "decaying": decaying, "pruned": pruned }));
        return Ok(Exit::Ok);
    }
    for item in decaying.items.iter().chain(&pruned.items) {
        insight_row(cx, item);
    }
    cx.ui.line(text!(
        "{} decaying, {} pruned. Pruned insights are hidden, not deleted: they return if a file states them again.",
        decaying.total,
        pruned.total
    ));
    Ok(Exit::Ok)
}

async fn calibrate(cx: &mut Context, yes: bool, reset: bool) -> Result<Exit, CliError> {
    let (client, caller) = writer(cx).await?;
    let request = NotesCalibrateRequest { caller, apply: yes, reset };
    let answer = client.notes_calibrate(&request).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
        return Ok(Exit::Ok);
    }
    for domain in &answer.domains {
        let found = match domain.threshold {
            Some(threshold) => format!("fitted {:.0} %", threshold * 100.0),
            None => "too few pairs to fit one".to_owned(),
        };
        cx.ui.line(text!(
            "{}  threshold {} %{}, {} from {}",
            format_args!("{:<14}", domain.domain),
            format_args!("{:.0}", domain.in_use * 100.0),
            if domain.is_default { " (default)" } else { "" },
            found,
            count(domain.judged, "judged pair", "judged pairs")
        ));
    }
    if answer.domains.is_empty() {
        cx.ui.line("No pairs have been judged yet.");
        cx.ui.commands(&[("ergo judge".to_owned(), "judge waiting pairs".to_owned())]);
        return Ok(Exit::Ok);
    }
    let is_new = |domain: &DomainThreshold| domain.threshold.is_some_and(|found| (found - domain.in_use).abs() > 1e-6);
    match (answer.changed, reset) {
        (true, true) => {
            cx.ui.note("The threshold of the settings applies again; the next scan compares all pairs.");
        }
        (true, false) => {
            cx.ui.note("The fitted thresholds apply from now on; the next scan compares all pairs.");
            cx.ui.commands(&[(
                "ergo notes calibrate --reset".to_owned(),
                "return to the threshold of the settings".to_owned(),
            )]);
        }
        (false, _) if yes || reset || !answer.domains.iter().any(is_new) => cx.ui.note("Nothing to change."),
        (false, _) if stdin().is_terminal() && cx.ui.terminal => {
            if ask::confirm(cx, false, "Apply the fitted thresholds?")? {
                return Box::pin(calibrate(cx, true, false)).await;
            }
        }
        (false, _) => {
            cx.ui.commands(&[("ergo notes calibrate --yes".to_owned(), "apply the fitted thresholds".to_owned())]);
        }
    }
    Ok(Exit::Ok)
}
