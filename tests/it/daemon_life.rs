//! The daemon's process: it owns the store alone, every client finds it, and it leaves nothing behind.

use std::{fs, os::unix::fs::PermissionsExt, os::unix::net::UnixListener, process::Command};

use ergo::config::{DaemonRecord, Paths, StoreLock};
use rustix::process::Signal;

use crate::support::{self, TestHome, block_on, signal, until};

#[test]
fn a_command_starts_it_status_finds_it_and_stop_leaves_nothing() {
    let home = TestHome::new();
    assert_eq!(home.run(["daemon", "status"]).code, Some(3));
    let started = home.run(["daemon", "start", "--json"]).ok().json();
    assert_eq!(started["result"], "started");
    assert_eq!(home.run(["daemon", "start", "--json"]).ok().json()["result"], "running");
    let status = home.run(["daemon", "status", "--json"]).ok().json();
    assert_eq!(status["health"]["pid"], started["health"]["pid"]);
    assert_eq!(status["skew"], serde_json::Value::Null);
    home.run(["daemon", "stop"]).ok();
    assert_eq!(StoreLock::owner(&home.paths()), None, "the store is free once stop returns");
    assert!(!home.paths().socket.exists() && !home.paths().record().exists());
    assert!(home.run(["daemon", "stop"]).ok().stdout.contains("not running"));
}

#[test]
fn a_second_daemon_is_refused_and_says_who_owns_the_store() {
    let home = TestHome::new();
    let first = home.daemon();
    let second = home.run(["daemon", "run"]);
    assert_eq!(second.code, Some(3), "{second:?}");
    assert!(second.stderr.contains(&format!("process id {}", first.pid())), "{second:?}");
    assert!(second.stderr.contains("ergo daemon stop"), "{second:?}");
    block_on(home.client().health()).expect("the first goes on, its socket untouched");
}

#[test]
fn ten_at_once_end_up_with_one_daemon() {
    let home = TestHome::new();
    let runs: Vec<_> = (0..10)
        .map(|_| {
            let mut command = home.command(["daemon", "start", "--json"]);
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut pids: Vec<_> = runs
        .into_iter()
        .map(|run| {
            let output = run.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}\n{}", home.log());
            let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            answer["health"]["pid"].as_u64().unwrap()
        })
        .collect();
    pids.dedup();
    assert_eq!(pids.len(), 1, "{pids:?}");
}

#[test]
fn what_a_crash_left_is_cleared_by_the_next_start() {
    let home = TestHome::new();
    home.daemon().kill();
    assert!(home.paths().socket.exists() && home.paths().record().exists(), "a crash leaves them behind");
    assert_eq!(home.run(["daemon", "status"]).code, Some(3), "a record alone is not believed");
    let daemon = home.daemon();
    assert_eq!(home.record().pid, daemon.pid());
}

#[test]
fn a_socket_without_a_daemon_behind_it_is_replaced() {
    let home = TestHome::new();
    home.paths().make().unwrap();
    drop(UnixListener::bind(home.paths().socket).unwrap());
    home.run(["daemon", "start"]).ok();
}

#[test]
fn the_places_are_private() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let paths = home.paths();
    for file in [&paths.socket, &paths.token(), &paths.device_key(), &paths.record(), &paths.log()] {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
    assert_eq!(mode(paths.socket.parent().unwrap()), 0o700);
}

#[test]
fn a_taken_port_is_a_warning_and_the_socket_serves() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let home = TestHome::with_config(&format!("[daemon]\naddress = \"127.0.0.1:{port}\"\n"));
    let _daemon = home.daemon();
    assert_eq!(home.record().tcp, None);
    assert!(home.log().contains("so only the socket is available"), "{}", home.log());
}

#[test]
fn an_invalid_setting_is_reported_with_its_line() {
    let home = TestHome::with_config("org_id = \"acme\"\n[daemon]\nport = 3\n");
    for act in ["start", "run"] {
        let output = home.run(["daemon", act]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.contains("config.toml:3:") && output.stderr.contains("port"), "{output:?}");
    }
}

#[test]
fn a_daemon_that_cannot_start_says_why_from_its_log() {
    let home = TestHome::new();
    fs::write(home.paths().device_key(), "damaged").unwrap();
    let output = home.run(["daemon", "start"]);
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(output.stderr.contains("device.key"), "{output:?}");
    let doctor = home.run(["doctor"]);
    assert_eq!(doctor.code, Some(4), "{doctor:?}");
    assert!(doctor.stdout.contains("64 hexadecimal digits") && doctor.stdout.contains("restore a copy"), "{doctor:?}");
}

