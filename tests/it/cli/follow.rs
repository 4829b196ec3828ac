//! Rule files that are imported again: the stored claims follow the changes of the file.

use super::{
    super::support::{TestHome, block_on, git, until},
    remember,
};

const FIRST: &str = "\
# Rules

- Requests time out after 20 seconds.
- Use tabs for indentation.
- Never commit secrets.
- Migrations are forward-only.
";

/// Writes the file and imports it.
fn import(home: &TestHome, text: &str) -> serde_json::Value {
    std::fs::write(home.work().join("AGENTS.md"), text).unwrap();
    home.run(["import", "rules", "AGENTS.md", "--json"]).ok().json()
}

/// The active claims: statement and id.
fn active(home: &TestHome) -> Vec<(String, String)> {
    let page = home.run(["claims", "--json"]).ok().json();
    let mut found: Vec<_> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|claim| (claim["statement"].as_str().unwrap().to_owned(), claim["id"].as_str().unwrap().to_owned()))
        .collect();
    found.sort();
    found
}

fn statements(home: &TestHome) -> Vec<String> {
    active(home).into_iter().map(|(statement, _)| statement).collect()
}

fn id(home: &TestHome, statement: &str) -> String {
    active(home).into_iter().find(|(text, _)| text == statement).unwrap_or_else(|| panic!("{statement}")).1
}

fn many(report: &serde_json::Value, what: &str) -> usize {
    report[what].as_array().map_or(0, Vec::len)
}

#[test]
fn a_changed_line_replaces_its_old_version_and_is_never_refused_by_it() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    import(&home, FIRST);
    let old = id(&home, "Requests time out after 20 seconds.");
    let report = import(&home, &FIRST.replace("20 seconds", "45 seconds").replace("Use tabs", "Use spaces"));
    assert_eq!((many(&report, "stored"), many(&report, "refused"), many(&report, "duplicates")), (2, 0, 2), "{report}");
    let expected = [
        "Migrations are forward-only.",
        "Never commit secrets.",
        "Requests time out after 45 seconds.",
        "Use spaces for indentation.",
    ];
    assert_eq!(statements(&home), expected);
    let before = home.run(["history", &old, "--json"]).ok().json();
    assert_eq!(before["claim"]["status"], "superseded");
    assert_eq!(before["claim"]["replaced_by"][0], id(&home, "Requests time out after 45 seconds."));
}

#[test]
fn a_line_that_is_gone_retires_its_claim_and_a_moved_one_keeps_its_id() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    import(&home, FIRST);
    let (kept, gone) = (id(&home, "Migrations are forward-only."), id(&home, "Never commit secrets."));
    let text = "# Rules\n\n- Migrations are forward-only.\n- Requests time out after 20 seconds.\n- Use tabs for indentation.\n";
    let report = import(&home, text);
    assert_eq!((many(&report, "stored"), many(&report, "retired"), many(&report, "duplicates")), (0, 1, 3), "{report}");
    assert_eq!(id(&home, "Migrations are forward-only."), kept);
    let closed = home.run(["history", &gone, "--json"]).ok().json();
    assert_eq!(closed["claim"]["status"], "retracted");
    assert_eq!(closed["claim"]["closing_reason"], "No longer in AGENTS.md.");
    std::fs::write(home.work().join("AGENTS.md"), FIRST).unwrap();
    let shown = home.run(["import", "rules", "AGENTS.md", "--dry-run"]).ok();
    assert!(shown.stdout.contains("0 new, 1 returned, 0 changed"), "{shown:?}");
    let report = import(&home, FIRST);
    assert_eq!((many(&report, "stored"), many(&report, "reinstated")), (0, 1), "{report}");
    assert_eq!(id(&home, "Never commit secrets."), gone, "a line that returns has its claim again");
    home.run(["undo", "--import", report["import"].as_str().unwrap()]).ok();
    assert!(!statements(&home).contains(&"Never commit secrets.".to_owned()));
}

#[test]
fn a_line_that_is_changed_and_changed_back_between_imports_has_its_claim_again() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    import(&home, FIRST);
    let first = id(&home, "Requests time out after 20 seconds.");
    let other = FIRST.replace("20 seconds", "45 seconds");
    assert_eq!(many(&import(&home, &other), "stored"), 1);
    let report = import(&home, FIRST);
    assert_eq!((many(&report, "stored"), many(&report, "reinstated"), many(&report, "retired")), (0, 1, 1), "{report}");
    assert_eq!((id(&home, "Requests time out after 20 seconds."), active(&home).len()), (first, 4));
}

