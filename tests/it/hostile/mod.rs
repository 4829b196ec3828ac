//! Faults of broken machines, hostile files and strangers against one daemon and its clients. `FAULTS.md` in this
//! folder lists each with its test.

mod backup;
mod diff;
mod disk;
mod escapes;
mod files;
mod home;
mod links;
mod listeners;
mod op_id;
mod peer;
mod reads;
mod refusals;
mod store;
mod stranger;
mod token;

use std::{
    fs::File,
    io::Write,
    os::unix::fs::FileExt,
    path::Path,
    process::{Command, Stdio},
};

use crate::support::{Output, TestHome, await_exit};

/// Runs the program and gives up on it, so that a read without end fails its test instead of stopping all.
#[track_caller]
fn run(home: &TestHome, args: &[&str]) -> Output {
    run_with(home.command(args), b"")
}

/// [`run`], with this on its standard input.
#[track_caller]
fn run_with(mut command: Command, stdin: &[u8]) -> Output {
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.unwrap();
    let (mut pipe, bytes) = (child.stdin.take().unwrap(), stdin.to_owned());
    // A program that refuses early closes its end.
    let feed = std::thread::spawn(move || drop(pipe.write_all(&bytes)));
    await_exit(&mut child, &format!("{command:?}"));
    let output = child.wait_with_output().unwrap();
    feed.join().unwrap();
    output.into()
}

/// Overwrites the root page of an index or table of the store's file with one byte.
fn overwrite_root_of(home: &TestHome, name: &str, byte: u8) {
    let db = rusqlite::Connection::open(home.paths().store()).unwrap();
    let (page, size): (u64, u64) = db
        .query_row("SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?1", [name], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    drop(db);
    let file = File::options().write(true).open(home.paths().store()).unwrap();
    file.write_all_at(&vec![byte; size as usize], (page - 1) * size).unwrap();
}

fn pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[track_caller]
fn refused(output: &Output, words: &[&str]) {
    assert_eq!(output.code, Some(2), "{output:?}");
    for word in words {
        assert!(output.stderr.contains(word), "“{word}” is not in {}", output.stderr);
    }
}
