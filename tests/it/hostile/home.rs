//! A home that others own or may write to is not used.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::Path,
};

use crate::support::{Output, TestHome};

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Asserts that the daemon, a client that would start one, and the doctor each refuse with all of these texts.
#[track_caller]
fn each_refuses(home: &TestHome, says: &[&str]) {
    let both_streams = |output: &Output| format!("{}{}", output.stdout, output.stderr);
    for args in [&["daemon", "run"][..], &["daemon", "start"], &["claims"], &["doctor"]] {
        let output = home.run(args);
        assert!(output.code.is_some_and(|code| code != 0), "{args:?}: {output:?}");
        for part in says {
            assert!(both_streams(&output).contains(part), "{args:?} does not say “{part}”: {output:?}");
        }
    }
    assert!(home.run(["doctor"]).stdout.contains("PROBLEM"));
}

#[test]
fn a_home_that_others_may_write_to_is_refused() {
    let home = TestHome::new();
    for mode in [0o777, 0o770, 0o1777] {
        set(home.path(), mode);
        each_refuses(&home, &["is writable by other users", "chmod go-w"]);
        assert!(!home.paths().store().exists() && !home.paths().device_key().exists(), "nothing is put there");
    }
    set(home.path(), 0o755);
    home.run(["claims"]).ok();
}

#[test]
fn a_store_or_secret_that_others_may_write_to_is_refused() {
    let home = TestHome::with_tcp();
    home.daemon().terminate();
    // Others may come in, as by the usual umask.
    set(home.path(), 0o755);
    for file in [home.paths().store(), home.paths().device_key(), home.paths().token()] {
        set(&file, 0o666);
        each_refuses(&home, &["is writable by other users", file.to_str().unwrap(), "chmod go-w"]);
        set(&file, 0o600);
    }
    home.daemon();
}

#[test]
fn a_home_of_another_user_is_refused() {
    let home = TestHome::new();
    let says = ["belongs to user", "chown", "ERGO_HOME"];
    if rustix::process::getuid().is_root() {
        chown(home.path(), Some(12_345), None).unwrap();
        each_refuses(&home, &says);
        return;
    }
    // Only root can give a folder away; a folder of root's is another user's, too.
    let output = home.command(["daemon", "run"]).env("ERGO_HOME", "/etc").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && says.iter().all(|part| stderr.contains(part)), "{stderr}");
}
