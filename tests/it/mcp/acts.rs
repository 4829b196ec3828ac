//! Every act that a card offers, called with the fields of the tool's own schema.

use serde_json::{Value, json};

use super::client::McpClient;
use crate::support::TestHome;

/// Pairs that the guard refuses, one for each act.
const PAIRS: [(&str, &str); 7] = [
    ("Use PostgreSQL for the billing database.", "Do not use PostgreSQL for the billing database."),
    ("The gateway listens on port 8443.", "The gateway listens on port 9443."),
    ("Every release is signed with the release key.", "No release is signed with the release key."),
    ("Logs must be kept for 30 days.", "Logs must be kept for 90 days."),
    ("Never deploy the web shop on Fridays.", "Always deploy the web shop on Fridays."),
    ("Use Redis for the session cache.", "Do not use Redis for the session cache."),
    ("The upload limit is 10 MB.", "The upload limit is 25 MB."),
];

/// Stores one side, is refused with the other, and gives the card in full.
fn card(client: &mut McpClient, (old, new): (&str, &str)) -> Value {
    let stored = client.tool("ergo_remember", json!({"statement": old, "reason": "It was measured."}));
    assert_eq!(stored["result"], "stored", "{stored}");
    let refused = client.tool("ergo_remember", json!({"statement": new, "reason": "It was asked for."}));
    assert_eq!(refused["result"], "conflict", "{old} / {new}: {refused}");
    let card = client.tool("ergo_conflicts", json!({"card": refused["card_id"]}));
    let new_claim = card["sides"].as_array().unwrap().iter().find(|side| side["refused"] == true).unwrap();
    assert!(new_claim.get("status").is_none(), "what was refused is not active: {new_claim}");
    card
}

fn schema_of(client: &mut McpClient, tool: &str) -> Value {
    let list = client.request("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    tools.iter().find(|offer| offer["name"] == tool).unwrap()["inputSchema"].clone()
}

#[test]
fn every_act_that_a_card_lists_can_be_called() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let schema = schema_of(&mut client, "ergo_resolve");
    let acts: Vec<String> = schema["properties"]["act"]["enum"]
        .as_array()
        .unwrap()
        .iter()
        .map(|act| act.as_str().unwrap().to_owned())
        // These answer the question of a story.
        .filter(|act| !matches!(act.as_str(), "yes" | "no"))
        .collect();
    assert_eq!(acts.len(), PAIRS.len(), "{acts:?}");
    for (act, pair) in acts.iter().zip(PAIRS) {
        let card = card(&mut client, pair);
        let offered = card["acts"].as_array().unwrap();
        assert!(offered.contains(&json!(act)), "{act} is not offered: {card}");
        for other in offered {
            assert!(acts.contains(&other.as_str().unwrap().to_owned()), "{other} is offered and not in the schema");
        }
        let (new, old) = (card["sides"][0]["id"].clone(), card["sides"][1]["id"].clone());
        let mut call = json!({"card": card["card"]["card"], "act": act, "reason": "We talked it over."});
        match act.as_str() {
            "supersede" => call["winner"] = new,
            "retract" => call["target"] = old,
            "narrow" => {
                call["target"] = old;
                call["env"] = json!("prod");
                call["valid_until"] = json!("2030-01-01");
            }
            "snooze" => call["until"] = json!("3d"),
            _ => {}
        }
        for field in call.as_object().unwrap().keys() {
            assert!(schema["properties"].get(field).is_some(), "{field} is not in the schema");
        }
        let done = client.tool("ergo_resolve", call);
        assert!(done["result"] == "done" || done["result"] == "stored", "{act}: {done}");
        let after = client.tool("ergo_conflicts", json!({"card": card["card"]["card"]}));
        let status = if act == "snooze" { "snoozed" } else { "settled" };
        assert_eq!(after["card"]["status"], status, "{act}: {after}");
    }
}

