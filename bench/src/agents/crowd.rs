//! Several agents that write to one daemon at once, and the check that no write was lost.

use std::{
    collections::{HashMap, HashSet},
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    Options,
    bridge::{Bridge, CallOutcome},
    home::Home,
    hooks,
    report::{Crowd, Hook},
};
use crate::{
    store::{self, BenchError, quantiles},
    store_synth as synth,
};
use ergo::api::ClaimsQuery;

/// Claims of a page.
const PAGE: usize = 200;

/// Failures that are told word for word.
const TOLD: usize = 5;

/// The answers that the agents got.
#[derive(Default)]
pub(super) struct CrowdAnswers {
    clients: usize,
    seconds: f64,
    writes: Vec<f64>,
    recalls: Vec<f64>,
    /// What was acknowledged as stored: the claim's id as it was told, and its statement.
    stored: Vec<(String, String)>,
    conflicts: usize,
    by_rules: usize,
    failures: Vec<String>,
}

/// Lets all agents write and ask until the time is over, and runs each hook beside them.
pub(super) fn all(home: &Home, options: &Options) -> Result<(CrowdAnswers, Vec<Hook>), BenchError> {
    let clients = (0..options.clients).map(|n| Bridge::start(home, &format!("agent-{n}")));
    let clients = clients.collect::<Result<Vec<_>, _>>()?;
    let begun = Instant::now();
    let (each, hooks) = thread::scope(|threads| {
        let agent = |(at, bridge)| threads.spawn(move || one(bridge, at, options, begun + options.time));
        let agents: Vec<_> = clients.into_iter().enumerate().map(agent).collect();
        let hooks = hooks::measure(home, options.claims, options.samples, "beside agents");
        (agents.into_iter().map(ScopedJoinHandle::join).collect::<Vec<_>>(), hooks)
    });
    let mut all =
        CrowdAnswers { clients: options.clients, seconds: begun.elapsed().as_secs_f64(), ..CrowdAnswers::default() };
    for answers in each {
        let panicked =
            |_| BenchError::Answer { verb: "mcp".into(), message: "an agent of the measurement panicked".into() };
        let answers = answers.map_err(panicked)??;
        all.writes.extend(answers.writes);
        all.recalls.extend(answers.recalls);
        all.stored.extend(answers.stored);
        all.conflicts += answers.conflicts;
        all.by_rules += answers.by_rules;
        all.failures.extend(answers.failures);
    }
    Ok((all, hooks?))
}

/// One agent: it stores a claim of its own, then asks for it, and so on.
fn one(mut bridge: Bridge, at: usize, options: &Options, end: Instant) -> Result<CrowdAnswers, BenchError> {
    let mut answers = CrowdAnswers::default();
    let millis = |took: Duration| took.as_secs_f64() * 1000.0;
    for n in 0.. {
        if Instant::now() >= end {
            break;
        }
        let number = options.claims + at + n * options.clients;
        let statement = synth::statement(number);
        let begun = Instant::now();
        let outcome = bridge.call("ergo_remember", json!({"statement": statement, "reason": synth::reason(number)}))?;
        let outcome = judged(&mut bridge, outcome)?;
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

/// Answers the question of a write that may contradict others: all of them are compatible, as the statements are made so.
fn judged(bridge: &mut Bridge, outcome: CallOutcome) -> Result<CallOutcome, BenchError> {
    let CallOutcome::Result(value) = &outcome else { return Ok(outcome) };
    if value["result"] != "consider" {
        return Ok(outcome);
    }
    let doubts = value["doubts"].as_array().into_iter().flatten();
    let verdicts: HashMap<&str, &str> =
        doubts.filter_map(|doubt| Some((doubt["id"].as_str()?, "compatible"))).collect();
    bridge.call("ergo_judge", json!({"token": value["token"], "verdicts": verdicts, "because": "Other things."}))
}

impl CrowdAnswers {
    /// Looks for every acknowledged write in the daemon's own list.
    pub(super) async fn counted(self, home: &Home) -> Result<Crowd, BenchError> {
        let scope = store::scope();
        let (mut ids, mut statements) = (HashSet::new(), HashMap::<String, usize>::new());
        let mut cursor = None;
        loop {
            let query = ClaimsQuery {
                org_id: Some(scope.org_id.clone()),
                project: Some(scope.project.clone()),
                status: Some("all".into()),
                limit: Some(PAGE),
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
        let there = |statement: &String| statements.get(statement).copied().unwrap_or_default();
        let lost = self.stored.iter().filter(|(id, statement)| !ids.contains(id) || there(statement) == 0).count();
        let doubled = self.stored.iter().filter(|(_, statement)| there(statement) > 1).count();
        Ok(Crowd {
            clients: self.clients,
            seconds: self.seconds,
            stored: self.stored.len(),
            conflicts: self.conflicts,
            by_rules: self.by_rules,
            lost,
            doubled,
            failed: self.failures.len(),
            failures: self.failures.into_iter().take(TOLD).collect(),
            write_ms: quantiles(self.writes),
            recall_ms: quantiles(self.recalls),
        })
    }
}
