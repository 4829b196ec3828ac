//! A disk that is full, and a limit on the size of files.

use std::{fs, time::Instant};

use ergo::config::StoreLock;

use crate::support::{Output, SmallDisk, TEST_TIMEOUT, TestHome, in_place_of};

/// Runs a test in a home on a small file system in memory, with a daemon that logs each request. Skips it if this user
/// may not mount one.
fn on_small_disk(test: impl FnOnce(&TestHome, &SmallDisk<'_>)) {
    let home = TestHome::new();
    let path = home.path().to_owned();
    let Some(disk) = SmallDisk::new(&path, 8_000) else { return };
    fs::create_dir(home.work()).unwrap();
    // A built-in model is larger than the disk: what is left of writing it out would come and go beside the test.
    let settings = "[daemon]\ntcp = false\nlog = \"debug\"\n[models]\nembedder = \"none\"\nnli = \"none\"\n";
    fs::write(home.paths().config, settings).unwrap();
    test(&home, &disk);
    home.run(["daemon", "stop"]).ok();
    // First the mount, then the folder that it lies on.
    drop(disk);
}

fn remember(home: &TestHome, statement: &str) -> Output {
    home.run(["remember", statement, "--kind", "fact"])
}

fn assert_reported_full(refused: &Output) {
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("the disk that holds the store is full"), "{refused:?}");
    assert!(refused.stderr.contains("make room"), "{refused:?}");
}

/// Stores facts until the disk is full. Returns how many were acknowledged.
fn until_reported_full(home: &TestHome) -> usize {
    for number in 0..400 {
        let write = remember(home, &format!("Queue {number} holds {number} messages."));
        if write.code != Some(0) {
            assert_reported_full(&write);
            return number;
        }
    }
    panic!("400 facts fit on a full disk");
}

/// Every log line fails, too, since the log is on the same disk. That once blocked the daemon permanently.
#[test]
fn a_full_disk_costs_the_writes_that_do_not_fit_and_nothing_else() {
    on_small_disk(|home, disk| {
        home.run(["daemon", "start"]).ok();
        remember(home, "The cache holds 512 entries.").ok();
        let pid = home.record().pid;
        let ballast = disk.fill();
        // A write that still fits into the store's files is stored.
        let stored = until_reported_full(home);
        for number in 1_000..1_060 {
            assert_reported_full(&remember(home, &format!("Queue {number} holds {number} messages.")));
        }
        let claims = home.run(["claims"]).ok().stdout;
        assert!(claims.contains("512 entries"), "reads go on: {claims}");
        let doctor = home.run(["doctor"]);
        assert!(doctor.stdout.contains("is full") && doctor.stdout.contains("free some space"), "{doctor:?}");

        fs::remove_file(ballast).unwrap();
        remember(home, "The queue holds 64 messages.").ok();
        assert_eq!(home.record().pid, pid, "the same daemon goes on by itself");
        let scopes = home.run(["scopes", "--json"]).ok().json();
        assert_eq!(scopes["items"][0]["active"], stored + 2, "what was acknowledged is there, and no more");
        assert!(home.log().contains("log lines before this one could not be written"), "{}", home.log());
        assert!(!home.run(["doctor"]).stdout.contains("is full"));
    });
}

#[test]
fn a_daemon_on_a_full_disk_stops_when_asked() {
    on_small_disk(|home, disk| {
        home.run(["daemon", "start"]).ok();
        let ballast = disk.fill();
        until_reported_full(home);
        home.run(["daemon", "stop"]).ok();
        assert_eq!(StoreLock::owner(&home.paths()), None);
        fs::remove_file(ballast).unwrap();
    });
}

#[test]
fn a_start_on_a_full_disk_says_so_and_leaves_no_process() {
    on_small_disk(|home, disk| {
        let ballast = disk.fill();
        for _ in 0..3 {
            let begin = Instant::now();
            let refused = home.run(["daemon", "start"]);
            assert_ne!(refused.code, Some(0), "{refused:?}");
            assert!(refused.stderr.contains("is full, make room on it"), "{refused:?}");
            assert!(begin.elapsed() < TEST_TIMEOUT);
        }
        assert_eq!(StoreLock::owner(&home.paths()), None, "no process holds the store");
        let left = processes_of(home);
        assert!(left.is_empty(), "{left:?}");
        fs::remove_file(ballast).unwrap();
        home.run(["daemon", "start"]).ok();
        remember(home, "The cache holds 512 entries.").ok();
    });
}

/// The command lines of the processes whose home this is.
fn processes_of(home: &TestHome) -> Vec<String> {
    let mark = format!("ERGO_HOME={}", home.path().display());
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ours = processes.filter(|process| {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    });
    ours.map(|process| fs::read_to_string(process.path().join("cmdline")).unwrap_or_default().replace('\0', " "))
        .collect()
}

/// Beyond `ulimit -f` the system sends SIGXFSZ, which ends a process that does not expect it.
#[test]
fn a_limit_on_file_sizes_costs_the_writes_that_do_not_fit_and_nothing_else() {
    let home = TestHome::new();
    let daemon = home.daemon_by(|program| {
        let mut limited = in_place_of(&program, "sh");
        limited.args(["-c", "ulimit -f 2048; exec \"$0\" daemon run"]).arg(program.get_program());
        limited
    });
    let reason = "Because ".to_owned() + &"it was agreed upon. ".repeat(400);
    let refused = (0..400)
        .map(|number| {
            home.run([
                "remember",
                &format!("Queue {number} holds {number} messages."),
                "--kind",
                "fact",
                "--reason",
                &reason,
            ])
        })
        .find(|write| write.code != Some(0))
        .expect("the limit is reached");
    assert!(refused.stderr.contains("nothing was stored"), "{refused:?}");
    assert_eq!(home.record().pid, daemon.pid());
    home.run(["claims"]).ok();
    let doctor = home.run(["doctor"]).stdout;
    assert!(doctor.contains("the daemon's files are limited to 1 MiB") && doctor.contains("ulimit -f"), "{doctor}");
    assert_eq!(daemon.terminate(), Some(0), "it ends as it should");
}