#[test]
fn what_is_wrong_is_reported_in_the_words_of_the_schema() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let card = card(&mut client, PAIRS[0]);
    let id = card["card"]["card"].clone();
    let refusal = client.refusal("ergo_resolve", json!({"card": id, "act": "narrow", "qualifiers": {}, "reason": "x"}));
    assert!(refusal.contains("unknown argument `qualifiers`") && refusal.contains("valid_from"), "{refusal}");
    let refusal = client.refusal("ergo_resolve", json!({"card": id, "act": "snooze", "until": "soon"}));
    assert!(refusal.contains("invalid `until`: “soon”") && refusal.contains("3d"), "{refusal}");
    let refusal =
        client.refusal("ergo_resolve", json!({"card": id, "act": "retract", "reason": "x", "target": "abcd"}));
    assert!(refusal.contains("ergo_conflicts") && !refusal.contains("`ergo "), "{refusal}");
    let refusal = client.refusal("ergo_retract", json!({"target": "abcdef12", "reason": "x"}));
    assert!(!refusal.contains("`ergo "), "{refusal}");
    for (tool, wrong, expected) in [("ergo_recall", "question", "query"), ("ergo_why", "query", "question")] {
        let refusal = client.refusal(tool, json!({ wrong: "billing" }));
        assert!(refusal.contains(&format!("unknown argument `{wrong}`")) && refusal.contains(expected), "{refusal}");
        let refusal = client.refusal(tool, json!({"limit": 2}));
        assert!(refusal.contains(&format!("`{expected}`")) && !refusal.contains("GET /"), "{refusal}");
        let refusal = client.refusal(tool, json!({ expected: "billing", "limit": "ten" }));
        assert!(refusal.contains("`limit` must be a whole number"), "{refusal}");
    }
    let refusal = client.refusal("ergo_history", json!({"claim": "abcd", "limit": 2}));
    assert!(refusal.contains("unknown argument `limit`; expected: claim, scope"), "{refusal}");
    let refusal = client.refusal("ergo_history", json!({"claim": "abcdef12", "scope": "acme/billing"}));
    assert!(!refusal.contains("unknown argument"), "{refusal}");
}

#[test]
fn a_claim_says_where_and_when_it_holds() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let holds = json!({"env": "prod", "team": "billing", "tenant": "acme", "valid_from": "2026-01-01", "valid_until": "2031-01-01"});
    for (tool, more) in [
        ("ergo_remember", json!({"statement": "Use port 9443 for the gateway."})),
        ("ergo_learn", json!({"statement": "Use Redis for the session cache.", "source": "docs/cache.md:3"})),
    ] {
        let mut call = holds.clone();
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call["reason"] = json!("It was measured.");
        let stored = client.tool(tool, call);
        let history = client.tool("ergo_history", json!({"claim": stored["claim_id"]}));
        for (name, value) in holds.as_object().unwrap() {
            assert_eq!(&history["claim"][name], value, "{tool}: {history}");
        }
        let mut call = holds.clone();
        call["targets"] = stored["claim_id"].clone();
        call["statement"] = json!(format!("{} It was reworded.", more["statement"].as_str().unwrap()));
        call["reason"] = json!("It was asked for.");
        call["team"] = json!("shop");
        let replaced = client.tool("ergo_supersede", call);
        let history = client.tool("ergo_history", json!({"claim": replaced["claim_id"]}));
        assert_eq!(history["claim"]["team"], "shop", "{history}");
    }
}

#[test]
fn an_agent_takes_back_its_own_acts_the_last_one_first() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    for statement in ["Use tabs in Go files.", "Deploy the web shop with Helm."] {
        client.tool("ergo_remember", json!({"statement": statement, "reason": "Habit."}));
    }
    home.run(["remember", "Use LF line ends.", "--reason", "A person said so."]).ok();
    let done = client.tool("ergo_undo", json!({}));
    assert!(done["result"] == "done" && done["summary"].as_str().unwrap().contains("Helm"), "{done}");
    let done = client.tool("ergo_undo", json!({}));
    assert!(done["summary"].as_str().unwrap().contains("tabs in Go"), "{done}");
    let refusal = client.refusal("ergo_undo", json!({}));
    assert!(refusal.contains("there is no change of yours to undo"), "{refusal}");
    let claims = home.run(["claims"]).ok().stdout;
    assert!(claims.contains("LF line ends") && !claims.contains("Go files"), "{claims}");
}

#[test]
fn one_answer_tells_the_scopes_the_counts_and_the_problems() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    client.tool("ergo_remember", json!({"statement": "Use tabs in Go files.", "reason": "Habit."}));
    let diagnosis = client.tool("ergo_diagnose", json!({}));
    assert_eq!((&diagnosis["here"], &diagnosis["active"]), (&json!("claude-code/work"), &json!(1)), "{diagnosis}");
    assert_eq!(diagnosis["scopes"][0]["scope"], "claude-code/work", "{diagnosis}");
}
