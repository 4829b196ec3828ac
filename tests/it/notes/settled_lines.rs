//! Lines of followed files that the guard refused: what settling their cards, and the end of the opposing claims, does.
//! Lines that go and return.

use std::fs;

use super::{claims, number, scan, state};
use crate::support::{TestHome, git};

/// The line that the guard refuses, and the claim that opposes it.
pub(super) const PORT: &str = "Tests must not use a fixed port.";
pub(super) const OPPOSING: &str = "Tests must use a fixed port.";

/// A changed version of the refused line, which the guard refuses, too.
const CHANGED: &str = "Tests must not use a fixed port in any case.";

pub(super) const SECRETS: &str = "Never commit secrets.";
pub(super) const TABS: &str = "Use tabs for indentation.";
const MERGED: &str = "Tests use the port that the environment names.";

/// A home whose folder is a repository.
pub(super) fn repository() -> TestHome {
    let home = TestHome::new();
    git(&home.work(), &["init", "-q"]);
    home
}

/// Stores the opposing claim, and reads a file with the refused line and another one.
pub(super) fn refuse(home: &TestHome) {
    home.run(["remember", OPPOSING, "--kind", "constraint", "--reason", "firewalls"]).ok();
    let run = read(home, &[PORT, SECRETS]);
    assert_eq!((number(&run, "stored"), number(&run, "refused")), (1, 1), "{run}");
}

/// Writes the rule file of the project, follows it, and reads it.
pub(super) fn read(home: &TestHome, lines: &[&str]) -> serde_json::Value {
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}\n")).collect();
    fs::write(home.work().join("CLAUDE.md"), lines.concat()).unwrap();
    home.run(["notes", "add", "CLAUDE.md"]).ok();
    scan(home)
}

/// Settles the only open card.
pub(super) fn settle(home: &TestHome, act: &[&str]) {
    home.run(["resolve", "--reason", "We decided so."].iter().chain(act)).ok();
    assert_eq!(open_cards(home), 0);
}

pub(super) fn open_cards(home: &TestHome) -> u64 {
    home.run(["conflicts", "--json"]).ok().json()["total"].as_u64().unwrap()
}

/// The statements of the active claims, in alphabetical order.
pub(super) fn statements(home: &TestHome) -> Vec<String> {
    let mut all: Vec<String> = claims(home, "active").into_iter().map(|(_, statement)| statement).collect();
    all.sort();
    all
}

#[rstest::rstest]
#[case::the_line_wins(&["--keep", "1"], PORT, &[SECRETS])]
#[case::both_hold(&["--exception"], PORT, &[SECRETS, OPPOSING])]
#[case::the_line_is_narrowed(&["--narrow", "1", "--env", "ci"], PORT, &[SECRETS, OPPOSING])]
#[case::a_text_replaces_both(&["--merge", MERGED], MERGED, &[SECRETS])]
fn a_claim_that_settling_the_card_of_a_line_stored_is_that_of_the_line(
    #[case] act: &[&str],
    #[case] stored: &str,
    #[case] left: &[&str],
) {
    for is_read_between in [false, true] {
        let home = repository();
        let _daemon = home.daemon();
        refuse(&home);
        settle(&home, act);
        assert!(statements(&home).contains(&stored.to_owned()), "{:?}", statements(&home));
        assert_eq!(home.run(["notes", "status", "--json"]).ok().json()["files"][0]["claims"], 2);
        if is_read_between {
            let run = read(&home, &[PORT, SECRETS, TABS]);
            assert_eq!((number(&run, "refused"), number(&run, "known"), open_cards(&home)), (0, 2, 0), "{run}");
        }
        let run = read(&home, &[SECRETS]);
        assert_eq!(number(&run, "retracted"), 1 + u64::from(is_read_between), "{run}");
        assert_eq!(statements(&home), left);
    }
}

#[test]
fn a_line_whose_card_was_settled_against_it_is_tried_again_once_it_changes() {
    let home = repository();
    let _daemon = home.daemon();
    refuse(&home);
    settle(&home, &["--discard"]);
    home.run(["undo"]).ok();
    assert_eq!((number(&scan(&home), "refused"), open_cards(&home)), (0, 1), "the card waits again");
    settle(&home, &["--keep", "2"]);
    let status = home.run(["notes", "status"]).ok();
    assert!(status.stdout.contains("1 line was decided against"), "{status:?}");
    assert_eq!(state(&home, 0), "line_declined");
    assert_eq!(home.run(["notes", "check"]).code, Some(1), "both name the line");
    home.run(["remember", "Tests must always use a fixed port.", "--reason", "firewalls"]);
    let run = read(&home, &[PORT, SECRETS, TABS]);
    assert_eq!((number(&run, "refused"), open_cards(&home)), (0, 0), "{run}");
    let run = read(&home, &[CHANGED, SECRETS, TABS]);
    assert_eq!((number(&run, "refused"), open_cards(&home)), (1, 1), "{run}");
}