#[test]
fn the_difference_is_shown_as_a_table_and_nothing_is_stored() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    import(&home, FIRST);
    let before = active(&home);
    let text = "# Rules\n\n- Never commit secrets.\n- Requests time out after 45 seconds.\n- Use tabs for indentation.\n- Tests run in CI.\n";
    std::fs::write(home.work().join("AGENTS.md"), text).unwrap();
    let report = home.run(["import", "rules", "AGENTS.md", "--dry-run"]).ok().stdout;
    for (change, statement) in
        [("moved", "Never commit secrets."), ("changed", "45 seconds"), ("removed", "Migrations are")]
    {
        let line =
            report.lines().find(|line| line.starts_with(change)).unwrap_or_else(|| panic!("{change}:\n{report}"));
        assert!(line.contains(statement), "{report}");
    }
    assert!(report.contains("1 changed, 1 moved") && report.contains("Nothing was stored."), "{report}");
    assert_eq!(active(&home), before);
}

#[test]
fn a_dry_run_says_what_the_guard_would_refuse_and_stores_nothing() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.run(["remember", "Use spaces for indentation.", "--reason", "Diffs stay readable."]).ok();
    std::fs::write(home.work().join("AGENTS.md"), FIRST).unwrap();
    let report = home.run(["import", "rules", "AGENTS.md", "--dry-run"]).ok().stdout;
    assert!(report.contains("Would be refused: AGENTS.md:") && report.contains("against     Use spaces"), "{report}");
    assert!(report.contains("The guard would refuse 1 and warn of 0."), "{report}");
    let report = home.run(["import", "rules", "AGENTS.md", "--dry-run", "--json"]).ok().json();
    assert_eq!(report["guard"][0]["would_be"], "refused", "{report}");
    assert_eq!(home.run(["inbox", "--json"]).ok().json()["total"], 0, "no card either");
    assert_eq!(active(&home).len(), 1);
}

#[test]
fn a_dry_run_counts_the_lines_of_a_file_like_a_scan() {
    let home = TestHome::new();
    git(&home.work(), &["init", "-q"]);
    let _daemon = home.daemon();
    for (statement, kind) in [("Use spaces for indentation.", "convention"), ("Never commit secrets.", "constraint")] {
        home.run(["remember", statement, "--kind", kind, "--reason", "We decided so."]).ok();
    }
    std::fs::write(home.work().join("AGENTS.md"), format!("{FIRST}- Migrations are forward-only.\n")).unwrap();
    let report = home.run(["import", "rules", "AGENTS.md", "--dry-run"]).ok().stdout;
    let counts = "2 new, 0 changed, 0 moved, 0 removed, 0 unchanged, 2 already stored; 0 lines skipped.";
    assert!(report.contains(&format!("{counts} The guard would refuse 1 and")), "{report}");
    home.run(["notes", "add", "AGENTS.md"]).ok();
    let run = home.run(["notes", "scan", "--json"]).ok().json();
    let counts = ["stored", "known", "refused"].map(|count| run[count].as_u64().unwrap());
    assert_eq!(counts, [2, 2, 1], "{run}");
}

#[test]
fn an_untouched_file_is_not_compared_until_its_import_is_undone() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let first = import(&home, FIRST);
    let again = import(&home, FIRST);
    assert_eq!((again["untouched"][0].as_str(), many(&again, "duplicates")), (Some("AGENTS.md"), 0), "{again}");
    home.run(["undo", "--import", first["import"].as_str().unwrap()]).ok();
    assert_eq!(statements(&home).len(), 0);
    assert_eq!(many(&import(&home, FIRST), "stored"), 4);
}

#[test]
fn a_file_is_compared_again_when_the_import_of_some_of_its_lines_is_undone() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let first = import(&home, FIRST);
    let text = format!("{FIRST}- Tests run in CI.\n");
    assert_eq!(many(&import(&home, &text), "stored"), 1);
    assert_eq!(many(&import(&home, &text), "untouched"), 1);
    home.run(["undo", "--import", first["import"].as_str().unwrap()]).ok();
    assert_eq!(statements(&home), ["Tests run in CI."]);
    let again = import(&home, &text);
    assert_eq!((many(&again, "stored"), many(&again, "duplicates")), (4, 1), "{again}");
    assert_eq!(many(&import(&home, &text), "untouched"), 1, "the claims of the undone import are forgotten");
}

