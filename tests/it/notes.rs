//! `ergo notes`: rule files that are followed, and the section that ergo writes into them.

use std::{fs, time::Duration};

use crate::support::{TestHome, git, until_within};

mod moved_lines;
mod returning_records;
mod settled_lines;

const RULES: &str =
    "# Rules\n\n- Tests must not use a fixed port, because two may run at once.\n- Never commit secrets.\n";

fn write(home: &TestHome, path: &str, text: &str) -> String {
    let path = home.work().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn scan(home: &TestHome) -> serde_json::Value {
    home.run(["notes", "scan", "--json"]).ok().json()
}

fn number(run: &serde_json::Value, field: &str) -> u64 {
    run[field].as_u64().unwrap_or_else(|| panic!("{field}: {run}"))
}

fn state(home: &TestHome, at: usize) -> String {
    home.run(["notes", "status", "--json"]).ok().json()["files"][at]["state"].as_str().unwrap().to_owned()
}

#[test]
fn files_rise_into_claims_and_flow_back_a_hundred_times_without_a_change() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let path = write(&home, "api/CLAUDE.md", RULES);
    let added = home.run(["notes", "add", ".", "--json"]).ok().json();
    assert_eq!(added["files"].as_array().unwrap().len(), 1, "{added}");
    let first = scan(&home);
    assert_eq!((number(&first, "stored"), number(&first, "fragments")), (2, 1), "{first}");
    home.run(["remember", "Releases are cut on Mondays.", "--reason", "people are there", "--project", "api"]).ok();
    let shown = home.run(["notes", "write", &path, "--dry-run"]).ok();
    assert!(shown.stdout.contains("Releases are cut on Mondays"), "{shown:?}");
    assert!(!shown.stdout.contains("secrets"), "what the file says itself is left out: {shown:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), RULES, "a dry run writes nothing");
    home.run(["notes", "write", &path]).ok();
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.starts_with(RULES) && written.contains("Releases are cut on Mondays"), "{written}");
    assert_eq!(state(&home, 0), "in_step");
    let client = home.client();
    let claims = home.run(["claims", "--project", "api", "--json"]).ok().json()["total"].clone();
    crate::support::block_on(async {
        let caller = ergo::api::Caller {
            org_id: "claude-code".into(),
            project: "work".into(),
            who: "ada".into(),
            ..Default::default()
        };
        for round in 0..100 {
            // Every second time the file gets a new date, so that it is read.
            if round % 2 == 0 {
                fs::write(&path, &written).unwrap();
            }
            let run =
                client.notes_scan(&ergo::api::NotesScanRequest { caller: caller.clone(), path: None }).await.unwrap();
            assert_eq!(
                (run.stored, run.superseded, run.retracted, run.changed_files),
                (0, 0, 0, 0),
                "round {round}: {run:?}"
            );
            let request =
                ergo::api::NotesWriteRequest { caller: caller.clone(), path: path.clone(), ..Default::default() };
            let answer = client.notes_write(&request).await.unwrap();
            assert!(!answer.changed, "round {round}: {answer:?}");
        }
    });
    assert_eq!(home.run(["claims", "--project", "api", "--json"]).ok().json()["total"], claims);
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
}

#[test]
fn a_changed_line_supersedes_and_a_removed_one_retracts() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let path = write(
        &home,
        "api/AGENTS.md",
        "- Requests time out after 20 seconds.\n- Never commit secrets.\n- Use tabs for indentation.\n",
    );
    home.run(["notes", "add", &path]).ok();
    assert_eq!(number(&scan(&home), "stored"), 3);
    write(&home, "api/AGENTS.md", "- Requests time out after 30 seconds.\n- Never commit secrets.\n");
    assert_eq!(state(&home, 0), "changed_here");
    let run = scan(&home);
    assert_eq!((number(&run, "superseded"), number(&run, "retracted"), number(&run, "known")), (1, 1, 1), "{run}");
    let run = home.run(["notes", "status", "--runs"]).ok();
    assert!(run.stdout.contains("1 claim superseded, 1 retracted"), "{run:?}");
    fs::remove_file(&path).unwrap();
    assert_eq!(state(&home, 0), "missing");
    assert_eq!(number(&scan(&home), "retracted"), 0, "a file that is away takes nothing with it");
    home.run(["notes", "remove", &path]).ok();
    assert_eq!(home.run(["notes", "status", "--json"]).ok().json()["files"].as_array().unwrap().len(), 0);
}

