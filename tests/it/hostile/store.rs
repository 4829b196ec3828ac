//! The store's file: lost, emptied, swapped, cut, overwritten, before the daemon starts and under it.

use std::{fs, path::PathBuf};

use ergo::{
    api::{ApiError, ClaimsQuery, ErrorCode, WriteOutcome},
    client::ClientError,
    domain::OpId,
};

use super::overwrite_root_of;
use crate::support::{Output, TestHome, block_on, decision, fact};

/// A home whose daemon does nothing in the background.
fn home() -> TestHome {
    TestHome::with_settings("[sync]\nmode = \"off\"\n")
}

fn write(home: &TestHome, statement: &str) -> Result<WriteOutcome, ApiError> {
    block_on(home.client().remember(&decision(statement))).map_err(|error| match error {
        ClientError::Api(error) => error,
        other => panic!("no answer of the daemon: {other}"),
    })
}

fn stored(home: &TestHome, statement: &str) {
    let outcome = write(home, statement).unwrap();
    assert!(matches!(outcome, WriteOutcome::Stored(_)), "{outcome:?}");
}

fn statements(home: &TestHome) -> Vec<String> {
    let listed = block_on(home.client().claims(&ClaimsQuery::default())).unwrap();
    listed.items.into_iter().map(|claim| claim.statement).collect()
}

/// The doctor's report on the store, if there is a problem.
fn doctor(home: &TestHome) -> (String, String) {
    let output = home.run(["doctor", "--json"]);
    assert_eq!(output.code, Some(4), "{output:?}");
    let report = output.json();
    let is_it = |finding: &&serde_json::Value| finding["what"] == "store" && finding["health"] == "problem";
    let found = report["findings"].as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{report}"));
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("message"), text("hint"))
}

fn beside(home: &TestHome, end: &str) -> PathBuf {
    home.path().join(format!("ergo.db{end}"))
}

#[track_caller]
fn refused(output: &Output, what: &str) {
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(output.stderr.contains(what), "{output:?}");
    assert!(output.stderr.contains("ergo.db") && output.stderr.contains("restore a backup"), "{output:?}");
    assert!(output.stderr.contains("ergo daemon start --new-store"), "{output:?}");
}

#[test]
fn an_emptied_or_missing_store_is_refused_until_a_new_one_is_asked_for() {
    let home = home();
    let daemon = home.daemon();
    stored(&home, "Deploys run at noon.");
    daemon.terminate();
    let file = home.paths().store();

    fs::File::options().write(true).open(&file).unwrap().set_len(0).unwrap();
    refused(&home.run(["daemon", "start"]), "is empty (0 bytes)");
    let (message, hint) = doctor(&home);
    assert!(message.contains("is empty (0 bytes)") && hint.contains("--new-store"), "{message} {hint}");
    assert_eq!(fs::metadata(&file).unwrap().len(), 0, "looking at it makes nothing");

    fs::remove_file(&file).unwrap();
    refused(&home.run(["remember", "Deploys run at night.", "--reason", "quiet"]), "is missing");
    let (message, hint) = doctor(&home);
    assert!(
        message.contains("is missing") && message.contains("device.key") && hint.contains("--new-store"),
        "{message} {hint}"
    );
    assert!(!file.exists(), "looking for it makes nothing");

    home.run(["daemon", "start", "--new-store"]).ok();
    assert_eq!(statements(&home), Vec::<String>::new());
    stored(&home, "Deploys run in the evening.");
    home.run(["daemon", "stop"]).ok();
    let again = home.run(["daemon", "start", "--new-store"]);
    assert!(again.code != Some(0) && again.stderr.contains("exists: nothing was changed"), "{again:?}");
    home.run(["daemon", "start"]).ok();
    assert_eq!(statements(&home), ["Deploys run in the evening."]);
}

#[test]
fn an_empty_store_is_refused_without_a_key_too() {
    let home = home();
    fs::write(home.paths().store(), "").unwrap();
    refused(&home.run(["daemon", "start"]), "is empty (0 bytes)");
    assert!(!home.paths().device_key().exists(), "a key beside no store would be that of a lost one");
}

#[test]
fn a_backup_restores_a_lost_store_whatever_log_lies_beside_it() {
    let home = home();
    let daemon = home.daemon();
    stored(&home, "Deploys run at noon.");
    home.run(["backup", "copy.db"]).ok();
    for line in 0..20 {
        let lines = fact(&format!("line {line} came after the backup"), &format!("line {line}"));
        block_on(home.client().remember(&lines)).unwrap();
    }
    daemon.kill();
    assert!(fs::metadata(beside(&home, "-wal")).unwrap().len() > 0, "a crash leaves a log");
    fs::remove_file(home.paths().store()).unwrap();
    refused(&home.run(["daemon", "start"]), "is missing");

    fs::copy(home.work().join("copy.db"), home.paths().store()).unwrap();
    let daemon = home.daemon();
    assert_eq!(statements(&home), ["Deploys run at noon."], "the log of the lost store is not written into the backup");
    home.run(["doctor"]).ok();
    stored(&home, "Deploys wait for tests.");
    daemon.terminate();
    home.run(["doctor"]).ok();
}

