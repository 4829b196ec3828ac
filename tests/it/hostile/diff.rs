//! Changes that cannot be read whole, and repositories that name programs.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use super::{refused, run, run_with};
use crate::support::{TestHome, git};

const BREACH: &str = "--- a/package.json\n+++ b/package.json\n@@ -0,0 +1 @@\n+\"lodash\": \"4\"\n";

fn home_with_a_constraint() -> TestHome {
    let home = TestHome::new();
    run(&home, &["remember", "Never use lodash.", "--kind", "constraint", "--reason", "Agreed."]).ok();
    home
}

/// A change of one file with this many bytes of added lines.
fn long(bytes: usize) -> String {
    let line = format!("+{}\n", "x".repeat(1023));
    let lines = bytes / line.len();
    format!("--- a/notes.txt\n+++ b/notes.txt\n@@ -0,0 +1,{lines} @@\n{}", line.repeat(lines))
}

#[test]
fn a_change_beyond_the_limit_is_refused_not_cut() {
    let home = home_with_a_constraint();
    let big = format!("{}{BREACH}", long(33 << 20));
    fs::write(home.work().join("big.diff"), &big).unwrap();
    let parts = ["33554432 bytes (32 MiB)", "nothing was checked"];
    refused(
        &run(&home, &["commit-check", "--diff", "big.diff"]),
        &[&parts[..], &["big.diff", "34603094 bytes"]].concat(),
    );
    refused(&run_with(home.command(["commit-check", "--diff", "-"]), big.as_bytes()), &parts);
    let within = format!("{}{BREACH}", long(31 << 20));
    let found = run_with(home.command(["commit-check", "--diff", "-"]), within.as_bytes());
    assert_eq!(found.code, Some(1), "{}", found.stderr);

    git(&home.work(), &["init", "-q"]);
    fs::write(home.work().join("a.txt"), "x\n".repeat(17 << 20)).unwrap();
    git(&home.work(), &["add", "a.txt"]);
    refused(&run(&home, &["commit-check"]), &parts);
}

#[test]
fn a_hunk_that_ends_early_or_has_no_line_numbers_is_refused() {
    let home = home_with_a_constraint();
    let cut = "--- a/notes.txt\n+++ b/notes.txt\n@@ -0,0 +1,3 @@\n+one\n";
    let output = run_with(home.command(["commit-check", "--diff", "-"]), cut.as_bytes());
    refused(&output, &["the diff is truncated", "line 5"]);
    let unnumbered = BREACH.replace("+1 @@", "+x @@");
    let output = run_with(home.command(["commit-check", "--diff", "-"]), unnumbered.as_bytes());
    refused(&output, &["line 3", "hunk without valid line numbers", "nothing was checked"]);
}

/// A program that records its runs in the file that is returned.
fn trap(home: &TestHome) -> (String, PathBuf) {
    let (ran, trap) = (home.path().join("ran"), home.path().join("trap"));
    fs::write(&trap, format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\n", ran.display())).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    (trap.to_str().unwrap().to_owned(), ran)
}

/// Fails if the trap was run so far, or if git itself does not run it with these arguments.
#[track_caller]
fn only_git_runs(ran: &Path, work: &Path, args: &[&str]) {
    assert!(!ran.exists(), "{}", fs::read_to_string(ran).unwrap_or_default());
    let _output = Command::new("git").args(args).current_dir(work).output().unwrap();
    assert!(ran.exists(), "git itself runs them");
}

#[test]
fn what_is_not_a_diff_is_refused_and_colours_are_read() {
    let home = home_with_a_constraint();
    let check = |input: &str| run_with(home.command(["commit-check", "--diff", "-"]), input.as_bytes());
    for input in ["hello\n", " package.json | 1 +\n 1 file changed, 1 insertion(+)\n", "package.json\n"] {
        refused(&check(input), &["not a diff", "nothing was checked", "`diff --git`"]);
    }
    let combined = "diff --cc a\n--- a/a\n+++ b/a\n@@@ -0,0 -0,0 +1,1 @@@\n++x\n";
    refused(&check(combined), &["combined diff", "nothing was checked"]);
    let coloured: Vec<_> = BREACH.lines().map(|line| format!("\x1b[32m{line}\x1b[m\n")).collect();
    let coloured = coloured.concat();
    let output = check(&coloured);
    assert!(output.code == Some(1) && output.stdout.contains("package.json:1: forbidden package"), "{output:?}");
    check("").ok();
}

#[test]
fn a_repository_of_someone_else_runs_nothing_and_hides_nothing() {
    let home = home_with_a_constraint();
    let work = home.work();
    let (trap, ran) = trap(&home);
    git(&work, &["init", "-q"]);
    fs::write(work.join("package.json"), "{\n}\n").unwrap();
    git(&work, &["add", "."]);
    git(&work, &["commit", "-qm", "x"]);
    fs::write(work.join("package.json"), "{\n\"lodash\": \"4\"\n}\n").unwrap();
    git(&work, &["add", "."]);
    fs::write(work.join(".gitattributes"), "*.json diff=evil filter=evil\n").unwrap();
    for name in [
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.process",
    ] {
        git(&work, &["config", name, &trap]);
    }
    for (name, value) in [("diff.noprefix", "true"), ("color.ui", "always"), ("diff.relative", "true")] {
        git(&work, &["config", name, value]);
    }
    let output = run(&home, &["commit-check"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains("package.json:2"), "{}", output.stdout);
    only_git_runs(&ran, &work, &["diff", "--cached"]);
}

#[test]
fn the_history_of_a_repository_of_someone_else_runs_nothing() {
    let home = TestHome::new();
    let work = home.work();
    let (trap, ran) = trap(&home);
    git(&work, &["init", "-q"]);
    fs::write(work.join("AGENTS.md"), "- Never use lodash.\n").unwrap();
    fs::write(work.join(".gitattributes"), "*.md diff=evil filter=evil\n").unwrap();
    git(&work, &["add", "."]);
    // A commit with a signature, which `log.showSignature` makes git verify with a program.
    git(&work, &["commit", "-qm", "Agree on rules"]);
    let read = Command::new("git").args(["cat-file", "commit", "HEAD"]).current_dir(&work).output().unwrap();
    let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n";
    let signed = String::from_utf8(read.stdout).unwrap().replacen("\n\n", &format!("\n{signature}"), 1);
    fs::write(home.path().join("signed"), signed).unwrap();
    let commit = Command::new("git")
        .args(["hash-object", "-t", "commit", "-w", "../signed"])
        .current_dir(&work)
        .output()
        .unwrap();
    git(&work, &["reset", "-q", String::from_utf8(commit.stdout).unwrap().trim()]);
    for name in
        ["core.fsmonitor", "core.pager", "diff.external", "diff.evil.textconv", "filter.evil.smudge", "gpg.program"]
    {
        git(&work, &["config", name, &trap]);
    }
    git(&work, &["config", "log.showSignature", "true"]);
    let output = run(&home, &["import", "rules", "--history", "AGENTS.md"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let claims = run(&home, &["claims"]).ok().stdout;
    assert!(claims.contains("Never use lodash"), "{claims}");
    only_git_runs(&ran, &work, &["log"]);
}