#[test]
fn a_file_that_contradicts_the_memory_has_a_card_a_conflict_line_and_fails_the_check() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.run([
        "remember",
        "Tests must use a fixed port.",
        "--kind",
        "constraint",
        "--reason",
        "firewalls",
        "--project",
        "api",
    ])
    .ok();
    let path = write(&home, "api/CLAUDE.md", RULES);
    let check = home.run(["notes", "check", &path]);
    assert_eq!(check.code, Some(1), "{check:?}");
    assert!(check.stdout.contains("Tests must use a fixed port"), "{check:?}");
    home.run(["notes", "add", &path]).ok();
    assert_eq!(number(&scan(&home), "refused"), 1);
    assert_eq!(state(&home, 0), "conflict");
    home.run(["notes", "write", &path]).ok();
    let written = fs::read_to_string(&path).unwrap();
    let card = home.run(["conflicts", "--project", "api", "--json"]).ok().json()["items"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(written.contains(&format!("[CONFLICT] card {}", &card[..10])), "{written}");
    let check = home.run(["notes", "check", "--json"]);
    assert_eq!(check.code, Some(1), "{check:?}");
    let calm = write(&home, "web/CLAUDE.md", "- Never commit secrets.\n");
    assert_eq!(home.run(["notes", "check", &calm]).code, Some(0));
    let both = home.run(["notes", "check", ".", "--json"]);
    assert_eq!(both.json()["files"], 2, "one of them is not followed: {both:?}");
}

#[test]
fn projects_that_contradict_each_other_have_one_card_and_those_that_agree_one_insight() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    write(&home, "a/CLAUDE.md", "- Commits must be signed.\n- Never commit secrets.\n");
    write(&home, "b/CLAUDE.md", "- Commits must not be signed.\n- Never commit secrets.\n");
    home.run(["notes", "add", "."]).ok();
    let run = scan(&home);
    assert_eq!(number(&run, "cards"), 1, "{run}");
    let insights = home.run(["notes", "insights", "--json"]).ok().json();
    assert_eq!(insights["total"], 3, "{insights}");
    let page = home.run(["insights"]).ok();
    assert!(page.stdout.contains("Never commit secrets") && page.stdout.contains("Most contested"), "{page:?}");
    let check = home.run(["notes", "check", "--json"]);
    assert_eq!(check.json()["conflicts"][0]["kind"], "direct", "{check:?}");
    let check = home.run(["notes", "check", "a"]);
    assert!(check.stdout.contains("Commits must not be signed.\n    in claude-code/b\n"), "{check:?}");
    for list in ["principles", "links", "prune", "calibrate"] {
        home.run(["notes", list]).ok();
    }
    let agents = home.run(["agents", "--all"]).ok();
    assert!(agents.stdout.contains("ergo notes  part of ergo") && !agents.stdout.contains("connected"), "{agents:?}");
    let clusters = home.run(["notes", "clusters"]).ok();
    assert!(clusters.stderr.contains("0 clusters among 0 insights with vectors"), "no embedder: {clusters:?}");
    for odd in ["0", "500"] {
        let odd = home.run(["notes", "clusters", "--similarity", odd]);
        assert!(odd.code == Some(2) && odd.stderr.contains("expected 1 to 100"), "{odd:?}");
    }
    fs::create_dir(home.work().join("empty")).unwrap();
    let nothing = home.run(["notes", "check", "empty"]);
    assert!(nothing.code == Some(2) && nothing.stdout.is_empty(), "{nothing:?}");
    assert!(nothing.stderr.contains("no rule file could be read in "), "{nothing:?}");
    let missing = home.run(["notes", "check", "nowhere.md"]);
    assert!(missing.code == Some(2) && missing.stderr.contains("nowhere.md does not exist"), "{missing:?}");
}

fn watching() -> TestHome {
    TestHome::with_settings("[notes]\nwatch = true\n")
}

