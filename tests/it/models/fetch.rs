//! `ergo models pull` against a server that fails.

use std::{
    fs,
    process::{Command, Stdio},
};

use rustix::process::Signal;

use super::{
    bytes, home_with, left, listed, part,
    server::{Does, Server},
    target,
};
use crate::support::{Output, SmallDisk, TestHome, signal, until};

const LENGTH: usize = 600_000;

/// Runs `ergo models pull tiny`.
fn pull(home: &TestHome, args: &[&str]) -> Output {
    pulling(home, args).output().unwrap().into()
}

fn pulling(home: &TestHome, args: &[&str]) -> Command {
    home.command(["models", "pull", "tiny"].iter().chain(args))
}

fn setting(script: impl IntoIterator<Item = Does>) -> (Vec<u8>, Server, TestHome) {
    let file = bytes(LENGTH);
    let server = Server::new(&file, script);
    let home = home_with(&file, &server.address, "");
    (file, server, home)
}

#[track_caller]
fn whole(home: &TestHome, file: &[u8]) {
    assert!(fs::read(target(home)).unwrap() == file, "the file is another one");
    assert_eq!(left(home), ["tiny.gguf"], "nothing is left over");
    assert_eq!(listed(home, "tiny")["state"], "installed");
}

#[test]
fn a_cut_transfer_goes_on_and_the_progress_is_plain_lines() {
    let (file, server, home) = setting([Does::Cut(250_000), Does::Serve]);
    let output = pull(&home, &[]).ok();
    whole(&home, &file);
    assert_eq!(server.ranges(), [None, Some(250_000)]);
    assert!(server.asked()[1].contains("\"v1\""), "only if it is still the same file: {:?}", server.asked());
    let stderr = &output.stderr;
    assert!(stderr.contains("tiny  40 %") && stderr.contains("tiny  100 %"), "{stderr}");
    assert!(stderr.contains("cut off: Peer disconnected; retrying in 1 s"), "{stderr}");
    assert!(!stderr.contains('\r') && !stderr.contains('\x1b'), "{stderr:?}");
    assert!(output.stdout.contains("Installed tiny"), "{output:?}");
    let again = pull(&home, &["--json"]).ok();
    assert_eq!((again.json()["result"].as_str(), server.asked().len()), (Some("already_installed"), 2));
}

