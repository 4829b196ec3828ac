//! Ten agents at one daemon: what is acknowledged is stored, once.

use std::collections::{BTreeMap, BTreeSet};

use ergo::api::ClaimsQuery;
use serde_json::json;

use super::client::McpClient;
use crate::support::{TestHome, block_on};

/// Agents, and what each of them writes about: no two of these are alternatives to each other.
const AGENTS: [&str; 10] =
    ["acacia", "basalt", "copper", "delta", "ember", "fjord", "granite", "harbour", "ivory", "juniper"];
const THINGS: [&str; 12] = [
    "archive",
    "billing",
    "crawler",
    "dashboard",
    "exporter",
    "forecast",
    "gateway",
    "importer",
    "ledger",
    "mailer",
    "planner",
    "router",
];

#[test]
fn ten_clients_at_once_lose_nothing_and_double_nothing() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let stored: BTreeSet<String> = std::thread::scope(|scope| {
        let write = |agent: usize, name: &str| {
            let mut client = McpClient::usual(&home);
            let ids: Vec<_> = THINGS
                .iter()
                .enumerate()
                .map(|(n, thing)| {
                    let statement = format!("The {name} {thing} listens on port {}.", 3000 + agent * 100 + n);
                    client.post(
                        "tools/call",
                        json!({"name": "ergo_remember", "arguments": {"statement": statement, "reason": "Assigned."}}),
                    )
                })
                .collect();
            let answers: Vec<_> = ids.iter().map(|_| client.hear()).collect();
            answers
                .iter()
                .filter_map(|heard| {
                    let mut answer = heard["result"]["structuredContent"].clone();
                    if answer["result"] == "consider" {
                        let doubts = answer["doubts"].as_array().unwrap();
                        let ids = doubts.iter().map(|doubt| doubt["id"].as_str().unwrap().to_owned());
                        let verdicts: BTreeMap<_, _> = ids.map(|id| (id, "compatible")).collect();
                        let judged =
                            json!({"token": answer["token"], "verdicts": verdicts, "because": "Other things."});
                        answer = client.tool("ergo_judge", judged);
                    }
                    // Sentences that are so alike the guard may take for a contradiction; it must not do anything else.
                    assert!(answer["result"] == "stored" || answer["result"] == "conflict", "{heard}");
                    answer["claim_id"].as_str().map(str::to_owned)
                })
                .collect::<Vec<_>>()
        };
        let agents: Vec<_> =
            AGENTS.iter().enumerate().map(|(agent, name)| scope.spawn(move || write(agent, name))).collect();
        agents.into_iter().flat_map(|agent| agent.join().unwrap()).collect()
    });
    assert!(stored.len() > AGENTS.len() * THINGS.len() / 2, "only {} were stored", stored.len());
    let query = ClaimsQuery { status: Some("all".into()), limit: Some(200), ..ClaimsQuery::default() };
    let page = block_on(async { home.client().claims(&query).await }).unwrap();
    let there: BTreeSet<String> = page.items.iter().map(|claim| claim.id.short()).collect();
    assert_eq!((page.total, there), (stored.len(), stored));
}