#[test]
fn an_undo_takes_back_one_import_alone() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let first = import(&home, FIRST);
    let second = import(
        &home,
        "# Rules\n\n- Requests time out after 45 seconds.\n- Use tabs for indentation.\n- Never commit secrets.\n",
    );
    assert_ne!(first["import"], second["import"]);
    assert_eq!(statements(&home).len(), 3);
    home.run(["undo", "--import", second["import"].as_str().unwrap()]).ok();
    let expected = [
        "Migrations are forward-only.",
        "Never commit secrets.",
        "Requests time out after 20 seconds.",
        "Use tabs for indentation.",
    ];
    assert_eq!(statements(&home), expected);
}

#[test]
fn what_a_person_wrote_or_closed_is_left_alone() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    import(&home, FIRST);
    // A person's claim that names the same file, and a claim that a person withdrew.
    home.run(["remember", "Review every change.", "--reason", "Bugs.", "--source", "AGENTS.md:3"]).ok();
    home.run(["retract", &id(&home, "Use tabs for indentation."), "--reason", "Nobody does."]).ok();
    remember(&home, "Ada leads.", "She asked.");
    let report = import(&home, &format!("{FIRST}- Tests run in CI.\n"));
    assert_eq!((many(&report, "stored"), many(&report, "retired")), (1, 0), "{report}");
    let now = statements(&home);
    assert!(now.contains(&"Review every change.".to_owned()) && now.contains(&"Ada leads.".to_owned()), "{now:?}");
    assert!(!now.contains(&"Use tabs for indentation.".to_owned()), "{now:?}");
}

#[test]
fn what_ergo_wrote_into_the_file_does_not_come_back() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let claim = remember(&home, "Never deploy on Fridays.", "The team is away.");
    std::fs::write(home.work().join("AGENTS.md"), "# Rules\n\n- Use tabs for indentation.\n").unwrap();
    home.run(["export", "agents", "AGENTS.md"]).ok();
    home.run(["retract", &claim, "--reason", "We do."]).ok();
    home.run(["import", "rules", "AGENTS.md"]).ok();
    assert_eq!(statements(&home), ["Use tabs for indentation."]);
}

#[test]
fn a_large_import_shows_what_it_would_store_before_it_does() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let words = ["billing", "search", "orders", "mail", "login", "cart"];
    let rules: Vec<String> =
        (0..30).map(|n| format!("- Service {} number {n} owns its table.\n", words[n % 6])).collect();
    let rules = rules.concat();
    std::fs::write(home.work().join("AGENTS.md"), format!("# Rules\n\n{rules}\n```\ncode\n```\n")).unwrap();
    let report = home.run(["import", "rules", "AGENTS.md"]).ok().stdout;
    assert!(report.starts_with("30 convention") && report.contains("1 skipped: code"), "{report}");
    std::fs::write(home.work().join("AGENTS.md"), format!("# Rules\n\n{}", rules.replace("owns", "keeps"))).unwrap();
    let report = home.run(["import", "rules", "AGENTS.md", "--yes"]).ok().stdout;
    assert!(!report.starts_with("30 convention"), "{report}");
}

#[test]
fn files_of_two_repositories_have_imports_and_claims_of_their_own() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut numbers = Vec::new();
    for (folder, rule) in [("one", "Use tabs for indentation."), ("two", "Migrations are forward-only.")] {
        let folder = home.work().join(folder);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("AGENTS.md"), format!("# Rules\n\n- {rule}\n")).unwrap();
        let output = home
            .command(["import", "rules", "AGENTS.md", "--scope", "acme/both", "--json"])
            .current_dir(&folder)
            .output()
            .unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((many(&report, "stored"), many(&report, "retired")), (1, 0), "{report}");
        numbers.push(report["import"].as_str().unwrap().to_owned());
    }
    assert_ne!(numbers[0], numbers[1]);
    let total = |home: &TestHome| home.run(["claims", "--scope", "acme/both", "--json"]).ok().json()["total"].clone();
    assert_eq!(total(&home), 2);
    home.run(["undo", "--import", &numbers[1]]).ok();
    assert_eq!(total(&home), 1);
}

