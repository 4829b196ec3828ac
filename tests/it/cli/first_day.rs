//! The story of a new project, from the history of a rule file, decision records, and the export of another tool. A
//! source line that no longer supports its claim is reported beside the claim.

use serde_json::Value;

use super::super::support::{TestHome, git, until};

/// Waits until the background has read everything, and returns the story.
fn story(home: &TestHome) -> Value {
    let mut story = Value::Null;
    until("the story is read", || {
        story = home.run(["story", "--json"]).ok().json();
        story["waiting"] == 0
    });
    story
}

/// The days, statements and reasons of a story, in its order.
fn rows_of(story: &Value) -> Vec<(&str, &str, &str)> {
    let claims = story["claims"].as_array().unwrap().iter();
    claims
        .map(|claim| (word(&claim["qualifiers"]["valid_from"]), word(&claim["statement"]), word(&claim["reason"])))
        .collect()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Asserts that a story leaves one question open: the three claims are a reversal, which has a card.
fn assert_one_reversal(home: &TestHome, story: &Value) {
    let marks = story["marks"].as_array().unwrap();
    assert_eq!(marks.len(), 1, "{story:#}");
    assert_eq!(marks[0]["confusion"], "reversal");
    let ids: Vec<&Value> = story["claims"].as_array().unwrap().iter().map(|claim| &claim["id"]).collect();
    assert_eq!(marks[0]["claims"].as_array().unwrap().iter().collect::<Vec<_>>(), ids);
    let cards = home.run(["conflicts", "--json"]).ok().json();
    let card = cards["items"].as_array().unwrap().iter().find(|card| card["id"] == marks[0]["card"]);
    assert_eq!(card.map(|card| card["kind"].as_str()), Some(Some("story")), "{cards:#}");
}

#[test]
fn the_history_of_a_rule_file_in_git_is_a_story() {
    let home = TestHome::new();
    let work = home.work();
    git(&work, &["init", "-q"]);
    for (day, rule, message) in [
        ("2025-01-10", "The API uses REST.", "Write down how we build the API"),
        ("2025-03-14", "The API uses GraphQL.", "One request is enough for a page"),
        ("2025-06-20", "The API uses REST.", "Tidy the rules"),
    ] {
        std::fs::write(work.join("CLAUDE.md"), format!("# Rules\n\n- {rule}\n")).unwrap();
        git(&work, &["add", "CLAUDE.md"]);
        git(&work, &["commit", "-q", "--date", &format!("{day}T12:00:00Z"), "-m", message]);
    }
    let _daemon = home.daemon();
    let preview = home.run(["import", "rules", "--history", "CLAUDE.md", "--dry-run"]).ok().stdout;
    let days: Vec<&str> = preview.lines().take(3).filter_map(|line| line.split("  ").next()).collect();
    assert_eq!(days, ["2025-01-10", "2025-03-14", "2025-06-20"], "{preview}");
    assert!(story(&home)["claims"].as_array().unwrap().is_empty(), "a preview stores nothing");

    home.run(["import", "rules", "--history", "CLAUDE.md"]).ok();
    let story = story(&home);
    let rows = rows_of(&story);
    let reasons =
        ["Write down how we build the API (ada, ", "One request is enough for a page (ada, ", "Tidy the rules (ada, "];
    assert!(rows.iter().zip(reasons).all(|((.., reason), expected)| reason.starts_with(expected)), "{rows:?}");
    let lines: Vec<_> = rows.iter().map(|(day, statement, _)| (*day, *statement)).collect();
    assert_eq!(
        lines,
        [
            ("2025-01-10", "The API uses REST."),
            ("2025-03-14", "The API uses GraphQL."),
            ("2025-06-20", "The API uses REST.")
        ]
    );
    assert_one_reversal(&home, &story);
    let printed = home.run(["story"]).ok().stdout;
    assert!(printed.starts_with("2025-01-10  ") && printed.contains("\n2025-03-14  "), "{printed}");

    let again = home.run(["import", "rules", "--history", "CLAUDE.md", "--json"]).ok().json();
    assert_eq!(again["stored"].as_array().unwrap().len(), 0, "{again}");
}

#[test]
fn a_rule_of_the_history_that_is_refused_is_stored_once_its_opponent_is_gone() {
    let home = TestHome::new();
    let work = home.work();
    git(&work, &["init", "-q"]);
    let (blue, red) = ("Deployments must use a blue canary.", "Deployments must use a red canary.");
    for (day, rules, message) in [
        ("2025-01-10", vec![blue], "Use a canary"),
        ("2025-02-10", vec![red, blue], "Use a red one"),
        ("2025-03-10", vec![red, blue, "Keep the changelog up to date."], "Keep a changelog"),
        ("2025-04-10", vec![red, "Keep the changelog up to date."], "Drop the blue canary"),
    ] {
        std::fs::write(work.join("CLAUDE.md"), format!("# Rules\n\n- {}\n", rules.join("\n- "))).unwrap();
        git(&work, &["add", "CLAUDE.md"]);
        git(&work, &["commit", "-q", "--date", &format!("{day}T12:00:00Z"), "-m", message]);
    }
    let _daemon = home.daemon();
    let report = home.run(["import", "rules", "--history", "CLAUDE.md", "--json"]).ok().json();
    let count = |list: &str| report[list].as_array().unwrap().len();
    assert_eq!((count("stored"), count("refused")), (3, 0), "{report:#}");
    let claims = home.run(["claims", "--json"]).ok().json();
    let of = |statement: &str| claims["items"].as_array().unwrap().iter().find(|claim| claim["statement"] == statement);
    assert!(of(blue).is_none());
    assert_eq!(of(red).unwrap()["qualifiers"]["valid_from"], "2025-02-10");
    assert!(of(red).unwrap()["reason"].as_str().unwrap().starts_with("Use a red one"));
    let cards = home.run(["conflicts", "--json"]).ok().json();
    assert_eq!(cards["total"], 0, "{cards:#}");
}

#[test]
fn a_version_with_half_a_section_of_ergo_is_left_out_of_the_history() {
    let home = TestHome::new();
    let work = home.work();
    git(&work, &["init", "-q"]);
    let half = "<!-- ergo:claims:begin -->\n## Active claims of acme/api (ergo)\n\n- Never deploy on Fridays.\n\n";
    for (day, above, more) in
        [("2025-01-10", "", ""), ("2025-02-10", half, ""), ("2025-03-10", "", "- Use tabs for indentation.\n")]
    {
        std::fs::write(work.join("CLAUDE.md"), format!("{above}- Never commit secrets.\n{more}")).unwrap();
        git(&work, &["add", "CLAUDE.md"]);
        git(&work, &["commit", "-q", "--date", &format!("{day}T12:00:00Z"), "-m", "Change the rules"]);
    }
    let _daemon = home.daemon();
    home.run(["import", "rules", "--history", "CLAUDE.md"]).ok();
    let page = home.run(["claims", "--status", "all", "--json"]).ok().json();
    let mut found: Vec<(&str, &str)> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|claim| (word(&claim["statement"]), word(&claim["qualifiers"]["valid_from"])))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [("Never commit secrets.", "2025-01-10"), ("Use tabs for indentation.", "2025-03-10")]);
}

