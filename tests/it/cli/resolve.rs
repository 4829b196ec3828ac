//! Settling conflicts: by a command, and line by line.

use super::{super::support::TestHome, refused, run_with_stdin, transcript};

fn statements(home: &TestHome) -> Vec<String> {
    let claims = home.run(["claims", "--json"]).ok().json();
    claims["items"].as_array().unwrap().iter().map(|claim| claim["statement"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_act_does_what_it_says() {
    let cases: [(&[&str], &[&str]); 7] = [
        (&["--keep", "1", "--reason", "Alarms are yellow now."], &["The canary must be red."]),
        (&["--keep", "2", "--reason", "Blue stands."], &["The canary must be blue."]),
        (&["--supersede", "2", "--reason", "Alarms are yellow now."], &["The canary must be red."]),
        (&["--retract", "2", "--reason", "It was never so."], &["The canary must be red."]),
        (&["--discard", "--reason", "Blue stands."], &["The canary must be blue."]),
        (&["--exception", "--reason", "For one week."], &["The canary must be blue.", "The canary must be red."]),
        (&["--dismiss", "--reason", "Two canaries."], &["The canary must be blue.", "The canary must be red."]),
    ];
    for (flags, expected) in cases {
        let home = TestHome::new();
        let _daemon = home.daemon();
        let card = refused(&home);
        home.run(["resolve", &card[..10]].iter().chain(flags)).ok();
        let mut left = statements(&home);
        left.sort();
        assert_eq!(left, expected, "{flags:?}");
        assert_eq!(home.run(["conflicts", "--json"]).json()["total"], 0, "{flags:?}");
        home.run(["undo"]).ok();
        assert_eq!(home.run(["conflicts", "--json"]).json()["total"], 1, "undo opens it again: {flags:?}");
    }
}

#[test]
fn a_narrowed_side_and_a_merged_text_settle_it_too() {
    for flags in [
        &["--narrow", "1", "--env", "staging", "--reason", "Only there."][..],
        &["--merge", "The canary must be green.", "--reason", "Neither was good."],
    ] {
        let home = TestHome::new();
        let _daemon = home.daemon();
        let card = refused(&home);
        home.run(["resolve", &card].iter().chain(flags)).ok();
        assert_eq!(home.run(["conflicts", "--json"]).json()["total"], 0, "{flags:?}");
    }
}

#[test]
fn a_refused_resolution_changes_nothing_and_names_the_claim_in_its_way() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let card = refused(&home);
    let port = home.run(["remember", "The API port must be 8080.", "--reason", "History.", "--json"]).ok().json();
    let port = &port["claim_id"].as_str().unwrap()[..10];
    let output = home.run(["resolve", &card, "--merge", "The API port must be 9090.", "--reason", "Both had a point."]);
    assert_eq!(output.code, Some(1), "{output:?}");
    let stays = format!("Nothing was changed, and card {} stays open.", &card[..10]);
    for part in [&stays, &format!("ergo supersede {port}"), &format!("ergo retract {port}")] {
        assert!(output.stdout.contains(part), "{part} is not in\n{}", output.stdout);
    }
    assert!(!output.stdout.contains("kept on card") && !output.stdout.contains("--keep 1"), "{}", output.stdout);
    assert_eq!(home.run(["conflicts", "--json"]).json()["total"], 1);
}

#[test]
fn what_is_missing_is_asked_for() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let card = refused(&home);
    for (name, args) in [
        ("no_act", &["resolve"][..]),
        ("no_place", &["resolve", &card, "--narrow", "1", "--reason", "x"]),
        ("no_reason", &["resolve", &card, "--dismiss"]),
        ("no_side", &["resolve", &card, "--keep", "7", "--reason", "x"]),
    ] {
        let output = home.run(args);
        assert_eq!(output.code, Some(2), "{output:?}");
        insta::assert_snapshot!(format!("resolve_{name}"), transcript(&output));
    }
}

#[test]
fn a_settled_card_says_by_whom_and_how_before_anything_else() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let card = refused(&home);
    home.run(["resolve", &card, "--dismiss", "--reason", "Two canaries."]).ok();
    for flags in [&["--narrow", "1", "--env", "staging"][..], &["--narrow", "1"], &["--keep", "7"], &["--no"], &[]] {
        let output = home.run(["resolve", &card].iter().chain(flags));
        let says = format!("card {} was settled by ", &card[..10]);
        assert!(output.code == Some(5) && output.stdout.contains(&says), "{flags:?}: {output:?}");
        assert!(output.stdout.contains("(dismissed as no contradiction); nothing was done"), "{flags:?}: {output:?}");
    }
    let review = home.run(["resolve", &card, "--interactive"]).ok().stdout;
    assert!(review.contains("settled") && !review.contains("to settle.") && !review.contains("1 of 1"), "{review}");
}

