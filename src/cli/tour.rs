//! `ergo tour`: imports the records and rules of a repository, shows contradictions, and connects the agents. Each
//! step asks first. `ergo tour --undo` undoes the imports and the connections.

use std::{
    collections::BTreeSet,
    io::{ErrorKind, IsTerminal},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    CliError, Context, Exit,
    ask::Asker,
    import::{ImportSource, preview_and_import},
    scope::top_of,
    setup,
    show::text::count,
    undo,
    walkthrough::{heading, run_command, say, step},
};
use crate::{
    api::{ClaimView, ClaimsQuery, DoubtsQuery},
    config::write_private,
    domain::text::sanitize_line,
    files::{self, rule_files},
    setup::{AgentFiles, CodingAgent, SetupPlan, is_connected},
};

/// How long the tour waits for the first pairs that may contradict each other, while the daemon compares what was imported.
const COMPARISON_TIMEOUT: Duration = Duration::from_secs(3);

/// Try ergo on this repository: import its decisions and rules, see contradictions, ask why, and connect your agents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each step shows what it would do, and asks first. `ergo tour --undo` undoes what the tour imported, and removes ergo from the agents
that it connected. Verdicts that you gave are not undone.")]
pub(crate) struct Args {
    /// Do every step without asking.
    #[arg(short, long)]
    yes: bool,
    /// Show what each step would do; store and write nothing.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Undo what earlier tours of this repository did.
    #[arg(long, conflicts_with_all = ["yes", "dry_run"])]
    undo: bool,
}

/// The record of the tours in each repository, by which they can be undone.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct TourRecord {
    tours: std::collections::BTreeMap<PathBuf, TourActs>,
}

/// The acts of the tours in one repository.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct TourActs {
    /// The numbers of imports, in order.
    imports: Vec<String>,
    /// The agents that were connected, by their names on the command line.
    agents: BTreeSet<String>,
}

/// A running tour.
struct Tour {
    top: PathBuf,
    yes: bool,
    dry_run: bool,
    /// The number of the current step; a dry run skips some steps.
    steps: usize,
    /// Whether it did something that `ergo tour --undo` undoes.
    has_acted: bool,
}

/// A step of the tour.
type Step = fn(&mut Tour, &mut Context) -> Result<(), CliError>;

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let here = std::env::current_dir().map_err(CliError::usage)?;
    let top = top_of(&here);
    if args.undo {
        cx.ui.gather();
        let exit = undo_tours(cx, &top);
        let imports = cx.ui.gathered();
        if cx.ui.json && exit.is_ok() {
            cx.ui.value(&json!({ "imports": imports }));
        }
        return exit;
    }
    if !args.yes && !args.dry_run && (!cx.ui.terminal || !std::io::stdin().is_terminal() || cx.ui.json) {
        return Err(CliError::usage("the tour asks before each step, and stdin is not a terminal")
            .hint("`ergo tour --yes` does every step without asking; `ergo tour --dry-run` only shows them"));
    }
    // Fails early if the record is damaged, since the tour could not add to it.
    record(&record_path(cx)?)?;
    let mut tour = Tour { top, yes: args.yes, dry_run: args.dry_run, steps: 0, has_acted: false };
    let (answers, done) = tour.take_steps(cx);
    if cx.ui.json {
        // What the steps before an error did is reported, too.
        cx.ui.value(&json!({ "dry_run": tour.dry_run, "steps": answers }));
    }
    done?;
    heading(cx, "The tour is done.");
    if tour.dry_run {
        say(cx, "Nothing was stored or written. To run the tour: ergo tour");
        return Ok(Exit::Ok);
    }
    if !cx.ui.json {
        let mut commands = vec![
            ("ergo remember '…' --reason '…'".to_owned(), "store the next decision".to_owned()),
            ("ergo tui".to_owned(), "review everything".to_owned()),
        ];
        if tour.has_acted {
            commands.push(("ergo tour --undo".to_owned(), "undo what this tour did".to_owned()));
        }
        cx.ui.commands(&commands);
    }
    Ok(Exit::Ok)
}

impl Tour {
    /// Takes all steps until one fails. With `--json`, returns the answers of each.
    fn take_steps(&mut self, cx: &mut Context) -> (serde_json::Map<String, Value>, Result<(), CliError>) {
        let steps: [(&str, bool, Step); 4] = [
            ("import", true, Self::import),
            ("contradictions", false, Self::doubts),
            ("why", false, Self::why),
            ("agents", true, Self::agents),
        ];
        let dry_run = self.dry_run;
        let mut answers = serde_json::Map::new();
        for (name, _, step) in steps.into_iter().filter(|(_, in_dry_run, _)| *in_dry_run || !dry_run) {
            cx.ui.gather();
            let done = step(self, cx);
            answers.insert(name.to_owned(), cx.ui.gathered().into());
            if done.is_err() {
                return (answers, done);
            }
        }
        (answers, Ok(()))
    }

