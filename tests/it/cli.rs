//! The command line as a process: output, exit codes, and the files that it reads and writes.

mod beside;
mod care;
mod docs;
mod first_day;
mod flow;
mod follow;
mod import;
mod inbox;
mod resolve;
mod round_trip;
mod scope;
mod usage;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
};

use regex::Regex;

use super::support::{Output, TestHome};

/// The folder of the files for importer tests.
fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import").join(folder)
}

/// Replaces ids and ages in a text by placeholders, so that it is the same in every run.
fn redacted(text: &str) -> String {
    let rules = [
        (r"\b[0-9a-f]{64}\b", "<id>"),
        (r"\b[0-9a-f]{32}\b", "<op>"),
        // As wide as the replaced text, so that columns stay aligned.
        (r"\b[0-9a-f]{12}\b", "##__import__"),
        (r"\b[0-9a-f]{10}\b", "####__id__"),
        (r"\bjust now\b|\b\d+ (?:second|minute)s? ago\b", "<age>"),
        // Model outputs differ slightly between processors.
        (r"\b\d+ %", "## %"),
        (r"/[^\s:]*ergo-test-[^\s/:]*", "<home>"),
    ];
    rules
        .iter()
        .fold(text.to_owned(), |text, (rule, word)| Regex::new(rule).unwrap().replace_all(&text, *word).into_owned())
}

/// Exit code, stdout and stderr in one text, as a snapshot holds them.
fn transcript(output: &Output) -> String {
    let code = output.code.map_or_else(|| "signal".to_owned(), |code| code.to_string());
    let err = if output.stderr.is_empty() { String::new() } else { format!("--- stderr\n{}", output.stderr) };
    redacted(&format!("exit {code}\n{}{err}", output.stdout))
}

/// Runs with lines on stdin.
fn run_with_stdin(home: &TestHome, args: &[&str], lines: &str) -> Output {
    let mut child =
        home.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

/// Stores a decision and returns its id.
fn remember(home: &TestHome, statement: &str, reason: &str) -> String {
    let answer = home.run(["remember", statement, "--reason", reason, "--json"]).ok().json();
    answer["claim_id"].as_str().unwrap().to_owned()
}

/// A home with a stored decision and a refused one. Returns the card's id.
fn refused(home: &TestHome) -> String {
    remember(home, "The canary must be blue.", "Red is for alarms.");
    let output = home.run(["remember", "The canary must be red.", "--reason", "Red is seen from afar.", "--json"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    output.json()["card_id"].as_str().unwrap().to_owned()
}
