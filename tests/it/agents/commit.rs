use std::{fs, os::unix::fs::PermissionsExt};

use crate::support::{TestHome, git};

#[test]
fn a_commit_that_breaks_a_constraint_or_meets_a_conflict_is_reported() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    git(&home.work(), &["init", "-q"]);
    let clean = home.run(["commit-check"]).ok().stdout;
    assert!(clean.contains("Passed: no open conflicts"), "{clean}");
    assert!(home.run(["commit-check"]).ok().stderr.contains("no constraint is stored here"));

    let remember =
        |statement: &str, kind: &str| home.run(["remember", statement, "--kind", kind, "--reason", "Agreed."]);
    remember("Never use lodash.", "constraint").ok();
    remember("Never edit files under vendor/.", "constraint").ok();
    fs::write(home.work().join("package.json"), "{\"dependencies\": {\n\"lodash\": \"4\"\n}}\n").unwrap();
    fs::create_dir(home.work().join("vendor")).unwrap();
    fs::write(home.work().join("vendor/a.c"), "x\n").unwrap();
    assert_eq!(home.run(["commit-check"]).code, Some(0), "nothing is staged");
    git(&home.work(), &["add", "."]);
    let output = home.run(["commit-check"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    for part in [
        "package.json:2: forbidden package lodash",
        "Never use lodash.",
        "because: Agreed.",
        "vendor/a.c: change to the protected path vendor/",
        "ergo supersede",
    ] {
        assert!(output.stdout.contains(part), "{part} is not in\n{}", output.stdout);
    }
    let warned = home.run(["commit-check", "--warn-only"]).ok().stdout;
    assert!(warned.contains("lodash"));
    let json = home.run(["commit-check", "--json"]).json();
    assert_eq!(json["broken"].as_array().unwrap().len(), 2, "{json}");

    // A constraint of the organisation holds in each of its projects.
    let scope =
        home.run(["scopes", "--json"]).json()["items"][0]["scope"]["org_id"].as_str().unwrap().to_owned() + "/*";
    let everywhere =
        ["remember", "Never use moment.", "--kind", "constraint", "--reason", "Agreed.", "--scope", &scope];
    home.run(everywhere).ok();
    fs::write(home.work().join("package.json"), "{\"dependencies\": {\n\"moment\": \"4\"\n}}\n").unwrap();
    git(&home.work(), &["add", "."]);
    let output = home.run(["commit-check"]);
    assert!(output.code == Some(1) && output.stdout.contains("forbidden package moment"), "{output:?}");

    git(&home.work(), &["commit", "-qm", "x"]);
    fs::write(home.work().join("other.txt"), "y\n").unwrap();
    git(&home.work(), &["add", "."]);
    home.run(["commit-check"]).ok();

    // A claim that has become valid is checked, one of another environment is not, and the count shows it.
    let limited = |statement: &str, limit: [&str; 2]| {
        let always = ["remember", statement, "--kind", "constraint", "--reason", "Agreed."];
        home.run(always.into_iter().chain(limit)).ok();
    };
    limited("Never use underscore.", ["--from", "2024-05-01"]);
    limited("Never use jquery.", ["--env", "staging"]);
    let clean = home.run(["commit-check"]).ok().stdout;
    assert!(clean.contains("4 constraints checked; 1 skipped, which is limited to an environment"), "{clean}");
    fs::write(home.work().join("package.json"), "{\"dependencies\": {\n\"underscore\": \"1\"\n}}\n").unwrap();
    git(&home.work(), &["add", "package.json"]);
    let output = home.run(["commit-check"]);
    assert!(output.code == Some(1) && output.stdout.contains("forbidden package underscore"), "{output:?}");
    git(&home.work(), &["commit", "-qm", "y"]);

    // A name with a hyphen is found, and what cannot be checked is not counted as checked.
    remember("Never use left-pad.", "constraint").ok();
    remember("Do not guess what a user wants.", "constraint").ok();
    let clean = home.run(["commit-check"]).ok().stdout;
    assert!(clean.contains("5 constraints checked; 1 skipped") && clean.contains("1 cannot be checked"), "{clean}");
    let ignored = home.run(["commit-check", "--no-conflicts", "--json"]).ok().json();
    let not_checked = ignored["not_checked"].as_array().unwrap();
    let unchecked = |why: &str| not_checked.iter().find(|one| one["why"] == why).unwrap()["statement"].clone();
    assert_eq!(unchecked("not_comparable"), "Do not guess what a user wants.");
    assert_eq!(unchecked("limited"), "Never use jquery.");
    fs::write(home.work().join("package.json"), "{\"dependencies\": {\n\"left-pad\": \"1\"\n}}\n").unwrap();
    git(&home.work(), &["add", "package.json"]);
    let output = home.run(["commit-check"]);
    assert!(output.code == Some(1) && output.stdout.contains("forbidden package left-pad"), "{output:?}");
    git(&home.work(), &["commit", "-qm", "z"]);
    remember("Use PostgreSQL for billing.", "decision").ok();
    assert_eq!(remember("Do not use PostgreSQL for billing.", "decision").code, Some(1));
    let output = home.run(["commit-check"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains("1 open conflict in"), "{}", output.stdout);
    home.run(["commit-check", "--no-conflicts"]).ok();
    let wrong = home.run(["commit-check", "--base", "no-such-branch"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("git diff"), "{}", wrong.stderr);
    std::fs::remove_dir_all(home.work().join(".git")).unwrap();
    for args in [&["commit-check"][..], &["commit-check", "--base", "main"]] {
        let outside = home.run(args);
        assert!(outside.code == Some(2) && outside.stderr.contains("not in a git repository"), "{outside:?}");
        assert!(outside.stderr.contains("--diff FILE") && !outside.stderr.contains("usage"), "{outside:?}");
    }
}

#[test]
fn a_protected_path_is_protected_from_changes_without_lines() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let work = home.work();
    git(&work, &["init", "-q"]);
    for folder in ["vendor", "übersicht"] {
        let statement = format!("Never edit files under {folder}/.");
        home.run(["remember", &statement, "--kind", "constraint", "--reason", "Agreed."]).ok();
        fs::create_dir(work.join(folder)).unwrap();
    }
    fs::write(work.join("vendor/lib.so"), b"a\0b").unwrap();
    fs::write(work.join("vendor/empty file"), "").unwrap();
    fs::write(work.join("übersicht/x"), "y\n").unwrap();
    git(&work, &["add", "."]);
    let output = home.run(["commit-check"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    for file in ["vendor/lib.so: change", "vendor/empty file: change", "übersicht/x: change"] {
        assert!(output.stdout.contains(file), "{file} is not in\n{}", output.stdout);
    }
    git(&work, &["commit", "-qm", "x"]);
    fs::set_permissions(work.join("vendor/lib.so"), fs::Permissions::from_mode(0o755)).unwrap();
    git(&work, &["add", "."]);
    let output = home.run(["commit-check"]);
    assert!(output.code == Some(1) && output.stdout.contains("vendor/lib.so: change"), "{output:?}");
}

#[test]
fn plain_bans_are_checked_and_a_clean_up_or_a_move_is_no_violation() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let work = home.work();
    git(&work, &["init", "-q"]);
    fs::create_dir_all(work.join("web/dist")).unwrap();
    fs::write(work.join("legacy.ts"), "import moment from 'moment';\n").unwrap();
    fs::write(work.join("web/dist/old.js"), "x\n").unwrap();
    git(&work, &["add", "."]);
    git(&work, &["commit", "-qm", "x"]);
    for statement in [
        "Never use `moment`.",
        "Never commit files under `web/dist`.",
        "Never add `lodash` as a dependency.",
        "Do not add `left-pad` to the dependencies.",
        "TypeScript must not use `any`.",
        "Do not use `@ts-nocheck` in TypeScript.",
    ] {
        home.run(["remember", statement, "--kind", "constraint", "--reason", "Agreed."]).ok();
    }
    git(&work, &["mv", "legacy.ts", "old.ts"]);
    git(&work, &["rm", "-q", "web/dist/old.js"]);
    let clean = home.run(["commit-check", "--json"]).ok().json();
    assert_eq!((clean["checked"].as_u64(), clean["not_checked"].as_array().unwrap().len()), (Some(6), 0), "{clean}");

    fs::write(work.join("package.json"), "{\"dependencies\": {\n\"lodash\": \"4\",\n\"left-pad\": \"1\"\n}}\n")
        .unwrap();
    fs::write(work.join("a.ts"), "// @ts-nocheck\nlet x: any;\n").unwrap();
    git(&work, &["add", "."]);
    let output = home.run(["commit-check"]);
    for part in ["forbidden package lodash", "forbidden package left-pad", "word `any`", "word `@ts-nocheck`"] {
        assert!(output.code == Some(1) && output.stdout.contains(part), "{part} is not in\n{}", output.stdout);
    }
}

#[test]
fn what_the_project_excepted_is_reported_as_allowed_and_what_it_narrowed_is_not_checked() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    git(&home.work(), &["init", "-q"]);
    fs::write(home.work().join("package.json"), "{\"dependencies\": {\n\"moment\": \"4\"\n}}\n").unwrap();
    git(&home.work(), &["add", "."]);
    let rule = ["remember", "Never use moment.", "--kind", "constraint", "--reason", "Agreed.", "--json"];
    let rule = home.run(rule.iter().chain(&["--scope", "claude-code/*"])).ok().json();
    let rule = rule["claim_id"].as_str().unwrap();
    assert_eq!(home.run(["commit-check"]).code, Some(1));

    let exception = ["remember", "The kiosk uses moment.", "--reason", "It is old.", "--force-exception", "One year."];
    home.run(exception.iter().chain(&["--exception-to", rule])).ok();
    let allowed = home.run(["commit-check"]).ok().stdout;
    for part in ["forbidden package moment", "allowed, by an exception to", "The kiosk uses moment.", "Passed:"] {
        assert!(allowed.contains(part), "{part} is not in\n{allowed}");
    }
    let json = home.run(["commit-check", "--json"]).ok().json();
    assert_eq!((json["broken"].as_array().unwrap().len(), json["allowed"].as_array().unwrap().len()), (0, 1), "{json}");
    home.run(["undo"]).ok();
    assert_eq!(home.run(["commit-check"]).code, Some(1));

    let refused = home.run(["remember", "Use moment.", "--reason", "Dates.", "--json"]).json();
    let card = refused["card_id"].as_str().unwrap();
    home.run(["resolve", card, "--narrow", "2", "--env", "production", "--reason", "Only there."]).ok();
    let narrowed = home.run(["commit-check"]).ok().stdout;
    assert!(!narrowed.contains("moment"), "{narrowed}");
}
