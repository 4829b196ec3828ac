//! The usual calls of an agent: recall, remember, meet a conflict, continue, ask why.

use serde_json::{Value, json};

use super::client::{BEFORE, McpClient};
use crate::support::{TestHome, until};

const OLD: &str = "Use PostgreSQL for the billing database.";
const NEW: &str = "Do not use PostgreSQL for the billing database.";

#[test]
fn remember_conflict_supersede_why() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let stored =
        client.tool("ergo_remember", json!({"statement": OLD, "reason": "We know it.", "source": "docs/db.md:4"}));
    assert_eq!(stored["result"], "stored", "{stored}");
    assert!(
        stored.get("scope").is_none() && stored.get("op_id").is_none(),
        "its own scope need not be named: {stored}"
    );
    let again = client.tool("ergo_remember", json!({"statement": OLD, "reason": "We know it."}));
    assert_eq!((&again["duplicate"], &again["claim_id"]), (&json!(true), &stored["claim_id"]));

    let refused = client.tool("ergo_remember", json!({"statement": NEW, "reason": "Its licence costs too much."}));
    assert_eq!(refused["result"], "conflict", "{refused}");
    let conflict = &refused["conflicts"][0];
    assert_eq!(conflict["claim"]["statement"], OLD);
    assert_eq!(conflict["claim"]["reason"], "We know it.");
    assert_eq!(conflict["claim"]["source"], "docs/db.md:4");
    assert_eq!((&conflict["rule"], &conflict["tier"]), (&json!("opposing_modality"), &json!("block")), "{conflict}");
    assert!(conflict["stage"].is_string(), "{conflict}");
    assert!(conflict.get("score").is_none(), "no model estimated it: {conflict}");
    assert!(!conflict["words"].as_array().unwrap().is_empty(), "{conflict}");
    let ways: Vec<&str> =
        refused["ways_to_continue"].as_array().unwrap().iter().map(|w| w["way"].as_str().unwrap()).collect();
    assert_eq!(ways, ["cancel", "supersede", "narrow", "exception"]);
    let cards = client.tool("ergo_conflicts", json!({}));
    assert_eq!((&cards["total"], &cards["cards"][0]["card"]), (&json!(1), &refused["card_id"]));
    let card = client.tool("ergo_conflicts", json!({"card": refused["card_id"]}));
    assert_eq!(card["sides"].as_array().unwrap().len(), 2, "{card}");

    let targets = &refused["ways_to_continue"][1]["targets"];
    let replaced = client.tool(
        "ergo_supersede",
        json!({"targets": targets, "statement": NEW, "reason": "The new contract forbids it."}),
    );
    assert_eq!(
        (&replaced["result"], &replaced["superseded"][0]),
        (&json!("stored"), &stored["claim_id"]),
        "{replaced}"
    );
    let why = client.tool("ergo_why", json!({"question": "database for billing"}));
    assert_eq!(why["answer"]["statement"], NEW);
    assert_eq!(why["replaced"][0]["statement"], OLD);
    assert_eq!(why["replaced"][0]["replaced_because"], "The new contract forbids it.", "{why}");
    assert_eq!(client.tool("ergo_conflicts", json!({}))["total"], 0, "what it contradicted is gone");
    let known = client.tool("ergo_recall", json!({"query": "PostgreSQL billing database"}));
    assert_eq!(known["claims"][0]["statement"], NEW, "{known}");
}

#[test]
fn a_question_gets_the_best_three_and_each_note_once() {
    let home = TestHome::with_models();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    for n in 1..=6 {
        let statement = format!("Printer {n} of the office is serviced by vendor {n}.");
        client.tool("ergo_learn", json!({"statement": statement, "kind": "fact", "source": "printers.md"}));
    }
    let few = client.tool("ergo_recall", json!({"query": "who services the office printer?"}));
    assert_eq!(few["claims"].as_array().unwrap().len(), 3, "{few}");
    let more = client.tool("ergo_recall", json!({"query": "who services the office printer?", "limit": 5}));
    assert_eq!(more["claims"].as_array().unwrap().len(), 5, "{more}");
    let unsure = client.tool("ergo_recall", json!({"query": "which insurance covers the vans of the office?"}));
    assert!(["nearest", "nothing"].contains(&unsure["verdict"].as_str().unwrap()), "{unsure}");
    assert!(unsure["probability"].as_f64().unwrap() < 0.5, "{unsure}");
    assert_eq!(unsure["notes"].as_array().unwrap().len(), 1, "{unsure}");
    for field in ["op_id", "scope", "known"] {
        assert!(few.get(field).is_none() && few["claims"][0].get(field).is_none(), "{few}");
    }
}

