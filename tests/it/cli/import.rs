//! Import and export with folders like those of real projects.

use super::{super::support::TestHome, fixtures, remember, transcript};

fn copy(home: &TestHome, folder: &str) {
    let to = home.work().join(folder);
    std::fs::create_dir_all(&to).unwrap();
    for entry in std::fs::read_dir(fixtures(folder)).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn count(home: &TestHome, status: &str) -> u64 {
    home.run(["claims", "--status", status, "--json"]).ok().json()["total"].as_u64().unwrap()
}

#[test]
fn a_preview_needs_no_daemon_and_stores_nothing() {
    let home = TestHome::new();
    copy(&home, "rules");
    copy(&home, "madr");
    let rules = home.run(["import", "rules", "rules/CLAUDE.md", "rules/.cursorrules", "--dry-run", "--details"]);
    insta::assert_snapshot!("preview_rules", transcript(&rules));
    let adr = home.run(["import", "adr", "madr", "--dry-run"]);
    insta::assert_snapshot!("preview_adr", transcript(&adr));
    assert!(!home.paths().store().exists());
}

#[test]
fn records_keep_their_history_and_a_second_import_changes_nothing() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    copy(&home, "nygard");
    let output = home.run(["import", "adr", "nygard", "--details"]);
    insta::assert_snapshot!("import_adr", transcript(&output));
    let before = (count(&home, "active"), count(&home, "superseded"), count(&home, "retracted"));
    assert_eq!(before, (3, 1, 1));

    let why = home.run(["why", "where are orders stored?", "--json"]).ok().json();
    assert_eq!(why["answer"]["statement"], "Orders are stored in PostgreSQL.");
    assert_eq!(why["answer"]["source"], "nygard/0005-store-orders-in-postgresql.md:17");
    assert_eq!(why["chain"][1]["claim"]["statement"], "Orders are stored in MongoDB.");

    let again = home.run(["import", "adr", "nygard", "--json"]).ok().json();
    assert_eq!((again["stored"].as_array().unwrap().len(), again["duplicates"].as_array().unwrap().len()), (0, 5));
    assert_eq!((count(&home, "active"), count(&home, "superseded"), count(&home, "retracted")), before);
}

#[test]
fn a_record_whose_status_changes_is_superseded_or_retracted_by_the_next_import() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let write = |number: u32, date: &str, status: &str, decision: &str| {
        let text = format!(
            "# {number}. Orders\n\nDate: {date}\n\n## Status\n\n{status}\n\n## Context\n\nOrders must be kept.\n\n## Decision\n\n{decision}\n"
        );
        std::fs::create_dir_all(home.work().join("adr")).unwrap();
        std::fs::write(home.work().join(format!("adr/000{number}-orders.md")), text).unwrap();
    };
    let import = || home.run(["import", "adr", "adr", "--json"]).ok().json();
    write(1, "2021-03-09", "Accepted", "Orders are stored in MongoDB.");
    write(2, "2021-04-01", "Accepted", "Invoices are printed on Mondays.");
    import();
    assert_eq!(count(&home, "active"), 2);

    write(1, "2021-03-09", "Superseded by [3](0003-orders.md), 2022-01-02", "Orders are stored in MongoDB.");
    write(2, "2021-04-01", "Deprecated", "Invoices are printed on Mondays.");
    write(3, "2022-01-02", "Accepted", "Orders are stored in PostgreSQL.");
    let second = import();
    assert_eq!(second["refused"].as_array().unwrap().len(), 0, "{second}");
    let counts = || (count(&home, "active"), count(&home, "superseded"), count(&home, "retracted"));
    assert_eq!(counts(), (1, 1, 1), "{second}");

    // A claim with another reason stays as it is, and counts as known.
    let path = home.work().join("adr/0003-orders.md");
    let text = std::fs::read_to_string(&path).unwrap().replace("must be kept", "must be kept for ten years");
    std::fs::write(&path, text.replace("Accepted", "Deprecated")).unwrap();
    let third = import();
    assert!(third["skipped"][0]["why"].as_str().unwrap().contains("with another reason"), "{third}");
    assert_eq!(counts(), (0, 1, 2), "{third}");
}

