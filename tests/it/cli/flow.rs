//! The main flow on the command line: store, get a refusal, ask why, supersede, undo.

use super::{super::support::TestHome, redacted, refused, remember, transcript};

#[test]
fn an_empty_memory_names_the_next_step() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (name, args) in [
        ("claims", &["claims"][..]),
        ("why", &["why", "do we deploy on Fridays?"]),
        ("conflicts", &["conflicts"]),
        ("scopes", &["scopes"]),
        ("log", &["log"]),
        ("audit", &["audit"]),
        ("review", &["resolve", "--interactive"]),
    ] {
        insta::assert_snapshot!(format!("empty_{name}"), transcript(&home.run(args)));
    }
}

#[test]
fn a_memory_without_active_claims_names_the_others() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    remember(&home, "Deploys run at noon.", "Everyone is there.");
    let undo = |args: &[&str]| home.run([&["undo"], args].concat()).ok().stdout;
    let id = |text: &str| text.rsplit("ergo undo ").next().unwrap()[..10].to_owned();
    let first = undo(&[]);
    assert!(first.starts_with("Undid") && first.contains("# redo it"), "{first}");
    let redone = undo(&[&id(&first)]);
    assert!(redone.starts_with("Redid") && redone.contains("# undo it again"), "{redone}");
    undo(&[&id(&redone)]);
    let claims = home.run(["claims"]).ok().stdout;
    assert!(claims.contains("No active claims in") && claims.contains("--status all"), "{claims}");
    assert!(!claims.contains("first decision"), "{claims}");
}

#[test]
fn a_decision_is_stored_and_answers_why() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let output = home.run([
        "remember",
        "Deploys run only on green CI.",
        "--reason",
        "A red deploy cost us a Friday.",
        "--source",
        "docs/deploy.md:3",
    ]);
    insta::assert_snapshot!("stored", transcript(&output));
    insta::assert_snapshot!("why", transcript(&home.run(["why", "may we deploy on red CI?"])));
    insta::assert_snapshot!("claims", transcript(&home.run(["claims"])));
}

#[test]
fn a_contradiction_is_refused_with_its_reason_and_the_ways_on() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    remember(&home, "The canary must be blue.", "Red is for alarms.");
    let output = home.run(["remember", "The canary must be red.", "--reason", "Red is seen from afar."]);
    insta::assert_snapshot!("refused", transcript(&output));
    assert_eq!(home.run(["claims", "--json"]).ok().json()["total"], 1, "nothing was stored");
    assert_eq!(home.run(["conflicts", "--json"]).ok().json()["total"], 1, "and nothing was lost");
    insta::assert_snapshot!("conflicts", transcript(&home.run(["conflicts"])));
}

#[test]
fn a_guarded_kind_without_a_reason_is_wrong_usage_and_a_fact_needs_none() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let output = home.run(["remember", "Deploys run at noon."]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("reason") && output.stderr.contains("Hint:"), "{output:?}");
    home.run(["remember", "The wiki is at wiki.example.org.", "--kind", "fact"]).ok();
}

#[test]
fn a_change_of_mind_keeps_the_chain() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let old = remember(&home, "Deploys run at noon.", "Everyone is there.");
    let output = home.run(["supersede", &old[..10], "Deploys run at nine.", "--reason", "Noon is lunch."]);
    insta::assert_snapshot!("superseded", transcript(&output));
    insta::assert_snapshot!("chain", transcript(&home.run(["why", "when do deploys run?"])));
    insta::assert_snapshot!("history", transcript(&home.run(["history", &old[..10]])));

    let output = home.run(["supersede", &old[..10], "Deploys run at ten.", "--reason", "Later."]);
    assert_eq!(output.code, Some(5), "{output:?}");
    insta::assert_snapshot!("stale", transcript(&output));
}