#[test]
fn a_refused_line_is_tried_again_once_the_claim_that_opposed_it_is_no_longer_active() {
    for end in [
        &["retract", "--reason", "It was never right."][..],
        &["supersede", "Tests are run by ci.", "--reason", "The firewall is gone."],
    ] {
        let home = repository();
        let _daemon = home.daemon();
        refuse(&home);
        let opposing = claims(&home, "active").into_iter().find(|(_, statement)| statement == OPPOSING).unwrap().0;
        assert_eq!(number(&scan(&home), "refused"), 0, "an unchanged file is not read again");
        home.run([end[0], &opposing].iter().chain(&end[1..])).ok();
        let run = scan(&home);
        assert_eq!((number(&run, "stored"), number(&run, "changed_files"), open_cards(&home)), (1, 0, 0), "{run}");
        assert!(statements(&home).contains(&PORT.to_owned()), "{:?}", statements(&home));
    }
}

#[test]
fn a_declined_line_is_stored_once_the_claim_that_opposed_it_is_no_longer_active() {
    for end in [
        &["retract", "--reason", "It was never right."][..],
        &["supersede", "Tests are run by ci.", "--reason", "The firewall is gone."],
    ] {
        let home = repository();
        let _daemon = home.daemon();
        refuse(&home);
        settle(&home, &["--keep", "2"]);
        assert_eq!((number(&scan(&home), "stored"), state(&home, 0)), (0, "line_declined".to_owned()));
        let opposing = claims(&home, "active").into_iter().find(|(_, statement)| statement == OPPOSING).unwrap().0;
        home.run([end[0], &opposing].iter().chain(&end[1..])).ok();
        let status = home.run(["notes", "status"]).ok();
        assert!(status.stdout.contains("the next scan tries 1 refused line again"), "{status:?}");
        assert_eq!(state(&home, 0), "changed_there");
        let run = scan(&home);
        assert_eq!((number(&run, "stored"), number(&run, "changed_files"), open_cards(&home)), (1, 0, 0), "{run}");
        assert!(statements(&home).contains(&PORT.to_owned()), "{:?}", statements(&home));
        assert_eq!((state(&home, 0), home.run(["notes", "check"]).code), ("in_step".to_owned(), Some(0)));
    }
}

#[test]
fn status_and_check_agree_about_a_narrowed_line_and_about_a_write_that_a_line_opposes() {
    let home = repository();
    let _daemon = home.daemon();
    read(&home, &[PORT, SECRETS]);
    home.run(["remember", OPPOSING, "--reason", "firewalls"]);
    assert_eq!(open_cards(&home), 1);
    let both = || (state(&home, 0), home.run(["notes", "check"]).code);
    assert_eq!(both(), ("in_step".to_owned(), Some(0)), "the file contradicts no stored claim");
    settle(&home, &["--narrow", "2", "--env", "ci"]);
    assert_eq!(both(), ("in_step".to_owned(), Some(0)), "the narrowed claim is that of the line");
}

#[test]
fn a_narrowed_claim_is_still_that_of_its_line_in_a_file_that_was_not_read_since() {
    let home = repository();
    let _daemon = home.daemon();
    refuse(&home);
    settle(&home, &["--narrow", "1", "--env", "ci"]);
    let before = port_claim(&home);
    home.run(["notes", "remove", "CLAUDE.md"]).ok();
    home.run(["notes", "check", "CLAUDE.md"]).ok();
    let run = read(&home, &[PORT, SECRETS]);
    assert_eq!((number(&run, "refused"), number(&run, "known"), open_cards(&home)), (0, 2, 0), "{run}");
    assert_eq!(port_claim(&home), before);
    read(&home, &[SECRETS]);
    assert_eq!(statements(&home), [SECRETS, OPPOSING], "the claim ends with its line");
}

#[test]
fn a_changed_line_that_was_refused_still_replaces_its_earlier_claim_or_ends_it() {
    for is_removed in [false, true] {
        let home = repository();
        let _daemon = home.daemon();
        read(&home, &["Tests must not use a slow port.", SECRETS]);
        let opposing = home.run(["remember", OPPOSING, "--reason", "firewalls", "--json"]).ok().json();
        assert_eq!(number(&read(&home, &[PORT, SECRETS]), "refused"), 1);
        if is_removed {
            assert_eq!(number(&read(&home, &[SECRETS]), "retracted"), 1);
            assert_eq!(statements(&home), [SECRETS, OPPOSING]);
        } else {
            home.run(["retract", opposing["claim_id"].as_str().unwrap(), "--reason", "It was never right."]).ok();
            assert_eq!(number(&scan(&home), "superseded"), 1);
            assert_eq!(statements(&home), [SECRETS, PORT]);
        }
    }
}