#[test]
fn a_whole_import_is_taken_back_by_its_number_and_can_come_again() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    copy(&home, "nygard");
    let first = home.run(["import", "adr", "nygard", "--json"]).ok().json();
    home.run(["undo", "--import", first["import"].as_str().unwrap()]).ok();
    assert_eq!(count(&home, "active"), 0);
    let again = home.run(["import", "adr", "nygard", "--json"]).ok().json();
    assert_eq!(again["stored"].as_array().unwrap().len(), 5, "{again}");
    assert_eq!(count(&home, "active"), 3);
    assert_eq!(home.run(["undo", "--import", "nonsense"]).code, Some(2));
}

#[test]
fn one_row_of_an_import_is_undone_by_the_id_that_the_log_shows() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    copy(&home, "nygard");
    let import = home.run(["import", "adr", "nygard", "--json"]).ok().json();
    let log = home.run(["log"]).ok().stdout;
    let mut ids: Vec<&str> =
        log.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next()).collect();
    let latest = ids[0];
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6, "five records are stored, one of them is retracted: {log}");
    let number = import["import"].as_str().unwrap();
    let all = home.run(["undo", number]);
    assert_eq!(all.code, Some(2), "{all:?}");
    assert!(all.stderr.contains("matches 6 changes"), "{all:?}");
    assert!(all.stderr.contains(&format!("ergo undo --import {number}")), "{all:?}");
    home.run(["undo", latest]).ok();
    assert!(home.run(["log"]).ok().stdout.contains("[undone]"));
    assert!(home.run(["undo", number]).stderr.contains("matches 5 changes"));
}

#[test]
fn a_rule_that_contradicts_is_kept_on_a_card_and_the_rest_goes_on() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    copy(&home, "rules");
    remember(&home, "Tests must reach the network.", "Mocks lied to us.");
    let output = home.run(["import", "rules", "rules/CLAUDE.md"]);
    insta::assert_snapshot!("import_rules", transcript(&output));
    let card = home.run(["conflicts", "--json"]).ok().json();
    assert_eq!(card["total"], 1, "{output:?}");
    let again = home.run(["import", "rules", "rules/CLAUDE.md", "--json"]).ok().json();
    assert_eq!(again["stored"].as_array().unwrap().len(), 0, "{again}");
    assert_eq!(home.run(["conflicts", "--json"]).json()["total"], 1, "no second card");
}

#[test]
fn an_export_comes_back_with_its_history() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    copy(&home, "nygard");
    home.run(["import", "adr", "nygard"]).ok();
    let lines = home.run(["export", "jsonl"]).ok().stdout;
    assert_eq!(lines.lines().count(), 6);
    for line in lines.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    home.run(["export", "jsonl", "dump.jsonl"]).ok();
    assert_eq!(home.run(["export", "jsonl", "dump.jsonl"]).code, Some(2), "nothing is overwritten");

    home.run(["import", "jsonl", "dump.jsonl", "--scope", "acme/copy"]).ok();
    let copied = |status: &str| {
        home.run(["claims", "--scope", "acme/copy", "--status", status, "--json"]).ok().json()["total"]
            .as_u64()
            .unwrap()
    };
    assert_eq!((copied("active"), copied("superseded"), copied("retracted")), (3, 1, 1));
    let why = home.run(["why", "where are orders stored?", "--scope", "acme/copy", "--json"]).ok().json();
    assert_eq!(why["chain"][1]["claim"]["statement"], "Orders are stored in MongoDB.");
}