#[test]
fn a_file_that_was_taken_in_answers_where_no_claim_does() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    client.tool("ergo_remember", json!({"statement": "Releases leave on Tuesdays.", "reason": "Support is complete."}));
    let text = "# Backups\n\nThe nightly backup goes to the vault in Bonn.";
    client.tool("ergo_ingest", json!({"path": "guide.md", "text": text}));
    let found = client.tool("ergo_recall", json!({"query": "where does the nightly backup go to?"}));
    assert_eq!((&found["verdict"], &found["answer_in_file"]["text"]), (&json!("reference"), &json!(text)), "{found}");
}

#[test]
fn every_tool_answers_as_its_schema_says() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let learned = client.tool(
        "ergo_learn",
        json!({"statement": "The API listens on port 8080.", "kind": "fact", "source": "compose.yaml:3"}),
    );
    let claim = learned["claim_id"].clone();
    let unreasoned = client
        .tool("ergo_learn", json!({"statement": "Invoices are archived for ten years.", "source": "docs/api.md:12"}));
    let unreasoned = client.tool("ergo_history", json!({"claim": unreasoned["claim_id"]}));
    assert_eq!(unreasoned["claim"]["kind"], "decision", "{unreasoned}");
    let reason = unreasoned["claim"]["reason"].as_str().unwrap();
    assert!(reason.contains("docs/api.md:12") && reason.contains("no reason"), "{reason}");
    let refusal = client.refusal("ergo_learn", json!({"statement": "x is y", "kind": "fact"}));
    assert!(refusal.contains("source"), "{refusal}");
    assert_eq!(client.tool("ergo_history", json!({"claim": claim}))["claim"]["source"], "compose.yaml:3");
    assert_eq!(client.tool("ergo_scopes", json!({}))["here"], "claude-code/work");
    let elsewhere =
        json!({"statement": "Tabs, not spaces.", "kind": "convention", "reason": "Habit.", "scope": "acme/web"});
    assert_eq!(client.tool("ergo_remember", elsewhere)["scope"], "acme/web");
    let found = client.tool("ergo_recall", json!({"query": "tabs or spaces", "scope": "acme/web"}));
    assert_eq!(found["claims"][0]["statement"], "Tabs, not spaces.");
    let gone = client.tool("ergo_retract", json!({"target": claim, "reason": "Misread."}));
    assert_eq!(gone["result"], "done", "{gone}");

    client.tool("ergo_remember", json!({"statement": OLD, "reason": "We know it."}));
    let refused = client.tool("ergo_remember", json!({"statement": NEW, "reason": "Cost."}));
    let settled =
        client.tool("ergo_resolve", json!({"card": refused["card_id"], "act": "discard", "reason": "Not meant."}));
    assert_eq!(settled["result"], "done", "{settled}");
    let forced = client.tool(
        "ergo_remember",
        json!({"statement": NEW, "reason": "Cost.", "force_exception": "Migration runs on both."}),
    );
    assert_eq!(forced["result"], "stored", "{forced}");

    let list = client.request("tools/list", json!({}));
    for tool in list["result"]["tools"].as_array().unwrap() {
        let required = tool["outputSchema"]["required"].as_array().cloned().unwrap_or_default();
        if tool["name"] == "ergo_scopes" || tool["name"] == "ergo_history" {
            assert!(!required.is_empty(), "{tool}");
        }
        assert_eq!(tool["annotations"]["openWorldHint"], false);
    }
}

#[test]
fn a_file_is_taken_in_found_and_taken_out_again() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let file = home.work().join("docs/backups.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "# Backups\n\nThe nightly backup goes to the vault in Bonn.\n").unwrap();
    let taken = client.tool("ergo_ingest", json!({"path": "docs/backups.md"}));
    assert_eq!((&taken["path"], &taken["chunks"], &taken["added"]), (&json!("docs/backups.md"), &json!(1), &json!(1)));
    let again = client.tool("ergo_ingest", json!({"path": file.display().to_string()}));
    assert_eq!((&again["added"], &again["kept"]), (&json!(0), &json!(1)), "{again}");
    let found = client.tool("ergo_recall", json!({"query": "where does the nightly backup go"}));
    assert_eq!(found["answer_in_file"]["source"], "docs/backups.md:1-3", "{found}");
    assert!(found["answer_in_file"]["text"].as_str().unwrap().contains("Bonn"), "{found}");
    assert_eq!(found["claims"], json!([]), "nobody said it: {found}");

    std::fs::remove_file(&file).unwrap();
    let gone = client.tool("ergo_ingest", json!({"path": "docs/backups.md"}));
    assert_eq!((&gone["chunks"], &gone["removed"]), (&json!(0), &json!(1)), "{gone}");
    let found = client.tool("ergo_recall", json!({"query": "where does the nightly backup go"}));
    assert!(found.get("references").or(found.get("answer_in_file")).is_none(), "{found}");
    let refusal = client.refusal("ergo_ingest", json!({"path": "docs/backups.md"}));
    assert!(refusal.contains("no file docs/backups.md"), "{refusal}");

    let given = json!({"path": "notes/call.md", "text": "The vault is in Bonn.\n", "scope": "acme/web"});
    assert_eq!(client.tool("ergo_ingest", given)["added"], 1);
    let found = client.tool("ergo_recall", json!({"query": "the vault", "scope": "acme/web"}));
    assert_eq!(found["answer_in_file"]["source"], "notes/call.md:1-1", "{found}");
}