/// The id and the conditions of the active claim with the refused line's words.
pub(super) fn port_claim(home: &TestHome) -> (String, serde_json::Value) {
    let page = home.run(["claims", "--json"]).ok().json();
    let found = page["items"].as_array().unwrap().iter().find(|claim| claim["statement"] == PORT).unwrap();
    (found["id"].as_str().unwrap().to_owned(), found["qualifiers"].clone())
}

#[rstest::rstest]
#[case::the_line_is_an_exception(true, &["--exception"])]
#[case::the_refused_line_is_narrowed(true, &["--narrow", "1", "--env", "ci"])]
#[case::the_stored_line_is_narrowed(false, &["--narrow", "2", "--env", "ci"])]
fn a_line_that_returns_has_its_claim_again_and_what_was_settled_about_it(
    #[case] is_refused: bool,
    #[case] act: &[&str],
) {
    let home = repository();
    let _daemon = home.daemon();
    if is_refused {
        refuse(&home);
    } else {
        read(&home, &[PORT, SECRETS]);
        home.run(["remember", OPPOSING, "--reason", "firewalls"]);
    }
    settle(&home, act);
    let before = port_claim(&home);
    let run = read(&home, &[SECRETS]);
    assert_eq!(number(&run, "retracted"), 1, "{run}");
    assert_eq!(statements(&home), [SECRETS, OPPOSING]);
    let run = read(&home, &[PORT, SECRETS]);
    assert_eq!((number(&run, "reinstated"), number(&run, "stored"), open_cards(&home)), (1, 0, 0), "{run}");
    assert_eq!(port_claim(&home), before);
}

#[rstest::rstest]
#[case::an_exception(&["--exception"])]
#[case::narrowed(&["--narrow", "1", "--env", "ci"])]
fn a_settled_line_that_is_changed_and_put_back_keeps_its_claim(
    #[case] act: &[&str],
    #[values(false, true)] is_discarded: bool,
) {
    let home = repository();
    let _daemon = home.daemon();
    refuse(&home);
    settle(&home, act);
    let before = port_claim(&home);
    let run = read(&home, &[CHANGED, SECRETS]);
    assert_eq!((number(&run, "refused"), number(&run, "superseded")), (1, 0), "{run}");
    if is_discarded {
        settle(&home, &["--discard"]);
    }
    let run = read(&home, &[PORT, SECRETS]);
    assert_eq!((number(&run, "refused"), number(&run, "stored"), number(&run, "superseded")), (0, 0, 0), "{run}");
    assert_eq!((port_claim(&home), open_cards(&home)), (before, 0));
    let run = read(&home, &[SECRETS]);
    assert_eq!(number(&run, "retracted"), 1, "the claim is still that of the line: {run}");
    assert_eq!(statements(&home), [SECRETS, OPPOSING]);
}

#[test]
fn the_card_of_a_refused_line_that_is_gone_is_closed_and_the_line_is_tried_again_once_it_returns() {
    let home = repository();
    let _daemon = home.daemon();
    refuse(&home);
    let id = home.run(["conflicts", "--json"]).ok().json()["items"][0]["id"].as_str().unwrap().to_owned();
    let run = read(&home, &[SECRETS]);
    assert_eq!((number(&run, "retracted"), open_cards(&home)), (0, 0), "{run}");
    let card = home.run(["conflicts", &id, "--json"]).ok().json();
    assert_eq!(card["settled"]["reason"], "No longer in CLAUDE.md.", "{card}");
    let run = read(&home, &[PORT, SECRETS]);
    assert_eq!((number(&run, "refused"), open_cards(&home)), (1, 1), "{run}");
    // A changed line has a card of its own.
    let run = read(&home, &[CHANGED, SECRETS]);
    assert_eq!((number(&run, "refused"), open_cards(&home)), (1, 1), "{run}");
    assert_eq!(statements(&home), [SECRETS, OPPOSING]);
}

#[test]
fn a_claim_that_a_person_retracted_does_not_return_with_its_line() {
    let home = repository();
    let _daemon = home.daemon();
    read(&home, &[PORT, SECRETS]);
    home.run(["retract", &port_claim(&home).0, "--reason", "It was never right."]).ok();
    for lines in [&[SECRETS][..], &[PORT, SECRETS]] {
        read(&home, lines);
        assert_eq!(statements(&home), [SECRETS]);
    }
}

