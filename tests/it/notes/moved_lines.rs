//! Lines of followed files that are moved to another file, and files that are renamed or deleted. Lines that are changed
//! and changed back.

use std::fs;

use super::{
    claims, number, scan,
    settled_lines::{
        OPPOSING, PORT, SECRETS, TABS, open_cards, port_claim, read, refuse, repository, settle, statements,
    },
    state,
};
use crate::support::TestHome;

const FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

const SOON: &str = "Requests time out after 20 seconds.";
const LATE: &str = "Requests time out after 30 seconds.";

/// Writes a rule file of the project.
fn write(home: &TestHome, file: &str, lines: &[&str]) {
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}\n")).collect();
    fs::write(home.work().join(file), lines.concat()).unwrap();
}

/// Stores the opposing claim, and reads a file with the refused line and a file without it.
fn refuse_in(home: &TestHome, file: &str, other: &str) {
    home.run(["remember", OPPOSING, "--kind", "constraint", "--reason", "firewalls"]).ok();
    write(home, file, &[PORT, SECRETS]);
    write(home, other, &[TABS]);
    home.run(["notes", "add", "."]).ok();
    let run = scan(home);
    assert_eq!((number(&run, "stored"), number(&run, "refused")), (2, 1), "{run}");
}

/// Returns the files from which and to which a line is moved.
fn move_between(is_backwards: bool) -> (&'static str, &'static str) {
    let [first, last] = FILES;
    if is_backwards { (last, first) } else { (first, last) }
}

#[rstest::rstest]
fn a_line_that_is_moved_to_another_file_keeps_the_claim_that_was_settled(
    #[values(false, true)] is_backwards: bool,
    #[values(false, true)] is_read_between: bool,
) {
    let home = repository();
    let _daemon = home.daemon();
    let (from, to) = move_between(is_backwards);
    refuse_in(&home, from, to);
    settle(&home, &["--exception"]);
    scan(&home);
    let before = port_claim(&home);
    write(&home, from, &[SECRETS]);
    let run = if is_read_between { scan(&home) } else { serde_json::json!({ "retracted": 0 }) };
    assert_eq!(number(&run, "retracted"), u64::from(is_read_between), "{run}");
    write(&home, to, &[TABS, PORT]);
    let run = scan(&home);
    assert_eq!((number(&run, "stored"), number(&run, "refused"), number(&run, "retracted")), (0, 0, 0), "{run}");
    assert_eq!(number(&run, "reinstated"), u64::from(is_read_between), "{run}");
    assert_eq!((port_claim(&home), open_cards(&home)), (before, 0));
    write(&home, to, &[TABS]);
    assert_eq!(number(&scan(&home), "retracted"), 1, "the claim is that of the moved line");
    assert_eq!(statements(&home), [SECRETS, OPPOSING, TABS]);
}

#[rstest::rstest]
fn a_declined_line_that_is_moved_to_another_file_stays_declined(#[values(false, true)] is_backwards: bool) {
    let home = repository();
    let _daemon = home.daemon();
    let (from, to) = move_between(is_backwards);
    refuse_in(&home, from, to);
    settle(&home, &["--keep", "2"]);
    scan(&home);
    write(&home, from, &[SECRETS]);
    write(&home, to, &[TABS, PORT]);
    let run = scan(&home);
    assert_eq!((number(&run, "stored"), number(&run, "refused"), open_cards(&home)), (0, 0, 0), "{run}");
    let states = FILES.map(|file| if file == to { "line_declined" } else { "in_step" });
    assert_eq!([state(&home, 0), state(&home, 1)], states);
}

