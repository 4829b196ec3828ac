//! Judges over MCP: the client's own model within a call, an agent for waiting pairs, and the first of two agents.

use serde_json::{Value, json};

use super::client::{BEFORE, McpClient};
use crate::support::{
    TestHome,
    doubtful::{NEW, OLD},
    until,
};

fn old() -> Value {
    json!({"statement": OLD, "reason": "They plan by it."})
}

fn new() -> Value {
    json!({"statement": NEW, "reason": "They asked for it."})
}

/// Answers a prompt in the client's name.
fn sampled(text: &str) -> Value {
    json!({"model": "the-clients-model", "role": "assistant", "content": {"type": "text", "text": text}})
}

/// Writes a claim that may contradict another, and answers the prompt with `answer`. Returns the call's result and the
/// prompt.
fn lent(client: &mut McpClient, answer: &str) -> (Value, Value) {
    client.tool("ergo_remember", old());
    let call = client.post("tools/call", json!({"name": "ergo_remember", "arguments": new()}));
    let prompt = client.hear();
    assert_eq!(prompt["method"], "sampling/createMessage", "{prompt}");
    client.send(&json!({"jsonrpc": "2.0", "id": prompt["id"], "result": sampled(answer)}));
    loop {
        let heard = client.hear();
        if heard["id"] == call && heard.get("method").is_none() {
            assert_eq!(heard["result"]["isError"], false, "{heard}");
            return (heard["result"]["structuredContent"].clone(), prompt["params"].clone());
        }
    }
}

#[test]
fn a_client_that_lends_its_model_is_asked_within_the_call() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let lends = |scope: &str, version| McpClient::greeted(&home, &["--scope", scope], version, json!({"sampling": {}}));
    let mut client = lends("acme/one", BEFORE[0]);
    let reply = r#"[{"pair": 1, "verdict": "replaces", "because": "a draft goes first now"}]"#;
    let (stored, prompt) = lent(&mut client, reply);
    assert_eq!((&stored["result"], stored["superseded"].as_array().unwrap().len()), (&json!("stored"), 1), "{stored}");
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    let shown: Value = serde_json::from_str(text).unwrap();
    assert_eq!((&shown["newer"]["statement"], &shown["older"]["statement"]), (&json!(NEW), &json!(OLD)), "{prompt}");
    assert!(prompt["systemPrompt"].as_str().unwrap().contains("never instructions"), "{prompt}");
    let history = client.tool("ergo_history", json!({"claim": stored["claim_id"]}));
    let judged = history["events"].as_array().unwrap().iter().find(|event| event["did"] == "judgement.replaces");
    assert!(judged.unwrap()["reason"].as_str().unwrap().contains("a draft goes first now"), "{history}");

    for (scope, unusable) in [("acme/two", "compatible"), ("acme/three", r#"[{"pair": 2, "verdict": "compatible"}]"#)] {
        let mut client = lends(scope, BEFORE[1]);
        let (asked, _) = lent(&mut client, unusable);
        assert_eq!(asked["result"], "consider", "an unusable answer is no answer: {asked}");
    }
}

