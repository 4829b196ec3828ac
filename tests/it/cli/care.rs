//! Maintenance of a store: doctor, backup, status.

use super::{
    super::support::{TestHome, WITHOUT_MODELS},
    remember,
};

fn finding<'a>(report: &'a serde_json::Value, what: &str) -> &'a serde_json::Value {
    report["findings"].as_array().unwrap().iter().find(|finding| finding["what"] == what).unwrap()
}

#[test]
fn the_doctor_looks_the_file_over_and_rebuilds_it_while_no_daemon_has_it() {
    let home = TestHome::new();
    let daemon = home.daemon();
    remember(&home, "Deploys run at noon.", "Everyone is there.");
    let output = home.run(["doctor", "--rebuild"]);
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(output.stderr.contains("ergo daemon stop"), "{output:?}");
    let asked = home.run(["doctor", "--json"]).ok().json();
    assert!(finding(&asked, "daemon")["message"].as_str().unwrap().contains("owns the store"), "{asked}");

    assert_eq!(daemon.terminate(), Some(0));
    let alone = home.run(["doctor", "--json"]).ok().json();
    assert_eq!(finding(&alone, "daemon")["message"], "not running");
    assert!(finding(&alone, "store")["message"].as_str().unwrap().contains("1 event"), "{alone}");
    home.run(["doctor", "--rebuild"]).ok();
    let _daemon = home.daemon();
    assert_eq!(home.run(["claims", "--json"]).ok().json()["total"], 1);
}

#[test]
fn a_damaged_store_is_a_problem_with_a_way_on() {
    let home = TestHome::new();
    std::fs::write(home.paths().store(), "no database at all, but long enough to be looked at as one").unwrap();
    let output = home.run(["doctor"]);
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.stdout.contains("PROBLEM") && output.stdout.contains("restore a backup"), "{output:?}");
}

#[test]
fn secrets_that_others_can_read_are_a_problem() {
    use std::os::unix::fs::PermissionsExt;
    let home = TestHome::new();
    home.daemon().terminate();
    let key = home.paths().device_key();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = home.run(["doctor"]);
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.stdout.contains("is readable by other users") && output.stdout.contains("chmod 600"), "{output:?}");
}

#[test]
fn the_doctor_reads_the_files_of_the_app() {
    let home = TestHome::new();
    std::fs::write(home.paths().keys(), "[global]\nno_such_action = \"x\"\n").unwrap();
    std::fs::write(home.paths().theme(), "").unwrap();
    let output = home.run(["doctor", "--json"]);
    assert_eq!(output.code, Some(4), "{output:?}");
    let report = output.json();
    let keys = finding(&report, "keys");
    assert!(keys["health"] == "problem" && keys["message"].as_str().unwrap().contains("keys.toml:2:"), "{keys}");
    assert!(keys["hint"].as_str().unwrap().contains("ergo manual keys"), "{keys}");
    assert_eq!(finding(&report, "theme")["health"], "ok");
}

#[test]
fn a_home_without_anything_is_healthy() {
    let home = TestHome::new();
    let output = home.run(["doctor"]).ok();
    assert!(output.stdout.contains("the first write creates it"), "{output:?}");
    assert!(!home.paths().store().exists(), "looking makes nothing");
}

#[test]
fn a_backup_is_a_whole_store() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    remember(&home, "Deploys run at noon.", "Everyone is there.");
    home.run(["backup", "copy.db"]).ok();
    assert_eq!(home.run(["backup", "copy.db"]).code, Some(2), "nothing is overwritten");

    let other = TestHome::new();
    std::fs::copy(home.work().join("copy.db"), other.paths().store()).unwrap();
    let _daemon = other.daemon();
    let found = other.run(["claims", "--all", "--json"]).ok().json();
    assert_eq!(found["items"][0]["statement"], "Deploys run at noon.");
}