#[test]
fn retract_reinstate_and_undo_take_things_back() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let claim = remember(&home, "Deploys run at noon.", "Everyone is there.");
    home.run(["retract", &claim, "--reason", "It was a test."]).ok();
    assert_eq!(home.run(["claims", "--json"]).json()["total"], 0);
    home.run(["undo"]).ok();
    assert_eq!(home.run(["claims", "--json"]).json()["total"], 1);
    home.run(["retract", &claim, "--reason", "It was a test."]).ok();
    home.run(["reinstate", &claim, "--reason", "It was none."]).ok();
    assert_eq!(home.run(["claims", "--json"]).json()["total"], 1);
    insta::assert_snapshot!("log", transcript(&home.run(["log"])));

    let log = home.run(["log", "--json"]).json();
    let op = log["items"][0]["op_id"].as_str().unwrap().to_owned();
    home.run(["undo", &op[..8]]).ok();
    assert_eq!(home.run(["claims", "--json"]).json()["total"], 0);
    // The id that a write printed also identifies its act.
    let claim = remember(&home, "Builds run at noon.", "Nobody is there.");
    home.run(["undo", &claim]).ok();
    assert_eq!(home.run(["claims", "--json"]).json()["total"], 0);
    let again = home.run(["undo", &claim]);
    assert!(again.code == Some(5) && again.stderr.contains("undone already, by ada"), "{again:?}");
    let output = home.run(["undo", "zz"]);
    assert_eq!(output.code, Some(2), "{output:?}");
}

#[test]
fn undo_leaves_other_scopes_alone_and_names_them() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.run(["remember", "Deploys run at noon.", "--reason", "Everyone is there.", "--scope", "acme/odd"]).ok();
    let output = home.run(["undo"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("the last one is in acme/odd"), "{output:?}");
    assert!(output.stderr.contains("`ergo undo --scope acme/odd`"), "{output:?}");
    assert_eq!(home.run(["claims", "--scope", "acme/odd", "--json"]).json()["total"], 1);
    home.run(["undo", "--scope", "acme/odd"]).ok();
    assert_eq!(home.run(["claims", "--scope", "acme/odd", "--json"]).json()["total"], 0);
}

#[test]
fn what_rests_on_a_fallen_premise_needs_review_until_someone_looked() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let premise = remember(&home, "The cluster has three nodes.", "We bought three.");
    let claim = remember(&home, "Replicas stay at two.", "One node may fail.");
    home.run(["depend", &claim, "--on", &premise]).ok();
    let output = home.run(["retract", &premise, "--reason", "We bought five."]).ok();
    assert!(output.stdout.contains("review"), "{output:?}");
    assert_eq!(home.run(["claims", "--needs-review", "--json"]).json()["total"], 1);
    home.run(["reviewed", &claim, "--reason", "Two are enough for five."]).ok();
    assert_eq!(home.run(["claims", "--needs-review", "--json"]).json()["total"], 0);
}

#[test]
fn a_redacted_text_is_gone_from_every_answer() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let claim = remember(&home, "The password is hunter2.", "It was pasted.");
    home.run(["redact", &claim, "--yes", "--reason", "A secret."]).ok();
    for args in [&["claims", "--status", "all"][..], &["why", "password"], &["log"], &["history", &claim]] {
        let output = home.run(args);
        assert!(!output.stdout.contains("hunter2"), "{args:?}: {output:?}");
    }
}

#[test]
fn what_a_person_declines_ends_with_1_and_nothing_is_changed() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let claim = remember(&home, "The password is hunter2.", "It was pasted.");
    for (args, words) in [
        (&["redact", &claim, "--reason", "A secret."][..], "Nothing was removed."),
        (&["setup", "claude-code"], "Nothing was written."),
    ] {
        let output = super::run_with_stdin(&home, args, "n\n");
        assert!(output.code == Some(1) && output.stdout.contains(words), "{output:?}");
        // No person is asked if the output is for a program, which only gets the error.
        let output = home.run(args.iter().chain(&["--json"]));
        assert!(output.code == Some(2) && output.stdout.is_empty(), "{output:?}");
        assert!(output.stderr.contains("with `--json` nobody is asked"), "{output:?}");
    }
    assert!(home.run(["claims"]).ok().stdout.contains("hunter2"));
}