#[test]
fn a_signal_leaves_a_part_that_the_next_run_continues() {
    let (file, server, home) = setting([Does::Stall(200_000)]);
    let mut child = pulling(&home, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("200,000 bytes are in the part", || fs::metadata(part(&home)).is_ok_and(|meta| meta.len() == 200_000));
    assert_eq!(listed(&home, "tiny")["fetched"], 200_000);
    let busy = pull(&home, &[]);
    assert_eq!(busy.code, Some(2));
    assert!(busy.stderr.contains("another command is downloading"), "{busy:?}");
    signal(child.id(), Signal::TERM);
    assert!(!child.wait().unwrap().success());
    assert_eq!(listed(&home, "tiny")["state"], "partial");
    server.then([Does::Serve]);
    let output = pull(&home, &[]).ok();
    assert!(output.stderr.contains("resuming tiny after 200.0 kB"), "{output:?}");
    whole(&home, &file);
    // On a slow machine the first command takes the silence for a cut, and asks again before the signal comes.
    let ranges = server.ranges();
    assert!(ranges.len() >= 2 && ranges[0].is_none(), "{ranges:?}");
    assert!(ranges[1..].iter().all(|range| *range == Some(200_000)), "{ranges:?}");
}

#[test]
fn a_server_that_falls_silent_counts_as_cut_off_and_a_slow_one_does_not() {
    let (file, server, home) = setting([Does::Stall(100_000), Does::Slow]);
    let output = pull(&home, &["--timeout", "1"]).ok();
    whole(&home, &file);
    assert_eq!(server.ranges(), [None, Some(100_000)]);
    assert!(output.stderr.contains("timeout"), "{output:?}");
}

#[test]
fn a_server_without_ranges_sends_it_whole() {
    let (file, server, home) = setting([Does::Cut(100_000), Does::Whole]);
    let output = pull(&home, &[]).ok();
    whole(&home, &file);
    assert_eq!(server.ranges(), [None, Some(100_000)]);
    assert!(output.stderr.contains("Restarting"), "{output:?}");
}

#[test]
fn a_redirection_keeps_the_place() {
    let (file, server, home) = setting([Does::Redirect, Does::Cut(100_000), Does::Redirect, Does::Serve]);
    pull(&home, &[]).ok();
    whole(&home, &file);
    assert_eq!(server.ranges(), [None, None, Some(100_000), Some(100_000)]);
    assert!(server.asked()[3].starts_with("GET /moved/tiny.gguf"));
}

#[test]
fn another_file_is_refused_and_nothing_of_it_stays() {
    let other = vec![7; LENGTH];
    let (_, server, home) = setting([Does::Other(other), Does::Other(vec![7; 10])]);
    let output = pull(&home, &[]);
    assert_eq!(output.code, Some(4));
    assert!(output.stderr.contains("SHA-256") && output.stderr.contains("was deleted"), "{output:?}");
    let output = pull(&home, &[]);
    assert_eq!(output.code, Some(4));
    assert!(output.stderr.contains("has 10 bytes"), "{output:?}");
    assert_eq!((left(&home), server.asked().len()), (Vec::<String>::new(), 2));
    assert_eq!(listed(&home, "tiny")["state"], "available");
}

#[test]
fn what_the_server_refuses_is_reported_with_the_next_step() {
    let (file, server, home) = setting([Does::Status(404), Does::Status(403), Does::Status(503), Does::Serve]);
    let output = pull(&home, &[]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("HTTP 404") && output.stderr.contains("/about"), "{output:?}");
    let output = pull(&home, &[]);
    assert!(output.stderr.contains("signing in"), "{output:?}");
    assert_eq!(left(&home), Vec::<String>::new());
    pull(&home, &[]).ok();
    whole(&home, &file);
    assert_eq!(server.asked().len(), 4, "503 may pass, so it was tried again");
}

#[test]
fn a_mirror_gives_the_same_file_and_no_other_address_is_asked() {
    let file = bytes(LENGTH);
    let mirror = Server::new(&file, [Does::Serve]);
    let home = home_with(&file, "http://127.0.0.1:9", "");
    let output = pull(&home, &["--url", "ftp://example.org/x"]);
    assert_eq!(output.code, Some(2));
    pull(&home, &["--url", &format!("{}/deep/other-name.bin", mirror.address), "--use"]).ok();
    assert_eq!(fs::read(target(&home)).unwrap().len(), LENGTH);
    assert_eq!(listed(&home, "tiny")["state"], "in_use");
    assert!(mirror.asked()[0].starts_with("GET /deep/other-name.bin"));
}

#[test]
fn offline_nothing_is_asked() {
    let file = bytes(1_000);
    let server = Server::new(&file, []);
    let home = home_with(&file, &server.address, "offline = true\n");
    let output = pull(&home, &[]);
    assert_eq!((output.code, server.asked().len()), (Some(2), 0));
    assert!(output.stderr.contains("offline = true") && output.stderr.contains("ergo models import"), "{output:?}");
}

#[test]
fn what_needs_no_fetching_is_not_fetched() {
    let (file, server, home) = setting([]);
    let inside = home.run(["models", "pull", "minilm-l6"]).ok();
    assert!(inside.stdout.contains("built in"), "{inside:?}");
    fs::create_dir_all(home.paths().models()).unwrap();
    fs::write(target(&home), &file).unwrap();
    let output = pull(&home, &[]).ok();
    assert!(output.stdout.contains("already installed"), "{output:?}");
    assert_eq!(server.asked().len(), 0);
    let output = home.run(["models", "pull", "tinny"]);
    assert_eq!(output.code, Some(2));
    let output = home.run(["models", "pull", "smollm2-135m"]);
    assert!(output.stderr.contains("no download URL") && output.stderr.contains("--url"), "{output:?}");
}

#[test]
fn a_full_disk_is_reported_and_the_part_makes_room() {
    let (_, server, home) = setting([Does::Wait(300_000)]);
    let folder = home.paths().models();
    fs::create_dir_all(&folder).unwrap();
    let Some(disk) = SmallDisk::new(&folder, 1_024) else { return };
    let output = pull(&home, &[]);
    assert_eq!(
        (output.code, server.asked().len()),
        (Some(4), 0),
        "a lack of disk space is reported before anything is fetched"
    );
    assert!(output.stderr.contains("not enough disk space"), "{output:?}");
    drop(disk);
    let _disk = SmallDisk::new(&folder, 70 * 1_024).unwrap();
    let child = pulling(&home, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("300,000 bytes are in the part", || fs::metadata(part(&home)).is_ok_and(|meta| meta.len() == 300_000));
    // Another program fills the disk in the meantime.
    let filled = fs::write(folder.join("other"), vec![1; 80_000_000]);
    assert!(filled.is_err(), "the disk is larger than it was to be");
    server.go_on();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("is full") && stderr.contains("was deleted"), "{stderr}");
    assert_eq!(left(&home), Vec::<String>::new());
}