#[test]
fn an_import_of_a_rule_file_goes_on_from_its_history_and_not_the_other_way_round() {
    let home = TestHome::new();
    let work = home.work();
    git(&work, &["init", "-q"]);
    let write = |rules: &[&str]| {
        let lines: Vec<String> = rules.iter().map(|rule| format!("- {rule}\n")).collect();
        std::fs::write(work.join("CLAUDE.md"), format!("# Rules\n\n{}", lines.concat())).unwrap();
    };
    let commit = || {
        git(&work, &["add", "CLAUDE.md"]);
        git(&work, &["commit", "-q", "-m", "Change the rules"]);
    };
    let active = || {
        let page = home.run(["claims", "--json"]).ok().json();
        let mut found: Vec<String> =
            page["items"].as_array().unwrap().iter().map(|claim| word(&claim["statement"]).to_owned()).collect();
        found.sort();
        found
    };
    let many = |report: &Value, what: &str| report[what].as_array().map_or(0, Vec::len);
    let _daemon = home.daemon();
    write(&["Use REST for all public APIs.", "Never commit secrets.", "Indent with tabs."]);
    commit();
    write(&["Use REST for all public APIs.", "Never commit secrets."]);
    commit();
    home.run(["import", "rules", "--history", "CLAUDE.md"]).ok();

    let report = home.run(["import", "rules", "CLAUDE.md", "--json"]).ok().json();
    assert_eq!((many(&report, "stored"), many(&report, "duplicates")), (0, 2), "{report}");
    // A changed line replaces what its commit stored, a removed line retracts it, and what a commit removed may come back.
    write(&["Use gRPC for all public APIs.", "Indent with tabs."]);
    let report = home.run(["import", "rules", "CLAUDE.md", "--json"]).ok().json();
    let counts = ["stored", "reinstated", "refused", "retired"].map(|what| many(&report, what));
    assert_eq!(counts, [1, 1, 0, 1], "{report}");
    assert_eq!(active(), ["Indent with tabs.", "Use gRPC for all public APIs."]);

    commit();
    let number = report["import"].as_str().unwrap();
    let refused = home.run(["import", "rules", "--history", "CLAUDE.md"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("imported without --history before"), "{refused:?}");
    assert!(refused.stderr.contains(&format!("ergo undo --import {number}")), "{refused:?}");
    assert_eq!(active(), ["Indent with tabs.", "Use gRPC for all public APIs."]);
    home.run(["undo", "--import", number]).ok();
    home.run(["import", "rules", "--history", "CLAUDE.md"]).ok();
    assert_eq!(active(), ["Indent with tabs.", "Use gRPC for all public APIs."]);
}

/// Writes a rule file and commits it.
fn commit_rules(home: &TestHome, day: &str, file: &str, rules: &[&str], message: &str) {
    let work = home.work();
    std::fs::write(work.join(file), format!("# Rules\n\n- {}\n", rules.join("\n- "))).unwrap();
    git(&work, &["add", file]);
    git(&work, &["commit", "-q", "--date", &format!("{day}T12:00:00Z"), "-m", message]);
}

/// The statements of the claims with a status, sorted.
fn statements_of(home: &TestHome, status: &str) -> Vec<String> {
    let page = home.run(["claims", "--status", status, "--json"]).ok().json();
    let items = page["items"].as_array().unwrap().iter();
    let mut found: Vec<String> = items.map(|claim| word(&claim["statement"]).to_owned()).collect();
    found.sort();
    found
}

#[test]
fn after_a_merge_the_history_ends_with_the_rules_of_the_file() {
    let home = TestHome::new();
    let work = home.work();
    git(&work, &["init", "-q"]);
    let logs = |days: u32| format!("Keep logs for {days} days.");
    let filler = ["Use tabs for indentation.", "Never commit secrets.", "Migrations are forward-only."];
    let commit = |day: &str, mails: &str, days: u32, message: &str| {
        let kept = logs(days);
        let [tabs, secrets, migrations] = filler;
        commit_rules(&home, day, "CLAUDE.md", &[mails, tabs, secrets, migrations, &kept], message);
    };
    let (three, five) = ("Retry failed mails 3 times.", "Retry failed mails 5 times.");
    commit("2025-01-01", three, 7, "Start");
    git(&work, &["checkout", "-q", "-b", "x"]);
    commit("2025-01-02", five, 7, "Retry more often");
    git(&work, &["checkout", "-q", "main"]);
    commit("2025-01-03", three, 9, "Keep logs longer");
    git(&work, &["merge", "-q", "-m", "Merge branch x", "x"]);
    let _daemon = home.daemon();
    home.run(["import", "rules", "--history", "CLAUDE.md"]).ok();
    let mut expected: Vec<String> = filler.map(str::to_owned).to_vec();
    expected.extend([five.to_owned(), logs(9)]);
    expected.sort();
    assert_eq!(statements_of(&home, "active"), expected);
    assert_eq!(statements_of(&home, "superseded"), [logs(7), three.to_owned()]);
    let page = home.run(["claims", "--json"]).ok().json();
    let reason_of = |statement: &str| {
        let claim = page["items"].as_array().unwrap().iter().find(|claim| claim["statement"] == statement);
        word(&claim.unwrap()["reason"]).to_owned()
    };
    assert!(reason_of(five).starts_with("Retry more often (ada, "), "{page:#}");
    assert!(reason_of(&logs(9)).starts_with("Keep logs longer (ada, "), "{page:#}");
}

#[test]
fn the_history_of_a_file_that_was_deleted_since_is_not_stored_again() {
    let home = TestHome::new();
    git(&home.work(), &["init", "-q"]);
    let secrets = "Never commit secrets.";
    commit_rules(&home, "2025-01-01", "AGENTS.md", &["Use Terraform for the network.", secrets], "Start");
    commit_rules(&home, "2025-01-02", "AGENTS.md", &["Use Pulumi for the network.", secrets], "Move to Pulumi");
    let _daemon = home.daemon();
    let first = home.run(["import", "rules", "--history", "AGENTS.md", "--json"]).ok().json();
    let claims = statements_of(&home, "all");
    git(&home.work(), &["rm", "-q", "AGENTS.md"]);
    git(&home.work(), &["commit", "-q", "-m", "Drop the rules"]);
    let again = home.run(["import", "rules", "--history", "AGENTS.md", "--json"]).ok().json();
    let counts = ["stored", "refused"].map(|list| again[list].as_array().unwrap().len());
    assert_eq!((counts, &again["import"]), ([0, 0], &first["import"]), "{again:#}");
    assert_eq!(statements_of(&home, "all"), claims);
}

#[test]
fn a_rule_of_the_history_that_another_file_has_is_not_stored_twice() {
    let home = TestHome::new();
    git(&home.work(), &["init", "-q"]);
    let (old, new, secrets) =
        ("Use Terraform for the network.", "Use Pulumi for the network.", "Never commit secrets.");
    commit_rules(&home, "2025-01-01", "AGENTS.md", &[old, secrets], "Start");
    commit_rules(&home, "2025-01-02", "AGENTS.md", &[new, secrets], "Move to Pulumi");
    commit_rules(&home, "2025-01-03", "CLAUDE.md", &[new, secrets], "Add CLAUDE.md");
    let _daemon = home.daemon();
    home.run(["import", "rules", "CLAUDE.md"]).ok();
    let expected = vec![secrets.to_owned(), new.to_owned()];
    for stored in [1, 0] {
        let report = home.run(["import", "rules", "--history", "AGENTS.md", "--json"]).ok().json();
        let counts = ["stored", "refused"].map(|list| report[list].as_array().unwrap().len());
        assert_eq!(counts, [stored, 0], "{report:#}");
        assert_eq!(statements_of(&home, "active"), expected);
        assert_eq!(statements_of(&home, "superseded"), [old]);
    }
}

#[test]
fn decision_records_are_a_story_by_their_dates() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let folder = home.work().join("docs/adr");
    std::fs::create_dir_all(&folder).unwrap();
    // Their order by number differs from that by date.
    for (number, day, title) in [
        (1, "2025-06-20", "The API is REST-based"),
        (2, "2025-03-14", "We switched to GraphQL"),
        (3, "2025-01-10", "The API uses REST"),
    ] {
        let text = format!(
            "# {number}. {title}\n\nDate: {day}\n\n## Status\n\nAccepted\n\n## Context\n\nClients have to be served.\n\n## Decision\n\n{title}.\n"
        );
        std::fs::write(folder.join(format!("{number:04}-api.md")), text).unwrap();
    }
    home.run(["import", "adr", "docs/adr"]).ok();
    let story = story(&home);
    let lines: Vec<_> = rows_of(&story).into_iter().map(|(day, statement, _)| (day, statement)).collect();
    assert_eq!(
        lines,
        [
            ("2025-01-10", "The API uses REST."),
            ("2025-03-14", "We switched to GraphQL."),
            ("2025-06-20", "The API is REST-based.")
        ]
    );
    assert_one_reversal(&home, &story);
}

