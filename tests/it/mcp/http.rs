//! The bridge over streamable HTTP, on the daemon's own port.

use serde_json::{Value, json};

use super::client::{BEFORE, CURRENT};
use crate::support::{
    TestHome, until,
    wire::{Answer, request, unix},
};

fn post(home: &TestHome, headers: &[&str], message: &Value) -> Answer {
    let usual = ["Host: localhost", "Content-Type: application/json", "Accept: application/json, text/event-stream"];
    let bytes = request("POST", "/mcp", &[&usual, headers].concat(), message.to_string().as_bytes());
    unix(&home.record().socket, &bytes).unwrap()
}

/// The message in an answer, whether it came alone or as an event.
fn message(answer: &Answer) -> Value {
    let data =
        answer.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).find(|text| !text.is_empty());
    let text = data.or_else(|| answer.body.lines().find(|line| line.starts_with('{')));
    serde_json::from_str(text.unwrap_or_else(|| panic!("{answer:?}"))).unwrap()
}

#[test]
fn each_request_stands_alone_and_says_its_scope() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": BEFORE[0], "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}}});
    let answer = message(&post(&home, &[], &hello));
    assert_eq!(answer["result"]["serverInfo"]["name"], "ergo", "{answer}");

    let list = message(&post(&home, &[], &json!({"jsonrpc": "2.0", "id": 3, "method": "resources/list"})));
    assert_eq!(list["result"]["resources"], json!([]), "of all scopes: {list}");

    let meta = json!({"io.modelcontextprotocol/protocolVersion": CURRENT,
        "io.modelcontextprotocol/clientInfo": {"name": "web", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let call = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments, "_meta": meta});
        let message_ = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
        let (version, tool) = (format!("MCP-Protocol-Version: {CURRENT}"), format!("Mcp-Name: {name}"));
        message(&post(&home, &[&version, "Mcp-Method: tools/call", &tool], &message_))["result"].clone()
    };
    let claim = json!({"statement": "Use tabs.", "reason": "Habit."});
    let refused = call("ergo_remember", claim.clone());
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("ORG/PROJECT"), "{refused}");
    let mut claim = claim;
    claim["scope"] = json!("acme/web");
    let stored = call("ergo_remember", claim);
    assert_eq!(stored["structuredContent"]["result"], "stored", "{stored}");
    let known = call("ergo_recall", json!({"query": "tabs", "scope": "acme/web"}));
    assert_eq!(known["structuredContent"]["claims"][0]["by"], "web", "{known}");

    // There are no sessions: a client that called lately is listed once, by its name, or as an agent if it gave none.
    let connected = || {
        let listed = home.run(["agents", "--json"]).ok().json();
        let mut names: Vec<_> =
            listed["connected"].as_array().unwrap().iter().map(|one| one["agent"].clone()).collect();
        names.sort_by_key(ToString::to_string);
        names
    };
    until("who asked is listed", || connected().contains(&json!("web")));
    call("ergo_recall", json!({"query": "spaces", "scope": "acme/web"}));
    assert_eq!(connected().iter().filter(|name| **name == "web").count(), 1, "{:?}", connected());

    let unread = call("ergo_ingest", json!({"path": "/etc/hostname", "scope": "acme/web"}));
    assert_eq!(unread["isError"], true, "the daemon reads no files for anyone: {unread}");
    assert!(unread["content"][0]["text"].as_str().unwrap().contains("`text` is missing"), "{unread}");
    let taken = call("ergo_ingest", json!({"path": "call.md", "text": "The vault is in Bonn.", "scope": "acme/web"}));
    assert_eq!(taken["structuredContent"]["added"], 1, "{taken}");
    let read = |uri: &str| {
        let params = json!({"uri": uri});
        let message_ = json!({"jsonrpc": "2.0", "id": 4, "method": "resources/read", "params": params});
        message(&post(&home, &[], &message_))
    };
    let page = read("ergo://snapshot?scope=acme/web");
    assert!(page["result"]["contents"][0]["text"].as_str().unwrap().contains("Use tabs."), "{page}");
    let none = read("ergo://snapshot");
    assert!(none["error"]["message"].as_str().unwrap().contains("scope=ORG/PROJECT"), "{none}");
}

#[test]
fn over_tcp_it_needs_the_token() {
    let home = TestHome::with_tcp();
    let _daemon = home.daemon();
    let address = home.record().tcp.unwrap();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let say = |headers: &[&str]| {
        let usual =
            ["Host: localhost", "Content-Type: application/json", "Accept: application/json, text/event-stream"];
        crate::support::wire::tcp(&address, &request("POST", "/mcp", &[&usual, headers].concat(), body.as_bytes()))
            .unwrap()
    };
    assert_eq!(say(&[]).status, 401);
    assert_eq!(say(&["Authorization: Bearer wrong"]).status, 401);
    let token = std::fs::read_to_string(home.paths().token()).unwrap();
    let let_in = say(&[&format!("Authorization: Bearer {}", token.trim())]);
    assert_ne!(let_in.status, 401, "{let_in:?}");
    let page = say(&[&format!("Authorization: Bearer {}", token.trim()), "Origin: https://evil.example"]);
    assert_eq!(page.status, 403, "{page:?}");
}