#[test]
fn what_is_added_while_files_are_watched_is_read_at_once() {
    let home = watching();
    let _daemon = home.daemon();
    let path = write(&home, "api/CLAUDE.md", RULES);
    let added = home.run(["notes", "add", &path]).ok();
    assert!(added.stderr.contains("reads them now") && !added.stdout.contains("notes scan"), "{added:?}");
    until_within(Duration::from_mins(1), "the file is read", || {
        home.run(["claims", "--project", "api", "--json"]).ok().stdout.contains("Never commit secrets")
    });
}

#[test]
fn a_nested_file_is_of_the_project_above_it_outside_of_git() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    write(&home, "src/api/CLAUDE.md", RULES);
    write(&home, "src/api/packages/web/CLAUDE.md", "- Be kind in reviews.\n");
    home.run(["notes", "add", "src"]).ok();
    assert_eq!(number(&scan(&home), "stored"), 3);
    let claims = home.run(["claims", "--project", "api", "--json"]).ok().json();
    let sources: Vec<&str> =
        claims["items"].as_array().unwrap().iter().filter_map(|claim| claim["source"].as_str()).collect();
    assert!(sources.contains(&"packages/web/CLAUDE.md:1"), "{sources:?}");
    assert_eq!(home.run(["notes", "add", "src", "--quiet"]).ok().stdout, "");
    let missing = home.run(["notes", "add", "nowhere"]);
    assert!(missing.code == Some(2) && missing.stderr.contains("does not exist"), "{missing:?}");
}

#[test]
fn a_save_is_in_the_store_without_a_command() {
    let home = watching();
    let _daemon = home.daemon();
    let path = write(&home, "api/CLAUDE.md", RULES);
    home.run(["notes", "add", &path]).ok();
    scan(&home);
    fs::write(&path, format!("{RULES}- Releases are cut on Mondays.\n")).unwrap();
    until_within(Duration::from_mins(1), "the save is read", || {
        home.run(["claims", "--project", "api", "--json"]).ok().stdout.contains("Releases are cut on Mondays.")
    });
}

#[test]
fn odd_paths_and_files_are_refused_with_a_reason() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let nothing = home.run(["notes", "add", "."]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    let scanned = home.run(["notes", "scan", "nowhere"]);
    assert!(scanned.stderr.contains("is not followed"), "{scanned:?}");
    let path = write(&home, "api/CLAUDE.md", "- Be kind.\n<!-- ergo:claims:begin -->\n");
    let unclear = home.run(["notes", "write", &path]);
    assert_eq!(unclear.code, Some(2), "{unclear:?}");
    assert!(unclear.stderr.contains("line 2") && unclear.stderr.contains("left unchanged"), "{unclear:?}");
    let binary = home.work().join("api/AGENTS.md");
    fs::write(&binary, b"\xff\xfe\x00").unwrap();
    home.run(["notes", "add", "api"]).ok();
    let run = scan(&home);
    let problems: Vec<&str> = run["problems"].as_array().unwrap().iter().filter_map(|why| why.as_str()).collect();
    assert_eq!(problems.len(), 2, "the file that is no text, and that with half a section: {run}");
    assert_eq!([state(&home, 0), state(&home, 1)], ["missing", "new"].map(str::to_owned));
    std::os::unix::fs::symlink("loop", home.work().join("loop")).unwrap();
    let unreadable = home.run(["notes", "add", "loop"]);
    assert!(unreadable.code == Some(2) && unreadable.stderr.contains("loop cannot be read: "), "{unreadable:?}");
    assert_eq!(home.run(["notes", "write", "api/CLAUDE.md", "--format", "word"]).code, Some(2));
}

#[test]
fn half_a_section_changes_no_claim() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let path = write(&home, "api/CLAUDE.md", RULES);
    home.run(["notes", "add", &path]).ok();
    assert_eq!(number(&scan(&home), "stored"), 2);
    for begin in ["<!-- ergo:begin (x) -->", "<!-- ergo:claims:begin (x) -->"] {
        fs::write(&path, format!("{begin}\n{RULES}")).unwrap();
        let run = scan(&home);
        assert_eq!(number(&run, "retracted"), 0, "{run}");
        assert!(run["problems"][0].as_str().unwrap().contains("line 1 begins ergo's section"), "{run}");
        let import = home.run(["import", "rules", &path]);
        assert!(import.code == Some(2) && import.stderr.contains("line 1 begins ergo's section"), "{import:?}");
    }
    // A file that mentions a marker has no section.
    fs::write(&path, format!("The block begins with `<!-- ergo:begin`.\n\n{RULES}")).unwrap();
    let run = scan(&home);
    assert_eq!((number(&run, "retracted"), number(&run, "known")), (0, 2), "{run}");
    assert!(run["problems"].as_array().unwrap().is_empty(), "{run}");
}