#[test]
fn a_store_of_another_key_is_reported_and_a_key_of_its_own_is_not() {
    let home = TestHome::new();
    let report = |home: &TestHome| home.run(["doctor", "--json"]).stdout;
    let daemon = home.daemon();
    home.run(["remember", "Deploys run at noon.", "--kind", "decision", "--reason", "Everyone is there."]).ok();
    daemon.terminate();
    let daemon = home.daemon();
    assert!(!report(&home).contains("was written by the device"), "{}", report(&home));
    daemon.terminate();
    let key = fs::read(home.paths().device_key()).unwrap();
    fs::remove_file(home.paths().device_key()).unwrap();
    assert!(report(&home).contains("device.key is missing"), "{}", report(&home));
    let daemon = home.daemon();
    assert!(report(&home).contains("was written by the device"), "{}", report(&home));
    assert!(home.log().contains("restore its device.key"), "{}", home.log());
    daemon.terminate();
    fs::write(home.paths().device_key(), key).unwrap();
    let _daemon = home.daemon();
    assert!(!report(&home).contains("was written by the device"), "{}", report(&home));
}

#[test]
fn a_home_with_a_long_name_works() {
    let home = TestHome::new();
    let long = home.path().join("d".repeat(120));
    fs::create_dir(&long).unwrap();
    let run = |act: &str| home.command(["daemon", act, "--json"]).env("ERGO_HOME", &long).output().unwrap();
    let started = run("start");
    assert!(started.status.success(), "{started:?}");
    let record = DaemonRecord::of(&Paths::under(&long)).unwrap();
    assert!(record.socket.as_os_str().len() <= ergo::config::paths::MAX_SOCKET_PATH);
    assert!(run("status").status.success());
    assert!(run("stop").status.success());
    until("the socket is gone", || !record.socket.exists());
    // The folder was in the shared temporary directory: leave nothing there.
    fs::remove_dir(record.socket.parent().unwrap()).unwrap();
}

#[test]
fn sigterm_ends_it_cleanly() {
    let home = TestHome::new();
    let daemon = home.daemon();
    assert_eq!(daemon.terminate(), Some(0), "{}", home.log());
    assert!(!home.paths().socket.exists());
    assert!(home.log().contains("ended"), "{}", home.log());
}

#[test]
fn installing_shows_first_and_then_writes() {
    let home = TestHome::new();
    let shown = home.run(["daemon", "install", "--dry-run", "--json"]).ok().json();
    let path = std::path::PathBuf::from(shown["path"].as_str().unwrap());
    assert!(path.starts_with(home.path()) && !path.exists());
    home.run(["daemon", "install"]).ok();
    assert_eq!(fs::read_to_string(&path).unwrap(), shown["text"].as_str().unwrap());
    let removed = |args: &[&str]| {
        home.run([&["daemon", "install", "--remove", "--json"], args].concat()).ok().json()["result"].clone()
    };
    assert_eq!(removed(&["--dry-run"]), "dry_run");
    assert!(path.exists());
    assert_eq!(removed(&[]), "removed");
    assert!(!path.exists());
    assert_eq!(removed(&[]), "not_installed");
}

/// After an upgrade the service manager has to start the new program; after a removal there is none.
#[test]
fn a_daemon_says_at_its_end_that_its_program_was_replaced() {
    let home = TestHome::new();
    let program = home.path().join("ergo");
    let start = || {
        // A file that this process wrote itself could still be open in a child of another test, and would not run.
        assert!(Command::new("cp").arg(support::PROGRAM).arg(&program).status().unwrap().success());
        home.daemon_by(|usual| {
            let mut copy = support::in_place_of(&usual, &program);
            copy.args(usual.get_args());
            copy
        })
    };
    let daemon = start();
    let newer = home.path().join("newer");
    fs::write(&newer, "").unwrap();
    fs::rename(&newer, &program).unwrap();
    assert_eq!(daemon.terminate(), Some(5), "{}", home.log());
    fs::remove_file(&program).unwrap();
    let daemon = start();
    fs::remove_file(&program).unwrap();
    assert_eq!(daemon.terminate(), Some(0), "{}", home.log());
}

#[test]
fn a_hanging_daemon_is_distinguished_from_a_stopped_one() {
    let home = TestHome::new();
    let daemon = home.daemon();
    signal(daemon.pid(), Signal::STOP);
    let status = home.run(["daemon", "status", "--json"]);
    assert_eq!((status.code, status.json()["result"].as_str()), (Some(3), Some("silent")), "{status:?}");
    assert_eq!(status.json()["owner"]["pid"], daemon.pid());
    signal(daemon.pid(), Signal::CONT);
    assert_eq!(home.run(["daemon", "status", "--json"]).ok().json()["result"], "running");
}

#[test]
fn a_daemon_whose_socket_was_deleted_can_be_stopped() {
    let home = TestHome::new();
    let mut daemon = home.daemon();
    fs::remove_file(home.paths().socket).unwrap();
    home.run(["daemon", "stop"]).ok();
    until("it has ended", || !daemon.alive());
    home.run(["daemon", "start"]).ok();
}
