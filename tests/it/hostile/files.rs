//! Files without end, pipes that nobody writes, and files that are too large.

use std::{fs, os::unix::fs::symlink};

use super::{pipe, refused, run, run_with};
use crate::support::TestHome;

#[test]
fn an_import_reads_no_device_and_waits_for_no_pipe() {
    let home = TestHome::new();
    symlink("/dev/zero", home.work().join("link.md")).unwrap();
    pipe(&home.work().join("pipe.md"));
    for kind in ["adr", "rules", "jsonl", "memory", "chat", "proposals"] {
        for (path, what) in [("/dev/zero", "a device"), ("link.md", "a device"), ("pipe.md", "a pipe")] {
            refused(&run(&home, &["import", kind, path]), &[path, what, "name a regular file"]);
        }
    }
}

#[test]
fn a_pipe_in_a_folder_of_records_is_left_out_and_reported() {
    let home = TestHome::new();
    let folder = home.work().join("adr");
    fs::create_dir(&folder).unwrap();
    pipe(&folder.join("0001-pipe.md"));
    fs::write(
        folder.join("0002-x.md"),
        "# Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\nUse PostgreSQL.\n",
    )
    .unwrap();
    let output = run(&home, &["import", "adr", "adr", "--dry-run", "--details"]).ok();
    assert!(output.stdout.contains("a pipe") && output.stdout.contains("PostgreSQL"), "{}", output.stdout);
}

#[test]
fn a_file_over_the_limit_is_named_with_its_size() {
    let home = TestHome::new();
    fs::File::create(home.work().join("rules.md")).unwrap().set_len((1 << 20) + 1).unwrap();
    refused(&run(&home, &["import", "rules", "rules.md"]), &["rules.md", "1048577 bytes", "1048576 bytes (1 MiB)"]);
    let endless = vec![b'x'; (1 << 20) + 1];
    refused(&run_with(home.command(["import", "rules", "-"]), &endless), &["more than the limit of 1048576 bytes"]);
    let read = run_with(home.command(["import", "rules", "-", "--dry-run"]), b"- Always use tabs for indentation.\n");
    assert!(read.ok().stdout.contains("Always use tabs"));
}

#[test]
fn settings_and_bundles_that_are_pipes_are_refused() {
    let home = TestHome::new();
    pipe(&home.work().join("a.ergo"));
    {
        let _daemon = home.daemon();
        refused(&run(&home, &["sync", "import", "a.ergo"]), &["a.ergo", "a pipe"]);
        refused(&run(&home, &["sync", "import", "/dev/zero"]), &["/dev/zero", "a device"]);
    }
    fs::remove_file(home.paths().config).unwrap();
    pipe(&home.paths().config);
    let output = run(&home, &["status"]);
    assert!(output.code != Some(0) && output.stderr.contains("a pipe"), "{output:?}");
}