#[test]
fn a_line_that_returns_after_something_else_was_decided_is_refused() {
    let home = repository();
    let _daemon = home.daemon();
    read(&home, &[PORT, SECRETS]);
    read(&home, &[SECRETS]);
    home.run(["remember", OPPOSING, "--reason", "firewalls"]).ok();
    let run = read(&home, &[PORT, SECRETS]);
    assert_eq!((number(&run, "reinstated"), number(&run, "refused"), open_cards(&home)), (0, 1, 1), "{run}");
}

#[test]
fn a_line_that_contradicts_two_claims_is_one_rule() {
    let home = repository();
    let _daemon = home.daemon();
    home.run(["remember", "Tests must always use a fixed port.", "--reason", "firewalls"]).ok();
    refuse(&home);
    let check = home.run(["notes", "check", "--json"]).json();
    assert_eq!(check["conflicts"].as_array().unwrap().len(), 2, "{check}");
    let check = home.run(["notes", "check"]);
    assert!(check.stdout.contains("1 rule conflicts with the stored claims"), "{check:?}");
}

#[test]
fn a_line_whose_import_was_undone_has_the_claim_of_the_next_import() {
    let home = repository();
    let _daemon = home.daemon();
    fs::write(home.work().join("CLAUDE.md"), format!("- {PORT}\n- {SECRETS}\n")).unwrap();
    let first = home.run(["import", "rules", "CLAUDE.md", "--json"]).ok().json();
    let run = read(&home, &[PORT, SECRETS]);
    assert_eq!(number(&run, "known"), 2, "{run}");
    home.run(["undo", "--import", first["import"].as_str().unwrap()]).ok();
    scan(&home);
    assert!(statements(&home).is_empty(), "a scan does not store again what was undone");
    home.run(["import", "rules", "CLAUDE.md"]).ok();
    scan(&home);
    assert_eq!(state(&home, 0), "in_step");
    home.run(["notes", "check"]).ok();
    let run = read(&home, &[SECRETS]);
    assert_eq!(number(&run, "retracted"), 1, "{run}");
    assert_eq!(statements(&home), [SECRETS]);
}

#[test]
fn a_check_before_the_scan_knows_a_line_that_was_put_back_or_changed() {
    let home = repository();
    let _daemon = home.daemon();
    refuse(&home);
    settle(&home, &["--exception"]);
    read(&home, &[SECRETS]);
    let write = |text: &str| fs::write(home.work().join("CLAUDE.md"), text).unwrap();
    write(&format!("- {PORT}\n- {SECRETS}\n"));
    home.run(["notes", "check"]).ok();
    home.run(["remember", "Tests must always use a fixed port.", "--reason", "firewalls"]).ok();
    let check = home.run(["notes", "check"]);
    assert!(check.code == Some(1) && check.stdout.contains("CLAUDE.md:1"), "nobody settled this one: {check:?}");
    write("- Requests time out after 20 seconds.\n");
    scan(&home);
    write("- Requests time out after 30 seconds.\n");
    home.run(["notes", "check"]).ok();
}

#[rstest::rstest]
#[case::was_not_read(None)]
#[case::was_declined(Some("--keep"))]
fn a_claim_is_not_written_silently_into_a_file_with_a_contrary_line(#[case] act: Option<&str>) {
    let home = repository();
    let _daemon = home.daemon();
    if let Some(act) = act {
        refuse(&home);
        settle(&home, &[act, "2"]);
    } else {
        home.run(["remember", OPPOSING, "--kind", "constraint", "--reason", "firewalls"]).ok();
        fs::write(home.work().join("CLAUDE.md"), format!("- {PORT}\n- {SECRETS}\n")).unwrap();
    }
    let answer = home.run(["notes", "write", "CLAUDE.md"]).ok();
    assert!(answer.stdout.contains("CLAUDE.md:1") && answer.stdout.contains(PORT), "{answer:?}");
    let written = fs::read_to_string(home.work().join("CLAUDE.md")).unwrap();
    assert!(written.contains(&format!("[CONFLICT] this file contradicts {OPPOSING}")), "{written}");
}

#[test]
fn a_claim_is_written_with_the_exception_that_the_file_states() {
    let home = repository();
    let _daemon = home.daemon();
    refuse(&home);
    settle(&home, &["--exception"]);
    scan(&home);
    let exception = port_claim(&home).0;
    let shown = home.run(["notes", "write", "CLAUDE.md", "--dry-run"]).ok().stdout;
    assert!(shown.contains(&format!("{OPPOSING} (with the exception {})", &exception[..10])), "{shown}");
    assert!(!shown.contains("[CONFLICT]"), "{shown}");
}