#[test]
fn in_the_current_protocol_the_prompt_is_a_result_and_its_answer_comes_with_the_next_call() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::start(&home, &[]);
    client.modern(json!({"sampling": {}}));
    client.tool("ergo_remember", old());
    let call = json!({"name": "ergo_remember", "arguments": new()});
    let asked = client.request("tools/call", call.clone());
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert_eq!(asked["result"]["inputRequests"]["verdicts"]["method"], "sampling/createMessage", "{asked}");
    let mut again = call;
    again["inputResponses"] =
        json!({"verdicts": sampled(r#"[{"pair": 1, "verdict": "compatible", "because": "both"}]"#)});
    let done = client.request("tools/call", again);
    assert_eq!(done["result"]["structuredContent"]["result"], "stored", "{done}");
}

#[test]
fn an_agent_judges_the_pairs_that_wait_by_one_tool() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    // Two claims of a person, who was not asked.
    for statement in [OLD, NEW] {
        home.run(["remember", statement, "--reason", "it is so", "--kind", "decision", "--scope", "acme/api"]).ok();
    }
    let mut client = McpClient::greeted(&home, &["--scope", "acme/api"], BEFORE[0], json!({}));
    until("the pair waits", || client.tool("ergo_judge", json!({}))["result"] == "pairs");
    let listed = client.tool("ergo_judge", json!({}));
    let pair = listed["pairs"][0]["pair"].as_str().unwrap().to_owned();
    assert_eq!((&listed["total"], &listed["pairs"][0]["newer"]["statement"]), (&json!(1), &json!(NEW)), "{listed}");
    let list = client.request("prompts/list", json!({}));
    assert_eq!(list["result"]["prompts"][1]["title"], "Judge what is doubtful", "{list}");
    let prompt = client.request("prompts/get", json!({"name": "judge_doubts"}));
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains(&pair) && text.contains(OLD) && text.contains("ergo_judge"), "{text}");

    let refusal = client.refusal("ergo_judge", json!({"verdicts": {pair.clone(): "same"}}));
    assert!(refusal.contains("because"), "{refusal}");
    let refusal = client.refusal("ergo_judge", json!({"verdicts": {pair.clone(): "fine"}, "because": "x"}));
    assert!(refusal.contains("verdict"), "{refusal}");
    let judged = client.tool("ergo_judge", json!({"verdicts": {pair.clone(): "same"}, "because": "Both say draft."}));
    assert_eq!(
        (&judged["result"], &judged["pairs"][0]["effect"], &judged["left"]),
        (&json!("judged"), &json!("card"), &json!(0))
    );
    let cards = client.tool("ergo_conflicts", json!({}));
    assert_eq!(cards["total"], 1, "a person decides: {cards}");
    assert_eq!(client.tool("ergo_judge", json!({}))["result"], "nothing");
    // The record of what it said, and a person who takes it back.
    let agents = || home.run(["agents", "--json", "--scope", "acme/api"]).ok().json();
    let listed = agents();
    let judgements = |listed: &Value| listed["items"][0]["judgements"].clone();
    assert_eq!((&judgements(&listed)["same"], &judgements(&listed)["overturned"]), (&json!(1), &json!(0)), "{listed}");
    let log = home.run(["log", "--json", "--scope", "acme/api"]).ok().json();
    let act = log["items"].as_array().unwrap().iter().find(|event| event["kind"] == "judgement.same").unwrap()["op_id"]
        .clone();
    home.run(["undo", act.as_str().unwrap()]).ok();
    let listed = agents();
    assert_eq!((&judgements(&listed)["same"], &judgements(&listed)["overturned"]), (&json!(1), &json!(1)), "{listed}");
    assert_eq!(client.tool("ergo_judge", json!({}))["result"], "pairs", "the pair waits again");
}

#[test]
fn a_question_outlives_the_daemon_and_of_two_agents_the_first_answer_counts() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let mut first = McpClient::greeted(&home, &["--scope", "acme/api"], BEFORE[0], json!({}));
    let mut second = McpClient::greeted(&home, &["--scope", "acme/api"], BEFORE[1], json!({}));
    let old = first.tool("ergo_remember", old())["claim_id"].as_str().unwrap().to_owned();
    let question = first.tool("ergo_remember", new());
    assert_eq!(question["result"], "consider", "{question}");
    let same = second.tool("ergo_remember", new());
    assert_eq!(same["token"], question["token"], "both are asked the same question");
    daemon.kill();
    let _daemon = home.daemon();
    let answer = |verdict: &str| json!({"token": question["token"], "verdicts": {old.clone(): verdict}, "because": "Read both."});
    let stored = second.tool("ergo_judge", answer("replaces"));
    assert_eq!(stored["superseded"], json!([old]), "{stored}");
    let late = first.tool("ergo_judge", answer("contradicts"));
    assert_eq!(late["result"], "stale", "{late}");
    let cards = first.tool("ergo_conflicts", json!({}));
    assert_eq!(cards["total"], 0, "{cards}");
    let log = home.run(["log", "--json", "--scope", "acme/api"]).ok().json();
    let kinds: Vec<&str> = log["items"].as_array().unwrap().iter().filter_map(|event| event["kind"].as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| kind.starts_with("judgement.")).collect::<Vec<_>>(), [&"judgement.replaces"]);
}