#[test]
fn what_was_stored_before_the_daemon_died_is_recorded_as_imported() {
    let home = TestHome::new();
    let rules = |folder: &str, text: &str| {
        let folder = home.work().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("AGENTS.md"), text).unwrap();
        home.command(["import", "rules", "AGENTS.md", "--scope", "acme/both", "--json"])
            .current_dir(folder)
            .output()
            .unwrap()
    };
    let total = || home.run(["claims", "--scope", "acme/both", "--json"]).ok().json()["total"].as_u64().unwrap();
    let mut stored = 0;
    for nth in 2..20 {
        let mut daemon = home.daemon_that_dies_at(&format!("commit #{nth}"));
        until("it answers or is dead", || !daemon.alive() || block_on(home.client().health()).is_ok());
        if !daemon.alive() {
            continue;
        }
        let import = rules("one", FIRST);
        daemon.kill();
        assert!(!import.status.success(), "the daemon died meanwhile");
        let _daemon = home.daemon();
        stored = total();
        if stored > 1 {
            break;
        }
    }
    assert!((2..4).contains(&stored), "{stored}");
    let _daemon = home.daemon();
    let report = rules("two", "# Rules\n\n- Backups are encrypted.\n");
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    // The answer about the last one may have been lost with the daemon.
    let retired = many(&report, "retired");
    assert!(many(&report, "stored") == 1 && retired <= 1, "{report}");
    assert_eq!(total(), stored + 1 - retired as u64);
}

#[test]
fn a_damaged_record_of_imports_is_an_error_and_stays() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    import(&home, FIRST);
    let record = home.paths().state.join("imports.json");
    std::fs::write(&record, "{ damaged").unwrap();
    std::fs::write(home.work().join("AGENTS.md"), "# Rules\n\n- Never commit secrets.\n").unwrap();
    let refused = home.run(["import", "rules", "AGENTS.md"]);
    assert!(refused.code == Some(4) && refused.stderr.contains("imports.json is damaged"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&record).unwrap(), "{ damaged");
    assert_eq!(statements(&home).len(), 4, "nothing was retracted");
    std::fs::remove_file(&record).unwrap();
    home.run(["import", "rules", "AGENTS.md"]).ok();
    assert_eq!(statements(&home), ["Never commit secrets."]);
}

#[test]
fn a_claim_stays_while_another_imported_file_has_its_line() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let write = |name: &str, text: &str| std::fs::write(home.work().join(name), text).unwrap();
    let kept = "Test payment code.".to_owned();
    write("CLAUDE.md", "- Never commit secrets.\n- Test payment code.\n");
    write("AGENTS.md", "- Test payment code.\n");
    home.run(["import", "rules", "CLAUDE.md", "AGENTS.md"]).ok();
    write("CLAUDE.md", "- Never commit secrets.\n");
    let dry = home.run(["import", "rules", "CLAUDE.md", "--dry-run"]).ok().stdout;
    assert!(dry.contains("0 removed, 1 unchanged; 1 line skipped"), "{dry}");
    let report = home.run(["import", "rules", "CLAUDE.md", "--json"]).ok().json();
    assert_eq!(many(&report, "retired"), 0, "{report}");
    assert!(report["skipped"][0]["why"].as_str().unwrap().contains("still in AGENTS.md"), "{report}");
    assert!(statements(&home).contains(&kept));
    write("AGENTS.md", "- Use tabs for indentation.\n");
    home.run(["import", "rules", "AGENTS.md"]).ok();
    let report = home.run(["import", "rules", "CLAUDE.md", "--json"]).ok().json();
    assert_eq!(many(&report, "retired"), 1, "the unchanged file is compared again: {report}");
    assert!(!statements(&home).contains(&kept));
}

#[test]
fn contrary_lines_that_change_places_between_two_files_reverse_nothing() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let write = |name: &str, text: &str| std::fs::write(home.work().join(name), text).unwrap();
    write("CLAUDE.md", "- Tests must use a fixed port.\n- Never commit secrets.\n");
    write("AGENTS.md", "- Tests must not use a fixed port.\n- Use tabs for indentation.\n");
    let files = ["import", "rules", "CLAUDE.md", "AGENTS.md", "--json"];
    let report = home.run(files).ok().json();
    assert_eq!((many(&report, "stored"), many(&report, "refused")), (3, 1), "{report}");
    let before = statements(&home);
    write("CLAUDE.md", "- Tests must not use a fixed port.\n- Never commit secrets.\n");
    write("AGENTS.md", "- Tests must use a fixed port.\n- Use tabs for indentation.\n");
    let report = home.run(files).ok().json();
    assert_eq!((many(&report, "stored"), many(&report, "refused"), many(&report, "retired")), (0, 1, 0), "{report}");
    assert_eq!(statements(&home), before);
}