#[rstest::rstest]
fn the_lines_of_a_renamed_file_keep_their_claims_and_their_cards(#[values(false, true)] is_backwards: bool) {
    let home = repository();
    let _daemon = home.daemon();
    let (old, new) = move_between(is_backwards);
    home.run(["remember", OPPOSING, "--kind", "constraint", "--reason", "firewalls"]).ok();
    write(&home, old, &[PORT, SECRETS, TABS]);
    home.run(["notes", "add", "."]).ok();
    assert_eq!(number(&scan(&home), "refused"), 1);
    let cards = || home.run(["conflicts", "--json"]).ok().json()["items"].clone();
    let card = cards()[0]["id"].clone();
    fs::rename(home.work().join(old), home.work().join(new)).unwrap();
    let run = scan(&home);
    assert_eq!((number(&run, "stored"), number(&run, "known"), number(&run, "retracted")), (0, 2, 0), "{run}");
    assert_eq!((open_cards(&home), cards()[0]["id"].clone()), (1, card));
    write(&home, new, &[SECRETS]);
    assert_eq!(number(&scan(&home), "retracted"), 1, "the claim is that of the renamed file's line");
    assert_eq!((statements(&home), open_cards(&home)), (vec![SECRETS.to_owned(), OPPOSING.to_owned()], 0));
}

#[test]
fn the_card_of_a_refused_line_is_closed_when_its_file_is_deleted() {
    let home = repository();
    let _daemon = home.daemon();
    refuse(&home);
    let path = home.work().join("CLAUDE.md");
    let text = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    scan(&home);
    assert_eq!(open_cards(&home), 0);
    assert_eq!(statements(&home), [SECRETS, OPPOSING], "a file that is away takes no claim with it");
    fs::write(&path, text).unwrap();
    let run = scan(&home);
    assert_eq!((number(&run, "refused"), number(&run, "stored"), open_cards(&home)), (1, 0, 1), "{run}");
}

#[test]
fn a_line_that_is_changed_and_changed_back_has_its_claim_again() {
    let home = repository();
    let _daemon = home.daemon();
    read(&home, &[SOON, SECRETS]);
    let of = |statement: &str| claims(&home, "active").into_iter().find(|(_, said)| said == statement).unwrap().0;
    let soon = of(SOON);
    let run = read(&home, &[LATE, SECRETS]);
    assert_eq!(number(&run, "superseded"), 1, "{run}");
    let late = of(LATE);
    for (line, claim) in [(SOON, &soon), (LATE, &late), (SOON, &soon)] {
        let run = read(&home, &[line, SECRETS]);
        assert_eq!((number(&run, "reinstated"), number(&run, "stored"), number(&run, "refused")), (1, 0, 0), "{run}");
        assert_eq!((statements(&home), &of(line)), (vec![SECRETS.to_owned(), line.to_owned()], claim));
    }
}

#[test]
fn a_changed_line_that_a_person_replaced_does_not_return() {
    let home = repository();
    let _daemon = home.daemon();
    read(&home, &[SOON, SECRETS]);
    let soon = claims(&home, "active").into_iter().find(|(_, said)| said == SOON).unwrap().0;
    home.run(["supersede", &soon, LATE, "--reason", "The network is slow."]).ok();
    read(&home, &[LATE, SECRETS]);
    let run = read(&home, &[SOON, SECRETS]);
    assert_eq!(number(&run, "reinstated"), 0, "{run}");
    assert_eq!(statements(&home), [SECRETS, LATE]);
    assert_eq!(state(&home, 0), "changed_there");
}

#[test]
fn a_file_with_merge_conflicts_is_not_read_until_they_are_resolved() {
    let home = repository();
    let _daemon = home.daemon();
    read(&home, &[SOON, SECRETS]);
    let path = home.work().join("CLAUDE.md");
    let conflict = format!("<<<<<<< HEAD\n- {SOON}\n=======\n- {LATE}\n>>>>>>> topic\n- {SECRETS}\n- {TABS}\n");
    fs::write(&path, conflict).unwrap();
    let run = scan(&home);
    assert_eq!((number(&run, "stored"), number(&run, "retracted"), number(&run, "superseded")), (0, 0, 0), "{run}");
    assert!(run["problems"][0].as_str().unwrap().contains("merge conflicts, the first one in line 1"), "{run}");
    let written = home.run(["notes", "write", "CLAUDE.md"]);
    for answer in [home.run(["notes", "check"]), home.run(["import", "rules", "CLAUDE.md"]), written] {
        assert!(answer.code == Some(2) && answer.stderr.contains("merge conflicts"), "{answer:?}");
    }
    assert_eq!(statements(&home), [SECRETS, SOON]);
    let run = read(&home, &[LATE, SECRETS]);
    assert_eq!((number(&run, "superseded"), number(&run, "known")), (1, 1), "{run}");
}