#[test]
fn an_export_of_engram_is_a_story_by_its_dates() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    // The newest come first, as in a list of the latest facts; a retired fact belongs to the history.
    let text = r#"{"facts": [
        {"fact_id": "4", "content": "The API is REST-based.", "scope": "api", "agent_id": "claude-2", "committed_at": "2025-06-20T10:00:00Z"},
        {"fact_id": "3", "content": "We switched to GraphQL.", "scope": "api", "agent_id": "claude-1", "committed_at": "2025-03-14T16:00:00Z"},
        {"fact_id": "2", "content": "The page cache was empty.", "committed_at": "2025-03-14T09:00:00Z", "valid_until": "2025-03-15T00:00:00Z"},
        {"fact_id": "1", "content": "We use REST.", "scope": "api", "agent_id": "claude-1", "committed_at": "2025-01-10T08:00:00Z"}]}"#;
    std::fs::write(home.work().join("facts.json"), text).unwrap();
    home.run(["import", "memory", "facts.json"]).ok();
    let mut story = story(&home);
    let lines: Vec<_> = rows_of(&story).into_iter().map(|(day, statement, _)| (day, statement)).collect();
    assert_eq!(
        lines,
        [
            ("2025-01-10", "We use REST."),
            ("2025-03-14", "The page cache was empty."),
            ("2025-03-14", "We switched to GraphQL."),
            ("2025-06-20", "The API is REST-based.")
        ]
    );
    story["claims"].as_array_mut().unwrap().remove(1);
    assert_one_reversal(&home, &story);
}

