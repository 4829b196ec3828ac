//! A write that may contradict others: the agent is asked, and its verdict decides.

use std::{io::Write, process::Stdio};

use serde_json::{Value, json};

use super::client::{BEFORE, McpClient};
use crate::support::{
    TestHome,
    doubtful::{NEW, OLD},
};

/// Writes a claim and one that may contradict it; gives the first one's id and the question.
fn asked(client: &mut McpClient, scope: &str) -> (Value, Value) {
    let old = json!({"statement": OLD, "reason": "They plan by it.", "scope": scope});
    let old = client.tool("ergo_remember", old)["claim_id"].clone();
    let new = json!({"statement": NEW, "reason": "They asked for it.", "scope": scope});
    let question = client.tool("ergo_remember", new);
    assert_eq!(question["result"], "consider", "{question}");
    let doubt = &question["doubts"][0];
    assert_eq!((&doubt["id"], &doubt["statement"], &doubt["reason"]), (&old, &json!(OLD), &json!("They plan by it.")));
    (old, question)
}

fn verdict(question: &Value, id: &Value, verdict: &str) -> Value {
    json!({"token": question["token"], "verdicts": {id.as_str().unwrap(): verdict}, "because": "Read both."})
}

/// The kinds of events of a claim.
fn events(client: &mut McpClient, claim: &Value) -> Vec<String> {
    let history = client.tool("ergo_history", json!({"claim": claim}));
    history["events"].as_array().unwrap().iter().map(|event| event["did"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_verdict_has_its_consequence() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);

    let (old, question) = asked(&mut client, "acme/compatible");
    let stored = client.tool("ergo_judge", verdict(&question, &old, "compatible"));
    assert_eq!((&stored["result"], stored.get("superseded")), (&json!("stored"), None), "{stored}");
    assert!(events(&mut client, &old).contains(&"judgement.compatible".to_owned()));
    let again = client.tool("ergo_remember", json!({"statement": NEW, "reason": "x", "scope": "acme/compatible"}));
    assert_eq!(again["duplicate"], true, "{again}");

    let (old, question) = asked(&mut client, "acme/same");
    let same = client.tool("ergo_judge", verdict(&question, &old, "same"));
    assert_eq!((&same["result"], &same["duplicate"], &same["claim_id"]), (&json!("stored"), &json!(true), &old));
    assert!(events(&mut client, &old).contains(&"judgement.same".to_owned()));

    let (old, question) = asked(&mut client, "acme/replaces");
    let replaced = client.tool("ergo_judge", verdict(&question, &old, "replaces"));
    assert_eq!((&replaced["result"], &replaced["superseded"]), (&json!("stored"), &json!([old])), "{replaced}");
    let why = client.tool("ergo_why", json!({"question": replaced["claim_id"], "scope": "acme/replaces"}));
    assert_eq!(why["replaced"][0]["replaced_because"], "Read both.", "{why}");

    let (old, question) = asked(&mut client, "acme/contradicts");
    let refused = client.tool("ergo_judge", verdict(&question, &old, "contradicts"));
    assert_eq!((&refused["result"], &refused["conflicts"][0]["claim"]["id"]), (&json!("conflict"), &old), "{refused}");
    let cards = client.tool("ergo_conflicts", json!({"scope": "acme/contradicts"}));
    assert_eq!((&cards["total"], &cards["cards"][0]["card"]), (&json!(1), &refused["card_id"]), "{cards}");
    let late = client.tool("ergo_judge", verdict(&question, &old, "compatible"));
    assert_eq!(late["result"], "stale", "another answer comes too late: {late}");
}

#[test]
fn an_answer_names_claims_of_the_question_alone() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let (old, question) = asked(&mut client, "acme/api");
    let token = &question["token"];
    let id = old.as_str().unwrap();
    for (wrong, says) in [
        (json!({"token": token, "verdicts": {"ffffffff": "compatible"}, "because": "x"}), id),
        (json!({"token": token, "verdicts": {}, "because": "x"}), "verdicts"),
        (json!({"token": token, "verdicts": {id: "fine"}, "because": "x"}), "verdicts"),
        (json!({"token": token, "verdicts": "compatible", "because": "x"}), "verdicts"),
        (json!({"token": token, "verdicts": {id: "compatible"}}), "because"),
        (json!({"token": "ffffffffffffffff", "verdicts": {id: "compatible"}, "because": "x"}), "ffffffffffffffff"),
        (json!({"verdicts": {id: "compatible"}, "because": "x"}), "token"),
        (json!({"token": token, "verdicts": {id: "compatible"}, "because": "x", "unanswered": true}), "unanswered"),
    ] {
        let refusal = client.refusal("ergo_judge", wrong.clone());
        assert!(refusal.contains(says), "{wrong}: {refusal}");
    }
    let text = json!({id: "compatible"}).to_string();
    let stored = client.tool("ergo_judge", json!({"token": token, "verdicts": text, "because": "Read both."}));
    assert_eq!(stored["result"], "stored", "an object as text: {stored}");
}

#[rstest::rstest]
#[case("claude-code", "/home/ada/.claude/projects/s", "/home/ada/.codex/sessions/s")]
#[case("codex-mcp-client", "/home/ada/.codex/sessions/s", "/home/ada/.claude/projects/s")]
fn at_the_end_of_a_session_its_agent_is_reminded_once_and_then_nothing_waits(
    #[case] name: &str,
    #[case] own: &str,
    #[case] other: &str,
) {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::start(&home, &[]);
    let hello = json!({"protocolVersion": BEFORE[0], "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
    client.request("initialize", hello);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let (old, question) = asked(&mut client, "claude-code/work");

    let stop = |transcript: &str, active: bool| {
        let input = json!({"session_id": "s", "transcript_path": transcript, "hook_event_name": "Stop", "stop_hook_active": active});
        let mut child = home.command(["hook", "stop"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    assert_eq!(stop(other, true), "", "another agent's questions are not its own");
    let first: Value = serde_json::from_str(&stop(own, false)).unwrap();
    assert_eq!(first["decision"], "block", "{first}");
    let reason = first["reason"].as_str().unwrap();
    for part in ["ergo_judge", question["token"].as_str().unwrap(), old.as_str().unwrap(), OLD, NEW] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    assert_eq!(client.tool("ergo_recall", json!({"query": NEW}))["claims"][0]["statement"], OLD, "it still waits");
    assert_eq!(stop(own, true), "");
    assert_eq!(client.tool("ergo_recall", json!({"query": NEW}))["claims"][0]["statement"], NEW, "it is stored");
    let claims = home.run(["claims", "--json"]).ok().json();
    let stored = claims["items"].as_array().unwrap().iter().find(|claim| claim["statement"] == NEW).unwrap();
    assert_eq!(stored["agent"], name, "{stored}");
    let cards = client.tool("ergo_conflicts", json!({}));
    assert_eq!(cards["total"], 1, "a person is asked: {cards}");
    assert_eq!(client.tool("ergo_judge", verdict(&question, &old, "compatible"))["result"], "stale");
}
