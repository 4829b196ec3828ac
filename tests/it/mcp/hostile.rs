//! Invalid messages get a clear error, and the session continues.

use serde_json::{Value, json};

use super::client::McpClient;
use crate::support::TestHome;

#[test]
fn what_is_no_message_is_answered_and_the_next_one_served() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let lines: [(&[u8], i64); 8] = [
        (b"GET / HTTP/1.1\n", -32700),
        (b"{\"jsonrpc\":\"2.0\",\n", -32700),
        (b"\xff\xfe\x00\n", -32700),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n", -32600),
        (b"{\"id\":90,\"method\":\"ping\"}\n", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":91,\"method\":\"ergo/burn\"}\n", -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":92,\"method\":\"tools/call\",\"params\":{\"name\":5}}\n", -32602),
    ];
    for (line, code) in lines {
        client.raw(line);
        let heard = client.hear();
        assert_eq!(heard["error"]["code"], code, "{}: {heard}", String::from_utf8_lossy(line));
    }
    let mut deep = "[".repeat(200_000);
    deep.push('\n');
    client.raw(deep.as_bytes());
    assert_eq!(client.hear()["error"]["code"], -32700);
    let mut long = vec![b'a'; 3 * 1024 * 1024];
    long.push(b'\n');
    client.raw(&long);
    let heard = client.hear();
    assert!(heard["error"]["message"].as_str().unwrap().contains("at most"), "{heard}");
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn wrong_arguments_are_named() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let big = "x".repeat(9 * 1024);
    std::fs::write(home.work().join(".env"), "TOKEN=1").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", home.work().join("users")).unwrap();
    let cases: [(&str, Value, &str); 24] = [
        ("ergo_remember", json!({}), "statement"),
        ("ergo_remember", json!({"statement": 5}), "statement"),
        ("ergo_remember", json!({"statement": ["a"], "reason": "b"}), "statement"),
        ("ergo_remember", json!({"statement": "Use tabs."}), "reason"),
        ("ergo_remember", json!({"statement": "Use tabs.", "reasons": "x"}), "reasons"),
        ("ergo_remember", json!({"statement": "Use tabs.", "reason": "x", "kind": "wish"}), "kind"),
        ("ergo_remember", json!({"statement": big, "reason": "x"}), "statement"),
        ("ergo_remember", json!({"statement": "a\u{0}b", "reason": "x"}), "NUL"),
        ("ergo_remember", json!({"statement": "Use tabs.", "reason": "x", "scope": "nowhere"}), "ORG/PROJECT"),
        ("ergo_remember", json!({"statement": "Use tabs.", "reason": "x", "scope": 7}), "scope"),
        ("ergo_supersede", json!({"targets": "zz", "statement": "a", "reason": "b"}), "targets"),
        ("ergo_history", json!({"claim": "../health"}), "claim"),
        ("ergo_history", json!({"claim": "ffffffff"}), "ffffffff"),
        ("ergo_conflicts", json!({"limit": "many"}), "limit"),
        ("ergo_ingest", json!({}), "path"),
        ("ergo_ingest", json!({"path": ["a", "b"]}), "path"),
        ("ergo_ingest", json!({"path": "a", "text": 5}), "text"),
        ("ergo_ingest", json!({"path": "a\u{0}b", "text": "x"}), "path"),
        ("ergo_ingest", json!({"path": "a.md", "all": true}), "all"),
        ("ergo_ingest", json!({"path": "/etc/passwd"}), "outside of this project"),
        ("ergo_ingest", json!({"path": "users"}), "outside of this project"),
        ("ergo_ingest", json!({"path": "../../etc/passwd"}), "contains `..`"),
        ("ergo_ingest", json!({"path": ".env"}), "hidden"),
        ("ergo_diagnose", json!({"deep": true}), "deep"),
    ];
    for (tool, arguments, word) in cases {
        let refusal = client.refusal(tool, arguments.clone());
        assert!(refusal.contains(word), "{tool} {arguments:.80}: {refusal}");
        assert!(refusal.len() < 1_000 && !refusal.contains('\u{0}'), "{refusal}");
    }
    let unknown = client.request("tools/call", json!({"name": "ergo_burn\u{202e}", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602);
    let message = unknown["error"]["message"].as_str().unwrap();
    assert!(message.contains("ergo_remember") && !message.contains('\u{202e}'), "{message}");
    assert_eq!(client.tool("ergo_diagnose", json!({}))["claims"], 0, "nothing was stored");
}

#[test]
fn characters_that_lie_are_kept_in_the_store_and_not_shown() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let statement = "The build\u{1b}[31m host is \u{202e}alpha\u{200b}.";
    let stored = client.tool("ergo_remember", json!({"statement": statement, "kind": "fact"}));
    let shown = client.tool("ergo_recall", json!({"query": "build host"}));
    assert_eq!(shown["claims"][0]["statement"], "The build[31m host is alpha.", "{shown}");
    let id = stored["claim_id"].as_str().unwrap();
    let kept = crate::support::block_on(async { home.client().claim(id).await }).unwrap();
    assert_eq!(kept.statement, statement);
}

#[test]
fn a_flood_is_answered_call_by_call() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let mut waiting: std::collections::BTreeSet<i64> = (0..600)
        .map(|n| {
            let call = json!({"name": "ergo_recall", "arguments": {"query": format!("flood {n}")}});
            client.post("tools/call", call)
        })
        .collect();
    let mut refused = 0;
    while !waiting.is_empty() {
        let heard = client.hear();
        assert!(waiting.remove(&heard["id"].as_i64().unwrap()), "answered twice: {heard}");
        if heard["result"]["isError"] == true {
            let message = heard["result"]["content"][0]["text"].as_str().unwrap();
            assert!(message.contains("wait for their answers"), "{heard}");
            refused += 1;
        }
    }
    assert!(refused < 600);
    assert_eq!(client.tool("ergo_diagnose", json!({}))["claims"], 0);
}