    /// Prints the heading of the next step.
    fn begin(&mut self, cx: &mut Context, title: &str) {
        self.steps += 1;
        heading(cx, &format!("{}. {title}", self.steps));
    }

    /// Finds the decision records and rule files, and imports them.
    fn import(&mut self, cx: &mut Context) -> Result<(), CliError> {
        self.begin(cx, "Decisions and rules of this repository");
        let (records, rules): (Vec<PathBuf>, Vec<PathBuf>) =
            rule_files::files_under(&self.top).into_iter().partition(|path| rule_files::is_record(path));
        if records.is_empty() && rules.is_empty() {
            say(
                cx,
                "Found no decision records and no rule files (CLAUDE.md, AGENTS.md, .cursorrules, CONTRIBUTING.md, docs/adr).",
            );
            return Ok(());
        }
        let folders: BTreeSet<PathBuf> = records.iter().filter_map(|path| Some(path.parent()?.to_owned())).collect();
        for folder in &folders {
            let inside = records.iter().filter(|path| path.parent() == Some(folder)).count();
            say(cx, text!("  {}  {}", count(inside, "record", "records"), self.relative(folder)));
        }
        for file in &rules {
            say(cx, text!("  rules  {}", self.relative(file)));
        }
        for source in [ImportSource::Records(folders.into_iter().collect()), ImportSource::Rules(rules)] {
            let (ImportSource::Records(paths) | ImportSource::Rules(paths)) = &source;
            if paths.is_empty() {
                continue;
            }
            let words = match source {
                ImportSource::Records(_) => "Decision records:",
                ImportSource::Rules(_) => "Rule files:",
            };
            say(cx, text!("\n{}", words));
            let number = cx.block_on(async |cx| preview_and_import(cx, source, self.dry_run, self.yes).await)?;
            if let Some(number) = number {
                self.record_act(cx, |acts| acts.imports.push(number))?;
            }
        }
        Ok(())
    }

    /// Returns a path relative to the top of the repository.
    fn relative(&self, path: &Path) -> String {
        let top = std::fs::canonicalize(&self.top).unwrap_or_else(|_| self.top.clone());
        sanitize_line(&path.strip_prefix(top).unwrap_or(path).display().to_string())
    }

    /// Shows open conflicts and pairs in doubt, and offers to judge the pairs.
    fn doubts(&mut self, cx: &mut Context) -> Result<(), CliError> {
        self.begin(cx, "Contradictions");
        let pairs = cx.block_on(async |cx| pairs_in_doubt(cx).await)?;
        step(cx, &["inbox", "--here", "--limit", "5"])?;
        let these = if pairs == 1 { "this pair".to_owned() } else { format!("these {pairs} pairs") };
        if pairs > 0 && !self.yes && agrees(cx, &format!("Judge {these} now?"))? {
            run_command(cx, &["judge"])?;
        }
        Ok(())
    }

    /// Runs `ergo why` with the user's question or an example.
    fn why(&mut self, cx: &mut Context) -> Result<(), CliError> {
        self.begin(cx, "Ask why");
        let claim = cx.block_on(async |cx| example(cx).await)?;
        let Some(claim) = claim else {
            say(cx, "Nothing is stored in this project yet, so there is nothing to ask about.");
            return Ok(());
        };
        let mut question = claim.statement;
        if !self.yes {
            let Some(mut asker) = Asker::new() else { return Ok(()) };
            say(cx, text!("An example: {}", sanitize_line(&question)));
            let answer = asker.ask(cx, "Your question (Enter asks about the example, n skips this step): ")?;
            match answer.as_deref() {
                None | Some("n") => return Ok(()),
                Some("") => {}
                Some(own) => own.clone_into(&mut question),
            }
        }
        step(cx, &["why", "--", &question])
    }

    /// Connects the agents that are installed.
    fn agents(&mut self, cx: &mut Context) -> Result<(), CliError> {
        self.begin(cx, "Your coding agents");
        let place = AgentFiles::from_environment(None)?;
        let agents = CodingAgent::installed(&place);
        if agents.is_empty() {
            say(cx, "Found no supported coding agent. To connect one later: ergo setup");
            return Ok(());
        }
        // Agents that were connected before the tour stay connected when it is undone.
        let mut names = Vec::new();
        for agent in &agents {
            if !is_connected(*agent, &place)? {
                names.push(agent.name());
            }
        }
        let plan = SetupPlan::new(agents, &place, &cx.paths()?.state, false)?;
        let outcome = setup::carry_out(cx, &plan, self.dry_run, self.yes)?;
        if cx.ui.json {
            cx.ui.value(&setup::answer(outcome, &plan));
        }
        if outcome == setup::SetupOutcome::Written {
            self.record_act(cx, |acts| acts.agents.extend(names))?;
        }
        Ok(())
    }

