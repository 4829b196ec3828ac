//! `ergo tour` in a repository: step by step on a terminal, otherwise all at once; and its undo.

use std::{fs, path::PathBuf};

use crate::{
    support::{Output, TestHome},
    term::App,
};

const RECORD: &str = "# 1. Sessions are stored in Redis\n\n## Status\n\nAccepted\n\n## Context\n\nPostgres was too slow for them.\n\n\
    ## Decision\n\nSessions are stored in Redis.\n";
const RULES: &str = "# Rules\n\n- Never log email addresses, because the privacy review forbids it.\n";

/// A repository with a decision record and a file of rules, on a machine with Claude Code.
fn repository() -> TestHome {
    let home = TestHome::new();
    let work = home.work();
    for folder in [work.join(".git"), work.join("docs/adr"), home.path().join(".claude")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(work.join("docs/adr/0001-sessions.md"), RECORD).unwrap();
    fs::write(work.join("CLAUDE.md"), RULES).unwrap();
    home
}

fn settings(home: &TestHome) -> PathBuf {
    home.path().join(".claude/settings.json")
}

/// The statements of the claims that are active.
fn statements(home: &TestHome) -> Vec<String> {
    let claims = home.run(["claims", "--json"]).ok().json();
    let mut all: Vec<String> = claims["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|claim| claim["statement"].as_str().unwrap().to_owned())
        .collect();
    all.sort();
    all
}

#[test]
fn each_step_asks_one_is_skipped_and_all_is_undone_by_one_command() {
    let home = repository();
    let mut app = App::command(&home, &["tour"]);
    let screen = app.sees("Import 1 claim? [y/N]");
    assert!(screen.contains("1 record  docs/adr") && screen.contains("rules  CLAUDE.md"), "{}", screen.full_text());
    assert!(screen.contains("Sessions are stored in Redis."), "{}", screen.full_text());
    app.keys("y");
    app.enter();
    app.sees("Never log email addresses");
    app.until(|screen| screen.full_text().matches("Import 1 claim? [y/N]").count() == 2);
    app.keys("n");
    app.enter();
    app.sees("Nothing was stored.");
    app.sees("Your question");
    app.enter();
    app.sees("Postgres was too slow for them.");
    app.until(|screen| screen.contains("files? [y/N]"));
    app.keys("y");
    app.enter();
    app.sees("ergo tour --undo");
    assert!(app.ends().0);
    assert_eq!(statements(&home), ["Sessions are stored in Redis."]);
    assert!(fs::read_to_string(settings(&home)).unwrap().contains("ergo"));

    home.run(["tour", "--undo"]).ok();
    assert_eq!(statements(&home), Vec::<String>::new());
    assert!(!settings(&home).exists(), "the file that setup made is gone again");
    let again = home.run(["tour", "--undo"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.stderr.contains("to undo"), "{again:?}");
}

#[test]
fn without_a_terminal_it_does_nothing_unasked() {
    let home = repository();
    let refused = home.run(["tour"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("ergo tour --yes"), "{refused:?}");
    let Output { stdout, .. } = home.run(["tour", "--dry-run"]).ok();
    assert!(stdout.contains("Never log email addresses") && stdout.contains(".claude/settings.json"), "{stdout}");
    assert!(stdout.contains("2. Your coding agents"), "the steps are counted without gaps: {stdout}");
    assert_eq!(statements(&home), Vec::<String>::new());
    assert!(!settings(&home).exists());

    let Output { stdout, .. } = home.run(["tour", "--yes"]).ok();
    assert!(stdout.contains("$ ergo why") && stdout.contains("Postgres was too slow for them."), "{stdout}");
    assert_eq!(statements(&home).len(), 2, "{stdout}");
    let twice = home.run(["tour", "--yes"]).ok();
    assert!(twice.stdout.contains("is already set up"), "{twice:?}");
    home.run(["tour", "--undo"]).ok();
    assert_eq!(statements(&home), Vec::<String>::new());
}

#[test]
fn a_tour_on_which_everything_is_declined_leaves_nothing_to_undo() {
    let home = repository();
    let mut app = App::command(&home, &["tour"]);
    for asked in 1..=2 {
        app.until(|screen| screen.full_text().matches("Import 1 claim? [y/N]").count() == asked);
        app.keys("n");
        app.enter();
    }
    app.until(|screen| screen.contains("files? [y/N]"));
    app.keys("n");
    app.enter();
    let screen = app.sees("review everything");
    assert!(!screen.full_text().contains("ergo tour --undo"), "{}", screen.full_text());
    assert!(app.ends().0);
}

#[test]
fn in_json_a_tour_is_one_document() {
    let home = repository();
    let steps = home.run(["tour", "--dry-run", "--json"]).ok().json()["steps"].clone();
    assert_eq!(steps["import"].as_array().unwrap().len(), 2, "the records and the rules: {steps}");
    assert_eq!(steps["agents"][0]["result"], "dry_run", "{steps}");
    let steps = home.run(["tour", "--yes", "--json"]).ok().json()["steps"].clone();
    assert!(steps["why"][0].is_object() && steps["contradictions"][0].is_object(), "{steps}");
    let undone = home.run(["tour", "--undo", "--json"]).ok().json();
    assert_eq!(undone["imports"].as_array().unwrap().len(), 2, "{undone}");
}

#[test]
fn what_cannot_be_undone_is_named_with_a_command_that_withdraws_it() {
    let home = repository();
    home.run(["tour", "--yes"]).ok();
    let claims = home.run(["claims", "--json"]).ok().json();
    let rule = claims["items"].as_array().unwrap().iter().find(|claim| claim["source"] == "CLAUDE.md:3").unwrap();
    let id = &rule["id"].as_str().unwrap()[..10];
    let args = ["remember", "Logs are kept for a week.", "--reason", "They hold no addresses.", "--depends-on", id];
    home.run(args).ok();
    let undo = home.run(["tour", "--undo"]);
    assert!(undo.code == Some(5) && undo.stdout.contains("Not undone:"), "{undo:?}");
    assert!(undo.stdout.contains("ergo undo --import") && undo.stderr.contains("ergo tour --undo"), "{undo:?}");
    let retract = format!("ergo retract {id} --reason 'The import is undone.'");
    assert!(undo.stdout.contains(&retract), "{undo:?}");
    home.run(["retract", id, "--reason", "The import is undone."]).ok();
    assert_eq!(statements(&home), ["Logs are kept for a week."]);
    // Or the later change is undone first.
    home.run(["undo"]).ok();
    let later = undo.stdout.lines().find_map(|line| line.trim().strip_prefix("ergo undo ")?.split(' ').next()).unwrap();
    home.run(["undo", later]).ok();
    home.run(["tour", "--undo"]).ok();
    assert_eq!(statements(&home), Vec::<String>::new());
}

#[test]
fn an_agent_that_was_connected_before_the_tour_stays_connected() {
    let home = repository();
    home.run(["setup", "--yes", "claude-code"]).ok();
    let read = |name: &str| fs::read_to_string(home.path().join(name)).unwrap();
    let files = [".claude/settings.json", ".claude.json", ".claude/CLAUDE.md"];
    let connected = files.map(read);
    assert!(connected.iter().all(|text| text.contains("ergo")), "{connected:?}");

    let cursor = home.path().join(".cursor/mcp.json");
    fs::create_dir(home.path().join(".cursor")).unwrap();
    home.run(["tour", "--yes"]).ok();
    assert!(fs::read_to_string(&cursor).unwrap().contains("ergo"), "the tour connects the other one");
    home.run(["tour", "--undo"]).ok();
    assert!(!cursor.exists(), "what the tour connected is disconnected");
    assert_eq!(files.map(read), connected);
    assert_eq!(statements(&home), Vec::<String>::new());
}

#[test]
fn a_repository_without_rules_is_told_what_to_do() {
    let home = TestHome::new();
    let Output { stdout, .. } = home.run(["tour", "--yes"]).ok();
    assert!(stdout.contains("Found no decision records") && stdout.contains("Nothing is stored"), "{stdout}");
    assert!(stdout.contains("ergo remember"), "{stdout}");
}
