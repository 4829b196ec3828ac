//! Exceptions, dismissals and changes, as an agent meets them through the tools.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::McpClient;
use crate::support::TestHome;

const RULE: &str = "The canary must be blue.";
const ODD: &str = "The canary must be red.";

fn remember(client: &mut McpClient, statement: &str, reason: &str) -> String {
    let mut stored = client.tool("ergo_remember", json!({"statement": statement, "reason": reason}));
    if stored["result"] == "consider" {
        let doubts = stored["doubts"].as_array().unwrap();
        let verdicts: BTreeMap<_, _> =
            doubts.iter().map(|doubt| (doubt["id"].as_str().unwrap(), "compatible")).collect();
        let judged = json!({"token": stored["token"], "verdicts": verdicts, "because": "Both hold."});
        stored = client.tool("ergo_judge", judged);
    }
    assert_eq!(stored["result"], "stored", "{stored}");
    stored["claim_id"].as_str().unwrap().to_owned()
}

fn warning<'a>(answer: &'a Value, code: &str) -> Option<&'a Value> {
    answer["warnings"].as_array()?.iter().find(|warning| warning["code"] == code)
}

#[test]
fn an_exception_says_which_side_is_the_rule_and_why() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let rule = remember(&mut client, RULE, "Red is for alarms.");
    let refused = client.tool("ergo_remember", json!({"statement": ODD, "reason": "It is seen from afar."}));
    let way = refused["ways_to_continue"].as_array().unwrap().iter().find(|way| way["way"] == "exception").unwrap();
    // The suggested next step is a call that can be made as it stands.
    let forced = client.tool(
        "ergo_remember",
        json!({"statement": ODD, "reason": "It is seen from afar.", "force_exception": "For the audit week.",
            "exception_to": way["exception_to"]}),
    );
    assert_eq!(forced["result"], "stored", "{forced}");
    assert_eq!(warning(&forced, "exception").unwrap()["claims"][0]["id"], rule, "{forced}");
    let odd = forced["claim_id"].clone();

    let history = client.tool("ergo_history", json!({"claim": odd}));
    let expected = json!({"id": rule, "statement": RULE, "because": "For the audit week.", "by": "test-agent"});
    assert_eq!(history["claim"]["exception_to"], json!([expected]), "{history}");
    assert!(history["claim"].get("closed_because").is_none(), "it is in force: {history}");
    let why = client.tool("ergo_why", json!({"question": rule}));
    assert_eq!(why["answer"]["exceptions"][0]["id"], odd, "{why}");
    assert!(why["answer"].get("closed_because").is_none(), "{why}");
    let known = client.tool("ergo_recall", json!({"query": "colour of the canary"}));
    for claim in known["claims"].as_array().unwrap() {
        let field = if claim["id"] == odd { "exception_to" } else { "exceptions" };
        assert_eq!(claim[field][0]["because"], "For the audit week.", "{known}");
    }
}

#[test]
fn a_rule_that_the_guard_does_not_see_is_named_by_its_id() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let rule = remember(&mut client, "Every service keeps its data in PostgreSQL.", "One thing to run.");
    let mut call = json!({"statement": "The kiosk keeps a small SQLite file on its disk.", "reason": "It has no network.",
        "force_exception": "It has no network."});
    let alone = client.tool("ergo_remember", call.clone());
    let message = warning(&alone, "exception").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("`exception_to`"), "{alone}");
    // One id, or a list of them.
    for (name, duplicate) in [(json!(rule), true), (json!([rule]), true)] {
        call["exception_to"] = name;
        let again = client.tool("ergo_remember", call.clone());
        assert_eq!((&again["duplicate"], &again["claim_id"]), (&json!(duplicate), &alone["claim_id"]), "{again}");
    }
    let history = client.tool("ergo_history", json!({"claim": alone["claim_id"]}));
    assert_eq!(history["claim"]["exception_to"][0]["id"], rule, "{history}");
    let refusal =
        client.refusal("ergo_remember", json!({"statement": "x is y", "kind": "fact", "exception_to": [rule]}));
    assert!(refusal.contains("`force_exception`"), "{refusal}");
}

