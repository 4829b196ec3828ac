//! Decision records that are in force again, and records that are moved to another folder.

use std::fs;

use super::{claims, number, record, scan, state};
use crate::support::{TestHome, git};

const MYSQL: &str = "We will use MySQL as the database for orders.";

/// Reads a record and the one that replaced it, by a scan or an import.
fn replace(home: &TestHome, by_scan: bool) {
    git(&home.work(), &["init", "-q"]);
    record(home, 1, "Superseded by [2](0002.md)", "MySQL");
    record(home, 2, "Accepted\n\nSupersedes [1](0001.md)", "PostgreSQL");
    home.run(["notes", "add", "."]).ok();
    read(home, "docs/adr", by_scan);
}

fn read(home: &TestHome, folder: &str, by_scan: bool) -> serde_json::Value {
    if by_scan { scan(home) } else { home.run(["import", "adr", folder, "--json"]).ok().json() }
}

fn active(home: &TestHome) -> Vec<String> {
    let mut active: Vec<String> = claims(home, "active").into_iter().map(|(_, statement)| statement).collect();
    active.sort();
    active
}

#[rstest::rstest]
fn a_record_is_in_force_again_once_the_one_that_replaced_it_is_rejected(
    #[values(false, true)] by_scan: bool,
    #[values("Rejected", "Rejected\n\nSupersedes [1](0001.md)")] rejected: &str,
) {
    let home = TestHome::new();
    let _daemon = home.daemon();
    replace(&home, by_scan);
    record(&home, 1, "Accepted", "MySQL");
    record(&home, 2, rejected, "PostgreSQL");
    let run = read(&home, "docs/adr", by_scan);
    assert_eq!(active(&home), ["Rejected: Use PostgreSQL.", MYSQL], "{run}");
    assert_eq!(home.run(["conflicts", "--json"]).ok().json()["total"], 0, "{run}");
    read(&home, "docs/adr", by_scan);
    assert_eq!(active(&home).len(), 2);
}

#[test]
fn a_record_that_was_deprecated_and_is_accepted_again_is_imported_again() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (status, count) in [("Accepted", 1), ("Deprecated", 0), ("Accepted", 1), ("Deprecated", 0)] {
        record(&home, 1, status, "MySQL");
        let run = read(&home, "docs/adr", false);
        assert_eq!(active(&home).len(), count, "{status}: {run}");
    }
}

#[rstest::rstest]
fn records_that_are_moved_to_another_folder_keep_their_claims(#[values(false, true)] by_scan: bool) {
    let home = TestHome::new();
    let _daemon = home.daemon();
    replace(&home, by_scan);
    let before = (claims(&home, "active"), claims(&home, "superseded"));
    fs::rename(home.work().join("docs/adr"), home.work().join("docs/decisions")).unwrap();
    for _ in 0..2 {
        let run = read(&home, "docs/decisions", by_scan);
        assert_eq!((claims(&home, "active"), claims(&home, "superseded")), before, "{run}");
        assert_eq!(home.run(["conflicts", "--json"]).ok().json()["total"], 0, "{run}");
        if by_scan {
            assert_eq!((number(&run, "stored"), number(&run, "refused")), (0, 0), "{run}");
        }
    }
    if by_scan {
        let states = [0, 1, 2, 3].map(|at| state(&home, at));
        assert_eq!(states, ["missing", "missing", "in_step", "in_step"]);
    }
}