/// The number of active claims of the folder's project.
fn active(home: &TestHome) -> u64 {
    home.run(["claims", "--json"]).ok().json()["total"].as_u64().unwrap()
}

#[test]
fn a_file_that_was_imported_before_it_is_followed_owns_its_claims() {
    let home = TestHome::new();
    git(&home.work(), &["init", "-q"]);
    let _daemon = home.daemon();
    let path = write(&home, "AGENTS.md", "- Requests time out after 20 seconds.\n- Use tabs for indentation.\n");
    home.run(["import", "rules", "AGENTS.md"]).ok();
    home.run(["notes", "add", &path]).ok();
    let run = scan(&home);
    assert_eq!((number(&run, "stored"), number(&run, "known"), active(&home)), (0, 2, 2), "{run}");
    // A file that is removed and added again is read again.
    home.run(["notes", "remove", &path]).ok();
    home.run(["notes", "add", &path]).ok();
    assert_eq!(number(&scan(&home), "known"), 2);
    fs::write(&path, "- Requests time out after 30 seconds.\n").unwrap();
    let run = scan(&home);
    assert_eq!((number(&run, "superseded"), number(&run, "retracted"), active(&home)), (1, 1, 1), "{run}");
}

#[test]
fn a_file_whose_history_was_imported_owns_its_claims_and_needs_no_section_of_them() {
    let home = TestHome::new();
    git(&home.work(), &["init", "-q"]);
    let path = write(&home, "CLAUDE.md", "- Requests time out after 20 seconds.\n- Never commit secrets.\n");
    git(&home.work(), &["add", "CLAUDE.md"]);
    git(&home.work(), &["commit", "-q", "-m", "Write down the rules"]);
    let _daemon = home.daemon();
    home.run(["import", "rules", "--history", "CLAUDE.md"]).ok();
    let section = home.run(["notes", "write", &path, "--dry-run"]).ok();
    assert!(!section.stdout.contains("secrets"), "what the file says itself is left out: {section:?}");
    home.run(["notes", "add", &path]).ok();
    let run = scan(&home);
    assert_eq!((number(&run, "stored"), number(&run, "known"), active(&home)), (0, 2, 2), "{run}");
    fs::write(&path, "- Requests time out after 30 seconds.\n- Never commit secrets.\n").unwrap();
    let run = scan(&home);
    assert_eq!((number(&run, "superseded"), number(&run, "refused"), active(&home)), (1, 0, 2), "{run}");
}

#[test]
fn a_section_says_what_limits_a_claim_and_leaves_out_expired_ones() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (statement, limit, value) in [
        ("The API uses GraphQL.", "--env", "staging"),
        ("Releases are frozen.", "--until", "2020-01-31"),
        ("Never commit secrets.", "--team", "web"),
    ] {
        home.run(["remember", statement, "--reason", "they said so", limit, value]).ok();
    }
    for command in [&["notes", "write", "AGENTS.md"][..], &["export", "agents", "AGENTS.md"], &["export", "agents"]] {
        let answer = home.run(command).ok();
        let text =
            if command.len() == 3 { fs::read_to_string(home.work().join("AGENTS.md")).unwrap() } else { answer.stdout };
        assert!(text.contains("The API uses GraphQL. (only env staging)"), "{text}");
        assert!(text.contains("Never commit secrets. (only team web)") && !text.contains("frozen"), "{text}");
    }
}

