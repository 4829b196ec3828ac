//! Which project a folder belongs to, with a real git.

use std::path::Path;

use super::super::support::{TestHome, git};

fn run_in(home: &TestHome, folder: &Path, args: &[&str]) -> serde_json::Value {
    let output = home.command(args).arg("--json").current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn worktrees_and_subfolders_share_one_memory() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let main = home.work().join("shop");
    std::fs::create_dir_all(main.join("src/deep")).unwrap();
    git(&main, &["init", "-q"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&main, &["worktree", "add", "-q", "../feature-x"]);
    let tree = home.work().join("feature-x");

    let stored = run_in(&home, &tree, &["remember", "Prices are whole cents.", "--reason", "Floats lost money."]);
    assert_eq!(stored["scope"]["project"], "shop");
    for folder in [&main, &main.join("src/deep"), &tree] {
        let answer = run_in(&home, folder, &["claims"]);
        assert_eq!(answer["total"], 1, "{}", folder.display());
    }
}

#[test]
fn two_projects_of_one_name_do_not_share() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (place, statement) in [("a", "Alpha is the first."), ("b", "Beta is the second.")] {
        let folder = home.work().join(place).join("api");
        std::fs::create_dir_all(&folder).unwrap();
        git(&folder, &["init", "-q"]);
        git(&folder, &["remote", "add", "origin", &format!("git@example.org:{place}/api.git")]);
        run_in(&home, &folder, &["remember", statement, "--reason", "It is so."]);
    }
    for (place, word) in [("a", "Alpha"), ("b", "Beta")] {
        let answer = run_in(&home, &home.work().join(place).join("api"), &["claims"]);
        assert_eq!(answer["total"], 1, "{answer}");
        assert!(answer["items"][0]["statement"].as_str().unwrap().starts_with(word), "{answer}");
    }
}

#[test]
fn an_import_says_once_that_another_project_has_the_name() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let folder = |place: &str| home.work().join(place).join("app");
    for place in ["a", "b"] {
        std::fs::create_dir_all(folder(place)).unwrap();
        git(&folder(place), &["init", "-q"]);
        git(&folder(place), &["remote", "add", "origin", &format!("git@example.org:{place}/app.git")]);
    }
    run_in(&home, &folder("a"), &["remember", "Alpha is the first.", "--reason", "It is so."]);
    let rules = "- Never commit secrets.\n- Use tabs for indentation.\n";
    std::fs::write(folder("b").join("CLAUDE.md"), rules).unwrap();
    for args in [&["import", "rules", "CLAUDE.md", "--dry-run"][..], &["import", "rules", "CLAUDE.md"]] {
        let output = home.command(args).current_dir(folder("b")).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(shown.matches("another project already has the name app here").count(), 1, "{shown}");
        assert!(!shown.contains("warn of") && !shown.contains("with a warning"), "{shown}");
    }
}

#[test]
fn the_flags_overrule_the_folder() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let args = ["remember", "One thing holds.", "--reason", "It does.", "--scope", "acme/web"];
    assert_eq!(run_in(&home, &home.work(), &args)["scope"]["org_id"], "acme");
    assert_eq!(run_in(&home, &home.work(), &["claims"])["total"], 0);
    assert_eq!(run_in(&home, &home.work(), &["claims", "--org", "acme", "--project", "web"])["total"], 1);
    assert_eq!(run_in(&home, &home.work(), &["claims", "--all"])["total"], 1);
}

#[test]
fn an_ingest_removes_the_deleted_files_of_its_own_project() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let folders = ["a", "b"].map(|place| home.work().join(place).join("api"));
    for folder in &folders {
        std::fs::create_dir_all(folder).unwrap();
        git(folder, &["init", "-q"]);
        for name in ["kept.md", "old.md"] {
            std::fs::write(folder.join(name), format!("{name} is in {}.\n", folder.display())).unwrap();
        }
        assert_eq!(run_in(&home, folder, &["ingest", "."])["files"], 2);
    }
    std::fs::remove_file(folders[1].join("old.md")).unwrap();
    assert_eq!(run_in(&home, &folders[1], &["ingest", "."])["gone"], 1);
    assert_eq!(run_in(&home, &folders[0], &["ingest", "."])["added"], 0, "nothing of the namesake was removed");
}