#[test]
fn an_export_keeps_what_was_given_up_closed_and_its_exceptions_beside_their_rules() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let old = remember(&home, "Releases are cut on Mondays.", "People are there.");
    home.run(["supersede", &old, "Commits must be signed.", "--reason", "Audits."]).ok();
    home.run(["export", "jsonl", "dump.jsonl"]).ok();
    // If the successor is refused, its predecessor is not stored again.
    home.run(["remember", "Commits must not be signed.", "--reason", "No keys.", "--scope", "acme/copy"]).ok();
    assert_eq!(home.run(["import", "jsonl", "dump.jsonl", "--scope", "acme/copy"]).code, Some(1));
    let copied = |scope: &str, what: &[&str]| {
        home.run(what.iter().chain(&["--scope", scope, "--json"])).ok().json()["total"].as_u64().unwrap()
    };
    assert_eq!(copied("acme/copy", &["claims"]), 1);
    assert_eq!(copied("acme/copy", &["claims", "--status", "retracted"]), 1);

    let rule = home.run(["claims", "--json"]).ok().json()["items"][0]["id"].as_str().unwrap().to_owned();
    let exception = ["remember", "Commits must not be signed.", "--reason", "No keys.", "--force-exception", "A fork."];
    home.run(exception.iter().chain(&["--exception-to", &rule])).ok();
    home.run(["export", "jsonl", "both.jsonl"]).ok();
    home.run(["import", "jsonl", "both.jsonl", "--scope", "acme/both"]).ok();
    assert_eq!((copied("acme/both", &["claims"]), copied("acme/both", &["conflicts"])), (2, 0));
}

#[test]
fn exported_records_are_records() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    copy(&home, "nygard");
    home.run(["import", "adr", "nygard"]).ok();
    home.run(["export", "adr", "out"]).ok();
    assert_eq!(home.run(["export", "adr", "out"]).code, Some(2), "nothing is overwritten");
    let again = home.run(["import", "adr", "out", "--scope", "acme/copy", "--json"]).ok().json();
    assert_eq!(again["stored"].as_array().unwrap().len(), 5, "{again}");
    let why = home.run(["why", "where are orders stored?", "--scope", "acme/copy", "--json"]).ok().json();
    assert_eq!(why["answer"]["statement"], "Orders are stored in PostgreSQL.");
    assert_eq!(why["chain"].as_array().unwrap().len(), 2, "{why}");
}

#[test]
fn what_is_not_there_or_no_text_is_reported_with_its_name() {
    let home = TestHome::new();
    std::fs::write(home.work().join("image.md"), [0xff, 0xfe, 0x00]).unwrap();
    for (args, word) in [
        (&["import", "adr", "nowhere"][..], "nowhere"),
        (&["import", "rules", "nowhere.md"], "nowhere.md"),
        (&["import", "rules", "nowhere.md"], "check the path"),
        (&["import", "rules", "image.md"], "UTF-8"),
    ] {
        let output = home.run(args.iter().chain(&["--dry-run"]));
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.contains(word), "{output:?}");
    }
}

#[test]
fn an_export_of_records_changes_nothing_in_its_own_project() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    copy(&home, "nygard");
    home.run(["import", "adr", "nygard"]).ok();
    let old = remember(&home, "Releases are cut on Mondays.", "People are there.");
    home.run(["supersede", &old, "Releases are cut on Tuesdays.", "--reason", "Mondays are full."]).ok();
    let counts = || (count(&home, "active"), count(&home, "superseded"), count(&home, "retracted"));
    let before = counts();
    home.run(["export", "adr", "out"]).ok();
    let report = home.run(["import", "adr", "out"]).ok().stdout;
    assert!(report.contains("0 stored, 7 already stored, 0 refused, 0 skipped."), "{report}");
    assert_eq!(counts(), before);
}