#[test]
fn a_question_without_an_answer_ends_with_2_as_with_why() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    remember(&home, "Deploys run at noon.", "Everyone is there.");
    for verb in ["recall", "why"] {
        assert_eq!(home.run([verb, "which zebra paints the moon?"]).code, Some(2), "{verb}");
    }
    home.run(["recall", "when do deploys run?"]).ok();
}

#[test]
fn an_empty_list_names_its_status_and_keeps_the_filters_in_what_it_suggests() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    refused(&home);
    let settled = home.run(["conflicts", "--status", "settled"]).ok().stdout;
    assert!(settled.contains("No settled conflicts in claude-code/work."), "{settled}");
    let gone = home.run(["claims", "--status", "retracted"]).ok().stdout;
    assert!(gone.contains("No retracted claims in claude-code/work."), "{gone}");
    let filtered = home.run(["claims", "zebra", "--kind", "decision"]).ok().stdout;
    assert!(filtered.contains("ergo claims zebra --kind decision --status all"), "{filtered}");
    assert!(filtered.contains("ergo claims zebra --kind decision --all"), "{filtered}");
    let elsewhere = home.run(["conflicts", "--scope", "acme/web"]).ok().stdout;
    assert!(elsewhere.contains("ergo audit --scope acme/web"), "{elsewhere}");
    let judged = home.run(["judge", "--scope", "acme/web"]).ok().stdout;
    assert!(judged.contains("No pairs to judge in acme/web.") && judged.contains("ergo judge --all"), "{judged}");
}

#[test]
fn wrong_arguments_are_reported_as_json_when_asked_for() {
    let home = TestHome::new();
    let output = home.run(["claims", "--frob", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&output.stderr).unwrap();
    assert_eq!((output.code, &error["kind"]), (Some(2), &"usage".into()), "{error}");
    assert!(error["message"].as_str().unwrap().contains("--frob"), "{error}");
}

#[test]
fn every_answer_is_json_when_asked_for() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let card = refused(&home);
    let claim = home.run(["claims", "--json"]).json()["items"][0]["id"].as_str().unwrap().to_owned();
    for args in [
        &["claims"][..],
        &["why", "canary"],
        &["history", &claim],
        &["conflicts"],
        &["conflicts", &card],
        &["log"],
        &["scopes"],
        &["status"],
        &["audit", "--dry-run"],
        &["tui", "--plain"],
        &["remember", "The canary must be blue.", "--reason", "Red is for alarms."],
        &["undo"],
        &["judge"],
        &["export", "agents", "AGENTS.md"],
        &["setup", "claude-code", "--dry-run"],
    ] {
        let output = home.run(args.iter().chain(&["--json"])).ok();
        output.json();
        assert_eq!(output.stdout.lines().count(), 1, "in a pipe it is one line: {args:?}");
        assert!(output.stderr.is_empty(), "{args:?}: {output:?}");
    }
    assert_eq!(home.run(["status", "--json"]).json()["this_scope"]["scope"]["project"], "work");
    assert!(home.run(["why", "canary", "--json"]).json()["judgements"].is_array());
}

#[test]
fn a_pipe_gets_plain_text_and_whole_statements() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let long = format!("The canary must be blue{}.", " in every region of the world".repeat(10));
    remember(&home, &long, "Red is for alarms.");
    for args in [&["claims"][..], &["why", "canary"]] {
        let text = home.run(args).ok().stdout;
        assert!(!text.contains('\u{1b}') && text.contains(&long), "{text}");
    }
    assert!(home.run(["claims", "--color", "always"]).ok().stdout.contains('\u{1b}'));
}

