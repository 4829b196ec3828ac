//! `ergo inbox`, and the whole review as lines.

use super::{super::support::TestHome, refused, remember, run_with_stdin, transcript};

/// A home with a card, a claim that needs review, and a claim that an agent stored past a block.
fn busy() -> (TestHome, super::super::support::Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    refused(&home);
    let premise = remember(&home, "We deploy on green CI", "Red builds broke production.");
    let rests =
        ["remember", "Hotfixes need one review as well", "--reason", "CI is not enough.", "--depends-on", &premise];
    home.run(rests).ok();
    home.run(["supersede", &premise, "We deploy on green CI and a review", "--reason", "A green build was bad."]).ok();
    let forced = home
        .command(["remember", "The canary must be green.", "--reason", "Calm.", "--force-exception", "One week only."])
        .env("ERGO_AGENT", "claude")
        .output()
        .unwrap();
    assert!(forced.status.success(), "{forced:?}");
    (home, daemon)
}

#[test]
fn the_inbox_is_shown_in_its_groups_with_what_to_do_next() {
    let (home, _daemon) = busy();
    insta::assert_snapshot!("inbox", transcript(&home.run(["inbox"]).ok()));
    let json = home.run(["inbox", "--json"]).ok().json();
    let groups: Vec<_> = json["groups"].as_array().unwrap().iter().map(|group| group["group"].clone()).collect();
    assert_eq!(groups, ["refused", "by_agents", "needs_review"]);
    assert_eq!((json["total"].as_u64(), json["next"]["group"].as_str()), (Some(3), Some("refused")));
    let next = json["next"]["command"].as_str().unwrap();
    let mut words = next.split(' ').skip(1);
    assert_eq!(words.next(), Some("resolve"), "{next}");
    let card = words.next().unwrap();
    assert_eq!(run_with_stdin(&home, &["resolve", card, "--discard", "--reason", "Blue stands."], "").code, Some(0));
    assert_eq!(home.run(["inbox", "--json"]).ok().json()["next"]["group"], "by_agents", "then next");
    assert_eq!(home.run(["inbox", "--scope", "acme/elsewhere", "--json"]).ok().json()["total"], 0);
    insta::assert_snapshot!("inbox_empty", transcript(&home.run(["inbox", "--scope", "acme/elsewhere"]).ok()));
}

#[test]
fn rows_name_their_scope_if_there_are_several() {
    let (home, _daemon) = busy();
    assert!(!home.run(["inbox"]).ok().stdout.contains("acme/elsewhere"));
    let scope = ["--scope", "acme/elsewhere"];
    let made = home.run([&["remember", "Tea is at four.", "--reason", "Rest.", "--json"], &scope[..]].concat()).ok();
    let id = made.json()["claim_id"].as_str().unwrap().to_owned();
    let retract = [&["retract", &id, "--reason", "Nobody came."], &scope[..]].concat();
    home.command(retract).env("ERGO_AGENT", "claude").output().unwrap();
    let all = home.run(["inbox"]).ok().stdout;
    assert!(all.contains(" acme/elsewhere: "), "{all}");
    assert!(!home.run([&["inbox"], &scope[..]].concat()).ok().stdout.contains("acme/elsewhere: "));
}

#[test]
fn the_whole_review_is_printed_where_nobody_answers() {
    let (home, _daemon) = busy();
    let plain = home.run(["tui", "--plain", "--color", "always"]).ok();
    assert!(!plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'), "{plain:?}");
    assert!(!plain.stdout.contains(['│', '╭', '─', '▌']), "{plain:?}");
    insta::assert_snapshot!("plain_whole", transcript(&plain));
    assert_eq!(home.run(["inbox", "--json"]).ok().json()["total"], 3, "printing settles nothing");
    let json = home.run(["tui", "--plain", "--json"]).ok().json();
    assert_eq!(json["total"], 3);
}

#[test]
fn everything_is_settled_line_by_line() {
    let (home, _daemon) = busy();
    // A wrong answer, help, why, then: discard the card, look at the exception, and say that the other still holds.
    let lines = "D\n\n?\nfrob\nw\nv\n\nv\nI asked around.\n";
    let output = run_with_stdin(&home, &["tui", "--plain"], lines);
    insta::assert_snapshot!("plain_conversation", transcript(&output));
    assert_eq!(home.run(["inbox", "--json"]).ok().json()["total"], 0);
    let done = run_with_stdin(&home, &["tui", "--plain"], "");
    assert_eq!(done.code, Some(0));
    assert!(done.stdout.contains("Nothing needs attention"), "{done:?}");
}

#[test]
fn the_review_as_lines_ends_as_it_went() {
    let (home, daemon) = busy();
    assert_eq!(run_with_stdin(&home, &["tui", "--plain"], "q\n").code, Some(0));
    assert_eq!(home.run(["tui", "--plain", "--conflict", "ffff"]).code, Some(2), "no such card");
    assert_eq!(home.run(["tui", "--plain", "--read-only"]).code, Some(0));
    drop(daemon);
    assert_eq!(home.run(["tui", "--plain", "--no-spawn"]).code, Some(3), "no daemon");
}
