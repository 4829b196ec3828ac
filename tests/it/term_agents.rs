//! The app in a real terminal: agents and setting them up, one search from everywhere, the scope on a page.

use std::fs;

use serde_json::json;
use termlens::Key;

use crate::{
    mcp::client::McpClient,
    term::App,
    term_flows::{USUAL, WIDE, home},
};

#[test]
fn an_agent_comes_writes_is_refused_and_goes() {
    let (home, _daemon) = home();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.sees("live");
    app.keys("7");
    app.sees("No agent is connected");
    let mut agent = McpClient::usual(&home);
    agent.tool("ergo_remember", json!({"statement": "Logs are kept for a week", "reason": "Disks are small."}));
    agent.tool("ergo_remember", json!({"statement": "The canary deployment is always green", "reason": "It is calm."}));
    app.sees("1 session is connected");
    app.until(|screen| screen.contains("one write") && screen.contains("Logs are kept for a week"));
    app.keys("f");
    app.sees("Refused writes of test-agent");
    app.until(|screen| !screen.contains("Logs are kept") && screen.contains("The canary deployment"));
    app.enter();
    app.enter();
    // The card of that write.
    app.sees("It is calm.");
    drop(agent);
    app.keys("7");
    app.sees("no session is connected");
}

#[test]
fn setup_is_read_as_a_page_and_written_after_a_question() {
    let (home, _daemon) = home();
    fs::create_dir(home.path().join(".claude")).unwrap();
    // Only the agents that have a folder here are installed.
    let mut app = App::open(&home, &[], USUAL, &[("PATH", "/nowhere")]);
    app.sees("live");
    app.keys("7i");
    app.sees("Preview: changes to the agents' files");
    app.sees(".claude.json");
    assert!(!home.path().join(".claude.json").exists());
    app.keys("a");
    app.sees("Write into these files?");
    app.keys("y");
    app.sees("start a new session there");
    assert!(fs::read_to_string(home.path().join(".claude.json")).unwrap().contains("mcp"));
    app.keys("i");
    app.sees("is already set up");
    app.key(Key::Esc);
    app.until(|screen| !screen.contains("is already set up"));
    app.keys("x");
    app.sees("Preview: removals from the agents' files");
    app.sees("/dev/null");
    app.keys("a");
    app.sees("Remove ergo from these files?");
    app.keys("y");
    app.sees("Removed ergo from Claude Code");
    assert!(!home.path().join(".claude.json").exists());
}

#[test]
fn a_search_from_the_inbox_leads_to_a_why_chain_and_back() {
    let (home, _daemon) = home();
    home.run(["remember", "Backups go to another building", "--reason", "A fire takes one building."]).ok();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.sees("1 of 2");
    app.keys("/fire");
    app.until(|screen| screen.contains("1 found") && screen.contains("“fire” in its reason"));
    app.enter();
    app.keys("w");
    app.sees("(this claim)");
    app.key(Key::Esc);
    app.until(|screen| screen.contains("matching “fire”") && !screen.contains("(this claim)"));
    app.keys("/");
    app.keys(" !building");
    app.until(|screen| screen.contains("0 found"));
    app.key(Key::Esc);
    app.until(|screen| !screen.contains("!building"));
    app.keys("P");
    app.until(|screen| screen.contains("Active claims in") && screen.contains("Never deploy on Fridays"));
    app.keys("q");
    app.until(|screen| !screen.contains("Active claims in"));
}