#[test]
fn a_source_that_no_longer_says_so_is_named_on_the_device_that_has_the_file() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let file = home.work().join("docs/rules.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "# Rules\n\nBackups are copied to the second machine.\n").unwrap();
    let args = ["remember", "Backups are copied to the second machine.", "--reason", "the first may burn"];
    home.run([&args[..], &["--source", "docs/rules.md:3"]].concat()).ok();
    let named = || {
        let printed = home.run(["story"]).ok().stdout;
        printed.lines().find_map(|line| line.strip_prefix("source  ")).map(str::to_owned)
    };
    assert_eq!(named(), None);
    // A line that moved still supports the claim.
    std::fs::write(&file, "# Rules\n\n\n\n\n\n\n\nBackups are copied to the second machine.\n").unwrap();
    assert_eq!(named(), None);
    std::fs::write(&file, "# Rules\n\nThe vault keeps a copy of each backup.\n").unwrap();
    assert_eq!(named().as_deref(), Some("docs/rules.md:3: no longer contains this statement"));
    let drifted = &story(&home)["drifted"];
    assert_eq!((drifted.as_array().map(Vec::len), drifted[0]["source"].as_str()), (Some(1), Some("docs/rules.md:3")));
    // This depends on files of this device alone, so there is no card, and the daemon does not know it.
    assert_eq!(home.run(["conflicts", "--json"]).ok().json()["total"], 0);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(named().as_deref(), Some("docs/rules.md:3: not found"));
    let id = story(&home)["claims"][0]["id"].as_str().unwrap().to_owned();
    home.run(["retract", &id, "--reason", "there is one machine only"]).ok();
    assert_eq!(named(), None, "a retracted claim needs no source");
}