#[test]
fn a_section_is_removed_again_and_the_rest_of_the_file_stays() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let path = write(&home, "api/CLAUDE.md", RULES);
    home.run(["notes", "add", &path]).ok();
    scan(&home);
    let remove = |more: &[&str]| home.run(["notes", "write", &path, "--remove"].iter().chain(more));
    assert!(remove(&[]).ok().stderr.contains("has no section of ergo"));
    home.run(["remember", "Releases are cut on Mondays.", "--reason", "people are there", "--project", "api"]).ok();
    home.run(["notes", "write", &path]).ok();
    let written = fs::read_to_string(&path).unwrap();
    assert!(remove(&["--dry-run"]).ok().stdout.contains("Releases are cut on Mondays"));
    assert_eq!((fs::read_to_string(&path).unwrap(), remove(&["--tokens", "9"]).code), (written, Some(2)));
    assert!(remove(&[]).ok().stderr.contains("Removed ergo's section from"));
    assert_eq!(fs::read_to_string(&path).unwrap(), RULES);
    assert_eq!((number(&scan(&home), "changed_files"), state(&home, 0)), (0, "in_step".to_owned()));
}

#[test]
fn a_rule_that_cannot_be_stored_stops_no_other_and_fails_the_check() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let long = "very ".repeat(2_000);
    let path = write(&home, "AGENTS.md", &format!("- Never use a {long}long name.\n- Never commit secrets.\n"));
    let check = home.run(["notes", "check", &path]);
    assert!(check.code == Some(2) && check.stderr.contains("AGENTS.md:1: "), "{check:?}");
    home.run(["notes", "add", &path]).ok();
    let run = scan(&home);
    assert_eq!((number(&run, "stored"), active(&home)), (1, 1), "{run}");
    assert!(run["problems"][0].as_str().unwrap().contains("AGENTS.md:1: "), "{run}");
    scan(&home);
    assert!(home.run(["notes", "status"]).ok().stdout.contains("line 1: `statement` has "));
    fs::write(home.work().join("CLAUDE.md"), b"\xff\xfe\x00").unwrap();
    let check = home.run(["notes", "check", "CLAUDE.md"]);
    assert!(check.code == Some(2) && check.stderr.contains("UTF-8"), "{check:?}");
}

#[test]
fn a_new_claim_of_the_organisation_makes_a_section_outdated() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let path = write(&home, "api/CLAUDE.md", RULES);
    home.run(["notes", "add", &path]).ok();
    scan(&home);
    home.run(["remember", "Releases are cut on Mondays.", "--reason", "people are there", "--project", "api"]).ok();
    home.run(["notes", "write", &path]).ok();
    assert_eq!(state(&home, 0), "in_step");
    let audits = ["remember", "Audits take place each May.", "--reason", "taxes", "--scope", "claude-code/*"];
    home.run(audits).ok();
    assert_eq!(state(&home, 0), "changed_there");
}

/// Writes a decision record about the database for orders.
fn record(home: &TestHome, number: u32, status: &str, database: &str) {
    let text = format!(
        "# {number}. Use {database}\n\nDate: 202{number}-02-01\n\n## Status\n\n{status}\n\n## Context\n\nWe know \
         {database}.\n\n## Decision\n\nWe will use {database} as the database for orders.\n"
    );
    write(home, &format!("docs/adr/000{number}.md"), &text);
}

/// The claims of the folder's project with this status: their ids and statements.
fn claims(home: &TestHome, status: &str) -> Vec<(String, String)> {
    let page = home.run(["claims", "--status", status, "--json"]).ok().json();
    let text = |claim: &serde_json::Value, field: &str| claim[field].as_str().unwrap().to_owned();
    page["items"].as_array().unwrap().iter().map(|claim| (text(claim, "id"), text(claim, "statement"))).collect()
}