#[test]
fn claims_and_chains_are_resources_and_open_conflicts_a_prompt() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::usual(&home);
    let none = client.request("prompts/get", json!({"name": "review_conflicts"}));
    let text = none["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("There are no open conflicts in claude-code/work."), "{none}");
    client.tool("ergo_remember", json!({"statement": OLD, "reason": "We know it."}));
    client.tool("ergo_remember", json!({"statement": NEW, "reason": "Cost."}));

    let list = client.request("resources/list", json!({}));
    let listed: Vec<&str> =
        list["result"]["resources"].as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert_eq!((listed.len(), listed[0]), (2, "ergo://snapshot"), "{list}");
    let uri = listed[1].to_owned();
    assert!(uri.starts_with("ergo://claim/"), "{list}");
    for uri in ["ergo://snapshot", "ergo://snapshot?scope=claude-code%2Fwork"] {
        let page = client.request("resources/read", json!({"uri": uri}));
        let page = &page["result"]["contents"][0];
        assert_eq!(page["mimeType"], "text/markdown", "{page}");
        let text = page["text"].as_str().unwrap();
        assert!(text.contains(OLD) && !text.contains(NEW), "what was refused is not in force: {text}");
    }
    let read = |client: &mut McpClient, uri: &str| -> Value {
        let answer = client.request("resources/read", json!({"uri": uri}));
        serde_json::from_str(answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")))
            .unwrap()
    };
    assert_eq!(read(&mut client, &uri)["statement"], OLD);
    let why = read(&mut client, &uri.replace("claim", "why"));
    assert_eq!(why["chain"][0]["reason"], "We know it.");
    for wrong in [
        "ergo://claim/zzzz",
        "ergo://claim/ffffffff",
        "ergo://snapshot?scope=nowhere",
        "ergo://snapshot?scope=%00%2Fb",
        "ergo://snapshots",
        "ergo://snapshot/../claim",
        "file:///etc/passwd",
        "",
    ] {
        let answer = client.request("resources/read", json!({"uri": wrong}));
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
    }
    assert_eq!(
        client.request("resources/templates/list", json!({}))["result"]["resourceTemplates"].as_array().unwrap().len(),
        3
    );

    let list = client.request("prompts/list", json!({}));
    assert_eq!(list["result"]["prompts"][0]["title"], "Review open conflicts");
    let prompt = client.request("prompts/get", json!({"name": "review_conflicts"}));
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("Open conflicts in claude-code/work: 1."), "{text}");
    assert_eq!(client.request("prompts/get", json!({"name": "x"}))["error"]["code"], -32602);
}

#[test]
fn who_and_where_can_be_named() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut client = McpClient::greeted(&home, &["--who", "ada", "--scope", "acme/api"], BEFORE[1], json!({}));
    client.tool("ergo_remember", json!({"statement": OLD, "reason": "We know it."}));
    let why = client.tool("ergo_why", json!({"question": "billing database"}));
    assert_eq!(why["answer"]["by"], "ada through test-agent", "{why}");
    assert_eq!(client.tool("ergo_scopes", json!({}))["scopes"][0]["scope"], "acme/api");
    let as_another = |who| json!({"statement": "Deploys run at noon.", "reason": "Everyone is there.", "who": who});
    let refused = client.result("ergo_remember", as_another("bob"));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("sets it to “ada”"), "{refused}");
    assert_eq!(client.tool("ergo_remember", as_another("ada"))["result"], "stored");
}

#[test]
fn a_session_is_listed_for_as_long_as_it_lasts() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let agents = || home.run(["agents", "--json"]).ok().json();
    assert_eq!(agents()["connected"], json!([]));
    let mut client = McpClient::usual(&home);
    client.tool("ergo_remember", json!({"statement": OLD, "reason": "We know it."}));
    client.tool("ergo_remember", json!({"statement": NEW, "reason": "Its licence costs too much."}));
    until("the session is listed", || agents()["connected"].as_array().unwrap().len() == 1);
    let listed = agents();
    assert_eq!(listed["connected"][0]["agent"], "test-agent", "{listed}");
    assert_eq!(listed["connected"][0]["scope"]["project"], "work", "{listed}");
    let one = &listed["items"][0];
    assert_eq!(
        (&one["agent"], &one["wrote"], &one["refused"]),
        (&json!("test-agent"), &json!(1), &json!(1)),
        "{listed}"
    );
    let refused = home.run(["log", "--who", "test-agent", "--refused", "--json"]).ok().json();
    assert_eq!(refused["items"].as_array().unwrap().len(), 1, "{refused}");
    assert_eq!(refused["items"][0]["statement"], NEW);
    drop(client);
    until("it is listed no more", || agents()["connected"] == json!([]));
}