#[test]
fn an_amended_record_supersedes_what_was_imported_from_it_and_nothing_else() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    std::fs::create_dir(home.work().join("adr")).unwrap();
    let import = |status: &str, context: &str, database: &str| {
        let text = format!(
            "# 1. Use a database\n\nDate: 2023-02-01\n\n## Status\n\n{status}\n\n## Context\n\n{context}\n\n\
             ## Decision\n\nWe will use {database} as the database for orders.\n"
        );
        std::fs::write(home.work().join("adr/0001-use-a-database.md"), text).unwrap();
        home.run(["import", "adr", "adr", "--json"]).ok().json()
    };
    import("Accepted", "We know it.", "MySQL");
    let cited = ["remember", "Orders keep their number.", "--reason", "Audits.", "--source"];
    home.run(cited.iter().chain(&["adr/0001-use-a-database.md:15"])).ok();
    for (context, database) in [("We know it.", "MySQL 9"), ("It is fast.", "PostgreSQL"), ("We know it.", "MySQL 9")] {
        let report = import("Accepted", context, database);
        assert_eq!(report["stored"][0]["superseded"].as_array().map(Vec::len), Some(1), "{report}");
        assert_eq!((report["refused"].clone(), count(&home, "active")), (serde_json::json!([]), 2), "{report}");
    }
    let report = import("On hold", "We know it.", "MySQL 9");
    assert!(report["skipped"][0]["why"].as_str().unwrap().contains("unknown status “On hold”"), "{report}");
    import("Deprecated", "We know it.", "MySQL 9");
    assert_eq!(count(&home, "active"), 1);
    std::fs::write(home.work().join("adr/README.md"), "# Records\n").unwrap();
    let again = home.run(["import", "adr", "adr", "--details"]).ok().stdout;
    assert!(again.contains("0 stored, 1 already stored"), "{again}");
    assert!(again.contains("README.md)"), "the name as it is: {again}");
}

#[test]
fn an_overlong_line_is_listed_in_short() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let long = |times: usize| format!("- Never use {}names.\n", "very ".repeat(times));
    std::fs::write(home.work().join("AGENTS.md"), long(20_000) + &long(60_000)).unwrap();
    let report = home.run(["import", "rules", "AGENTS.md", "--details"]).ok().stdout;
    assert!(report.contains("2 skipped") && report.lines().all(|line| line.chars().count() < 400), "{report}");
    assert_eq!(report.matches("too long: a claim may have at most 8 KiB").count(), 2, "{report}");
}

#[test]
fn a_dry_run_of_records_and_exports_names_what_the_guard_would_refuse() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    std::fs::create_dir(home.work().join("adr")).unwrap();
    let record = "# 1. Sign commits\n\n## Status\n\nAccepted\n\n## Context\n\nAudits.\n\n## Decision\n\n\
        Commits must be signed.\n";
    std::fs::write(home.work().join("adr/0001-sign.md"), record).unwrap();
    let old = remember(&home, "Commits are squashed.", "Short logs.");
    home.run(["supersede", &old, "Commits must be signed.", "--reason", "Audits."]).ok();
    home.run(["export", "jsonl", "dump.jsonl"]).ok();
    for (scope, source) in [("acme/records", ["adr", "adr"]), ("acme/export", ["jsonl", "dump.jsonl"])] {
        home.run(["remember", "Commits must not be signed.", "--reason", "No keys.", "--scope", scope]).ok();
        let import = [&["import"][..], &source, &["--scope", scope, "--json"]].concat();
        let dry = home.run(import.iter().chain(&["--dry-run"])).ok().json();
        let guard = dry["guard"].as_array().unwrap();
        assert_eq!(guard.len(), 1, "{dry}");
        assert_eq!(
            (&guard[0]["would_be"], &guard[0]["statement"]),
            (&"refused".into(), &"Commits must be signed.".into())
        );
        let real = home.run(&import).json();
        assert_eq!(real["refused"][0]["statement"], "Commits must be signed.", "{real}");
    }
    home.run(["import", "adr", "adr", "--scope", "acme/again"]).ok();
    let again = home.run(["import", "adr", "adr", "--scope", "acme/again", "--dry-run", "--json"]).ok().json();
    assert_eq!(again["guard"][0]["would_be"], "already_stored", "{again}");
    let again = home.run(["import", "adr", "adr", "--scope", "acme/again", "--dry-run"]).ok().stdout;
    assert!(again.contains("0 claims to import, 1 already stored"), "{again}");
    // The claims of an export that are no longer active are known, too.
    let export = ["import", "jsonl", "dump.jsonl", "--scope", "acme/copy"];
    let before = home.run(export.iter().chain(&["--dry-run"])).ok().stdout;
    assert!(before.contains("2 claims to import, 0 lines skipped"), "{before}");
    home.run(export).ok();
    let again = home.run(export.iter().chain(&["--dry-run"])).ok().stdout;
    assert!(again.contains("0 claims to import, 2 already stored"), "{again}");
}