#[rstest::rstest]
#[case::a_first_scan("")]
#[case::after_an_import("import adr docs/adr")]
#[case::after_a_scan("notes add .; notes scan")]
#[case::after_both("notes add .; notes scan; import adr docs/adr")]
fn a_superseded_record_becomes_history_by_scans_and_imports_alike(#[case] before: &str) {
    let home = TestHome::new();
    git(&home.work(), &["init", "-q"]);
    let _daemon = home.daemon();
    record(&home, 1, "Accepted", "MySQL");
    for command in before.split(';').filter(|command| !command.is_empty()) {
        home.run(command.split_whitespace()).ok();
    }
    record(&home, 1, "Superseded by [2](0002.md)", "MySQL");
    record(&home, 2, "Accepted\n\nSupersedes [1](0001.md)", "PostgreSQL");
    record(&home, 3, "Rejected", "Oracle");
    home.run(["notes", "add", "."]).ok();
    let run = scan(&home);
    let is_as_recorded = || {
        let (active, superseded) = (claims(&home, "active"), claims(&home, "superseded"));
        let statements: Vec<&str> = active.iter().map(|(_, statement)| statement.as_str()).collect();
        assert_eq!(
            statements,
            ["Rejected: Use Oracle.", "We will use PostgreSQL as the database for orders."],
            "{run}"
        );
        let [(old, statement)] = superseded.as_slice() else { panic!("{superseded:?}") };
        assert_eq!(statement, "We will use MySQL as the database for orders.");
        let history = home.run(["history", old, "--json"]).ok().json();
        assert_eq!(history["claim"]["replaced_by"][0], active[1].0);
        assert_eq!(home.run(["conflicts", "--json"]).ok().json()["total"], 0);
        assert_eq!(home.run(["notes", "check"]).code, Some(0));
    };
    is_as_recorded();
    let import = home.run(["import", "adr", "docs/adr", "--json"]).ok().json();
    assert_eq!((import["stored"].clone(), import["refused"].clone()), (serde_json::json!([]), serde_json::json!([])));
    is_as_recorded();
    let run = scan(&home);
    assert_eq!((number(&run, "stored"), number(&run, "superseded"), number(&run, "retracted")), (0, 0, 0), "{run}");
    assert_eq!((state(&home, 0), state(&home, 1)), ("in_step".to_owned(), "in_step".to_owned()));
}

#[test]
fn a_record_whose_successor_was_stored_before_it_becomes_history() {
    for by_scan in [true, false] {
        let home = TestHome::new();
        git(&home.work(), &["init", "-q"]);
        let _daemon = home.daemon();
        record(&home, 1, "Superseded by [2](0002.md)", "MySQL");
        record(&home, 2, "Accepted", "PostgreSQL");
        home.run(["import", "adr", "docs/adr/0002.md"]).ok();
        if by_scan {
            home.run(["notes", "add", "."]).ok();
            scan(&home);
        } else {
            home.run(["import", "adr", "docs/adr"]).ok();
        }
        assert_eq!((claims(&home, "active").len(), claims(&home, "superseded").len()), (1, 1), "by a scan: {by_scan}");
        assert_eq!(home.run(["conflicts", "--json"]).ok().json()["total"], 0);
    }
}

#[test]
fn a_record_that_is_in_force_again_is_stored_again() {
    let home = TestHome::new();
    git(&home.work(), &["init", "-q"]);
    let _daemon = home.daemon();
    home.run(["notes", "add", &write(&home, "docs/adr/0001.md", "# 1. None\n")]).ok();
    for (status, active) in [("Accepted", 1), ("Deprecated", 0), ("Accepted", 1), ("On hold", 0), ("Accepted", 1)] {
        record(&home, 1, status, "MySQL");
        scan(&home);
        assert_eq!(claims(&home, "active").len(), active, "{status}");
    }
}

#[test]
fn a_file_whose_claim_was_closed_is_not_up_to_date() {
    let home = TestHome::new();
    git(&home.work(), &["init", "-q"]);
    let _daemon = home.daemon();
    let path = write(&home, "CLAUDE.md", RULES);
    home.run(["notes", "add", &path]).ok();
    scan(&home);
    let status = || home.run(["notes", "status", "--json"]).ok().json()["files"][0].clone();
    assert_eq!((status()["state"].clone(), status()["claims"].clone()), ("in_step".into(), 2.into()));
    home.run(["retract", &claims(&home, "active")[0].0, "--reason", "It was wrong."]).ok();
    assert_eq!((status()["state"].clone(), status()["claims"].clone()), ("changed_there".into(), 1.into()));
    home.run(["remember", "Tests must use a fixed port.", "--reason", "firewalls"]);
    fs::write(&path, format!("{RULES}\nMore.\n")).unwrap();
    assert_eq!(status()["state"], "changed_here", "a card does not hide that the file changed");
}