#[test]
fn a_stored_claim_that_replaces_another_is_not_described_again() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let old = remember(&home, "Deploys run at noon.", "Everyone is there.");
    let new = remember(&home, "Builds run at night.", "The machines are idle.");
    for flags in [["--env", "prod"], ["--kind", "fact"], ["--source", "a.md:1"], ["--force-exception", "x"]] {
        let output = home.run(["supersede", &old, "--by", &new, "--reason", "x"].iter().chain(&flags));
        assert!(output.code == Some(2) && output.stderr.contains("cannot be used with"), "{flags:?}: {output:?}");
    }
    home.run(["supersede", &old, "--by", &new, "--reason", "The newer one covers it."]).ok();
    let help = home.run(["supersede", "--help"]).ok().stdout;
    assert!(help.contains("[default: that of the replaced claim]") && !help.contains("[default: decision]"), "{help}");
}

#[test]
fn a_quiet_write_prints_the_id_alone() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let output = home.run(["remember", "Deploys run at noon.", "--reason", "Everyone is there.", "-q"]).ok();
    assert_eq!(redacted(&output.stdout), "####__id__\n");
    let warned = home.run(["remember", "Is the port 8080?", "--reason", "Nobody knows.", "-q"]).ok();
    assert_eq!(redacted(&warned.stdout), "####__id__\n");
    assert!(warned.stderr.contains("Warning:"), "{warned:?}");
    let tried = home.run(["remember", "Builds run at night.", "--reason", "Idle machines.", "-q", "--dry-run"]).ok();
    assert_eq!(tried.stdout, "", "nothing was stored that has an id");
}

#[test]
fn a_statement_may_come_from_stdin() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    super::run_with_stdin(&home, &["remember", "-", "--reason", "Everyone is there."], "Deploys run\nat noon.\n").ok();
    let claims = home.run(["claims", "--json"]).json();
    assert_eq!(claims["items"][0]["statement"], "Deploys run\nat noon.");
}

#[test]
fn a_raw_text_is_added_and_what_holds_no_fact_says_so() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let added = home.run(["add", "Invoices are kept in Postgres.", "--json"]).ok().json();
    assert_eq!((&added["count"], &added["method"]), (&1.into(), &"fallback_no_endpoint".into()), "{added}");
    let again = home.run(["add", "Invoices are kept in Postgres.", "--json"]).ok().json();
    assert_eq!(again["stored"], added["stored"], "the same text twice doubles nothing");
    let chat = home.run(["add", "Hi, how are you?"]).ok();
    assert!(chat.stdout.contains("Nothing was stored: the text contains only questions."), "{chat:?}");
    let notes = home.path().join("work/notes");
    std::fs::create_dir_all(&notes).unwrap();
    std::fs::write(notes.join("a.md"), "# Notes\n\nThe vault is in Bonn.\n\nWhy so?\n").unwrap();
    let seeded = home.run(["seed", "--add", notes.to_str().unwrap(), "--json"]).ok().json();
    assert_eq!((&seeded["facts"], &seeded["without"]), (&1.into(), &1.into()), "{seeded}");
    let claims = home.run(["claims", "--json"]).ok().json();
    assert_eq!(claims["total"], 2);
    assert!(
        claims["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|claim| { claim["source"].as_str().is_some_and(|source| source.ends_with("a.md:3")) })
    );
}

#[test]
fn the_agent_is_on_the_record() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut command = home.command(["remember", "Deploys run at noon.", "--reason", "Everyone is there."]);
    assert!(command.env("ERGO_AGENT", "claude").output().unwrap().status.success());
    let claims = home.run(["claims", "--json"]).json();
    assert_eq!(
        (claims["items"][0]["who"].as_str(), claims["items"][0]["agent"].as_str()),
        (Some("ada"), Some("claude"))
    );
}

#[test]
fn the_first_command_starts_the_daemon() {
    let home = TestHome::new();
    remember(&home, "Deploys run at noon.", "Everyone is there.");
    assert_eq!(home.run(["status", "--json"]).ok().json()["claims"], 1);
}