    /// Records immediately what a step did, so that an interrupted tour can be undone.
    fn record_act(&mut self, cx: &Context, change: impl FnOnce(&mut TourActs)) -> Result<(), CliError> {
        self.has_acted = true;
        let path = record_path(cx)?;
        let mut record = record(&path)?;
        change(record.tours.entry(self.top.clone()).or_default());
        save(&path, &record)
    }
}

fn agrees(cx: &mut Context, question: &str) -> Result<bool, CliError> {
    match Asker::new() {
        Some(mut asker) => asker.yes(cx, text!("{}", question)),
        None => Ok(false),
    }
}

/// Waits for the comparison of the imported claims, and returns the number of pairs that wait for a verdict.
async fn pairs_in_doubt(cx: &mut Context) -> Result<usize, CliError> {
    let (client, scope) = cx.reader().await?;
    let query = DoubtsQuery { org_id: Some(scope.org_id), project: Some(scope.project), limit: Some(1) };
    let begin = Instant::now();
    cx.ui.progress("comparing the claims …");
    let found = loop {
        // In this order: once nothing waits, all pairs are known.
        let compares = client.diagnose().await.is_ok_and(|diagnose| diagnose.guard.waiting > 0);
        let found = client.doubts(&query).await;
        match &found {
            Ok(doubts) if doubts.total == 0 && compares && begin.elapsed() < COMPARISON_TIMEOUT => {}
            _ => break found,
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    cx.ui.progress_done();
    Ok(found?.total)
}

/// Returns a claim of this project to ask about; decisions come first, since they have a reason of their own.
async fn example(cx: &mut Context) -> Result<Option<ClaimView>, CliError> {
    let (client, scope) = cx.reader().await?;
    let of = |kind: &str| ClaimsQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        kind: Some(kind.to_owned()),
        limit: Some(1),
        ..ClaimsQuery::default()
    };
    for kind in ["decision", "constraint,rejection,convention", "fact"] {
        if let Some(claim) = client.claims(&of(kind)).await?.items.into_iter().next() {
            return Ok(Some(claim));
        }
    }
    Ok(None)
}

fn record_path(cx: &Context) -> Result<PathBuf, CliError> {
    Ok(cx.paths()?.state.join("tour.json"))
}

/// Reads the record of tours. An unreadable file is an error, since it also records the tours in other repositories.
fn record(path: &Path) -> Result<TourRecord, CliError> {
    let hint = "restore or remove it; without it, no earlier tour can be undone by `ergo tour --undo`";
    let bytes = match files::bytes(path, files::MAX_SETTINGS) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(TourRecord::default()),
        Err(error) => return Err(CliError::file("read", path, &error).hint(hint)),
    };
    serde_json::from_slice(&bytes)
        .map_err(|error| CliError::internal(format_args!("{} is damaged: {error}", path.display())).hint(hint))
}

fn save(path: &Path, record: &TourRecord) -> Result<(), CliError> {
    let text = serde_json::to_vec_pretty(record).map_err(CliError::internal)?;
    Ok(write_private(path, &text)?)
}

/// Undoes the acts of the tours in a repository.
fn undo_tours(cx: &mut Context, top: &Path) -> Result<Exit, CliError> {
    let path = record_path(cx)?;
    let mut record = record(&path)?;
    let Some(acts) = record.tours.remove(top) else {
        let error = CliError::usage(format_args!("there is no tour of {} to undo", top.display()));
        let elsewhere: Vec<String> = record.tours.keys().map(|top| top.display().to_string()).collect();
        return Err(match elsewhere.as_slice() {
            [] => error.hint("no tour is on record: `ergo log` lists changes, each with the id for `ergo undo ID`"),
            tops => error.hint(format_args!("run it in a repository in which `ergo tour` ran: {}", tops.join(", "))),
        });
    };
    let mut exit = Exit::Ok;
    // Imports that could not be undone stay on record, so that undoing them can be tried again.
    let mut kept = Vec::new();
    for number in acts.imports.iter().rev() {
        let undone = cx.block_on(async |cx| undo::run(undo::Args::of_import(number), cx).await);
        match undone {
            Ok(Exit::Ok) => {}
            Ok(other) => {
                exit = other;
                kept.push(number.clone());
            }
            // The import was already undone by hand.
            Err(error) if error.kind == Exit::Usage => cx.ui.note(text!("{}", error.error)),
            Err(error) => return Err(error),
        }
    }
    let agents: Vec<CodingAgent> = acts.agents.iter().filter_map(|name| CodingAgent::named(name)).collect();
    if !agents.is_empty() {
        let place = AgentFiles::from_environment(None)?;
        let plan = SetupPlan::new(agents, &place, &cx.paths()?.state, true)?;
        setup::carry_out(cx, &plan, false, true)?;
    }
    if !kept.is_empty() {
        kept.reverse();
        record.tours.insert(top.to_owned(), TourActs { imports: kept, ..TourActs::default() });
        cx.ui.note("Some changes were not undone. `ergo tour --undo` tries them again.");
    }
    save(&path, &record)?;
    Ok(exit)
}