#[test]
fn a_record_with_a_merge_conflict_is_not_imported() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    std::fs::create_dir(home.work().join("adr")).unwrap();
    let record = "# 1. Sign commits\n\n## Status\n\nAccepted\n\n## Decision\n\n<<<<<<< HEAD\n\
        Commits must be signed.\n=======\nCommits are squashed.\n>>>>>>> topic\n";
    std::fs::write(home.work().join("adr/0001-sign.md"), record).unwrap();
    let import = home.run(["import", "adr", "adr"]);
    assert!(import.code == Some(2) && import.stderr.contains("merge conflicts, the first one in line 9"), "{import:?}");
    assert_eq!(count(&home, "active"), 0);
}

#[test]
fn what_an_agent_may_only_propose_is_counted_and_named() {
    let home = TestHome::with_settings("[guard]\nagents_may = \"propose\"\n");
    let _daemon = home.daemon();
    let write = |rules: &str| std::fs::write(home.work().join("RULES.md"), rules).unwrap();
    let by_agent = |more: &[&str]| {
        let output =
            home.command(["import", "rules", "RULES.md"]).args(more).env("ERGO_AGENT", "claude").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    write("- Never log request bodies.\n- Always use tabs for the indentation of Go files.\n");
    home.run(["import", "rules", "RULES.md"]).ok();
    write("- Always use tabs for the indentation of Rust files.\n");
    let dry = by_agent(&["--dry-run"]);
    assert!(dry.contains("Would need a person:") && dry.contains("1 would need a person"), "{dry}");
    let printed = by_agent(&[]);
    assert!(printed.contains("0 refused, 2 proposed, 0 skipped"), "{printed}");
    assert_eq!(printed.matches("Proposed: RULES.md:").count(), 2, "{printed}");
    assert!(printed.contains("to retract it") && printed.contains("to replace “Always use tabs"), "{printed}");
    let report: serde_json::Value = serde_json::from_str(&by_agent(&["--json"])).unwrap();
    assert_eq!(report["proposed"].as_array().unwrap().len(), 2, "they are named until they are settled: {report}");
    assert_eq!(home.run(["conflicts", "--json"]).json()["total"], 2, "no second card");
}

#[test]
fn a_row_whose_card_is_settled_says_how() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    super::remember(&home, "The canary must be blue.", "Red is for alarms.");
    std::fs::write(home.work().join("RULES.md"), "- The canary must be red.\n").unwrap();
    let import = || home.run(["import", "rules", "RULES.md"]).stdout;
    let first = import();
    assert!(first.contains("1 refused") && !first.contains("settled by"), "{first}");
    let card = home.run(["conflicts", "--json"]).json()["items"][0]["id"].as_str().unwrap().to_owned();
    home.run(["resolve", &card, "--discard", "--reason", "Blue stays."]).ok();
    let again = import();
    assert!(again.contains("which was settled by") && again.contains("(the new claim was discarded)"), "{again}");
}
