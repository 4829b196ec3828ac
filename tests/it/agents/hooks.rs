use std::{io::Write, process::Stdio};

use ergo::{
    api::{Caller, RememberRequest},
    domain::ClaimKind,
};
use serde_json::{Value, json};

use crate::support::{Output, TestHome, WITHOUT_MODELS, block_on, caller};

/// Runs a hook with `input` on stdin.
fn hook(home: &TestHome, moment: &str, input: &str) -> Output {
    let mut child = home
        .command(["hook", moment])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A hook may end before it has read its input.
    let _gone = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap().into()
}

/// Returns what a hook adds to the context; empty if it prints nothing.
#[track_caller]
fn context(home: &TestHome, moment: &str, input: &Value) -> String {
    let output = hook(home, moment, &input.to_string()).ok();
    assert_eq!(output.stderr, "");
    if output.stdout.is_empty() {
        return String::new();
    }
    output.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

fn remember(home: &TestHome, kind: ClaimKind, statement: &str, source: Option<&str>) {
    let request = RememberRequest {
        caller: Caller { org_id: "claude-code".into(), project: "work".into(), ..caller() },
        statement: statement.into(),
        kind: Some(kind),
        reason: Some("It was agreed.".into()),
        source: source.map(str::to_owned),
        ..RememberRequest::default()
    };
    block_on(async { home.client().remember(&request).await }).unwrap();
}

#[test]
fn a_session_is_told_what_binds_it_once_and_it_is_on_the_record() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let session = |source: &str| json!({"session_id": "s-1", "source": source, "hook_event_name": "SessionStart"});
    assert_eq!(context(&home, "session-start", &session("startup")), "", "nothing is known yet");

    remember(&home, ClaimKind::Decision, "Use tabs for indentation.", None);
    remember(&home, ClaimKind::Constraint, "Never log request bodies.", Some("src/log.rs:4"));
    let expired =
        ["remember", "Deploys are frozen.", "--kind", "constraint", "--reason", "Audit.", "--until", "2020-01-31"];
    home.run(expired).ok();
    let brief = context(&home, "session-start", &session("startup"));
    assert!(!brief.contains("frozen") && !brief.contains("more"), "{brief}");
    let (constraint, decision) = (brief.find("request bodies").unwrap(), brief.find("Use tabs").unwrap());
    assert!(constraint < decision, "constraints come first: {brief}");
    assert!(brief.contains("It was agreed."), "{brief}");
    assert_eq!(context(&home, "session-start", &session("resume")), "", "never twice into one session");
    let file = json!({"session_id": "s-1", "tool_name": "Edit", "tool_input": {"file_path": "src/log.rs"}});
    assert_eq!(context(&home, "post-tool", &file), "", "nor by another hook");
    let other = json!({"session_id": "s-2", "tool_input": {"file_path": home.work().join("src/log.rs")}});
    assert!(context(&home, "post-tool", &other).contains("request bodies"));
    let asked = json!({"session_id": "s-3", "prompt": "May we log request bodies here?"});
    assert!(context(&home, "user-prompt", &asked).contains("Never log request bodies."));
    let small_talk = json!({"session_id": "s-3", "prompt": "What is the capital of France?"});
    assert_eq!(context(&home, "user-prompt", &small_talk), "", "below the floor nothing is said");
    assert!(context(&home, "session-start", &session("compact")).contains("request bodies"), "its context is gone");

    let all = home.run(["injected", "--json"]).ok().json()["items"].clone();
    let hooks: Vec<_> = all.as_array().unwrap().iter().map(|one| one["hook"].as_str().unwrap()).collect();
    assert_eq!(hooks, ["session-start", "user-prompt", "post-tool", "session-start"]);
    let id = all[3]["claims"][0].as_str().unwrap();
    assert_eq!(home.run(["injected", "--claim", &id[..12], "--json"]).ok().json()["total"], 4);
    let one = home.run(["injected", "--session", "s-2"]).ok().stdout;
    assert!(one.contains("post-tool · session s-2") && one.contains(&id[..10]), "{one}");
}

#[test]
fn a_rule_of_the_organisation_that_the_project_narrowed_is_shown_as_the_project_has_it() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let rule = ["remember", "Never use moment.", "--kind", "constraint", "--reason", "Agreed."];
    home.run(rule.iter().chain(&["--scope", "claude-code/*"])).ok();
    let session = |id: &str| json!({"session_id": id, "source": "startup", "hook_event_name": "SessionStart"});
    let brief = context(&home, "session-start", &session("s-1"));
    assert!(brief.contains("Rules of all projects of claude-code") && brief.contains("Never use moment."), "{brief}");
    let refused = home.run(["remember", "Use moment.", "--reason", "Dates.", "--json"]).json();
    let card = refused["card_id"].as_str().unwrap();
    home.run(["resolve", card, "--narrow", "2", "--env", "production", "--reason", "Only there."]).ok();
    let brief = context(&home, "session-start", &session("s-2"));
    assert!(!brief.contains("Rules of all projects") && brief.contains("only env production"), "{brief}");
}