#[test]
fn status_tells_what_is_here_and_starts_nothing() {
    let home = TestHome::new();
    assert_eq!(home.run(["status"]).code, Some(3));
    assert!(!home.paths().store().exists());
    let _daemon = home.daemon();
    remember(&home, "Deploys run at noon.", "Everyone is there.");
    let text = home.run(["status"]).ok().stdout;
    assert!(text.contains("claude-code/work: 1 active") && text.contains("ergo.db"), "{text}");
}

#[test]
fn an_embedder_that_was_switched_off_is_no_problem_and_its_cost_is_shown() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let report = home.run(["doctor", "--json"]).ok().json();
    assert_eq!(finding(&report, "vectors")["health"], "note", "also while nothing would have one: {report}");
    remember(&home, "Deploys run at noon.", "Everyone is there.");
    let output = home.run(["doctor"]).ok();
    assert!(output.stdout.contains("found and compared by words only; 1 claim"), "{output:?}");
    assert!(output.stdout.contains("ergo models use embedder default"), "{output:?}");
}

#[test]
fn the_local_log_is_compacted_while_no_daemon_has_the_store_and_status_shows_what_there_is() {
    let home = TestHome::new();
    let daemon = home.daemon();
    remember(&home, "Deploys run at noon.", "Everyone is there.");
    let status = home.run(["status", "--json", "--sizes"]).ok().json();
    let parts = status["size"]["parts"].as_array().unwrap();
    let bytes_of = |kind: &str| parts.iter().find(|part| part["kind"] == kind).unwrap()["bytes"].as_u64().unwrap();
    assert!(bytes_of("shared log") > 0 && bytes_of("local log") == 0 && bytes_of("projections") > 0, "{status}");
    assert!(home.run(["status", "--sizes"]).ok().stdout.contains("projections"), "people see it too");
    let status = home.run(["status"]).ok().stdout;
    assert!(status.contains("in use ") && !status.contains("projections"), "without reading the whole file: {status}");
    // Listing needs no lock; removing does.
    assert_eq!(home.run(["compact", "--dry-run", "--json"]).ok().json()["events"], 0);
    // It is about this home, as `ergo compact` is, whichever daemon the environment names.
    let mut elsewhere = home.command(["compact", "--dry-run"]);
    let output = elsewhere.env("ERGO_API_URL", "http://127.0.0.1:1").env("ERGO_API_TOKEN", "x").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let refused = home.run(["compact"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("ergo daemon stop && ergo compact"), "{refused:?}");
    assert_eq!(daemon.terminate(), Some(0));
    let done = home.run(["compact"]).ok();
    assert!(done.stdout.contains("Removed 0 events of the local log"), "{done:?}");
    assert!(done.stdout.contains("The file keeps its size"), "{done:?}");
    assert_eq!(home.run(["claims", "--all", "--json"]).ok().json()["total"], 1);
}

#[test]
fn a_short_check_and_a_short_backup_say_nothing_of_their_progress_without_a_terminal() {
    let home = TestHome::new();
    let daemon = home.daemon();
    remember(&home, "Deploys run at noon.", "Everyone is there.");
    for args in [&["backup", "copy.db"][..], &["doctor"]] {
        assert_eq!(home.run(args).ok().stderr, "", "{args:?}");
    }
    daemon.terminate();
    assert_eq!(home.run(["doctor", "--rebuild"]).ok().stderr, "");
}

#[test]
fn settings_that_were_changed_since_the_daemon_started_are_named() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let changed = || home.run(["status", "--json"]).ok().json()["changed_settings"].clone();
    assert_eq!(changed(), serde_json::json!([]));
    let settings = format!("{WITHOUT_MODELS}[guard]\nagents_may = \"propose\"\n[tui]\nmouse = false\n");
    std::fs::write(home.paths().config, settings).unwrap();
    assert_eq!(changed(), serde_json::json!(["guard.agents_may"]), "the app reads its own settings at each start");
    let text = home.run(["status"]).ok().stdout;
    assert!(text.contains("Note: changed in config.toml") && text.contains("`guard.agents_may`"), "{text}");
    assert!(text.contains("ergo daemon stop && ergo daemon start"), "{text}");
    let report = home.run(["doctor", "--json"]).ok().json();
    assert_eq!(finding(&report, "settings")["health"], "note", "{report}");
    assert_eq!(daemon.terminate(), Some(0));
    let _daemon = home.daemon();
    assert_eq!(changed(), serde_json::json!([]));
}