#[test]
fn a_store_that_is_removed_under_the_daemon_acknowledges_nothing() {
    let home = home();
    let daemon = home.daemon();
    let mut first = decision("Deploys run at noon.");
    first.caller.op_id = Some(OpId([5; 16]));
    block_on(home.client().remember(&first)).unwrap();
    fs::remove_file(home.paths().store()).unwrap();

    let error = write(&home, "Logs are JSON.").unwrap_err();
    assert_eq!((error.code, error.code.status()), (ErrorCode::Unavailable, 503), "{error:?}");
    assert!(error.message.contains("ergo.db was removed while it was in use"), "{error:?}");
    assert!(error.hint.as_deref().unwrap_or_default().contains("ergo backup FILE"), "{error:?}");
    let retried = block_on(home.client().remember(&first)).unwrap_err();
    assert!(retried.to_string().contains("was removed"), "what was acknowledged is no longer kept: {retried}");
    let (message, hint) = doctor(&home);
    assert!(message.contains("was removed") && hint.contains("ergo backup"), "{message} {hint}");

    // As the hint says: what the daemon holds is saved, and goes on.
    home.run(["backup", "saved.db"]).ok();
    daemon.terminate();
    fs::copy(home.work().join("saved.db"), home.paths().store()).unwrap();
    let _daemon = home.daemon();
    assert_eq!(statements(&home), ["Deploys run at noon."]);
    home.run(["doctor"]).ok();
}

#[test]
fn a_store_that_is_swapped_under_the_daemon_acknowledges_nothing() {
    let home = home();
    let _daemon = home.daemon();
    stored(&home, "Deploys run at noon.");
    home.run(["backup", "copy.db"]).ok();
    fs::rename(home.work().join("copy.db"), home.paths().store()).unwrap();
    let error = write(&home, "Logs are JSON.").unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable, "{error:?}");
    assert!(error.message.contains("was replaced by another file"), "{error:?}");
    let (message, hint) = doctor(&home);
    assert!(message.contains("was replaced by another file"), "{message}");
    let status = home.run(["status"]).ok().stdout;
    assert!(status.contains(&format!("Problem: {message}\nHint: {hint}")), "{status}");
}

#[test]
fn a_backup_that_is_put_in_place_while_a_daemon_runs_is_used_after_a_restart() {
    let home = home();
    let _daemon = home.daemon();
    stored(&home, "Deploys run at noon.");
    home.run(["backup", "copy.db"]).ok();
    stored(&home, "Logs are JSON.");
    // As the help of `ergo backup` says, but an agent started the daemon again before the file was moved.
    let new = beside(&home, ".new");
    fs::copy(home.work().join("copy.db"), &new).unwrap();
    fs::rename(&new, home.paths().store()).unwrap();
    let hint = write(&home, "Tests run in parallel.").unwrap_err().hint.unwrap();
    assert!(hint.contains("`ergo daemon stop && ergo daemon start`"), "{hint}");
    home.run(["daemon", "stop"]).ok();
    home.run(["daemon", "start"]).ok();
    assert_eq!(statements(&home), ["Deploys run at noon."]);
    stored(&home, "Tests run in parallel.");
    home.run(["doctor"]).ok();
}

#[test]
fn a_store_that_is_cut_under_the_daemon_acknowledges_nothing_and_is_called_damaged() {
    let home = home();
    let _daemon = home.daemon();
    stored(&home, "Deploys run at noon.");
    fs::File::options().write(true).open(home.paths().store()).unwrap().set_len(0).unwrap();
    let error = write(&home, "Logs are JSON.").unwrap_err();
    assert_eq!(error.code, ErrorCode::Damaged, "{error:?}");
    assert!(error.message.contains("the store is damaged") && error.message.contains("to 0 bytes while"), "{error:?}");
    assert!(error.hint.as_deref().unwrap_or_default().contains("replace ergo.db with a backup"), "{error:?}");
    let (message, hint) = doctor(&home);
    assert!(message.contains("the store is damaged") && hint.contains("backup"), "{message} {hint}");
}

