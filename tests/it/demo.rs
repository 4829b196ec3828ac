//! The demonstration: it works anywhere, does not touch the user's files, and leaves nothing behind.

use std::{fs, path::PathBuf, process::Stdio};

use ergo::config::Paths;
use rustix::process::Signal;
use serde_json::Value;

use crate::{
    support::{TestHome, await_exit, signal, until},
    term::App,
};

/// A home with a temporary folder of its own, so that left files are found.
struct Stage {
    home: TestHome,
    temporary: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let home = TestHome::new();
        let temporary = home.path().join("t");
        fs::create_dir(&temporary).unwrap();
        Self { home, temporary }
    }

    fn demo(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.home.command([&["demo"], args].concat());
        command.env("TMPDIR", &self.temporary).env("ERGO_API_URL", "http://127.0.0.1:1").env("ERGO_API_TOKEN", "x");
        command
    }

    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.temporary).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }
}

#[test]
fn three_writes_are_refused_a_reversal_is_found_and_nothing_is_left_behind() {
    let stage = Stage::new();
    let output = stage.demo(&["--plain"]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    let (writes, review) = stdout.split_once("A person settles").expect("the review is announced");
    assert_eq!(writes.matches("Refused:").count(), 3, "{stdout}");
    assert_eq!(writes.lines().filter(|line| line.starts_with("Stored ")).count(), 2, "{stdout}");
    assert!(review.contains("4 items need attention.") && review.contains("Refused writes: 3"), "{review}");
    let marks = writes.split_once("story --marks").expect("the story is shown").1;
    assert_eq!(marks.matches("\nreversal  Does “The nightly build runs on the office server").count(), 1, "{stdout}");
    assert!(marks.contains("\n2025-02-03  ") && marks.contains("\n2025-05-12  "), "{stdout}");
    assert!(review.contains("Story questions: 1"), "{review}");
    assert_eq!(stage.left(), Vec::<String>::new());
    assert!(!stage.home.paths().store().exists(), "the user's own store was made");
}

#[test]
fn on_a_terminal_it_asks_nothing_and_opens_the_app_on_the_first_card() {
    let stage = Stage::new();
    let mut app = App::command(&stage.home, &["demo"]);
    let screen = app.until(|screen| screen.contains("Inbox: demo/ergo") && screen.contains("What you can do"));
    let marked = screen.full_text().lines().find(|line| line.contains('▌')).unwrap().to_owned();
    assert!(marked.contains("takes at most 10"), "{marked}");
    app.keys("q");
    assert!(app.ends().0);
}

#[test]
fn its_own_decisions_do_not_contradict_one_another() {
    let stage = Stage::new();
    let output = stage.demo(&["--json"]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [records, rules, writes @ .., _why, notes, story, inbox] = answers.as_slice() else { panic!("{stdout}") };
    assert_eq!(notes["stored"].as_array().map(Vec::len), Some(3), "{notes:#}");
    let marks = story["marks"].as_array().unwrap();
    assert_eq!((marks.len(), marks[0]["confusion"].as_str()), (1, Some("reversal")), "{marks:#?}");
    for import in [records, rules] {
        assert_eq!(import["refused"], serde_json::json!([]), "{import:#}");
        assert!(import["stored"].as_array().unwrap().len() >= 10, "{import:#}");
        // Inference doubts none of them, either.
        let warned = import["stored"].as_array().unwrap().iter().filter(|row| row.get("warnings").is_some()).count();
        assert_eq!(warned, 0, "claims of ours are warned about: {import:#}");
    }
    let results: Vec<_> = writes.iter().map(|write| write["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["conflict", "conflict", "conflict", "stored", "stored"], "{writes:#?}");
    assert_eq!(inbox["total"], 4, "{inbox:#}");
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    for kind in [Signal::INT, Signal::TERM] {
        let stage = Stage::new();
        let mut child = stage.demo(&["--plain"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let listens = || stage.left().iter().any(|name| Paths::under(stage.temporary.join(name)).record().exists());
        until("its daemon listens", listens);
        signal(child.id(), kind);
        await_exit(&mut child, "the demonstration");
        assert_eq!(stage.left(), Vec::<String>::new(), "after {kind:?}");
    }
}