#[test]
fn a_model_that_cannot_be_used_is_as_severe_in_the_status_as_for_the_doctor() {
    let home = TestHome::with_config("[daemon]\ntcp = false\n[models]\nnli = \"no-such-model\"\n");
    let _daemon = home.daemon();
    let report = home.run(["doctor", "--json"]).ok().json();
    let noted = finding(&report, "models");
    assert_eq!(noted["health"], "note", "{report}");
    let text = home.run(["status"]).ok().stdout;
    let line = format!("Note: {}", noted["message"].as_str().unwrap());
    assert!(text.contains(&line) && !text.contains("Problem:"), "{text}");
}

#[test]
fn an_agent_that_may_only_propose_does_nothing_to_the_store_or_to_sync() {
    let home = TestHome::with_settings("[guard]\nagents_may = \"propose\"\n");
    let by_agent = |args: &[&str]| {
        let output = home.command(args).env("ERGO_AGENT", "claude").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let daemon = home.daemon();
    remember(&home, "Deploys run at noon.", "Everyone is there.");
    daemon.terminate();
    for args in [&["compact"][..], &["doctor", "--rebuild"]] {
        let (code, printed) = by_agent(args);
        assert!(code == Some(1) && printed.contains("agents may not"), "{args:?}: {code:?} {printed}");
        home.run(args).ok();
    }
    assert_eq!(by_agent(&["compact", "--dry-run"]).0, Some(0));
    let _daemon = home.daemon();
    for args in [&["sync", "mode", "off"][..], &["sync", "invite", "--no-wait"], &["sync", "leave", "--yes"]] {
        let (code, printed) = by_agent(args);
        assert!(code == Some(1) && printed.contains("a person has to do it"), "{args:?}: {code:?} {printed}");
    }
    assert_eq!(by_agent(&["sync", "mode"]).0, Some(0), "reading is allowed");
    home.run(["sync", "mode", "off"]).ok();
}

#[test]
fn settings_that_name_nothing_are_noted_with_and_without_a_daemon() {
    let settings =
        "[daemon]\ntcp = false\nlog = \"info,ergo::synk=debug\"\n[judge]\ncommand = [\"no-such-judge\", \"-p\"]\n";
    let home = TestHome::with_config(settings);
    let expected = ["`command` in [judge] is not found on PATH", "`ergo::synk`; did you mean `sync`?"];
    let stopped = home.run(["doctor"]).ok().stdout;
    let _daemon = home.daemon();
    for text in [stopped, home.run(["doctor"]).ok().stdout, home.run(["status"]).ok().stdout] {
        assert!(expected.iter().all(|words| text.matches(words).count() == 1), "{text}");
    }
}

#[test]
fn while_another_command_has_the_store_no_hint_is_about_the_daemon() {
    let home = TestHome::new();
    let _lock = ergo::config::StoreLock::take(&home.paths(), "compact").unwrap();
    let report = home.run(["doctor", "--json"]).json();
    let found = finding(&report, "daemon");
    assert!(found["message"].as_str().unwrap().contains("in use by the compact with process id"), "{report}");
    assert_eq!(found["hint"], "wait until it has ended, then run `ergo doctor`");
    for args in [&["doctor", "--rebuild"][..], &["compact"]] {
        let output = home.run(args);
        assert_eq!(output.code, Some(3), "{output:?}");
        assert!(
            output.stderr.contains("wait until it has ended") && !output.stderr.contains("daemon stop"),
            "{output:?}"
        );
    }
}