#[test]
fn a_dismissal_keeps_its_reason_and_the_refused_id_leads_to_the_claim() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let old = remember(&mut client, RULE, "Red is for alarms.");
    let refused = client.tool("ergo_remember", json!({"statement": ODD, "reason": "It is seen from afar."}));
    let card = client.tool("ergo_conflicts", json!({"card": refused["card_id"]}));
    let new_claim = card["sides"][0]["id"].clone();
    let refusal = client.refusal("ergo_history", json!({"claim": new_claim}));
    assert!(
        refusal.contains("it is on card") && refusal.contains("ergo_resolve") && !refusal.contains("`ergo "),
        "{refusal}"
    );
    let done = client.tool(
        "ergo_resolve",
        json!({"card": refused["card_id"], "act": "dismiss", "reason": "There are two canaries."}),
    );
    assert_eq!(done["result"], "done", "{done}");
    let card = client.tool("ergo_conflicts", json!({"card": refused["card_id"]}));
    assert_eq!(card["settled"]["reason"], "There are two canaries.", "{card}");
    assert_eq!(card["settled"]["stored_as"], done["claim_id"], "{card}");
    for (id, stored, reason) in
        [(json!(old), json!(old), "Red is for alarms."), (new_claim, done["claim_id"].clone(), "It is seen from afar.")]
    {
        let history = client.tool("ergo_history", json!({"claim": id}));
        assert_eq!((&history["claim"]["id"], &history["claim"]["reason"]), (&stored, &json!(reason)), "{history}");
        assert_eq!(history["claim"]["fits_with"][0]["because"], "There are two canaries.", "{history}");
    }
}

#[test]
fn a_refused_claim_that_takes_the_others_place_keeps_its_reason() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    remember(&mut client, RULE, "Red is for alarms.");
    let refused = client.tool("ergo_remember", json!({"statement": ODD, "reason": "It is seen from afar."}));
    let card = client.tool("ergo_conflicts", json!({"card": refused["card_id"]}));
    let new_claim = card["sides"][0]["id"].clone();
    let order = json!({"card": refused["card_id"], "act": "supersede", "winner": new_claim, "reason": "Alarms moved."});
    client.tool("ergo_resolve", order);
    let why = client.tool("ergo_why", json!({"question": new_claim}));
    assert_eq!(why["answer"]["reason"], "It is seen from afar.", "{why}");
    assert_eq!(why["replaced"][0]["replaced_because"], "Alarms moved.", "{why}");
}

#[test]
fn a_change_names_the_claims_that_speak_of_the_same_and_stay() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let pnpm = remember(&mut client, "The package manager is pnpm.", "It is fast.");
    let pinned = remember(&mut client, "pnpm is pinned to 10.5.2.", "The lock file changed its form.");
    remember(&mut client, "The build server has 16 cores.", "Linking is slow.");
    let answer = client.tool(
        "ergo_supersede",
        json!({"targets": pnpm, "statement": "The package manager is Bun.", "reason": "One tool for all."}),
    );
    let left = warning(&answer, "still_in_force").unwrap();
    assert_eq!(left["claims"], json!([{"id": pinned, "statement": "pnpm is pinned to 10.5.2."}]), "{answer}");
}

#[test]
fn a_statement_of_several_sentences_is_told_to_be_split() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let two = json!({"statement": "Deploy with Helm. Never log request bodies.", "reason": "Safe."});
    let answer = client.tool("ergo_remember", two);
    let message = warning(&answer, "several_claims").unwrap_or_else(|| panic!("{answer}"));
    assert!(message["message"].as_str().unwrap().contains("2 sentences"), "{answer}");
    let one = client.tool("ergo_remember", json!({"statement": "Builds run on Linux.", "reason": "Cost."}));
    assert!(warning(&one, "several_claims").is_none(), "{one}");
}

#[test]
fn an_agent_that_may_only_propose_is_told_what_it_can_do() {
    let home = TestHome::with_settings("[guard]\nagents_may = \"propose\"\n");
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    remember(&mut client, RULE, "Red is for alarms.");
    let mut call = json!({"statement": ODD, "reason": "It is seen from afar."});
    let refused = client.tool("ergo_remember", call.clone());
    let ways = refused["ways_to_continue"].as_array().unwrap();
    assert!(ways.iter().all(|way| !way["how"].as_str().unwrap().contains("ergo_resolve")), "{refused}");
    let way = ways.iter().find(|way| way["way"] == "exception").unwrap();
    assert!(way["how"].as_str().unwrap().contains("until a person accepts it"), "{way}");
    call["force_exception"] = json!("For the audit week.");
    call["exception_to"] = way["exception_to"].clone();
    let proposed = client.tool("ergo_remember", call);
    assert_eq!((&proposed["result"], &proposed["card_id"]), (&json!("proposed"), &refused["card_id"]), "{proposed}");
    assert!(proposed["summary"].as_str().unwrap().contains("as an exception to"), "{proposed}");

    let card = proposed["card_id"].as_str().unwrap();
    let shown = home.run(["conflicts", card]).ok().stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("asks for an exception, because: “For the audit week.”"), "{shown}");
    home.run(["resolve", card, "--exception"]).ok();
    let known = client.tool("ergo_recall", json!({"query": "colour of the canary"}));
    let odd = known["claims"].as_array().unwrap().iter().find(|claim| claim["statement"] == ODD);
    assert_eq!(odd.unwrap()["exception_to"][0]["because"], "For the audit week.", "{known}");
}
