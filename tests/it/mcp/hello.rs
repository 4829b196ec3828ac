//! Handshakes, and the capabilities offered after them.

use serde_json::{Value, json};

use super::client::{BEFORE, CURRENT, McpClient};
use crate::support::TestHome;

fn names(answer: &Value) -> Vec<String> {
    answer["result"]["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_versions_with_a_handshake_are_spoken() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for version in BEFORE {
        let mut client = McpClient::greeted(&home, &[], version, json!({}));
        let list = client.request("tools/list", json!({}));
        assert_eq!(names(&list).len(), 12, "{list}");
        assert_eq!(client.request("ping", json!({}))["result"], json!({}));
        assert_eq!(client.end(), (Some(0), String::new()), "{version}: nothing is wrong, so nothing is said");
    }
}

#[test]
fn the_current_version_needs_no_handshake() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::start(&home, &[]);
    client.modern(json!({}));
    let found = client.request("server/discover", json!({}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    for version in BEFORE.into_iter().chain([CURRENT]) {
        assert!(versions.contains(&json!(version)), "{found}");
    }
    let instructions = found["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("ergo_recall"), "{found}");
    // As the instructions of `ergo setup` do.
    assert!(instructions.contains("Show that claim to the user; then follow it, replace it with"), "{found}");
    assert_eq!(names(&client.request("tools/list", json!({}))).len(), 12);
    let stored =
        client.tool("ergo_remember", json!({"statement": "We deploy on Tuesdays.", "reason": "Support is there."}));
    assert_eq!(stored["result"], "stored", "{stored}");
    let claim = client.tool("ergo_why", json!({"question": "when do we deploy"}));
    assert_eq!(claim["answer"]["by"], "test-agent", "the client's own name: {claim}");
}

#[test]
fn a_version_that_nobody_knows_gets_the_last_with_a_handshake() {
    let home = TestHome::new();
    let mut client = McpClient::start(&home, &["--no-spawn"]);
    let answer = client.request(
        "initialize",
        json!({
            "protocolVersion": "1999-12-31", "capabilities": {}, "clientInfo": {"name": "old", "version": "0"},
        }),
    );
    assert_eq!(answer["result"]["protocolVersion"], BEFORE[0], "{answer}");
}

#[test]
fn the_minimal_profile_has_six_tools() {
    let home = TestHome::new();
    let mut client = McpClient::greeted(&home, &["--no-spawn", "--profile", "minimal"], BEFORE[0], json!({}));
    let mut list = names(&client.request("tools/list", json!({})));
    list.sort();
    assert_eq!(list, ["ergo_conflicts", "ergo_judge", "ergo_recall", "ergo_remember", "ergo_supersede", "ergo_why"]);
}

#[test]
fn without_a_daemon_and_leave_to_start_one_a_call_says_what_to_do() {
    let home = TestHome::new();
    let mut client = McpClient::greeted(&home, &["--no-spawn"], BEFORE[0], json!({}));
    let refusal = client.refusal("ergo_recall", json!({"query": "x"}));
    assert!(refusal.contains("ergo daemon start"), "{refusal}");
}

#[test]
fn the_daemon_is_started_where_there_is_none_and_again_where_it_died() {
    let home = TestHome::new();
    let mut client = McpClient::usual(&home);
    let fact = |n: u32| json!({"statement": format!("Port {n} is taken."), "kind": "fact", "key": format!("port {n}")});
    assert_eq!(client.tool("ergo_remember", fact(1))["result"], "stored");
    crate::support::kill(home.record().pid);
    assert_eq!(client.tool("ergo_remember", fact(2))["result"], "stored");
    assert_eq!(client.tool("ergo_diagnose", json!({}))["active"], 2);
}