#[rstest::rstest]
fn contrary_lines_that_change_places_between_two_files_reverse_nothing(#[values(false, true)] is_exception: bool) {
    let home = repository();
    let _daemon = home.daemon();
    let [first, last] = FILES;
    write(&home, first, &[OPPOSING, SECRETS]);
    write(&home, last, &[PORT, TABS]);
    home.run(["notes", "add", "."]).ok();
    let run = scan(&home);
    assert_eq!((number(&run, "stored"), number(&run, "refused")), (3, 1), "{run}");
    if is_exception {
        settle(&home, &["--exception"]);
        scan(&home);
    }
    let before = claims(&home, "active");
    write(&home, first, &[PORT, SECRETS]);
    write(&home, last, &[OPPOSING, TABS]);
    let check = home.run(["notes", "check"]);
    assert_eq!(check.code, Some(i32::from(!is_exception)), "{check:?}");
    let run = scan(&home);
    let changes = ["stored", "superseded", "retracted"].map(|change| number(&run, change));
    assert_eq!((changes, claims(&home, "active")), ([0; 3], before), "{run}");
    assert_eq!(open_cards(&home), u64::from(!is_exception));
    assert_eq!(home.run(["notes", "check"]).code, check.code);
    if is_exception {
        assert_eq!([state(&home, 0), state(&home, 1)], ["in_step"; 2]);
    }
}

#[rstest::rstest]
fn a_line_that_changes_in_one_of_two_files_replaces_the_claim_once_it_changes_in_both(
    #[values(false, true)] is_backwards: bool,
) {
    let home = repository();
    let _daemon = home.daemon();
    let (one, other) = move_between(is_backwards);
    for file in FILES {
        write(&home, file, &[PORT, SECRETS]);
    }
    home.run(["notes", "add", "."]).ok();
    scan(&home);
    write(&home, one, &[OPPOSING, SECRETS]);
    let run = scan(&home);
    assert_eq!((number(&run, "superseded"), number(&run, "refused"), open_cards(&home)), (0, 1, 1), "{run}");
    assert_eq!(statements(&home), [SECRETS, PORT]);
    write(&home, other, &[OPPOSING, SECRETS]);
    let run = scan(&home);
    assert_eq!((number(&run, "superseded"), number(&run, "refused"), open_cards(&home)), (1, 0, 0), "{run}");
    assert_eq!(statements(&home), [SECRETS, OPPOSING]);
    scan(&home);
    assert_eq!([state(&home, 0), state(&home, 1)], ["in_step"; 2]);
}

#[test]
fn a_claim_stays_while_one_of_two_equal_lines_is_left() {
    let home = repository();
    let _daemon = home.daemon();
    read(&home, &[SECRETS, TABS, SECRETS]);
    let run = read(&home, &[SECRETS, TABS]);
    assert_eq!(number(&run, "retracted"), 0, "{run}");
    assert_eq!(statements(&home), [SECRETS, TABS]);
}

#[rstest::rstest]
fn a_claim_that_ended_while_its_other_file_was_away_returns_with_that_file(#[values(false, true)] is_backwards: bool) {
    let home = repository();
    let _daemon = home.daemon();
    let (away, left) = move_between(is_backwards);
    write(&home, away, &[PORT, SECRETS]);
    write(&home, left, &[PORT, TABS]);
    home.run(["notes", "add", "."]).ok();
    scan(&home);
    fs::remove_file(home.work().join(away)).unwrap();
    write(&home, left, &[TABS]);
    assert_eq!(number(&scan(&home), "retracted"), 1);
    write(&home, away, &[PORT, SECRETS]);
    let run = scan(&home);
    assert_eq!((number(&run, "reinstated"), number(&run, "stored")), (1, 0), "{run}");
    assert_eq!([state(&home, 0), state(&home, 1)], ["in_step"; 2]);
}
