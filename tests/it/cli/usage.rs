//! Invalid usage, missing things, closed pipes.

use std::process::Stdio;

use super::{
    super::support::{TestHome, skip},
    transcript,
};

#[test]
fn wrong_usage_ends_with_2_and_says_what_is_right() {
    let home = TestHome::new();
    for args in [&["frob"][..], &["remember"], &["resolve", "--keep", "1", "--exception"], &["retract", "abcd"]] {
        let output = home.run(args);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stdout.is_empty() && output.stderr.contains("ergo"), "{output:?}");
    }
    let output = home.run(["claims", "--scope", "acme"]);
    insta::assert_snapshot!(transcript(&output), @r"
    exit 2
    --- stderr
    Error: invalid scope “acme”: expected ORG/PROJECT
    Hint: `ergo scopes` lists the scopes that have claims
    ");
}

#[test]
fn what_the_daemon_misses_is_named_as_an_argument() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let output = home.run(["remember", "Deploy on green CI."]);
    insta::assert_snapshot!(transcript(&output), @r"
    exit 2
    --- stderr
    Error: a decision needs a `--reason`
    Hint: say why it was decided; for a plain fact, use `--kind fact`, which needs no reason
    ");
    let output = home.run(["remember", "Deploy on green CI.", "--reason", "r", "--from", "soon"]);
    insta::assert_snapshot!(transcript(&output), @r"
    exit 2
    --- stderr
    Error: `--from`: invalid date “soon”
    Hint: write it as YYYY-MM-DD, such as 2026-03-01
    ");
}

#[test]
fn without_a_daemon_and_not_allowed_to_start_one_it_ends_with_3() {
    let home = TestHome::new();
    for args in [&["why", "x", "--no-spawn"][..], &["status"]] {
        let output = home.run(args);
        assert_eq!(output.code, Some(3), "{output:?}");
        assert!(output.stderr.contains("Hint: start it with `ergo daemon start`"), "{output:?}");
        assert!(output.stderr.contains("(it is not running)") && !output.stderr.contains("os error"), "{output:?}");
    }
    let output = home.run(["why", "x", "--no-spawn", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&output.stderr).unwrap();
    assert_eq!((output.code, error["kind"].as_str()), (Some(3), Some("unreachable")));
    assert!(output.stdout.is_empty(), "an error is no answer: {output:?}");
}

#[test]
fn a_mistake_in_the_settings_names_file_and_line() {
    let home = TestHome::with_config("who = \"ada\"\nwhoo = 1\n");
    let output = home.run(["claims"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("config.toml:2: "), "{output:?}");
    std::fs::write(home.paths().config, b"# a comment\n# caf\xe9\n").unwrap();
    let output = home.run(["daemon", "start"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("config.toml:2: this line is not UTF-8"), "{output:?}");
    std::fs::remove_file(home.paths().config).unwrap();
    std::fs::create_dir(home.paths().config).unwrap();
    let output = home.run(["status"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("it is a folder"), "{output:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = TestHome::new();
    let mut child = home.command(["man", "--markdown"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_full_disk_is_an_error() {
    let home = TestHome::new();
    let full = std::fs::File::options().write(true).open("/dev/full");
    let Ok(full) = full else { return skip("this machine has no /dev/full") };
    let output = home.command(["man", "--markdown"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the answer"), "{output:?}");
}

#[test]
fn help_is_plain_in_a_pipe_and_an_unknown_verb_is_corrected() {
    let home = TestHome::new();
    let help = home.run(["--help"]).ok().stdout;
    assert!(!help.contains('\u{1b}') && help.contains("Exit codes:"), "{help}");
    let output = home.run(["rember"]);
    assert!(output.stderr.contains("remember"), "{output:?}");
}