#[test]
fn who_stops_without_having_stored_anything_is_asked_once() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let input = json!({"session_id": "s", "hook_event_name": "Stop"}).to_string();
    for source in ["startup", "clear", "compact"] {
        let start = json!({"session_id": "s", "source": source, "hook_event_name": "SessionStart"});
        assert_eq!(context(&home, "session-start", &start), "");
        assert_eq!(hook(&home, "stop", &input).ok().stdout, "", "nothing is stored in this project ({source})");
    }
    let records = std::fs::read_dir(home.path().join("injected")).unwrap().count();
    assert_eq!(records, 0, "there is nothing to record of such a session");
    remember(&home, ClaimKind::Decision, "Use tabs for indentation.", None);
    assert_eq!(hook(&home, "stop", &input).ok().stdout, "", "a session that was given nothing is not asked");
    assert!(!context(&home, "session-start", &json!({"session_id": "s"})).is_empty());
    let asked = hook(&home, "stop", &input).ok().json();
    assert_eq!(asked["decision"], "block");
    assert!(asked["reason"].as_str().unwrap().contains("ergo_remember"));
    assert_eq!(hook(&home, "stop", &input).ok().stdout, "");
    let answer = hook(&home, "pre-compact", &input).ok().json();
    assert!(answer["systemMessage"].as_str().unwrap().contains("ergo_remember"), "{answer}");
}

#[test]
fn whatever_goes_wrong_a_hook_is_silent_and_succeeds() {
    let home = TestHome::new();
    let silent = |home: &TestHome, moment: &str, input: &str| {
        let output = hook(home, moment, input);
        assert_eq!((output.code, &*output.stdout, &*output.stderr), (Some(0), "", ""), "{moment} {input:.40}");
    };
    // No daemon runs, and only the hook at the beginning of a session starts one.
    for moment in ["user-prompt", "post-tool", "stop"] {
        silent(&home, moment, r#"{"session_id": "s", "prompt": "What is the port?"}"#);
    }
    let _daemon = home.daemon();
    remember(&home, ClaimKind::Constraint, "Never log request bodies.", None);
    let deep = format!("{}1", "[".repeat(100_000));
    let long = json!({"session_id": "s", "prompt": "x ".repeat(100_000)}).to_string();
    for input in ["", "nonsense", "[]", "{\"prompt\": 7}", "{\"prompt\": \"\\u0000\"}", &deep, &long] {
        silent(&home, "user-prompt", input);
        silent(&home, "post-tool", input);
    }
    std::fs::write(home.paths().config, "this is = [ no configuration").unwrap();
    silent(&home, "session-start", "{}");
    std::fs::write(home.paths().config, WITHOUT_MODELS).unwrap();
    std::fs::remove_dir_all(home.path().join("injected")).unwrap();
    std::fs::write(home.path().join("injected"), "in the way of the folder").unwrap();
    silent(&home, "session-start", r#"{"session_id": "s"}"#);
}

#[test]
fn an_unknown_event_is_reported_and_stops_no_agent() {
    let home = TestHome::new();
    let output = hook(&home, "sesion-start", "{}").ok();
    assert_eq!(output.stdout, "");
    assert!(output.stderr.contains("unknown event “sesion-start”"), "{}", output.stderr);
    assert!(output.stderr.contains("session-start, user-prompt, post-tool, pre-compact, stop"), "{}", output.stderr);
}

#[test]
fn invalid_arguments_of_a_hook_are_reported_and_block_no_prompt() {
    let home = TestHome::new();
    for args in [
        &["hook", "user-prompt", "--tokens", "1k"][..],
        &["hook", "user-prompt", "--bogus"],
        &["hook"],
        &["hook", "user-prompt", "--scope", "a/b", "--org", "c"],
        &["--org", "acme", "hook", "stop", "--json", "--bogus"],
    ] {
        let output = home.run(args).ok();
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}: {output:?}");
    }
    assert!(home.run(["hook", "--help"]).ok().stdout.contains("session-start"));
    assert_eq!(home.run(["recall", "hook", "--bogus"]).code, Some(2), "not a hook");
}

#[test]
fn a_summary_is_warned_about_without_a_daemon() {
    let home = TestHome::new();
    let answer = hook(&home, "pre-compact", r#"{"session_id": "s"}"#).ok().json();
    assert!(answer["systemMessage"].as_str().unwrap().contains("ergo_remember"), "{answer}");
    assert!(!home.path().join("injected").exists());
}

#[test]
fn the_first_session_starts_the_daemon() {
    let home = TestHome::new();
    assert_eq!(hook(&home, "session-start", r#"{"session_id": "s"}"#).ok().stdout, "");
    block_on(async { home.client().health().await }).unwrap();
}
