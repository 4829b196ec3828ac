//! A backup that is killed at each of its steps, backups of a damaged store, and files in a store's place that are none.

use std::fs;

use super::{overwrite_root_of, run};
use crate::support::{TestHome, block_on, until};

fn remember(home: &TestHome) {
    run(home, &["remember", "Deploys run at noon.", "--kind", "decision", "--reason", "Everyone is there."]).ok();
}

fn names(home: &TestHome) -> Vec<String> {
    let entries = fs::read_dir(home.work()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The error in a home whose store is replaced by these bytes.
fn restored(home: &TestHome, bytes: &[u8]) -> String {
    fs::write(home.paths().store(), bytes).unwrap();
    let _daemon = home.daemon();
    run(home, &["claims", "--all", "--json"]).ok().stdout
}

fn killed_at(step: &str) -> TestHome {
    let home = TestHome::new();
    {
        let _daemon = home.daemon();
        remember(&home);
    }
    let daemon = home.daemon_that_dies_at(step);
    until("it answers", || block_on(home.client().health()).is_ok());
    let cut = run(&home, &["backup", "copy.db"]);
    assert_ne!(cut.code, Some(0), "{step}: {cut:?}");
    drop(daemon);
    home
}

#[test]
fn a_backup_that_is_killed_leaves_no_file_under_its_name() {
    for step in ["backup begun", "backup copying", "backup copied", "backup synced"] {
        let home = killed_at(step);
        let left = names(&home);
        assert!(left.iter().any(|name| name.starts_with("copy.db.partial-")), "{step}: {left:?}");
        assert!(!left.contains(&"copy.db".to_owned()), "{step}: {left:?}");
        let _daemon = home.daemon();
        run(&home, &["backup", "copy.db"]).ok();
        assert_eq!(names(&home), ["copy.db"], "{step}: what the kill left goes");
    }
}

#[test]
fn a_backup_that_has_its_name_is_whole() {
    let home = killed_at("backup named");
    assert_eq!(names(&home), ["copy.db"]);
    let copy = fs::read(home.work().join("copy.db")).unwrap();
    assert!(restored(&TestHome::new(), &copy).contains("Deploys run at noon."));
}

#[test]
fn a_backup_of_a_damaged_store_is_refused_and_leaves_no_file() {
    type Damage = fn(&TestHome);
    let cases: [(Damage, &str); 2] = [
        (|home| overwrite_root_of(home, "events_op", 0xff), "SQLite: "),
        (
            // SQLite finds nothing wrong with this file.
            |home| {
                let db = rusqlite::Connection::open(home.paths().store()).unwrap();
                assert_eq!(db.execute("UPDATE events SET signature = zeroblob(64)", []).unwrap(), 1);
            },
            "signature",
        ),
    ];
    for (damage, found) in cases {
        let home = TestHome::new();
        let daemon = home.daemon();
        remember(&home);
        daemon.terminate();
        damage(&home);
        let _daemon = home.daemon();
        let output = run(&home, &["backup", "copy.db"]);
        assert_eq!(output.code, Some(4), "{output:?}");
        assert!(output.stderr.contains("no backup") && output.stderr.contains(found), "{output:?}");
        assert!(output.stderr.contains("ergo doctor --rebuild"), "{output:?}");
        assert_eq!(names(&home), Vec::<String>::new(), "nothing looks like a backup");
    }
}

#[test]
fn an_empty_cut_or_foreign_file_is_no_backup() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    remember(&home);
    run(&home, &["backup", "copy.db"]).ok();
    let copy = fs::read(home.work().join("copy.db")).unwrap();
    let cases = [
        (&b""[..], "is empty"),
        (&copy[..copy.len() - 1], "is incomplete: it has"),
        (&copy[..copy.len() / 2], "is incomplete: it has"),
        (&copy[..20], "is not an ergo store"),
        (&b"Dear diary, today I took a backup of something else."[..], "is not an ergo store"),
    ];
    for (bytes, word) in cases {
        let other = TestHome::new();
        fs::write(other.paths().store(), bytes).unwrap();
        let output = run(&other, &["daemon", "run"]);
        assert_ne!(output.code, Some(0), "{word}: {output:?}");
        assert!(output.stderr.contains(word) && output.stderr.contains("backup"), "{word}: {}", output.stderr);
        assert_eq!(fs::read(other.paths().store()).unwrap(), bytes, "{word}: the file stays as it is");
        let doctor = run(&other, &["doctor"]);
        assert!(doctor.stdout.contains(word), "{word}: {}", doctor.stdout);
    }
    assert!(restored(&TestHome::new(), &copy).contains("Deploys run at noon."));
}
