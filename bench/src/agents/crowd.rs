//! Several agents that write to one daemon at once, and the check that no write was lost.

use std::{
    collections::{HashMap, HashSet},
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, ScopedJoinHandle},
    time::Instant,
};

use serde_json::json;

use super::{
    AgentsOptions,
    bridge::{CallOutcome, TimedBridge},
    home::AgentsHome,
    hooks,
    report::{ConcurrentAgents, HookTimes},
};
use crate::{
    error::BenchError,
    measure::{Quantiles, millis},
    store, store_synth as synth,
};
use ergo::api::ClaimsQuery;

/// Claims per page when the stored claims are listed.
const PAGE_SIZE: usize = 200;

/// The most failures that are reported word for word.
const MAX_REPORTED_FAILURES: usize = 5;

/// The answers that agents got.
#[derive(Default)]
pub(super) struct AgentAnswers {
    clients: usize,
    seconds: f64,
    /// Times of writes in milliseconds.
    writes: Vec<f64>,
    /// Times of recalls in milliseconds.
    recalls: Vec<f64>,
    /// Claims that were acknowledged as stored: the short id in the answer, and the statement.
    stored: Vec<(String, String)>,
    conflicts: usize,
    by_rules: usize,
    failures: Vec<String>,
}

/// Lets all agents write and recall, and runs each hook beside them. The agents stop when the time is over and all hooks
/// have run, whichever is later: otherwise the last hooks would have run beside nobody.
pub(super) fn run(home: &AgentsHome, options: &AgentsOptions) -> Result<(AgentAnswers, Vec<HookTimes>), BenchError> {
    let bridges = (0..options.clients).map(|n| TimedBridge::start(home, &format!("agent-{n}")));
    let bridges = bridges.collect::<Result<Vec<_>, _>>()?;
    let hooks_done = AtomicBool::new(false);
    let begun = Instant::now();
    let (results, hooks, seconds) = thread::scope(|threads| {
        let goes_on = || begun.elapsed() < options.time || !hooks_done.load(Ordering::Relaxed);
        let agent = |(number, bridge)| threads.spawn(move || run_agent(bridge, number, options, goes_on));
        let agents: Vec<_> = bridges.into_iter().enumerate().map(agent).collect();
        // In a thread, so that the agents stop even if it panics.
        let hooks = threads.spawn(|| hooks::measure(home, options.claims, options.samples, "beside agents")).join();
        hooks_done.store(true, Ordering::Relaxed);
        let results: Vec<_> = agents.into_iter().map(ScopedJoinHandle::join).collect();
        (results, hooks, begun.elapsed().as_secs_f64())
    });
    let panicked =
        |_| BenchError::Answer { verb: "mcp".into(), message: "a thread of the measurement panicked".into() };
    let mut all = AgentAnswers { clients: options.clients, seconds, ..AgentAnswers::default() };
    for answers in results {
        let answers = answers.map_err(panicked)??;
        all.writes.extend(answers.writes);
        all.recalls.extend(answers.recalls);
        all.stored.extend(answers.stored);
        all.conflicts += answers.conflicts;
        all.by_rules += answers.by_rules;
        all.failures.extend(answers.failures);
    }
    Ok((all, hooks.map_err(panicked)??))
}

/// Runs one agent, which stores a claim of its own, then asks a question that the claim answers, and so on.
fn run_agent(
    mut bridge: TimedBridge,
    agent: usize,
    options: &AgentsOptions,
    goes_on: impl Fn() -> bool,
) -> Result<AgentAnswers, BenchError> {
    let mut answers = AgentAnswers::default();
    for n in 0.. {
        if !goes_on() {
            break;
        }
        let number = options.claims + agent + n * options.clients;
        let statement = synth::statement(number);
        let begun = Instant::now();
        let outcome = bridge.call("ergo_remember", json!({"statement": statement, "reason": synth::reason(number)}))?;
        let outcome = answer_doubts(&mut bridge, outcome)?;
        answers.writes.push(millis(begun.elapsed()));
        match outcome {
            CallOutcome::Result(value) => {
                let warnings = value["warnings"].as_array().into_iter().flatten();
                answers.by_rules += usize::from(warnings.into_iter().any(|warning| warning["code"] == "stage_skipped"));
                match (value["result"].as_str(), value["claim_id"].as_str()) {
                    (Some("stored"), Some(id)) => answers.stored.push((id.to_owned(), statement)),
                    (Some("conflict"), _) => answers.conflicts += 1,
                    _ => answers.failures.push(value.to_string()),
                }
            }
            CallOutcome::Failed(message) => answers.failures.push(message),
        }
        let begun = Instant::now();
        let outcome = bridge.call("ergo_recall", json!({"query": synth::question(number)}))?;
        answers.recalls.push(millis(begun.elapsed()));
        if let CallOutcome::Failed(message) = outcome {
            answers.failures.push(message);
        }
    }
    Ok(answers)
}

/// If a write is answered by a question about claims in doubt, answers that all are compatible, which is true of these
/// statements.
fn answer_doubts(bridge: &mut TimedBridge, outcome: CallOutcome) -> Result<CallOutcome, BenchError> {
    let CallOutcome::Result(value) = &outcome else { return Ok(outcome) };
    if value["result"] != "consider" {
        return Ok(outcome);
    }
    let doubts = value["doubts"].as_array().into_iter().flatten();
    let verdicts: HashMap<&str, &str> =
        doubts.filter_map(|doubt| Some((doubt["id"].as_str()?, "compatible"))).collect();
    bridge.call("ergo_judge", json!({"token": value["token"], "verdicts": verdicts, "because": "Other things."}))
}

impl AgentAnswers {
    /// Looks for every acknowledged write in the daemon's list of claims.
    pub(super) async fn count(self, home: &AgentsHome) -> Result<ConcurrentAgents, BenchError> {
        let scope = store::scope();
        let (mut ids, mut statements) = (HashSet::new(), HashMap::<String, usize>::new());
        let mut cursor = None;
        loop {
            let query = ClaimsQuery {
                org_id: Some(scope.org_id.clone()),
                project: Some(scope.project.clone()),
                status: Some("all".into()),
                limit: Some(PAGE_SIZE),
                cursor,
                ..ClaimsQuery::default()
            };
            let page = home.daemon.client.claims(&query).await?;
            for claim in page.items {
                ids.insert(claim.id.short());
                *statements.entry(claim.statement).or_default() += 1;
            }
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let stored = |statement: &String| statements.get(statement).copied().unwrap_or_default();
        let lost = self.stored.iter().filter(|(id, statement)| !ids.contains(id) || stored(statement) == 0).count();
        let doubled = self.stored.iter().filter(|(_, statement)| stored(statement) > 1).count();
        Ok(ConcurrentAgents {
            clients: self.clients,
            seconds: self.seconds,
            stored: self.stored.len(),
            conflicts: self.conflicts,
            by_rules: self.by_rules,
            lost,
            doubled,
            failed: self.failures.len(),
            failures: self.failures.into_iter().take(MAX_REPORTED_FAILURES).collect(),
            write_ms: Quantiles::of(self.writes),
            recall_ms: Quantiles::of(self.recalls),
        })
    }
}