#[test]
fn damage_that_a_write_meets_is_called_damage_and_no_defect() {
    let home = home();
    let daemon = home.daemon();
    stored(&home, "Deploys run at noon.");
    daemon.terminate();
    // Nothing but a write, which looks for its `op_id`, reads this index.
    overwrite_root_of(&home, "events_op", 0xff);

    let _daemon = home.daemon();
    let error = write(&home, "Logs are JSON.").unwrap_err();
    assert_eq!(error.code, ErrorCode::Damaged, "{error:?}");
    assert!(error.message.contains("the store is damaged"), "{error:?}");
    let hint = error.hint.unwrap_or_default();
    assert!(hint.contains("replace ergo.db with a backup") && !hint.contains("bug in ergo"), "{hint}");
    let (message, _) = doctor(&home);
    assert!(message.contains("events") || message.contains("damaged"), "{message}");
    let report = home.run(["doctor"]).stdout;
    assert!(report.contains("the index “events_op” of the table “events” is damaged"), "{report}");
}

#[test]
fn a_rebuild_mends_damage_to_all_but_the_events() {
    // An index, one that SQLite made for a constraint and that cannot be dropped, and a table of projections.
    for damaged in ["events_op", "sqlite_autoindex_events_1", "claims"] {
        let home = home();
        let daemon = home.daemon();
        stored(&home, "Deploys run at noon.");
        daemon.terminate();
        overwrite_root_of(&home, damaged, 0);
        let (message, hint) = doctor(&home);
        assert!(message.contains("ergo.db") && hint == "ergo doctor --rebuild", "{damaged}: {message} {hint}");
        let report = home.run(["doctor"]).stdout;
        assert!(report.contains(&format!("“{damaged}”")), "{damaged}: {report}");
        let rebuilt = home.run(["doctor", "--rebuild"]).ok().stdout;
        assert!(rebuilt.contains("the damaged file is kept as") && beside(&home, ".damaged").exists(), "{rebuilt}");
        let daemon = home.daemon();
        assert_eq!(statements(&home), ["Deploys run at noon."], "{damaged}");
        stored(&home, "Logs are JSON.");
        daemon.terminate();
        home.run(["doctor"]).ok();
    }
}

#[test]
fn a_rebuild_loses_of_a_small_table_only_what_is_unreadable_and_says_so() {
    for (damaged, advice) in [
        ("settings", "ergo calibrate"),
        ("readings", "the model reads them again"),
        ("requests", "ergo log"),
        ("invites", "ergo sync invite"),
        ("teams", "ergo sync join"),
    ] {
        let home = home();
        let daemon = home.daemon();
        stored(&home, "Deploys run at noon.");
        daemon.terminate();
        overwrite_root_of(&home, damaged, 0);
        assert_eq!(doctor(&home).1, "ergo doctor --rebuild", "{damaged}");
        let rebuilt = home.run(["doctor", "--rebuild"]).ok().stdout;
        let named = format!("the table “{damaged}” (");
        assert!(rebuilt.contains(&named) && rebuilt.contains(advice), "{damaged}: {rebuilt}");
        assert!(beside(&home, ".damaged").exists(), "{damaged}");
        let daemon = home.daemon();
        assert_eq!(statements(&home), ["Deploys run at noon."], "{damaged}");
        stored(&home, "Logs are JSON.");
        daemon.terminate();
        home.run(["doctor"]).ok();
    }
}

#[test]
fn a_rebuild_of_a_store_with_damaged_events_changes_nothing_and_says_so() {
    let home = home();
    let daemon = home.daemon();
    stored(&home, "Deploys run at noon.");
    daemon.terminate();
    overwrite_root_of(&home, "events", 0);
    let before = fs::read(home.paths().store()).unwrap();
    let output = home.run(["doctor", "--rebuild"]);
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.stdout.contains("the table “events”") && output.stdout.contains("restore a backup"), "{output:?}");
    assert_eq!(fs::read(home.paths().store()).unwrap(), before);
    let (_, hint) = doctor(&home);
    assert!(hint.contains("restore a backup") && !hint.contains("--rebuild"), "{hint}");
    assert!(!beside(&home, ".damaged").exists());
}

#[test]
fn what_killed_writers_left_is_named_and_removed_at_the_next_start() {
    let home = home();
    home.daemon().terminate();
    let left = [beside(&home, ".partial-0123456789ab"), home.path().join("ergo.dry-run")];
    fs::write(&left[0], "half").unwrap();
    fs::create_dir(&left[1]).unwrap();
    let kept = beside(&home, "-wal.old");
    fs::write(&kept, "log").unwrap();
    let report = home.run(["doctor"]).ok().stdout;
    for file in left.iter().chain([&kept]) {
        assert!(report.contains(&format!("{} (", file.display())), "{report}");
    }
    let _daemon = home.daemon();
    assert!(left.iter().all(|file| !file.exists()) && kept.exists());
    assert!(!home.run(["doctor"]).ok().stdout.contains("interrupted"));
}