#[test]
fn what_an_act_would_ignore_is_refused() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let card = refused(&home);
    for (flags, words) in [
        (&["--keep", "1", "--env", "staging"][..], "`--env` works only with `--narrow` or `--merge`"),
        (&["--dismiss", "--until", "2030-01-01"], "`--until` works only with"),
        (&["--narrow", "1", "--env", "staging", "--dry-run"], "`--narrow` has no `--dry-run`"),
        (&["ffff", "--exception=2"], "`--exception=SIDE` settles one card at a time"),
        (&["ffff", "--no"], "`--no` settles one card at a time"),
    ] {
        let output = home.run(["resolve", &card, "--reason", "x"].iter().chain(flags));
        assert!(output.code == Some(2) && output.stderr.contains(words), "{flags:?}: {output:?}");
    }
    for flags in [&["--dry-run"][..], &["--keep", "1"], &["--reason", "x"], &["--env", "prod"]] {
        let output = home.run(["resolve", &card, "--interactive"].iter().chain(flags));
        assert!(output.code == Some(2) && output.stderr.contains("cannot be used with"), "{flags:?}: {output:?}");
    }
    assert_eq!(home.run(["conflicts", "--json"]).json()["total"], 1, "nothing was settled");
}

#[test]
fn what_an_agent_may_only_propose_waits_for_a_person() {
    let home = TestHome::with_settings("[guard]\nagents_may = \"propose\"\n");
    let _daemon = home.daemon();
    let claim = super::remember(&home, "The canary must be blue.", "Red is for alarms.");
    let by_agent = |args: &[&str]| {
        let output = home.command(args).env("ERGO_AGENT", "claude").output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    };
    let (code, printed) = by_agent(&["retract", &claim[..10], "--reason", "It never was."]);
    insta::assert_snapshot!("proposed", super::redacted(&printed));
    assert_eq!((code, statements(&home).len()), (Some(1), 1));
    insta::assert_snapshot!("proposal", transcript(&home.run(["conflicts"]).ok()));
    let card = home.run(["conflicts", "--json"]).json()["items"][0]["id"].as_str().unwrap().to_owned();
    let (code, printed) = by_agent(&["resolve", &card, "--retract", "1"]);
    assert!(code == Some(1) && printed.contains("a person"), "{code:?} {printed}");
    // The agent's own reason is used if the person gives none.
    home.run(["resolve", &card, "--retract", "1"]).ok();
    assert!(statements(&home).is_empty());
    let gone = home.run(["history", &claim, "--json"]).json();
    assert_eq!(gone["claim"]["closing_reason"], "It never was.");
}

#[test]
fn a_refused_agent_that_may_only_propose_is_shown_what_it_can_do() {
    let home = TestHome::with_settings("[guard]\nagents_may = \"propose\"\n");
    let _daemon = home.daemon();
    let rule = super::remember(&home, "The canary must be blue.", "Red is for alarms.");
    let by_agent = |more: &[&str]| {
        let args = ["remember", "The canary must be red.", "--reason", "It is seen from afar."];
        let output = home.command(args).args(more).env("ERGO_AGENT", "claude").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = by_agent(&[]);
    assert!(printed.contains("until a person settles it. An agent can:"), "{printed}");
    assert!(printed.contains("propose an exception") && !printed.contains("--dismiss"), "{printed}");
    let printed = by_agent(&["--exception-to", &rule, "--force-exception", "For the audit week."]);
    assert!(printed.contains("--exception  ") && printed.contains("# a person accepts the proposal"), "{printed}");
}

#[test]
fn a_snoozed_card_leaves_the_list_until_then() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let card = refused(&home);
    home.run(["resolve", &card, "--snooze", "3d"]).ok();
    assert_eq!(home.run(["conflicts", "--json"]).json()["total"], 0);
    assert_eq!(home.run(["conflicts", "--status", "snoozed", "--json"]).json()["total"], 1);
    assert_eq!(home.run(["resolve", &card, "--snooze", "yestermorrow"]).code, Some(2));
    let past = home.run(["resolve", &card, "--snooze", "2020-01-01"]);
    assert_eq!(past.code, Some(2), "{past:?}");
    assert!(past.stderr.contains("time in the past") && !past.stderr.contains("--until"), "{past:?}");
}

#[test]
fn the_placeholder_of_a_hint_is_no_statement() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let card = refused(&home);
    let output = home.run(["resolve", &card, "--merge", "…", "--reason", "Neither was good."]);
    assert!(output.code == Some(2) && output.stderr.contains("at least a word"), "{output:?}");
    let output = home.run(["resolve", &card, "--dismiss", "--reason", "…"]);
    assert!(output.code == Some(2) && output.stderr.contains("at least a word"), "{output:?}");
    assert_eq!(statements(&home), ["The canary must be blue."]);
}

#[test]
fn the_review_reads_as_a_conversation() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    refused(&home);
    let lines = "?\nw 2\nfrob\nd\n\na\nAlarms are yellow now.\n";
    let output = run_with_stdin(&home, &["resolve", "--interactive"], lines);
    insta::assert_snapshot!("review", transcript(&output));
    assert_eq!(statements(&home), ["The canary must be red."]);
}

#[test]
fn the_app_without_a_terminal_prints_the_same_review() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let card = refused(&home);
    let plain = home.run(["tui", "--plain"]).ok();
    insta::assert_snapshot!("plain", transcript(&plain));
    assert_eq!(transcript(&home.run(["tui"])), transcript(&plain), "no terminal: the same");
    insta::assert_snapshot!("plain_card", transcript(&home.run(["tui", "--conflict", &card[..10]])));
    assert_eq!(statements(&home), ["The canary must be blue."], "printing decides nothing");
    assert_eq!(home.run(["tui", "--conflict", "ffff"]).code, Some(2));
}
