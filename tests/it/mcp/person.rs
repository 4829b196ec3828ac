//! A client that can ask its person (elicitation) is asked to, and the decision takes effect.

use serde_json::{Value, json};

use super::client::{BEFORE, McpClient};
use crate::support::TestHome;

const OLD: &str = "Use PostgreSQL for the billing database.";
const NEW: &str = "Do not use PostgreSQL for the billing database.";

fn choice(question: &Value, word: &str) -> Value {
    let choices = question["requestedSchema"]["properties"]["choice"]["enum"].as_array().unwrap();
    choices.iter().find(|choice| choice.as_str().unwrap().starts_with(word)).unwrap().clone()
}

/// Writes against what holds, answers the question so, and gives the call's result.
fn asked(client: &mut McpClient, answer: impl Fn(&Value) -> Value) -> Value {
    client.tool("ergo_remember", json!({"statement": OLD, "reason": "We know it."}));
    let call =
        client.post("tools/call", json!({"name": "ergo_remember", "arguments": {"statement": NEW, "reason": "Cost."}}));
    let question = client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert!(question["params"]["message"].as_str().unwrap().contains(OLD), "{question}");
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer(&question["params"])}));
    loop {
        let heard = client.hear();
        if heard["id"] == call && heard.get("method").is_none() {
            assert_eq!(heard["result"]["isError"], false, "{heard}");
            return heard["result"]["structuredContent"].clone();
        }
    }
}

#[test]
fn a_person_replaces_keeps_or_declines() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let can = || json!({"elicitation": {}});
    let mut client = McpClient::greeted(&home, &["--scope", "acme/one"], BEFORE[0], can());
    let done = asked(
        &mut client,
        |question| json!({"action": "accept", "content": {"choice": choice(question, "supersede"), "reason": "The contract changed."}}),
    );
    assert_eq!(done["decided_by_user"], "supersede", "{done}");
    let why = client.tool("ergo_why", json!({"question": "billing database"}));
    assert_eq!(
        (&why["answer"]["statement"], &why["replaced"][0]["replaced_because"]),
        (&json!(NEW), &json!("The contract changed."))
    );

    let mut client = McpClient::greeted(&home, &["--scope", "acme/two"], BEFORE[1], can());
    let kept =
        asked(&mut client, |question| json!({"action": "accept", "content": {"choice": choice(question, "cancel")}}));
    assert_eq!((&kept["result"], &kept["decided_by_user"]), (&json!("conflict"), &json!("cancel")), "{kept}");

    let mut client = McpClient::greeted(&home, &["--scope", "acme/three"], BEFORE[1], can());
    let declined = asked(&mut client, |_| json!({"action": "decline"}));
    assert_eq!((&declined["result"], declined.get("decided_by_user")), (&json!("conflict"), None), "{declined}");

    let mut client = McpClient::greeted(&home, &["--scope", "acme/four", "--no-ask"], BEFORE[1], can());
    client.tool("ergo_remember", json!({"statement": OLD, "reason": "We know it."}));
    assert_eq!(client.tool("ergo_remember", json!({"statement": NEW, "reason": "Cost."}))["result"], "conflict");
}

#[test]
fn in_the_current_protocol_the_question_is_a_result_and_its_answer_comes_with_the_next_call() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::start(&home, &[]);
    client.modern(json!({"elicitation": {"form": {}}}));
    client.tool("ergo_remember", json!({"statement": OLD, "reason": "We know it."}));
    let call = json!({"name": "ergo_remember", "arguments": {"statement": NEW, "reason": "Cost."}});
    let asked = client.request("tools/call", call.clone());
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let question = &asked["result"]["inputRequests"]["decision"];
    assert_eq!(question["method"], "elicitation/create", "{asked}");
    let mut again = call;
    again["inputResponses"] = json!({"decision": {
        "action": "accept", "content": {"choice": choice(&question["params"], "exception"), "reason": "Both run for a month."},
    }});
    let done = client.request("tools/call", again);
    assert_eq!(done["result"]["structuredContent"]["decided_by_user"], "exception", "{done}");
    let cards = client.tool("ergo_conflicts", json!({}));
    assert_eq!(cards["total"], 0, "{cards}");
}