#[test]
fn a_project_keeps_its_memory_when_it_becomes_a_repository_and_gets_a_remote() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let folder = home.work().join("notes");
    std::fs::create_dir(&folder).unwrap();
    run_in(&home, &folder, &["remember", "Prices are whole cents.", "--reason", "Floats lost money."]);
    git(&folder, &["init", "-q"]);
    assert_eq!(run_in(&home, &folder, &["claims"])["total"], 1, "after git init");
    git(&folder, &["remote", "add", "origin", "git@example.org:acme/notes.git"]);
    let again = run_in(&home, &folder, &["remember", "Taxes are added last.", "--reason", "The law says so."]);
    assert_eq!(again["scope"]["project"], "notes", "{again}");
    assert_eq!(run_in(&home, &folder, &["claims"])["total"], 2, "with a remote");
}

#[test]
fn a_namesake_does_not_read_what_it_did_not_write() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let (mine, other) = (home.work().join("a/api"), home.work().join("b/api"));
    for folder in [&mine, &other] {
        std::fs::create_dir_all(folder).unwrap();
    }
    run_in(&home, &mine, &["remember", "Prices are whole cents.", "--reason", "Floats lost money."]);
    assert_eq!(run_in(&home, &other, &["claims"])["total"], 0);
}

#[test]
fn suggested_commands_name_the_scope_that_the_command_named() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (command, suggested) in [
        (&["why", "who owns billing?"][..], &["ergo claims", "ergo remember '…' --reason '…'"][..]),
        (&["recall", "who owns billing?"], &["ergo remember '…' --reason '…'"]),
        (&["claims"], &["ergo remember '…' --reason '…'", "ergo import rules CLAUDE.md"]),
        (&["log"], &["ergo remember '…' --reason '…'"]),
        (&["log", "--who", "ada"], &["ergo log"]),
    ] {
        let output = home.run([command, &["--scope", "acme/billing"]].concat());
        for suggested in suggested {
            assert!(output.stdout.contains(&format!("{suggested} --scope acme/billing")), "{command:?}: {output:?}");
        }
    }

    let in_billing = |args: &[&str]| home.run([args, &["--scope", "acme/billing"]].concat()).ok().stdout;
    let stored = |args: &[&str]| {
        let answer: serde_json::Value = serde_json::from_str(&in_billing(&[args, &["--json"]].concat())).unwrap();
        answer["claim_id"].as_str().unwrap().to_owned()
    };
    let premise = stored(&["remember", "Prices are whole cents.", "--reason", "Floats lost money."]);
    stored(&["remember", "Taxes are rounded once.", "--reason", "Cents add up.", "--depends-on", &premise]);
    let retracted = in_billing(&["retract", &premise, "--reason", "It was never so."]);
    assert!(retracted.contains("ergo claims --needs-review --scope acme/billing"), "{retracted}");
    std::fs::write(home.work().join("prices.md"), "# Prices\n\nPrices are whole cents.\n").unwrap();
    let ingested = in_billing(&["ingest", "prices.md"]);
    assert!(ingested.contains("ergo recall '…' --scope acme/billing"), "{ingested}");
}

#[test]
fn a_scope_has_two_parts_and_a_typing_error_is_pointed_out() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let remember = |scope: &str| home.run(["remember", "One thing holds.", "--reason", "It does.", "--scope", scope]);
    remember("acme/shop").ok();
    for flags in [&["--scope", "acme/shop/web"][..], &["--org", "acme", "--project", "shop/web"]] {
        let output = home.run([&["remember", "One thing holds.", "--reason", "It does."], flags].concat());
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.contains("“acme/shop/web”: expected ORG/PROJECT"), "{output:?}");
    }
    let output = remember("acme/shpo").ok();
    assert!(output.stderr.contains("The scope acme/shpo is new. Did you mean acme/shop?"), "{output:?}");
    let output = remember("acme/shpo").ok();
    assert!(!output.stderr.contains("Did you mean"), "it is known now: {output:?}");
}
